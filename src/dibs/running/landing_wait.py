"""Whoever wants something landed: lands the queue itself, or waits while another process does (landing.py lands)."""

from __future__ import annotations

from dibs.errors import Failed, Held
from dibs.facts import clock
from dibs.operations.landing import lander as steps
from dibs.running.landing import Lander, OutOfTime
from dibs.session.landing_settings import target_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.operations.core.call import Call
    from dibs.session.session import Session

LOOK_S = 1.0  # between two looks of a process that waits


def wait_for(
    session: Session,
    call: Call,
    landing: str,
    *,
    until: int,
    onto: str = "",
    say: Callable[[str], None] | None = None,
    started: Callable[[Lander | None], None] | None = None,
) -> dict[str, Any]:
    """Land, or wait until another process has; returns the landing, still queued if the time is over.

    `until`: on the clock since boot. `started` is told the lander that this process is, for its signals; None after.
    """
    onto = onto or target_of(session)

    def turn() -> Any:
        call.facts.clear()
        return session.run(steps.TURN, call, {"onto": onto, "landing": landing})

    waited = ""
    while True:
        found = turn()
        if found["landing"]["state"] != "queued":
            shown: dict[str, Any] = found["landing"]
            return shown
        if found["free"]:
            lander = Lander(session, call, say=say, deadline=until, own=landing, onto=onto)
            try:
                lander.take()
            except Held:
                pass
            else:
                if started is not None:
                    started(lander)
                try:
                    lander.run(lambda: turn()["landing"]["state"] != "queued")
                except OutOfTime:
                    pass
                finally:
                    lander.leave()
                    if started is not None:
                        started(None)
                if landing in lander.passed:
                    raise Failed(lander.passed[landing], target=onto)
                if turn()["landing"]["state"] != "queued":
                    continue
        if clock.since_boot() >= until:
            return dict(turn()["landing"])
        who = found.get("agent", "")
        if say is not None and who and who != waited:
            waited = who
            say(f"{who} lands on {onto}; waiting")
        _rest(session, min(LOOK_S, max(0.0, (until - clock.since_boot()) / 1000)))


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
