"""The store's half of requests that callers elsewhere sent, for every port of the server: read, decide, answer.

A request is read once (`Request`), and can be decided in a group with others: `decide` is the function of its
transaction, `judge` its result. What takes more than one transaction (deliveries, long jobs, a store that
lost commits) goes through `finish`, in a thread that may block. client/server_link.py explains the protocol.

Nothing is decided here, and nothing is known of sockets.
"""

from __future__ import annotations

import os

from dibs.client import catalogue, wire
from dibs.client.store_link import UNDECIDED, StoreLink
from dibs.errors import Busy, DibsError, Invalid, Unavailable
from dibs.machine import clock, processes
from dibs.operations.core.call import Need, process_name
from dibs.operations.core.declare import SOCKET
from dibs.operations.core.entry import perform
from dibs.stores import opening
from dibs.stores.seam import Unsettled
from dibs.workspace import location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.client.session import Session
    from dibs.operations.core.call import Call
    from dibs.operations.core.declare import Operation
    from dibs.server.host import Host
    from dibs.stores.seam import Transaction
    from dibs.workspace.location import Place

LATE_MS = 3_000  # a request this old is not decided any more: its caller no longer waits (remote.ANSWER_TIMEOUT_S)
MAX_ROUNDS = 64  # times one request may ask for facts, or be done in part
KEPT_TREES = 64  # working trees whose place is known; the oldest goes first

DONE, ROUND, SLOW = "done", "round", "slow"  # what `judge` says: answer it, decide it again, hand it to a thread


class Request:
    """One request, read and checked."""

    __slots__ = ("answer", "arrived", "call", "fields", "operation", "place", "rounds", "sent_as")

    def __init__(self, place: Place, operation: Operation, call: Call, fields: dict[str, Any]) -> None:
        self.place = place
        self.operation = operation
        self.call = call
        self.fields = fields
        self.arrived = clock.since_boot()
        self.rounds = 0
        self.sent_as = call.agent, call.how
        self.answer: dict[str, Any] = {}  # what goes back, once it is known

    @property
    def is_quick(self) -> bool:
        """Is one transaction enough, as far as its declaration tells?"""
        operation = self.operation
        return operation.writes and not operation.whole and "deliveries" not in operation.wants

    def decide(self, tx: Transaction) -> Any:
        """Its transaction. A request that waited too long for its turn is dropped: its caller has given up."""
        if clock.since_boot() - self.arrived > LATE_MS:
            raise Busy("the request came too late to be decided; nothing was changed.")
        return perform(tx, self.call, self.operation, self.fields)

    def refuse(self, error: DibsError) -> None:
        """Answer with a refusal."""
        self.answer = wire.error_out(error)

    def answer_with(self, result: Any) -> None:
        """Answer with a result, and with the caller's name if the transaction found it out."""
        if isinstance(result, DibsError):
            self.refuse(result)
        else:
            self.answer = {"result": result}
        call = self.call
        if (call.agent, call.how) != self.sent_as:
            self.answer["who"] = [call.agent, call.how, call.name]

    def look_up(self, missing: list[Any]) -> bool:
        """Look at the processes of this machine; False if only the caller can see some, which is then the answer."""
        here = processes.here()
        others = []
        for process in missing:
            if process[:3] == here:
                self.call.facts[process_name(process)] = processes.alive(process)
            else:
                others.append(process)
        if others:
            self.answer = {"need": others}
        return not others


class StoreHalf:
    """The store's half of all requests to one host."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._places: dict[str, Place] = {}
        self._link = StoreLink()
        self._store_named: Any = ""  # the last store that a caller named, which is this workspace's

    def read(
        self, name: Any, sent_call: Any, sent_fields: Any, via: Any = None, top: Any = "", store: Any = "",
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
        fields = wire.fields_in(operation, sent_fields, anywhere=not operation.may, place=far)
        call.sender, call.place, call.barred = sender, far, operation.unsendable(sender, fields)
        return Request(place, operation, call, fields)

    def judge(self, request: Request, value: Any, error: BaseException | None) -> str:
        """What to do with a request after one run of its transaction: DONE, ROUND or SLOW."""
        request.rounds += 1
        if request.rounds > MAX_ROUNDS:
            request.refuse(Unavailable(UNDECIDED))
            return DONE
        if error is None:
            if type(value) is dict:
                if value.get("again") is True:  # part of it is done
                    return ROUND
                if "jobs" in value:
                    return SLOW
            request.answer_with(value)
            return DONE
        if isinstance(error, Need):
            return ROUND if request.look_up(error.processes) else DONE
        if isinstance(error, Unsettled) or self.host.reopen_after(error):
            return SLOW
        request.refuse(as_dibs_error(error))
        return DONE

    def finish(self, request: Request, value: Any = None) -> None:
        """Answer a request that takes more than one transaction. Blocks.

        `value` is the answer of a transaction that left jobs.
        """
        session = self._session(request)
        for _ in range(MAX_ROUNDS):
            try:
                if value is not None:
                    from dibs.client import job_loop

                    request.call.via = None
                    job_loop.carry_on(session, request.call, value)
                    return request.answer_with(value)
                return request.answer_with(self._link.run(session, request.operation, request.call, request.fields))
            except Need as need:
                if not request.look_up(need.processes):
                    return None
            except DibsError as error:
                if not self.host.reopen_after(error):
                    return request.refuse(error)
                session = self._session(request)
        return request.refuse(Unavailable(UNDECIDED))

    def recall(self, request: Request) -> None:
        """The caller has gone before it was answered: release what the request got. Blocks."""
        via = request.call.via
        result = request.answer.get("result")
        if via is None or not request.operation.withdraws or not isinstance(result, dict):
            return
        from dibs.operations.claims.recalls import RECALL

        call = request.call
        kept, call.request, call.via = bool(call.request), "", None
        fields = {"connection": via[0], "number": via[1], "kept": kept}
        try:
            self._session(request).run(RECALL, call, fields)
        except DibsError:
            pass  # its claims end with its process, or expire

    def _session(self, request: Request) -> Session:
        return self.host.session(request.place.top, request.place)

    def _check_store(self, store: Any) -> None:
        if not isinstance(store, str):
            raise Invalid("store: the URL of a store", field="store")
        pin = opening.read_pin(self.host.place.local)
        if pin.url:
            opening.refuse_other(pin, store or "sqlite:")
            self._store_named = store

    def _place(self, top: Any) -> Place:
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


def _is_path(value: Any) -> bool:
    """Can this be the name of a folder? Its bytes need not be valid text."""
    try:
        return isinstance(value, str) and b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False


def _operation(name: Any) -> Operation:
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
