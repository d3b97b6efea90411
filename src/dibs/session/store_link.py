"""The store's half of a request, asked of the store that this process has opened.

It decides nothing: the operation does, in a transaction. Here is what a store may ask for around it: give up what it
lost, follow it to where it was moved, and go on with a job that takes more than one transaction.
"""

from __future__ import annotations

from dibs.errors import Unavailable
from dibs.operations.core.call import Call
from dibs.operations.core.entry import CALLER, perform
from dibs.session.identity import user_name
from dibs.stores.seam import Unsettled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.core.declare import Operation
    from dibs.session.session import Session
    from dibs.stores.seam import Event, Transaction

STORE_ROUNDS = 64  # times the store may have lost commits, or moved, before one answer
UNDECIDED = "the store kept changing while this was decided; try again."


class StoreLink:
    """The store's half of a request, asked of the store that this process has opened."""

    def run(self, session: Session, operation: Operation, call: Call, fields: dict[str, Any]) -> Any:
        """One operation, to its end: the answer, or the refusal as a value. Raises `Need` where a fact is missing.

        An answer with `again` names a command that the caller has to run first.
        """
        hears = "deliveries" in operation.wants
        rounds = 0
        while rounds < STORE_ROUNDS:
            rounds += 1
            try:
                if hears:
                    if call.credential is not None:  # before anything is done for the agent that it names
                        refusal = session.store.look(lambda tx: perform(tx, call, CALLER, {}))
                        if refusal is not None:
                            return refusal
                    _deliver(session, call)
                    hears = False
                verb = session.store.run if operation.writes else session.store.look
                result = verb(lambda tx: _decide(tx, call, operation, fields))
            except Unsettled:
                _settle(session, call)
                continue
            except Unavailable as error:
                if "moved" not in error.fields or not _follow(session, error):
                    raise
                continue
            if type(result) is dict:
                if result.get("again") is True:  # part of it is done, in a transaction of its own
                    rounds = 0
                    continue
                if "jobs" in result:
                    from dibs.session import long_jobs

                    long_jobs.carry_on(session, call, result)
            return result
        raise Unavailable(UNDECIDED)

    def recall(self, *_: object) -> bool:
        """Nothing is ever under way elsewhere."""
        return False

    def close(self) -> None:
        """The store is the session's to close."""


def _deliver(session: Session, call: Call) -> None:
    """What the agent subscribes to, into its inbox; most subscribe to nothing."""
    from dibs.operations.messages import mailbox

    if not call.agent or session.store.look(lambda tx: mailbox.subscribed(tx, call.agent)):
        from dibs.session import subscription_delivery

        subscription_delivery.deliver(session.store, call, lambda after, most: _archived(session, call, after, most))


def _archived(session: Session, call: Call, after: int, most: int) -> list[Event]:
    from dibs.session.log_reader import LogReader

    return LogReader(session, call).events(after, most)


def _follow(session: Session, error: Unavailable) -> bool:
    """Another store is in charge: go on there, if this machine knows where; finishes a move that was cut short."""
    if session.is_shared:
        return False  # not one caller's to close: the server opens it anew
    from dibs.storage import store_move

    if not store_move.follow(session, error):
        return False
    session.close()
    return True


def _settle(session: Session, call: Call) -> None:
    """The store lost answered commits: the operation for that gives up what rests on them."""
    from dibs.operations.upkeep.recovery import VOID

    store = session.store
    # Not through the way in: the first caller settles, also one that may do nothing else.
    # A caller with a credential is not verified yet: then the server's user settles.
    mine = Call(call.policy, agent=user_name() if call.credential is not None else call.agent or call.fallback)
    store.settle(lambda: bool(store.run(lambda tx: VOID.body(tx, mine, None))["more"]))


def _decide(tx: Transaction, call: Call, operation: Operation, fields: dict[str, Any]) -> Any:
    """Run an operation, and keep what it decides where it is found although an interrupt comes before the answer."""
    call.decided = perform(tx, call, operation, fields)
    return call.decided
