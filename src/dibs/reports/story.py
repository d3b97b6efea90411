"""A run's story, from the log: each agent's work with its outcome, its claims, and its waits.

Events go in one after the other, in their order; plain lists come out. The log may begin late (it was pruned) and may
hold events of other runs: unknown tasks and claims are left out. Times are milliseconds of the store's clock.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Event = dict[str, Any]

WORKING = "working"
LOST = frozenset({"expired", "gone", "unclaimed"})
ENDS = {"complete": "complete", "failed": "failed", "quarantined": "quarantined", "cancelled": "cancelled"}


class Span:
    """One period of one agent's work on one task."""

    __slots__ = ("agent", "end", "outcome", "start", "task", "why")

    def __init__(self, task: str, agent: str, start: int) -> None:
        self.task, self.agent, self.start = task, agent, start
        self.end, self.outcome, self.why = 0, WORKING, ""


class Hold:
    """One period in which an agent held a claim that is not a task."""

    __slots__ = ("agent", "end", "how", "mode", "resources", "start")

    def __init__(self, agent: str, resources: list[str], mode: str, start: int) -> None:
        self.agent, self.resources, self.mode, self.start = agent, resources, mode, start
        self.end, self.how = 0, "held"


class Contention:
    """The contention for one resource."""

    __slots__ = ("gave_up", "longest", "refusals", "total", "waits")

    def __init__(self) -> None:
        self.refusals = self.waits = self.gave_up = self.longest = self.total = 0


class Story:
    """Reads events."""

    def __init__(self, tasks: set[str]) -> None:
        self._tasks = tasks
        self._working: dict[str, Span] = {}
        self._held: dict[str, Hold] = {}
        self._waiting: dict[str, tuple[int, list[str]]] = {}
        self.spans: list[Span] = []
        self.holds: list[Hold] = []
        self.marks: list[tuple[int, str, str, str]] = []  # time, agent, kind, text
        self.contention: dict[str, Contention] = {}
        self._told: set[tuple[str, int]] = set()  # a dead process is noted once, even if it held many claims
        self._readers = {
            "task.moved": self._moved, "task.passed": self._passed, "claim.granted": self._granted,
            "claim.moved": self._claim_moved, "claim.released": self._released, "claim.ended": self._ended,
            "claim.refused": self._refused, "wait.queued": self._queued, "wait.ended": self._wait_ended,
            "agent.killed": self._killed, "agent.left": self._left,
        }  # fmt: skip

    def read(self, event: Event) -> None:
        """Add one event."""
        reader = self._readers.get(event["kind"])
        if reader is not None:
            reader(event, event["data"])

    def close(self, now: int) -> None:
        """End the story here: open periods end at this time."""
        for span in self._working.values():
            span.end = now
        for hold in self._held.values():
            hold.end = now
        for start, names in self._waiting.values():
            self._waited(names, now - start, gave_up=False)

    # --- tasks

    def _moved(self, event: Event, data: dict[str, Any]) -> None:
        task = event["subject"]
        if task not in self._tasks:
            return
        if data.get("to") == "executing":
            self.begin(task, event["agent"], event["now"])
            return
        span = self._working.pop(task, None)
        if span is None:
            return
        span.end, span.why = event["now"], str(data.get("why") or "")
        span.outcome = ENDS.get(data["to"]) or {"lost": "lost", "transient": "retried"}.get(
            str(data.get("class")), "returned"
        )
        lost = span.outcome == "lost" or (span.outcome == "quarantined" and span.why in LOST)
        if lost or span.outcome in {"failed", "quarantined"}:
            said = f"{task} was lost ({span.why})" if lost else f"{task} {span.outcome}: {span.why}"
            self.marks.append((event["now"], span.agent, "lost" if lost else "failed", said))

    def begin(self, task: str, agent: str, now: int) -> None:
        """An agent takes up a task."""
        span = self._working[task] = Span(task, agent, now)
        self.spans.append(span)

    def _passed(self, event: Event, _: dict[str, Any]) -> None:
        task = event["subject"]
        span = self._working.get(task)
        if span is not None and span.agent != event["agent"]:
            span.end, span.outcome = event["now"], "passed"
            self.begin(task, event["agent"], event["now"])

    # --- claims

    def _granted(self, event: Event, data: dict[str, Any]) -> None:
        names = _names(data)
        if not all(name.startswith("task:") for name in names):
            hold = self._held[event["subject"]] = Hold(event["agent"], names, data["mode"], event["now"])
            self.holds.append(hold)

    def _claim_moved(self, event: Event, data: dict[str, Any]) -> None:
        hold = self._held.get(event["subject"])
        if hold is not None and hold.agent != data["to"]:
            hold.end, hold.how = event["now"], "passed"
            other = self._held[event["subject"]] = Hold(data["to"], hold.resources, hold.mode, event["now"])
            self.holds.append(other)

    def _released(self, event: Event, data: dict[str, Any]) -> None:
        hold = self._held.get(event["subject"])
        if hold is not None and not data.get("left"):
            hold.end, hold.how = event["now"], "released"
            del self._held[event["subject"]]

    def _ended(self, event: Event, data: dict[str, Any]) -> None:
        hold = self._held.pop(event["subject"], None)
        why = data["why"]
        if hold is not None:
            hold.end, hold.how = event["now"], why
            if why in LOST:
                said = f"{', '.join(hold.resources[:3])} was lost ({why})"
                self.marks.append((event["now"], event["agent"], "lost", said))
        if why == "gone" and (event["agent"], event["commit"]) not in self._told:
            self._told.add((event["agent"], event["commit"]))
            self.marks.append((event["now"], event["agent"], "gone", f"the process of {event['agent']} was gone"))

    # --- waiting

    def _refused(self, _: Event, data: dict[str, Any]) -> None:
        for name in _names({"resources": data.get("contested") or data.get("resources")}):
            self._of(name).refusals += 1

    def _queued(self, event: Event, data: dict[str, Any]) -> None:
        self._waiting[event["subject"]] = (event["now"], _names(data))

    def _wait_ended(self, event: Event, data: dict[str, Any]) -> None:
        found = self._waiting.pop(event["subject"], None)
        if found is not None:
            self._waited(found[1], event["now"] - found[0], gave_up=data["why"] != "granted")

    def _waited(self, names: list[str], long: int, *, gave_up: bool) -> None:
        for name in names:
            one = self._of(name)
            one.waits += 1
            one.gave_up += gave_up
            one.total += long
            one.longest = max(one.longest, long)

    def _of(self, name: str) -> Contention:
        return self.contention.setdefault(name, Contention())

    # --- agents

    def _killed(self, event: Event, data: dict[str, Any]) -> None:
        self.marks.append((event["now"], event["subject"], "killed", f"killed: {data.get('why', '')}"))

    def _left(self, event: Event, _: dict[str, Any]) -> None:
        self.marks.append((event["now"], event["subject"], "left", f"{event['subject']} left"))


def _names(data: dict[str, Any]) -> list[str]:
    """The resources of an event as people write them."""
    return [text or "." for kind, text, *_ in data.get("resources") or () if kind != "inode"]
