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

from dibs.audit.fold import (
    CLAIMS,
    LOST,
    PASSED,
    REFUSALS,
    TASKS,
    UNKNOWN,
    WAITS,
    WORKING,
    Contention,
    Fold,
    Listener,
    contested,
    named,
)
from dibs.machine import clock
from dibs.operations.claims import resources
from dibs.operations.core import paging
from dibs.operations.core.declare import PAGED, Field
from dibs.operations.core.policy import DAY, HOUR
from dibs.operations.core.query import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dibs.audit.answers import StatsAnswer, StatsContentionView, StatsView
    from dibs.audit.fold import ClaimSpan, Resource, Span, TaskSpan
    from dibs.audit.requests import StatsRequest
    from dibs.client.session import Session
    from dibs.operations.claims.events import ClaimRefused
    from dibs.operations.core.call import Call
    from dibs.stores.seam import LogEvent

SINCE = "24h"
BUCKETS = 24
MAX_BUCKETS = 500
MOMENT_MS = 60_000  # a claim in the way that ended within this time made a false refusal
MAX_SAMPLES = 200_000  # lengths that are kept for a percentile; the first ones
MAX_RESOURCES = 20  # listed of those that agents met at
MAX_LEARNED = 20_000  # resources whose contention is counted
MAX_PENDING = 50_000  # refusals that may yet turn out to be false
ANY = "any"  # the kind of tasks for agents of no particular type
COUNTS = (
    "granted", "refused", "false_refusals", "waits", "gave_up", "lost_claims", "attempts", "working", "complete",
    "failed", "quarantined", "cancelled", "retried", "returned", "passed", "lost",
)  # fmt: skip
TIMES = ("work", "lost", "wait", "hold", "lost_hold")  # sums, in ms
PLOTTED = ("granted", "refused", "waits", "complete", "failed", "lost")


class Totals:
    """Counts and times of one agent, of one kind of task, or of all."""

    __slots__ = ("counts", "queued", "times", "waited", "worked")

    def __init__(self) -> None:
        self.counts = dict.fromkeys(COUNTS, 0)
        self.times = dict.fromkeys(TIMES, 0)
        self.worked: list[int] = []
        self.waited: list[int] = []
        self.queued: list[int] = []

    def add_attempt(self, span: TaskSpan) -> None:
        """An attempt at a task ended; one that has not ended counts as `working`, up to now."""
        for name in _counted(span):
            self.counts[name] += 1
        if span.start == UNKNOWN:
            return
        self.times["work"] += span.length
        if span.is_lost:
            self.times["lost"] += span.length
        if span.outcome != WORKING:
            _keep(self.worked, span.length)

    def shown(self) -> StatsView:
        """For people and programs; seconds."""
        counts, times = self.counts, self.times
        tried = counts["complete"] + counts["failed"] + counts["quarantined"]
        return {
            "granted": counts["granted"], "refused": counts["refused"], "false_refusals": counts["false_refusals"],
            "waits": counts["waits"], "gave_up": counts["gave_up"], "lost_claims": counts["lost_claims"],
            "attempts": counts["attempts"], "working": counts["working"], "complete": counts["complete"],
            "failed": counts["failed"], "quarantined": counts["quarantined"], "cancelled": counts["cancelled"],
            "retried": counts["retried"], "returned": counts["returned"], "passed": counts["passed"],
            "lost": counts["lost"], "success_rate": round(counts["complete"] / tried, 4) if tried else None,
            "work_time": _seconds(times["work"]), "lost_time": _seconds(times["lost"]),
            "wait_time": _seconds(times["wait"]), "hold_time": _seconds(times["hold"]),
            "lost_hold_time": _seconds(times["lost_hold"]),
            "average_work": _seconds(sum(self.worked) // len(self.worked)) if self.worked else None,
            "p95_work": _p95(self.worked), "p95_wait": _p95(self.waited),
            "longest_wait": _seconds(max(self.waited)) if self.waited else None,
            "average_queued": _seconds(sum(self.queued) // len(self.queued)) if self.queued else None,
        }  # fmt: skip


class Refusal:
    """A refusal of which it is not known yet whether a moment's wait would have been enough."""

    __slots__ = ("agent", "names", "now", "obstacles", "resources")

    def __init__(self, event: LogEvent, obstacles: set[str], names: list[str]) -> None:
        self.now, self.agent, self.obstacles = event["now"], event["agent"], obstacles  # ids of claims in its way
        self.resources, self.names = event["data"]["resources"], names


class Figures(Listener):
    """Adds up what the log tells of a window."""

    kinds = CLAIMS | WAITS | TASKS | {*REFUSALS}

    def __init__(self, since: int, until: int, buckets: int) -> None:
        self.since, self.until = since, until
        self.size = max(1, -(-(until - since) // buckets))  # ms in a bucket
        self.total = Totals()
        self.agents: dict[str, Totals] = {}
        self.task_kinds: dict[str, Totals] = {}
        self.buckets = [dict.fromkeys(PLOTTED, 0) for _ in range(buckets)]
        self.contention: dict[str, Contention] = {}
        self.refusals = {kind.partition(".")[0]: 0 for kind in REFUSALS}
        self.events = self.first_wall = 0
        self.finished: list[TaskSpan] = []  # attempts that count
        self.queued: list[TaskSpan] = []  # first attempts that count
        self._held: dict[str, dict[str, ClaimSpan]] = {}  # agent → its claims
        self._pending: dict[str, list[Refusal]] = {}  # claim in the way → refusals
        self._refused_in = 0  # the commit of the last refused claim: a guard's refusal of the same is the same one

    def _bucket(self, wall: int) -> int:
        """The bucket of a time; -1 before the window."""
        return -1 if wall < self.since else min(len(self.buckets) - 1, int((wall - self.since) // self.size))

    def _totals(self, agent: str) -> tuple[Totals, Totals]:
        """What an agent's deeds add to."""
        totals = self.agents.get(agent)
        if totals is None:
            totals = self.agents[agent] = Totals()
        return self.total, totals

    def _count(self, wall: int, agent: str, *names: str) -> None:
        place = self._bucket(wall)
        for name in names if place >= 0 else ():
            if name in PLOTTED:
                self.buckets[place][name] += 1
            for totals in self._totals(agent):
                totals.counts[name] += 1

    def _time(self, span: Span, *names: str) -> None:
        for name in names if span.end_wall >= self.since else ():
            for totals in self._totals(span.agent):
                totals.times[name] += span.length

    # --- tasks

    def noted(self, event: LogEvent) -> None:
        """A task that no agent had was cancelled."""
        data = event["data"]
        if data.get("to") == "cancelled" and data["from"] != "executing":
            self._count(event["wall"], event["agent"], "cancelled")

    def attempt_began(self, span: TaskSpan) -> None:
        """Until its first attempt, a task was queued."""
        if span.queued is not None and span.start_wall >= self.since:
            self.queued.append(span)

    def attempt_ended(self, span: TaskSpan) -> None:
        """An attempt counts where it ends."""
        place = self._bucket(span.end_wall)
        if place >= 0:
            self.finished.append(span)
            for name in _counted(span):
                if name in PLOTTED:
                    self.buckets[place][name] += 1
            for totals in self._totals(span.agent):
                totals.add_attempt(span)

    # --- claims

    def claim_began(self, span: ClaimSpan) -> None:
        """A claim was granted."""
        self.claim_passed(span)
        if not span.is_of_task:
            self._count(span.start_wall, span.agent, "granted")

    def claim_passed(self, span: ClaimSpan) -> None:
        """An agent holds a claim."""
        self._held.setdefault(span.agent, {})[span.id] = span

    def claim_reduced(self, span: ClaimSpan, event: LogEvent) -> None:
        """A part of it is free."""
        self._freed(event["now"], span.id, span.held)

    def claim_ended(self, span: ClaimSpan) -> None:
        """How long it was held; what was refused because of it."""
        del self._held[span.agent][span.id]
        if not self._held[span.agent]:
            del self._held[span.agent]
        if span.why not in {"", PASSED}:
            self._freed(span.end, span.id, [])
        if not span.is_of_task:
            is_lost = span.why in LOST
            self._time(span, "hold", *(["lost_hold"] if is_lost else []))
            self._count(span.end_wall, span.agent, *(["lost_claims"] if is_lost else []))

    # --- waiting and refusals

    def wait_ended(self, span: ClaimSpan) -> None:
        """A wait counts where it ends."""
        self._count(span.end_wall, span.agent, "waits", *(["gave_up"] if span.gave_up else []))
        self._time(span, "wait")
        if span.end_wall < self.since:
            return
        for totals in self._totals(span.agent):
            _keep(totals.waited, span.length)
        for contention in self._contentions(named(span.resources, tasks=False)):
            contention.add_wait(span)

    def claim_refused(self, event: LogEvent) -> None:
        """A claim was refused: where, and perhaps for a moment only."""
        self._refused_in = event["commit"]
        if event["wall"] < self.since:
            return
        self.refusals["claim"] += 1
        self._count(event["wall"], event["agent"], "refused")
        data = event["data"]
        names = named(contested(data), tasks=False)
        for contention in self._contentions(names):
            contention.refusals += 1
            contention.agents.add(event["agent"])
        if data.get("code") == "held" and len(self._pending) < MAX_PENDING:
            self._suspect(event, data, names)

    def call_refused(self, event: LogEvent) -> None:
        """Another call was refused; what a guard says of a claim refused in the same commit is the same refusal."""
        if event["commit"] != self._refused_in:
            self._count(event["wall"], event["agent"], "refused")
        if event["wall"] >= self.since:
            self.refusals[event["kind"].partition(".")[0]] += 1

    def _suspect(self, event: LogEvent, data: ClaimRefused, names: list[str]) -> None:
        """Which claims were in the way? If one of them is not known, nothing can be said."""
        obstacles: set[str] = set()
        for agent in {blocker["agent"] for blocker in data["blockers"]}:
            overlapping = {
                claim
                for claim, span in self._held.get(agent, {}).items()
                if resources.any_overlap(span.held, data["resources"]) is not None
            }
            if not overlapping:
                return
            obstacles |= overlapping
        refusal = Refusal(event, obstacles, names)
        for claim in obstacles:
            self._pending.setdefault(claim, []).append(refusal)

    def _freed(self, now: int, claim: str, left: Sequence[Resource]) -> None:
        """A claim, or a part of it, is free: was it the last one in the way of a refusal?"""
        still_blocked = []
        for refusal in self._pending.pop(claim, ()):
            if left and resources.any_overlap(left, refusal.resources) is not None:
                still_blocked.append(refusal)
            elif now - refusal.now <= MOMENT_MS:
                refusal.obstacles.discard(claim)
                if not refusal.obstacles:
                    self._was_false(refusal)
        if still_blocked:
            self._pending[claim] = still_blocked

    def _was_false(self, refusal: Refusal) -> None:
        for totals in self._totals(refusal.agent):
            totals.counts["false_refusals"] += 1
        for contention in self._contentions(refusal.names):
            contention.false_refusals += 1

    def _contentions(self, names: list[str]) -> Iterator[Contention]:
        for name in names:
            if name in self.contention or len(self.contention) < MAX_LEARNED:
                yield self.contention.setdefault(name, Contention())

    # --- the end

    def sort(self, kinds: dict[str, str]) -> None:
        """Totals by kind of task; `kinds` are the types that tasks are for."""
        for span in self.finished:
            self.task_kinds.setdefault(kinds.get(span.id) or ANY, Totals()).add_attempt(span)
        for span in self.queued:
            for totals in (self.task_kinds.setdefault(kinds.get(span.id) or ANY, Totals()), self.total):
                _keep(totals.queued, span.queued or 0)


def _counted(span: TaskSpan) -> tuple[str, ...]:
    """The counts that an attempt adds to. A lost one may be one too many: it counts as quarantined and as lost."""
    if span.outcome == WORKING:
        return (WORKING,)
    return (span.outcome, "attempts", "lost") if span.is_lost and span.outcome != "lost" else (span.outcome, "attempts")


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


def _stats(session: Session, call: Call, request: StatsRequest) -> StatsAnswer:
    """The figures of a window, from one pass through its part of the log."""
    from dibs.audit import events as log_events
    from dibs.audit import log_walk
    from dibs.client.log_reader import LogReader

    limit = paging.check_limit(request["limit"])
    head = session.store.head()
    wall = clock.store_wall()
    seq, since = log_events.since_of(request["since"] or SINCE)
    log = LogReader(session, call)
    if not since:  # an event's number; 0 is the beginning of the log
        found = log.events(max(0, seq - 1), 1)
        since = found[0].wall if found else wall if seq else wall - DAY
    figures = Figures(since, wall, request["buckets"] or BUCKETS)
    back = max(DAY, 2 * session.config.policy.max_life)  # no live claim, and no attempt, is older than that
    start = log_walk.first_since(session, since - back, head.seq, log)
    fold = Fold(figures)
    for event in log_walk.events(session, fold.kinds, head.seq, start, log):
        if not figures.first_wall and event["wall"] >= since:
            figures.first_wall = event["wall"]
        fold.read(event)
    fold.close(head.now, max(wall, since))
    figures.events = head.seq - log_walk.first_since(session, since, head.seq, log)
    figures.sort(_kinds(session, figures))
    return _answer(session, call, figures, limit, request["after"])


def _kinds(session: Session, figures: Figures) -> dict[str, str]:
    """Which type of agent each task is for."""
    from dibs.operations.tasks.records import get_tasks

    tasks = sorted({span.id for span in (*figures.finished, *figures.queued)})
    known = session.store.look(lambda tx: get_tasks(tx, tasks)) if tasks else {}
    return {name: task["for"] for name, task in known.items() if task is not None}


def _answer(session: Session, call: Call, figures: Figures, limit: int, after: str) -> StatsAnswer:
    from dibs.operations.agents.lookups import NAMES

    known = session.run(NAMES, call, {"agents": sorted(figures.agents)})["names"] if figures.agents else {}
    page = paging.listed(sorted(figures.agents), str, limit, after)
    begin = max(figures.since, figures.first_wall) if figures.first_wall else figures.since
    span = max(1, figures.until - begin)
    total = figures.total.shown()
    order = sorted(
        figures.contention.items(), key=lambda item: (-item[1].refusals - item[1].waits, -item[1].total, item[0])
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
        "by_kind": [{"kind": kind, **figures.task_kinds[kind].shown()} for kind in sorted(figures.task_kinds)],
        "contention": [_contended(name, one) for name, one in order[:MAX_RESOURCES]],
        "buckets": [
            {
                "at": clock.iso(figures.since + place * figures.size), "granted": counts["granted"],
                "refused": counts["refused"], "waits": counts["waits"], "complete": counts["complete"],
                "failed": counts["failed"], "lost": counts["lost"],
            }
            for place, counts in enumerate(figures.buckets)
        ],
        "bucket_seconds": _seconds(figures.size),
        **page.answer(),
    }  # fmt: skip


def _contended(name: str, one: Contention) -> StatsContentionView:
    return {
        "resource": name, "refusals": one.refusals, "false_refusals": one.false_refusals, "waits": one.waits,
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
