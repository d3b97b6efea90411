"""Every operation ends, whatever the records: random worlds of a few agents, tasks and names, and every step counted.

A loop over records that never ends would hold the store for good. So each call of each declared operation may take so
many lines of Python and no more, and very many reads of the store are too many as well.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.canonical import Canonical
from dibs.client import catalogue
from dibs.errors import Deadlock, DibsError
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import Call, Continue, NeedsFacts, RunCommand, process_name, to_json
from dibs.operations.core.entry import perform
from dibs.operations.core.policy import WORK
from dibs.testing.memory import MemoryTransaction
from tests.operations.fleet import Fleet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from dibs.operations.core.declare import Field, Operation

OPERATIONS_FOLDER = f"{os.path.dirname(dibs.__file__)}/operations/"
MAX_LINES = 400_000  # of one call; the longest in these worlds takes a tenth of it
MAX_READS = 20_000  # of one call
CALLS = 1_200
ROUNDS = 50  # of one call that says "again", or that needs facts
AGENTS = ("a", "b", "c", "c/child", "d", "e")
STRANGERS = ("a", "b", "c", "d", "e")
NAMES = ("n:1", "n:2", "n:3", "src/", "src/a.py", "src/b.py", "src/*.py", "**", "")
TASKS = ("t1", "t2", "t3", "t4", "t5")
WORDS = ("x", "y", "all", "type:dev", *AGENTS[:2], *TASKS[:2])
CROWDED = ("claim", "claim", "claim", "claim", "release")  # where all want the same three things
OFTEN = ("claim", "claim", "claim", "release", "release", "task add", "task next", "task claim", "task done", "send")
OWN = frozenset({"tree", "by", "archive", "home", "pid", "saved", "verified", "facts"})  # what only a door sends


class Steps:
    """Counts the lines of the operations, and the reads of the store, of one call."""

    def __init__(self) -> None:
        self.lines = self.reads = self.most = 0

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        self.lines = self.reads = 0
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)
            self.most = max(self.most, self.lines)

    def _enter(self, frame: FrameType, _event: str, _arg: Any) -> Any:
        return self._line if frame.f_code.co_filename.startswith(OPERATIONS_FOLDER) else None

    def _line(self, _frame: FrameType, event: str, _arg: Any) -> Any:
        self.lines += event == "line"
        assert self.lines < MAX_LINES, "this call does not end"
        return self._line

    def read(self, verb: Callable[..., Any]) -> Callable[..., Any]:
        """A verb of the store that counts."""

        def counted(*given: Any, **named: Any) -> Any:
            self.reads += 1
            assert self.reads < MAX_READS, "this call reads without end"
            return verb(*given, **named)

        return counted


class World:
    """A fleet whose agents do anything that is declared, with words that mean something here."""

    def __init__(self, seed: int, steps: Steps) -> None:
        self.dice, self.steps = random.Random(seed), steps
        self.crowded = seed % 2 == 0
        self.often = CROWDED if self.crowded else OFTEN
        self.fleet = Fleet(work={**WORK, "tasks": {**WORK["tasks"], "max_tasks": 3}})
        self.tokens: list[int] = [0]
        self.places: list[str] = [""]
        self.asked: set[str] = set()
        self.agreed: set[str] = set()

    def step(self) -> None:
        """Time passes, and an agent calls something."""
        self.fleet.now += self.dice.choice((0, 1, 1, 50, 2_000, 2_000 if self.crowded else 40_000))
        every = sorted(catalogue.every(), key=lambda one: one.name)
        often = self.crowded or self.dice.random() < 0.7
        operation = catalogue.operation(self.dice.choice(self.often)) if often else self.dice.choice(every)
        self.asked.add(operation.name)
        fields = {
            field.name: self.value(field)
            for field in operation.fields
            if field.name not in OWN and (field.required or self.dice.random() < 0.35)
        }
        if self.crowded and operation.name == "claim":
            fields = {"resources": fields["resources"], "wait": 60_000}
        agents = STRANGERS if self.crowded else AGENTS
        agent = self.dice.choice(agents)
        held = self.fleet.store.look(lambda tx: claim_records.all_claims(tx, 100)[0]) if self.crowded else []
        if held and operation.name == "release":
            claim = self.dice.choice(held)
            agent, one = claim["agent"], self.dice.choice(claim["resources"])
            fields = {"resources": [Canonical(one)], "to": self.dice.choice(agents)}
        answer = self.call(agent, operation, fields)
        if isinstance(answer, dict):
            self.agreed.add(operation.name)
            self.tokens = [*self.tokens[-9:], *[answer["token"] for _ in "x" if isinstance(answer.get("token"), int)]]
            self.places = [*self.places[-9:], *[answer["waiting"] for _ in "x" if "waiting" in answer]]

    def value(self, field: Field) -> Any:
        """A value of its kind."""
        dice = self.dice
        if field.kind == "choice":
            return dice.choice(field.choices)
        if field.items:
            return [
                {one.name: self.value(one) for one in field.items if one.required} for _ in range(dice.randrange(4))
            ]
        by_name = {
            "id": TASKS, "task": TASKS, "parent": TASKS, "after": TASKS, "to": (*AGENTS, "all"), "agent": AGENTS,
            "waiter": self.places, "token": self.tokens, "title": WORDS, "text": WORDS,
        }  # fmt: skip
        if field.name in by_name and field.kind not in {"words", "texts"}:
            return dice.choice(list(by_name[field.name]))
        kinds: dict[str, Callable[[], Any]] = {
            "resources": lambda: [self.resource() for _ in range(dice.randrange(1, 4))],
            "resource": self.resource,
            "duration": lambda: dice.choice((1, 1_000, 60_000, 3_600_000)),
            "integer": lambda: dice.choice((0, 1, 2, 5)),
            "number": lambda: dice.choice((0, 1, 5)),
            "flag": lambda: dice.random() < 0.5,
            "words": lambda: dice.sample((*TASKS, "x"), dice.randrange(3)),
            "texts": lambda: dice.sample(WORDS, dice.randrange(3)),
            "json": lambda: dice.choice((None, 1, {"x": 1})),
        }
        return kinds.get(field.kind, lambda: dice.choice(WORDS))()

    def resource(self) -> Canonical:
        text = self.dice.choice(NAMES[:3] if self.crowded else NAMES)
        if ":" in text:
            return Canonical(("name", text))
        if "*" in text:
            return Canonical(("glob", text))
        return Canonical(("tree" if text.endswith("/") or not text else "file", text.rstrip("/")))

    def call(self, agent: str, operation: Operation, fields: dict[str, Any]) -> Any:
        """One call, as a door makes it; what makes no sense is refused."""
        process = self.fleet.process(AGENTS.index(agent) + self.dice.choice((0, 0, 0, 10)))
        client = None if self.crowded else self.dice.choice((None, process))
        call = Call(self.fleet.policy, agent=agent, client=client, fallback="me@here")
        store = self.fleet.store
        verb = store.run if operation.writes else store.look
        for _ in range(ROUNDS):
            try:
                with self.steps.counted():
                    answer = verb(lambda tx: perform(tx, call, operation, fields))
            except NeedsFacts as need:
                call.facts.update({process_name(one): self.dice.random() < 0.9 for one in need.processes})
                continue
            except DibsError as refused:
                return refused
            if isinstance(answer, RunCommand):
                return None
            if not isinstance(answer, Continue):
                return to_json(answer)
        message = f"{operation.name} is never done"
        raise AssertionError(message)


@pytest.mark.parametrize("seed", range(1, 5))
def test_every_operation_ends_in_every_world(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps()
    for verb in ("get", "fetch", "scan"):
        monkeypatch.setattr(MemoryTransaction, verb, steps.read(getattr(MemoryTransaction, verb)))
    world = World(seed, steps)
    for _ in range(CALLS):
        world.step()
    assert world.crowded or len(world.agreed) > 30, sorted(world.asked - world.agreed)
    assert steps.most < MAX_LINES // 10, "the bound is far above what a call takes"


def test_a_hand_over_ends_although_the_search_comes_back_to_the_place_that_it_began_with() -> None:
    fleet, minute = Fleet(), 60_000
    for agent, name in (("a", "n:1"), ("y", "n:2"), ("h", "n:3")):
        fleet.claim(agent, name)
    fleet.claim("x", "n:2", wait=minute)
    fleet.claim("c", "n:2", "n:3", wait=minute)
    fleet.claim("w", "n:1", "n:3", wait=minute)
    fleet.claim("x", "n:3", wait=minute)  # after c and w
    fleet.release("y", "n:2")  # x has it now, and c waits for x
    with Steps().counted(), pytest.raises(Deadlock) as refused:
        fleet.release("a", "n:1", to="c")
    assert [step["agent"] for step in refused.value.cycle] == ["c", "x", "w"]


def test_every_declared_operation_is_called_in_these_worlds() -> None:
    asked: set[str] = set()
    for seed in range(1, 5):
        world = World(seed, Steps())
        world.call = lambda *_: None  # type: ignore[method-assign]
        for _ in range(CALLS):
            world.step()
        asked |= world.asked
    assert asked == {one.name for one in catalogue.every()}
