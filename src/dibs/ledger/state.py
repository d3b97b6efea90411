"""The ledger of contents: who wrote what in one working tree. This file gives its lines their meaning, without I/O.

A content has one author; reading is not writing; and the finder of a change plays no part in its attribution. Doors
append lines to a file below git's directory (ledger/ledger_files.py); `State` is what a file's lines say together. The
order of the lines decides: a change counts only if it begins with the content that the lines before it ended with, and
if its look was later than theirs. So two hooks that find the same change leave one. attribution.py says whose a change
is.

A line is a kind and its fields:

    O time call agent class left diary claims   a call begins: harmless calls are left out, `closed` names all it writes
    N call how expected path                    a path that it names: how it writes, the content that it will have or ""
                                                (a "/" at its end: a folder, and whatever is in it)
    V call tree                                 it may write in that working tree, too
    C time call left                            the call ended; `left`: a program that it started may still run
    E time agent                                the agent's calls ended: a prompt, a stop, a boot
    X time agent                                its session ended
    Z time agent                                its client's process is gone, and its calls ended with it
    B time agent                                its session begins
    T id time from to signature actor grade suspects flags path      a change, found by a look at that time
    M id time from to signature actor grade suspects flags path      the same content became executable, or no longer
    S time content signature path               a look that found what was known, or a path for the first time
    K content path                              committed: no longer unfinished work
    D id                                        the change was reported
    P agent path                                the path is that agent's unfinished work from now on
    W time path                                 claimed by hand: watched like a named path
    F time cost                                 a look at the whole tree, and the nanoseconds that it took
    L time moves                                a look at all watched paths, by a hook that had read this many moves
    G moves lines                               the ledger was compacted: head moves before it, and lines after it
    H time content signature owners authors change named path        a path at the time of the compaction
    U id time from to signature actor grade suspects flags path owners    an earlier change that is not reported yet
    A agent                                     its files change by themselves right after an edit

The flags of a change end in the kinds of the file before and after it, unless both are plain: `0` plain, `x`
executable, `l` a symbolic link. Before them `u` says that it is not known whether there was a file before, `p` that
uncommitted changes of a person are in it which the actor had not read, and `o` that the actor's program alone ran, on
its own work. A time is nanoseconds of the wall clock, a colon, and the seconds by which that clock is ahead of the one
since boot.
"""

from __future__ import annotations

from dibs.operations.core.call import related

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    Line = Sequence[str]

MISSING = "-"  # the content of a missing file
UNKNOWN = "?"  # an unknown author or actor
GIT, OUTSIDE = "git", "outside"  # the author of git's contents, and of changes that came from no call
BASE = "base"  # the author of a content that was there at the first look
SURE, LIKELY, NOBODY = "sure", "likely", "unknown"  # how certain an actor is
GRADES = frozenset({SURE, LIKELY, NOBODY, OUTSIDE})
WHOLE, MERGES = "w", "m"  # how a call writes a path; in capitals once it has explained a change
BACK = "b"  # the same: git brings back a content that it has, which the agent need not have seen
UNSURE = "u"  # a flag: the first look at a path found it, and no look at the whole tree came before
NAMED, GITTED = "n", "g"  # flags of a change: a call named the path, and git has the new content
STAGED = "s"  # a flag with GITTED: git has it only in the index, so it is not committed
CARRIED = "p"  # a flag: it contains uncommitted changes that no agent made, and that its actor had not read
OWN = "o"  # a flag of a likely change: its actor's program alone ran on its own work, just after others' had ended
CLOSED, OPEN = "closed", "open"  # classes of calls
NOT_NAMED = ("", "")
UNDO = "undo-"  # how the id of an undo's call begins: it does not mean that hooks report the agent's calls
SECOND_NS = 1_000_000_000
FORMATTER_NS = 10 * SECOND_NS  # after an edit: a client's formatter
INODE_LAG_NS = SECOND_NS // 100  # an inode's time may be this much older than the clock
MINUTE_NS, HOUR_NS = 60 * SECOND_NS, 3600 * SECOND_NS
WATCH_NS = 8 * HOUR_NS  # a path that was named and not committed since is watched for a working day
HISTORY_NS = 24 * HOUR_NS  # for calls and paths that a compacted ledger still knows
COMPACT_AT_LINES = 200
MAX_OBSOLETE_LINES = 64  # above it, the ledger is rewritten without them
MAX_CHANGES_KEPT = 300  # of finished paths, in a compacted ledger
MAX_PATHS_WATCHED = 300  # by one look
DEFAULT_LOOK_COST_NS = SECOND_NS // 20  # of a look at the whole tree, before there was one
LOOK_SHARE = 20  # one part in 20 of a command's run time may be spent on such a look after it, if no other is there
CALL_TIMEOUT_NS = 600 * SECOND_NS  # of a call whose end is not reported
MAX_AUTHORS = 8  # contents of a path with known authors
FIELDS = {"O": 8, "N": 5, "V": 3, "C": 4, "E": 3, "X": 3, "Z": 3, "B": 3, "T": 11, "S": 5, "K": 3, "D": 2, "P": 3,
          "W": 3, "F": 3, "L": 3, "G": 3, "H": 9, "U": 12, "A": 2, "M": 11}  # fmt: skip


class Call:
    """One call of one tool, as the ledger has it."""

    __slots__ = ("agent", "claims", "closed", "diary", "ended", "folders", "id", "is_open", "left", "named", "offset",
                 "opened", "trees")  # fmt: skip

    def __init__(self, row: Line) -> None:
        self.opened, self.offset = moment(row[1])
        self.id, self.agent = row[2], row[3]
        self.is_open = row[4] == OPEN  # it may write paths that it does not name
        self.left = row[5] == "1"  # by its words, it leaves a program running
        self.diary = int(row[6] or -1)
        self.claims = row[7].split(",") if row[7] else []
        self.closed = 0  # when it ended; 0: not yet
        self.ended = 0  # when the agent continued with something else, or was gone
        self.named: dict[str, list[str]] = {}  # path → how, and the announced content
        self.folders: list[str] = []  # the folders among them, each with a slash at its end
        self.trees: list[str] = []  # other working trees in which it may write

    def may_matter(self, since: int) -> bool:
        """Can it have caused a change after that time? A program that it left running may, for hours."""
        if self.closed:
            return self.closed + (WATCH_NS if self.left else MINUTE_NS) > since
        return (self.ended or self.opened + WATCH_NS) > since

    def how(self, path: str) -> Sequence[str]:
        """How it writes a path that it names, and the announced content; two empty texts if it does not name it."""
        found = self.named.get(path)
        if found is not None:
            return found
        for folder in self.folders:
            if folder == "/" or path.startswith(folder):
                return self.named[folder]
        return NOT_NAMED

    def lines(self) -> list[Line]:
        """The call as lines again."""
        stamp = f"{self.opened}:{self.offset}"
        kind = OPEN if self.is_open else CLOSED
        left, diary = "1" if self.left else "", str(self.diary)
        found: list[Line] = [("O", stamp, self.id, self.agent, kind, left, diary, ",".join(self.claims))]
        found += [("N", self.id, *how, path) for path, how in self.named.items()]
        found += [("V", self.id, tree) for tree in self.trees]
        if self.closed:
            found.append(("C", f"{self.closed}:{self.offset}", self.id, left))
        return found


class Head:
    """The last content of a path that a look saw."""

    __slots__ = ("authors", "change", "content", "looked", "moved", "named", "offset", "owners", "signature")

    def __init__(self, content: str, signature: str, looked: int, offset: int) -> None:
        self.content, self.signature, self.looked, self.offset = content, signature, looked, offset
        self.owners: list[str] = []  # whose unfinished work it is; several if one of them wrote it
        self.authors: dict[str, str] = {}  # content → its first author, the latest last
        self.change: Change | None = None  # the change that made it
        self.named = 0  # when a call, or a manual claim, last named it
        self.moved = 0  # the number of head moves when a line last spoke of it

    @property
    def is_carried(self) -> bool:
        """Does this content have in it what no agent made, and whoever changed it since had not read?"""
        return self.author == OUTSIDE or (self.change is not None and CARRIED in self.change.flags)

    @property
    def author(self) -> str:
        """The author of this content; GIT if no author is known."""
        author = self.authors.get(self.content, GIT)
        return GIT if author == BASE else author


class Change:
    """One path from one content to another."""

    __slots__ = ("actor", "after", "before", "flags", "grade", "id", "is_back", "kind", "looked", "offset", "path",
                 "signature", "suspects", "was_owned")  # fmt: skip

    def __init__(self, row: Line) -> None:
        self.kind, self.id = row[0], row[1]
        self.looked, self.offset = moment(row[2])
        self.before, self.after, self.signature = row[3], row[4], row[5]
        self.actor, self.grade = row[6], row[7]
        self.suspects = row[8].split(" ") if row[8] else []
        self.flags, self.path = row[9], row[10]
        self.was_owned: list[str] = []  # whose unfinished work was there before
        self.is_back = False  # git has this content, and it was there before

    def line(self) -> Line:
        """As a line of the ledger."""
        stamp = f"{self.looked}:{self.offset}"
        return (
            self.kind, self.id, stamp, self.before, self.after, self.signature, self.actor, self.grade,
            " ".join(self.suspects), self.flags, self.path,
        )  # fmt: skip

    @property
    def is_named(self) -> bool:
        """Did the call that made it name the path?"""
        return NAMED in self.flags

    @property
    def is_clean(self) -> bool:
        """Is the new content committed?"""
        return GITTED in self.flags and STAGED not in self.flags

    @property
    def is_drop(self) -> bool:
        """Did git throw an uncommitted content away, or did a program delete it? A file that is named is an edit."""
        return (self.is_clean or self.after == MISSING) and self.flags[:2] not in {NAMED + WHOLE, NAMED + MERGES}


class State:
    """The state that the lines of a ledger describe together."""

    __slots__ = ("began", "calls", "changes", "cost", "count", "ended", "followed", "formats", "full", "heads", "left",
                 "looks", "moves", "spare", "told", "untold")  # fmt: skip

    def __init__(self, lines: Iterable[Line] = ()) -> None:
        self.heads: dict[str, Head] = {}
        self.calls: dict[str, Call] = {}
        self.began: dict[str, int] = {}  # agent whose calls are reported → when it first appeared
        self.ended: dict[str, int] = {}  # agent → when its session ended
        self.formats: set[str] = set()  # agents whose files change by themselves right after an edit
        self.followed: set[str] = set()  # agents of which that was seen once, while another's program ran
        self.told: set[str] = set()
        self.untold: dict[str, Change] = {}
        self.full = 0  # when the whole tree was last looked at
        self.cost = DEFAULT_LOOK_COST_NS  # ns that such a look took
        self.count = 0  # lines
        self.spare = 0  # obsolete lines: a later one replaced them
        self.left = 0  # lines after the last compaction
        self.moves = 0  # how often a line changed the state of a path
        self.changes: list[Change] = []  # since the ledger was compacted, in their order
        self.looks: list[tuple[int, int]] = []  # looks at all watched paths: the moves known to each, and its time
        self.add(lines)

    def add(self, lines: Iterable[Line]) -> list[Change]:
        """Add lines; returns the changes among them that count. A line that cannot be parsed was torn, and is void."""
        counted: list[Change] = []
        fields, read = FIELDS, self.READ
        for row in lines:
            self.count += 1
            kind = row[0]
            if fields.get(kind) != len(row):
                continue
            try:
                change = read[kind](self, row)
            except ValueError:
                continue
            if change is not None:
                counted.append(change)
        self.changes += counted
        return counted

    def _opened(self, row: Line) -> None:
        call = Call(row)
        known = self.calls.pop(call.id, None)  # the calls are in the order of their beginnings
        if known is not None:
            self.spare += 1
            if not known.closed:  # a client may run the same hook twice
                call.named, call.folders = known.named, known.folders
        self.calls[call.id] = call
        if call.agent not in self.began and not call.id.startswith(UNDO):
            self.began[call.agent] = call.opened
        if self.ended:
            self.ended.pop(call.agent, None)

    def _named(self, row: Line) -> None:
        call = self.calls.get(row[1])
        if call is not None:
            self.spare += row[4] in call.named
            if row[4][-1:] == "/" and row[4] not in call.named:
                call.folders.append(row[4])
            call.named[row[4]] = [row[2], row[3]]
            head = self.heads.get(row[4])
            if head is not None:
                head.named = max(head.named, call.opened)
                self._move(head)

    def _reached(self, row: Line) -> None:
        call = self.calls.get(row[1])
        if call is not None and row[2] not in call.trees:
            call.trees.append(row[2])

    def _closed(self, row: Line) -> None:
        call = self.calls.get(row[2])
        if call is not None and not call.closed:
            call.closed = moment(row[1])[0]
            call.left = call.left or row[3] == "1"

    def _stepped(self, row: Line) -> None:
        when = moment(row[1])[0]
        for call in self.calls.values():
            if call.agent == row[2] and not call.ended:
                call.ended = when

    def _left(self, row: Line) -> None:
        self._stepped(row)
        self.ended[row[2]] = moment(row[1])[0]

    def _died(self, row: Line) -> None:
        when = moment(row[1])[0]
        for call in self.calls.values():
            if call.agent == row[2] and not call.closed and not call.ended:
                call.closed = when
        self._left(row)

    def _began(self, row: Line) -> None:
        self.began.setdefault(row[2], moment(row[1])[0])
        self.ended.pop(row[2], None)

    def _changed(self, row: Line) -> Change | None:
        change = Change(row)
        if change.grade not in GRADES or not change.path:
            return None  # two torn lines that look like one
        head = self.heads.get(change.path)
        if head is None:
            head = self.heads[change.path] = Head(change.before, "", 0, change.offset)
            head.authors[change.before] = BASE
        elif head.content != change.before or change.looked <= self.last_look(head, change.looked):
            return None  # another hook found it first, or looked later
        elif change.looked <= _written(head.signature):
            return None  # both looked at once, and this one came before the present content was written
        self._move(head)
        change.was_owned = head.owners
        if change.is_drop and head.change is not None and head.change.grade == NOBODY:
            # What is thrown away may be the work of any of them.
            change.was_owned = [*dict.fromkeys([*head.owners, *head.change.suspects])]
        last = head.change
        returns = last is not None and last.before == change.after and not _is_plain(last)
        head.owners = owners_after(head.owners, change)
        head.content, head.signature, head.change = change.after, change.signature, change
        head.looked, head.offset = change.looked, change.offset
        change.is_back = change.is_clean and head.authors.get(change.after) in {BASE, GIT}
        maker = head.authors.pop(change.after, "") or (GIT if GITTED in change.flags else change.actor)
        head.authors[change.after] = maker
        if len(head.authors) > MAX_AUTHORS:
            del head.authors[next(iter(head.authors))]
        usual = False  # its client's formatter again: the agent was told of the first time
        if change.is_named:
            self._spend(change)
            head.named = max(head.named, change.looked)
        elif (
            change.grade == LIKELY
            and change.suspects == change.was_owned == [change.actor]
            and GITTED not in change.flags
            and change.after != MISSING
        ):
            usual = change.actor in self.formats
            self.formats.add(change.actor)
        elif self._follows_edit(last, change):
            # Another's program ran, as before: twice is no chance.
            owner = change.was_owned[0]
            (self.formats if owner in self.followed else self.followed).add(owner)
        if change.id not in self.told and (returns or not (usual or _is_plain(change))):
            self.untold[change.id] = change  # what was taken away is there again: that settles it, by whoever it came
        return change

    def _follows_edit(self, last: Change | None, change: Change) -> bool:
        """Did the content of a fresh edit change within seconds, by its owner's formatter or by another's program?"""
        if last is None or not last.is_named or change.grade != LIKELY or change.was_owned != [last.actor]:
            return False
        if change.actor == last.actor or GITTED in change.flags or change.after == MISSING:
            return False
        return 0 <= _written(change.signature) - last.looked < FORMATTER_NS

    def _spend(self, change: Change) -> None:
        """A name with an announced content explains one change; a second change is judged as if it were unnamed."""
        for call in reversed(self.calls.values()):
            how = call.named.get(change.path) if call.agent == change.actor else None
            if how is not None and how[1] and how[0].islower():
                how[0] = how[0].upper()
                return

    def _same(self, row: Line) -> None:
        looked, offset = moment(row[1])
        head = self.heads.get(row[4])
        if head is None:
            head = self.heads[row[4]] = Head(row[2], row[3], looked, offset)
            head.authors[row[2]] = BASE
            # A git command names what it brings back before anybody looks at it.
            head.named = max([call.opened for call in self.calls.values() if row[4] in call.named], default=0)
            self._move(head)
        else:
            self.spare += 1
            if head.content == row[2] and looked > head.looked:
                head.signature, head.looked, head.offset = row[3], looked, offset

    def _moded(self, row: Line) -> None:
        self._same(("S", row[2], row[4], row[5], row[10]))
        self.spare -= 1  # it is remembered
        if row[7] in GRADES and (not self.changes or self.changes[-1].signature != row[5]):
            self.changes.append(Change(row))

    def _committed(self, row: Line) -> None:
        head = self.heads.get(row[2])
        if head is not None and head.content == row[1]:
            head.owners, head.named = [], 0
            self._move(head)

    def _told(self, row: Line) -> None:
        self.spare += 2  # with the change
        self.told.add(row[1])
        self.untold.pop(row[1], None)

    def _passed(self, row: Line) -> None:
        head = self.heads.get(row[2])
        if head is not None:
            head.owners = [row[1]] if row[1] else []
            self._move(head)

    def _owed(self, row: Line) -> None:
        change = self.untold[row[1]] = Change(row)
        change.was_owned = row[11].split(" ") if row[11] else []

    def _watched(self, row: Line) -> None:
        head = self.heads.get(row[2])
        if head is not None:
            head.named = max(head.named, moment(row[1])[0])
            self._move(head)

    def _move(self, head: Head) -> None:
        self.moves += 1
        head.moved = self.moves

    def _surveyed(self, row: Line) -> None:
        found = (int(row[2]), moment(row[1])[0])
        self.spare += 1
        self.looks = [one for one in self.looks if one[0] > found[0] or one[1] > found[1]]
        self.looks.append(found)

    def _counted(self, row: Line) -> None:
        self.moves = max(self.moves, int(row[1]))
        self.left = int(row[2])

    def _looked(self, row: Line) -> None:
        self.full = max(self.full, moment(row[1])[0])
        self.cost = int(row[2]) if row[2].isdigit() else DEFAULT_LOOK_COST_NS

    def _kept(self, row: Line) -> None:
        looked, offset = moment(row[1])
        head = Head(row[2], row[3], looked, offset)
        head.owners = row[4].split(" ") if row[4] else []
        pairs = row[5].split(" ") if row[5] else []
        head.authors = dict(zip(pairs[::2], pairs[1::2], strict=False))
        if row[6]:
            actor, grade, when, identifier, *flags = row[6].split(" ")
            stamp, flag = f"{when}:{offset}", "".join(flags)
            head.change = Change(("T", identifier, stamp, UNKNOWN, row[2], row[3], actor, grade, "", flag, row[8]))
        head.named = int(row[7] or 0)
        head.moved = self.moves
        self.heads[row[8]] = head

    def _formatted(self, row: Line) -> None:
        self.formats.add(row[1])

    READ = {  # noqa: RUF012 - made once, never changed
        "O": _opened, "N": _named, "V": _reached, "C": _closed, "E": _stepped, "X": _left, "Z": _died, "B": _began,
        "S": _same, "K": _committed, "D": _told, "P": _passed, "W": _watched, "F": _looked, "L": _surveyed,
        "G": _counted, "H": _kept, "U": _owed, "T": _changed, "A": _formatted, "M": _moded,
    }  # fmt: skip

    # --- what follows from it

    def watched(self, now: int) -> list[str]:
        """The paths for a look: unfinished work, and recently named paths. Of very many, the latest and some others."""
        since = now - WATCH_NS
        found = [path for path, head in self.heads.items() if head.named > since or head.owners]
        if len(found) <= MAX_PATHS_WATCHED:
            return found
        found.sort(key=self._last_named, reverse=True)
        late = sorted(found[MAX_PATHS_WATCHED // 2 :], key=lambda path: self.heads[path].looked)
        return found[: MAX_PATHS_WATCHED // 2] + late[: MAX_PATHS_WATCHED // 2]  # the rest in turn

    def _last_named(self, path: str) -> tuple[int, str]:
        head = self.heads[path]
        return (head.change.looked if head.change is not None else head.named), path

    def last_look(self, head: Head, now: int) -> int:
        """When the path was last seen in its present state. A hook that looks at all watched paths leaves one line.

        It counts for a path that was watched by then: no line that the hook had not read has spoken of it.
        """
        if not self.looks or not (head.owners or head.named > now - WATCH_NS):
            return head.looked
        return max(head.looked, *[when if moves >= head.moved else 0 for moves, when in self.looks])

    def owned(self, agent: str = "") -> dict[str, list[str]]:
        """Unfinished work: path → owners; with `agent`, only that of agents outside its family, also with it."""
        return {
            path: head.owners
            for path, head in self.heads.items()
            if head.owners and not (agent and all(related(owner, agent) for owner in head.owners))
        }

    def owes(self, call: Call, now: int, *, accompanied: bool) -> bool:
        """Is a look at the whole tree due after this call, which may have written unnamed paths?

        While another agent is there it always is: what is not looked at now, that one may overwrite unseen. Alone, the
        call must have taken long enough for a look to be cheap in comparison.
        """
        return call.is_open and (accompanied or now - call.opened > LOOK_SHARE * self.cost)

    def others(self, agent: str) -> list[str]:
        """The agents outside its family whose sessions have not ended, as far as the lines say."""
        return [one for one in self.began if one not in self.ended and not related(one, agent)]

    def at_work(self) -> list[str]:
        """The agents with a call that has not ended, if there are several agents."""
        if len(self.began) == 1:
            return []
        return [*dict.fromkeys([call.agent for call in self.calls.values() if not call.closed and not call.ended])]

    def is_being_written(self, path: str, now: int) -> bool:
        """Is a call running that names the path? Then a file that was just emptied is about to be filled."""
        return any(
            path in call.named and not call.closed and not call.ended and now - call.opened < CALL_TIMEOUT_NS
            for call in self.calls.values()
        )

    def is_unmade(self, call: Call, path: str) -> bool:
        """Is a path that the call names missing, and was it before? Then the call removed what it had made."""
        head = self.heads.get(path)
        if head is None or head.content != MISSING:
            return False
        return head.change is None or head.change.looked < call.opened

    def is_put_aside(self, path: str, now: int, but: str) -> bool:
        """May a git command that runs have put the path aside for a moment? `but`: a call that is over.

        The pre-commit framework takes all unstaged changes off the working tree while its hooks run. A command that
        would throw them away for good is not allowed to run, or names them.
        """
        return any(
            call.claims and not call.closed and not call.ended and now - call.opened < CALL_TIMEOUT_NS
            and call.id != but and not call.how(path)[0]
            for call in self.calls.values()
        )  # fmt: skip

    def _kept_heads(self, now: int) -> list[tuple[str, Head]]:
        """Unfinished work, named paths, and the latest changes: their authors are asked for during a day."""
        needed, changed = [], []
        for path, head in self.heads.items():
            if head.owners or head.named > now - WATCH_NS:
                needed.append((path, head))
            elif head.change is not None and head.change.looked > now - HISTORY_NS:
                changed.append((path, head))
        changed.sort(key=_last_change)
        return [*needed, *changed[-MAX_CHANGES_KEPT:]]

    @property
    def is_long(self) -> bool:
        """Is it worth compacting? Every hook reads all of it."""
        return self.count > COMPACT_AT_LINES + 2 * self.left

    @property
    def is_wordy(self) -> bool:
        """Is it worth rewriting without its obsolete lines?"""
        return self.spare > MAX_OBSOLETE_LINES

    def lines(self, now: int) -> list[Line]:
        """The same in fewer lines: old events that no longer matter are left out.

        Calls before the last look at the whole tree cannot have caused anything that is still to be found.
        """
        found = self._lines(now, self._kept_heads(now))
        return [("G", str(self.moves), str(len(found))), *found]

    def shorter(self, now: int) -> list[Line]:
        """The same without the obsolete lines: every known path stays known."""
        return [("G", str(self.moves), str(self.left)), *self._lines(now, self.heads.items())]

    def past(self) -> list[Line]:
        """The changes that the lines of a compacted ledger leave out."""
        return [change.line() for change in self.changes]

    def _lines(self, now: int, heads: Iterable[tuple[str, Head]]) -> list[Line]:
        found: list[Line] = [("F", f"{self.full}:0", str(self.cost))] if self.full else []
        known = [agent for agent in self.began if self.ended.get(agent, now) >= now - HISTORY_NS]
        found += [("B", f"{self.began[agent]}:0", agent) for agent in known]
        # before the heads: a path that was committed since is not named again by their lines
        for call in self.calls.values():
            if call.may_matter(max(self.full, now - HISTORY_NS)):
                found += call.lines()
                if call.ended:
                    found.append(("E", f"{call.ended}:{call.offset}", call.agent))
        found += [("X", f"{self.ended[agent]}:0", agent) for agent in known if agent in self.ended]
        found += [("A", agent) for agent in self.formats]
        for path, head in heads:
            found.append(_kept_line(path, head, self.last_look(head, now)))
        for change in self.untold.values():
            found.append(("U", *change.line()[1:], " ".join(change.was_owned)))
        return found


def _last_change(one: tuple[str, Head]) -> int:
    return one[1].change.looked if one[1].change is not None else 0


def _kept_line(path: str, head: Head, looked: int) -> Line:
    authors = " ".join([word for pair in head.authors.items() for word in pair])
    change = ""
    if head.change is not None:
        change = f"{head.change.actor} {head.change.grade} {head.change.looked} {head.change.id}"
        if CARRIED in head.change.flags:
            change += f" {CARRIED}"
    stamp = f"{looked}:{head.offset}"
    return ("H", stamp, head.content, head.signature, " ".join(head.owners), authors, change, str(head.named), path)


def owners_after(owners: list[str], change: Change) -> list[str]:
    """Whose unfinished work a path is after a change."""
    known = change.grade in {SURE, LIKELY}
    own = bool(owners) and known and any(related(owner, change.actor) for owner in owners)
    if change.is_clean and (own or not owners):
        return []  # brought back to git's content, by its owner
    if own:
        if len(owners) == 1:
            return owners
        return [change.actor] if change.is_named or change.grade == SURE else owners  # the others are told
    if known and (not owners or change.is_named):
        return [change.actor]  # new work; or taken over by a call that the edit guard let pass
    if owners:
        return owners  # overwritten by another agent: it is still the owner's, and must be settled
    return change.suspects if change.grade == NOBODY else []


def passes_to(owners: list[str], agent: str, there: Container[str]) -> bool:
    """Does unfinished work pass to an agent that claims the path? From an ended agent, or if its owner is unknown."""
    if not owners or owners == [agent]:
        return False
    return len(owners) > 1 or owners[0] not in there


def _written(signature: str) -> int:
    """When the file of this signature was last changed; 0 if it was missing."""
    parts = signature.split(":")
    return int(parts[2]) if len(parts) > 2 else 0  # noqa: PLR2004 - size, mtime, ctime, inode


def _is_plain(change: Change) -> bool:
    """Is it by the path's owner, or by a call that the edit guard let pass? Then nobody is told.

    Of several who may have made what was there, one alone is not its owner: it may have been the work of another.
    """
    if change.grade not in {SURE, LIKELY}:
        return False
    if change.was_owned:
        own = all(related(owner, change.actor) for owner in change.was_owned)
        if change.is_drop and any(owner != change.actor for owner in change.was_owned):
            return False  # a subagent's sweep may take its parent's work away, and the other way round
        return own and (change.grade == SURE or change.is_named or OWN in change.flags)
    return change.is_named


def moment(text: str) -> tuple[int, int]:
    """Parse a time: nanoseconds, and the seconds by which the wall clock is ahead."""
    when, _, offset = text.partition(":")
    return int(when), int(offset)
