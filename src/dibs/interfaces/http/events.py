"""`GET /events`: the log as server-sent events, from a place on, filtered, for as long as the caller listens.

Every frame has the event's number as its id, so that a caller that reconnects (`Last-Event-ID`, or `?from=`) misses
nothing and gets nothing twice. Frames are made once for all (server/feed.py); a caller that reads too slowly is let go
after a timeout, and can come back to its place.
"""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qsl

from dibs.audit.events import Filter
from dibs.errors import Invalid, Quota, Unauthorized
from dibs.interfaces.http.limits import Slots
from dibs.interfaces.http.replies import SECURITY
from dibs.operations.core.entry import CALLER
from dibs.server import feed as feeds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from concurrent.futures import Executor

    from dibs.audit.answers import EventView
    from dibs.interfaces.http.replies import Receive, Scope, Send
    from dibs.server.feed import Feed
    from dibs.server.host import Host
    from dibs.server.identity import Identity
    from dibs.stores.seam import LogEvent

BATCH_S = 0.05  # between two pieces for one caller: each wakes the loop once, however many events it has
HEARTBEAT_S = 15.0  # proxies close a connection on which nothing comes for a minute
SEND_TIMEOUT_S = 30.0  # a caller that takes nothing for this long is let go
RETRY_MS = 1_000  # how long a browser waits before it comes back
FIELDS = frozenset(("from", "kind", "agent", "resource"))
MAX_DIGITS = 18
HEAD = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no"),
        (b"connection", b"close"), *SECURITY]  # fmt: skip


class Events:
    """The endpoint."""

    def __init__(self, host: Host, feed: Feed, pool: Executor, *, most: int) -> None:
        self._host, self._feed, self._pool = host, feed, pool
        self._slots = Slots(most)
        self._streams: set[_Stream] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def listeners(self) -> int:
        """How many listen now."""
        return self._slots.taken

    def heard(self, event: LogEvent | EventView) -> None:
        """From the feed's thread: an event. What a credential no longer allows ends at once."""
        if event["kind"] == "token.revoked" and self._loop is not None:
            try:
                self._loop.call_soon_threadsafe(self._revoke, event["subject"])
            except RuntimeError:
                pass  # the loop has ended

    def _revoke(self, credential: str) -> None:
        for stream in list(self._streams):
            stream.revoked(credential)

    def leave(self, identity: Identity) -> None:
        """End the streams of this very caller: it signed out."""
        for stream in list(self._streams):
            if stream.identity is identity:
                stream.end()

    def stop(self) -> None:
        """End all streams: the server ends, and their callers come back to the next one."""
        for stream in list(self._streams):
            stream.end()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        identity: Identity = scope["identity"]
        given = _query(scope["query_string"])
        last = scope["headers_by_name"].get(b"last-event-id", b"").decode("latin-1").strip()
        begin = _place("Last-Event-ID", last) if last else _place("from", given.get("from", ""))
        loop = self._loop = asyncio.get_running_loop()
        wanted, head = await loop.run_in_executor(self._pool, self._enter, identity, given)
        if scope["method"] == "HEAD":  # nobody reads a body: there is nothing to stay for
            await send({"type": "http.response.start", "status": 200, "headers": HEAD})
            await send({"type": "http.response.body", "body": b""})
            return
        if not self._slots.take():
            raise Quota(what="event streams", limit=self._slots.most)
        stream = _Stream(self, self._feed, loop, identity, wanted)
        self._streams.add(stream)
        try:
            if not await stream.run(begin, head, receive, send):
                scope.get("abort", _nothing)()  # what is still to be sent would never leave
        finally:
            self._streams.discard(stream)
            self._slots.free()

    def verify(self, identity: Identity) -> None:
        """Does the credential still count? Blocking."""
        session = self._host.session()
        session.run(CALLER, identity.call(session), {})

    def _enter(self, identity: Identity, given: dict[str, str]) -> tuple[Filter | None, int]:
        """Verify the caller, and read what it wants to hear and where the log ends. Blocking."""
        session = self._host.session()
        session.run(CALLER, identity.call(session), {})
        agent = given.get("agent", "")
        if agent:
            from dibs.operations.agents import names

            agent = session.store.look(lambda tx: names.found(tx, agent))
        resource = given.get("resource", "")
        paths = session.paths.expanded(resource, session.cwd) if resource else []
        wanted = Filter(kind=given.get("kind", ""), agent=agent, paths=paths)
        return None if wanted.is_plain else wanted, session.store.head().seq

    async def older(self, seq: int, wanted: Filter | None) -> tuple[bytes, int]:
        """What is no longer in the ring."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._feed.older, seq, wanted)

    async def still_counts(self, identity: Identity) -> bool:
        """Was the credential neither revoked nor has it expired? A store that does not answer decides nothing."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._pool, self.verify, identity)
        except Unauthorized:
            return False
        except Exception:  # noqa: BLE001 - busy or moving: asked again at the next heartbeat
            return True
        return True


class _Stream:
    """One caller that listens."""

    def __init__(
        self, events: Events, feed: Feed, loop: asyncio.AbstractEventLoop, identity: Identity, wanted: Filter | None
    ) -> None:
        self._events, self._feed, self._loop, self.identity, self._wanted = events, feed, loop, identity, wanted
        self._bell = asyncio.Event()
        self._ended = False

    def end(self) -> None:
        """End it, from the event loop."""
        self._ended = True
        self._bell.set()

    def _ring(self) -> None:
        """From the feed's thread: there are more."""
        try:
            self._loop.call_soon_threadsafe(self._bell.set)
        except RuntimeError:
            pass  # the loop has ended

    async def run(self, begin: int | None, head: int, receive: Receive, send: Send) -> bool:
        """Send until the caller goes, the server ends or the credential no longer counts; False if it was too slow."""
        await send({"type": "http.response.start", "status": 200, "headers": HEAD})
        leaving = asyncio.ensure_future(_left(receive))
        leaving.add_done_callback(lambda _: self.end())
        self._feed.listen(self._ring)
        beat = self._loop.time() + HEARTBEAT_S
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                await send(_piece(f"retry: {RETRY_MS}\n\n".encode()))
            seq = self._feed.last if begin is None else begin
            epoch = self._feed.epoch
            if seq > max(self._feed.last, head):  # of another log, or of the future; the feed may be a second late
                await send(_piece(feeds.gap(seq, self._feed.last + 1)))
                seq = self._feed.last
            while not self._ended and epoch == self._feed.epoch:
                self._bell.clear()
                piece, last = self._feed.after(seq, self._wanted) or await self._events.older(seq, self._wanted)
                moved, seq = last > seq, last
                if not piece and self._loop.time() >= beat:
                    piece = b": still here\n\n"
                if piece:
                    async with asyncio.timeout(SEND_TIMEOUT_S):
                        await send(_piece(piece))
                    if self._loop.time() >= beat and not await self._events.still_counts(self.identity):
                        break
                    beat = self._loop.time() + HEARTBEAT_S if self._loop.time() >= beat else beat
                if moved:
                    await asyncio.sleep(BATCH_S)  # also where there is always more: the loop has other callers
                else:
                    await self._more(beat)
            if not leaving.done():
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            return False
        finally:
            self._feed.leave(self._ring)
            leaving.cancel()
        return True

    async def _more(self, beat: float) -> None:
        """Until there is more, or it is time for a sign of life."""
        timer = self._loop.call_at(beat, self._bell.set)
        try:
            await self._bell.wait()
        finally:
            timer.cancel()

    def revoked(self, credential: str) -> None:
        """A credential was revoked: its stream ends at once."""
        if credential == self.identity.id:
            self.end()


def _nothing() -> None:
    """For a server that cannot cut a connection."""


def _piece(text: bytes) -> dict[str, object]:
    return {"type": "http.response.body", "body": text, "more_body": True}


async def _left(receive: Receive) -> None:
    """Until the caller has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _query(text: bytes) -> dict[str, str]:
    """The filters; each once."""
    try:
        pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, max_num_fields=len(FIELDS), errors="strict")
    except ValueError:
        raise Invalid("the query string is malformed, or has too many fields", field="query") from None
    found: dict[str, str] = {}
    for name, value in pairs:
        if name not in FIELDS or name in found:
            known = ", ".join(sorted(FIELDS))
            raise Invalid(f"events: no field {name[:60]!r}, or it occurs twice; there are {known}", field="query")
        found[name] = value
    return found


def _place(field: str, text: str) -> int | None:
    """The number of the event after which the log is sent."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        raise Invalid(f"{field}: the number of an event", field=field)
    return int(text)
