"""Random causes, planted and mended in any order, with looks in between: the alerts are exactly those that stand."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from dibs.errors import Deadlock
from dibs.operations.upkeep.sweeps import UPKEEP, UPKEEP_DUE
from tests.operations.fleet import TREE, Fleet, change

NUMBERS = st.integers(0, 3)
SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
FAILED: dict[str, Any] = {"class": "transient", "why": "no"}


class Planting(RuleBasedStateMachine):
    """What was planted and not mended is what the alerts say after a look; each was raised once."""

    def __init__(self) -> None:
        super().__init__()
        self.fleet = Fleet()
        self.poisoned: set[str] = set()  # tasks
        self.violated: set[str] = set()  # paths
        self.dead: dict[str, int] = {}  # agents → their process
        self.pids = 100
        self.tasks = self.changes = 0
        self.raised: Counter[str] = Counter()
        self.locked = False
        self.noted = False  # its alert is open: nobody looked since it was mended

    def _shown(self) -> set[tuple[str, str]]:
        return {(one["kind"], one["subject"]) for one in self.fleet.call("viewer", "alerts")["alerts"]}

    @rule()
    def poison(self) -> None:
        self.tasks += 1
        name, agent = f"t{self.tasks}", f"w{self.tasks}"
        self.fleet.call("boss", "task add", title=name, id=name, attempts=1)
        token = self.fleet.call(agent, "task claim", id=name)["token"]
        self.fleet.call(agent, "task fail", id=name, token=token, **FAILED)
        self.poisoned.add(name)
        self.raised["poison"] += 1

    @rule()
    def unpoison(self) -> None:
        if self.poisoned:
            self.fleet.call("boss", "task move", id=self.poisoned.pop(), state="planned")

    @rule(number=NUMBERS)
    def violate(self, number: int) -> None:
        self.changes += 1
        path = f"v{number}.py"
        self.fleet.claim(f"h{number}", path, tree=TREE)
        found = change("thief", path, id=f"{self.changes:04x}", was=f"was{self.changes}", now=f"now{self.changes}")
        self.fleet.overwrite("thief", found)
        self.violated.add(path)

    @rule(number=NUMBERS)
    def settle(self, number: int) -> None:
        path = f"v{number}.py"
        if path in self.violated:
            (alert,) = [one for one in self.fleet.call("v", "alerts")["alerts"] if one["resources"] == [path]]
            self.fleet.call(f"h{number}", "ack", message=alert["remedy"].split()[2])
            self.violated.discard(path)

    @rule(number=NUMBERS)
    def die(self, number: int) -> None:
        agent = f"d{number}"
        if agent not in self.dead:
            self.pids += 1
            self.fleet.call(agent, "boot", client=self.pids)
            self.fleet.claim(agent, f"d{number}.py", client=self.pids)
            self.fleet.kill9(self.pids)
            self.dead[agent] = self.pids
            self.look()
            self.raised["dead"] += 1

    @rule(number=NUMBERS)
    def come_back(self, number: int) -> None:
        if self.dead.pop(f"d{number}", None) is not None:
            self.pids += 1
            self.fleet.call(f"d{number}", "boot", client=self.pids)

    @rule()
    def lock(self) -> None:
        """A deadlock of two, refused again and again."""
        if not self.locked:
            self.fleet.claim("x", "x.py", ttl=8 * HOUR)
            self.fleet.claim("y", "y.py", ttl=8 * HOUR)
            self.fleet.claim("y", "x.py", wait=HOUR)
        if not self.noted:
            self.raised["deadlock"] += 1
        with pytest.raises(Deadlock):
            self.fleet.claim("x", "y.py", wait=HOUR)
        self.locked = self.noted = True

    @rule()
    def unlock(self) -> None:
        if self.locked:
            self.fleet.release("x")
            self.fleet.release("y")
            self.locked = False

    @rule()
    def acknowledge(self) -> None:
        self.fleet.call("boss", "alerts ack", id="all")

    @rule()
    def look(self) -> None:
        for _ in range(8):
            if not self.fleet.internal("looker", UPKEEP_DUE)["due"]:
                break
            self.fleet.internal("looker", UPKEEP)
        else:
            message = "looks never come to an end"
            raise AssertionError(message)
        wanted = {("poison", name) for name in self.poisoned} | {("dead", agent) for agent in self.dead}
        wanted |= {("violation", f"{TREE}/{path}") for path in self.violated}
        wanted |= {("deadlock", "x, y")} if self.locked else set()
        assert self._shown() == wanted
        self.noted = self.locked

    @invariant()
    def raised_once_for_a_cause(self) -> None:
        events = Counter(event["data"]["what"] for event in self.fleet.events("alert.raised"))
        for kind in ("poison", "dead", "deadlock"):
            assert events[kind] == self.raised[kind], kind

    def teardown(self) -> None:
        self.look()
        self.fleet.clean()


TestPlanting = Planting.TestCase
