"""What the log says for `dibs check`: gathered in one pass, kept small.

The log may begin late (it was pruned); what began before is left out. `lately` is the window in which figures count
(contention, who is at work); what stays wrong until it is mended (violations, bypasses, deploys, kills) counts from the
log's beginning, archives included.
"""

from __future__ import annotations

from dibs.operations.core.call import lineage_of
from dibs.reports.resource_map import KINDS as MAP_KINDS
from dibs.reports.resource_map import Learned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Event = dict[str, Any]

GOOD = "ok"
TWICE_MS = 60_000  # a task of the same title within this time was sent twice
MAX_KEPT = 1_000  # events of one sort that are listed; more are dropped, the oldest first
FINAL = frozenset({"complete", "failed", "quarantined", "cancelled"})
RETRIED = frozenset({"transient", "lost"})


STAYS = (
    "edit.violated", "edit.unattributed", "commit.unverified", "push.unverified", "deploy.finished", "task.moved",
    "agent.killed", "agent.revived", "agent.forgotten", "rules.acknowledged",
)  # fmt: skip # kinds that are read from archives, too


class Contended:
    """Who wanted one resource, and how long they waited."""

    __slots__ = ("agents", "asks", "events", "kind", "longest", "refusals", "total", "waits")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.asks = self.refusals = self.waits = self.longest = self.total = 0
        self.agents: set[str] = set()
        self.events: list[int] = []


class History:
    """Reads events, in their order."""

    def __init__(self, since_wall: int) -> None:
        self._since = since_wall
        self.first = 0  # the first event that was read
        self.map = Learned()
        self.at_work: set[str] = set()  # roots of families that claimed, worked or wrote lately
        self.changes: dict[str, Event] = {}  # a change's id → its event
        self.doubts: list[Event] = []
        self.bypasses: list[Event] = []
        self.deploys: dict[str, list[Event]] = {}  # target → what is unsure since the last good one
        self.quarantined: dict[str, Event] = {}
        self.failed: dict[str, Event] = {}  # task that failed for good → the event
        self.failures: dict[str, list[int]] = {}  # agent → its failures in a row
        self.killed: dict[str, Event] = {}
        self.told: dict[str, int] = {}  # agent → when it was last shown the rules
        self.channels: dict[str, list[Any]] = {}  # kind of emitted event → how many lately, the last one, by whom
        self.deadlocks: list[int] = []
        self.out_of_order = 0
        self.contention: dict[str, Contended] = {}
        self.retries: dict[str, list[Event]] = {}  # task without a key → its second and later attempts, lately
        self.twice: list[tuple[Event, Event]] = []  # a task and the same one again
        self.writes = self.named_writes = 0  # lately: all that could have a request id, and what has one
        self._tasks: dict[str, bool] = {}  # task that is not finished → whether it has a key
        self._tried: dict[str, int] = {}
        self._added: dict[tuple[str, str], Event] = {}
        self._waiting: dict[str, tuple[int, list[tuple[str, str]]]] = {}
        self._readers = {
            "claim.granted": self._granted, "claim.refused": self._refused, "wait.queued": self._queued,
            "wait.ended": self._wait_ended, "edit.violated": self._changed, "edit.unattributed": self._changed,
            "guard.doubted": self._doubted, "commit.unverified": self._bypassed, "push.unverified": self._bypassed,
            "deploy.finished": self._deployed, "task.added": self._task_added, "task.moved": self._task_moved,
            "agent.killed": self._killed, "agent.revived": self._revived, "agent.forgotten": self._forgotten,
            "rules.acknowledged": self._told, "event.emitted": self._emitted, "state.set": self._wrote,
        }  # fmt: skip
        self.kinds = frozenset((*self._readers, *MAP_KINDS))

    def recall(self, event: Event) -> None:
        """Add an event that left the store: what stays wrong until it is mended, however long ago it was.

        Of tasks only where they stopped: the present state of each is a record, which the event is looked up for.
        """
        if event["kind"] == "task.moved":
            for state, known in (("quarantined", self.quarantined), ("failed", self.failed)):
                if event["data"].get("to") == state:
                    known[event["subject"]] = event
            return
        self._readers[event["kind"]](event, event["data"])

    def read(self, event: Event) -> None:
        """Add one event."""
        self.first = self.first or event["seq"]
        self.map.read(event)
        reader = self._readers.get(event["kind"])
        if reader is not None:
            reader(event, event["data"])

    def _is_late(self, event: Event) -> bool:
        return bool(event["wall"] >= self._since)

    def _works(self, event: Event) -> None:
        if self._is_late(event) and event["agent"]:
            self.at_work.add(lineage_of(event["agent"])[0])

    # --- claims

    def _granted(self, event: Event, data: dict[str, Any]) -> None:
        self._works(event)
        if self._is_late(event):
            for name, kind in named(data):
                self._of(name, kind).asks += 1

    def _refused(self, event: Event, data: dict[str, Any]) -> None:
        self._works(event)
        if data.get("code") == "deadlock":
            self.deadlocks = [*self.deadlocks, event["seq"]][-MAX_KEPT:]
        if data.get("code") == "order":
            self.out_of_order += 1
        if self._is_late(event) and data.get("code") in {"held", "deadlock"}:
            for name, kind in named({"resources": data.get("contested") or data["resources"]}):
                one = self._of(name, kind)
                one.asks += 1
                one.refusals += 1
                self._met(one, event)

    def _queued(self, event: Event, data: dict[str, Any]) -> None:
        self._works(event)
        names = named(data)
        self._waiting[event["subject"]] = (event["now"], names)
        if self._is_late(event):
            for name, kind in names:
                one = self._of(name, kind)
                one.waits += 1
                self._met(one, event)

    def _wait_ended(self, event: Event, data: dict[str, Any]) -> None:
        found = self._waiting.pop(event["subject"], None)
        if found is None:
            return
        if data["why"] == "deadlock":
            self.deadlocks = [*self.deadlocks, event["seq"]][-MAX_KEPT:]
        if self._is_late(event):
            for name, kind in found[1]:
                one, took = self._of(name, kind), event["now"] - found[0]
                one.total += took
                one.longest = max(one.longest, took)

    def _of(self, name: str, kind: str) -> Contended:
        return self.contention.setdefault(name, Contended(kind))

    @staticmethod
    def _met(one: Contended, event: Event) -> None:
        one.agents.add(event["agent"])
        one.events = [*one.events, event["seq"]][-MAX_KEPT:]

    # --- guards

    def _changed(self, event: Event, data: dict[str, Any]) -> None:
        self.changes[data["id"]] = event
        while len(self.changes) > MAX_KEPT:
            del self.changes[next(iter(self.changes))]

    def _doubted(self, event: Event, _: dict[str, Any]) -> None:
        if self._is_late(event):
            self.doubts = [*self.doubts, event][-MAX_KEPT:]

    def _bypassed(self, event: Event, _: dict[str, Any]) -> None:
        self.bypasses = [*self.bypasses, event][-MAX_KEPT:]

    def _deployed(self, event: Event, data: dict[str, Any]) -> None:
        self._works(event)
        target = event["subject"]
        if data.get("fenced") or data["result"] in {"unverified", "unchecked", "interrupted"}:
            self.deploys[target] = [*self.deploys.get(target, ()), event][-MAX_KEPT:]
        elif data["result"] == GOOD:
            self.deploys[target] = [event] if data.get("unsynced") else []

    # --- tasks

    def _task_added(self, event: Event, data: dict[str, Any]) -> None:
        self._counted(event, data)
        has_key = bool(data.get("key") or data.get("request"))
        if data.get("imported"):
            return
        self._tasks[event["subject"]] = bool(data.get("key"))
        if has_key:
            return
        name = (event["agent"], str(data.get("title")))
        before = self._added.get(name)
        if before is not None and event["now"] - before["now"] <= TWICE_MS and self._is_late(event):
            self.twice = [*self.twice, (before, event)][-MAX_KEPT:]
        self._added[name] = event
        while len(self._added) > MAX_KEPT:
            del self._added[next(iter(self._added))]

    def _task_moved(self, event: Event, data: dict[str, Any]) -> None:
        task, agent, to = event["subject"], event["agent"], data.get("to")
        if to == "executing":
            self._works(event)
            self._tried[task] = self._tried.get(task, 0) + 1
            if self._tried[task] > 1 and not self._tasks.get(task, True) and self._is_late(event):
                self.retries.setdefault(task, []).append(event)
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

    def _killed(self, event: Event, _: dict[str, Any]) -> None:
        self.killed[event["subject"]] = event

    def _revived(self, event: Event, _: dict[str, Any]) -> None:
        self.killed.pop(event["subject"], None)

    _forgotten = _revived

    def _told(self, event: Event, _: dict[str, Any]) -> None:
        self.told[event["subject"]] = event["seq"]

    def _emitted(self, event: Event, data: dict[str, Any]) -> None:
        self._counted(event, data)
        if self._is_late(event):
            one = self.channels.setdefault(event["subject"], [0, 0, set()])
            one[0], one[1] = one[0] + 1, event["seq"]
            one[2].add(event["agent"])

    def _wrote(self, event: Event, data: dict[str, Any]) -> None:
        self._works(event)
        self._counted(event, data)

    def _counted(self, event: Event, data: dict[str, Any]) -> None:
        if self._is_late(event):
            self.writes += 1
            self.named_writes += bool(data.get("request") or data.get("key"))


def named(data: dict[str, Any]) -> list[tuple[str, str]]:
    """The resources of an event as people write them, with their kinds; tasks are left out."""
    return [
        (text or ".", kind)
        for kind, text, *_ in data.get("resources") or ()
        if kind != "inode" and not text.startswith("task:")
    ]
