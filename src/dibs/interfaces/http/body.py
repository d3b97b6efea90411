"""A request's body: read up to a limit and within a time, then as strict JSON.

Strict: UTF-8, one object, no name twice, no NaN or infinity, no number that turns into one, no deep nesting.
"""

from __future__ import annotations

import asyncio
import json
from math import isinf

from dibs.client.json_input import no_constant, no_repeated_names
from dibs.errors import Invalid
from dibs.interfaces.http.replies import Refusal, caller_gone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.http.replies import Receive

READ_TIMEOUT_S = 10.0  # for the whole body: a caller that sends a byte a second is not served
TOO_LARGE, TIMEOUT, BAD = 413, 408, 400
MAX_DEPTH = 64  # of objects and lists; a plain value of dibs has fewer


async def read(receive: Receive, headers: dict[bytes, bytes], limit: int) -> bytes:
    """The body, or a refusal: too large, or too slow."""
    said = headers.get(b"content-length", b"")
    if said.isdigit() and (len(said) > len(str(limit)) or int(said) > limit):
        raise _too_large(limit)
    message = await receive()  # the connection itself is cut if nothing comes (wire.py)
    first = message.get("body", b"")
    if message["type"] == "http.request" and not message.get("more_body") and len(first) <= limit:
        return bytes(first)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(READ_TIMEOUT_S):
            while True:
                if message["type"] == "http.disconnect":
                    raise caller_gone()
                part = message.get("body", b"")
                size += len(part)
                if size > limit:
                    raise _too_large(limit)
                parts.append(part)
                if not message.get("more_body"):
                    return b"".join(parts)
                message = await receive()
    except TimeoutError:
        why = Invalid(f"the body did not come within {READ_TIMEOUT_S:g} s", field="body")
        raise Refusal(TIMEOUT, why, [(b"connection", b"close")]) from None


def _too_large(limit: int) -> Refusal:
    """Told at once. The connection stays: what the caller still sends is passed over (wire.py limits how long).

    A caller that sends all before it reads would find a closed connection, not the refusal.
    """
    return Refusal(TOO_LARGE, Invalid(f"body: at most {limit} bytes", field="body"))


def parse(body: bytes) -> dict[str, object]:
    """The object that the body is."""
    try:
        value = DECODER.decode(body.decode())
        _check_depth(value)
    except UnicodeDecodeError:
        raise _bad("not UTF-8") from None
    except RecursionError:
        raise _bad("nested too deeply") from None
    except ValueError as error:
        why = "a number has too many digits" if "digits" in str(error) else str(error)[:100]
        raise _bad(f"not JSON ({why})") from None
    if not isinstance(value, dict):
        raise _bad("a request is a JSON object")
    return value


def _bad(what: str) -> Refusal:
    return Refusal(BAD, Invalid(f"body: {what}", field="body"))


def _finite(text: str) -> float:
    value = float(text)
    if isinf(value):
        message = "a number is too large"
        raise ValueError(message)
    return value


DECODER = json.JSONDecoder(parse_constant=no_constant, parse_float=_finite, object_pairs_hook=no_repeated_names)


def _check_depth(value: object) -> None:
    """Refuse what is nested deeper than anything that dibs keeps, before anything walks through it."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for one in level
            if isinstance(one, (dict, list))
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return
    message = f"nested deeper than {MAX_DEPTH}"
    raise ValueError(message)
