"""Claims over HTTP: dibs beside the least that a server could do, Starlette with one SQLite insert in its own commit.

Both servers run side by side on one disk, and a process of its own sends requests to one of them at a time, over one
connection and over thirty-two. Each connection is an agent with its own credential, each request claims a new file.
The other side (http_bare.py) checks nothing: no credential, no name, no rule, no event. Then the same on a disk whose
fsync takes a millisecond longer: what dibs gains here is the fsyncs that its groups save.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import dibs
from benchmarks import slow_sync
from benchmarks.figures import AT_LEAST, Row, Target, median, not_measured
from benchmarks.links import serving
from dibs.workspace import serve_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.place import Bench

GROUP = "http"
CONNECTIONS = (1, 32)
TARGETS = {1: Target(AT_LEAST, 0.7, of="value"), 32: Target(AT_LEAST, 1.2, of="value")}
ROUNDS, QUICK_ROUNDS = 7, 1
BARE, DIBS = "bare Starlette, one insert", "a claim of dibs"
START_TIMEOUT_S = 30.0
JSON_TYPE = "content-type: application/json"


def measure(bench: Bench, seconds: float) -> list[Row]:
    """The rows of this group: both sides for each number of connections, then how they compare; for both disks."""
    rows = _on_disk(bench, seconds, "http", "", {})
    slow = slow_sync.environment(bench)
    title = f", each fsync {slow_sync.LONGER_MS} ms longer"
    if isinstance(slow, str):
        return [*rows, not_measured(GROUP, f"claims a second{title}", slow)]
    return rows + _on_disk(bench, seconds, "http-slow", title, slow)


def _on_disk(bench: Bench, seconds: float, name: str, title: str, environment: dict[str, str]) -> list[Row]:
    folder = bench.workspace(name)
    rounds, lasts = (QUICK_ROUNDS, 0.5) if bench.quick else (ROUNDS, min(seconds, 2.0))
    rows: list[Row] = []
    with serving(folder, environment), _bare(bench, name, environment) as bare:
        about = serve_file.read(f"{folder}/.dibs/local")
        assert about is not None, "it serves"
        ports = {BARE: bare, DIBS: int(about["url"].rpartition(":")[2])}
        plans = _plans(folder, max(CONNECTIONS))
        for number in CONNECTIONS:
            bench.say(f"http: {number} connections, {rounds} rounds of {lasts:g} s for each side{title}")
            taken: dict[str, list[dict[str, float]]] = {side: [] for side in ports}
            for place in range(rounds + 1):  # the first fills caches
                for side, port in list(ports.items())[:: 1 if place % 2 else -1]:
                    taken[side].append(_load(port, number, lasts if place else 0.1, plans[side]))
            rows += _rows(number, title, {side: figures[1:] for side, figures in taken.items()})
    return rows


def _rows(number: int, title: str, taken: dict[str, list[dict[str, float]]]) -> list[Row]:
    many = f"{number} connection{'' if number == 1 else 's'}{title}"
    rows = [
        Row(GROUP, f"{many}: {side}", median([one["rate"] for one in figures]), "/s",
            more={f"{name}_ms": median([one[name] for one in figures]) for name in ("p50", "p99")})
        for side, figures in taken.items()
    ]  # fmt: skip
    pairs = zip(taken[DIBS], taken[BARE], strict=True)
    ratio = median([one["rate"] / other["rate"] for one, other in pairs])
    best = max(one["rate"] for one in taken[DIBS]) / max(one["rate"] for one in taken[BARE])
    return [
        *rows,
        Row(GROUP, f"{many}: claims a second", ratio, "of bare", target=TARGETS[number], more={"of_best": best}),
    ]


def _plans(folder: str, number: int) -> dict[str, dict[str, Any]]:
    """What each side is sent: the same bodies; dibs wants a credential of each caller as well."""
    names = [f"agent{place}" for place in range(number)]
    with dibs.open(folder) as opened:
        tokens = [opened.token_new(agent=name)["token"] for name in names]
    bodies = [json.dumps({"resources": [f"src/{name}/f{os.getpid()}_%d.py"], "as": name}) for name in names]
    plan: dict[str, Any] = {"path": "/v1/claim", "body": bodies}
    return {
        BARE: {**plan, "headers": [[JSON_TYPE] for _ in names]},
        DIBS: {**plan, "headers": [[JSON_TYPE, f"authorization: Bearer {token}"] for token in tokens]},
    }


_sent: dict[int, int] = {}  # requests that a port has had: every claim is of a new file


def _load(port: int, connections: int, seconds: float, plan: dict[str, Any]) -> dict[str, float]:
    """One round, in a process of its own."""
    _sent[port] = _sent.get(port, 0) + 1
    bodies = [body.replace("%d", f"{_sent[port]}_%d") for body in plan["body"]]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.http_load", str(port), str(connections), str(seconds)],
        input=json.dumps({**plan, "body": bodies}), capture_output=True, text=True, check=False, timeout=seconds + 60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, float] = json.loads(done.stdout)
    return found


@contextlib.contextmanager
def _bare(bench: Bench, name: str, environment: dict[str, str]) -> Iterator[int]:
    """The other side, on a port of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    words = [sys.executable, "-m", "benchmarks.http_bare", str(port), f"{bench.sub(f'{name}-bare')}/claims.db"]
    server = subprocess.Popen(words, stdin=subprocess.DEVNULL, env={**os.environ, **environment})
    try:
        end = time.monotonic() + START_TIMEOUT_S
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert server.poll() is None, "the bare server did not start"
            assert time.monotonic() < end, "the bare server does not answer"
            time.sleep(0.05)
        yield port
    finally:
        server.terminate()
        server.wait(30)
