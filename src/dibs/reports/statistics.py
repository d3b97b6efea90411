"""`stats`: what the agents of a workspace did over time: work, waiting, refusals, contention, time that was lost.

From the log, in one pass. The words, exactly:
- an attempt begins when a task is taken (to `executing`) and ends with the task's next move, or when it passes to
  another agent. It counts where it ends; one that has not ended counts as `working`, up to now. The same holds for
  waits and claims. What began before the log, or longer ago than two lives of a claim before the window, has no length.
- lost: an attempt whose agent died, was killed or preempted, or whose claim expired. `lost_time` is the work in it.
- throughput: tasks completed in an hour of the window, or of the log where that is shorter. `success_rate`: completed
  tasks among those that were completed, failed or quarantined.
- queued: from the addition of a task to its first attempt.
- a false refusal: a claim refused because it was held, while all claims in its way ended within a minute after: to wait
  a moment would have been enough. It counts where it was refused.

Durations are of the store's clock; which window and bucket an event belongs to goes by the wall clock.
"""

from __future__ import annotations

from dibs.facts import clock
from dibs.operations.claims import resources
from dibs.operations.core import paging
from dibs.operations.core.declare import PAGED, Field
from dibs.operations.core.policy import DAY, HOUR
from dibs.operations.core.query import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.core.call import Call
    from dibs.session.session import Session

    Event = dict[str, Any]

SINCE = "24h"
BUCKETS = 24
MAX_BUCKETS = 500
MOMENT_MS = 60_000  # a claim in the way that ended within this time made a false refusal
MAX_SAMPLES = 200_000  # lengths that are kept for a percentile; the first ones
MAX_RESOURCES = 20  # listed of those that agents met at
MAX_LEARNED = 20_000  # resources whose contention is counted
MAX_PENDING = 50_000  # refusals that may yet turn out to be false
ANY = "any"  # the kind of tasks for agents of no particular type
LOST = frozenset(("expired", "gone", "unclaimed", "killed", "preempted", "epoch"))
OUTCOMES = {"complete": "complete", "failed": "failed", "quarantined": "quarantined", "cancelled": "cancelled"}
REFUSALS = ("claim.refused", "edit.refused", "command.refused", "commit.refused", "deploy.refused", "call.refused")
COUNTS = (
    "granted", "refused", "false_refusals", "waits", "gave_up", "lost_claims", "attempts", "working", "complete",
    "failed", "quarantined", "cancelled", "retried", "returned", "passed", "lost",
)  # fmt: skip
TIMES = ("work", "lost", "wait", "hold", "lost_hold")  # sums, in ms
PLOTTED = ("granted", "refused", "waits", "complete", "failed", "lost")


class Sums:
    """Counts and times of one agent, of one kind of task, or of all."""

    __slots__ = ("counts", "queued", "times", "waited", "worked")

    def __init__(self) -> None:
        self.counts = dict.fromkeys(COUNTS, 0)
        self.times = dict.fromkeys(TIMES, 0)
        self.worked: list[int] = []
        self.waited: list[int] = []
        self.queued: list[int] = []

    def shown(self) -> dict[str, Any]:
        """For people and programs; seconds."""
        counts = self.counts
        tried = counts["complete"] + counts["failed"] + counts["quarantined"]
        return {
            **counts,
            "success_rate": round(counts["complete"] / tried, 4) if tried else None,
            **{f"{name}_time": _seconds(ms) for name, ms in self.times.items()},
            "average_work": _seconds(sum(self.worked) // len(self.worked)) if self.worked else None,
            "p95_work": _p95(self.worked),
            "p95_wait": _p95(self.waited),
            "longest_wait": _seconds(max(self.waited)) if self.waited else None,
            "average_queued": _seconds(sum(self.queued) // len(self.queued)) if self.queued else None,
        }


class Met:
    """What happened at one resource."""

    __slots__ = ("agents", "false", "longest", "refusals", "total", "waits")

    def __init__(self) -> None:
        self.refusals = self.waits = self.longest = self.total = self.false = 0
        self.agents: set[str] = set()


class Refusal:
    """A refusal of which it is not known yet whether a moment's wait would have been enough."""

    __slots__ = ("agent", "bucket", "names", "now", "resources", "ways")

    def __init__(self, event: Event, bucket: int, ways: set[str], names: list[str]) -> None:
        self.now, self.agent, self.bucket, self.ways = event["now"], event["agent"], bucket, ways
        self.resources, self.names = event["data"]["resources"], names


class Figures:
    """Reads events, in their order."""

    def __init__(self, since: int, until: int, buckets: int) -> None:
        self.since, self.until = since, until
        self.size = max(1, -(-(until - since) // buckets))  # ms in a bucket
        self.total = Sums()
        self.agents: dict[str, Sums] = {}
        self.kinds: dict[str, Sums] = {}
        self.buckets = [dict.fromkeys(PLOTTED, 0) for _ in range(buckets)]
        self.met: dict[str, Met] = {}
        self.refusals = {kind.partition(".")[0]: 0 for kind in REFUSALS}
        self.events = self.first_wall = 0
        self.now = 0
        self._attempts: dict[str, tuple[str, int]] = {}  # task → agent, since
        self._added: dict[str, int] = {}
        self._live: dict[str, tuple[str, list[Any], int]] = {}  # claim → agent, resources, since
        self._of_agent: dict[str, set[str]] = {}
        self._waits: dict[str, tuple[str, int, list[str]]] = {}
        self._pending: dict[str, list[Refusal]] = {}  # claim in the way → refusals
        self._refused_in = 0  # the commit of the last refused claim: a guard's refusal of the same is the same one
        self.finished: list[tuple[str, str, int, str]] = []  # task, outcome, ms, agent: for the kinds
        self.queues: list[tuple[str, int]] = []
        self._readers = {
            "task.added": self._task_added, "task.moved": self._task_moved, "task.passed": self._task_passed,
            "claim.granted": self._granted, "claim.moved": self._claim_moved, "claim.released": self._released,
            "claim.ended": self._ended, "wait.queued": self._queued, "wait.ended": self._wait_ended,
            **dict.fromkeys(REFUSALS, self._refused),
        }  # fmt: skip
        self.wanted = frozenset(self._readers)

    def read(self, event: Event) -> None:
        """Add one event."""
        self.now = event["now"]
        if event["wall"] >= self.since:
            self.first_wall = self.first_wall or event["wall"]
        self._readers[event["kind"]](event, event["data"])

    def _bucket(self, event: Event) -> int:
        """The bucket of an event; -1 before the window."""
        if event["wall"] < self.since:
            return -1
        return min(len(self.buckets) - 1, int((event["wall"] - self.since) // self.size))

    def _count(self, event: Event, agent: str, name: str, number: int = 1) -> None:
        place = self._bucket(event)
        if place < 0:
            return
        if name in PLOTTED:
            self.buckets[place][name] += number
        for sums in (self.total, self._sums(agent)):
            sums.counts[name] += number

    def _time(self, event: Event, agent: str, name: str, ms: int) -> None:
        if self._bucket(event) >= 0:
            for sums in (self.total, self._sums(agent)):
                sums.times[name] += ms

    def _sums(self, agent: str) -> Sums:
        found = self.agents.get(agent)
        if found is None:
            found = self.agents[agent] = Sums()
        return found

    # --- tasks

    def _task_added(self, event: Event, _: dict[str, Any]) -> None:
        self._added[event["subject"]] = event["now"]

    def _task_moved(self, event: Event, data: dict[str, Any]) -> None:
        task = event["subject"]
        if data.get("to") == "executing":
            self._attempts[task] = (event["agent"], event["now"])
            added = self._added.pop(task, None)
            if added is not None and self._bucket(event) >= 0:
                self.queues.append((task, event["now"] - added))
            return
        outcome = OUTCOMES.get(str(data.get("to")), "")
        found = self._attempts.pop(task, None)
        lost = data.get("class") == "lost" or data.get("why") in LOST
        if found is None:
            if outcome and data.get("from") == "executing":  # it began before the log that was read
                self._finish(event, task, event["agent"], outcome, None)
            elif outcome in {"cancelled", "quarantined"}:
                self._count(event, event["agent"], outcome)
            return
        if not outcome:
            outcome = "lost" if lost else "retried" if data.get("class") == "transient" else "returned"
        self._finish(event, task, found[0], outcome, event["now"] - found[1], lost=lost)

    def _task_passed(self, event: Event, _: dict[str, Any]) -> None:
        task = event["subject"]
        found = self._attempts.get(task)
        if found is not None and found[0] != event["agent"]:
            self._finish(event, task, found[0], "passed", event["now"] - found[1])
            self._attempts[task] = (event["agent"], event["now"])

    def _finish(
        self, event: Event, task: str, agent: str, outcome: str, took: int | None, *, lost: bool = False
    ) -> None:
        """An attempt ended; `took` is None if its beginning is not known."""
        self._count(event, agent, outcome)
        self._count(event, agent, "attempts")
        if lost and outcome != "lost":  # its last attempt was lost, and that was one too many
            self._count(event, agent, "lost")
        if self._bucket(event) < 0:
            return
        self.finished.append((task, outcome, -1 if took is None else took, agent))
        if took is None:
            return
        self._time(event, agent, "work", took)
        if lost:
            self._time(event, agent, "lost", took)
        for sums in (self.total, self._sums(agent)):
            _keep(sums.worked, took)

    # --- claims

    def _granted(self, event: Event, data: dict[str, Any]) -> None:
        self._hold(event["subject"], event["agent"], data["resources"], event["now"])
        if not _is_task(data["resources"]):
            self._count(event, event["agent"], "granted")

    def _hold(self, claim: str, agent: str, held: list[Any], since: int) -> None:
        self._live[claim] = (agent, held, since)
        self._of_agent.setdefault(agent, set()).add(claim)

    def _drop(self, claim: str) -> tuple[str, list[Any], int] | None:
        found = self._live.pop(claim, None)
        if found is not None:
            self._of_agent[found[0]].discard(claim)
            if not self._of_agent[found[0]]:
                del self._of_agent[found[0]]
        return found

    def _claim_moved(self, event: Event, data: dict[str, Any]) -> None:
        found = self._drop(event["subject"])
        if found is None:
            return
        if data["to"] != found[0] and not _is_task(found[1]):
            self._time(event, found[0], "hold", event["now"] - found[2])
        since = found[2] if data["to"] == found[0] else event["now"]
        self._hold(event["subject"], data["to"], found[1], since)

    def _released(self, event: Event, data: dict[str, Any]) -> None:
        found = self._live.get(event["subject"])
        left = data.get("left") or []
        self._freed(event, event["subject"], left)
        if found is None:
            return
        if left:
            self._live[event["subject"]] = (found[0], left, found[2])
            return
        self._drop(event["subject"])
        if not _is_task(found[1]):
            self._time(event, found[0], "hold", event["now"] - found[2])

    def _ended(self, event: Event, data: dict[str, Any]) -> None:
        self._freed(event, event["subject"], [])
        found = self._drop(event["subject"])
        if found is None or _is_task(found[1]):
            return
        self._time(event, found[0], "hold", event["now"] - found[2])
        if data["why"] in LOST:
            self._count(event, found[0], "lost_claims")
            self._time(event, found[0], "lost_hold", event["now"] - found[2])

    # --- waiting and refusals

    def _queued(self, event: Event, data: dict[str, Any]) -> None:
        self._waits[event["subject"]] = (event["agent"], event["now"], _names(data["resources"]))

    def _wait_ended(self, event: Event, data: dict[str, Any]) -> None:
        found = self._waits.pop(event["subject"], None)
        if found is not None:
            self._waited(event, *found, gave_up=data["why"] not in {"granted", "again"})

    def _waited(self, event: Event, agent: str, since: int, names: list[str], *, gave_up: bool) -> None:
        took = event["now"] - since
        self._count(event, agent, "waits")
        self._time(event, agent, "wait", took)
        if gave_up:
            self._count(event, agent, "gave_up")
        if self._bucket(event) < 0:
            return
        for sums in (self.total, self._sums(agent)):
            _keep(sums.waited, took)
        for name in names:
            one = self._at(name)
            if one is not None:
                one.waits += 1
                one.total += took
                one.longest = max(one.longest, took)
                one.agents.add(agent)

    def _refused(self, event: Event, data: dict[str, Any]) -> None:
        kind = event["kind"].partition(".")[0]
        place = self._bucket(event)
        if place >= 0:
            self.refusals[kind] += 1
        if kind == "claim":
            self._refused_in = event["commit"]
        elif event["commit"] == self._refused_in:
            return  # the guard's word for the same refusal
        self._count(event, event["agent"], "refused")
        if kind != "claim" or place < 0:
            return
        names = _names(data.get("contested") or data["resources"])
        for name in names:
            one = self._at(name)
            if one is not None:
                one.refusals += 1
                one.agents.add(event["agent"])
        if data.get("code") == "held" and len(self._pending) < MAX_PENDING:
            self._suspect(event, data, place, names)

    def _suspect(self, event: Event, data: dict[str, Any], place: int, names: list[str]) -> None:
        """Which claims were in the way? If one of them is not known, nothing can be said."""
        ways: set[str] = set()
        for agent in {blocker["agent"] for blocker in data["blockers"]}:
            mine = {
                claim
                for claim in self._of_agent.get(agent, ())
                if resources.any_overlap(self._live[claim][1], data["resources"]) is not None
            }
            if not mine:
                return
            ways |= mine
        if ways:
            refusal = Refusal(event, place, ways, names)
            for claim in ways:
                self._pending.setdefault(claim, []).append(refusal)

    def _freed(self, event: Event, claim: str, left: list[Any]) -> None:
        """A claim, or a part of it, is free: was it the last one in the way of a refusal?"""
        waiting = self._pending.pop(claim, None)
        if waiting is None:
            return
        stays = []
        for refusal in waiting:
            if left and resources.any_overlap(left, refusal.resources) is not None:
                stays.append(refusal)
            elif event["now"] - refusal.now <= MOMENT_MS:
                refusal.ways.discard(claim)
                if not refusal.ways:
                    self._was_false(refusal)
        if stays:
            self._pending[claim] = stays

    def _was_false(self, refusal: Refusal) -> None:
        for sums in (self.total, self._sums(refusal.agent)):
            sums.counts["false_refusals"] += 1
        for name in refusal.names:
            one = self._at(name)
            if one is not None:
                one.false += 1

    def _at(self, name: str) -> Met | None:
        found = self.met.get(name)
        if found is None and len(self.met) < MAX_LEARNED:
            found = self.met[name] = Met()
        return found

    # --- the end

    def close(self, now: int, wall: int) -> None:
        """What has not ended counts up to now."""
        end: Event = {"now": now, "wall": max(wall, self.since)}
        for task, (agent, since) in self._attempts.items():
            self._count(end, agent, "working")
            self._time(end, agent, "work", now - since)
            self.finished.append((task, "working", now - since, agent))
        for agent, since, names in list(self._waits.values()):
            self._waited(end, agent, since, names, gave_up=False)
        for agent, held, since in self._live.values():
            if not _is_task(held):
                self._time(end, agent, "hold", now - since)

    def sort(self, kinds: dict[str, str]) -> None:
        """Sums by kind of task; `kinds` are the types that tasks are for."""
        for task, outcome, took, _ in self.finished:
            sums = self.kinds.setdefault(kinds.get(task) or ANY, Sums())
            sums.counts[outcome] += 1
            sums.counts["attempts"] += outcome != "working"
            if took >= 0:
                sums.times["work"] += took
                if outcome != "working":
                    _keep(sums.worked, took)
                if outcome == "lost":
                    sums.times["lost"] += took
        for task, took in self.queues:
            sums = self.kinds.setdefault(kinds.get(task) or ANY, Sums())
            _keep(sums.queued, took)
            _keep(self.total.queued, took)


def _is_task(held: list[Any]) -> bool:
    return bool(held) and all(text.startswith("task:") for kind, text, *_ in held if kind != "inode")


def _names(held: list[Any]) -> list[str]:
    return [text or "." for kind, text, *_ in held if kind != "inode" and not text.startswith("task:")]


def _keep(samples: list[int], value: int) -> None:
    if len(samples) < MAX_SAMPLES:
        samples.append(value)


def _seconds(ms: int) -> float:
    return round(max(0, ms) / 1000, 3)


def _p95(samples: list[int]) -> float | None:
    """The length that 95 of 100 do not exceed."""
    if not samples:
        return None
    return _seconds(sorted(samples)[-(-95 * len(samples) // 100) - 1])


# --- the query


def _stats(session: Session, call: Call, **fields: Any) -> dict[str, Any]:
    """The figures of a window, from one pass through its part of the log."""
    from dibs.reports import events as log_events
    from dibs.reports import log_walk
    from dibs.session.log_reader import LogReader

    limit = paging.check_limit(fields["limit"])
    head = session.store.head()
    wall = clock.store_wall()
    seq, since = log_events.since_of(fields["since"] or SINCE)
    log = LogReader(session, call)
    if not since:  # an event's number; 0 is the beginning of the log
        found = log.events(max(0, seq - 1), 1)
        since = found[0].wall if found else wall if seq else wall - DAY
    figures = Figures(since, wall, fields["buckets"] or BUCKETS)
    back = max(DAY, 2 * session.config.policy.max_life)  # no live claim, and no attempt, is older than that
    start = log_walk.first_since(session, since - back, head.seq, log)
    for event in log_walk.events(session, figures.wanted, head.seq, start, log):
        figures.read(event)
    figures.close(max(figures.now, head.now), wall)
    figures.events = head.seq - log_walk.first_since(session, since, head.seq, log)
    figures.sort(_kinds(session, figures))
    return _answer(session, call, figures, limit, fields["after"])


def _kinds(session: Session, figures: Figures) -> dict[str, str]:
    """Which type of agent each task is for."""
    from dibs.operations.tasks.records import get_tasks

    tasks = sorted({task for task, *_ in figures.finished} | {task for task, _ in figures.queues})
    known = session.store.look(lambda tx: get_tasks(tx, tasks)) if tasks else {}
    return {name: task["for"] for name, task in known.items() if task is not None}


def _answer(session: Session, call: Call, figures: Figures, limit: int, after: str) -> dict[str, Any]:
    from dibs.operations.agents.lookups import NAMES

    known = session.run(NAMES, call, {"agents": sorted(figures.agents)})["names"] if figures.agents else {}
    page = paging.listed(sorted(figures.agents), str, limit, after)
    begin = max(figures.since, figures.first_wall) if figures.first_wall else figures.since
    span = max(1, figures.until - begin)
    total = figures.total.shown()
    order = sorted(
        figures.met,
        key=lambda name: (-figures.met[name].refusals - figures.met[name].waits, -figures.met[name].total, name),
    )
    return {
        "from": clock.iso(figures.since),
        "to": clock.iso(figures.until),
        "seconds": _seconds(figures.until - figures.since),
        "events": figures.events,
        "totals": {**total, "throughput": round(total["complete"] * HOUR / span, 3)},
        "refusals": figures.refusals,
        "by_agent": [
            {"agent": agent, "name": known.get(agent) or agent, **figures.agents[agent].shown()}
            for agent in page.records
        ],
        "by_kind": [{"kind": kind, **figures.kinds[kind].shown()} for kind in sorted(figures.kinds)],
        "contention": [_met(name, figures.met[name]) for name in order[:MAX_RESOURCES]],
        "buckets": [
            {"at": clock.iso(figures.since + place * figures.size), **one} for place, one in enumerate(figures.buckets)
        ],
        "bucket_seconds": _seconds(figures.size),
        **page.answer(),
    }


def _met(name: str, one: Met) -> dict[str, Any]:
    return {
        "resource": name, "refusals": one.refusals, "false_refusals": one.false, "waits": one.waits,
        "longest_wait": _seconds(one.longest), "total_wait": _seconds(one.total), "agents": len(one.agents),
    }  # fmt: skip


STATS = Query(
    "stats",
    _stats,
    "Show figures over time: work, success, waiting, refusals, contention, lost time, by agent and kind of task.",
    fields=(
        Field("since", "text", f"the last 2h, 7d …, or from this event number on (default {SINCE})", default="",
              metavar="D|SEQ"),
        Field("buckets", "integer", f"into how many parts the time is divided (default {BUCKETS})", default=0,
              most=MAX_BUCKETS, metavar="N"),
        *PAGED,
    ),
    answer="StatsAnswer",
    group="record",
)  # fmt: skip

QUERIES = (STATS,)
