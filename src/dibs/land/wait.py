"""Whoever wants something landed: lands the queue itself, or waits while another process does (lander.py lands).

`QueueLander` is for a process that lasts (a server, `dibs land --watch`). What stops it (main that fails the check, a
remote that refuses, a lock file) is tried again when the target or the queue has changed, else with a pause: a minute,
and ten times what the attempt took.
"""

from __future__ import annotations

from time import monotonic

from dibs.client.landing_settings import target_of
from dibs.error_subtypes import NotTakenFromSender
from dibs.errors import DibsError, Failed, Held
from dibs.git import queries as git
from dibs.land.lander import Lander, OutOfTime
from dibs.machine import clock
from dibs.operations.landing import lander as steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.client.session import Session
    from dibs.operations.core.call import Call
    from dibs.operations.landing.answers import LandingView
    from dibs.operations.landing.lander import Standing

    Situation = tuple[str, list[tuple[str, str]]]  # the target's commit; the queued branches with their commits

LOOK_S = 1.0  # between two looks of a process that waits
PAUSE_S = 60.0  # before what failed is tried again, unchanged
SHARE = 10  # times what the attempt took


def wait_for(
    session: Session,
    call: Call,
    landing: str,
    *,
    until: int,
    onto: str = "",
    say: Callable[[str], None] | None = None,
    started: Callable[[Lander | None], None] | None = None,
) -> LandingView:
    """Land, or wait until another process has; returns the landing, still queued at the timeout.

    `until`: on the clock since boot. `started` is told the lander that this process is, for its signals; None after.
    """
    onto = onto or target_of(session)

    def turn() -> tuple[Standing, LandingView]:
        call.facts.clear()
        standing: Standing = session.run(steps.TURN, call, {"onto": onto, "landing": landing})
        assert standing["landing"] is not None, "it was asked for"
        return standing, standing["landing"]

    waited, barred = "", False
    while True:
        standing, shown = turn()
        if shown["state"] != "queued":
            return shown
        if standing["free"] and not barred:
            lander = Lander(session, call, say=say, deadline=until, own=landing, onto=onto)
            taken = _takes(lander)
            barred = taken is None
            if taken:
                if started is not None:
                    started(lander)
                try:
                    lander.run(lambda: turn()[1]["state"] != "queued")
                except OutOfTime:
                    pass
                finally:
                    lander.leave()
                    if started is not None:
                        started(None)
                if landing in lander.passed:
                    raise Failed(lander.passed[landing], target=onto)
                if turn()[1]["state"] != "queued":
                    continue
        if clock.since_boot() >= until:
            return turn()[1]
        who = standing.get("agent", "")
        if say is not None and who and who != waited:
            waited = who
            say(f"{who} lands on {onto}; waiting" if standing["lands"] else f"{who} holds land:{onto}; waiting")
        _rest(session, min(LOOK_S, max(0.0, (until - clock.since_boot()) / 1000)))


def _takes(lander: Lander) -> bool | None:
    """Is this process the lander now? None if it never will be: one agent's credential does not land, others do."""
    try:
        lander.take()
    except Held:
        return False
    except NotTakenFromSender:
        return None
    return True


def _rest(session: Session, seconds: float) -> None:
    """Until something happens in the workspace, this long at most."""
    store = session.store
    store.follow(store.head().seq, seconds)


def land_all(
    session: Session,
    call: Call,
    *,
    onto: str = "",
    say: Callable[[str], None] | None = None,
    started: Callable[[Lander | None], None] | None = None,
) -> int:
    """Land what is queued; returns how many landed. Raises Held if another process lands."""
    lander = Lander(session, call, say=say, onto=onto)
    lander.take()
    if started is not None:
        started(lander)
    try:
        landed = lander.run(lambda: False)
    finally:
        lander.leave()
        if started is not None:
            started(None)
    for why in lander.passed.values():
        if not landed:
            raise Failed(why, target=lander.onto)
        if say is not None:
            say(why)
    return landed


class QueueLander:
    """Lands what is queued, step by step: on one target, or on each that has a queue."""

    def __init__(self, onto: str = "") -> None:
        self._onto = onto
        self._failed: dict[str, tuple[Situation, float]] = {}  # target → how it was; when to try again

    def step(
        self,
        session: Session,
        call: Call,
        *,
        say: Callable[[str], None] | None = None,
        started: Callable[[Lander | None], None] | None = None,
    ) -> int:
        """Land what is queued, unless another process does; returns how many landed. Raises what stops it, once.

        What stops one target does not stop the others.
        """
        landed, errors = 0, []
        for onto in self._targets(session, call):
            try:
                landed += self._land(session, call, onto, say=say, started=started)
            except DibsError as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return landed

    def _targets(self, session: Session, call: Call) -> list[str]:
        if self._onto:
            return [self._onto]
        call.facts.clear()
        found: list[str] = session.run(steps.TARGETS, call, {})["targets"]
        usual = target_of(session)
        return sorted(found, key=lambda one: (one != usual, one))

    def _land(
        self,
        session: Session,
        call: Call,
        onto: str,
        *,
        say: Callable[[str], None] | None,
        started: Callable[[Lander | None], None] | None,
    ) -> int:
        call.facts.clear()
        found = session.run(steps.TURN, call, {"onto": onto})
        if not found["queued"] or not found["free"]:
            return 0
        state, begun = self._state(session, call, onto), monotonic()  # of before: what changes meanwhile counts
        failed = self._failed.get(onto)
        if failed is not None and state == failed[0] and begun < failed[1]:
            return 0
        try:
            landed = land_all(session, call, onto=onto, say=say, started=started)
        except Held:
            return 0
        except DibsError:
            self._failed[onto] = state, monotonic() + max(PAUSE_S, SHARE * (monotonic() - begun))
            raise
        self._failed.pop(onto, None)
        return landed

    def _state(self, session: Session, call: Call, onto: str) -> Situation:
        """What has to change before the same attempt can end differently."""
        listed = session.run(session.operation("landings"), call, {"onto": onto, "queue": True})
        queued = [(one["branch"], one["commit"]) for one in listed["landings"]]
        return git.commit(session.place.top, f"refs/heads/{onto}"), queued
