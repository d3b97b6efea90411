"""Waiting: an operation that answers "not yet" is asked again when its caller is woken, until its timeout.

The place in the queue is a record of the store; this only sleeps and polls. An interrupted wait leaves the queue.
"""

from __future__ import annotations

import dibs.operations.claims.waiters  # noqa: F401 - needed inside the transaction, where others wait for us
from dibs.client.upkeep import rounds
from dibs.error_subtypes import Unreachable
from dibs.errors import DibsError, Unauthorized
from dibs.machine import clock
from dibs.operations.claims import endings
from dibs.operations.core.call import Wait, to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.client.session import Session
    from dibs.operations.core.call import Call, Fields
    from dibs.operations.core.declare import Operation
    from dibs.stores.seam import Json

PAUSE_S = 0.1  # between two attempts at a store that is out of reach


def run(
    session: Session,
    operation: Operation,
    call: Call,
    fields: Fields,
    on_wait: Callable[[dict[str, Any]], None] | None = None,
    place: str = "",
) -> Json:
    """Run an operation that may have to wait, until it is granted, refused, or times out.

    `place`: the place in line that an attempt without this loop has got already.
    """
    call.decided, call.waiter = None, place
    try:
        return _wait_for(session, operation, call, fields, on_wait)
    except Unauthorized:  # its credential ended while it waited: later waiters must not wait for its lease to lapse
        if operation.withdraws and call.waiter and not session.is_far:
            _give_up(session, call)
        raise
    except DibsError:
        raise
    except BaseException:  # interrupted: leave the queue at once
        if operation.withdraws:
            withdraw(session, call)
        raise


def _wait_for(
    session: Session,
    operation: Operation,
    call: Call,
    fields: Fields,
    on_wait: Callable[[dict[str, Any]], None] | None,
) -> Json:
    end = clock.since_boot() + fields["wait"]
    kept_until = 0  # its place in the queue is kept until then
    channel = session.channels.pop() if session.channels else ""  # a process that never waits listens to nothing
    opened = session.store if channel else None  # the store, once there is something to wait for
    try:
        while True:
            call.facts.clear()  # a process that was alive at the last poll may be dead by now
            left = max(0, end - clock.since_boot())
            try:
                result = session.run(operation, call, {**fields, "wait": left, "waiter": call.waiter, "wake": channel})
            except Unreachable:
                if not call.waiter or clock.since_boot() >= min(end, kept_until):
                    raise
                clock.sleep(PAUSE_S)  # the place lasts for a while: the turn may come when the store is back
                continue
            if not isinstance(result, Wait):
                return result
            kept_until = clock.since_boot() + endings.WAITER_LEASE_MS
            call.waiter = result.waiter
            if session.store is not opened:
                if opened is not None:  # the workspace was moved: the new store does not know the old name
                    channel = ""
                opened = session.store
            if on_wait is not None:
                on_wait({**to_json(result), "wake": channel})
            if not channel:
                channel = _listen(session)
                continue  # poll again: a turn that came before this name was known woke nobody
            _sleep(session, call, channel, min(clock.since_boot() + result.look_in, end))
    finally:
        if channel and session.short_lived:
            session.store.unwatch(channel)
        elif channel:  # kept for the next wait: a new pipe each time would be a new file each time
            session.channels.append(channel)


def _sleep(session: Session, call: Call, channel: str, until: int) -> None:
    """Until it is woken, or this moment. A waiter also does the upkeep of a quiet workspace."""
    woken = False
    while not woken:
        rounds.step(session, "wait", call.agent or call.fallback)
        if session.interrupt is not None:  # a finalizer or a callback has swallowed it
            raise session.interrupt
        left = until - clock.since_boot()
        woken = session.store.wait(channel, max(0.001, min(left, rounds.EVERY_MS) / 1000)) or left <= rounds.EVERY_MS


def _listen(session: Session) -> str:
    """A new name under which this process is woken."""
    channel = clock.random_id()
    session.store.watch(channel)
    return channel


def _give_up(session: Session, call: Call) -> None:
    """End the place of a caller whose credential ended, without the entry, which would refuse the caller."""
    from dibs.operations.claims.waiters import WITHDRAW

    try:
        session.store.run(lambda tx: WITHDRAW.body(tx, call, WITHDRAW.request(waiter=call.waiter)))
    except DibsError:
        pass  # its lease lapses within seconds


def withdraw(session: Session, call: Call) -> None:
    """End the place in the queue, or the claim that it became, even if the answer that names it was never read.

    Who is interrupted once more while withdrawing still withdraws: the second attempt finds what the first one left.
    """
    try:
        _withdraw(session, call)
    except BaseException:
        _withdraw(session, call)
        raise


def _withdraw(session: Session, call: Call) -> None:
    from copy import copy

    from dibs.operations.claims.waiters import WITHDRAW, left_by

    if session.link.recall(session, call):
        return
    place, claims = left_by(call.decided)
    place = place or call.waiter
    if not place and not claims:
        return
    mine = copy(call)
    mine.request = ""
    try:
        # What was taken under a request id stays: a retry gets its answer.
        session.run(WITHDRAW, mine, {"waiter": place, "claims": [] if call.request else claims})
    except DibsError:
        pass
    call.decided, call.waiter = None, ""
