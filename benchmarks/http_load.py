"""Load over HTTP: N connections, each with one request after the other, as fast as answers come. A process of its own.

`python -m benchmarks.http_load PORT CONNECTIONS SECONDS < PLAN`, where PLAN is a JSON object: `path`, `headers` (a list
for each connection) and `body` (a text for each connection, in which `%d` is the number of the request). Prints one
JSON object: requests a second and percentiles in milliseconds.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

import uvloop

WARM_S = 0.5


async def connection(port: int, head: str, body: str, until: float, times: list[tuple[float, float]]) -> None:
    """One connection: request after request until the time is over."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    number = 0
    while time.perf_counter() < until:
        number += 1
        content = body.replace("%d", str(number)).encode()
        began = time.perf_counter()
        writer.write(f"{head}content-length: {len(content)}\r\n\r\n".encode() + content)
        first = await reader.readuntil(b"\r\n\r\n")
        status = int(first[9:12])
        length = next(int(line[15:]) for line in first.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        got = await reader.readexactly(length)
        if status != 200:  # noqa: PLR2004 - a benchmark of refusals would be a benchmark of something else
            raise SystemExit(f"{status}: {got[:300]!r}")
        times.append((began, time.perf_counter()))
    writer.close()


async def main() -> None:
    """Run all connections, print the figures."""
    port, count, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    plan: dict[str, Any] = json.load(sys.stdin)
    begin = time.perf_counter()
    until = begin + WARM_S + seconds
    times: list[tuple[float, float]] = []
    first = [f"POST {plan['path']} HTTP/1.1", f"host: 127.0.0.1:{port}"]
    heads = ["\r\n".join([*first, *plan["headers"][n], ""]) for n in range(count)]
    await asyncio.gather(*[connection(port, heads[n], plan["body"][n], until, times) for n in range(count)])
    taken = sorted(end - start for start, end in times if start >= begin + WARM_S)
    rate = len(taken) / seconds
    taken = taken or [end - start for start, end in times]  # a short round on a busy machine
    shown = {f"p{part}": round(taken[min(len(taken) - 1, len(taken) * part // 100)] * 1000, 3) for part in (50, 99)}
    sys.stdout.write(json.dumps({"rate": rate, **shown}) + "\n")


if __name__ == "__main__":
    uvloop.run(main())
