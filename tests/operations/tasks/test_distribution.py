"""Random traces of all the ways in which tasks are given out: nothing lost, and the same on both engines."""

from __future__ import annotations

import random
from typing import Any

import pytest

from dibs.errors import DibsError
from dibs.operations.core.policy import MINUTE
from tests.operations.engines import OnFile
from tests.operations.fleet import Fleet
from tests.operations.task_calls import WAIT, WINDOW, add, bid, boot, work

NAMES = ("a", "b", "c", "d")
HOW = ("", "priority", "round_robin", "load_balanced", "capability", "sticky", "auction", "preemptive")


class Trace:
    """Random calls of a few agents; what each is told is the same on every engine."""

    def __init__(self, fleet: Fleet, seed: int) -> None:
        self.fleet, self.random = fleet, random.Random(seed)
        self.tokens: dict[str, tuple[str, int]] = {}
        self.made = 0
        self.finished: list[str] = []
        self.answers: list[Any] = []
        boot(fleet, "a", can=["x", "y"])
        boot(fleet, "b", can=["x"])
        boot(fleet, "c", pid=fleet.process(7))
        boot(fleet, "d")

    def step(self) -> None:
        """One call by somebody, its answer or its refusal."""
        verbs = (self.add, self.add, self.next, self.next, self.next, self.wait, self.done, self.fail)
        verb = self.random.choice((*verbs, self.assign, self.bid, self.urgent, self.time))
        try:
            answer = verb()
        except DibsError as error:
            answer = [error.code, error.message]
        self.answers.append([verb.__name__, answer])

    def task(self, field: str) -> str:
        """Mostly one that waits and has this field, now and then any one, or one that there is not."""
        waiting = self.fleet.call("v", "task list", state="planned")["tasks"]
        fitting = sorted(task["id"] for task in waiting if field in task and not task.get("waits_for"))
        if fitting and self.random.random() < 0.8:
            return str(self.random.choice(fitting))
        return f"t{self.random.randrange(self.made + 2)}"

    def add(self) -> Any:
        self.made += 1
        fields: dict[str, Any] = {"priority": self.random.randrange(4), "strategy": self.random.choice(HOW)}
        if self.random.random() < 0.3:
            fields["needs"] = ["x"]
        if self.random.random() < 0.2 and self.made > 1:
            fields["after"] = [f"t{self.random.randrange(1, self.made)}"]
        return add(self.fleet, f"t{self.made}", **fields)

    def next(self) -> Any:
        name = self.random.choice(NAMES)
        answer = self.fleet.call(name, "task next")
        self.tokens[answer["task"]["id"]] = (name, answer["token"])
        return answer

    def wait(self) -> Any:
        name = self.random.choice(NAMES)
        answer = self.fleet.call(name, "task next", wait=20_000, wake=name)
        if "task" in answer:
            self.tokens[answer["task"]["id"]] = (name, answer["token"])
        return answer

    def held(self) -> tuple[str, str, int]:
        if not self.tokens:
            return "t0", "a", 1
        name = self.random.choice(sorted(self.tokens))
        if self.random.random() < 0.1:
            return (name, *self.tokens[name])  # and once more later, with a token that is stale by then
        return (name, *self.tokens.pop(name))

    def done(self) -> Any:
        name, agent, token = self.held()
        answer = self.fleet.call(agent, "task done", id=name, token=token)
        self.finished.append(name)
        return answer

    def fail(self) -> Any:
        name, agent, token = self.held()
        how: Any = {"class": "transient", "why": "no"}
        return self.fleet.call(agent, "task fail", id=name, token=token, **how)

    def assign(self) -> Any:
        ways: tuple[Any, ...] = ({}, {"strategy": self.random.choice(HOW[1:])}, {"to": self.random.choice(NAMES)})
        fields = self.random.choice(ways)
        return self.fleet.call("boss", "task assign", id=self.task("id"), **fields)

    def urgent(self) -> Any:
        self.made += 1
        add(self.fleet, f"t{self.made}", priority=self.random.randrange(10))
        return self.fleet.call("boss", "task assign", id=f"t{self.made}", strategy="preemptive")

    def bid(self) -> Any:
        return bid(self.fleet, self.random.choice(NAMES), self.task("bids_until"), self.random.randrange(5))

    def time(self) -> Any:
        self.fleet.now += self.random.choice((1, 1, 500, 500, 2_000, WINDOW, WAIT))
        return None

    def end(self) -> None:
        """Nothing is lost: when time has passed, those who can take and finish all that is left."""
        for _ in range(60):
            self.fleet.now += 30 * MINUTE
            for name in ("a", "a", "a"):
                try:
                    answer = self.fleet.call(name, "task next")
                except DibsError as error:
                    self.answers.append(["end", error.code])
                    continue
                self.fleet.call(name, "task done", id=answer["task"]["id"], token=answer["token"])
                self.finished.append(answer["task"]["id"])
        for state in ("planned", "executing"):
            left = self.fleet.call("v", "task list", state=state)["tasks"]
            stuck = [task for task in left if not task.get("waits_for")]
            assert not stuck, f"nobody can get {stuck}"
        assert len(self.finished) == len(set(self.finished)), "finished twice"
        self.fleet.clean()


@pytest.mark.parametrize("seed", range(12))
def test_on_any_trace_no_task_is_lost_starved_or_finished_twice(seed: int) -> None:
    """Half of the transactions are thrown away and run again."""
    fleet = Fleet(work=work(max_tasks=1 + seed % 2, max_attempts=1_000))
    aborts = random.Random(-seed - 1)
    fleet.store.faults.abort = lambda: aborts.random() < 0.5
    trace = Trace(fleet, seed)
    for _ in range(150):
        trace.step()
    trace.end()


@pytest.mark.parametrize("seed", range(4))
def test_both_engines_give_the_same_answers_and_the_same_log(seed: int) -> None:
    settings = work(max_tasks=1 + seed % 2)
    memory = Trace(Fleet(work=settings), seed)
    for _ in range(150):
        memory.step()
    fleet = OnFile(work=settings)
    try:
        file = Trace(fleet, seed)
        for _ in range(150):
            file.step()
        assert file.answers == memory.answers
        assert fleet.events() == memory.fleet.events()
        fleet.clean()
    finally:
        fleet.close()
