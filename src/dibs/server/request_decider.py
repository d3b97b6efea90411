"""The store's half of requests that callers elsewhere sent, for every port of the server: read, decide, answer.

A request is read once (`Request`), and can be decided in a group with others: `decide` is the function of its
transaction, `judge` takes its outcome. What may block (deliveries, long jobs, a store that lost commits) goes through
`finish`, in a thread. client/driver.py has the rule, client/server_link.py explains the protocol.

Nothing is decided here, and nothing is known of sockets.
"""

from __future__ import annotations

import os

from dibs.client import catalogue, wire
from dibs.client.driver import DECIDED, LOOK, REPEAT, Driver, StoreLink
from dibs.errors import Busy, DibsError, Invalid, Unavailable
from dibs.machine import clock, processes
from dibs.operations.core.call import NeedsFacts, to_json
from dibs.operations.core.declare import SOCKET
from dibs.operations.core.entry import perform
from dibs.stores import opening
from dibs.workspace import location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session
    from dibs.client.wire import AnswerMessage
    from dibs.operations.core.call import Call, Fields, Process
    from dibs.operations.core.declare import Operation
    from dibs.server.host import Host
    from dibs.stores.seam import Json, Transaction
    from dibs.workspace.location import Place

LATE_MS = 3_000  # a request this old is not decided any more: its caller no longer waits (remote.ANSWER_TIMEOUT_S)
KEPT_TREES = 64  # working trees whose place is known; the oldest goes first


class Request(Driver):
    """One request, read and checked."""

    __slots__ = ("answer", "arrived", "place", "sent_as")

    def __init__(self, place: Place, operation: Operation, call: Call, fields: Fields) -> None:
        super().__init__(operation, call, fields)
        self.place = place
        self.arrived = clock.since_boot()
        self.sent_as = call.agent, call.identified_by
        self.answer: AnswerMessage = {}  # what goes back, once it is known

    @property
    def is_quick(self) -> bool:
        """Is one transaction enough, as far as its declaration tells?"""
        operation = self.operation
        return operation.writes and not operation.is_query and "deliveries" not in operation.wants

    def decide(self, tx: Transaction) -> Json:
        """Its transaction. A request that waited too long for its turn is dropped: its caller has given up."""
        if clock.since_boot() - self.arrived > LATE_MS:
            raise Busy("the request came too late to be decided; nothing was changed.")
        return perform(tx, self.call, self.operation, self.fields)

    def refuse(self, error: DibsError) -> None:
        """Answer with a refusal."""
        self.answer = wire.error_out(error)

    def answer_with(self, result: Json) -> None:
        """Answer with a result, and with the caller's name if the transaction found it out."""
        if isinstance(result, DibsError):
            self.refuse(result)
        else:
            self.answer = {"result": to_json(result)}
        call = self.call
        if (call.agent, call.identified_by) != self.sent_as:
            self.answer["who"] = [call.agent, call.identified_by, call.name]

    def look(self, missing: list[Process]) -> None:
        """Look at the processes of this machine; raises NeedsFacts for those that only the caller can see."""
        here = processes.here()
        super().look([process for process in missing if process[:3] == here])
        others = [process for process in missing if process[:3] != here]
        if others:
            raise NeedsFacts(others)

    def fail(self, error: BaseException) -> None:
        """Answer with an error, or with the processes that the caller has to look at."""
        if isinstance(error, NeedsFacts):
            self.answer = {"need": error.processes}
        else:
            self.refuse(as_dibs_error(error))


class RequestDecider:
    """The store's half of all requests to one host."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._places: dict[str, Place] = {}
        self._link = StoreLink()
        self._store_named: Json = ""  # the last store that a caller named, which is this workspace's

    def read(
        self, name: Json, sent_call: Json, sent_fields: Json, via: Json = None, top: Json = "", store: Json = "",
        sender: str = SOCKET, far: str = "",
    ) -> Request:  # fmt: skip
        """Read and check a request. `top` is the caller's working tree, where that is on this machine.

        `store` is the store that the caller's config or environment names: another one than the workspace's is refused,
        as it is when a caller opens the store itself. `far`: whose credential a caller elsewhere has.
        """
        operation = _operation(name)
        if store is not None and store != self._store_named:
            self._check_store(store)
        place = self._place(top)
        call = wire.call_in(self.host.config(place).policy, sent_call, via)
        fields = wire.fields_in(operation, sent_fields, anywhere=not operation.rank, place=far)
        call.sender, call.place, call.barred = sender, far, operation.unsendable(sender, fields)
        return Request(place, operation, call, fields)

    def judge(self, request: Request, outcome: Json, error: BaseException | None) -> str:
        """What is next after one run of its transaction: DECIDED (it is answered), REPEAT, or SLOW (see `finish`)."""
        try:
            step = request.after(outcome, error)
            if step is LOOK:
                assert isinstance(error, NeedsFacts)
                request.look(error.processes)
                return REPEAT
        except (NeedsFacts, Unavailable) as failure:
            request.fail(failure)
            return DECIDED
        if error is not None and step is DECIDED:
            request.fail(error)
        elif step is DECIDED:
            request.answer_with(outcome)
        return step

    def finish(self, request: Request, outcome: Json = None, error: BaseException | None = None) -> None:
        """Answer a request that may block: from its start, or from a transaction with this outcome or error."""
        session = self._session(request)
        try:
            if outcome is None and error is None:
                request.answer_with(request.run(session, self._link))
            else:
                request.answer_with(request.resume(session, self._link, outcome, error))
        except (NeedsFacts, DibsError) as failure:
            request.fail(failure)

    def recall(self, request: Request) -> None:
        """The caller has gone before it was answered: release what the request got. Blocks."""
        via = request.call.exchange
        result = request.answer.get("result")
        if via is None or not request.operation.withdraws or not isinstance(result, dict):
            return
        from dibs.operations.claims.recalls import RECALL

        call = request.call
        kept, call.request, call.exchange = bool(call.request), "", None
        fields = {"connection": via[0], "number": via[1], "kept": kept}
        try:
            self._session(request).run(RECALL, call, fields)
        except DibsError:
            pass  # its claims end with its process, or expire

    def _session(self, request: Request) -> Session:
        return self.host.session(request.place.top, request.place)

    def _check_store(self, store: Json) -> None:
        if not isinstance(store, str):
            raise Invalid("store: the URL of a store", field="store")
        pin = opening.read_pin(self.host.place.local)
        if pin.url:
            opening.refuse_other(pin, store or "sqlite:")
            self._store_named = store

    def _place(self, top: Json) -> Place:
        """The caller's working tree in this workspace."""
        if not top:
            return self.host.place
        known = self._places.get(top) if isinstance(top, str) else None
        if known is None:
            if not _is_path(top):
                raise Invalid("top: the path of a working tree", field="top")
            known = self.host.place if top == self.host.place.top else location.find(top, self.host.place.root)
            if known.root != self.host.place.root or known.top != top:
                raise Invalid("top: not a working tree of this workspace", field="top")
            while len(self._places) >= KEPT_TREES:
                self._places.pop(next(iter(self._places)), None)
            self._places[top] = known
        return known


def _is_path(value: Json) -> bool:
    """Can this be the name of a folder? Its bytes need not be valid text."""
    try:
        return isinstance(value, str) and b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False


def _operation(name: Json) -> Operation:
    try:
        if isinstance(name, str):
            return catalogue.operation(name)
    except KeyError:
        pass
    raise Invalid(f"there is no operation {ascii(name)[:80]}", field="op")


def as_dibs_error(error: BaseException) -> DibsError:
    """Any error as an error of dibs: a defect becomes a sentence, not a traceback."""
    if isinstance(error, DibsError):
        return error
    return Unavailable(f"the server failed on this request: {type(error).__name__}: {error}", internal=True)
