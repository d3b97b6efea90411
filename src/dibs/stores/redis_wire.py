"""What a connection to a Redis server is to the engine, and how its errors are said. Two kinds offer it.

redis_plain.py is hiredis over a plain socket: importing redis-py costs more than all of a hook, and an answer through it
takes twice as long. redis_client.py is redis-py, for TLS and for Sentinel.
"""

from __future__ import annotations

from dibs.errors import DibsError, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Wire(Protocol):
        """One connection to one server. Its run id is that of the server it is connected to now."""

        url: str
        run_id: str

        def call(self, *words: Any) -> Any:
            """Send one command and give its answer. Raises Lost when the connection broke: the outcome is unknown."""

        def wait(self, name: str, timeout: float) -> bool:
            """Wait, on a connection of its own, until somebody pushes to the list `name`."""

        def block(self, command: str, timeout: float, *words: Any) -> Any:
            """Send a command that blocks, on a connection of its own."""

        def close(self) -> None: ...


PLAIN = ("redis", "unix")  # schemes that need no library


class Lost(Exception):
    """The connection broke, or no answer came in time; whether the server did what it was asked is not known."""


class Said(Exception):
    """The server answered with an error."""


def open_wire(url: str, timeout: float) -> Wire:
    """A way to the server that a URL names; it connects with the first question."""
    if url.partition(":")[0] in PLAIN:
        from dibs.stores.redis_plain import PlainWire

        return PlainWire(url, timeout)
    from dibs.stores.redis_client import ClientWire

    return ClientWire(url, timeout)


def hidden(url: str) -> str:
    """A URL without its password, for people to read."""
    scheme, mark, rest = url.partition("://")
    credentials, at, place = rest.rpartition("@")
    if not at:
        return url
    user, colon, _ = credentials.partition(":")
    return f"{scheme}{mark}{user}{':…' if colon else ''}@{place}"


def plain(error: Exception, url: str) -> DibsError:
    """An error of the server or of the way to it, as dibs says it."""
    text, where = str(error), hidden(url)
    word = text.partition(" ")[0]
    if word in {"NOAUTH", "WRONGPASS", "NOPERM"} or "invalid password" in text or "without any password" in text:
        message = f"{where} does not let dibs in ({text}). Check user and password in the URL. Nothing was changed."
        return Unavailable(message, store=where, auth=True)
    if word == "READONLY":
        message = f"{where} is a replica that takes no writes; name the primary, or Sentinel. Nothing was changed."
        return Unavailable(message, store=where, readonly=True)
    if word in {"OOM", "MISCONF", "NOREPLICAS", "LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN"}:
        return Unavailable(f"{where} cannot write now: {text}. Nothing was changed.", store=where)
    if word == "WRONGTYPE":
        message = f"{where} has keys of this workspace that something else wrote ({text}). Nothing was changed."
        return Unavailable(message, store=where, foreign=True)
    if isinstance(error, Lost):
        return Unavailable(f"{where} cannot be reached: {text}.", store=where, unreachable=True)
    return Unavailable(f"{where}: {text}. Nothing was changed.", store=where)


def run_id_of(info: Any) -> str:
    """The run id in the answer to `INFO server`; refuses what is no Redis, or one too old for the scripts."""
    text = info.decode(errors="replace") if isinstance(info, bytes) else ""
    lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    version = lines.get("valkey_version") or lines.get("redis_version", "")
    if not lines.get("run_id") or not version:
        message = "ERR it does not answer as a Redis server does"
        raise Said(message)
    if int(version.partition(".")[0]) < OLDEST:
        message = f"ERR it is version {version}; dibs needs {OLDEST} or later"
        raise Said(message)
    return lines["run_id"]


OLDEST = 6  # Redis 5 replicates scripts word by word, and a script that asks for the time may not write there
