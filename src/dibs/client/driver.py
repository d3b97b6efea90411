"""The driver: runs one operation until it is decided, for a session, a server's group and a single decision alike.

An attempt is one transaction, or one exchange with a server: a link makes it. What comes after it is one rule
(`next_step`): the operation is decided, or a fact has to be looked up, or the store has lost commits or was moved, or
part of the work is left. `Driver.run` does all of that, blocking. A server that decides many requests in one commit
asks `after` itself, does what is quick, and hands the rest to a thread (`resume`).

The operation decides; the driver only repeats it. What its caller has to do is an outcome for the caller: `Wait`
(wait_loop.py), `RunCommand` (`Session.conclude`).
"""

from __future__ import annotations

from dibs.errors import Unavailable
from dibs.machine import processes
from dibs.operations.core.call import Call, Continue, JobsLeft, NeedsFacts, process_name
from dibs.stores.seam import Unsettled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Link, Session
    from dibs.operations.core.call import Fields, Process
    from dibs.operations.core.declare import Operation
    from dibs.stores.seam import Event, Json, Transaction

MAX_ROUNDS = 64  # attempts that decided nothing: each brings a new fact, settles the store or follows it
UNDECIDED = "the store kept changing while this was decided; try again."

DECIDED, REPEAT, LOOK, SLOW = "decided", "repeat", "look", "slow"  # steps; a slow one may block


def next_step(outcome: Json, error: BaseException | None) -> str:
    """What is next after one attempt, which had this outcome or raised this error."""
    if error is None:
        if isinstance(outcome, Continue):
            return REPEAT
        return SLOW if isinstance(outcome, JobsLeft) else DECIDED
    if isinstance(error, NeedsFacts):
        return LOOK
    from dibs.error_subtypes import Stale

    # a stale store was moved or replaced: nothing was decided, and another one is opened
    return SLOW if isinstance(error, (Unsettled, Stale)) else DECIDED


class Driver:
    """One operation on its way to a decision."""

    __slots__ = ("call", "fields", "operation", "rounds")

    def __init__(self, operation: Operation, call: Call, fields: Fields) -> None:
        self.operation, self.call, self.fields = operation, call, fields
        self.rounds = 0

    def run(self, session: Session, link: Link) -> Json:
        """The outcome of the operation; a refusal is a value. Blocks."""
        outcome, error = self._attempt(session, link)
        if type(outcome) is dict:  # the usual case, quickly
            return outcome
        return self.resume(session, link, outcome, error)

    def resume(self, session: Session, link: Link, outcome: Json, error: BaseException | None) -> Json:
        """The outcome, from an attempt on. Blocks."""
        from dibs.error_subtypes import Stale

        while self.after(outcome, error) is not DECIDED:
            if isinstance(error, NeedsFacts):
                self.look(error.processes)
            elif isinstance(error, Unsettled):
                _settle(session, self.call)
            elif isinstance(error, Stale):
                if not session.follow(error):
                    raise error
            elif isinstance(outcome, JobsLeft):
                from dibs.client import job_loop

                return job_loop.carry_on(session, self.call, outcome)
            outcome, error = self._attempt(session, link)
        if error is not None:
            raise error
        return outcome

    def after(self, outcome: Json, error: BaseException | None) -> str:
        """The next step; raises Unavailable after too many rounds."""
        step = next_step(outcome, error)
        if step is REPEAT:
            self.rounds = 0
        elif step is not DECIDED:
            self.rounds += 1
            if self.rounds > MAX_ROUNDS:
                raise Unavailable(NeedsFacts.UNSETTLED if step is LOOK else UNDECIDED)
        return step

    def look(self, missing: list[Process]) -> None:
        """Look at the processes that the operation needs to know of; the call carries what was seen."""
        for process in missing:
            self.call.facts[process_name(process)] = processes.alive(process)

    def _attempt(self, session: Session, link: Link) -> tuple[Json, Exception | None]:
        try:
            return link.attempt(session, self.operation, self.call, self.fields), None
        except (NeedsFacts, Unsettled, Unavailable) as error:
            return None, error


class StoreLink:
    """The store's half of a request, asked of the store that this process has opened."""

    def attempt(self, session: Session, operation: Operation, call: Call, fields: Fields) -> Json:
        """Run the operation in one transaction: its outcome, a refusal as a value. Raises what the driver mends."""
        from dibs.operations.core.entry import CALLER, perform

        def decide(tx: Transaction) -> Json:
            call.decided = perform(tx, call, operation, fields)  # an interrupt before the answer does not lose it
            return call.decided

        if "deliveries" in operation.wants:
            if call.credential is not None:  # before anything is done for the agent that it names
                refusal = session.store.look(lambda tx: perform(tx, call, CALLER, {}))
                if refusal is not None:
                    return refusal
            _deliver(session, call)
        session.ahead = None
        return session.store.run(decide) if operation.writes else session.store.look(decide)

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


def _settle(session: Session, call: Call) -> None:
    """The store lost answered commits: give up what depends on them."""
    from dibs.client.identity import user_name
    from dibs.operations.upkeep.recovery import VOID

    store = session.store
    # Without the entry: the first caller settles, even one that may do nothing else.
    # A caller with a credential is not verified yet: then the server's user settles.
    mine = Call(call.policy, agent=user_name() if call.credential is not None else call.agent or call.fallback)
    store.settle(lambda: bool(store.run(lambda tx: VOID.body(tx, mine))["more"]))
