"""Reads what `dibs top` shows: a snapshot, then the log as it grows.

`Reader` is a thread with a session of its own. It follows the log (`store.follow`: the store's own way to wait, the
same for SQLite, Redis and a server elsewhere) and reads a topic again when an event concerns it, not more often than
that can be afforded. What a person asks for is action_thread.py's.

What a server or a store does not answer is said (`State.lost`), and tried again; nothing is missed meanwhile: the next
events are those after the last one that was read.
"""

from __future__ import annotations

import random
import threading

from dibs.client import catalogue, read_fields, rights
from dibs.errors import DibsError
from dibs.interfaces.top import words
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from dibs.client.session import Session
    from dibs.interfaces.top.state import FleetState
    from dibs.operations.agents.answers import WhoamiAnswer
    from dibs.operations.alerts.answers import AlertsAnswer
    from dibs.operations.core.call import Call
    from dibs.operations.landing.answers import LandingsAnswer, RadarAnswer
    from dibs.operations.runs.answers import RunProgress, RunView

FIRST_EVENTS = 200  # for the first picture
PAGE_EVENTS = 1_000
PAGE = 1_000  # claims, agents, tasks in one answer
# Topic → the operation that lists it, the key of its list, how many are read at most, fields.
LISTINGS: dict[str, tuple[str, str, int, dict[str, object]]] = {
    "status": ("status", "claims", 5_000, {}), "agents": ("agents", "agents", 2_000, {}),
    "tasks": ("task list", "tasks", 10_000, {}), "usage": ("agents", "agents", 2_000, {"usage": True}),
}  # fmt: skip
MOST_ALERTS = 200
MOST_PAIRS, MOST_LANDINGS = 100, 100
REFRESH_MS = 10_000  # what changes without an event: who was heard, what is used
SOON_MS = 200  # events come in groups: a topic is read after the group
SPACE_MS, SHARE = 400, 8  # a topic is read again after so long at least, and after 8 times what reading it took
FOLLOW_S = 1.0  # for one wait
LONGEST_PAUSE_MS = 10_000  # between two attempts
FAULTS = (DibsError, OSError, ValueError, KeyError)  # what a store that is being replaced may end in


class Asker:
    """Operations by name, for one thread."""

    def __init__(self, opened: Callable[[], Session], agent: str | None) -> None:
        self._opened, self._agent = opened, agent
        self._session: Session | None = None

    @property
    def session(self) -> Session:
        """The session, opened when it is first needed."""
        if self._session is None:
            self._session = self._opened()
        return self._session

    def ask(self, name: str, fields: dict[str, object] | None = None, *, request: str = "") -> Any:
        """One operation or query, as a door asks for it."""
        session, operation = self.session, catalogue.operation(name)
        values = read_fields.request(session, operation, fields or {}, typed=True)
        return session.answer(operation, self.caller(request), values)

    def caller(self, request: str = "") -> Call:
        """Who asks."""
        return self.session.identify(self._agent, request=request)

    def listing(self, topic: str) -> tuple[Mapping[str, object], bool]:
        """All entries of a topic up to a limit, in the first answer's place; and whether there are more."""
        name, key, most, fields = LISTINGS[topic]
        first = answer = self.ask(name, {"limit": PAGE, **fields})
        entries = list(answer[key])
        while answer["more"] and len(entries) < most:
            answer = self.ask(name, {"limit": PAGE, "after": answer["cursor"], **fields})
            entries += answer[key]
        return {**first, key: entries}, bool(answer["more"])

    def rights(self) -> tuple[WhoamiAnswer, dict[str, bool]]:
        """Who this is, and which operations may be called."""
        who: WhoamiAnswer = self.ask("whoami")
        return who, rights.may(self.caller(), who["role"])

    def close(self) -> None:
        """Close the session's connections; the next question opens them again."""
        if self._session is not None:
            self._session.close()


class FeedReader(threading.Thread):
    """Follows the log."""

    def __init__(self, asker: Asker, state: FleetState) -> None:
        super().__init__(name="dibs-top-reader", daemon=True)
        self._asker, self._state = asker, state
        self.changed: Callable[[], object] = lambda: None  # called by this thread after each change of the state
        self._due: dict[str, int] = {}  # topic → when to read it, by the monotonic clock
        self._last: dict[str, tuple[int, int]] = {}  # topic → when it was read, and how long that took
        self._stopping = threading.Event()
        self._wanted: set[str] = set()  # topics that another thread wants read now

    # --- the state of the workspace

    def snapshot(self) -> None:
        """Everything that the first picture needs. Raises where it cannot be had."""
        state, asker = self._state, self._asker
        began = clock.since_boot()
        who, may = asker.rights()
        with state.mutex:
            state.me, state.role, state.may = who["name"] or who["agent"], who["role"], may
            state.workspace = asker.session.place.root.rpartition("/")[2]
        log = asker.ask("log", {"limit": FIRST_EVENTS, "sentences": True})
        for topic in ("status", "agents", "alerts"):
            self.read(topic)
        state.begin(log["events"], int(log["cursor"] or 0), older=log["earlier"])
        state.latency = clock.since_boot() - began
        state.live()

    def whole(self) -> None:
        """The rest of it."""
        for topic in ("tasks", "runs", "worktrees"):
            self.read(topic)

    def read(self, topic: str) -> None:
        """Read one topic now."""
        began = clock.since_boot()
        read = self._asker.listing if topic in LISTINGS else getattr(self, f"_read_{topic}")
        self._state.take(topic, *read(topic))
        now = clock.since_boot()
        self._last[topic] = now, now - began
        if topic == "status":
            self._state.latency = now - began

    def _read_runs(self, _: str) -> tuple[tuple[list[RunView], RunProgress | None], bool]:
        runs = self._asker.ask("run list", {"limit": 20})["runs"]
        live = next((one for one in runs if one["state"] == "active"), None)
        return (runs, self._asker.ask("run progress", {"run": live["id"]})["run"] if live else None), False

    def _read_worktrees(self, _: str) -> tuple[tuple[RadarAnswer, LandingsAnswer], bool]:
        ask = self._asker.ask
        return (ask("radar", {"limit": MOST_PAIRS}), ask("landings", {"limit": MOST_LANDINGS})), False

    def _read_alerts(self, _: str) -> tuple[AlertsAnswer, bool]:
        answer = self._asker.ask("alerts", {"limit": MOST_ALERTS})
        return answer, bool(answer["more"])

    # --- following

    def want(self, *topics: str) -> None:
        """Read these soon: another thread changed something. Any thread may say so."""
        self._wanted.update(topics)

    def run(self) -> None:
        """Until `stop`."""
        attempt = 0
        while not self._stopping.is_set():
            try:
                self._connect(again=attempt > 0)
                attempt = 0
                while not self._stopping.is_set():
                    self._step()
            except FAULTS as error:
                pause = min(LONGEST_PAUSE_MS, 500 * 2 ** min(attempt, 5)) * random.uniform(0.8, 1.2)  # noqa: S311 - spreads attempts
                attempt += 1
                self._state.lost(str(error), clock.store_wall() + int(pause))
                self.changed()
                self._asker.close()
                self._stopping.wait(pause / 1000)
        self._asker.close()

    def stop(self) -> None:
        """End it."""
        self._stopping.set()

    def _connect(self, *, again: bool) -> None:
        """Everything is read again; the events go on from the last one that is here."""
        state = self._state
        if not state.seq and not state.agents:
            self.snapshot()
        elif again:
            since, lost_at = state.seq, state.lost_at
            who, may = self._asker.rights()
            state.role, state.may = who["role"], may
            found = self._hear()
            state.live()
            seconds = (clock.store_wall() - lost_at) // 1000 if lost_at else 0
            events = words.count(found, "event")
            state.mark(f"connected again after {seconds} s: {events} since {since}, none missed")
        now = clock.since_boot()
        self._due = dict.fromkeys(("status", "agents", "alerts", "tasks", "runs", "worktrees", "usage"), now)
        self.changed()

    def _step(self) -> None:
        """Read what is due; else wait for the log to grow."""
        now = clock.since_boot()
        while self._wanted:
            self._due[self._wanted.pop()] = now
        for topic in [one for one, at in self._due.items() if at <= now]:
            del self._due[topic]
            self.read(topic)
            self.changed()
        for topic in ("status", "agents", "alerts", "worktrees", "usage"):
            if topic not in self._due:
                self._due[topic] = self._last.get(topic, (now, 0))[0] + max(REFRESH_MS, SHARE * self._cost(topic))
        wait = min(FOLLOW_S, max(0.02, (min(self._due.values()) - clock.since_boot()) / 1000))
        store = self._asker.session.store
        if store.follow(self._state.seq, wait):
            self._hear()
            self.changed()
        elif wait == FOLLOW_S and store.head().seq < self._state.seq:
            self._anew("the log is another one now: a new snapshot was taken")

    def _cost(self, topic: str) -> int:
        return self._last.get(topic, (0, 0))[1]

    def _hear(self) -> int:
        """The events after the last one that is here; returns how many."""
        count, more = 0, True
        while more and not self._stopping.is_set():
            answer = self._asker.ask("log", {"after": self._state.seq, "limit": PAGE_EVENTS, "sentences": True})
            events, more = answer["events"], answer["more"]
            if events and events[0]["seq"] > self._state.seq + 1:
                self._anew(
                    f"events {self._state.seq + 1} to {events[0]['seq'] - 1} were pruned before they were read: "
                    "a new snapshot was taken"
                )
                return count
            count += len(events)
            now = clock.since_boot()
            for topic in self._state.heard(events):
                at, cost = self._last.get(topic, (0, 0))
                self._due[topic] = min(
                    self._due.get(topic, now + REFRESH_MS), max(now + SOON_MS, at + max(SPACE_MS, SHARE * cost))
                )
        return count

    def _anew(self, why: str) -> None:
        self.snapshot()
        self._state.mark(why)
