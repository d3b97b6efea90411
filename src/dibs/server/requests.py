"""One request of a server's caller: from an operation's name and its fields to the object that `--json` prints.

HTTP and MCP come through here and through nothing else. The fields are read as those of a caller elsewhere: no
environment, process or file of the server's is the caller's. Blocking; each request runs in a thread of its own.
"""

from __future__ import annotations

import threading
from time import perf_counter

from dibs.errors import DibsError, Invalid, NotFound, Unavailable
from dibs.operations.core import index
from dibs.operations.core.call import Need
from dibs.operations.core.entry import perform
from dibs.operations.upkeep.store_reads import WAKE
from dibs.server import locations
from dibs.session import catalogue, read_fields, steps
from dibs.session.store_link import StoreLink
from dibs.stores.seam import Unsettled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.operations.core.call import Call
    from dibs.operations.core.declare import Operation
    from dibs.server.figures import Figures
    from dibs.server.host import Host
    from dibs.server.identity import Identity
    from dibs.session.session import Session
    from dibs.stores.seam import Transaction

MAX_WAIT_MS = 600_000  # a longer wait is answered after this as timed out; the caller asks again
QUICK = ("", "note claim")  # steps after an operation that cost nothing, or are done by a thread (`Plain.rest`)
QUICK_ITEMS = 32  # of a list in a request that an event loop reads itself; a path costs some 30 µs
KEPT_SESSIONS = 64  # sessions kept for the next request: as many as requests run at once


class Gone(BaseException):
    """The caller has gone while it waited. Not an error of dibs: nobody is there to read it."""


class Caller:
    """The other end of one request that may wait: whether it is still there. `leave` may come from any thread."""

    def __init__(self, told: Callable[[dict[str, Any]], None] | None = None) -> None:
        self._told = told  # how the caller is told that it waits, if it wants to be
        self._mutex = threading.Lock()
        self._gone = False
        self._wake: Callable[[], None] | None = None

    @property
    def gone(self) -> bool:
        """Has it left?"""
        return self._gone

    def waits(self, session: Session, state: dict[str, Any], same: Callable[[], Call]) -> None:
        """Called whenever the request has to wait: `leave` ends that from now on, by a call of the `same` agent."""
        with self._mutex:
            channel = state.get("wake", "")
            if channel:
                self._wake = lambda: _wake(session, same, channel)
            if self._gone:
                raise Gone
        if self._told is not None:
            self._told(state)

    def leave(self) -> None:
        """It is gone: a request that waits is woken, and leaves its queue."""
        with self._mutex:
            self._gone = True
            wake = self._wake
        if wake is not None:
            try:
                wake()
            except DibsError:
                pass  # it looks by itself within seconds


def _wake(session: Session, same: Callable[[], Call], channel: str) -> None:
    """Let the request look up that waits under this name, wherever its store is. From any thread."""
    if session.is_far:
        session.run(WAKE, same(), {"channel": channel})
    else:  # not through the way in: also a caller whose credential was revoked meanwhile leaves its queue
        session.store.run(lambda tx: WAKE.body(tx, None, None, channel))


class _Timed(StoreLink):
    """The store's half of a request, with its time."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def run(self, session: Session, operation: Operation, call: Call, fields: dict[str, Any]) -> Any:
        began = perf_counter()
        try:
            return super().run(session, operation, call, fields)
        finally:
            self._figures.observe("store_seconds", perf_counter() - began, "run" if operation.writes else "look")


class Plain:
    """One decision that is on its way through the desk."""

    __slots__ = ("_requests", "call", "fields", "operation", "session")

    def __init__(
        self, requests: Requests, session: Session, operation: Operation, call: Call, fields: dict[str, Any]
    ) -> None:
        self._requests = requests
        self.session, self.operation, self.call, self.fields = session, operation, call, fields

    def decide(self, tx: Transaction) -> Any:
        """What the desk runs."""
        return perform(tx, self.call, self.operation, self.fields)

    def end(self, value: Any, error: Exception | None) -> dict[str, Any] | None:
        """The answer, once it is decided; a refusal is raised. None: a thread has to see to the rest (`rest`)."""
        whole = error is None and not (type(value) is dict and ("again" in value or "jobs" in value))
        if not whole and (error is None or is_worth_another_try(error)):
            return None
        if whole and type(value) is dict and self.operation.afterwards and steps.notes_claims(self.session):
            return None
        try:
            if error is not None:
                raise error
            if isinstance(value, DibsError):
                raise value
            return said(self.operation, self.session.finish(self.operation, value))
        finally:
            self._requests._give_back(self.session)  # noqa: SLF001 - the two are one

    def rest(self, value: Any) -> dict[str, Any]:
        """What one decision was not enough for. Blocking.

        A fact is missing, a job is unfinished, the store lost commits, or the files of a claim are looked at.
        """
        session, operation = self.session, self.operation
        try:
            if type(value) is dict and "again" not in value:
                if "jobs" in value:
                    from dibs.session import long_jobs

                    long_jobs.carry_on(session, self.call, value)
                return said(operation, session.finish(operation, value))
            return said(operation, session.answer(operation, self.call, self.fields))
        finally:
            self._requests._give_back(session)  # noqa: SLF001 - the two are one


def is_plain(operation: Operation, given: dict[str, Any]) -> bool:
    """Is this one decision, with nothing around it that takes long, and no wait?"""
    around = operation.whole or operation.around or operation.beforehand or operation.wants
    if not operation.writes or around or operation.afterwards not in QUICK or given.get("wait"):
        return False
    for name, value in given.items():
        if type(value) is list and len(value) > QUICK_ITEMS:
            return False  # many paths to look at, for which other callers must not wait
        if value and name in operation.by_name and operation.by_name[name].kind == "commit":
            return False
    return True


def is_worth_another_try(error: Exception) -> bool:
    """Was nothing decided, and may it be when it is asked again, in a thread?"""
    if isinstance(error, Unavailable):
        return "moved" in error.fields or "replaced" in error.fields
    return isinstance(error, (Need, Unsettled))


class Requests:
    """What a server's callers ask."""

    def __init__(self, host: Host, figures: Figures | None = None) -> None:
        self.host = host
        self._link = None if figures is None else _Timed(figures)
        self._free: list[Session] = []

    def answer(
        self,
        identity: Identity,
        name: str,
        given: dict[str, Any],
        *,
        agent: str = "",
        request: str = "",
        caller: Caller | None = None,
        wait_told: Callable[[dict[str, Any]], None] | None = None,
    ) -> dict[str, Any]:
        """The answer to one request; a refusal is raised.

        `agent` is whom the caller says that it speaks for, `request` its idempotency key. `caller` lets another thread
        end a wait; `wait_told` is called whenever the request has to wait.
        """
        found = operation(name)
        there = caller or Caller(wait_told)
        try:
            return self._once(identity, found, given, agent, request, there)
        except Unavailable as error:
            if not self.host.after(error):
                raise
            self._free.clear()
        return self._once(identity, found, given, agent, request, there)

    def begin(
        self, identity: Identity, name: str, given: dict[str, Any], *, agent: str = "", request: str = ""
    ) -> Plain | None:
        """A plain request, ready for the desk; None for any other, which `answer` answers in a thread.

        Plain: one decision and nothing else around it. Does not block: an event loop may call it.
        """
        found = operation(name)
        if not is_plain(found, given):
            return None
        session = self._session()
        try:
            fields = read_fields.request(session, found, given, typed=True, here=False)
            return Plain(self, session, found, identity.call(session, agent, request), fields)
        except BaseException:
            self._give_back(session)
            raise

    def _once(
        self, identity: Identity, operation: Operation, given: dict[str, Any], agent: str, request: str, there: Caller
    ) -> dict[str, Any]:
        session = self._session()
        try:
            fields = read_fields.request(session, operation, given, typed=True, here=False)
            call = identity.call(session, agent, request)
            if fields.get("wait"):
                fields["wait"] = min(fields["wait"], MAX_WAIT_MS)

            def told(state: dict[str, Any]) -> None:
                there.waits(session, state, lambda: identity.call(session, agent))

            result = session.answer(operation, call, fields, told)
            if there.gone:
                self._withdraw(session, operation, call)
                raise Gone
            if identity.credential is not None and locations.concerns(operation):
                result = locations.hide(session.place, result)
            return said(operation, result)
        finally:
            self._give_back(session)

    def _withdraw(self, session: Session, operation: Operation, call: Call) -> None:
        """Nobody reads the answer: a claim that nobody knows of is given up."""
        if operation.withdraws:
            session.withdraw(call)

    def _session(self) -> Session:
        """A session that no other request uses, with the settings of now."""
        try:
            session = self._free.pop()
        except IndexError:
            session = self.host.session()
            session.around = _around
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


def said(operation: Operation, result: dict[str, Any]) -> dict[str, Any]:
    """An answer as `--json` prints it: `ok` says whether it is a yes."""
    return {"ok": not (operation.refuses and result.get(operation.refuses)), **result}


def checked(given: Any) -> dict[str, Any]:
    """A request's body: an object."""
    if not isinstance(given, dict):
        raise Invalid(f"a request is a JSON object, not {_kind(given)}", field="body")
    return given


def _kind(value: Any) -> str:
    return "null" if value is None else f"a {type(value).__name__}"


def _around(name: str) -> Callable[..., Any]:
    from dibs.reports import build

    return build.AROUND[name]
