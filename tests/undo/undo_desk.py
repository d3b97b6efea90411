"""What the tests of `dibs undo` share: a repository, agents whose calls are in the ledger, an undo in this process."""

from __future__ import annotations

import os
import time
from pathlib import Path

from dibs.audit.answers import UndoneView
from dibs.canonical import Canonical
from dibs.client.session import Session
from dibs.ledger import working_tree
from dibs.ledger.state import call_end_line
from dibs.machine.clock import random_id
from dibs.undo import apply
from dibs.undo import plan as undo_plan
from dibs.undo import scope as undo_scope
from tests.plain_git import git

COARSE = 5  # CLOCK_REALTIME_COARSE, by which inodes are stamped
ROUNDED_NS = 10_000_000  # the store's time of day is rounded to this
State = tuple[bytes, str] | None  # a file's bytes and kind: "" plain, "x" executable, "l" a link; None: no file


def lines(*words: str) -> State:
    """A plain file with these lines."""
    return "".join(f"{word}\n" for word in words).encode(), ""


def put(path: Path, state: State) -> None:
    """Make the file so, as a program would: in place, or by a new file."""
    if path.is_symlink() or (path.exists() and (state is None or state[1] == "l")):
        path.unlink()
    if state is None:
        while path.parent.name != "repo" and path.parent.exists() and not any(path.parent.iterdir()):
            path = path.parent
            path.rmdir()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if state[1] == "l":
        path.symlink_to(os.fsdecode(state[0]))
    else:
        path.write_bytes(state[0])
        path.chmod(0o755 if state[1] == "x" else 0o644)


def get(path: Path) -> State:
    """What is there."""
    if path.is_symlink():
        return os.fsencode(path.readlink()), "l"
    if not path.is_file():
        return None
    return path.read_bytes(), "x" if path.stat().st_mode & 0o100 else ""


def tick() -> None:
    """Wait until an inode's time and the store's are later than now: without hooks only they say whose a change is."""
    later = time.time_ns() + ROUNDED_NS
    while time.clock_gettime_ns(COARSE) <= later:
        time.sleep(0.001)


class Desk:
    """One repository and its agents."""

    def __init__(self, folder: Path, *, with_git: bool = True) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        (folder / ".dibs").mkdir()
        if with_git:
            git(folder, "init", "-q", ".")
            (folder / ".git" / "info" / "exclude").write_text(".dibs/\n")
        self.session = Session(str(folder), None)

    def close(self) -> None:
        self.session.close()

    def commit(self, message: str, agent: str = "") -> str:
        """All that there is, past the guards."""
        git(self.folder, "add", "-A")
        trailer = [f"--trailer=Dibs-Agent: {agent}"] if agent else []
        git(self.folder, "commit", "-q", "--allow-empty", "-m", message, *trailer)
        return git(self.folder, "rev-parse", "HEAD")

    def state(self, *names: str) -> dict[str, State]:
        return {name: get(self.folder / name) for name in names}

    def all(self) -> dict[str, State]:
        """Every file but git's and dibs' own."""
        found = {}
        for here, folders, names in os.walk(self.folder):
            folders[:] = [one for one in folders if one not in {".git", ".dibs"}]
            for name in [*names, *[one for one in folders if Path(here, one).is_symlink()]]:
                path = Path(here, name)
                found[str(path.relative_to(self.folder))] = get(path)
        return found

    def resource(self, name: str) -> Canonical:
        if (self.folder / name).is_symlink():
            return Canonical(("file", name))
        return Canonical(self.session.paths.resource(str(self.folder / name), self.session.cwd, literal=True))

    def claim(self, agent: str, *names: str) -> str:
        held = [self.resource(name) for name in names]
        fields = {"resources": held, "tree": self.session.place.top, "by": "edit"}
        claim: str = self.session.run(self.session.operation("claim"), self.session.identify(agent), fields)["claim"]
        tick()
        return claim

    def register(self, agent: str) -> None:
        """As its client does when a session starts."""
        self.session.run(self.session.operation("boot"), self.session.identify(agent), {})

    def release(self, agent: str) -> None:
        self.session.run(self.session.operation("release"), self.session.identify(agent), {"all": True})

    def change(self, agent: str, wanted: dict[str, State], *, hooks: bool = True) -> str:
        """An agent changes files under a claim, as a client's hooks see it; its claim."""
        names = [name for name in wanted if name.isprintable()]  # others cannot be claimed by their name
        claim = self.claim(agent, *names) if names else ""
        key = random_id()
        tree = working_tree.of(self.session.place)
        if hooks:
            tree.survey(wanted)
            tree.settle()
            tree.open_call(key, agent, is_open=False)
            for name in wanted:
                tree.name(key, name, "w")
        else:
            tree.look(wanted)
        tree.write()
        tick()
        for name, state in sorted(wanted.items(), key=lambda one: one[1] is not None):
            put(self.folder / name, state)
        tree = working_tree.of(self.session.place)
        tree.look(wanted)
        if hooks:
            tree.add(call_end_line(tree.stamp(), key, left=False))
        tree.write()
        tree.cut()
        tick()
        if names:
            self.release(agent)
        return claim

    # --- undo

    def plan(self, what: str, *paths: str, theirs: bool = False, by: str = "boss") -> undo_plan.Plan:
        scope, _ = undo_scope.find(self.session, self.session.identify(by), what, 0)
        only = undo_plan.resources_of(self.session, paths)
        return undo_plan.Planner(self.session, scope, only, merge=theirs).made()

    def undo(self, what: str, *paths: str, theirs: bool = False, by: str = "boss") -> UndoneView:
        plan = self.plan(what, *paths, theirs=theirs, by=by)
        assert theirs or not plan.blocked
        worker = apply.Worker(self.session, self.session.identify(by))
        done = worker.begin(plan)
        tick()
        return done
