"""The ledger of contents: who wrote what in one working tree. This file gives its lines their meaning, without I/O.

A content has one author; reading is not writing; and the finder of a change plays no part in its attribution. Doors
append lines to a file below git's directory (ledger/ledger_files.py); `State` is what a file's lines say together. The
order of the lines decides: a change counts only if it begins with the content that the lines before it ended with, and
if its look was later than theirs. So two hooks that find the same change leave one. attribution.py says whose a change
is, compaction.py rewrites a long ledger.

A line is a letter and its fields. Each kind of line has a function here that makes it, and one of `State` that reads
it; nobody else knows a letter or the place of a field.
"""

from __future__ import annotations

from dibs.operations.core.call import related

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence
    from typing import Protocol

    from dibs.ledger.attribution import Verdict

    Line = Sequence[str]

    class Sight(Protocol):
        """A file as a look saw it."""

        path: str
        content: str
        signature: str


MISSING = "-"  # the content of a missing file
UNKNOWN = "?"  # an unknown author or actor
GIT, OUTSIDE = "git", "outside"  # the author of git's contents, and of changes that came from no call
BASE = "base"  # the author of a content that was there at the first look
SURE, LIKELY, NOBODY = "sure", "likely", "unknown"  # how certain an actor is
GRADES = frozenset({SURE, LIKELY, NOBODY, OUTSIDE})
WHOLE, MERGES = "w", "m"  # how a call writes a path; in capitals once it has explained a change
BACK = "b"  # the same: git brings back a content that it has, which the agent need not have seen
CLOSED, OPEN = "closed", "open"  # classes of calls
NOT_NAMED = ("", "")
UNDO = "undo-"  # how the id of an undo's call begins: it does not mean that hooks report the agent's calls
SECOND_NS = 1_000_000_000
FORMATTER_NS = 10 * SECOND_NS  # after an edit: a client's formatter
AFTER_OPEN_NS = 2 * SECOND_NS  # after the end of any other call: a program that runs late
INODE_LAG_NS = SECOND_NS // 100  # an inode's time may be this much older than the clock
MINUTE_NS, HOUR_NS = 60 * SECOND_NS, 3600 * SECOND_NS
WATCH_NS = 8 * HOUR_NS  # a path that was named and not committed since is watched for a working day
COMPACT_AT_LINES = 200
MAX_OBSOLETE_LINES = 64  # above it, the ledger is rewritten without them
MAX_PATHS_WATCHED = 300  # by one look
DEFAULT_LOOK_COST_NS = SECOND_NS // 20  # of a look at the whole tree, before there was one
LOOK_SHARE = 20  # one part in 20 of a command's run time may be spent on such a look after it, if no other runs
CALL_TIMEOUT_NS = 600 * SECOND_NS  # of a call whose end is not reported
MAX_AUTHORS = 8  # contents of a path with known authors
# Every letter, with the number of fields of its line: the letter is the first.
FIELDS = {"O": 8, "N": 5, "V": 3, "C": 4, "E": 3, "X": 3, "Z": 3, "B": 3, "T": 11, "S": 5, "K": 3, "D": 2, "P": 3,
          "W": 3, "F": 3, "L": 3, "G": 3, "H": 9, "U": 12, "A": 2, "M": 11}  # fmt: skip


# --- lines: what hooks write


def stamp(when: int, offset: int) -> str:
    """A time in a line: nanoseconds of the wall clock, and by how many seconds it is ahead of the one since boot."""
    return f"{when}:{offset}"


def moment(text: str) -> tuple[int, int]:
    """The two numbers of a stamp."""
    when, _, offset = text.partition(":")
    return int(when), int(offset)


UNITS = "unit:"  # before the id of a claim on units of a pool, among the claims of a call


def call_line(
    at: str, call: str, agent: str, *, is_open: bool, left: bool = False, diary: int = -1, claims: Iterable[str] = ()
) -> Line:
    """A call begins that may write; `left`: it leaves a program running, `diary`: the size of git's reflog."""
    return "O", at, call, agent, OPEN if is_open else CLOSED, "1" if left else "", str(diary), ",".join(claims)


def name_line(call: str, how: str, content: str, path: str) -> Line:
    """A path that a call names, and the content that it will have, or "". A path with a slash at its end: a folder."""
    return "N", call, how, content, path


def tree_line(call: str, tree: str) -> Line:
    """A call may write in that working tree, too."""
    return "V", call, tree


def call_end_line(at: str, call: str, *, left: bool) -> Line:
    """A call ended; `left`: a program that it started may still run."""
    return "C", at, call, "1" if left else ""


def turn_line(at: str, agent: str) -> Line:
    """The calls of an agent ended: a prompt, a stop, a boot."""
    return "E", at, agent


def session_line(at: str, agent: str) -> Line:
    """An agent's session begins."""
    return "B", at, agent


def session_end_line(at: str, agent: str) -> Line:
    """An agent's session ended."""
    return "X", at, agent


def death_line(at: str, agent: str) -> Line:
    """The process of an agent's client is gone, and its calls ended with it."""
    return "Z", at, agent


def change_line(identifier: str, at: str, before: str, now: Sight, verdict: Verdict, flags: str) -> Line:
    """A path has another content than before, as a look at that time found it."""
    return (
        "T", identifier, at, before, now.content, now.signature, verdict.actor, verdict.grade,
        " ".join(verdict.suspects), flags, now.path,
    )  # fmt: skip


def mode_line(identifier: str, at: str, now: Sight, verdict: Verdict, kinds: tuple[str, str]) -> Line:
    """The same content became executable, or no longer is."""
    return ("M", *change_line(identifier, at, now.content, now, verdict, flags_of(kinds=kinds))[1:])


def look_line(at: str, content: str, signature: str, path: str) -> Line:
    """A look that found what was known, or a path for the first time."""
    return "S", at, content, signature, path


def tree_look_line(at: str, cost: int) -> Line:
    """A look at the whole tree, and the nanoseconds that it took."""
    return "F", at, str(cost)


def survey_line(at: str, moves: int) -> Line:
    """A look at all watched paths, by a hook that had read this many moves."""
    return "L", at, str(moves)


def commit_line(content: str, path: str) -> Line:
    """A content is committed: it is no longer unfinished work."""
    return "K", content, path


def report_line(change: str) -> Line:
    """A change was reported."""
    return "D", change


def owner_line(agent: str, path: str) -> Line:
    """A path is that agent's unfinished work from now on."""
    return "P", agent, path


def claim_line(at: str, path: str) -> Line:
    """A path was claimed by hand: it is watched like a named one."""
    return "W", at, path


def is_look(line: Line) -> bool:
    """Is it a look that found nothing new at a path?"""
    return line[0] == "S"


def is_survey(line: Line) -> bool:
    """Is it a look at all watched paths?"""
    return line[0] == "L"


def is_change(line: Line) -> bool:
    """Is it a change of a path's content?"""
    return line[0] == "T"


def is_mode_change(line: Line) -> bool:
    """Is it a change of a path's mode alone?"""
    return line[0] == "M"


def path_of(line: Line) -> str:
    """The path of a look or a change."""
    return line[-1]


# --- lines: what a compacted ledger has in addition


def compaction_line(moves: int, lines: int) -> Line:
    """The ledger was compacted: the moves of heads before that, and the lines that were left."""
    return "G", str(moves), str(lines)


def head_line(path: str, head: Head, looked: int) -> Line:
    """A path at the time of the compaction."""
    authors = " ".join([word for pair in head.authors.items() for word in pair])
    change = ""
    if head.change is not None:
        change = f"{head.change.actor} {head.change.grade} {head.change.looked} {head.change.id}"
        if head.change.is_carried:
            change += f" {_CARRIED}"
    owners = " ".join(head.owners)
    return "H", stamp(looked, head.offset), head.content, head.signature, owners, authors, change, str(head.named), path


def unreported_line(change: Change) -> Line:
    """An earlier change that is not reported yet, with the owners of what was there."""
    return ("U", *change.line()[1:], " ".join(change.was_owned))


def formatter_line(agent: str) -> Line:
    """The files of an agent change by themselves right after an edit."""
    return "A", agent


# --- the flags of a change

_NAMED, _IN_GIT, _STAGED = "n", "g", "s"
_UNSURE, _OWN, _CARRIED = "u", "o", "p"
_HOWS = frozenset({WHOLE, MERGES, BACK})
_PLAIN = "0"  # the kind of a plain file, where the other one of the two is none


def flags_of(
    how: str | None = None,
    *,
    in_git: bool = False,
    is_staged: bool = False,
    is_own: bool = False,
    is_carried: bool = False,
    is_unsure: bool = False,
    kinds: tuple[str, str] = ("", ""),
) -> str:
    """The flags of a change, as its line has them.

    `how`: a call named the path, and writes it so ("": in some way); None if no call did. `in_git`: git has the new
    content; `is_staged`: only in its index, so that it is not committed. `is_own`: of a likely change, its actor's
    program alone ran, on its own work, just after others' had ended. `is_carried`: there are uncommitted changes in it
    that no agent made and its actor had not read. `is_unsure`: it is not known whether there was a file before; the
    first look at the path found it, and no look at the whole tree came before. `kinds`: of the file before and after
    it: "" plain, `x` executable, `l` a symbolic link.
    """
    flags = "" if how is None else _NAMED + how
    for flag, is_set in (
        (_IN_GIT, in_git), (_STAGED, is_staged), (_OWN, is_own), (_CARRIED, is_carried), (_UNSURE, is_unsure),
    ):  # fmt: skip
        if is_set:
            flags += flag
    return flags + "".join([kind or _PLAIN for kind in kinds]) if any(kinds) else flags


# --- what the lines are about


class ToolCall:
    """One call of one tool, as the ledger has it."""

    __slots__ = ("agent", "claims", "closed", "diary", "ended", "folders", "id", "is_open", "left", "named", "offset",
                 "opened", "trees", "units")  # fmt: skip

    def __init__(self, row: Line) -> None:
        _, at, self.id, self.agent, kind, left, diary, claims = row
        self.opened, self.offset = moment(at)
        self.is_open = kind == OPEN  # it may write paths that it does not name
        self.left = left == "1"  # by its words, it leaves a program running
        self.diary = int(diary or -1)  # the size of git's reflog when it began; -1: not known
        both = claims.split(",") if claims else []
        self.claims = [one for one in both if not one.startswith(UNITS)]  # those on git's index, which end with it
        self.units = [one[len(UNITS) :] for one in both if one.startswith(UNITS)]  # those on units of pools
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

    def may_write(self, now: int) -> bool:
        """May a program of it still run?"""
        if self.closed:
            return self.closed + (WATCH_NS if self.left else AFTER_OPEN_NS) > now
        return not self.ended

    def how(self, path: str) -> Sequence[str]:
        """How it writes a path that it names, and the announced content; two empty texts if it does not name it."""
        named = self.named.get(path)
        if named is not None:
            return named
        for folder in self.folders:
            if folder == "/" or path.startswith(folder):
                return self.named[folder]
        return NOT_NAMED


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
        return self.author == OUTSIDE or (self.change is not None and self.change.is_carried)

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
        self.kind, self.id, at, self.before, self.after, self.signature = row[:6]
        self.actor, self.grade, suspects, self.flags, self.path = row[6:11]
        self.looked, self.offset = moment(at)
        self.suspects = suspects.split(" ") if suspects else []
        self.was_owned: list[str] = []  # whose unfinished work was there before
        self.is_back = False  # git has this content, and it was there before

    def line(self) -> Line:
        """As a line of the ledger."""
        return (
            self.kind, self.id, stamp(self.looked, self.offset), self.before, self.after, self.signature, self.actor,
            self.grade, " ".join(self.suspects), self.flags, self.path,
        )  # fmt: skip

    @property
    def is_named(self) -> bool:
        """Did the call that made it name the path?"""
        return _NAMED in self.flags

    @property
    def how(self) -> str:
        """How the call that named the path writes it; "" if that is not known, or none did."""
        how = self.flags[1:2]
        return how if self.is_named and how in _HOWS else ""

    @property
    def in_git(self) -> bool:
        """Does git have the new content, in a commit or in its index?"""
        return _IN_GIT in self.flags

    @property
    def is_clean(self) -> bool:
        """Is the new content committed?"""
        return _IN_GIT in self.flags and _STAGED not in self.flags

    @property
    def is_drop(self) -> bool:
        """Did git throw an uncommitted content away, or did a program delete it? A file that is named is an edit."""
        return (self.is_clean or self.after == MISSING) and self.how not in {WHOLE, MERGES}

    @property
    def is_own(self) -> bool:
        """Did its actor's program alone run, on its own work?"""
        return _OWN in self.flags

    @property
    def is_carried(self) -> bool:
        """Are uncommitted changes in it that no agent made, and that its actor had not read?"""
        return _CARRIED in self.flags

    @property
    def is_unsure(self) -> bool:
        """Is it not known whether there was a file before?"""
        return _UNSURE in self.flags

    @property
    def kinds(self) -> tuple[str, str]:
        """The kinds of the file before and after it."""
        ends = self.flags[-2:]
        if len(ends) == 2 and all(one in "0xl" for one in ends):  # noqa: PLR2004 - before and after
            return ends[0].strip(_PLAIN), ends[1].strip(_PLAIN)
        return "", ""


class State:
    """The state that the lines of a ledger describe together."""

    __slots__ = ("began", "calls", "changes", "cost", "count", "ended", "followed", "formats", "full", "heads", "left",
                 "looks", "moves", "spare", "told", "untold")  # fmt: skip

    def __init__(self, lines: Iterable[Line] = ()) -> None:
        self.heads: dict[str, Head] = {}
        self.calls: dict[str, ToolCall] = {}
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
        call = ToolCall(row)
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
        _, identifier, how, content, path = row
        call = self.calls.get(identifier)
        if call is not None:
            self.spare += path in call.named
            if path[-1:] == "/" and path not in call.named:
                call.folders.append(path)
            call.named[path] = [how, content]
            head = self.heads.get(path)
            if head is not None:
                head.named = max(head.named, call.opened)
                self._move(head)

    def _reached(self, row: Line) -> None:
        _, identifier, tree = row
        call = self.calls.get(identifier)
        if call is not None and tree not in call.trees:
            call.trees.append(tree)

    def _closed(self, row: Line) -> None:
        _, at, identifier, left = row
        call = self.calls.get(identifier)
        if call is not None and not call.closed:
            call.closed = moment(at)[0]
            call.left = call.left or left == "1"

    def _stepped(self, row: Line) -> None:
        _, at, agent = row
        when = moment(at)[0]
        for call in self.calls.values():
            if call.agent == agent and not call.ended:
                call.ended = when

    def _left(self, row: Line) -> None:
        self._stepped(row)
        _, at, agent = row
        self.ended[agent] = moment(at)[0]

    def _died(self, row: Line) -> None:
        _, at, agent = row
        when = moment(at)[0]
        for call in self.calls.values():
            if call.agent == agent and not call.closed and not call.ended:
                call.closed = when
        self._left(row)

    def _began(self, row: Line) -> None:
        _, at, agent = row
        self.began.setdefault(agent, moment(at)[0])
        self.ended.pop(agent, None)

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
        maker = head.authors.pop(change.after, "") or (GIT if change.in_git else change.actor)
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
            and not change.in_git
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
        if change.actor == last.actor or change.in_git or change.after == MISSING:
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
        _, at, content, signature, path = row
        looked, offset = moment(at)
        head = self.heads.get(path)
        if head is None:
            head = self.heads[path] = Head(content, signature, looked, offset)
            head.authors[content] = BASE
            # A git command names what it brings back before anybody looks at it.
            head.named = max([call.opened for call in self.calls.values() if path in call.named], default=0)
            self._move(head)
        else:
            self.spare += 1
            if head.content == content and looked > head.looked:
                head.signature, head.looked, head.offset = signature, looked, offset

    def _moded(self, row: Line) -> None:
        change = Change(row)
        self._same(look_line(row[2], change.after, change.signature, change.path))
        self.spare -= 1  # it is remembered
        if change.grade in GRADES and (not self.changes or self.changes[-1].signature != change.signature):
            self.changes.append(change)

    def _committed(self, row: Line) -> None:
        _, content, path = row
        head = self.heads.get(path)
        if head is not None and head.content == content:
            head.owners, head.named = [], 0
            self._move(head)

    def _told(self, row: Line) -> None:
        _, identifier = row
        self.spare += 2  # with the change
        self.told.add(identifier)
        self.untold.pop(identifier, None)

    def _passed(self, row: Line) -> None:
        _, agent, path = row
        head = self.heads.get(path)
        if head is not None:
            head.owners = [agent] if agent else []
            self._move(head)

    def _owed(self, row: Line) -> None:
        change, owners = Change(row), row[-1]
        self.untold[change.id] = change
        change.was_owned = owners.split(" ") if owners else []

    def _watched(self, row: Line) -> None:
        _, at, path = row
        head = self.heads.get(path)
        if head is not None:
            head.named = max(head.named, moment(at)[0])
            self._move(head)

    def _move(self, head: Head) -> None:
        self.moves += 1
        head.moved = self.moves

    def _surveyed(self, row: Line) -> None:
        _, at, moves = row
        look = (int(moves), moment(at)[0])
        self.spare += 1
        self.looks = [one for one in self.looks if one[0] > look[0] or one[1] > look[1]]
        self.looks.append(look)

    def _counted(self, row: Line) -> None:
        _, moves, lines = row
        self.moves = max(self.moves, int(moves))
        self.left = int(lines)

    def _looked(self, row: Line) -> None:
        _, at, cost = row
        self.full = max(self.full, moment(at)[0])
        self.cost = int(cost) if cost.isdigit() else DEFAULT_LOOK_COST_NS

    def _kept(self, row: Line) -> None:
        _, at, content, signature, owners, authors, change, named, path = row
        looked, offset = moment(at)
        head = Head(content, signature, looked, offset)
        head.owners = owners.split(" ") if owners else []
        pairs = authors.split(" ") if authors else []
        head.authors = dict(zip(pairs[::2], pairs[1::2], strict=False))
        if change:
            actor, grade, when, identifier, *flags = change.split(" ")
            made = f"{when}:{offset}"
            head.change = Change(
                ("T", identifier, made, UNKNOWN, content, signature, actor, grade, "", "".join(flags), path)
            )
        head.named = int(named or 0)
        head.moved = self.moves
        self.heads[path] = head

    def _formatted(self, row: Line) -> None:
        _, agent = row
        self.formats.add(agent)

    READ = {  # noqa: RUF012 - made once, never changed
        "O": _opened, "N": _named, "V": _reached, "C": _closed, "E": _stepped, "X": _left, "Z": _died, "B": _began,
        "S": _same, "K": _committed, "D": _told, "P": _passed, "W": _watched, "F": _looked, "L": _surveyed,
        "G": _counted, "H": _kept, "U": _owed, "T": _changed, "A": _formatted, "M": _moded,
    }  # fmt: skip

    # --- what follows from it

    def watched(self, now: int) -> list[str]:
        """The paths for a look: unfinished work, and recently named paths. Of very many, the latest and some others."""
        since = now - WATCH_NS
        paths = [path for path, head in self.heads.items() if head.named > since or head.owners]
        if len(paths) <= MAX_PATHS_WATCHED:
            return paths
        paths.sort(key=self._last_named, reverse=True)
        late = sorted(paths[MAX_PATHS_WATCHED // 2 :], key=lambda path: self.heads[path].looked)
        return paths[: MAX_PATHS_WATCHED // 2] + late[: MAX_PATHS_WATCHED // 2]  # the rest in turn

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

    def owes(self, call: ToolCall, now: int, *, accompanied: bool) -> bool:
        """Is a look at the whole tree due after this call, which may have written unnamed paths?

        While a program of another agent runs it always is: what is not looked at now, that one may overwrite unseen.
        Else another agent's next command begins with it (`is_behind`), unless the call took long enough for a look to
        be cheap in comparison.
        """
        return call.is_open and (accompanied or now - call.opened > LOOK_SHARE * self.cost)

    def is_behind(self, agent: str, now: int) -> bool:
        """Has a program outside the agent's family ended since the last look at the whole tree?"""
        since = self.full if self.full <= now else 0  # the wall clock was set back
        calls = [call for call in self.calls.values() if call.is_open and not related(call.agent, agent)]
        return any((call.closed or call.ended) > since for call in calls)

    def alongside(self, agent: str, now: int) -> list[str]:
        """The agents outside its family that may be writing unnamed paths now: a program of theirs runs, or may."""
        writers = {call.agent for call in self.calls.values() if call.is_open and call.may_write(now)}
        return [other for other in self.others(agent) if other in writers]

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

    def is_unmade(self, call: ToolCall, path: str) -> bool:
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

    @property
    def is_long(self) -> bool:
        """Is it worth compacting? Every hook reads all of it."""
        return self.count > COMPACT_AT_LINES + 2 * self.left

    @property
    def is_wordy(self) -> bool:
        """Is it worth rewriting without its obsolete lines?"""
        return self.spare > MAX_OBSOLETE_LINES


def changes_of(lines: Iterable[Line]) -> list[Change]:
    """The changes of contents and modes among these lines; a damaged line is void."""
    changes: list[Change] = []
    for line in lines:
        if len(line) == FIELDS["T"] and (is_change(line) or is_mode_change(line)):
            try:
                changes.append(Change(line))
            except ValueError:
                continue
    return changes


def is_change_since(line: Line, when: int) -> bool:
    """Is it a change that was found at that time or later?"""
    return any(change.looked >= when for change in changes_of([line]))


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
        return own and (change.grade == SURE or change.is_named or change.is_own)
    return change.is_named
