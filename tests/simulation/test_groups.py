"""A fleet's calls in groups: the same answers and the same log as one by one, also when the process dies in between."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from dibs.client import catalogue
from dibs.errors import DibsError
from dibs.machine import clock
from dibs.operations.core.call import Call, NeedsFacts, process_name, to_json
from dibs.operations.core.entry import perform
from dibs.operations.core.policy import Policy
from dibs.stores.sqlite import store as sqlite_store
from dibs.testing.memory import MemoryStore
from dibs.verify.checker import verify_store
from tests.canonical import canonical
from tests.simulation.test_simulation import SEEDS, TORTURE
from tests.simulation.world import START, World

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from dibs.stores.seam import Store, Transaction

CALLS = 4_000 if TORTURE else 600
POLICY = Policy(ttl=60_000, max_life=600_000)


AFTER_COMMIT = -1  # no statement has this number


class Died(BaseException):
    """The process ends here."""


class Fleet:
    """Calls that a simulated fleet made, to be made again in the same groups, at the same times, on any store."""

    def __init__(self, seed: int) -> None:
        world = World(seed, aborts=0)
        world.keep_trace = True
        while len(world.trace) < CALLS:
            world.step()
        self.dice = random.Random(seed)
        self.ids = random.Random(seed)
        self.now = 0
        self.alive = world.alive
        self.groups: list[tuple[int, list[Any]]] = []
        left = [call for call in world.trace if catalogue.operation(call[2]).writes]
        while left:
            size = self.dice.choice((1, 2, 5, 12))
            self.groups.append((left[0][0], left[:size]))
            left = left[size:]

    def new_id(self) -> str:
        return f"{self.ids.getrandbits(48):012x}"

    def functions(self, group: Sequence[Any]) -> list[Callable[[Transaction], Any]]:
        """The calls as transactions. They know all facts, so none has to be run again for one."""

        def function(agent: str, name: str, fields: dict[str, Any]) -> Callable[[Transaction], Any]:
            operation = catalogue.operation(name)
            call = Call(POLICY, agent=agent, fallback="nobody")
            call.facts.update(self.alive)
            return lambda tx: perform(tx, call, operation, canonical(operation, fields))

        return [function(agent, name, dict(fields)) for _, agent, name, fields, _ in group]

    def by_one(self, store: Store) -> list[Any]:
        answers: list[Any] = []
        for now, group in self.groups:
            self.now = now
            for fn in self.functions(group):
                try:
                    answers.append(shown(store.run(fn)))
                except (DibsError, NeedsFacts) as error:
                    answers.append(shown(error))
        return answers

    def in_groups(self, store: Store) -> list[Any]:
        answers: list[Any] = []
        for now, group in self.groups:
            self.now = now
            answers += [shown(error or value) for value, error in store.run_many(self.functions(group))]
        return answers


def shown(answer: Any) -> Any:
    if isinstance(answer, NeedsFacts):
        return ["need", [process_name(process) for process in answer.processes]]
    return [answer.code, answer.fields] if isinstance(answer, DibsError) else to_json(answer)


def log(store: Store) -> list[Any]:
    """The whole log, which verifies."""
    events: list[Any] = []
    while page := store.events(events[-1][0] if events else 0):
        events += [(e.seq, e.commit, e.now, e.wall, e.body, e.link) for e in page]
    found = verify_store(store)
    assert found.ok, found
    return events


def in_memory(fleet: Fleet, **faults: Any) -> MemoryStore:
    return MemoryStore(now=lambda: fleet.now, wall=lambda: fleet.now + START, new_id=fleet.new_id, **faults)


def on_sqlite(fleet: Fleet, path: str, monkeypatch: pytest.MonkeyPatch) -> sqlite_store.SqliteStore:
    monkeypatch.setattr(clock, "since_boot", lambda: fleet.now)
    monkeypatch.setattr(clock, "wall", lambda: fleet.now + START)
    monkeypatch.setattr(clock, "random_id", fleet.new_id)
    store = sqlite_store.SqliteStore(path)
    store.look(lambda _: None)
    store._sql("PRAGMA synchronous = OFF")  # what is compared here is decisions, not durability
    return store


def made(fleet: Fleet, path: str, monkeypatch: pytest.MonkeyPatch) -> sqlite_store.SqliteStore:
    sqlite_store.create(path)
    store = on_sqlite(fleet, path, monkeypatch)
    store._sql("UPDATE head SET boot = ?, base = 0, now = 0", (store._boot,))
    return store


def expected(seed: int) -> tuple[list[Any], list[Any]]:
    fleet = Fleet(seed)
    store = in_memory(fleet)
    answers = fleet.by_one(store)
    assert len({answer[0] for answer in answers if isinstance(answer, list)}) > 2, "some are refused"
    assert sum(isinstance(answer, dict) for answer in answers) > len(answers) // 4, "and some are granted"
    return answers, log(store)


@pytest.mark.parametrize("seed", SEEDS[:3])
def test_a_fleet_in_groups_gets_the_answers_and_the_log_of_the_same_calls_one_by_one(seed: int) -> None:
    answers, events = expected(seed)
    fleet, tosses = Fleet(seed), random.Random(seed)
    store = in_memory(fleet, abort=lambda: tosses.random() < 0.3)
    assert fleet.in_groups(store) == answers
    assert log(store) == events


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_a_fleet_in_groups_on_sqlite_gets_the_same(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers, events = expected(seed)
    fleet = Fleet(seed)
    store = made(fleet, str(tmp_path / "dibs.db"), monkeypatch)
    assert fleet.in_groups(store) == answers
    assert log(store) == events
    store.close()


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_a_process_that_dies_inside_groups_keeps_what_was_answered_and_nothing_half(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who was not answered asks again after each death. If the group was kept after all, that is found in the log."""
    answers, events = expected(seed)
    fleet, dice = Fleet(seed), random.Random(seed)
    path = str(tmp_path / "dibs.db")
    store = made(fleet, path, monkeypatch)
    died = kept = 0
    found: list[Any] = []
    for now, group in fleet.groups:
        fleet.now = now
        ids = fleet.ids.getstate()
        before = store.head().seq
        room = 16 * len(group)  # statements within which it dies, if it has so many; later each time, so it ends
        while True:
            fleet.ids.setstate(ids)
            die_at(store, dice.randrange(1, room) if dice.random() < 0.9 else AFTER_COMMIT)
            room *= 2
            try:
                found += [shown(error or value) for value, error in store.run_many(fleet.functions(group))]
                break
            except Died:
                died += 1
            store._connection.close()  # as the end of a process does: whatever was not committed is gone
            store._gate.close()
            store = on_sqlite(fleet, path, monkeypatch)
            seq = store.head().seq
            assert [event.seq for event in store.events(before)] == list(range(before + 1, seq + 1))
            if seq > before:  # all of it is there: its answers are what they would have been
                kept += 1
                found += answers[len(found) : len(found) + len(group)]
                break
        assert found == answers[: len(found)]
        die_at(store, 0)
    assert log(store) == events
    assert died > len(fleet.groups) // 4
    assert kept > 0
    store.close()


def die_at(store: sqlite_store.SqliteStore, statement: int) -> None:
    """Let the process die before or after the statement of that number, or right after its commit; 0: let it live."""
    left = [statement]

    def sql(text: str, values: Sequence[Any] = ()) -> Any:
        left[0] -= 1
        if left[0] == 0 and statement % 2:
            raise Died
        result = store._connection.execute(text, values)
        if left[0] == 0 or (statement == AFTER_COMMIT and text == "COMMIT"):
            raise Died
        return result

    store._sql = sql  # type: ignore[method-assign, assignment]
