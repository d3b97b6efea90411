"""Live events: from a place on, none lost, none twice, whatever the listener does."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from dibs.interfaces.http import events as streams
from dibs.server import feed as feeds
from tests.interfaces.http.web import Server, Web
from tests.waiting import LIMIT_S, until


class Listener:
    """A connection that reads server-sent events."""

    def __init__(self, server: Server, query: str = "", last: int | None = None, token: str = "") -> None:
        self.socket = socket.create_connection(("127.0.0.1", server.port), LIMIT_S)
        server.opened.append(self.socket)
        lines = [f"GET /events{query} HTTP/1.1", f"Host: 127.0.0.1:{server.port}",
                 f"Authorization: Bearer {token or server.token}"]  # fmt: skip
        lines += [f"Last-Event-ID: {last}"] if last is not None else []
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self.text = b""

    def read(self, until: Any, seconds: float = LIMIT_S) -> list[tuple[str, Any]]:
        """The frames so far, as (event, data), once the condition holds for them."""
        end = time.monotonic() + seconds
        while not until(self.frames()):
            assert time.monotonic() < end, self.text[-500:]
            self.socket.settimeout(max(0.01, end - time.monotonic()))
            got = self.socket.recv(65_536)
            if not got:
                break
            self.text += got
        return self.frames()

    def frames(self) -> list[tuple[str, Any]]:
        """The complete frames; chunked encoding is taken away."""
        _, _, body = self.text.partition(b"\r\n\r\n")
        plain = b""
        while body:
            size, found, rest = body.partition(b"\r\n")
            if not found or len(rest) < int(size, 16) + 2:
                break
            plain += rest[: int(size, 16)]
            body = rest[int(size, 16) + 2 :]
        found_frames = []
        for text in plain.decode().split("\n\n")[:-1]:
            lines = dict(line.split(": ", 1) for line in text.split("\n") if not line.startswith(":"))
            if "data" in lines:
                data = json.loads(lines["data"])
                assert "id" not in lines or int(lines["id"]) == data["seq"]
                found_frames.append((lines["event"], data))
        return found_frames

    def ended(self) -> bool:
        """Until the server ends it."""
        self.socket.settimeout(LIMIT_S)
        while True:
            got = self.socket.recv(65_536)
            if not got:
                return True
            self.text += got

    def close(self) -> None:
        self.socket.close()


def claims(web: Web, count: int, begin: int = 0) -> None:
    for number in range(begin, begin + count):
        web.workspace.claim(f"f{number}", auto_renew=False)


@pytest.fixture
def served(tmp_path: Path) -> Any:
    web = Web(tmp_path)
    with Server(tmp_path) as server:
        yield web, server
    web.close()


def test_a_listener_gets_every_event_once_with_the_object_of_the_log(served: Any) -> None:
    web, server = served
    listener = Listener(server, "?from=0")
    claims(web, 30)
    last = web.workspace.log(limit=1)["cursor"]
    frames = listener.read(lambda found: found and found[-1][1]["seq"] >= last)
    assert [data["seq"] for _, data in frames] == list(range(1, last + 1))
    assert [data for _, data in frames] == web.workspace.log(after=0, limit=0, sentences=True)["events"]
    assert all(kind == data["kind"] for kind, data in frames)
    listener.close()


def test_a_listener_that_comes_back_misses_nothing_and_gets_nothing_twice(served: Any) -> None:
    web, server = served
    got: list[int] = []
    last: int | None = 0
    for number in range(4):
        listener = Listener(server, last=last)
        claims(web, 10, number * 10)
        want = web.workspace.log(limit=1)["cursor"]
        seen = listener.read(lambda found, want=want: found and found[-1][1]["seq"] >= want - 3)
        listener.close()
        claims(web, 5, 1_000 + number * 10)  # while nobody listens
        got += [data["seq"] for _, data in seen]
        last = got[-1]
    assert got == list(range(1, got[-1] + 1))


def test_filters_let_through_what_they_name(served: Any) -> None:
    web, server = served
    kinds = Listener(server, "?from=0&kind=claim.")
    agent = Listener(server, "?from=0&agent=other")
    paths = Listener(server, "?from=0&resource=src/")
    claim = web.workspace.claim("src/a.py", auto_renew=False)
    web.workspace.claim("docs/b.md", auto_renew=False)
    token = server.token
    web.post("claim", {"resources": ["z"], "as": "other"}, token=token)
    claim.release()
    web.workspace.emit("build.green")
    assert {kind for kind, _ in kinds.read(lambda found: len(found) >= 4)} == {"claim.granted", "claim.released"}
    assert {data["agent"] for _, data in agent.read(lambda found: len(found) >= 2)} == {"other"}
    found = paths.read(lambda found: len(found) >= 2)
    assert [kind for kind, _ in found] == ["claim.granted", "claim.released"]


def test_a_wrong_filter_or_place_is_refused(shared: Web) -> None:
    token = shared.token(person="ann")
    for query in ("from=x", "from=-1", "nonsense=1", "kind=a&kind=b", "from=" + "9" * 30, "resource=../x", "kind=%ff"):
        reply = shared.call("GET", f"/events?{query}", token=token)
        assert (reply.status, reply.code) == (422, "invalid"), query
    for last in ("abc", "-1", "1e3", "5,6", "+7", "9" * 30):
        late = shared.call("GET", "/events?from=1", token=token, headers=[("last-event-id", last)])
        assert (late.status, late.json["error"]["field"]) == (422, "Last-Event-ID"), last


def test_head_tells_what_a_stream_would_be_and_keeps_no_place(shared: Web) -> None:
    reply = shared.call("HEAD", "/events?from=0", token=shared.token(person="ann"), headers=[("last-event-id", "1 ")])
    assert (reply.status, reply.body) == (200, b"")
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert shared.app.events.listeners == 0


def test_a_place_before_the_ring_is_read_from_the_store_and_a_pruned_one_is_told(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "RING_EVENTS", 8)
    monkeypatch.setattr(feeds, "PAGE_EVENTS", 5)
    feed = web.app.feed
    feed.start()
    claims(web, 40)
    last = web.workspace.log(limit=1)["cursor"]
    until(lambda: feed.last >= last)
    assert feed.after(0) is None
    seq, got = 0, []
    while seq < last:
        text, seq = feed.after(seq) or feed.older(seq)
        got += [int(line[4:]) for line in text.decode().split("\n") if line.startswith("id: ")]
    assert got == list(range(1, last + 1))
    web.host.store.run(lambda tx: tx.seal("{}"))
    claims(web, 3, 100)
    sealed = web.host.store.seals()[0].seq
    web.host.store.run(lambda tx: tx.prune(sealed, sealed))
    feed._old.clear()  # what is still known would be sent
    text, _ = feed.older(0)
    assert text.startswith(f'event: gap\ndata: {{"after":0,"continues":{sealed + 1}}}'.encode())


def test_a_place_in_the_future_is_told_and_goes_on_from_now(served: Any) -> None:
    web, server = served
    listener = Listener(server, "?from=1000000")
    first = listener.read(lambda found: found)
    assert first[0][0] == "gap"
    claims(web, 1)
    assert listener.read(lambda found: len(found) > 1)[1][0] in {"agent.registered", "claim.granted"}


def test_a_revoked_credential_loses_its_stream_at_once(served: Any) -> None:
    web, server = served
    made = web.made(agent="bob")
    listener = Listener(server, "?from=0", token=made["token"])
    listener.read(lambda found: found)
    web.workspace.token_revoke(made["credential"]["id"])
    assert listener.ended()
    assert b": still here" not in listener.text, "not at the next look at it, which follows a sign of life, but at once"


def test_a_stop_ends_open_streams_in_good_order(served: Any) -> None:
    _, server = served
    listeners = [Listener(server, "?from=0") for _ in range(20)]
    for listener in listeners:
        listener.read(lambda found: found)
    assert server.stop() == 0
    for listener in listeners:
        assert listener.ended()
        assert listener.text.endswith(b"0\r\n\r\n"), "ended, not cut off"


def test_a_listener_that_reads_nothing_is_let_go_and_others_get_everything(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "SEND_TIMEOUT_S", 0.3)
    token = web.token(person="ann")
    cut: list[bool] = []

    async def play() -> None:
        stuck = asyncio.Event()

        async def send(message: Any) -> None:
            if message["type"] == "http.response.body":
                stuck.set()
                await asyncio.Event().wait()  # the socket's buffer is full for ever

        async def receive() -> Any:
            await asyncio.Event().wait()

        headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode())]
        scope = {"type": "http", "method": "GET", "path": "/events", "query_string": b"from=0", "headers": headers,
                 "client": ("127.0.0.1", 1), "root_path": "", "abort": lambda: cut.append(True)}  # fmt: skip
        await asyncio.wait_for(web.app.asgi(scope, receive, send), LIMIT_S)
        assert stuck.is_set()

    asyncio.run(play())
    assert cut == [True]
    assert web.app.events.listeners == 0
    assert web.app.feed.listeners == 0


def test_the_number_of_streams_is_limited(tmp_path: Path) -> None:
    web = Web(tmp_path, streams=0)
    reply = web.call("GET", "/events", token=web.token(person="ann"))
    assert (reply.status, reply.code) == (429, "quota")
    web.close()


async def _listen(server: Server, last: int, token: str) -> tuple[list[int], int]:
    """Read until the last event; what came, and how many bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    head = f"GET /events?from=0 HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {token}\r\n\r\n"
    writer.write(head.encode())
    seen: list[int] = []
    size, left = 0, b""
    while not seen or seen[-1] < last:
        got = await asyncio.wait_for(reader.read(262_144), 60)
        assert got, "the stream ended"
        size += len(got)
        whole, end, left = (left + got).rpartition(b"\n\n")
        seen += map(int, re.findall(rb"\nid: (\d+)\n", b"\n" + whole + end))
    writer.close()
    return seen, size


def _many(web: Web, server: Server, listeners: int, count: int) -> None:
    """So many listeners while so many events are emitted: none lost, none twice, memory flat."""
    begin = web.workspace.log(limit=1)["cursor"]

    async def play() -> list[tuple[list[int], int]]:
        writing = asyncio.create_task(asyncio.to_thread(_emit, web, count))
        work = [asyncio.create_task(_listen(server, begin + count, server.token)) for _ in range(listeners)]
        found = await asyncio.gather(*work)
        await writing
        return found

    for seen, _ in asyncio.run(play()):
        assert seen == list(range(1, seen[-1] + 1))


def _emit(web: Web, count: int) -> None:
    def ten(tx: Any) -> None:
        for _ in range(10):
            tx.append("event.emitted", "me", "tick", {"data": "x" * 100})

    for _ in range(count // 10):
        web.host.store.run(ten)


def resident(server: Server) -> int:
    """Kilobytes in memory."""
    text = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    return int(next(line for line in text.splitlines() if line.startswith("VmRSS")).split()[1])


def test_twenty_listeners_of_a_busy_log_lose_nothing_and_get_nothing_twice(served: Any) -> None:
    web, server = served
    claims(web, 1)
    _many(web, server, 20, 1_000)


@pytest.mark.torture
def test_two_hundred_listeners_at_a_thousand_events_a_second_lose_nothing_and_memory_stays_flat(served: Any) -> None:
    web, server = served
    claims(web, 1)
    for _ in range(2):  # the ring is full, and so is what the allocator keeps for as many streams
        _many(web, server, 200, 9_000)
    before = resident(server)
    _many(web, server, 200, 10_000)
    assert resident(server) < before * 1.25 + 10_000
