"""Replays the state that a log's events describe: claims, waits, killed agents, requests.

Each event is checked against the state before it; an impossible event is noted in the report. Part of `dibs verify`,
whose story is in checker.py; like it, this imports nothing of the operations. Units of pools are in pools.py,
tasks and documents in tasks.py, votes in votes.py.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from dibs.stores.seam import COMMIT_TEXT
from dibs.verify.credentials import Credentials
from dibs.verify.landings import Landings
from dibs.verify.overlap import Near, overlap
from dibs.verify.pools import Pools
from dibs.verify.reading import (
    TWO_TEXTS,
    Ids,
    MalformedError,
    must,
    read_body,
    related,
    resources,
    say,
    text,
    types,
    whole,
)
from dibs.verify.tasks import Documents, Tasks
from dibs.verify.votes import Votes

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.stores.seam import Event
    from dibs.verify.checker import Report

REQUEST_KEPT_MS = 24 * 60 * 60 * 1000  # how long a request id counts
EXCLUDES = {"write": ("write", "read"), "read": ("write",), "watch": ()}
BY_DEADLINE = frozenset(("expired", "unclaimed"))


class OpenedEvent:
    """An event, opened."""

    __slots__ = ("agent", "commit", "data", "kind", "now", "seq", "subject")

    def __init__(self, event: Event) -> None:
        self.seq, self.commit, self.now = event.seq, event.commit, event.now
        opened = read_body(event.body.replace(COMMIT_TEXT, str(event.commit)))
        self.kind: str = opened.get("kind", 0)
        self.agent: str = opened.get("agent", 0)
        self.subject: str = opened.get("subject", 0)
        whole = type(self.kind) is type(self.agent) is type(self.subject) is str
        must(whole, "`kind`, `agent` and `subject` are not all texts")
        data = opened.get("data")
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}


class Claim:
    """A claim while it is live."""

    __slots__ = ("agent", "id", "mode", "resources", "token", "tree", "until")

    def __init__(self, identifier: str, agent: str, data: dict[str, Any]) -> None:
        self.id, self.agent = identifier, agent
        self.resources = resources(data, "resources")
        self.mode, self.tree = text(data, "mode"), text(data, "tree")
        self.until, self.token = whole(data, "until"), whole(data, "token")
        must(bool(self.resources), "a claim without a resource")
        must(self.mode in EXCLUDES, f"there is no mode {say(self.mode)}")

    def facts(self) -> tuple[Any, ...]:
        """The claim as a seal records it."""
        return self.agent, self.resources, self.mode, self.tree, self.until, self.token


class Replay:
    """The state that the events describe, and the rules that lead from one state to the next."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self.live: dict[str, Claim] = {}
        self.lost = False  # earlier events are unknown: an unknown claim may be live
        self._lost_waits = False
        self._near = {"write": Near(), "read": Near()}
        self._pools = Pools(report)
        self._granted, self._queued = Ids(), Ids()
        self._waiting: set[str] = set()
        self._killed: set[str] = set()
        self._undoing: set[str] = set()
        self._undone: set[str] = set()
        self._raised, self._handed = Ids(), Ids()
        self._alerts: dict[str, tuple[str, str]] = {}  # open ones → their kind and subject
        self._causes: dict[tuple[str, str], str] = {}
        self._requests: OrderedDict[int, tuple[int, int]] = OrderedDict()  # hash of a request → commit, now
        self._tasks, self._documents, self._votes = Tasks(report, self), Documents(report), Votes(report)
        self._credentials, self._landings = Credentials(report), Landings(report, self._holds)
        self._commit = self._earlier = self._seq = (
            0  # the lower bound of new tokens: those of earlier commits, a seal's bound
        )
        self._rules: dict[str, Callable[[OpenedEvent], None]] = {
            "claim.granted": self._on_granted,
            "claim.renewed": self._on_renewed,
            "claim.moved": self._on_moved,
            "claim.released": self._on_released,
            "claim.ended": self._on_ended,
            "handover.made": self._on_handed,
            "wait.queued": self._on_queued,
            "wait.ended": self._on_wait_ended,
            "agent.registered": self._credentials.on_registered,
            "token.made": self._credentials.on_made,
            "token.revoked": self._credentials.on_revoked,
            "alert.raised": self._on_alert_raised,
            "alert.acknowledged": self._on_alert_acknowledged,
            "alert.cleared": self._on_alert_cleared,
            "undo.started": self._on_undo_started,
            "undo.finished": self._on_undo_finished,
            "agent.killed": self._on_killed,
            "agent.revived": self._on_revived,
            "task.added": self._once(self._tasks.on_added),
            "task.moved": self._once(self._tasks.on_moved),
            "task.passed": self._tasks.on_passed,
            "task.kept": self._tasks.on_kept,
            "run.purged": self._tasks.on_purged,
            "task.forgotten": self._tasks.on_forgotten,
            "state.set": self._once(self._documents.on_set),
            "vote.opened": self._once(self._votes.on_opened),
            "vote.cast": self._once(self._votes.on_cast),
            "vote.decided": self._votes.on_decided,
            "landing.queued": self._once(self._landings.on_queued),
            "landing.moving": self._landings.on_moving,
            "landing.landed": self._landings.on_decided,
            "landing.refused": self._landings.on_decided,
            "landing.stopped": self._landings.on_stopped,
            "landing.cancelled": self._landings.on_cancelled,
            "store.recovered": self._on_recovered,
        }

    def apply(self, stored: Event) -> OpenedEvent | None:
        """Apply an event; returns it opened, or None if it cannot be read."""
        if stored.commit != self._commit:
            self.finish()
            self._commit, self._earlier = stored.commit, max(self._earlier, self._report.token)
        self._seq = stored.seq
        event = None
        try:
            event = OpenedEvent(stored)
            rule = self._rules.get(event.kind)
            if rule is not None:
                rule(event)
        except MalformedError as problem:
            self._report.add(stored.seq, "malformed", str(problem))
            self.lost = self._lost_waits = True
            if event is not None and event.subject in self.live:
                self._end(self.live[event.subject])
            self._lose_alerts()
            self._lose_work()
            return None
        return event

    def finish(self) -> None:
        """End a commit."""
        self._tasks.settle(self._seq)

    def lose(self) -> None:
        """Events are missing. They may have ended anything that was true, so the state is dropped."""
        for claim in list(self.live.values()):
            self._end(claim)
        self._killed.clear()
        self._lose_alerts()
        self._lose_work()
        self.lost = self._lost_waits = True

    def enter(self, seq: int, claims: dict[str, Claim], token: int) -> None:
        """Continue from a seal where the state is unknown. The seal's claims must keep promise 1, too."""
        for claim in list(self.live.values()):
            self._end(claim)
        for claim in claims.values():
            self._check_holders(seq, claim)
            self._hold(claim)
            self._granted.add(claim.id)
            self._report.token = max(self._report.token, claim.token)
        self._earlier = max(self._earlier, token)
        self.lost = False

    def differs(self, claims: dict[str, Claim], token: int) -> str:
        """The difference between the state and a seal; empty if none. From here on tokens are above its bound."""
        for identifier in sorted(claims.keys() | self.live.keys()):
            there, here = claims.get(identifier), self.live.get(identifier)
            if there is None:
                return f"claim {say(identifier)} was live and is not in it"
            if here is None:
                return f"claim {say(identifier)} is in it and was not live"
            if there.facts() != here.facts():
                return f"it has other facts about claim {say(identifier)}"
        self._earlier = max(self._earlier, token)
        return f"its token is {token}, one of {self._report.token} was granted" if token < self._report.token else ""

    # --- claims

    def _on_granted(self, event: OpenedEvent) -> None:
        claim = Claim(event.subject, event.agent, event.data)
        if not self._granted.add(event.subject):
            self._report.add(event.seq, "granted_twice", f"claim {say(event.subject)} was granted before")
        if event.subject in self.live:
            self._end(self.live[event.subject])
        self._check_token(event, claim.token)
        self._check_killed(event, event.agent)
        self._check_request(event)
        self._check_holders(event.seq, claim)
        self._pools.check(event.seq, claim)
        self._hold(claim)
        self._pools.check_sizes(event.seq, event.now, event.data.get("pools", {}))
        self._report.granted += 1

    def _on_renewed(self, event: OpenedEvent) -> None:
        until = whole(event.data, "until")
        claim = self._find(event)
        if claim is not None:
            self._check_related(event, claim, "renewed")
            self._check_request(event)
            claim.until = until

    def _on_moved(self, event: OpenedEvent) -> None:
        to, token, why = text(event.data, "to"), whole(event.data, "token"), event.data.get("why")
        claim = self._find(event)
        self._check_token(event, token)
        self._check_killed(event, to)
        if claim is None:
            return
        up = claim.agent.startswith(to + "/")
        sensible = to == claim.agent if why == "boot" else up if why == "left" else related(to, claim.agent)
        if not sensible:
            message = f"claim {say(event.subject)} of {say(claim.agent)} was moved to {say(to)} ({say(why)})"
            self._report.add(event.seq, "stranger", message)
        else:
            self._check_related(event, claim, "moved")
        claim.agent, claim.token = to, token
        self._check_holders(event.seq, claim)
        self._pools.check(event.seq, claim)

    def _on_released(self, event: OpenedEvent) -> None:
        released, left = resources(event.data, "resources"), resources(event.data, "left")
        self._check_request(event)
        claim = self._find(event)
        if claim is None:
            return
        self._check_related(event, claim, "released")
        if not released <= claim.resources or left != claim.resources - released:
            message = f"claim {say(claim.id)} held {len(claim.resources)}: released {len(released)}, left {len(left)}"
            self._report.add(event.seq, "left", message)
        kept = claim.resources & left
        self._end(claim)
        if kept:
            claim.resources = kept
            self._hold(claim)

    def _on_ended(self, event: OpenedEvent) -> None:
        why = text(event.data, "why")
        claim = self._find(event)
        if claim is None:
            return
        if why in BY_DEADLINE and event.now < claim.until:
            message = f"claim {say(claim.id)} was {why} at {event.now}, before its deadline {claim.until}"
            self._report.add(event.seq, "early", message)
        self._end(claim)

    def _on_handed(self, event: OpenedEvent) -> None:
        """An agent's work passed to one other agent, which holds its claims."""
        identifier, to, claims = text(event.data, "handover"), text(event.data, "to"), event.data.get("claims")
        self._check_request(event)
        if not self._handed.add(identifier):
            self._report.add(event.seq, "handover", f"hand-over {say(identifier)} was made before")
        must(isinstance(claims, list), "`claims` is not a list")
        for claim in claims if isinstance(claims, list) else ():
            live = self.live.get(str(claim))
            if not self.lost and (live is None or live.agent != to):
                self._report.add(event.seq, "handover", f"claim {say(str(claim))} was not {say(to)}'s")

    def _find(self, event: OpenedEvent) -> Claim | None:
        """The live claim that an event names."""
        claim = self.live.get(event.subject)
        if claim is None and not self.lost:
            self._report.add(event.seq, "not_live", f"claim {say(event.subject)} was not live")
        return claim

    def _hold(self, claim: Claim) -> None:
        self.live[claim.id] = claim
        self._pools.hold(claim)
        if claim.mode in self._near:
            for resource in claim.resources:
                self._near[claim.mode].add(claim.id, resource)

    def _end(self, claim: Claim) -> None:
        del self.live[claim.id]
        self._pools.end(claim)
        self._tasks.mark_uncertain(claim)
        if claim.mode in self._near:
            for resource in claim.resources:
                self._near[claim.mode].remove(claim.id, resource)

    # --- the promises

    def _check_holders(self, seq: int, claim: Claim) -> None:
        """Promise 1. A claim past its deadline counts until an event ends it, so the order of events decides."""
        for mode in EXCLUDES[claim.mode]:
            for resource in claim.resources:
                for owner, other in self._near[mode].candidates(resource):
                    holder = self.live[owner]
                    if (
                        owner != claim.id
                        and not related(holder.agent, claim.agent)
                        and (not holder.tree or not claim.tree or holder.tree == claim.tree)
                        and overlap(resource, other)
                    ):
                        message = (
                            f"{say(claim.agent)} got {say(resource[1])} ({claim.mode}, claim {say(claim.id)}) while "
                            f"{say(holder.agent)} held {say(other[1])} ({mode}, claim {say(owner)})"
                        )
                        self._report.add(seq, "two_holders", message)
                        return

    def _check_token(self, event: OpenedEvent, token: int) -> None:
        """Promise 2."""
        if token != event.commit:
            self._report.add(event.seq, "token", f"the token is {token}, the commit's number {event.commit}")
        elif token <= self._earlier:
            self._report.add(event.seq, "token", f"the token is {token}, an earlier one was {self._earlier}")
        else:
            self._report.token = token

    def _check_request(self, event: OpenedEvent) -> None:
        """Promise 6. A day has too many requests to keep their texts, so each is kept as 64 bits, like the ids."""
        request = event.data.get("request")
        if request is None:
            return
        must(type(request) is list and types(request) == TWO_TEXTS, "`request` is not an operation and an id")
        while self._requests and event.now - next(iter(self._requests.values()))[1] >= REQUEST_KEPT_MS:
            self._requests.popitem(last=False)
        key = hash((event.agent, *request))
        commit, _ = self._requests.setdefault(key, (event.commit, event.now))
        if commit != event.commit:
            message = f"request {say(request[1])} of {say(event.agent)} had its effect before, in commit {commit}"
            self._report.add(event.seq, "two_effects", message)

    def _check_killed(self, event: OpenedEvent, agent: str) -> None:
        while self._killed:
            if agent in self._killed:
                self._report.add(event.seq, "killed", f"{say(agent)} was killed and not revived, and got a claim")
            if agent in self._killed or "/" not in agent:
                return
            agent = agent.rpartition("/")[0]

    def _check_related(self, event: OpenedEvent, claim: Claim, what: str) -> None:
        if not related(event.agent, claim.agent):
            message = f"claim {say(claim.id)} of {say(claim.agent)} was {what} by {say(event.agent)}"
            self._report.add(event.seq, "stranger", message)

    # --- waits and agents

    def _on_queued(self, event: OpenedEvent) -> None:
        if not self._queued.add(event.subject):
            self._report.add(event.seq, "wait", f"waiter {say(event.subject)} was queued before")
        self._waiting.add(event.subject)

    def _on_wait_ended(self, event: OpenedEvent) -> None:
        if event.subject in self._waiting:
            self._waiting.discard(event.subject)
        elif not self._lost_waits or not self._queued.add(event.subject):
            self._report.add(event.seq, "wait", f"waiter {say(event.subject)} was not waiting")

    def _on_alert_raised(self, event: OpenedEvent) -> None:
        """Once for a cause: no second alert of a kind and a subject while one is open."""
        if "about" not in event.data:
            return  # from before alerts had a state
        cause = text(event.data, "what"), text(event.data, "about")
        if not self._raised.add(event.subject):
            self._report.add(event.seq, "alert", f"alert {say(event.subject)} was raised before")
        other = self._causes.get(cause)
        if other is not None:
            self._report.add(event.seq, "alert", f"alert {say(other)} was open for the same cause, {say(cause[1])}")
        self._causes[cause] = event.subject
        self._alerts[event.subject] = cause

    def _lose_alerts(self) -> None:
        self._alerts.clear()
        self._causes.clear()

    def _on_alert_acknowledged(self, event: OpenedEvent) -> None:
        if event.subject not in self._alerts and not self._lost_waits:
            self._report.add(event.seq, "alert", f"alert {say(event.subject)} was not open")

    def _on_alert_cleared(self, event: OpenedEvent) -> None:
        must(bool(text(event.data, "why")), "an alert was cleared without a reason")
        cause = self._alerts.pop(event.subject, None)
        if cause is None:
            if not self._lost_waits:
                self._report.add(event.seq, "alert", f"alert {say(event.subject)} was not open")
        elif self._causes.get(cause) == event.subject:
            del self._causes[cause]

    def _on_undo_started(self, event: OpenedEvent) -> None:
        """Its files are its agent's: the claim that it names is live. One that was killed begins a second time."""
        self._undone.discard(event.subject)
        claim = self.live.get(text(event.data, "claim"))
        if claim is None and not self.lost:
            self._report.add(event.seq, "undo", f"undo {say(event.subject)} has no live claim")
        elif claim is not None and claim.agent != event.agent:
            self._report.add(event.seq, "undo", f"undo {say(event.subject)} works under a claim of {say(claim.agent)}")
        self._undoing.add(event.subject)

    def _on_undo_finished(self, event: OpenedEvent) -> None:
        """Once, after it began."""
        if event.subject in self._undone:
            self._report.add(event.seq, "undo", f"undo {say(event.subject)} was finished before")
        elif event.subject not in self._undoing and not self._lost_waits:
            self._report.add(event.seq, "undo", f"undo {say(event.subject)} was not begun")
        self._undoing.discard(event.subject)
        self._undone.add(event.subject)

    def _on_killed(self, event: OpenedEvent) -> None:
        self._killed.add(event.subject)

    def _on_revived(self, event: OpenedEvent) -> None:
        self._killed.discard(event.subject)

    # --- tasks, documents, votes and landings

    def _holds(self, name: str, token: int, now: int) -> bool:
        """Was a claim on this name live then, with this token? True where that cannot be known."""
        wanted = ("name", name)
        live = (claim for claim in self.live.values() if claim.token == token and claim.until > now)
        return self.lost or any(wanted in claim.resources for claim in live)

    def _once(self, rule: Callable[[OpenedEvent], None]) -> Callable[[OpenedEvent], None]:
        """A rule for an event that may have a request id."""

        def with_request(event: OpenedEvent) -> None:
            self._check_request(event)
            rule(event)

        return with_request

    def _lose_work(self) -> None:
        """Tasks, documents, votes and credentials may have changed in the missing events."""
        self._tasks.lose()
        self._documents.lose()
        self._votes.lose()
        self._credentials.lose()
        self._landings.lose()

    def _on_recovered(self, event: OpenedEvent) -> None:
        self._documents.on_recovered(event)
        self._votes.lose()
        self._credentials.lose()
        self._landings.lose()
        self._lose_alerts()
