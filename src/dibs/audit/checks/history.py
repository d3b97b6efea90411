"""What the log says for `dibs check`: gathered in one pass, kept small.

The log may begin late (it was pruned); what began before is left out. `lately` is the window in which figures count
(contention, who is at work); what stays wrong until it is fixed (violations, bypasses, deploys, kills) counts from the
log's beginning, archives included.
"""

from __future__ import annotations

from dibs.audit.fold import CLAIMS, FINAL, WAITS, Contention, Listener, contested, is_task
from dibs.audit.resource_map import Uses
from dibs.operations.core.call import lineage_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dibs.audit.fold import ClaimSpan, Resource, TaskSpan
    from dibs.operations.agents.events import AgentForgotten, AgentKilled, AgentRevived, RulesAcknowledged
    from dibs.operations.documents.events import StateSet
    from dibs.operations.guards.events import (
        CommitUnverified,
        DeployFinished,
        EditUnattributed,
        EditViolated,
        GuardDoubted,
        PushUnverified,
    )
    from dibs.operations.messages.events import EventEmitted
    from dibs.operations.tasks.events import TaskAdded, TaskMoved
    from dibs.stores.seam import Json, LogEvent

GOOD = "ok"
TWICE_MS = 60_000  # a task of the same title within this time was sent twice
AT_ONCE_MS = 600_000  # who worked within the same time worked at once
MAX_KEPT = 1_000  # events of one sort that are listed; more are dropped, the oldest first
RETRIED = frozenset({"transient", "lost"})
LASTING = (
    "edit.violated", "edit.unattributed", "commit.unverified", "push.unverified", "deploy.finished", "task.moved",
    "agent.killed", "agent.revived", "agent.forgotten", "rules.acknowledged",
)  # fmt: skip # kinds that are read from archives, too: what they tell stays wrong until it is fixed


class Demand(Contention):
    """Who asked for one resource, and how long they waited."""

    __slots__ = ("asks", "events", "kind")

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind, self.asks = kind, 0
        self.events: list[int] = []

    def add_meeting(self, agent: str, seq: int) -> None:
        """An agent was refused, or had to wait."""
        self.agents.add(agent)
        self.events = [*self.events, seq][-MAX_KEPT:]


class Channel:
    """One kind of emitted event: how many there were lately, the last one, and the agents that emitted them."""

    __slots__ = ("agents", "count", "last")

    def __init__(self) -> None:
        self.count = self.last = 0
        self.agents: set[str] = set()


class History(Listener):
    """Keeps what the checks look at."""

    def __init__(self, since_wall: int) -> None:
        self._since = since_wall
        self.map = Uses()
        self.at_work: set[str] = set()  # roots of families that claimed, worked or wrote lately
        self.most_at_once = 0  # how many of them within one AT_ONCE_MS
        self._at_once: tuple[int, set[str]] = (0, set())
        self.changes: dict[str, LogEvent] = {}  # a change's id → its event
        self.doubts: list[LogEvent] = []
        self.bypasses: list[LogEvent] = []
        self.deploys: dict[str, list[LogEvent]] = {}  # target → what is unsure since the last good one
        self.quarantined: dict[str, LogEvent] = {}
        self.failed: dict[str, LogEvent] = {}  # task that failed for good → the event
        self.failures: dict[str, list[int]] = {}  # agent → its failures in a row
        self.killed: dict[str, LogEvent] = {}
        self.told: dict[str, int] = {}  # agent → when it was last shown the rules
        self.channels: dict[str, Channel] = {}  # by the kind of emitted event
        self.deadlocks: list[int] = []
        self.out_of_order = 0
        self.contention: dict[str, Demand] = {}
        self.retries: dict[str, list[TaskSpan]] = {}  # task without a key → its second and later attempts, lately
        self.twice: list[tuple[LogEvent, LogEvent]] = []  # a task and the same one again
        self.writes = self.named_writes = 0  # lately: all that could have a request id, and what has one
        self._tasks: dict[str, bool] = {}  # task that is not finished → whether it has a key
        self._tried: dict[str, int] = {}
        self._added: dict[tuple[str, str], LogEvent] = {}
        # the data has the type of its kind
        self._readers: dict[str, Callable[[LogEvent, Json], None]] = {
            "edit.violated": self._changed, "edit.unattributed": self._changed, "guard.doubted": self._doubted,
            "commit.unverified": self._bypassed, "push.unverified": self._bypassed, "deploy.finished": self._deployed,
            "task.added": self._task_added, "task.moved": self._task_moved, "agent.killed": self._killed,
            "agent.revived": self._revived, "agent.forgotten": self._revived, "rules.acknowledged": self._told,
            "event.emitted": self._emitted, "state.set": self._wrote,
        }  # fmt: skip
        self.kinds = CLAIMS | WAITS | {"claim.refused", *self._readers}

    def recall(self, event: LogEvent) -> None:
        """Add an event that left the store: what stays wrong until it is fixed, however long ago it was.

        Of tasks only where they stopped: the present state of each is a record, which the event is looked up for.
        """
        if event["kind"] == "task.moved":
            for state, known in (("quarantined", self.quarantined), ("failed", self.failed)):
                if event["data"].get("to") == state:
                    known[event["subject"]] = event
            return
        self._readers[event["kind"]](event, event["data"])

    def noted(self, event: LogEvent) -> None:
        """What is no claim, wait or attempt."""
        reader = self._readers.get(event["kind"])
        if reader is not None:
            reader(event, event["data"])

    def _is_late(self, wall: int) -> bool:
        return wall >= self._since

    def _works(self, agent: str, wall: int) -> None:
        if self._is_late(wall) and agent:
            root = lineage_of(agent)[0]
            self.at_work.add(root)
            if wall // AT_ONCE_MS != self._at_once[0]:
                self._at_once = (wall // AT_ONCE_MS, set())
            self._at_once[1].add(root)
            self.most_at_once = max(self.most_at_once, len(self._at_once[1]))

    # --- claims

    def claim_began(self, span: ClaimSpan) -> None:
        """A claim that was granted was asked for."""
        self._works(span.agent, span.start_wall)
        if self._is_late(span.start_wall):
            for demand in self._demands(span.resources):
                demand.asks += 1

    def claim_refused(self, event: LogEvent) -> None:
        """A refused claim."""
        self._works(event["agent"], event["wall"])
        code = event["data"].get("code")
        if code == "deadlock":
            self.deadlocks = [*self.deadlocks, event["seq"]][-MAX_KEPT:]
        if code == "order":
            self.out_of_order += 1
        if self._is_late(event["wall"]) and code in {"held", "deadlock"}:
            for demand in self._demands(contested(event["data"])):
                demand.asks += 1
                demand.refusals += 1
                demand.add_meeting(event["agent"], event["seq"])

    def wait_began(self, span: ClaimSpan) -> None:
        """An agent had to wait."""
        self._works(span.agent, span.start_wall)
        if self._is_late(span.start_wall):
            for demand in self._demands(span.resources):
                demand.waits += 1
                demand.add_meeting(span.agent, span.start_seq)

    def wait_ended(self, span: ClaimSpan) -> None:
        """How long it waited."""
        if span.why == "deadlock":
            self.deadlocks = [*self.deadlocks, span.end_seq][-MAX_KEPT:]
        if self._is_late(span.end_wall):
            for demand in self._demands(span.resources):
                demand.add_time(span)

    def _demands(self, wanted: Sequence[Resource]) -> Iterator[Demand]:
        for kind, text, *_ in wanted:
            if kind != "inode" and not is_task((kind, text)):
                yield self.contention.setdefault(text or ".", Demand(kind))

    # --- guards

    def _changed(self, event: LogEvent, data: EditViolated | EditUnattributed) -> None:
        self.changes[data["id"]] = event
        while len(self.changes) > MAX_KEPT:
            del self.changes[next(iter(self.changes))]

    def _doubted(self, event: LogEvent, _: GuardDoubted) -> None:
        if self._is_late(event["wall"]):
            self.doubts = [*self.doubts, event][-MAX_KEPT:]

    def _bypassed(self, event: LogEvent, _: CommitUnverified | PushUnverified) -> None:
        self.bypasses = [*self.bypasses, event][-MAX_KEPT:]

    def _deployed(self, event: LogEvent, data: DeployFinished) -> None:
        self._works(event["agent"], event["wall"])
        target = event["subject"]
        if data.get("fenced") or data["result"] in {"unverified", "unchecked", "interrupted"}:
            self.deploys[target] = [*self.deploys.get(target, ()), event][-MAX_KEPT:]
        elif data["result"] == GOOD:
            self.deploys[target] = [event] if data.get("unsynced") else []

    # --- tasks

    def _task_added(self, event: LogEvent, data: TaskAdded) -> None:
        self._counted(event, data)
        has_key = bool(data.get("key") or data.get("request"))
        if data.get("imported"):
            return
        self._tasks[event["subject"]] = bool(data.get("key"))
        if has_key:
            return
        name = (event["agent"], str(data.get("title")))
        before = self._added.get(name)
        if before is not None and event["now"] - before["now"] <= TWICE_MS and self._is_late(event["wall"]):
            self.twice = [*self.twice, (before, event)][-MAX_KEPT:]
        self._added[name] = event
        while len(self._added) > MAX_KEPT:
            del self._added[next(iter(self._added))]

    def attempt_began(self, span: TaskSpan) -> None:
        """A second attempt at a task without a key may do twice what should be done once."""
        self._works(span.agent, span.start_wall)
        self._tried[span.id] = self._tried.get(span.id, 0) + 1
        if self._tried[span.id] > 1 and not self._tasks.get(span.id, True) and self._is_late(span.start_wall):
            self.retries.setdefault(span.id, []).append(span)

    def _task_moved(self, event: LogEvent, data: TaskMoved) -> None:
        task, agent, to = event["subject"], event["agent"], data.get("to")
        if to == "executing":
            return
        if data.get("class") in RETRIED or to in {"failed", "quarantined"}:
            self.failures[agent] = [*self.failures.get(agent, ()), event["seq"]][-10:]
        elif to == "complete":
            self.failures.pop(agent, None)
        for state, known in (("quarantined", self.quarantined), ("failed", self.failed)):
            if to == state:
                known[task] = event
            else:
                known.pop(task, None)
        if to in FINAL and to != "quarantined":
            self._tasks.pop(task, None)
            self._tried.pop(task, None)

    # --- agents

    def _killed(self, event: LogEvent, _: AgentKilled) -> None:
        self.killed[event["subject"]] = event

    def _revived(self, event: LogEvent, _: AgentRevived | AgentForgotten) -> None:
        self.killed.pop(event["subject"], None)

    def _told(self, event: LogEvent, _: RulesAcknowledged) -> None:
        self.told[event["subject"]] = event["seq"]

    def _emitted(self, event: LogEvent, data: EventEmitted) -> None:
        self._counted(event, data)
        if self._is_late(event["wall"]):
            channel = self.channels.setdefault(event["subject"], Channel())
            channel.count += 1
            channel.last = event["seq"]
            channel.agents.add(event["agent"])

    def _wrote(self, event: LogEvent, data: StateSet) -> None:
        self._works(event["agent"], event["wall"])
        self._counted(event, data)

    def _counted(self, event: LogEvent, data: TaskAdded | EventEmitted | StateSet) -> None:
        if self._is_late(event["wall"]):
            self.writes += 1
            self.named_writes += bool(data.get("request") or data.get("key"))
