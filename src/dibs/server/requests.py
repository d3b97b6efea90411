"""One request of a server's caller: from an operation's name and its fields to the object that `--json` prints.

HTTP and MCP come through here and through nothing else. The fields are read as those of a caller elsewhere: no
environment, process or file of the server's is the caller's. Blocking; each request runs in a thread of its own.
"""

from __future__ import annotations

import threading
from time import perf_counter

from dibs.client import catalogue, read_fields, steps
from dibs.client.driver import DECIDED, Driver, StoreLink
from dibs.errors import DibsError, NotFound, Unavailable
from dibs.operations.core import index
from dibs.operations.core.entry import perform
from dibs.operations.upkeep.store_reads import WAKE
from dibs.server import locations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.client.session import Session
    from dibs.operations.core.call import Answer, Call, Fields
    from dibs.operations.core.declare import Operation
    from dibs.server.figures import Figures
    from dibs.server.host import Host
    from dibs.server.identity import Identity
    from dibs.stores.seam import Json, Transaction

MAX_WAIT_MS = 600_000  # a longer wait is answered after this as timed out; the caller asks again
QUICK = (
    "",
    "note claim",
)  # steps after an operation that cost nothing, or are done by a thread (`SingleDecision.complete`)
QUICK_ITEMS = 32  # of a list in a request that an event loop reads itself; a path costs some 30 µs
KEPT_SESSIONS = 64  # sessions kept for the next request: as many as requests run at once


class Gone(BaseException):
    """The caller has gone while it waited. Not an error: nobody reads the answer."""


class Caller:
    """The caller of one request that may wait. Any thread may call `leave` when the caller has gone."""

    def __init__(self, on_wait: Callable[[dict[str, Any]], None] | None = None) -> None:
        self._on_wait = on_wait  # tells the caller, at each poll, that it waits
        self._mutex = threading.Lock()
        self._gone = False
        self._wake: Callable[[], None] | None = None

    @property
    def gone(self) -> bool:
        """Has it left?"""
        return self._gone

    def waits(self, session: Session, state: dict[str, Any], new_call: Callable[[], Call]) -> None:
        """Called at each poll of a wait: from now on `leave` ends it. `new_call` makes a call of the same agent."""
        with self._mutex:
            channel = state.get("wake", "")
            if channel:
                self._wake = lambda: _wake(session, new_call, channel)
            if self._gone:
                raise Gone
        if self._on_wait is not None:
            self._on_wait(state)

    def leave(self) -> None:
        """The caller has gone: wake its waiting request, which then leaves the queue."""
        with self._mutex:
            self._gone = True
            wake = self._wake
        if wake is not None:
            try:
                wake()
            except DibsError:
                pass  # it polls by itself within seconds


def _wake(session: Session, new_call: Callable[[], Call], channel: str) -> None:
    """Wake the request that waits under this name, wherever its store is. From any thread."""
    if session.is_far:
        session.run(WAKE, new_call(), {"channel": channel})
    else:  # without the entry: a caller whose credential was revoked meanwhile leaves its queue, too
        session.store.run(lambda tx: WAKE.body(tx, None, {"channel": channel}))


class _Timed(StoreLink):
    """The store's half of a request, with its time."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def attempt(self, session: Session, operation: Operation, call: Call, fields: Fields) -> Json:
        began = perf_counter()
        try:
            return super().attempt(session, operation, call, fields)
        finally:
            self._figures.observe("store_seconds", perf_counter() - began, "run" if operation.writes else "look")


class SingleDecision(Driver):
    """A request that is one decision and nothing more, on its way through the group commit."""

    __slots__ = ("_requests", "session")

    def __init__(self, requests: Requests, session: Session, operation: Operation, call: Call, fields: Fields) -> None:
        super().__init__(operation, call, fields)
        self._requests, self.session = requests, session

    def decide(self, tx: Transaction) -> Json:
        """Its transaction, which a group runs."""
        return perform(tx, self.call, self.operation, self.fields)

    def end(self, outcome: Json, error: Exception | None) -> Answer | None:
        """The answer, once it is decided; a refusal is raised. None: a thread has to call `complete`."""
        if self.after(outcome, error) is not DECIDED:
            return None
        if type(outcome) is dict and self.operation.afterwards and steps.notes_claims(self.session):
            return None
        return self.complete(outcome, error)

    def complete(self, outcome: Json, error: Exception | None) -> Answer:
        """The answer, from the transaction with this outcome or error on. Blocks where that was not the decision.

        A fact is missing, a job is unfinished, the store lost commits, or the files of a claim have to be noted.
        """
        session, operation = self.session, self.operation
        try:
            outcome = session.conclude(self, self.resume(session, session.link, outcome, error))
            return as_json(operation, session.finish(operation, outcome))
        finally:
            self._requests._give_back(session)  # noqa: SLF001 - the two are one


def is_single_decision(operation: Operation, given: Fields) -> bool:
    """Is this one decision, without a wait and without slow steps around it?"""
    around = operation.is_query or operation.around or operation.beforehand or operation.wants not in {(), ("units",)}
    if not operation.writes or around or operation.afterwards not in QUICK or given.get("wait"):
        return False
    for name, value in given.items():
        if type(value) is list and len(value) > QUICK_ITEMS:
            return False  # other callers must not wait while many paths are looked at
        if operation.wants and type(value) is list and any("pool:" in str(item) for item in value):
            return False  # the machine is asked for facts
        if value and name in operation.by_name and operation.by_name[name].kind == "commit":
            return False
    return True


class Requests:
    """The requests of a server's callers."""

    def __init__(self, host: Host, figures: Figures | None = None) -> None:
        self.host = host
        self._link = None if figures is None else _Timed(figures)
        self._free: list[Session] = []

    def answer(
        self,
        identity: Identity,
        name: str,
        given: Fields,
        *,
        agent: str = "",
        request: str = "",
        caller: Caller | None = None,
    ) -> Answer:
        """The answer to one request; a refusal is raised.

        `agent` is the agent that the caller names, `request` its idempotency key. `caller` lets another thread end a
        wait.
        """
        found = operation(name)
        caller = caller or Caller()
        try:
            return self._once(identity, found, given, agent, request, caller)
        except Unavailable as error:
            if not self.host.reopen_after(error):
                raise
            self._free.clear()
        return self._once(identity, found, given, agent, request, caller)

    def begin(
        self, identity: Identity, name: str, given: Fields, *, agent: str = "", request: str = ""
    ) -> SingleDecision | None:
        """A request that is one decision, ready for a group; None for any other, which `answer` answers in a thread.

        Does not block: an event loop may call it.
        """
        found = operation(name)
        if not is_single_decision(found, given):
            return None
        session = self._session()
        try:
            fields = read_fields.request(session, found, given, typed=True, here=False)
            return SingleDecision(self, session, found, identity.call(session, agent, request), fields)
        except BaseException:
            self._give_back(session)
            raise

    def _once(
        self, identity: Identity, operation: Operation, given: Fields, agent: str, request: str, caller: Caller
    ) -> Answer:
        session = self._session()
        try:
            fields = read_fields.request(session, operation, given, typed=True, here=False)
            call = identity.call(session, agent, request)
            if fields.get("wait"):
                fields["wait"] = min(fields["wait"], MAX_WAIT_MS)

            def on_wait(state: dict[str, Any]) -> None:
                caller.waits(session, state, lambda: identity.call(session, agent))

            result = session.answer(operation, call, fields, on_wait)
            if caller.gone:
                self._withdraw(session, operation, call)
                raise Gone
            if identity.credential is not None and locations.concerns(operation):
                result = locations.hide(session.place, result)
            return as_json(operation, result)
        finally:
            self._give_back(session)

    def _withdraw(self, session: Session, operation: Operation, call: Call) -> None:
        """Nobody reads the answer: give up what the request got."""
        if operation.withdraws:
            session.withdraw(call)

    def _session(self) -> Session:
        """A session that no other request uses, with the current settings."""
        try:
            session = self._free.pop()
        except IndexError:
            session = self.host.session()
            if self._link is not None:
                session.link = self._link
            return session
        session.config = self.host.config(session.place)
        return session

    def _give_back(self, session: Session) -> None:
        if len(self._free) < KEPT_SESSIONS:
            self._free.append(session)


def operation(name: str) -> Operation:
    """The declared operation or query of that name."""
    if name not in index.FILES and name not in index.QUERIES:
        raise NotFound(f"there is no operation {name!r}; /openapi.json lists them.", what="operation", id=name[:100])
    return catalogue.operation(name)


def as_json(operation: Operation, result: Answer) -> Answer:
    """An answer as `--json` prints it: `ok` is false if it refuses."""
    return {"ok": not (operation.refuses and result.get(operation.refuses)), **result}
