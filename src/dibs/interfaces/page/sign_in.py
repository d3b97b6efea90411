"""The address that opens the page of a running server signed in: with a code that counts once (http/sessions.py).

The code is in the fragment, which no browser sends to a server and no log has. A server whose certificate this machine
does not trust gets no token: its page is opened all the same, and asks for one.
"""

from __future__ import annotations

import json
import urllib.request

TIMEOUT_S = 5.0
MAX_REPLY = 4096


def address(url: str, token_file: str) -> str:
    """The page's address, signed in where that can be had; else the plain one, whose form takes a token."""
    try:
        with open(token_file, encoding="ascii") as file:
            token = file.read(MAX_REPLY).strip()
        request = urllib.request.Request(  # noqa: S310 - the address is that of our own server
            f"{url}/session/code", b"{}",
            {"authorization": f"Bearer {token}", "content-type": "application/json"}, method="POST",
        )  # fmt: skip
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=TIMEOUT_S) as reply:
            return f"{url}/#code={json.loads(reply.read(MAX_REPLY))['code']}"
    except (OSError, ValueError, KeyError):
        return f"{url}/"
