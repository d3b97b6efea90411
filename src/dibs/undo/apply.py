"""Carries out the plan of an undo: takes the files, commits, writes each in one step, tells the ledger and the log.

What is to be done is written down first, in a journal below the working tree's ledger. A run that is killed leaves it,
and the next `dibs undo` continues: a file that is done already stays, one that is as the plan found it is written, and
one that has changed meanwhile is left alone and told.
"""

from __future__ import annotations

import json
import os

from dibs.errors import Busy, Conflict, DibsError, Fenced, Invalid, Unavailable
from dibs.git import queries as git
from dibs.ledger import contents, file_writes, working_tree
from dibs.ledger.state import MISSING, UNDO, WHOLE, call_end_line, commit_line, name_line, owner_line
from dibs.machine.clock import random_id
from dibs.operations.guards import undo as rules
from dibs.undo import commits
from dibs.workspace.paths import of_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NotRequired, TypedDict

    from dibs.audit.answers import UndoneView
    from dibs.canonical import Canonical
    from dibs.client.session import Session
    from dibs.ledger.working_tree import Tree
    from dibs.operations.core.call import Call
    from dibs.operations.guards.undo import Version
    from dibs.undo.plan import Plan

    class Journal(TypedDict):
        """What an undo has to do, and under which claim. A version is a blob and a kind of file."""

        undo: str  # its id
        what: str  # for people
        of: list[str]  # the agents whose work is undone
        files: list[list[str]]  # path, the version that was found, the version that is written
        paths: list[str]  # all of them
        conflicts: int  # files with conflict marks
        staged: list[list[str]]  # path, the version for the index
        entries: list[list[str]]  # path, the version to commit, the version that HEAD had, if any
        before: str  # HEAD, if commits are reverted
        commits: list[str]  # that are reverted
        claim: NotRequired[str]  # once the files are taken
        new: NotRequired[bool]  # the claim is the undo's own


FOLDER = "undo"  # below the ledger's folder: the journals
INTERRUPTED = "interrupted"  # why an undo was given up: Ctrl-C, before anything was changed
MAX_PATHS = 200  # of one request; beyond it their folders are claimed


class Lock:
    """One undo at a time in a working tree; a killed process leaves no lock behind."""

    def __init__(self, folder: str) -> None:
        import fcntl

        os.makedirs(folder, 0o700, exist_ok=True)
        self._fd = os.open(f"{folder}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._fd)
            raise Busy("another `dibs undo` runs in this working tree; try again") from None

    def close(self) -> None:
        """Let the next one in."""
        os.close(self._fd)


class Worker:
    """Does it, for one caller in one working tree."""

    def __init__(self, session: Session, call: Call) -> None:
        self.session, self.call, self.place = session, call, session.place
        self.tree: Tree = working_tree.of(session.place)
        self.folder = f"{self.tree.folder}/{FOLDER}"

    # --- a new one

    def begin(self, plan: Plan) -> UndoneView:
        """Take the files and write the journal."""
        files = [one for one in plan.files if not one.problem]
        os.makedirs(self.folder, 0o700, exist_ok=True)
        made: Journal = {
            "undo": f"u{random_id()}", "what": plan.scope.title(), "of": plan.scope.agents,
            "files": [[one.path, *one.now, *one.to] for one in files if one.to != one.now],
            "paths": [one.path for one in files], "conflicts": sum(one.conflicts for one in files),
            "staged": [[one.path, *one.staged] for one in files if one.staged is not None],
            "entries": [[one.path, *one.head_to, *(one.head or ())] for one in files
                        if one.head_to is not None and one.head_to != one.head],
            "before": plan.before, "commits": plan.commits,
        }  # fmt: skip
        if made["entries"]:
            commits.check(self.tree.top, self.place.git_dir)
        self._take(made)
        try:
            if [one for one in files if self._present(one.path) != one.now]:
                self._refused(made, "conflict")
                raise Conflict("the files changed while the undo was made ready; run the command again")
            self._write_journal(made)
        except KeyboardInterrupt:
            self._refused(made, INTERRUPTED)
            raise
        try:
            return self.finish(made)
        except KeyboardInterrupt:
            if not os.path.exists(self._journal(made["undo"])):  # before anything was changed
                raise
            return self.finish(made)  # after that: half an undo helps nobody

    def _take(self, made: Journal) -> None:
        held = self.resources(made["paths"])
        fields = {
            "undo": made["undo"], "of": made["of"], "what": made["what"], "paths": held, "tree": self.tree.top,
            "count": len(made["paths"]), "local": self.tree.top == self.place.root,
        }  # fmt: skip
        taken = self.session.run(rules.TAKE, self.call, fields)
        made["claim"], made["new"] = taken["claim"], made.get("new") or taken["new"]

    def resources(self, paths: list[str]) -> list[Canonical]:
        """The files as claims name them; of very many, their folders."""
        if len(paths) > MAX_PATHS:
            folders = list(dict.fromkeys(os.path.dirname(path) for path in paths))
            paths = (
                folders if len(folders) <= MAX_PATHS and "" not in folders else sorted({p.split("/")[0] for p in paths})
            )
        found = []
        for path in dict.fromkeys(paths[:MAX_PATHS]):
            full = f"{self.tree.top}/{path}"
            folder, name = os.path.split(path)
            above = self.session.paths.resource(os.path.dirname(full), self.session.cwd) if folder else ("tree", "")
            if os.path.islink(full) and name.isprintable():  # itself, not what it leads to
                found.append(of_parts("file", f"{above[1]}/{name}" if above[1] else name))
                continue
            try:
                found.append(of_parts(*self.session.paths.resource(full, self.session.cwd, literal=True)))
            except Invalid:  # a name that nobody can claim, such as one with a newline
                found += [of_parts("tree", above[1])] if above[1] else []
        return found or [of_parts("name", f"undo:{self.tree.top}")]

    def _refused(self, made: Journal, code: str) -> None:
        self._done(made, restored=0, code=code)

    # --- the journal

    def _write_journal(self, made: Journal) -> None:
        path = self._journal(made["undo"])
        with open(f"{path}.new", "w", encoding="ascii") as file:
            json.dump(made, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(f"{path}.new", path)

    def _journal(self, undo: str) -> str:
        return f"{self.folder}/{undo}.json"

    def unfinished(self) -> list[Journal]:
        """The journals of runs that were killed."""
        journals: list[Journal] = []
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return []
        for name in names:
            if name.endswith(".json"):
                try:
                    with open(f"{self.folder}/{name}", encoding="ascii") as file:
                        journals.append(json.load(file))
                except (OSError, ValueError) as error:
                    raise Unavailable(f"{self.folder}/{name} cannot be read: {error}", path=self.folder) from None
        return journals

    def proceed(self, made: Journal) -> UndoneView:
        """Go on with one of them."""
        self._take(made)
        return self.finish(made)

    # --- doing it

    def finish(self, made: Journal) -> UndoneView:
        """Do all that is not done yet."""
        commit = ""
        if made["entries"]:
            try:
                commit = self._commit(made)
            except DibsError as error:
                if not any(self._present(row[0]) == (row[3], row[4]) for row in made["files"]):  # nothing is done yet
                    os.unlink(self._journal(made["undo"]))
                    self._refused(made, error.code)
                raise
            except KeyboardInterrupt:  # while git's hooks run
                if git.head(self.tree.top) == made["before"]:
                    os.unlink(self._journal(made["undo"]))
                    self._refused(made, INTERRUPTED)
                raise
        left = self._write_files(made)
        self._stage(made, left)
        done = [path for path in made["paths"] if path not in left]
        self._done(made, restored=len(done), commit=commit, paths=done)
        os.unlink(self._journal(made["undo"]))
        return {
            "undo": made["undo"], "claim": made["claim"], "restored": done, "left": left, "commit": commit or None,
            "conflicts": made["conflicts"],
        }  # fmt: skip

    def _commit(self, made: Journal) -> str:
        entries = [(path, (blob, kind)) for path, blob, kind, *_ in made["entries"]]
        title = f"Undo {made['what']}"
        lines = "\n".join(f"This reverts commit {commit}." for commit in made["commits"])
        return commits.commit(
            self.tree.top, self.folder, made["before"], entries, f"{title}\n\n{lines}", self.call.agent, made["undo"]
        )

    def _write_files(self, made: Journal) -> list[str]:
        """Removals first: a folder may take the place of a file, and the reverse. Returns what is left alone."""
        rows = sorted(
            made["files"], key=lambda row: (row[3] != MISSING, -row[0].count("/") if row[3] == MISSING else 0)
        )
        call = f"{UNDO}{made['undo']}"
        self.tree.open_call(call, self.call.agent, is_open=False)
        for path, _, _, blob, _ in rows:
            self.tree.add(name_line(call, WHOLE, blob, path))
        self.tree.write()
        left = [path for path, was, was_kind, blob, kind in rows if not self._put(path, (was, was_kind), (blob, kind))]
        for path, *_ in rows:
            if path not in left:
                self.tree.made(path, self.call.agent, WHOLE)
        self.tree.add(call_end_line(self.tree.stamp(), call, left=False))
        self.tree.write()
        self._settle_owners([row for row in rows if row[0] not in left])
        return left

    def _put(self, path: str, was: Version, to: Version) -> bool:
        """Write one file, if it is as the plan found it; done already is fine."""
        full = f"{self.tree.top}/{path}"
        present = self._present(path)
        if present == to:
            self._tidy(path, to)
            return True
        if present != was or not self._is_inside(full):
            return False
        content = None
        if to[0] != MISSING:
            content = contents.of_tree(self.place, to[0], self.tree.top)
            if content is None:
                return False
        try:
            if to[0] == was[0] and content is not None and contents.LINKED not in {to[1], was[1]}:
                file_writes.chmod(full, to[1])
            else:
                self._replace(full, content, to[1])
        except OSError as error:
            text = f"{full} cannot be written: {error.strerror}; `dibs undo` continues when that is mended"
            raise Unavailable(text, path=full) from None
        self._tidy(path, to)
        return True

    def _replace(self, full: str, content: bytes | None, kind: str) -> None:
        making = f"{self.folder}/making"
        try:
            file_writes.put(full, content, kind, making)
        except OSError as error:
            import errno

            if error.errno != errno.EXDEV:
                raise
            file_writes.put(full, content, kind, f"{full}.dibs-undo")

    def _tidy(self, path: str, to: Version) -> None:
        """Folders that are empty now go, as with git."""
        folder = os.path.dirname(path)
        while to[0] == MISSING and folder:
            try:
                os.rmdir(f"{self.tree.top}/{folder}")
            except OSError:
                return
            folder = os.path.dirname(folder)

    def _is_inside(self, full: str) -> bool:
        """Is the file's folder really in the working tree, and not behind a link?"""
        folder = os.path.dirname(full)
        return os.path.realpath(folder) == folder

    def _present(self, path: str) -> Version:
        full = f"{self.tree.top}/{path}"
        return contents.read(full)[0], contents.kind_of(contents.signature(full))

    def _settle_owners(self, rows: list[list[str]]) -> None:
        """What git has is nobody's unfinished work; what another agent had made is that agent's again."""
        heads = self.tree.state.heads
        dirty = None
        for path, _, _, blob, _ in rows:
            head = heads.get(path)
            if head is None or head.content != blob:
                continue
            if dirty is None:
                from dibs.git.queries import dirty as changed

                dirty = {one.path for one in changed(self.tree.top)} if self.place.common else {row[0] for row in rows}
            author = head.author
            if path not in dirty:
                self.tree.add(commit_line(blob, path))
            elif author in self.tree.state.began and author != self.call.agent:
                self.tree.add(owner_line(author, path))
        self.tree.write()

    def _stage(self, made: Journal, left: list[str]) -> None:
        """The index follows: what it had of HEAD or of the undone work."""
        if not self.place.common:
            return
        index = commits.staged(self.tree.top, [row[0] for row in made["entries"]]) if made["entries"] else {}
        rows = [
            (path, (blob, kind)) for path, blob, kind, was, was_kind in made["entries"]
            if index.get(path) == (was, was_kind)
        ]  # fmt: skip
        rows += [(path, (blob, kind)) for path, blob, kind in made["staged"] if path not in left]
        commits.stage(self.tree.top, rows)

    def _done(
        self, made: Journal, *, restored: int, commit: str = "", paths: list[str] | None = None, code: str = ""
    ) -> None:
        fields = {
            "undo": made["undo"], "of": made["of"], "what": made["what"], "tree": self.tree.top, "restored": restored,
            "paths": [os.fsencode(path).decode("utf-8", "replace") for path in paths or ()],
            "conflicts": made["conflicts"], "commit": commit, "claim": made["claim"], "release": bool(made["new"]),
            "code": code,
        }  # fmt: skip
        try:
            self.session.run(rules.DONE, self.call, fields)
        except Fenced:  # it took longer than the claim lives: taken again, or refused with who has it now
            self._take(made)
            self.session.run(rules.DONE, self.call, {**fields, "claim": made["claim"], "release": bool(made["new"])})
