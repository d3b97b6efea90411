"""One repository in the past: what each agent held, had not finished and had seen, as far as the sessions tell.

Each call is shown to the guards' own operations, on an engine in memory with the clock of that time: what they refuse,
dibs would have refused. After that the past goes on as it was recorded, whatever was refused. Of a repository nothing
is looked at but what is there now: links, ignore files, aliases. A refused call is asked again for an agent alone.

Less is known than at a hook: not what people did, not which files git has changed. Work counts as unfinished until a
commit of it is recorded, and while its agent is active. What comes with a merge or a branch is not judged.
"""

from __future__ import annotations

import os
from typing import cast

from dibs import shell
from dibs.errors import DibsError, Invalid
from dibs.git import aliases
from dibs.git.ignored import ignored_among
from dibs.guards import open_targets
from dibs.guards.gitadvice import OWN_TREE, what
from dibs.lookback.judged import Judged, Overwrite, Place, Refusal, Sweep, Work
from dibs.lookback.moments import COMMAND, EDIT, READ, Change
from dibs.operations.claims import endings
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import Call, related
from dibs.operations.core.entry import perform
from dibs.operations.core.policy import Policy
from dibs.operations.guards import edit_guard, shared_tree, shell_guard
from dibs.shell import deploy_commands
from dibs.testing.memory import MemoryStore
from dibs.workspace import location
from dibs.workspace.paths import Paths, of_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Unpack

    from dibs.client.session import Session
    from dibs.git.effects import GitEffect
    from dibs.lookback.moments import Moment
    from dibs.operations.core.call import Fields
    from dibs.operations.core.declare import Operation
    from dibs.operations.guards.concerns import OwnedPath
    from dibs.operations.guards.edit_guard import Knowledge, Target, TreeTargets
    from dibs.operations.guards.shared_tree import EffectFields, TreeEffect
    from dibs.operations.guards.shell_guard import OpenTarget
    from dibs.shell import Reading
    from dibs.stores.seam import Transaction

QUIET_MS = 2 * 3_600_000  # after this long nothing is claimed any more: what is remembered of the claims can go
KEPT_MS = 24 * 3_600_000  # what an agent knew of a file; then it reads it again
MAX_PLACES = 50_000  # paths whose place is remembered
TAKE_IN, COMMITS, STASHES, WRITES_OVER, DELETES = "take in", "commit", shared_tree.STASHES, "write over", "delete"


class _Door:
    """As much of a session as placing open targets needs."""

    def __init__(self, place: location.Place) -> None:
        self.place = place
        self.paths = Paths(place.top, False, place.common, is_real=True)


class Past:
    """The state of one repository at the time of the present moment."""

    def __init__(self, tree_of: Callable[[str], tuple[str, str]], repository: str, home: str) -> None:
        self._tree_of, self._repository, self._home = tree_of, repository, home
        self.policy = Policy()
        self._now = 0
        self._store = MemoryStore(now=lambda: self._now, wall=lambda: self._now)
        self._last: dict[str, int] = {}  # when each agent was active last
        self._began: dict[str, int] = {}
        self._works: dict[str, dict[str, Work]] = {}  # by working tree and path
        self._seen: dict[str, dict[tuple[str, str], int]] = {}  # by agent: which version of a file it knows
        self._places: dict[str, Place | None] = {}
        self._doors: dict[str, _Door] = {}

    def judge(self, moment: Moment) -> Judged:
        """What one call did to others, and whether dibs would have refused it."""
        self._pass(moment.at)
        self._began.setdefault(moment.agent, moment.at)
        self._last[moment.agent] = moment.at
        found = Judged()
        if moment.kind == READ:
            self._read(moment.agent, moment.reads, moment.cwd)
        elif moment.kind == EDIT:
            self._edit(moment, found, self._placed(moment.changes, moment.cwd))
        elif moment.kind == COMMAND:
            self._command(moment, found)
        return found

    def _pass(self, at: int) -> None:
        """Time goes on; what ended long ago is forgotten."""
        if self._now and at - self._now > QUIET_MS:
            self._store = MemoryStore(now=lambda: self._now, wall=lambda: self._now)
        if self._now // KEPT_MS != at // KEPT_MS:
            gone = [agent for agent, last in self._last.items() if at - last > KEPT_MS]
            for agent in gone:
                del self._last[agent], self._began[agent]
                self._seen.pop(agent, None)
            for works in self._works.values():
                for path in [path for path, work in works.items() if at - work.at > KEPT_MS]:
                    del works[path]
        self._now = at

    # --- where

    def _place(self, path: str, cwd: str) -> Place | None:
        """A path of this repository; None for one elsewhere."""
        full = os.path.normpath(os.path.join(cwd or "/", path))
        if full not in self._places:
            if len(self._places) > MAX_PLACES:
                self._places.clear()
            self._places[full] = self._located(full)
        return self._places[full]

    def _located(self, full: str) -> Place | None:
        tree, repository = self._tree_of(os.path.dirname(full))
        if repository != self._repository:
            return None
        door = self._door(tree)
        try:
            kind, text, alias, _ = door.paths.located(full, tree, literal=True)
        except (Invalid, ValueError):
            return None
        ignored = bool(door.place.common and ignored_among(tree, door.place.common, [text]))
        return Place(tree, of_parts(kind, text, alias), ignored=ignored)

    def _door(self, tree: str) -> _Door:
        if tree not in self._doors:
            self._doors[tree] = _Door(location.Place(self._repository, tree, location.common_of(tree), ""))
        return self._doors[tree]

    def _placed(self, changes: Iterable[Change], cwd: str) -> list[tuple[Place, Change]]:
        return [(place, change) for change in changes if (place := self._place(change.path, cwd)) is not None]

    # --- what agents know and have not finished

    def _is_active(self, agent: str) -> bool:
        return self._now - self._last.get(agent, 0) <= self.policy.ttl

    def _others_in(self, work: Work, agent: str) -> list[str]:
        """The other agents with unfinished work in a file that are still there."""
        return [owner for owner in work.owners if not related(owner, agent) and self._is_active(owner)]

    def _read(self, agent: str, paths: Iterable[str], cwd: str) -> None:
        for path in paths:
            place = self._place(path, cwd)
            if place is not None:
                work = self._works.get(place.tree, {}).get(place.text)
                self._seen.setdefault(agent, {})[place.tree, place.text] = work.version if work is not None else 0

    def _facts(self, agent: str, place: Place, *, merges: bool) -> Knowledge | None:
        """What the ledger would say of a file."""
        work = self._works.get(place.tree, {}).get(place.text)
        if work is None:
            return None
        known = self._seen.get(agent, {}).get((place.tree, place.text))
        how = edit_guard.NOTHING if known is None else edit_guard.SAME if known == work.version else edit_guard.OLDER
        owners = [owner for owner in work.owners if self._is_active(owner)]
        since = work.author != agent and work.at > self._began[agent]
        return {
            "merges": merges, "known": how, "author": work.author, "owners": owners, "since": since, "disputed": False
        }  # fmt: skip

    def _changed(self, agent: str, place: Place, change: Change) -> None:
        works = self._works.setdefault(place.tree, {})
        known = self._seen.setdefault(agent, {})
        work = works.get(place.text)
        if work is None:
            work = works[place.text] = Work()
            work.made = change.whole and (place.tree, place.text) not in known
        work.version, work.author, work.at = work.version + 1, agent, self._now
        work.owners[agent] = self._now
        known[place.tree, place.text] = work.version

    # --- the guards

    def _ask(self, store: MemoryStore, moment: Moment, operation: Operation, fields: Fields) -> DibsError | None:
        call = Call(self.policy, agent=moment.agent, kind=moment.client)
        try:
            answer = store.run(lambda tx: perform(tx, call, operation, fields))
        except DibsError as error:
            return error
        return answer if isinstance(answer, DibsError) else None

    def _refused(
        self, moment: Moment, found: Judged, operation: Operation, fields: Fields, alone: Fields,
        paths: Iterable[str],
    ) -> bool:  # fmt: skip
        """Would dibs have refused it? `alone`: the same where no other agent ever was."""
        error = self._ask(self._store, moment, operation, fields)
        if error is None:
            return False
        empty = MemoryStore(now=lambda: self._now, wall=lambda: self._now)
        is_alone = self._ask(empty, moment, operation, alone) is not None
        found.refusal = Refusal(moment, error, alone=is_alone, paths=list(dict.fromkeys(paths)))
        return True

    def _edit(self, moment: Moment, found: Judged, placed: list[tuple[Place, Change]]) -> None:
        """The edit guard's decision about the files that a call names, and then the edit as it was."""
        trees: dict[str, list[Target]] = {}
        bare: dict[str, list[Target]] = {}
        for place, change in placed:
            facts = self._facts(moment.agent, place, merges=not change.whole)
            if self._is_overwrite(moment.agent, change, facts):
                work = self._works[place.tree][place.text]
                found.overwrites.append(Overwrite(moment, f"{place.tree}/{place.text}", work.author, work.at))
            content = "x" if facts is not None else ""
            one = edit_guard.target(place.resource, ignored=place.ignored, content=content, facts=facts)
            trees.setdefault(place.tree, []).append(one)
            bare.setdefault(place.tree, []).append({**one, "facts": None})
        if trees and found.refusal is None:
            names = [place.text for place, _ in placed]
            self._refused(
                moment, found, edit_guard.EDIT, _edit_fields(trees, moment), _edit_fields(bare, moment), names
            )
        for place, change in placed:
            if not place.ignored:
                self._changed(moment.agent, place, change)
                found.changed.append((place, change))

    def _is_overwrite(self, agent: str, change: Change, facts: Knowledge | None) -> bool:
        """Is a content of another agent gone that this one has not seen?"""
        if facts is None or not change.whole or change.goes or facts["known"] == edit_guard.SAME:
            return False
        author = facts["author"]
        return bool(author) and not related(author, agent) and (facts["since"] or self._is_active(author))

    def _command(self, moment: Moment, found: Judged) -> None:
        """The shell guard's decision about a command, then the edit guard's about the files that it names."""
        cwd = moment.cwd or "/"
        reading = shell.read(moment.command, cwd, home=self._home)
        self._read(moment.agent, reading.shown, cwd)
        effects = aliases.effects(reading) if reading.git else []
        written = self._written(reading)
        sweeps = [swept for effect in effects if (swept := self._sweep(moment, effect)) is not None]
        for sweep, paths in sweeps:
            owners = [
                owner for path in paths for owner in self._others_in(self._works[sweep["tree"]][path], moment.agent)
            ]
            theirs = [path for path in paths if self._others_in(self._works[sweep["tree"]][path], moment.agent)]
            if theirs:
                found.sweeps.append(Sweep(moment, sweep, theirs, list(dict.fromkeys(owners))))
        tree = self._tree_of(cwd)[0]
        fields = {
            "tree": tree, "sweeps": [sweep for sweep, _ in sweeps], "unresolved": self._unresolved(tree, reading),
            "deploys": self._deploys(reading, cwd), "client": moment.client, "owned": self._owned(moment.agent, tree),
        }  # fmt: skip
        if fields["sweeps"] or fields["unresolved"] or fields["deploys"]:
            touched = [path for _, paths in sweeps for path in paths]
            self._refused(moment, found, shell_guard.COMMAND, fields, {**fields, "owned": []}, touched)
        if written:
            self._edit(moment, found, written)
        for effect in effects:
            self._git_has_run(moment, effect)

    def _written(self, reading: Reading) -> list[tuple[Place, Change]]:
        """The files that a command's words write, and those that it deletes and that only the past knows."""
        changes = [
            Change(target.path, whole=not (target.merges or target.how in {"append", "touch"}),
                   goes=target.how in {"delete", "move"}) for target in reading.writes
        ]  # fmt: skip
        placed = self._placed(changes, "/")
        for place, change in self._placed([Change(path, whole=True, goes=True) for path in reading.absent], "/"):
            if place.text in self._works.get(place.tree, {}):
                placed.append((place, change))
        inside = []
        for place, change in placed if any(change.goes for _, change in placed) else ():
            within = f"{place.text}/" if place.text else ""
            names = [name for name in self._works.get(place.tree, {}) if name.startswith(within)] if change.goes else []
            inside += [(Place(place.tree, of_parts("file", name), ignored=False), change) for name in names]
        return placed + inside

    def _unresolved(self, tree: str, reading: Reading) -> list[OpenTarget]:
        """The targets that the words leave open, in a working tree of this repository."""
        if not reading.unresolved or not tree:
            return []
        return open_targets.placed(cast("Session", self._door(tree)), reading.unresolved)  # all that it asks for

    def _deploys(self, reading: Reading, cwd: str) -> list[list[str]]:
        patterns = deploy_commands.spelled(self.policy.guards["deploy"].get("commands", {}))
        programs = deploy_commands.names(patterns)
        worth = [simple for simple in reading.commands if deploy_commands.may_be(simple, programs)]
        return [[*deploy, ""] for deploy in deploy_commands.find(worth, patterns, cwd)] if worth else []

    def _owned(self, agent: str, tree: str) -> list[OwnedPath]:
        """Other agents' unfinished work in a working tree."""
        known = self._seen.get(agent, {})
        return [
            (tree, of_parts("file", path), list(work.owners), known.get((tree, path)) == work.version)
            for path, work in self._works.get(tree, {}).items()
            if self._others_in(work, agent)
        ]

    # --- git

    def _under(self, effect: GitEffect, tree: str) -> list[str]:
        """The files with unfinished work that a git command means: all of the tree, or what its paths name."""
        works = {path: work for path, work in self._works.get(tree, {}).items() if work.owners}
        if effect.all and not effect.paths:
            return [*works]
        found: dict[str, None] = {}
        for path in effect.paths:
            name = path.removeprefix(":/") if path.startswith(":/") else path
            base = tree if path.startswith(":/") else effect.cwd or tree
            inner = os.path.relpath(os.path.normpath(os.path.join(base, name)), tree)
            if inner == ".":
                return [*works]
            matching = ["glob", inner] if any(sign in inner for sign in "*?[") else ["tree", inner]
            from dibs.operations.claims import resources

            found |= dict.fromkeys([name for name in works if resources.overlap(["file", name], matching)])
        return [*found]

    def _sweep(self, moment: Moment, effect: GitEffect) -> tuple[TreeEffect, list[str]] | None:
        """What a git command would do to many files, or to the branch; None for what is not judged."""
        tree, repository = self._tree_of(effect.cwd) if effect.cwd else ("", "")
        if repository != self._repository:
            return None
        kind = effect.kind
        if effect.head and kind in {"checkout", "switch"}:
            return self._switch(moment, effect, tree)
        does, paths = self._files(effect, tree)
        if not does:
            return None
        if effect.unknown:
            return self._effect(effect, tree, paths=None, does=f"may {does}", may=True), []
        drops = does in {STASHES, WRITES_OVER, DELETES}
        return self._effect(effect, tree, paths=paths, does=does, drops=drops), paths

    def _files(self, effect: GitEffect, tree: str) -> tuple[str, list[str]]:
        """What a command does to which files with unfinished work; "" for what is not judged."""
        works = self._works.get(tree, {})
        kind = effect.kind
        if kind in {"add", "stage"}:
            return TAKE_IN, self._under(effect, tree)
        if kind == "commit":
            staged = [path for path, work in works.items() if work.staged and work.owners]
            return COMMITS, self._under(effect, tree) if effect.all or effect.paths else staged
        if kind == "stash":
            named = self._under(effect, tree) if effect.paths else [path for path, work in works.items() if work.owners]
            return (STASHES, named) if effect.action in {"push", "save"} else ("", [])
        if kind in {"restore", "checkout"} and effect.tree and not effect.head:
            return WRITES_OVER, [path for path in self._under(effect, tree) if not works[path].made]
        if kind == "reset" and effect.tree and effect.force and not effect.paths:
            return WRITES_OVER, [path for path, work in works.items() if work.owners and not work.made]
        if kind == "clean":
            named = self._under(effect, tree) if effect.paths else [path for path, work in works.items() if work.owners]
            return DELETES, [path for path in named if works[path].made and not works[path].staged]
        return "", []

    def _switch(self, moment: Moment, effect: GitEffect, tree: str) -> tuple[TreeEffect, list[str]] | None:
        """Another branch. What makes a new one here, or is the present one, passes; so does the name of a file."""
        name = effect.refspecs[0] if effect.refspecs else ""
        place = self._place(name, effect.cwd or tree) if name and name != "-" else None
        is_file = place is not None and place.text in self._works.get(tree, {})
        if effect.action == "create" or not name or name in {moment.branch, "HEAD"} or is_file:
            return None
        return self._effect(effect, tree, head="switch", to="" if name == "-" else name), []

    @staticmethod
    def _effect(effect: GitEffect, top: str, /, **fields: Unpack[EffectFields]) -> TreeEffect:
        found: TreeEffect = {"what": what(effect), "tree": top, "main": True, **fields}
        if "head" in fields or fields.get("paths") is None:
            found["else"] = OWN_TREE
        return found

    def _git_has_run(self, moment: Moment, effect: GitEffect) -> None:
        """A git command as it was recorded: what is staged, committed, or gone."""
        tree, repository = self._tree_of(effect.cwd) if effect.cwd else ("", "")
        if repository != self._repository:
            return
        does, paths = self._files(effect, tree)
        works = self._works.get(tree, {})
        if does == COMMITS:
            self._release(moment.agent, tree, set(paths))
        for path in paths:
            work = works[path]
            if does == TAKE_IN:
                work.staged = True
            elif does:
                work.owners.clear()
                work.staged = False
                work.made = work.made and does != COMMITS
                if does != COMMITS:
                    work.version, work.author, work.at = work.version + 1, "", self._now

    def _release(self, agent: str, tree: str, paths: set[str]) -> None:
        """The committing agents' claims by the edit guard end with their commit."""

        def end(tx: Transaction) -> None:
            for claim in claim_records.claims_of(tx, agent):
                freed = [one for one in claim["resources"] if one[0] == "file" and one[1] in paths]
                if freed and claim["by"] == edit_guard.BY and claim["tree"] in {"", tree}:
                    endings.give_back(tx, claim, freed, "released")

        if paths:
            self._store.run(end)


def _edit_fields(trees: dict[str, list[Target]], moment: Moment) -> Fields:
    """The request of the edit guard for files in one or more working trees."""
    parts: list[TreeTargets] = [{"targets": rows, "tree": tree, "local": False} for tree, rows in trees.items()]
    first, *more = parts
    return {**first, "more": more, "client": moment.client, "tool": ""}
