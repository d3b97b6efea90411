"""The store's half of a request, asked of the store that this process has opened.

It decides nothing: the operation does, in a transaction. This file does what a store may need around that: settle
commits that it lost, follow it to where it was moved, and continue a job that takes more than one transaction.
"""

from __future__ import annotations

from dibs.client.identity import user_name
from dibs.errors import Moved, Unavailable
from dibs.operations.core.call import Call
from dibs.operations.core.entry import CALLER, perform
from dibs.stores.seam import Unsettled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.client.session import Session
    from dibs.operations.core.declare import Operation
    from dibs.stores.seam import Event, Transaction

STORE_ROUNDS = 64  # times the store may have lost commits, or moved, before one answer
UNDECIDED = "the store kept changing while this was decided; try again."


class StoreLink:
    """The store's half of a request, asked of the store that this process has opened."""

    def run(self, session: Session, operation: Operation, call: Call, fields: dict[str, Any]) -> Any:
        """Run one operation: returns its answer, or the refusal as a value. Raises `Need` where a fact is missing.

        An answer with `again` names a command that the caller has to run first.
        """
        deliver_first = "deliveries" in operation.wants
        rounds = 0
        while rounds < STORE_ROUNDS:
            rounds += 1
            try:
                if deliver_first:
                    if call.credential is not None:  # before anything is done for the agent that it names
                        refusal = session.store.look(lambda tx: perform(tx, call, CALLER, {}))
                        if refusal is not None:
                            return refusal
                    _deliver(session, call)
                    deliver_first = False
                verb = session.store.run if operation.writes else session.store.look
                session.ahead = None
                result = verb(lambda tx: _decide(tx, call, operation, fields))
            except Unsettled:
                _settle(session, call)
                continue
            except Moved as error:
                if not _follow(session, error):
                    raise
                continue
            if type(result) is dict:
                if result.get("again") is True:  # part of it is done, in a transaction of its own
                    rounds = 0
                    continue
                if "jobs" in result:
                    from dibs.client import job_loop

                    job_loop.carry_on(session, call, result)
            return result
        raise Unavailable(UNDECIDED)

    def recall(self, *_: object) -> bool:
        """No request is ever under way elsewhere."""
        return False

    def close(self) -> None:
        """The store is the session's to close."""


def _deliver(session: Session, call: Call) -> None:
    """Deliver the events that the agent subscribes to; most agents subscribe to none."""
    from dibs.operations.messages import mailbox

    if not call.agent or session.store.look(lambda tx: mailbox.subscribed(tx, call.agent)):
        from dibs.client.upkeep import subscription_delivery

        subscription_delivery.deliver(session.store, call, lambda after, most: _archived(session, call, after, most))


def _archived(session: Session, call: Call, after: int, most: int) -> list[Event]:
    from dibs.client.log_reader import LogReader

    return LogReader(session, call).events(after, most)


def _follow(session: Session, error: Moved) -> bool:
    """Continue at the store that the workspace was moved to; finishes a move that was cut short.

    False if this machine does not know that store.
    """
    if session.is_shared:
        return False  # the server reopens the store: one of its callers must not close it
    from dibs.client import store_move

    if not store_move.follow(session, error):
        return False
    session.close()
    return True


def _settle(session: Session, call: Call) -> None:
    """The store lost answered commits: give up what depends on them."""
    from dibs.operations.upkeep.recovery import VOID

    store = session.store
    # Without the entry: the first caller settles, even one that may do nothing else.
    # A caller with a credential is not verified yet: then the server's user settles.
    mine = Call(call.policy, agent=user_name() if call.credential is not None else call.agent or call.fallback)
    store.settle(lambda: bool(store.run(lambda tx: VOID.body(tx, mine))["more"]))


def _decide(tx: Transaction, call: Call, operation: Operation, fields: dict[str, Any]) -> Any:
    """Run an operation, and keep its decision where an interrupt before the answer does not lose it."""
    call.decided = perform(tx, call, operation, fields)
    return call.decided
