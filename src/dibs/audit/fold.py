"""The one reading of the log's events: which claims, waits and attempts at tasks there were, by whom, how they ended.

Events go in one after the other, in their order. What is not over is kept here; what begins or ends is passed on to the
listeners (a report is one), which select, add up and draw. Nothing else is kept, so memory is bounded by what is open.

The words, for all reports:
- a claim's span is one agent's: when a claim passes to another agent, one span ends (`passed`) and another begins with
  what is held then. Another incarnation of the same agent continues its span.
- an attempt begins when a task is taken (to `executing`) or passes to another agent, and ends with its next move.
- lost: the agent died, was killed or preempted, the claim expired, or the store lost commits. An attempt is lost only
  by dibs' own word: what an agent gives as its reason, or cancels, is no loss, whatever its words are.
- a wait was given up unless the claim was granted, or the agent asked again and kept its turn.
- the log may begin late (it was pruned). An attempt that began before it is told where it ends, without a start; claims
  and waits that did are not.

Times are milliseconds: `start` and `end` of the store's clock, `start_wall` and `end_wall` of the wall clock.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Final, TypedDict

    from dibs.audit.answers import EventView
    from dibs.audit.report_answers import Outcome
    from dibs.operations.claims.events import (
        ClaimEnded,
        ClaimGranted,
        ClaimMoved,
        ClaimRefused,
        ClaimReleased,
        InterestEnded,
        InterestLeft,
        WaitEnded,
        WaitQueued,
    )
    from dibs.operations.tasks.events import TaskAdded, TaskMoved, TaskPassed
    from dibs.stores.seam import Json, LogEvent

    Resource = Sequence[str]  # kind, text, …

    class Moment(TypedDict):
        """When something happened; an event is one."""

        seq: int
        now: int
        wall: int

    class Beginning(Moment):
        """When a span of a claim, a waiter, an interest or a task begins; an event is one."""

        subject: str


LOST = frozenset({"expired", "gone", "unclaimed", "killed", "limited", "preempted", "epoch"})
RELEASED = "released"
PASSED: Final = "passed"
WORKING: Final = "working"
UNKNOWN = -1  # the start of what began before the log
# A task's final states, each as the outcome of its last attempt.
FINAL: dict[str, Outcome] = {
    "complete": "complete", "failed": "failed", "quarantined": "quarantined", "cancelled": "cancelled"
}  # fmt: skip
KEPT_TURN = frozenset({"", "granted", "again"})  # ends of a wait that its agent did not give up; "": not over
TASK = "task:"

CLAIMS = frozenset({"claim.granted", "claim.moved", "claim.released", "claim.ended"})
WAITS = frozenset({"wait.queued", "wait.ended"})
TASKS = frozenset({"task.added", "task.moved", "task.passed"})
REFUSALS = ("claim.refused", "edit.refused", "command.refused", "commit.refused", "deploy.refused", "call.refused")
BEGINS = frozenset({"claim.granted", "wait.queued", "interest.left"})  # the subject is a new id


class Span:
    """A period of one agent. Until it is over, `why` is "" and `end` is 0."""

    __slots__ = ("agent", "end", "end_seq", "end_wall", "id", "start", "start_seq", "start_wall", "why")

    def __init__(self, agent: str, event: Beginning) -> None:
        self.id, self.agent = event["subject"], agent
        self.start, self.start_wall, self.start_seq = event["now"], event["wall"], event["seq"]
        self.end = self.end_wall = self.end_seq = 0
        self.why = ""

    @property
    def length(self) -> int:
        """From its start to its end, in ms."""
        return self.end - self.start

    def finish(self, event: Moment, why: str) -> None:
        """It is over."""
        self.end, self.end_wall, self.end_seq, self.why = event["now"], event["wall"], event["seq"], why


class ClaimSpan(Span):
    """An agent holds a claim, waits for one, or has an interest in one."""

    __slots__ = ("held", "mode", "resources", "tree")

    def __init__(self, agent: str, event: Beginning, resources: Sequence[Resource], mode: str, tree: str) -> None:
        super().__init__(agent, event)
        self.resources = self.held = resources  # at its start; now
        self.mode, self.tree = mode, tree

    @property
    def is_of_task(self) -> bool:
        """Is it a task's own claim? The task's moves say the same."""
        return all(map(is_task, self.held))

    @property
    def gave_up(self) -> bool:
        """Of a wait: did its agent get nothing?"""
        return self.why not in KEPT_TURN


class TaskSpan(Span):
    """An agent's attempt at a task."""

    __slots__ = ("is_lost", "outcome", "queued")

    def __init__(self, agent: str, event: Beginning, queued: int | None = None) -> None:
        super().__init__(agent, event)
        self.outcome: Outcome = WORKING
        self.is_lost = False
        self.queued = queued  # of the first attempt: ms since the task was added


class Listener:
    """What a report wants to know of the log. `kinds` are the kinds of events that it needs."""

    kinds: frozenset[str] = frozenset()

    def claim_began(self, span: ClaimSpan) -> None:
        """A claim was granted."""

    def claim_passed(self, span: ClaimSpan) -> None:
        """A claim has another holder: this span of it begins. The span before has ended."""

    def claim_reduced(self, span: ClaimSpan, event: LogEvent) -> None:
        """A part of a claim was released."""

    def claim_ended(self, span: ClaimSpan) -> None:
        """A span of a claim is over, or was closed."""

    def wait_began(self, span: ClaimSpan) -> None:
        """An agent was queued."""

    def wait_ended(self, span: ClaimSpan) -> None:
        """A wait is over, or was closed."""

    def attempt_began(self, span: TaskSpan) -> None:
        """An agent took a task."""

    def attempt_passed(self, span: TaskSpan) -> None:
        """A task has another agent: this attempt begins. The one before has ended."""

    def attempt_ended(self, span: TaskSpan) -> None:
        """An attempt is over, or was closed."""

    def claim_refused(self, event: LogEvent) -> None:
        """A claim was refused."""

    def call_refused(self, event: LogEvent) -> None:
        """An edit, a command, a commit, a deploy or another call was refused."""

    def agent_stopped(self, agent: str, event: LogEvent, how: str) -> None:
        """An agent was `killed`, `left`, or its process is `gone`."""

    def noted(self, event: LogEvent) -> None:
        """An event that tells of none of these, or a task's move."""


class Fold:
    """Reads events for its listeners. The open spans are its state."""

    def __init__(self, *listeners: Listener) -> None:
        self.listeners = listeners
        self.kinds = frozenset().union(*[listener.kinds for listener in listeners])
        self.claims: dict[str, ClaimSpan] = {}
        self.waits: dict[str, ClaimSpan] = {}
        self.interests: dict[str, ClaimSpan] = {}
        self.attempts: dict[str, TaskSpan] = {}
        self._added: dict[str, int] = {}  # task that nobody took yet → when it was added
        self._gone: dict[str, int] = {}  # agent → the commit that found it dead: with many claims, it died once
        # the data has the type of its kind
        self._readers: dict[str, Callable[[LogEvent, Json], None]] = {
            "claim.granted": self._granted, "claim.moved": self._claim_moved, "claim.released": self._released,
            "claim.ended": self._ended, "wait.queued": self._queued, "wait.ended": self._wait_ended,
            "interest.left": self._interest_left, "interest.ended": self._interest_ended,
            "task.added": self._task_added,
            "task.moved": self._task_moved, "task.passed": self._task_passed, "agent.killed": self._stopped,
            "agent.left": self._stopped, **dict.fromkeys(REFUSALS, self._call_refused),
            "claim.refused": self._claim_refused,
        }  # fmt: skip

    def read(self, event: LogEvent) -> None:
        """Add one event."""
        reader = self._readers.get(event["kind"])
        if reader is not None:
            reader(event, event["data"])
        else:
            for listener in self.listeners:
                listener.noted(event)

    def read_all(self, events: Iterable[LogEvent]) -> None:
        """Add these events."""
        for event in events:
            self.read(event)

    def close(self, now: int, wall: int) -> None:
        """What is open counts up to this time: it is told as ended, with `why` "" (and `working`)."""
        end: Moment = {"now": now, "wall": wall, "seq": 0}
        for listener in self.listeners:
            for attempt in self.attempts.values():
                attempt.finish(end, "")
                listener.attempt_ended(attempt)
            for wait in self.waits.values():
                wait.finish(end, "")
                listener.wait_ended(wait)
            for claim in self.claims.values():
                claim.finish(end, "")
                listener.claim_ended(claim)

    # --- claims

    def _granted(self, event: LogEvent, data: ClaimGranted) -> None:
        span = self.claims[event["subject"]] = _asked(event, data)
        for listener in self.listeners:
            listener.claim_began(span)

    def _claim_moved(self, event: LogEvent, data: ClaimMoved) -> None:
        before = self.claims.get(event["subject"])
        if before is None or before.agent == data["to"]:
            return
        before.finish(event, PASSED)
        span = ClaimSpan(data["to"], event, before.held, before.mode, before.tree)
        self.claims[span.id] = span
        for listener in self.listeners:
            listener.claim_ended(before)
            listener.claim_passed(span)

    def _released(self, event: LogEvent, data: ClaimReleased) -> None:
        span = self.claims.get(event["subject"])
        if not data.get("left"):
            self._end_claim(event, RELEASED)
        elif span is not None:
            span.held = data["left"]
            for listener in self.listeners:
                listener.claim_reduced(span, event)

    def _ended(self, event: LogEvent, data: ClaimEnded) -> None:
        self._end_claim(event, data["why"])
        agent = event["agent"]
        if data["why"] == "gone" and self._gone.get(agent) != event["commit"]:
            self._gone[agent] = event["commit"]
            for listener in self.listeners:
                listener.agent_stopped(agent, event, "gone")

    def _end_claim(self, event: LogEvent, why: str) -> None:
        span = self.claims.pop(event["subject"], None)
        if span is not None:
            span.finish(event, why)
            for listener in self.listeners:
                listener.claim_ended(span)

    # --- waits

    def _queued(self, event: LogEvent, data: WaitQueued) -> None:
        span = self.waits[event["subject"]] = _asked(event, data)
        for listener in self.listeners:
            listener.wait_began(span)

    def _wait_ended(self, event: LogEvent, data: WaitEnded) -> None:
        span = self.waits.pop(event["subject"], None)
        if span is not None:
            span.finish(event, data["why"])
            for listener in self.listeners:
                listener.wait_ended(span)

    def _interest_left(self, event: LogEvent, data: InterestLeft) -> None:
        self.interests[event["subject"]] = _asked(event, data)

    def _interest_ended(self, event: LogEvent, _: InterestEnded) -> None:
        self.interests.pop(event["subject"], None)

    # --- tasks

    def _task_added(self, event: LogEvent, _: TaskAdded) -> None:
        self._added[event["subject"]] = event["now"]
        self._note(event)

    def _task_moved(self, event: LogEvent, data: TaskMoved) -> None:
        task, to = event["subject"], data["to"]
        if to == "executing":
            added = self._added.pop(task, None)
            span = TaskSpan(event["agent"], event, None if added is None else event["now"] - added)
            self.attempts[task] = span
            for listener in self.listeners:
                listener.attempt_began(span)
        elif task in self.attempts or data.get("from") == "executing":
            before = self.attempts.pop(task, None)
            unknown: Beginning = {"subject": task, "seq": event["seq"], "now": UNKNOWN, "wall": event["wall"]}
            span = TaskSpan(event["agent"], unknown) if before is None else before
            span.is_lost = is_lost(data)
            self._end(span, event, _outcome(data, lost=span.is_lost), str(data.get("why") or ""))
        self._note(event)

    def _task_passed(self, event: LogEvent, _: TaskPassed) -> None:
        task, before = event["subject"], self.attempts.get(event["subject"])
        if before is None or before.agent != event["agent"]:
            if before is not None:
                self._end(before, event, PASSED, "")
            span = self.attempts[task] = TaskSpan(event["agent"], event)
            for listener in self.listeners:
                listener.attempt_passed(span)

    def _end(self, span: TaskSpan, event: LogEvent, outcome: Outcome, why: str) -> None:
        span.finish(event, why)
        span.outcome = outcome
        for listener in self.listeners:
            listener.attempt_ended(span)

    # --- the rest

    def _claim_refused(self, event: LogEvent, _: ClaimRefused) -> None:
        for listener in self.listeners:
            listener.claim_refused(event)

    def _call_refused(self, event: LogEvent, _: Json) -> None:
        for listener in self.listeners:
            listener.call_refused(event)

    def _stopped(self, event: LogEvent, _: Json) -> None:
        for listener in self.listeners:
            listener.agent_stopped(event["subject"], event, event["kind"].partition(".")[2])
        self._note(event)

    def _note(self, event: LogEvent) -> None:
        for listener in self.listeners:
            listener.noted(event)


def _asked(event: LogEvent, data: ClaimGranted | WaitQueued | InterestLeft) -> ClaimSpan:
    return ClaimSpan(event["agent"], event, data["resources"], data["mode"], str(data.get("tree", "")))


class Contention:
    """How agents met at one resource."""

    __slots__ = ("agents", "false_refusals", "gave_up", "longest", "refusals", "total", "waits")

    def __init__(self) -> None:
        self.refusals = self.false_refusals = self.waits = self.gave_up = self.longest = self.total = 0
        self.agents: set[str] = set()

    def add_wait(self, span: ClaimSpan) -> None:
        """A wait for it is over."""
        self.waits += 1
        self.gave_up += span.gave_up
        self.agents.add(span.agent)
        self.add_time(span)

    def add_time(self, span: ClaimSpan) -> None:
        """The time of a wait for it."""
        self.total += span.length
        self.longest = max(self.longest, span.length)


def is_lost(data: TaskMoved) -> bool:
    """Did dibs take the task from its agent? With a token, or of a cancellation, `why` has an agent's words."""
    return data["to"] in {"planned", "quarantined"} and "token" not in data and data.get("why") in LOST


def _outcome(data: TaskMoved, *, lost: bool) -> Outcome:
    if data["to"] in FINAL:
        return FINAL[data["to"]]
    return "lost" if lost else "retried" if data.get("class") == "transient" else "returned"


def is_over(event: LogEvent | EventView) -> bool:
    """Does no later event name this claim, waiter or interest?"""
    kind = event["kind"]
    return kind in {"claim.ended", "wait.ended", "interest.ended"} or (
        kind == "claim.released" and not event["data"].get("left")
    )


def is_task(resource: Resource) -> bool:
    """Is it a task's name?"""
    return resource[0] == "name" and resource[1].startswith(TASK)


def named(held: Iterable[Resource], *, tasks: bool = True) -> list[str]:
    """Resources as people write them, without aliases; with or without tasks."""
    return [one[1] or "." for one in held if one[0] != "inode" and (tasks or not is_task(one))]


def contested(data: ClaimRefused) -> Sequence[Resource]:
    """What a refused claim met at: those of its resources that were not free, or all."""
    return data.get("contested") or data["resources"]
