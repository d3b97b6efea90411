"""Does an MCP entry start, and does it list tools? The exact command of a client's file is run, as the client would.

For `dibs doctor`: a client says nothing of a server that does not start, its tools are simply not there.
"""

from __future__ import annotations

import json
import os
import subprocess

from dibs.interfaces.mcp.absent import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PROBE_TIMEOUT_S = 30.0  # the SDK's import takes a second, several on a busy machine; clients wait ten or more
INITIALIZE = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "dibs-doctor", "version": "1"}}


def attempt(command: list[str], tree: str) -> tuple[int, str]:
    """How many tools it lists from a working tree; 0 and what is wrong where it lists none."""
    asked = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
    )
    try:
        started = subprocess.Popen(  # noqa: S603 - the very command that the client would run
            command, cwd=tree, env={**os.environ, "PWD": tree}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    except OSError as error:
        return 0, f"{command[0]} cannot be started: {error.strerror}"
    try:
        found, said = _talk(started, asked)
    except subprocess.TimeoutExpired:
        started.kill()
        started.communicate()
        return 0, f"it gave no answer within {PROBE_TIMEOUT_S:.0f} s"
    tools = found.get(2, {}).get("tools")
    if tools:
        return len(tools), ""
    why = found.get(1, {}).get("instructions") or " ".join(said.split())[:300] or "it lists no tools"
    return 0, str(why)


def _talk(started: subprocess.Popen[str], asked: tuple[Mapping[str, object], ...]) -> tuple[dict[int, Any], str]:
    """The results by the requests' numbers, and what it wrote to stderr. One answer at a time, as a client reads."""
    import threading

    found: dict[int, Any] = {}
    over = threading.Event()

    def read() -> None:
        assert started.stdout is not None
        for line in started.stdout:
            try:
                answer = json.loads(line)
            except ValueError:
                continue
            if isinstance(answer, dict) and isinstance(answer.get("id"), int):
                found[answer["id"]] = answer.get("result") or {}
            if 2 in found:  # noqa: PLR2004 - the last request
                break
        over.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    assert started.stdin is not None
    try:
        for message in asked:
            started.stdin.write(json.dumps(message) + "\n")
        started.stdin.flush()
    except OSError:
        pass  # it ended; stderr says why
    if not over.wait(PROBE_TIMEOUT_S):
        raise subprocess.TimeoutExpired(started.args, PROBE_TIMEOUT_S)
    try:
        started.stdin.close()
    except OSError:
        pass
    started.wait(PROBE_TIMEOUT_S)
    assert started.stderr is not None
    assert started.stdout is not None
    with started.stderr, started.stdout:
        return found, started.stderr.read(4096)
