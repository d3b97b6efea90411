"""A disk, a ledger, agents, a git and people, all in memory, interleaved at every step of every hook by one seed.

Hooks run the real code (ledger/working_tree.py and below) in threads of which one moves at a time. They stop after the
time was noted, at each file that is looked at, before the ledger is read and before lines are appended. The world knows
who really wrote what and who really read what; `failures` has what the ledger got wrong, `known` what it cannot know,
sorted and counted.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from dibs.guards import edit_call
from dibs.ledger import contents, ledger_files, state
from dibs.ledger.state import LIKELY, MERGES, MISSING, SECOND_NS, SURE, WHOLE, State
from dibs.ledger.working_tree import Tree
from dibs.operations.guards.edit_guard import BLIND, GONE, NOTHING, OLDER, SAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.ledger.state import Change, Line
    from dibs.operations.guards.edit_guard import Knowledge

AGENTS = ("ada", "bob", "cal")
PATHS = ("w", "x", "y", "z")
PARALLEL = 2  # calls of one agent at a time
TICK = 4_000_000  # ns: the clock of inodes
PERSON = "person"
MS = 1_000_000


class Stopped(BaseException):
    """The world has ended; a thread that still waits has to go."""


class Task:
    """One call of one agent, from its first hook to its last: a thread that moves when it is told to."""

    def __init__(self, world: World, agent: str, work: Callable[[], None]) -> None:
        self.world, self.agent = world, agent
        self.done = False
        self.alone = False  # no call of this agent runs beside it
        self.error: BaseException | None = None
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._work = work
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._go.acquire()
        try:
            if not self.world.over:
                self._work()
        except Stopped:
            pass
        except BaseException as error:  # noqa: BLE001 - it is raised where the world is driven
            self.error = error
        self.done = True
        self._back.release()

    def step(self) -> None:
        """Let it move on to its next stop."""
        self._go.release()
        self._back.acquire()

    def pause(self) -> None:
        """Called from within: others may move now."""
        self._back.release()
        self._go.acquire()
        if self.world.over:
            raise Stopped


class World:
    """Everything there is."""

    def __init__(self, seed: int, *, people: bool = True) -> None:
        self.random = random.Random(seed)
        self.people = people
        self.over = False
        self.time = 1_000_000 * SECOND_NS
        self.disk: dict[str, tuple[bytes, int, int]] = {}  # content, ctime, inode
        self.index = {path: contents.blob_id(f"{path} at first".encode()) for path in PATHS}
        self.first = {path: f"{path} at first".encode() for path in PATHS}
        self.history: dict[str, list[tuple[int, str, str, str]]] = {
            path: [] for path in PATHS
        }  # when, content, who, how
        self.lines: list[Line] = []
        self.told: set[str] = set()  # by id; the ledger itself does not keep that
        self.generation = 1
        self.kept: set[str] = set(self.index.values())
        self.seen: dict[str, list[tuple[int, str, str]]] = {agent: [] for agent in AGENTS}
        self.really: dict[str, dict[str, set[str]]] = {agent: {path: set() for path in PATHS} for agent in AGENTS}
        self.mistaken: set[tuple[str, str, str]] = set()  # agent, path, content that it knows only by a known mistake
        self.held: dict[str, str] = {}
        self.tasks: list[Task] = []
        self.now_task: Task | None = None
        self.numbers = 0
        self.failures: list[str] = []
        self.known: Counter[str] = Counter()
        self.judged: Counter[str] = Counter()
        self.checked: set[str] = set()
        for path in PATHS:
            self.disk[path] = (self.first[path], self.time, 1)

    # --- time and turns

    def pause(self) -> None:
        if self.now_task is not None:
            self.now_task.pause()

    def run(self, steps: int) -> None:
        """Let somebody move, so often."""
        for _ in range(steps):
            self.time += self.random.choice((0, 100_000, MS, 2 * MS, 5 * MS, 20 * MS, 300 * MS, SECOND_NS))
            self._one()
        self.over = True
        for task in self.tasks:
            if not task.done:
                task.step()

    def _one(self) -> None:
        if self.people and self.random.random() < 0.01:
            self.write(self.random.choice(PATHS), self._new("a person's"), PERSON, "")
            return
        agent = self.random.choice(AGENTS)
        mine = [task for task in self.tasks if task.agent == agent]
        alone = any(task.alone for task in mine)
        if len(mine) < PARALLEL and not alone and self.random.random() < 0.4:
            work = self._work(idle=not mine)
            task = Task(self, agent, lambda: work(agent))
            task.alone = work in {self.prompt, self.leave}
            self.tasks.append(task)
        elif mine:
            task = self.random.choice(mine)
        else:
            return
        self.now_task = task
        task.step()
        self.now_task = None
        if task.error is not None:
            raise task.error
        self.tasks = [one for one in self.tasks if not one.done]

    # --- the disk

    def _new(self, what: str) -> bytes:
        self.numbers += 1
        return f"{what} {self.numbers}".encode()

    def write(self, path: str, data: bytes | None, who: str, how: str) -> None:
        """Somebody writes, or deletes."""
        if data is None:
            self.disk.pop(path, None)
        else:
            self.numbers += 1
            inode = self.disk[path][2] if path in self.disk and self.random.random() < 0.7 else self.numbers
            self.disk[path] = (data, self.time // TICK * TICK, inode)
        content = MISSING if data is None else contents.blob_id(data)
        self.history[path].append((self.time, content, who, how))

    def content(self, path: str) -> str:
        return contents.blob_id(self.disk[path][0]) if path in self.disk else MISSING

    # --- what hooks see of it

    def signature(self, full: str) -> str:
        self.pause()
        path = full.rpartition("/")[2]
        if path not in self.disk:
            return MISSING
        data, changed, inode = self.disk[path]
        return f"{len(data)}:{changed}:{changed}:{inode}"

    def read(self, full: str) -> tuple[str, bytes | None]:
        path = full.rpartition("/")[2]
        return (self.content(path), self.disk[path][0]) if path in self.disk else (MISSING, None)

    def changed_at(self, full: str, signature: str) -> int:
        if signature != MISSING:
            return int(signature.split(":")[2])
        gone = [when for when, content, _, _ in self.history[full.rpartition("/")[2]] if content == MISSING]
        return gone[-1] // TICK * TICK if gone else self.time

    def clock(self) -> tuple[int, int]:
        return self.time, 0

    def keep(self, _: str, blob: str, __: object) -> None:
        self.kept.add(blob)

    # --- the ledger's file

    def load(self, _: str) -> tuple[list[list[str]], tuple[int, int]]:
        self.pause()
        return [list(line) for line in self.lines], (self.generation, len(self.lines))

    def tail(self, _: str, known: tuple[int, int]) -> Any:
        self.pause()
        if known[0] != self.generation:
            return None
        return [list(line) for line in self.lines[known[1] :]], (self.generation, len(self.lines))

    def append(self, _: str, lines: list[Line], known: tuple[int, int]) -> Any:
        self.pause()
        self.lines += [list(line) for line in lines]
        self.told |= {line[1] for line in lines if line[0] == "D"}
        if known[0] != self.generation:
            return None
        return [list(line) for line in self.lines[known[1] :]], (self.generation, len(self.lines))

    def replace(self, _: str, lines: list[Line], known: tuple[int, int], _past: Any = ()) -> bool:
        if known != (self.generation, len(self.lines)):
            return False
        self.lines = [list(line) for line in lines]
        self.generation += 1
        return True

    def saw(self, _: str, agent: str, seen: list[tuple[str, str, int]]) -> None:
        if agent in self.seen:
            self.seen[agent] += [(when, content, path) for path, content, when in seen]

    # --- what agents do

    def _work(self, *, idle: bool) -> Callable[[str], None]:
        kinds = {
            self.read_file: 3, self.write_file: 4, self.edit_file: 3, self.command: 3, self.named_command: 2,
            self.commit: 1, self.restore: 1,
        }  # fmt: skip
        if idle:
            kinds |= {self.prompt: 2, self.leave: 1}
        return self.random.choices(list(kinds), list(kinds.values()))[0]

    def _tree(self) -> Tree:
        return Tree("/repo", "/repo/.dibs/local/ledger")

    def read_file(self, agent: str) -> None:
        """A Read: its hook notes what is there, then the tool reads."""
        path = self.random.choice(PATHS)
        now = self.time
        signature = self.signature(f"/repo/{path}")
        content = self.content(path)
        self.append("", [state.look_line(state.stamp(now, 0), content, signature, path)], (0, 0))
        self.saw("", agent, [(path, content, now)])
        self.really[agent][path].add(content)  # a write in the same message was made before the Read answers
        self.pause()
        self.really[agent][path].add(self.content(path))
        if self.content(path) != content:
            self.known["a file changed between a Read's hook and the read"] += 1

    def write_file(self, agent: str) -> None:
        self._edit(agent, WHOLE, self._new(f"{agent}'s"), by_shell=self.random.random() < 0.3)

    def edit_file(self, agent: str) -> None:
        self._edit(agent, MERGES, None, by_shell=False)

    def _edit(self, agent: str, how: str, data: bytes | None, *, by_shell: bool) -> None:
        """A tool that names its file: may it, and then it writes once, or is declined, or is aborted."""
        path = self.random.choice(PATHS)
        tree = self._tree()
        tree.survey()
        self.note(tree.write())
        if self.held.setdefault(path, agent) != agent:
            return
        before = self._may(tree, agent, path, how)
        if before is None:
            return
        expected = data if how == WHOLE and self.random.random() < 0.7 else None
        call = f"{agent} {self.numbers} {self.random.random()}"
        tree.name(call, path, how, expected, keep=True)
        tree.open_call(call, agent, is_open=False, diary=1 if by_shell else -1)
        self.note(tree.write())
        tree.shorten()
        self.pause()
        if self.random.random() < 0.1:
            return  # declined, or broken off: nobody tells of its end
        was = self.content(path)
        after = data if data is not None else self.disk.get(path, (b"", 0, 0))[0] + self._new(f" by {agent}")
        passed = was != before and was not in self.really[agent][path]
        self.known["somebody wrote between the guard's last look and the tool"] += passed
        self.write(path, after, agent, how)
        if how == WHOLE or was == MISSING:
            self.really[agent][path].add(contents.blob_id(after))
        elif passed:
            self.mistaken.add((agent, path, contents.blob_id(after)))
        else:
            self._made(agent, path, was)
        self.pause()
        self._after(call, [path])
        if self.random.random() < 0.15:  # its client formats what it wrote
            self.pause()
            if self.history[path][-1][2] == agent and self.time - self.history[path][-1][0] < 5 * SECOND_NS:
                self._script(agent, path, self._new("formatted"))

    def _may(self, tree: Tree, agent: str, path: str, how: str) -> str | None:
        """The edit guard, with a second look under the claim; the content that it judged, None for a refusal."""
        for _ in range(edit_call.MAX_LOOKS):
            tree.look([path])
            self.note(tree.write())
            named = edit_call._NamedPath(edit_call.Write(path, how), f"/repo/{path}", path, ("file", path, ""))
            facts = edit_call.facts_of(tree, agent, named)
            before = tree.state.heads[path].content if path in tree.state.heads else MISSING
            if facts is not None and how == WHOLE and not self._passes(agent, path, facts, before):
                return None
            tree.look([path], always=True)
            self.note(tree.write())
            head = tree.state.heads.get(path)
            if head is None or head.content == before:
                return before
        return None

    def _passes(self, agent: str, path: str, facts: Knowledge, before: str) -> bool:
        known = facts["known"]
        if known in {OLDER, BLIND} or (known == NOTHING and (facts["since"] or facts["owners"])):
            return False
        if known == SAME and (agent, path, before) in self.mistaken:
            self.known["a whole write over what was taken for the agent's own"] += 1
        elif known == SAME and before not in self.really[agent][path]:
            self.failures.append(f"{agent} may write over {before[:8]} in {path}, which it has never seen")
        assert known in {SAME, GONE, NOTHING}
        return True

    def command(self, agent: str) -> None:
        """A program of which nobody knows what it writes: formats, generates, resets, deletes; perhaps leaves some."""
        tree = self._tree()
        tree.survey()
        left = self.random.random() < 0.1
        call = f"{agent} {self.numbers} {self.random.random()}"
        tree.open_call(call, agent, is_open=True, left=left)
        self.note(tree.write())
        tree.shorten()
        for _ in range(self.random.choice((0, 1, 1, 2))):
            self.pause()
            path = self.random.choice(PATHS)
            data = self.random.choice((self._new("generated"), self._new("generated"), self.first[path], None))
            self._script(agent, path, data)
        if self.random.random() < 0.1:
            return
        self.pause()
        self._after(call, [], survey=True)
        if left:
            for _ in range(3):
                self.pause()
            self._script(agent, self.random.choice(PATHS), self._new("from behind"))

    def named_command(self, agent: str) -> None:
        """`sed -i x`, or a generator with `> x`: named, and nobody knows what it will be."""
        self._edit(agent, MERGES, None, by_shell=True)

    def _script(self, agent: str, path: str, data: bytes | None) -> None:
        was = self.content(path)
        self.write(path, data, agent, "script")
        self._made(agent, path, was)

    def _made(self, agent: str, path: str, was: str) -> None:
        """Whoever changes what it knows, knows what comes of it."""
        if was in self.really[agent][path] | {MISSING}:
            self.really[agent][path].add(self.content(path))
        elif (agent, path, was) in self.mistaken or any(one[1:3] == (was, PERSON) for one in self.history[path]):
            self.mistaken.add((agent, path, self.content(path)))

    def _after(self, call: str, paths: list[str], *, survey: bool = False) -> None:
        tree = self._tree()
        known = tree.state.calls.get(call)
        over = self.time
        if known is None:
            self.failures.append(f"the ledger has lost the call {call}")
            return
        (tree.survey if survey else tree.look)([*known.named, *paths])
        tree.add(state.call_end_line(state.stamp(over, 0), call, left=False))
        self.note(tree.write())
        for change in tree.untold():
            tree.add(state.report_line(change.id))
        self.note(tree.write())

    def prompt(self, agent: str) -> None:
        tree = self._tree()
        tree.survey()
        tree.add(state.turn_line(state.stamp(self.time, 0), agent))
        self.note(tree.write())

    def leave(self, agent: str) -> None:
        tree = self._tree()
        tree.survey()
        tree.add(state.session_end_line(state.stamp(self.time, 0), agent))
        self.note(tree.write())
        if self.random.random() < 0.5:
            tree.cut()
        self.held = {path: holder for path, holder in self.held.items() if holder != agent}
        self.pause()
        tree = self._tree()
        tree.add(state.session_line(state.stamp(self.time, 0), agent))
        self.note(tree.write())

    def commit(self, agent: str) -> None:
        """What the agent owns and is there is committed; its claims on that end."""
        tree = self._tree()
        tree.survey()
        self.note(tree.write())
        mine = [path for path, head in tree.state.heads.items() if head.owners == [agent] and path in self.disk]
        done = {path: self.content(path) for path in mine if self.content(path) == tree.state.heads[path].content}
        self.index |= done
        self.kept |= set(done.values())
        self.pause()
        tree.add(*[state.commit_line(content, path) for path, content in done.items()])
        self.note(tree.write())
        for path in done:
            if self.held.get(path) == agent:
                del self.held[path]

    def restore(self, agent: str) -> None:
        """`dibs restore`: a content comes back, under the claim."""
        path = self.random.choice(PATHS)
        old = [content for _, content, _, _ in self.history[path] if content in self.kept and content != MISSING]
        if not old or self.held.setdefault(path, agent) != agent:
            return
        tree = self._tree()
        tree.look([path])
        self.note(tree.write())
        self.numbers += 1
        task, self.now_task = self.now_task, None  # the command itself is not interrupted
        self.write(path, self._new(f"restored by {agent}"), agent, "restored")
        tree.made(path, agent)
        changes = tree.write()
        self.now_task = task
        self.really[agent][path].add(self.content(path))
        self.note(changes)

    # --- what is true

    def note(self, changes: list[Change]) -> None:
        """Hold each change that counts against what really happened."""
        for change in changes:
            if change.id in self.checked:
                self.failures.append(f"{change.id} counted twice")
            self.checked.add(change.id)
            self.judged[change.grade] += 1
            self._check(change)

    def _check(self, change: Change) -> None:
        truth = [(who, how) for _, content, who, how in self.history[change.path] if content == change.after]
        writers = {who for who, _ in truth}
        agents = writers - {PERSON}
        if change.grade == SURE and change.actor not in writers:
            if PERSON in writers:
                self.known["a person looks like an agent whose call runs"] += 1
            else:
                self.failures.append(f"sure of {change.actor}, but it was {sorted(writers)}: {change.line()}")
        before, after = ((change.actor, change.path, content) for content in (change.before, change.after))
        known = change.grade in {SURE, LIKELY}
        if before in self.mistaken or (
            known and not {change.actor} & writers and (change.is_named or PERSON in writers)
        ):
            self.mistaken.add(after)
        elif change.how in {WHOLE, MERGES} and (change.actor, change.how) not in truth:
            self.known["two calls of one agent write one file"] += 1
            self.mistaken.add(after)
        if change.before != MISSING and change.was_owned and change.before not in self.kept:
            self.failures.append(f"{change.before[:8]} of {change.was_owned} is gone: {change.line()}")
        silent = change.id not in State(self.lines).untold and change.was_owned and not self._was_told(change)
        if silent and agents and not agents & set(change.was_owned):
            if change.is_named:
                self.known["a script hit what a running command of its owner had named"] += 1
            elif PERSON not in writers:
                self.failures.append(f"{change.was_owned} lost {change.before[:8]} silently: {change.line()}")

    def _was_told(self, change: Change) -> bool:
        return change.id in self.told


class FakeIndex:
    """Git's index as it is when a hook first asks for it."""

    world: World

    def __init__(self, _: str) -> None:
        self._blobs = dict(self.world.index)

    def blob(self, path: str) -> str:
        return self._blobs.get(path, MISSING)

    def entry(self, path: str) -> tuple[str, str]:
        return self.blob(path), ""


class FakeSeen:
    """What an agent knows, as ledgers.Seen tells it."""

    world: World

    def __init__(self, _: str, agent: str) -> None:
        self._rows = list(self.world.seen.get(agent, ()))

    def last(self, path: str) -> str:
        found = [(when, content) for when, content, name in self._rows if name == path]
        return max(found)[1] if found else ""

    def ever(self, path: str, content: str) -> bool:
        return any(name == path and one == content for _, one, name in self._rows)

    def contents(self, path: str) -> set[str]:
        return {content for _, content, name in self._rows if name == path} - {"", MISSING}


def installed(world: World, patch: pytest.MonkeyPatch) -> Iterator[World]:
    """The world in place of the disk, until it is over."""
    FakeIndex.world = FakeSeen.world = world
    files: dict[str, Any] = {
        "signature": world.signature, "read": world.read, "changed_at": world.changed_at, "keep": world.keep,
        "keep_file": world.keep, "Index": FakeIndex, "touch": lambda *_: None,
    }  # fmt: skip
    for name, part in files.items():
        patch.setattr(contents, name, part)
    book: dict[str, Any] = {
        "now": world.clock, "load": world.load, "tail": world.tail, "append": world.append, "replace": world.replace,
        "saw": world.saw, "Seen": FakeSeen,
    }  # fmt: skip
    for name, part in book.items():
        patch.setattr(ledger_files, name, part)
    patch.setattr(state, "COMPACT_AT_LINES", 60)  # so that it is cut down now and then
    patch.setattr(state, "MAX_OBSOLETE_LINES", 12)  # and written anew often
    yield world
