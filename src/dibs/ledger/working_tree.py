"""One working tree as a hook finds it: looks at its files, and writes what they show into its ledger.

Nothing is decided here: ledger/state.py gives lines their meaning, ledger/attribution.py
attributes a change. The order of a look makes it sound: note the time, stat and read the files, read the ledger, judge,
append. A tool writes only after its first hook has ended, so the call that made a change is in the ledger before the
change can be seen.
"""

from __future__ import annotations

import os

from dibs.ledger import contents, ledger_files
from dibs.ledger import state as ledger
from dibs.ledger.state import (
    BACK,
    BASE,
    GIT,
    INODE_LAG_NS,
    LIKELY,
    MAX_PATHS_WATCHED,
    MISSING,
    OUTSIDE,
    SURE,
    UNKNOWN,
    WHOLE,
    State,
)
from dibs.machine import caller
from dibs.workspace import location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.ledger.attribution import Verdict
    from dibs.ledger.state import Change, Head, Line
    from dibs.workspace.location import Place


REFILL_NS = 3_000_000_000  # the time in which a command that emptied a file fills it
MAX_CHANGED_FILES = 2_000  # of a working tree, in a look at the whole of it


class Seen:
    """One path at one look."""

    __slots__ = ("content", "data", "path", "signature")

    def __init__(self, path: str, signature: str, content: str, data: bytes | None) -> None:
        self.path, self.signature, self.content, self.data = path, signature, content, data


class Tree:
    """One working tree's ledger, read once and added to."""

    def __init__(self, top: str, folder: str) -> None:
        self.top, self.folder = top, folder
        self.local = ""  # the workspace's folder with the agents' signs of life; "" if none is to be looked at
        self.objects = f"{folder}/objects"
        self.now, self.offset = ledger_files.now()
        self._state: State | None = None
        self._known = (0, 0)
        self._index: contents.Index | None = None
        self._staged: dict[str, tuple[str, str]] | None = None  # what git's index has, and HEAD has not
        self._lines: list[Line] = []  # to be appended
        self._pending: set[str] = set()  # the ids of the changes among them
        self._half_done: set[str] = set()  # what a later look must take
        self.ending = ""  # the call whose end this hook reports
        self._may_wait = False  # nobody is about to write what is looked at: a later look may take it
        self._is_whole = False  # this is a look at the whole tree, so git knows more than its index
        self.found: dict[str, Seen] = {}  # what this hook saw, by path

    # --- state

    @property
    def state(self) -> State:
        """The ledger's state."""
        if self._state is None:
            lines, self._known = ledger_files.load(self.folder)
            self._state = State(lines)
        return self._state

    @property
    def index(self) -> contents.Index:
        """Git's index."""
        if self._index is None:
            self._index = contents.Index(os.path.dirname(self.folder) if self._is_in_git else "")
        return self._index

    @property
    def _is_in_git(self) -> bool:
        """Is this a working tree of git's? Then its ledger is below git's directory."""
        return os.path.basename(self.folder) == location.DIBS_FOLDER

    @property
    def staged(self) -> dict[str, tuple[str, str]]:
        """The paths whose content in git's index is not committed, with what HEAD has. Git is asked once a hook."""
        if self._staged is None and not self._is_in_git:
            self._staged = {}
        if self._staged is None:
            from dibs.errors import Unavailable
            from dibs.git import queries

            try:
                self._staged = queries.staged_over(self.top)
            except Unavailable:
                self._staged = {}
        return self._staged

    def inner(self, real: str) -> str:
        """A real path as the ledger has it; "" for a path outside of this working tree."""
        return real[len(self.top) + 1 :] if real.startswith(f"{self.top}/") else ""

    # --- looking

    def survey(self, more: Iterable[str] = ()) -> None:
        """Look at all watched paths, and at these. One line says that the rest is unchanged."""
        self._bury(self.state.at_work())
        moves = self.state.moves
        watched = self.state.watched(self.now)
        self._half_done.clear()
        self._may_wait = True
        self.look([*watched, *more])
        self._may_wait = False
        if 0 < len(watched) < MAX_PATHS_WATCHED and not self._half_done:
            self._lines.append(ledger.survey_line(self._stamp, moves))

    def is_accompanied(self, agent: str) -> bool:
        """May a program of another agent be running, as far as is known?"""
        others = self.state.alongside(agent, self.now)
        return len(self._bury(others)) < len(others)

    def look_if_behind(self, agent: str) -> None:
        """Before a command of the agent: look at the whole tree if another agent's program ended since the last time.

        What that one wrote is not known yet, and the command may overwrite it.
        """
        if self._is_in_git and self.state.is_behind(agent, self.now):
            self.look_at_all()

    def _bury(self, agents: Iterable[str]) -> list[str]:
        """Those of these agents whose client is gone: their calls ended with it, and no hook will say so.

        They ended before this look: what it does not find, they have not done.
        """
        gone = ledger_files.gone(self.local, agents) if self.local else []
        if gone:
            wall, offset = ledger_files.now()
            at = ledger.stamp(wall - 2 * INODE_LAG_NS, offset)
            self.add(*[ledger.death_line(at, agent) for agent in gone])
            self.write()
        return gone

    def look(self, paths: Iterable[str], *, always: bool = False) -> None:
        """Look at these paths; news goes into the ledger with the next `write`, with `always` also unchanged paths.

        The more recent the last look at a path, the fewer calls can have changed it since.
        """
        self.now, self.offset = ledger_files.now()
        heads, top, missing = self.state.heads, self.top, contents.MISSING
        access, there = os.access, os.F_OK  # for many paths
        seen = []
        for path in dict.fromkeys(paths):
            if location.REGISTRY in path and location.follows_record(self.local, path):
                continue
            head, full = heads.get(path), f"{top}/{path}"
            if head is not None and head.signature == missing and not access(full, there, follow_symlinks=False):
                if not always:  # it is still missing; a link would count, too
                    continue
                signature = missing
            else:
                signature = contents.signature(full)
            if head is not None and head.signature == signature and not contents.is_racy(signature, head.looked):
                if always:
                    self._lines.append(ledger.look_line(self._stamp, head.content, signature, path))
                continue
            if signature == missing and os.path.exists(f"{full}/.git"):
                continue  # a submodule or another repository: what it has checked out is no content of this tree's
            content, data = (MISSING, None) if signature == contents.MISSING else contents.read(full)
            seen.append(Seen(path, signature, content, data))
        if seen:
            self._refresh()
            for one in seen:
                self._note(one)

    def look_at_all(self, most: int = MAX_CHANGED_FILES) -> None:
        """Look at every file that git calls changed. Unfinished work that is not among them was committed unseen."""
        from dibs.git.queries import dirty

        before, offset = ledger_files.now()
        found = dirty(self.top)
        changed = [change.path for change in found if not change.path.endswith("/")]
        self._staged = None if any(change.staged not in " ?!" for change in found) else {}
        self._is_whole = True
        self.survey(changed[:most])
        self._is_whole = False
        self.write()
        clean = set(self.state.owned()) - set(changed) - self._half_done
        clean -= self._changed_inside(clean)
        self.add(*[ledger.commit_line(self.state.heads[path].content, path) for path in clean])
        cost = ledger_files.now()[0] - before
        self.add(ledger.tree_look_line(ledger.stamp(before, offset), cost))  # git saw nothing later than that
        self.write()

    def inside(self, paths: Iterable[str]) -> dict[str, list[str]]:
        """Those of these paths that are in a repository inside this tree (a submodule), by the folder of that one."""
        inner: dict[str, str] = {}  # a folder → that of the repository, "" for this tree's own
        found: dict[str, list[str]] = {}
        for path in paths:
            above = os.path.dirname(path)
            if above not in inner:
                folder = above
                while folder and not os.path.exists(f"{self.top}/{folder}/.git"):
                    folder = os.path.dirname(folder)
                inner[above] = folder
            if inner[above]:
                found.setdefault(inner[above], []).append(path)
        return found

    def _changed_inside(self, paths: Iterable[str]) -> set[str]:
        """The changed ones of these paths in repositories inside this tree: its git does not name them."""
        from dibs.git.queries import dirty

        return {f"{folder}/{change.path}" for folder in self.inside(paths) for change in dirty(f"{self.top}/{folder}")}

    def _refresh(self) -> None:
        """Read what others added since: the calls that made the changes just seen."""
        if self._known[0]:
            added = ledger_files.tail(self.folder, self._known)
            if added is not None:
                rows, self._known = added
                self.state.add(rows)
                return
        self._state = None

    def _note(self, seen: Seen) -> None:
        """Record one path that is new, or not certainly unchanged."""
        head = self.state.heads.get(seen.path)
        if seen.data == b"" and (head is None or head.content != seen.content) and self._is_half_done(seen, head):
            self._half_done.add(seen.path)
            return
        if head is not None and head.content == seen.content:
            self.found[seen.path] = seen
            kind = contents.kind_of(head.signature)
            if head.signature[-1:] == seen.signature[-1:] or not head.signature or not self._became(seen, head, kind):
                self._lines.append(ledger.look_line(self._stamp, seen.content, seen.signature, seen.path))
            return
        in_git, kind = self.index.entry(seen.path)
        is_large = seen.content[:1] == contents.SAMPLED and self.index.has(seen.path, seen.signature)
        if is_large:
            in_git = seen.content  # a large file has another id than git's
        dropped = head is not None and bool(head.owners) and seen.content == in_git
        if dropped and head is not None and self._may_wait and self._is_put_aside(seen, head):
            self._half_done.add(seen.path)
            return
        self.found[seen.path] = seen
        if seen.content != in_git or (is_large and seen.path in self.staged):
            self.keep(seen)
        before = head.content if head is not None else in_git
        if before == seen.content and (self._is_whole or self._is_recent(seen)) and seen.path in self.staged:
            mode, blob = self.staged[seen.path]
            before, kind = contents.of_mode(int(mode, 8), blob) if blob else (MISSING, contents.PLAIN)
        if before == seen.content:
            if head is not None or not self._keeps_modes(kind, seen) or not self._became(seen, head, kind):
                self._lines.append(ledger.look_line(self._stamp, seen.content, seen.signature, seen.path))
            return
        if head is not None:
            kind = contents.kind_of(head.signature)
        self._judge(seen, head, before, kind, is_git=seen.content == in_git)

    def _is_recent(self, seen: Seen) -> bool:
        """Was it written after the last look at the whole tree? Then git's index alone may have it: it was staged."""
        if not self.state.full or seen.signature == contents.MISSING:
            return False
        return contents.changed_at(f"{self.top}/{seen.path}", seen.signature) > self.state.full - INODE_LAG_NS

    def _keeps_modes(self, kind: str, seen: Seen) -> bool:
        """Does the file differ from what git has by its mode alone, where git trusts the filesystem's modes?"""
        if seen.content == MISSING or kind == contents.kind_of(seen.signature):
            return False
        return location.core_settings(location.common_of(self.top)).get("filemode") != "false"

    def _became(self, seen: Seen, head: Head | None, was: str) -> bool:
        """Is it executable now and was not, or the other way round? Then that is noted as a change of its own."""
        now = contents.kind_of(seen.signature)
        if was == now:
            return False
        from dibs.ledger import attribution

        changed = contents.changed_at(f"{self.top}/{seen.path}", seen.signature)
        verdict = attribution.judge(
            self.state, seen.path, seen.content, changed, ledger_files.now()[0], self.offset, known=head
        )
        self._lines.append(ledger.mode_line(os.urandom(6).hex(), self._stamp, seen, verdict, (was, now)))
        return True

    def _is_put_aside(self, seen: Seen, head: Head) -> bool:
        """May a git command that runs have put the work aside? A content that is new and staged, a program made."""
        if not self.state.is_put_aside(seen.path, self.now, self.ending):
            return False
        return seen.content in head.authors or seen.path not in self.staged

    def _is_half_done(self, seen: Seen, head: Head | None) -> bool:
        """Was the file just emptied by a running call, which will fill it? Then a later look takes it.

        While a file is emptied, its time of change may still be the earlier one.
        """
        changed = contents.changed_at(f"{self.top}/{seen.path}", seen.signature)
        fresh = self.now - changed < REFILL_NS or (head is not None and changed < head.looked)
        return fresh and self.state.is_being_written(seen.path, self.now)

    def _judge(self, seen: Seen, head: Head | None, before: str, kind: str, *, is_git: bool) -> None:
        from dibs.ledger import attribution

        changed = contents.changed_at(f"{self.top}/{seen.path}", seen.signature)
        now = ledger_files.now()[0]  # not the start of the look: a call may have begun and written since
        is_staged = is_git and seen.path in self.staged
        verdict = attribution.judge(
            self.state, seen.path, seen.content, changed, now, self.offset, known=head,
            git=is_git and not is_staged,
            written=contents.written_at(seen.signature), signature=seen.signature,
            tidies=lambda blob: self._tidies(blob, seen),
        )  # fmt: skip
        may_carry = head is not None and not is_git and verdict.how != WHOLE
        is_first = head is None and before == MISSING and not self.state.full
        flags = ledger.flags_of(
            verdict.how or None, in_git=is_git, is_staged=is_staged, is_own=verdict.own,
            is_carried=may_carry and self._carries(head, seen.path, verdict.actor),
            is_unsure=is_first and not self._is_in_new_folder(seen.path),
            kinds=(kind, contents.kind_of(seen.signature)),
        )  # fmt: skip
        self._change(seen, before, verdict, flags)

    def _tidies(self, blob: str, seen: Seen) -> bool:
        """Is what was seen a formatter's version of this content?"""
        from dibs.ledger import attribution

        before = contents.kept(self.objects, blob) if seen.data is not None and blob != MISSING else None
        return before is not None and attribution.same_words(before, seen.data or b"")

    def _carries(self, head: Head | None, path: str, actor: str) -> bool:
        """Was there something uncommitted that no agent made and the actor had not read? It may still be in it."""
        if head is None or not head.is_carried or head.content in {MISSING, self.index.blob(path)}:
            return False
        return ledger_files.Seen(self.folder, actor).last(path) != head.content

    def _is_in_new_folder(self, path: str) -> bool:
        """Was a folder above it seen to be missing? Then there was no such file."""
        while path := os.path.dirname(path):
            head = self.state.heads.get(path)
            if head is not None:
                return head.content == MISSING
        return False

    def _change(self, seen: Seen, before: str, verdict: Verdict, flags: str) -> str:
        identifier = os.urandom(6).hex()
        if before != MISSING:
            contents.touch(self.objects, before)  # it stays as long as the memory of this change
        self._lines.append(ledger.change_line(identifier, self._stamp, before, seen, verdict, flags))
        self._pending.add(identifier)
        return identifier

    def made(self, path: str, actor: str, how: str = "") -> None:
        """The caller itself wrote this path just now, and its operation tells whom it concerns (`dibs restore`)."""
        from dibs.ledger.attribution import Verdict

        self.now, self.offset = ledger_files.now()
        full = f"{self.top}/{path}"
        signature = contents.signature(full)
        content, data = contents.read(full)
        head = self.state.heads.get(path)
        seen = Seen(path, signature, content, data)
        self.keep(seen)
        before, kind = self.index.entry(path)
        if head is not None:
            before, kind = head.content, contents.kind_of(head.signature)
        verdict, kinds = Verdict(actor, SURE, [actor]), (kind, contents.kind_of(signature))
        if before != content:
            self.add(ledger.report_line(self._change(seen, before, verdict, ledger.flags_of(how, kinds=kinds))))
        elif kinds[0] != kinds[1]:
            self._lines.append(ledger.mode_line(os.urandom(6).hex(), self._stamp, seen, verdict, kinds))

    def keep(self, seen: Seen) -> None:
        """Keep the content that was seen, so that it can be restored."""
        if seen.data is not None:
            contents.keep(self.objects, seen.content, seen.data)
        elif seen.content != MISSING:
            contents.keep_file(self.objects, seen.content, f"{self.top}/{seen.path}")

    # --- writing

    def add(self, *lines: Line) -> None:
        """Lines for the next `write`."""
        self._lines += lines

    def stamp(self) -> str:
        """This moment, in the ledger's form."""
        return ledger.stamp(*ledger_files.now())

    @property
    def _stamp(self) -> str:
        """The time of this look, in the ledger's form."""
        return ledger.stamp(self.now, self.offset)

    def open_call(
        self, call: str, agent: str, *, is_open: bool, left: bool = False, diary: int = -1, claims: Sequence[str] = ()
    ) -> None:
        """A call begins. Its line comes before the names that it writes."""
        line = ledger.call_line(self.stamp(), call, agent, is_open=is_open, left=left, diary=diary, claims=claims)
        self._lines.insert(0, line)

    def name(
        self, call: str, path: str, how: str, expected: bytes | None = None, *, blob: str = "", goes: bool = False,
        keep: bool = False,
    ) -> None:  # fmt: skip
        """The call names a path that it writes; `expected` is the new content, or `blob`, unless the file is deleted.

        If others are at work, that content is kept: it may be overwritten before the next look.
        """
        blob = MISSING if goes else blob
        if expected is not None:
            blob = contents.blob_id(expected)
            if keep:
                contents.keep(self.objects, blob, expected)
        self.add(ledger.name_line(call, how, blob, path))

    def settle(self) -> None:
        """Append at once if a change was found; lines that say "unchanged" wait for the next `write`.

        They count for this hook anyway: reading such a line a second time changes nothing.
        """
        if self._pending:
            self.write()
        else:
            self.state.add(self._lines)

    def write(self) -> list[Change]:
        """Append the new lines; returns the changes that count, because no other hook had found them before."""
        if not self._lines:
            return []
        lines, self._lines = _without_repeats(self._lines), []
        pending, self._pending = self._pending, set()
        state = self.state
        added = ledger_files.append(self.folder, lines, self._known)
        if added is None:  # it was rewritten meanwhile, or there was none
            self._state = None
            counted = self._counted(lines)
        else:
            counted = state.add(added[0])
            self._known = added[1]
        mine = [change for change in counted if change.id in pending]
        for change in mine:
            self._learn(change)
        return mine

    def _counted(self, lines: list[Line]) -> list[Change]:
        """The changes among these lines that count, in a ledger that was read again."""
        found = dict(self.state.untold)
        for line in lines:
            head = self.state.heads.get(ledger.path_of(line)) if ledger.is_change(line) else None
            if head is not None and head.change is not None and head.change.before != UNKNOWN:
                found.setdefault(head.change.id, head.change)
        return list(found.values())

    def _learn(self, change: Change) -> None:
        """Update what the actor of a change knows of the new content."""
        if change.grade not in {SURE, LIKELY}:
            return
        known = ledger_files.Seen(self.folder, change.actor)
        last = known.last(change.path)
        if last == change.after:
            return
        from dibs.ledger import attribution

        knows = attribution.knowledge(
            change.how, sure=change.grade == SURE or change.is_own,
            before_known=change.before in {MISSING, last},
            after_seen=known.ever(change.path, change.after), foreign=self._is_foreign(change),
        )  # fmt: skip
        authors = self.state.heads[change.path].authors
        if not knows and not last and authors.get(change.before, change.actor) in {change.actor, BASE, GIT}:
            return  # it never saw the file, and no other agent had changed it: no more is unknown than before
        # what it knew of the file was its own work, which it undid: it knows as little as before that
        undone = change.is_back and all(authors.get(one) == change.actor for one in known.contents(change.path))
        content = change.after if knows else "" if undone else ledger_files.BLIND
        ledger_files.saw(self.folder, change.actor, [(change.path, content, change.looked)])

    def _is_foreign(self, change: Change) -> bool:
        """Did git's or another agent's content come back, without a call that announced it?"""
        if self.state.heads[change.path].authors.get(change.after, change.actor) in {change.actor, OUTSIDE}:
            return False
        calls = [call for call in self.state.calls.values() if call.agent == change.actor]
        named = [call.named.get(change.path, ("", "")) for call in calls]
        return all(how.lower() == BACK or expected != change.after for how, expected in named)

    def unread(self, agent: str) -> list[str]:
        """The files whose content no agent made (a person did, as far as is known) and this agent has not read."""
        seen = ledger_files.Seen(self.folder, agent)
        return [
            path
            for path, head in self.state.heads.items()
            if head.content != MISSING and head.is_carried and seen.last(path) != head.content
        ]

    def untold(self) -> list[Change]:
        """The unreported changes."""
        return list(self.state.untold.values())

    def cut(self) -> None:
        """Compact a long ledger, after a look at the whole tree: earlier calls do not matter then."""
        if self.state.is_long:
            if self._is_in_git:
                self.look_at_all()
            from dibs.ledger import compaction

            lines = compaction.compacted(self.state, self.now)
            ledger_files.replace(self.folder, lines, self._known, compaction.past(self.state))
        else:
            self.shorten()

    def finish(self, paths: Iterable[str]) -> None:
        """Committed paths are no longer unfinished work."""
        known = [path for path in paths if path in self.state.heads]
        self.look(known)
        self.write()
        self.add(*[ledger.commit_line(self.state.heads[path].content, path) for path in known])
        self.write()

    def shorten(self) -> None:
        """Rewrite the ledger when many of its lines are obsolete. Every hook reads all of it."""
        if self.state.is_wordy:
            from dibs.ledger import compaction

            lines = compaction.without_obsolete(self.state, self.now)
            ledger_files.replace(self.folder, lines, self._known, compaction.past(self.state))


def _without_repeats(lines: list[Line]) -> list[Line]:
    """Of several looks at a path with the same result, the last one."""
    kept: list[Line] = []
    later: set[str] = set()
    for line in reversed(lines):
        if ledger.is_look(line):
            if ledger.path_of(line) in later:
                continue
            later.add(ledger.path_of(line))
        elif ledger.is_change(line) or ledger.is_mode_change(line):
            later.discard(ledger.path_of(line))
        kept.append(line)
    kept.reverse()
    return kept


def of(place: Place) -> Tree:
    """The working tree in use."""
    return _tree(place.top, place.private, place)


def at(top: str, place: Place) -> Tree:
    """The working tree with this top."""
    return _tree(top, place.private if top == place.top else location.private_of(top), place)


def _tree(top: str, folder: str, place: Place) -> Tree:
    ledger_files.settle(folder, top)
    other = caller.other()
    found: Tree = Tree(top, folder) if other is None else other.tree(top, folder)  # a server has read its ledger before
    found.local = place.local
    return found
