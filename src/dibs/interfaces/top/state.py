"""What `dibs top` knows: one snapshot at event N, then the events from N+1 on, folded into it.

What an event means beyond the plain fact is not guessed: the topic that it concerns is read again (reader.py). The
reader's thread changes this, the terminal's thread reads it; both hold `mutex` meanwhile. The page does the same in
interfaces/page/store.js.
"""

from __future__ import annotations

import threading
from collections import deque

from dibs.interfaces.top import words
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.interfaces.top import records
    from dibs.operations.agents.answers import AgentsAnswer, AgentView
    from dibs.operations.alerts.answers import AlertsAnswer, AlertView
    from dibs.operations.claims.answers import ClaimView, PoolView, StatusAnswer, Undelivered, WaitedForView, WaiterView
    from dibs.operations.landing.answers import LandingsAnswer, RadarAnswer
    from dibs.operations.runs.answers import RunProgress, RunView
    from dibs.operations.tasks.answers import TaskListAnswer, TaskView

KEPT_EVENTS = 6_000  # in memory; older ones are read on demand, by scrolling
KEPT_RESOURCES = 4 * KEPT_EVENTS
KEPT_MARKS = 20
PAST_MS = 2 * 3_600_000  # "the last two hours"

STARTING, LIVE, LOST = "starting", "live", "lost"
_AFFECTS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("claim.", "wait.", "interest."), ("status",)), (("agent.",), ("agents", "status")),
    (("task.",), ("tasks", "agents")), (("run.",), ("runs", "tasks")),
    (("alert.", "edit.", "commit.", "deploy."), ("alerts",)), (("store.", "rules."), ("status", "agents")),
    (("radar.", "landing."), ("worktrees",)),
)  # fmt: skip


class FleetState:
    """Snapshot and events."""

    def __init__(self) -> None:
        self.mutex = threading.RLock()
        self.phase, self.error = STARTING, ""
        self.workspace = self.me = self.role = ""
        self.may: dict[str, bool] = {}
        self.seq = self.version = 0
        self.claims: dict[str, ClaimView] = {}
        self.waiting: dict[str, WaiterView] = {}
        self.pools: list[PoolView] = []
        self.agents: dict[str, AgentView] = {}
        self.tasks: dict[str, TaskView] = {}
        self.task_version = 0  # of the tasks alone
        self.board: tuple[int, dict[str, list[TaskView]]] = (-1, {})  # of which version of the tasks (model.py)
        self.runs: list[RunView] = []
        self.run: RunProgress | None = None
        self.alerts: list[AlertView] = []
        self.radar: RadarAnswer | None = None  # the last look for conflicts; None: not read yet
        self.landings: LandingsAnswer | None = None  # the landing queue
        self.warnings: list[str] = []
        self.undelivered: list[Undelivered] = []  # alerts that the command or webhook did not take
        self.usage: dict[str, AgentView] = {}
        self.more: dict[str, bool] = {}
        self.whole = False  # are the tasks read, too?
        self.events: list[records.Event] = []
        self.is_older = False  # has the log events before the first of these?
        self.searched = ""  # what the log was searched for
        self.found: list[records.Event] = []  # what it has of that, oldest first
        self.found_from = 0  # how far back it was searched; 0: to its beginning
        self.refusals: deque[int] = deque()
        self.resources: dict[str, list[str]] = {}  # claim or waiter → its resources, for events that name only it
        self.marks: list[tuple[int, str]] = []  # what `top` itself has to say, among the latest events
        self.lost_at = self.retry_at = 0
        self.latency = 0.0  # ms, of reading the state

    # --- time

    @property
    def now(self) -> int:
        """The time, in ms since 1970. It stops while the connection is lost."""
        return self.lost_at if self.phase == LOST and self.lost_at else clock.store_wall()

    def why_not(self, operation: str) -> str:
        """Why this cannot be done from here; "" if it may be tried."""
        if self.phase != LIVE:
            return "not connected: actions are off"
        return "" if self.may.get(operation) else f"{self.role or self.me}: may look, not do this"

    def name_of(self, agent: str) -> str:
        """What people call this agent."""
        known = self.agents.get(agent)
        return (known["name"] if known else "") or agent

    # --- reading

    def take(self, topic: str, answer: object, more: bool = False) -> None:
        """A topic was read: what is known of it is replaced."""
        with self.mutex:
            getattr(self, f"_take_{topic}")(answer)
            self.more[topic] = more
            self.version += 1

    def _take_status(self, answer: StatusAnswer) -> None:
        self.claims = {one["claim"]: one for one in answer["claims"]}
        for one in answer["claims"]:
            self.resources[one["claim"]] = one["resources"]
        self.waiting = {
            f"{one['agent']}\t{place}": one for place, one in enumerate(answer["waiting"])
        }  # fmt: skip
        self.pools = answer.get("pools") or []
        self.warnings = answer.get("warnings") or []
        self.undelivered = answer.get("undelivered") or []

    def _take_agents(self, answer: AgentsAnswer) -> None:
        self.agents = {one["agent"]: self._with_usage(one) for one in answer["agents"]}

    def _take_usage(self, answer: AgentsAnswer) -> None:
        self.usage = {one["agent"]: one for one in answer["agents"] if "cpu" in one}
        self.agents = {agent: self._with_usage(one) for agent, one in self.agents.items()}

    def _with_usage(self, agent: AgentView) -> AgentView:
        used = self.usage.get(agent["agent"])
        return {**agent, "cpu": used["cpu"], "memory": used["memory"]} if used else agent

    def _take_tasks(self, answer: TaskListAnswer) -> None:
        self.tasks = {one["id"]: one for one in answer["tasks"]}
        self.task_version += 1
        self.whole = True

    def _take_runs(self, answer: tuple[list[RunView], RunProgress | None]) -> None:
        self.runs, self.run = answer

    def _take_alerts(self, answer: AlertsAnswer) -> None:
        self.alerts = answer["alerts"]

    def _take_worktrees(self, answer: tuple[RadarAnswer, LandingsAnswer]) -> None:
        self.radar, self.landings = answer

    # --- events

    def begin(self, events: Sequence[records.Event], seq: int, *, older: bool) -> None:
        """The last events of the log, with which everything begins."""
        with self.mutex:
            self.events, self.seq, self.is_older = [], seq, older
            self.refusals.clear()
            for event in events:
                self._keep(event)
            self.version += 1

    def heard(self, events: Sequence[records.Event]) -> set[str]:
        """New events, in their order; returns the topics that they concern."""
        topics: set[str] = set()
        with self.mutex:
            for event in events:
                if event["seq"] <= self.seq:
                    continue
                self.seq = event["seq"]
                self._keep(event)
                self._fold(event)
                if event["kind"].startswith("claim.") and self._is_landing(event):
                    topics.add("worktrees")  # who lands, or keeps others from it
                for starts, concerned in _AFFECTS:
                    if event["kind"].startswith(starts):
                        topics.update(concerned)
            if len(self.events) > KEPT_EVENTS + 500:
                del self.events[: len(self.events) - KEPT_EVENTS]
                self.is_older = True
            if len(self.resources) > KEPT_RESOURCES:
                self.resources = dict(list(self.resources.items())[-KEPT_RESOURCES // 2 :])
            self.version += 1
        return topics

    def _is_landing(self, event: records.Event) -> bool:
        return any(name.startswith("land:") for name in self.resources.get(event["subject"], ()))

    def older(self, events: Sequence[records.Event], *, older: bool) -> None:
        """Events from before the first that is here."""
        with self.mutex:
            first = self.events[0]["seq"] if self.events else self.seq + 1
            found = [event for event in events if event["seq"] < first]
            for event in found:
                self._note(event)
            self.events = found + self.events
            self.is_older = older
            self.version += 1

    def search(self, query: str, events: Sequence[records.Event], found_from: int) -> None:
        """What the whole log has of a query; of the same one, more from further back."""
        with self.mutex:
            for event in events:
                event["ms"] = words.ms(event["at"])
            self.found = [*events, *(self.found if query == self.searched else [])]
            self.searched, self.found_from = query, found_from
            self.version += 1

    def mark(self, text: str) -> None:
        """Something that `top` itself has to say."""
        with self.mutex:
            self.marks.append((clock.store_wall(), text))
            del self.marks[:-KEPT_MARKS]
            self.version += 1

    def lost(self, why: str, retry_at: int) -> None:
        """The store or the server does not answer: what is shown is from before."""
        with self.mutex:
            if self.phase != LOST:
                self.lost_at = clock.store_wall()
            self.phase, self.error, self.retry_at = LOST, why, retry_at
            self.version += 1

    def live(self) -> None:
        """It answers."""
        with self.mutex:
            self.phase, self.error, self.lost_at = LIVE, "", 0
            self.version += 1

    def _keep(self, event: records.Event) -> None:
        self._note(event)
        self.events.append(event)
        if event["kind"].endswith(".refused"):
            self.refusals.append(event["ms"])

    def _note(self, event: records.Event) -> None:
        event["ms"] = words.ms(event["at"])
        if event["kind"] in {"claim.granted", "wait.queued"}:
            self.resources[event["subject"]] = words.resources_of(event["data"])

    def _fold(self, event: records.Event) -> None:
        """The plain facts of an event, until its topic is read again."""
        kind, subject, data = event["kind"], event["subject"], event["data"]
        if kind == "claim.granted":
            if subject not in self.claims:
                self.claims[subject] = {
                    "claim": subject, "agent": event["agent"], "name": event["name"] or event["agent"],
                    "resources": self.resources[subject], "mode": data.get("mode", "write"),
                    "token": data.get("token", 0), "since": event["at"], "expires_at": "", "left": "", "reason": "",
                    "task": "", "ttl": 0, "renewed_at": event["at"],
                }  # fmt: skip
        elif kind == "claim.ended" or (kind == "claim.released" and not data.get("left")):
            self.claims.pop(subject, None)
        elif kind == "wait.queued":
            resources = self.resources[subject]
            self.waiting[subject] = {
                "agent": event["agent"], "name": event["name"] or event["agent"], "resources": resources,
                "mode": data.get("mode", "write"), "since": event["at"], "until": "", "reason": "",
                "holders": self._holders(event["agent"], resources),
            }  # fmt: skip
        elif kind == "wait.ended":
            self.waiting.pop(subject, None)
        elif kind == "task.moved" and subject in self.tasks:
            task = self.tasks[subject]
            self.tasks[subject] = {**task, "state": data.get("to", task["state"])}
            self.task_version += 1

    def _holders(self, agent: str, wanted: list[str]) -> list[WaitedForView]:
        """Other agents' claims that cover what is wanted, as far as the names tell."""
        holders: list[WaitedForView] = []
        for claim in self.claims.values():
            paths = [path for path in claim["resources"] if any(words.touches(path, one) for one in wanted)]
            if paths and claim["agent"] != agent:
                holders.append({
                    "agent": claim["agent"], "claim": claim["claim"], "resource": paths[0], "since": claim["since"],
                    "expires_at": claim["expires_at"],
                })  # fmt: skip
        return holders

    def refused(self) -> int:
        """How many calls were refused in the last two hours."""
        begin = self.now - PAST_MS
        while self.refusals and self.refusals[0] < begin:
            self.refusals.popleft()
        return len(self.refusals)

    def about(self, event: records.Event) -> str:
        """What an event is about, as people know it: the path of a claim, not its id."""
        found = words.resources_of(event["data"]) or self.resources.get(event["subject"], [])
        if found:
            return ", ".join(found[:2])
        data = event["data"]
        if event["kind"].startswith(("radar.", "landing.")) and (data.get("sides") or data.get("branch")):
            return " and ".join(data["sides"]) if data.get("sides") else str(data["branch"])
        return "" if event["subject"] == event["agent"] else self.name_of(str(event["subject"]))
