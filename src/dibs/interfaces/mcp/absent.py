"""What `dibs mcp` does where the SDK is not installed: a server without tools, which says what is missing.

A client such as Codex does not start at all if a server that it requires does not answer. So this one answers, in the
few words that every era of the protocol needs. `.dibs/hook` has the same in sh, for a machine without dibs.
"""

from __future__ import annotations

import json
import sys

TYPE_CHECKING = False

VERSION = "2025-06-18"
METHOD_NOT_FOUND = -32601
MAX_LINE = 1 << 20  # characters


def serve(why: str) -> None:
    """Answer until stdin is closed."""
    while line := sys.stdin.readline(MAX_LINE):
        answer = _answer(line, why)
        if answer is not None:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


def _answer(line: str, why: str) -> dict[str, object] | None:
    """The answer to a line; None for what is no request."""
    try:
        asked = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(asked, dict) or asked.get("id") is None:
        return None
    base = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked.get("method") == "initialize":
        info = {"name": "dibs", "version": "0"}
        found = {"protocolVersion": VERSION, "capabilities": {"tools": {}}, "serverInfo": info, "instructions": why}
        return {**base, "result": found}
    if asked.get("method") == "tools/list":
        return {**base, "result": {"tools": []}}
    if asked.get("method") == "ping":
        return {**base, "result": {}}
    return {**base, "error": {"code": METHOD_NOT_FOUND, "message": why}}
