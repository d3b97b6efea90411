"""A claim by an MCP tool: on stdio as a client starts it, and over HTTP at a running server.

Measured as a client sees it: from the request's line to the answer's, of the newest era. The target is a twentieth of
what a reservation of mcp_agent_mail took on the machine where it was measured, 125 ms, so it is a time and no ratio.
"""

from __future__ import annotations

import http.client
import json
import subprocess
from typing import TYPE_CHECKING, Any

from benchmarks.figures import AT_MOST, Row, Target, alternate, bursts, median, not_measured, spread
from benchmarks.place import script
from dibs.interfaces.install import mcp_entries

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.figures import Burst
    from benchmarks.place import Bench

GROUP = "mcp"
STDIO, HTTP = "claim tool on stdio", "claim tool over HTTP"
TARGET = Target(AT_MOST, 125 / 20, of="value")
BURST = 10
ERA = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": ERA,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}


def measure(bench: Bench) -> list[Row]:
    """The rows of this group."""
    if not mcp_entries.is_offered():
        return [not_measured(GROUP, STDIO, "the SDK is not installed")]
    rounds = bench.count(60, 5)
    bench.say(f"mcp: {rounds * BURST} claims of each")
    folder = bench.workspace("mcp")
    command = [script(), "mcp"]
    about = json.loads(subprocess.check_output([script(), "serve", "--detach", "--json"], cwd=folder))
    try:
        with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            taken = alternate({STDIO: _stdio(server), HTTP: _http(about)}, rounds, BURST)
            server.communicate(timeout=60)
    finally:
        subprocess.run([script(), "serve", "--stop"], cwd=folder, check=True, capture_output=True, timeout=60)
    note = "1/20 of 125 ms, mcp_agent_mail's reservation"
    return [
        Row(GROUP, name, median(times) / 1000, "ms", target=TARGET, note=note, more=spread(times, 1000))
        for name, times in taken.items()
    ]


def _body(number: int, where: str) -> str:
    """The request of one claim, of a file of its own."""
    given = {"resources": [f"src/pkg{number % 50}/{where}{number}.py"]}
    params = {"name": "claim", "arguments": given, "_meta": META}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})


def _granted(text: str | bytes) -> None:
    answer: dict[str, Any] = json.loads(text)
    assert answer["result"]["structuredContent"]["ok"], answer


def _stdio(server: subprocess.Popen[str]) -> Burst:
    assert server.stdin is not None
    assert server.stdout is not None
    to, back = server.stdin, server.stdout

    def prepare(number: int) -> Callable[[], object]:
        line = _body(number, "a") + "\n"

        def ask() -> None:
            to.write(line)
            to.flush()
            _granted(back.readline())

        return ask

    return bursts(prepare)


def _http(about: dict[str, Any]) -> Burst:
    with open(about["token_file"], encoding="utf-8") as file:
        token = file.read().strip()
    host, _, port = about["url"].removeprefix("http://").rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    headers = {
        "Authorization": f"Bearer {token}", "Content-Type": "application/json", "Mcp-Protocol-Version": ERA,
        "Accept": "application/json, text/event-stream", "Mcp-Method": "tools/call", "Mcp-Name": "claim",
    }  # fmt: skip

    def prepare(number: int) -> Callable[[], object]:
        body = _body(number, "b")

        def ask() -> None:
            connection.request("POST", "/mcp", body, headers)
            _granted(connection.getresponse().read())

        return ask

    return bursts(prepare)
