"""`POST /v1/OPERATION`: one declared operation, its fields as a JSON object, answered as the CLI's `--json` prints it.

No operation is known here by name: the catalogue has them all. Each runs in a thread of the pool; one that may wait in
a pool of its own, so that claims are answered while hundreds wait. A caller that goes away leaves its queue.
"""

from __future__ import annotations

import asyncio
from time import perf_counter

from dibs import jsontext
from dibs.errors import Invalid, NotFound, Quota
from dibs.interfaces.http import body
from dibs.interfaces.http.limits import Slots
from dibs.interfaces.http.replies import Refusal, ending, reply
from dibs.operations.core import index
from dibs.server.requests import Caller, Gone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from concurrent.futures import Executor
    from typing import Any

    from dibs.interfaces.http.replies import Receive, Scope, Send
    from dibs.server.figures import Figures
    from dibs.server.identity import Identity
    from dibs.server.requests import Requests, SingleDecision

    Found = dict[str, object] | None

PREFIX = "/v1/"
BAD, NOT_ALLOWED, WRONG_TYPE = 400, 405, 415
KEY = b"idempotency-key"
PATHS = {name.replace(" ", "/"): name for name in (*index.FILES, *index.QUERIES)}


class Operations:
    """The endpoint of all operations."""

    def __init__(
        self, requests: Requests, figures: Figures, pool: Executor, waiting: Executor, *, limit: int, most_waiting: int
    ) -> None:
        self._requests, self._figures = requests, figures
        self._pool, self._waiting = pool, waiting
        self._limit = limit
        self._slots = Slots(most_waiting)
        self._callers: set[Caller] = set()

    def stop(self) -> None:
        """Every waiting request is answered now: the server is stopping. From the event loop."""
        loop = asyncio.get_running_loop()
        for caller in list(self._callers):
            loop.run_in_executor(None, caller.leave)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix(PREFIX)
        name = PATHS.get(path)
        if name is None:
            shown = ascii(path)[:100]
            raise NotFound(f"there is no operation {shown}; /openapi.json lists them.", what="operation", id=path[:100])
        if scope["method"] != "POST":
            why = Invalid(f"{scope['path']}: POST, with the fields as a JSON object", field="method")
            raise Refusal(NOT_ALLOWED, why, [(b"allow", b"POST")])
        if scope["query_string"]:  # `?as=ann` would be lost without a word
            raise Invalid("fields are in the body, a JSON object; there is no query", field="query")
        headers = scope["headers_by_name"]
        check_type(headers)
        given = body.parse(await body.read(receive, headers, self._limit))
        agent, request = _text(given, "as"), _text(given, "request_id")
        key = headers.get(KEY, b"").decode("latin-1")
        if key and request and key != request:
            raise Invalid("request_id: the header Idempotency-Key has a different one", field="request_id")
        began = perf_counter()
        status = "error"
        try:
            found = await self._run(scope["identity"], name, given, agent, request or key, receive)
            status = "ok"
        finally:
            self._figures.observe("request_seconds", perf_counter() - began, name)
            self._figures.count("requests", f"{name}:{status}")
        await reply(send, 200, jsontext.encode(found).encode())

    async def _run(
        self, identity: Identity, name: str, given: dict[str, object], agent: str, request: str, receive: Receive
    ) -> dict[str, object]:
        loop = asyncio.get_running_loop()
        single = self._requests.begin(identity, name, given, agent=agent, request=request)
        if single is not None:
            return await self._decided(single)
        if not given.get("wait"):
            return await loop.run_in_executor(
                self._pool, lambda: self._requests.answer(identity, name, given, agent=agent, request=request)
            )
        if not self._slots.take():
            raise Quota(what="requests that wait", limit=self._slots.most)
        caller = Caller()
        self._callers.add(caller)
        try:
            work = loop.run_in_executor(self._waiting, self._wait, identity, name, given, agent, request, caller)
            found = await _unless_gone(work, caller, receive)
        finally:
            self._callers.discard(caller)
            self._slots.free()
        if found is None:
            raise ending()
        return found

    async def _decided(self, single: SingleDecision) -> dict[str, object]:
        """One decision, in the next group, which this loop may run itself; no thread waits."""
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[tuple[object, Exception | None]] = loop.create_future()

        def done(value: object, error: Exception | None) -> None:
            if not outcome.done():
                outcome.set_result((value, error))

        began = perf_counter()
        self._requests.host.group.submit(single.decide, done, loop.call_soon_threadsafe, loop.call_soon)
        value, error = await outcome
        self._figures.observe("store_seconds", perf_counter() - began, "run")
        answer = single.end(value, error)
        return await loop.run_in_executor(self._pool, single.complete, value, error) if answer is None else answer

    def _wait(
        self, identity: Identity, name: str, given: dict[str, object], agent: str, request: str, caller: Caller
    ) -> dict[str, object] | None:
        try:
            return self._requests.answer(identity, name, given, agent=agent, request=request, caller=caller)
        except Gone:  # no future carries what is no Exception
            return None


async def _unless_gone(work: asyncio.Future[Found], caller: Caller, receive: Receive) -> Found:
    """The answer of a request that waits; if its caller goes, it leaves its queue."""
    leaving = asyncio.ensure_future(_left(receive))
    try:
        both: list[asyncio.Future[Any]] = [work, leaving]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            await asyncio.get_running_loop().run_in_executor(None, caller.leave)
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        caller.leave()
        raise
    finally:
        leaving.cancel()


async def _left(receive: Receive) -> None:
    """Until the caller has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def check_type(headers: dict[bytes, bytes]) -> None:
    """JSON only: a form, which a page of another site could send, is refused."""
    kind, _, rest = headers.get(b"content-type", b"").partition(b";")
    encoding = rest.strip().lower().replace(b'"', b"")
    if kind.strip().lower() != b"application/json" or encoding not in {b"", b"charset=utf-8"}:
        raise Refusal(
            WRONG_TYPE,
            Invalid("send the header `Content-Type: application/json`; nothing else is read", field="Content-Type"),
        )
    if headers.get(b"content-encoding", b"identity") != b"identity":
        raise Refusal(WRONG_TYPE, Invalid("Content-Encoding: none", field="Content-Encoding"))
    if headers.get(b"transfer-encoding", b"chunked").lower() != b"chunked":
        raise Refusal(BAD, Invalid("Transfer-Encoding: chunked, or none", field="Transfer-Encoding"))


def _text(given: dict[str, object], name: str) -> str:
    """One of the words that every call may say besides its operation's fields."""
    value = given.pop(name, "")
    if not isinstance(value, str):
        raise Invalid(f"{name}: a text", field=name)
    return value
