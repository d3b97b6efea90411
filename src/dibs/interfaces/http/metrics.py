"""`GET /metrics`: the server's figures and the workspace's state, in the text that Prometheus reads.

Counters are of what this process saw since it started: its own requests, and every event of the log, by any agent.
Gauges (tasks by state, agents, alerts) are looked up when they are asked for, at most once in `FRESH_MS`. Other parts
of the server say how to read their counts (`add`).
"""

from __future__ import annotations

import threading

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from dibs.machine import clock
from dibs.operations.core.event_kinds import KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prometheus_client.metrics_core import Metric

    from dibs.audit.answers import EventView
    from dibs.server.figures import Figures
    from dibs.server.host import Host
    from dibs.stores.seam import LogEvent, Transaction

FRESH_MS = 5_000
MAX_COUNTED = 5_000  # of tasks in one state, or agents; more count as this many
STATES = ("discovery", "scoped", "planned", "executing", "complete", "failed", "cancelled", "quarantined")
SEVERITIES = ("error", "warning", "info")
CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
# Figure → name, its label, what it says.
COUNTERS = {
    "events": ("dibs_events", "kind", "Events of the log since the server started."),
    "claims": ("dibs_claims", "", "Claims granted."),
    "refusals": ("dibs_refusals", "code", "Refusals in the log, by code."),
    "waits": ("dibs_waits", "", "Waits for a claim that began."),
    "contention": ("dibs_contention", "resource", "Refused claims by resource; the later ones count as other."),
    "requests": ("dibs_requests", "operation", "Requests over HTTP, by operation and whether it was answered."),
    "http_refusals": ("dibs_http_refusals", "status", "Answers over HTTP other than 200, by status."),
}
HISTOGRAMS = {
    "request_seconds": ("dibs_request_seconds", "operation", "How long a request took."),
    "store_seconds": ("dibs_store_seconds", "verb", "How long the store's half of a request took."),
}


def counted(figures: Figures, event: LogEvent | EventView) -> None:
    """Count one event of the log."""
    kind, data = event["kind"], event["data"]
    figures.count("events", kind if kind in KINDS else "unknown")
    if kind == "claim.granted":
        figures.count("claims")
    elif kind == "wait.queued":
        figures.count("waits")
    elif kind in {"claim.refused", "edit.refused"}:
        figures.count("contention", str(event["subject"]))
    if kind.endswith(".refused") and isinstance(data.get("code"), str):
        figures.count("refusals", data["code"])


class Metrics:
    """The registry of one server; not the library's own, which belongs to the process."""

    def __init__(self, host: Host, figures: Figures, listeners: Callable[[], int]) -> None:
        self._host, self._figures, self._listeners = host, figures, listeners
        self._registry = CollectorRegistry()
        self._registry.register(self)  # it only collects
        self._mutex = threading.Lock()
        self._looked_at = -FRESH_MS
        self._tasks: dict[str, int] = {}
        self._agents = 0
        self._alerts: dict[str, int] = {}
        self._others: list[tuple[str, str, Callable[[], float]]] = []
        self.add("dibs_decisions", "Decisions that went through the group commit.", lambda: host.group.requests)
        self.add("dibs_commits", "Commits that these decisions shared.", lambda: host.group.groups)

    def add(self, name: str, what: str, read: Callable[[], float]) -> None:
        """A counter of another part of the server, read when it is asked for."""
        self._others.append((name, what, read))

    def text(self) -> bytes:
        """All of it. Blocking."""
        with self._mutex:
            if clock.since_boot() - self._looked_at >= FRESH_MS:
                began = clock.since_boot()
                self._tasks, self._agents, self._alerts = self._host.store.look(_look)
                self._looked_at = clock.since_boot()
                self._figures.observe("store_seconds", (self._looked_at - began) / 1000, "look")
            return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Called by the registry."""
        counts = self._figures.counts()
        for figure, (name, label, what) in COUNTERS.items():
            family = CounterMetricFamily(name, what, labels=[label] if label else None)
            for value, count in counts.get(figure, {} if label else {"": 0}).items():
                family.add_metric([value] if label else [], count)
            yield family
        for figure, labels in self._figures.histograms().items():
            if figure in HISTOGRAMS:
                yield _histogram(*HISTOGRAMS[figure], labels)
        tasks = GaugeMetricFamily("dibs_tasks", "Tasks by state.", labels=["state"])
        for state in STATES:
            tasks.add_metric([state], self._tasks.get(state, 0))
        yield tasks
        yield GaugeMetricFamily("dibs_agents", "Agents that have neither left nor been killed.", value=self._agents)
        alerts = GaugeMetricFamily("dibs_alerts", "Alerts that are not cleared, by severity.", labels=["severity"])
        for severity in SEVERITIES:
            alerts.add_metric([severity], self._alerts.get(severity, 0))
        yield alerts
        for name, what, read in self._others:
            yield CounterMetricFamily(name, what, value=read())
        yield GaugeMetricFamily("dibs_event_streams", "Callers that listen to /events.", value=self._listeners())


def _histogram(
    name: str, label: str, what: str, labels: dict[str, tuple[tuple[float, ...], list[int], float]]
) -> HistogramMetricFamily:
    family = HistogramMetricFamily(name, what, labels=[label] if label else None)
    for value, (bounds, counts, total) in labels.items():
        sums, buckets = 0, []
        for bound, count in zip([*map(str, bounds), "+Inf"], counts, strict=True):
            sums += count
            buckets.append((bound, sums))
        family.add_metric([value] if label else [], buckets, total)
    return family


def _look(tx: Transaction) -> tuple[dict[str, int], int, dict[str, int]]:
    from dibs.operations.alerts.views import live
    from dibs.operations.tasks.records import ASSIGNED, READY, in_state
    from dibs.stores.seam import prefix_range

    tasks = {state: len(tx.scan(1, in_state(state), MAX_COUNTED).rows) for state in STATES}
    ready = sum(len(tx.scan(1, prefix, MAX_COUNTED).rows) for prefix in (READY, ASSIGNED))
    tasks["planned"] += ready
    rows = tx.fetch([prefix_range("a\t")], MAX_COUNTED).rows
    agents = sum(1 for _, agent in rows if "same" not in agent and not agent["left"] and not agent["killed"])
    alerts: dict[str, int] = {}
    for alert in live(tx):
        alerts[alert["severity"]] = alerts.get(alert["severity"], 0) + 1
    return tasks, agents, alerts
