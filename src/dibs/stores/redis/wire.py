"""The connection to a Redis server as the engine sees it, and the texts of its errors. Two modules implement it.

plain_socket.py is hiredis over a plain socket: importing redis-py costs more than a whole hook, and through it a claim
with its release takes a tenth to a third longer, too much for long-lived processes as well: they are at 2.4 of the
2.5 times redis-py's Lock that `python -m benchmarks --only redis` allows. client.py is redis-py, for TLS and Sentinel.
"""

from __future__ import annotations

from dibs.error_subtypes import AccessDenied, Unreachable
from dibs.errors import DibsError, Unavailable
from dibs.machine import clock
from dibs.stores.urls import hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    Word = str | bytes | int | float  # of a command

    class Wire(Protocol):
        """One connection to one server.

        Its run id is that of the server it is connected to now, empty if not connected.
        """

        url: str
        run_id: str
        is_named: bool  # did the server say its run id? Else this is a name that this connection made up
        is_guarded: bool  # may it refuse writes for lack of replicas (min-replicas-to-write)?

        def call(self, *words: Word) -> Any:
            """Send one command and return its answer.

            Raises ConnectionLost when the connection broke: the outcome is unknown.
            """

        def identify(self) -> None:
            """Ask the server for its run id."""

        def wait(self, name: str, timeout: float) -> bool:
            """Wait, on a separate connection, for a push to the list `name`."""

        def block(self, command: str, timeout: float, *words: Word) -> Any:
            """Send a command that blocks, on a separate connection."""

        def close(self) -> None: ...


LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")
SCHEMES_WITHOUT_LIBRARY = ("redis", "unix")  # schemes that need no library


class ConnectionLost(Exception):
    """The connection broke, or no answer came in time; whether the server did what it was asked is not known."""


class ServerDown(ConnectionLost):
    """No server listens there."""


class ServerError(Exception):
    """The server answered with an error."""


class Connection:
    """What both kinds of connection do alike: connect when it is needed, and after an interrupted call."""

    def __init__(self) -> None:
        self.run_id = ""
        self.is_named = self.is_guarded = True
        self._connected = False  # has the handshake completed?
        self._asking = False  # an answer may be in flight: after an interrupted call

    def call(self, *words: Word) -> Any:
        """Send one command and return its answer."""
        if not self._connected or self._asking:
            self._connect()
        return self._exchange(words)

    def wait(self, name: str, timeout: float) -> bool:
        """Wait for a push to the list `name`."""
        return self._waiting(("BLPOP", name, f"{max(0.001, timeout):.3f}"), timeout) is not None

    def block(self, command: str, timeout: float, *words: Word) -> Any:
        """Send a command that blocks for some milliseconds."""
        return self._waiting((command, "BLOCK", str(max(1, int(timeout * 1000))), *words), timeout)

    def identify(self) -> None:
        """Ask the server for its run id."""
        if not self._connected or self._asking:
            self._connect()
        else:
            self._identify()

    def _name(self, server: Any, replication: Any) -> None:
        """Take the server's name from its answers to INFO; a user who may not ask makes one up (epoch.py)."""
        denied = next((said for said in (server, replication) if isinstance(said, Exception)), None)
        if denied is not None and not str(denied).startswith("NOPERM"):
            raise ServerError(str(denied))
        self.is_named = denied is None
        self.is_guarded = denied is not None or "min_slaves_good_slaves" in _lines(replication)
        self.run_id = identity_of(server, replication) if self.is_named else f"unnamed-{clock.random_id()}"

    def _connect(self) -> None:
        raise NotImplementedError

    def _identify(self) -> None:
        raise NotImplementedError

    def _exchange(self, words: tuple[Word, ...]) -> Any:
        raise NotImplementedError

    def _waiting(self, words: tuple[Word, ...], timeout: float) -> Any:
        raise NotImplementedError


def open_wire(url: str, timeout: float) -> Wire:
    """A connection to the server that a URL names; it opens with the first command."""
    if url.partition(":")[0] in SCHEMES_WITHOUT_LIBRARY:
        from dibs.stores.redis.plain_socket import PlainWire

        return PlainWire(url, timeout)
    from dibs.stores.redis.client import ClientWire

    return ClientWire(url, timeout)


def plain(error: Exception, url: str) -> DibsError:
    """Dibs's error for an error of the server or of the connection."""
    text, where = str(error), hidden(url)
    said, _, place = text.rpartition(" script: ")
    if said and "on @" in place:  # the line of the script is for nobody
        text = said
    text = text.rstrip(" .")  # a sentence ends with it here
    word = text.partition(" ")[0]
    if (
        word in {"NOAUTH", "WRONGPASS", "NOPERM"}
        or "invalid password" in text
        or "without any password" in text
        or "no permissions" in text
    ):
        message = f"{where} does not let dibs in ({text}). Check user and password in the URL. Nothing was changed."
        return AccessDenied(message, store=where)
    if word == "READONLY":
        message = f"{where} is a replica that takes no writes; name the primary, or Sentinel. Nothing was changed."
        return Unavailable(message, store=where, readonly=True)
    if word in {"MOVED", "ASK"}:
        there = text.rpartition(" ")[2]
        message = (
            f"{where} is a node of a cluster, and another one, {there}, has this workspace's keys. Name that one. "
            "Nothing was changed."
        )
        return Unavailable(message, store=where, node=there)
    if word in {"OOM", "MISCONF", "NOREPLICAS", "LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN"}:
        return Unavailable(f"{where} cannot write now: {text}. Nothing was changed.", store=where)
    if word == "WRONGTYPE":
        message = f"{where} has keys of this workspace that something else wrote ({text}). Nothing was changed."
        return Unavailable(message, store=where, foreign=True)
    if isinstance(error, ConnectionLost):
        return Unreachable(f"{where} cannot be reached: {text}.", store=where)
    return Unavailable(f"{where}: {text}. Nothing was changed.", store=where)


def identity_of(server: Any, replication: Any) -> str:
    """Which server answers: its run id, and the primary it replaced if it was promoted.

    Read from `INFO server` and `INFO replication`. Refuses a server that is not Redis or too old for the scripts. A
    server that was a replica for a while holds another server's data, which its run id alone does not show.
    """
    lines = {**_lines(server), **_lines(replication)}
    version = lines.get("valkey_version") or lines.get("redis_version", "")
    if not lines.get("run_id") or not version:
        raise ServerError(NOT_A_REDIS_SERVER)
    if [int(part) for part in version.split(".")[:2] if part.isdigit()] < MIN_VERSION:
        message = f"ERR it is version {version}; dibs needs {'.'.join(map(str, MIN_VERSION))} or later"
        raise ServerError(message)
    before = lines.get("master_replid2", "").strip("0")
    return f"{lines['run_id']}+{before[:12]}" if before else lines["run_id"]


def _lines(info: Any) -> dict[str, str]:
    text = info.decode(errors="replace") if isinstance(info, bytes) else ""
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


NOT_A_REDIS_SERVER = "ERR it does not answer as a Redis server does"
MIN_VERSION = [6, 2]  # the first that can trim a stream by id (XTRIM MINID)
