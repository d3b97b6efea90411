"""A state machine against a small independent model of a queue of tasks.

The model knows who has which task until when, what waits for what, and how often each was tried; nothing of dibs. Every
answer is determined: which task `next` gives, who is refused, what becomes of a task that fails or is lost.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dibs.errors import DibsError, Fenced, Held, NotFound, Quota
from tests.operations.crew import settings as work
from tests.operations.engines import PROFILE, MachineOnFile
from tests.operations.fleet import Fleet

AGENTS = {"a": frozenset(), "b": frozenset({"go"}), "c": frozenset({"go", "sql"})}
NEEDS: tuple[tuple[str, ...], ...] = ((), (), (), ("go",), ("go", "sql"))
LIFE, ATTEMPTS, LIMIT, PAUSE, LONGEST = 10_000, 3, 2, 1_000, 3_000
OFTEN = LIFE // 4  # an agent that acts at most this often is seen each time, and keeps what it has


class Task:
    """A task as the model knows it."""

    def __init__(self, name: str, priority: int, number: int, needs: tuple[str, ...], after: list[Task]) -> None:
        self.name, self.priority, self.number, self.needs, self.after = name, priority, number, set(needs), after
        self.state = "planned"
        self.failures = self.not_before = self.token = self.until = 0
        self.agent = ""

    def ready(self, now: int, can: frozenset[str]) -> bool:
        return (
            self.state == "planned"
            and self.not_before <= now
            and self.needs <= can
            and all(one.state == "complete" for one in self.after)
        )

    def failed(self, pause_until: int) -> None:
        self.failures += 1
        self.state = "quarantined" if self.failures >= ATTEMPTS else "planned"
        self.not_before = pause_until


class Queue(RuleBasedStateMachine):
    """Random calls, checked one by one."""

    def __init__(self) -> None:
        super().__init__()
        tasks = work(max_tasks=LIMIT, max_attempts=ATTEMPTS, backoff=PAUSE, max_backoff=LONGEST, breaker_failures=10**6)
        self.fleet = self.make(ttl=LIFE, work=tasks)
        self.tasks: dict[str, Task] = {}
        self.seen: dict[str, int] = {}
        self.tokens: list[tuple[str, str, int]] = []
        for agent, can in AGENTS.items():
            self.fleet.call(agent, "boot", can=sorted(can))
            self.seen[agent] = self.fleet.now

    def make(self, **policy: Any) -> Fleet:
        return Fleet(**policy)

    # --- what the model says

    def held(self, agent: str) -> list[Task]:
        return [t for t in self.tasks.values() if t.state == "executing" and t.agent == agent and not self.over(t)]

    def over(self, task: Task) -> bool:
        """Its deadline is over and nobody has looked yet."""
        return task.state == "executing" and task.until <= self.fleet.now

    def collect(self) -> bool:
        lost = [task for task in self.tasks.values() if self.over(task)]
        for task in lost:
            task.failed(0)
        return bool(lost)

    def best(self, agent: str) -> Task | None:
        ready = [task for task in self.tasks.values() if task.ready(self.fleet.now, AGENTS[agent])]
        return min(ready, key=lambda task: (-task.priority, task.number), default=None)

    def acted(self, agent: str) -> None:
        """Who acts keeps what it has, if that is past half its life."""
        if self.fleet.now - self.seen[agent] > OFTEN:
            self.seen[agent] = self.fleet.now
            for task in self.held(agent):
                if task.until - self.fleet.now < LIFE // 2:
                    task.until = self.fleet.now + LIFE

    def given(self, agent: str, task: Task, answer: Any) -> None:
        assert answer["task"]["id"] == task.name
        assert all(answer["token"] > token for _, _, token in self.tokens)
        task.state, task.agent, task.token = "executing", agent, answer["token"]
        task.until, task.not_before = self.fleet.now + LIFE, 0
        self.tokens.append((agent, task.name, task.token))

    def call(self, agent: str, name: str, **fields: Any) -> Any:
        """The answer or the refusal; a refusal that was decided counts as an act, one that makes no sense does not."""
        try:
            return self.fleet.call(agent, name, **fields)
        except DibsError as error:
            return error

    # --- what agents do

    @rule(priority=st.integers(-1, 1), needs=st.sampled_from(NEEDS), data=st.data())
    def add(self, priority: int, needs: tuple[str, ...], data: st.DataObject) -> None:
        """A task, perhaps behind others."""
        self.fleet.now += 1
        names = sorted(self.tasks)
        after = data.draw(st.lists(st.sampled_from(names), max_size=3, unique=True)) if names else []
        name = f"t{len(self.tasks)}"
        fields = {"title": name, "id": name, "priority": priority, "needs": list(needs), "after": after}
        answer = self.call("boss", "task add", **fields)
        assert answer["task"]["state"] == "planned"
        self.tasks[name] = Task(name, priority, len(self.tasks), needs, [self.tasks[one] for one in after])

    @rule(agent=st.sampled_from(sorted(AGENTS)))
    def next(self, agent: str) -> None:
        """Exactly the best one that is ready, or a refusal for a reason."""
        answer = self.call(agent, "task next")
        if len(self.held(agent)) >= LIMIT:
            assert isinstance(answer, Quota), answer
        else:
            task = self.best(agent)
            if task is None and self.collect():
                task = self.best(agent)
            if task is None:
                assert isinstance(answer, NotFound), answer
            else:
                assert not isinstance(answer, DibsError), answer
                self.given(agent, task, answer)
        self.acted(agent)

    @precondition(lambda self: self.tasks)
    @rule(agent=st.sampled_from(sorted(AGENTS)), data=st.data())
    def claim(self, agent: str, data: st.DataObject) -> None:
        """A certain one."""
        task = self.tasks[data.draw(st.sampled_from(sorted(self.tasks)))]
        answer = self.call(agent, "task claim", id=task.name)
        if task.state == "executing" and not self.over(task):
            if task.agent == agent:
                assert answer["token"] == task.token
                task.until = self.fleet.now + LIFE
            else:
                assert isinstance(answer, Held), answer
            self.acted(agent)
            return
        collected = [one for one in self.tasks.values() if self.over(one)] if self.over(task) else []
        lost_to = "planned" if task.failures + 1 < ATTEMPTS else "quarantined"
        state = lost_to if self.over(task) else task.state
        if state != "planned" or not task.needs <= AGENTS[agent] or any(t.state != "complete" for t in task.after):
            assert answer.code in {"conflict", "forbidden"}, answer  # makes no sense: nothing was changed
            return
        for one in collected:
            one.failed(0)
        if len(self.held(agent)) >= LIMIT:
            assert isinstance(answer, Quota), answer
        else:
            self.given(agent, task, answer)
        self.acted(agent)

    @precondition(lambda self: self.tokens)
    @rule(
        verb=st.sampled_from(("done", "done", "done", "fail", "give up", "release", "progress", "done next")),
        data=st.data(),
    )  # fmt: skip
    def end(self, verb: str, data: st.DataObject) -> None:
        """With a token that may be stale: exactly the live one does it."""
        agent, name, token = data.draw(st.sampled_from(self.tokens[-12:]))
        task = self.tasks[name]
        live = task.state == "executing" and task.token == token and not self.over(task)
        more: dict[str, dict[str, Any]] = {
            "fail": {"class": "transient", "why": "x"}, "give up": {"class": "permanent", "why": "x"},
            "progress": {"percent": 5}, "done next": {"next": True},
        }  # fmt: skip
        name = {"give up": "fail", "done next": "done"}.get(verb, verb)
        answer = self.call(agent, f"task {name}", id=task.name, token=token, **more.get(verb, {}))
        if live:
            assert not isinstance(answer, DibsError), answer
            self.ended(agent, task, verb, answer)
        else:
            assert isinstance(answer, Fenced), answer
            if self.over(task):
                task.failed(0)
        self.acted(agent)

    def ended(self, agent: str, task: Task, verb: str, answer: Any) -> None:
        if verb in {"done", "done next"}:
            task.state = "complete"
            found = self.best(agent) if len(self.held(agent)) < LIMIT else None
            if verb == "done next" and found is not None:
                self.given(agent, found, answer["next"])
            else:
                assert answer.get("next") is None
        elif verb == "fail":
            task.failed(self.fleet.now + min(LONGEST, PAUSE * 2**task.failures))
        elif verb == "give up":
            task.state, task.failures = "failed", task.failures + 1
        elif verb == "release":
            task.state = "planned"
        else:
            task.until = self.fleet.now + LIFE

    @precondition(lambda self: self.tasks)
    @rule(to=st.sampled_from(("planned", "cancelled", "scoped")), data=st.data())
    def move(self, to: str, data: st.DataObject) -> None:
        """By hand, where a way leads."""
        task = self.tasks[data.draw(st.sampled_from(sorted(self.tasks)))]
        ways = {
            "planned": {"scoped", "cancelled"}, "scoped": {"planned", "cancelled"}, "executing": {"cancelled"},
            "failed": {"planned", "cancelled"}, "quarantined": {"planned", "cancelled"},
            "cancelled": {"planned", "cancelled"},
        }  # fmt: skip
        answer = self.call("boss", "task move", id=task.name, state=to)
        if to not in ways.get(task.state, ()):
            assert isinstance(answer, DibsError), answer
            return
        assert not isinstance(answer, DibsError), answer
        if task.state in {"failed", "quarantined", "cancelled"} and to == "planned":
            task.failures = task.not_before = 0
        if to == "cancelled":
            task.not_before = 0
        task.state = to

    @rule(ms=st.sampled_from((1, 500, 1_000, 2_600, 5_001, 10_000)))
    def time_passes(self, ms: int) -> None:
        """Deadlines and pauses come to their end."""
        self.fleet.now += ms

    @rule()
    def sweep(self) -> None:
        """What came due is done."""
        self.call("sweeper", "sweep")
        self.collect()

    @invariant()
    def all_tasks_are_as_the_model_says(self) -> None:
        """Each in its state, tried as often, in the right hands."""
        shown = {task["id"]: task for task in self.fleet.call("v", "task list")["tasks"]}
        assert {name: task["state"] for name, task in shown.items()} == {
            name: task.state for name, task in self.tasks.items()
        }
        for name, task in self.tasks.items():
            over = task.state in {"failed", "quarantined"}  # then it is the last attempt that is told, not the next
            assert shown[name]["attempt"] == max(1, task.failures + (not over))
            if task.state == "executing":
                assert shown[name]["agent"] == task.agent
        claims = {
            (claim["agent"], claim["resources"][0], claim["token"])
            for claim in self.fleet.call("v", "status")["claims"]
        }
        live = [task for task in self.tasks.values() if task.state == "executing" and not self.over(task)]
        assert claims == {(task.agent, f"task:{task.name}", task.token) for task in live}

    def teardown(self) -> None:
        """The log is clean."""
        self.fleet.clean()


class QueueOnFile(MachineOnFile, Queue):
    """The same on a real SQLite file."""


Queue.TestCase.settings = settings(PROFILE, stateful_step_count=50)
TestQueue = Queue.TestCase
QueueOnFile.TestCase.settings = settings(
    PROFILE, stateful_step_count=30, max_examples=max(15, PROFILE.max_examples // 8)
)
TestQueueOnFile = QueueOnFile.TestCase
