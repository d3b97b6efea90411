"""Other ways to a Redis server than its port: TLS in front of it, a sentinel that names it, a cluster."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import subprocess
import threading
from typing import TYPE_CHECKING

from tests.stores.redis_server import ALWAYS, Server, free_port
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SLOTS = 16_384  # of a cluster's keys


@contextlib.contextmanager
def sentinel_of(primary: Server, folder: Path, replicas: int = 0) -> Iterator[str]:
    """A sentinel that watches a primary; the URL by which it is asked."""
    folder.mkdir()
    settings, port = folder / "sentinel.conf", free_port()
    settings.write_text(
        f"port {port}\nbind 127.0.0.1\ndir {folder}\n"
        f"sentinel monitor dibs 127.0.0.1 {primary.port} 1\n"
        "sentinel down-after-milliseconds dibs 300\nsentinel failover-timeout dibs 3000\n"
    )
    sentinel = Server(folder, str(settings), "--sentinel")
    sentinel.port = port
    sentinel.start()
    try:
        until(lambda: f"slaves={replicas}".encode() in sentinel.ask("INFO", "sentinel"))
        yield f"redis+sentinel://127.0.0.1:{port}/dibs"
    finally:
        sentinel.kill()


@contextlib.contextmanager
def cluster(folder: Path, nodes: int = 1) -> Iterator[list[Server]]:
    """A cluster of primaries, each with its part of the keys."""
    with contextlib.ExitStack() as ending:
        started = []
        for number in range(nodes):
            bus = str(free_port())  # else it is ten thousand above the other, where there may be none
            node = Server(folder / str(number), cluster_enabled="yes", cluster_port=bus, **ALWAYS)
            ending.callback(node.kill)
            started.append(node.start())
            node.ask("CLUSTER", "ADDSLOTSRANGE", SLOTS * number // nodes, SLOTS * (number + 1) // nodes - 1)
            if number:
                node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
                node.ask("CLUSTER", "MEET", "127.0.0.1", started[0].port, started[0].settings["cluster-port"])
        until(lambda: all(b"cluster_state:ok" in node.ask("CLUSTER", "INFO") for node in started))
        yield started


@contextlib.contextmanager
def tls_in_front_of(server: Server, folder: Path) -> Iterator[str]:
    """A port that speaks TLS and passes on what comes to a server that does not; its URL, with whom to trust."""
    made, key = _certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    ready, loop = threading.Event(), asyncio.new_event_loop()
    found: list[int] = []

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65_536):
                sink.write(data)
                await sink.drain()
        sink.close()

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection("127.0.0.1", server.port)
        await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))

    async def serve() -> None:
        listening = await asyncio.start_server(meet, "127.0.0.1", 0, ssl=context)
        found.append(listening.sockets[0].getsockname()[1])
        ready.set()
        await ended.wait()
        listening.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    ended = asyncio.Event()
    loop.set_exception_handler(lambda *_: None)
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    ready.wait()
    try:
        yield f"rediss://127.0.0.1:{found[0]}?ssl_ca_certs={made}"
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
        loop.close()


def _certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    made = folder / "cert.pem", folder / "key.pem"
    words = ["-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", *words]
    subprocess.run([*command, "-out", made[0], "-keyout", made[1]], check=True, capture_output=True)
    return made
