"""A connection to Redis for a process that lives for milliseconds: hiredis over a plain socket.

It uses the C modules directly (`_socket`, `hiredis`): the packages around them cost more than the call. No TLS, no
Sentinel, no pool: client.py has those.
"""

from __future__ import annotations

import _socket
import sys

from dibs.errors import Unavailable

try:
    from hiredis import HiredisError, Reader, pack_command
except ImportError as error:  # here, because every command and hook passes here first
    from dibs.machine import extras

    raise Unavailable(f"this store needs {extras.advice('redis')}: {error}") from None

from dibs.stores.redis.wire import NOT_A_REDIS_SERVER, Connection, ConnectionLost, ServerDown, ServerError
from dibs.stores.urls import hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.stores.redis.wire import Word

DEFAULT_PORT, MAX_PORT = 6379, 65_535
INFO_COMMANDS = b"*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n*2\r\n$4\r\nINFO\r\n$11\r\nreplication\r\n"  # both in one trip
CHUNK_BYTES = 65_536  # bytes read at once


class PlainWire(Connection):
    """One socket, reopened when it breaks."""

    def __init__(self, url: str, timeout: float) -> None:
        self.url, self._timeout = url, timeout
        self._where, self._user, self._password, self._database = parse(url)
        self._socket: Any = None
        self._reader: Any = None
        self._others: list[PlainWire] = []  # idle connections for waits
        super().__init__()

    def _waiting(self, words: tuple[Word, ...], timeout: float) -> Any:
        """Use a separate connection, kept for the next wait: the main one stays free for commands."""
        idle = self._others
        try:
            other = idle.pop()
        except IndexError:  # one for each waiting thread
            other = PlainWire(self.url, self._timeout)
        try:
            if not other._connected or other._asking:
                other._connect()
            other._limit(timeout + self._timeout)
            answer = other._exchange(words)
        except BaseException:
            other.close()
            raise
        if self._others is idle:
            idle.append(other)
        else:  # closed meanwhile
            other.close()
        return answer

    def close(self) -> None:
        """Close the sockets."""
        idle, self._others = self._others, []
        while idle:
            idle.pop().close()
        self._drop()

    def _drop(self) -> None:
        self.run_id = ""
        self._connected = False
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connect(self) -> None:
        self._drop()
        self._asking = False
        try:
            self._open()
            self._reader = Reader()
            if self._password:
                self._exchange(("AUTH", *([self._user] if self._user else []), self._password))
            if self._database:
                self._exchange(("SELECT", self._database))
            self._identify()
            self._connected = True
        except BaseException:  # an incomplete handshake is no connection
            self._drop()
            raise

    def _open(self) -> None:
        """A socket to the first address that accepts."""
        family, address = self._where
        try:
            places = [(family, address)] if family is not None else _resolve(*address)
        except (OSError, UnicodeError) as error:  # no such host, or not a host name
            raise ConnectionLost(getattr(error, "strerror", None) or str(error)) from None
        failed: Exception = OSError("no address")
        for kind, place in places:
            self._socket = _socket.socket(kind, _socket.SOCK_STREAM)
            self._socket.settimeout(self._timeout)
            try:
                self._socket.connect(place)
                if kind != _socket.AF_UNIX:
                    self._socket.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
                self._limit(self._timeout)
            except OSError as error:
                failed = error
                self._drop()
            else:
                return
        lost = ServerDown if isinstance(failed, (ConnectionRefusedError, FileNotFoundError)) else ConnectionLost
        raise lost(getattr(failed, "strerror", None) or str(failed)) from None

    def _limit(self, seconds: float) -> None:
        """Set the timeout of one command, in the kernel: this saves a poll before each read."""
        whole = int(seconds)
        time = whole.to_bytes(8, sys.byteorder) + int((seconds - whole) * 1e6).to_bytes(8, sys.byteorder)
        try:
            for option in (_socket.SO_RCVTIMEO, _socket.SO_SNDTIMEO):
                self._socket.setsockopt(_socket.SOL_SOCKET, option, time)
        except (OSError, AttributeError):  # a machine with another layout of struct timeval
            self._socket.settimeout(seconds)
        else:
            self._socket.settimeout(None)

    def _identify(self) -> None:
        try:
            self._asking = True
            self._socket.sendall(INFO_COMMANDS)
            server, replication = self._answer(), self._answer()
            self._asking = False
        except HiredisError as error:
            self._drop()
            raise ServerError(f"{NOT_A_REDIS_SERVER} ({error})") from None
        except OSError as error:
            self._drop()
            raise ConnectionLost(_why(error)) from None
        self._name(server, replication)

    def _answer(self) -> Any:
        while True:
            answer = self._reader.gets()
            if answer is not False:
                return answer
            data = self._socket.recv(CHUNK_BYTES)
            if not data:
                message = "the server closed the connection"
                raise OSError(message)
            self._reader.feed(data)

    def _exchange(self, words: tuple[Word, ...]) -> Any:
        try:
            self._asking = True
            self._socket.sendall(pack_command(words))  # type: ignore[arg-type] # any number of words
            answer = self._answer()
            self._asking = False
        except HiredisError as error:
            known = bool(self.run_id)
            self._drop()
            if not known:
                raise ServerError(f"{NOT_A_REDIS_SERVER} ({error})") from None
            raise ConnectionLost(str(error)) from None
        except OSError as error:
            self._drop()
            raise ConnectionLost(_why(error)) from None
        except BaseException:  # interrupted between command and answer: the next answer read would be this one's
            self._drop()
            raise
        if isinstance(answer, Exception):
            text = str(answer)
            if text.startswith("READONLY"):
                self._drop()  # it became a replica; ask for its run id again once it is a primary
            raise ServerError(text)
        return answer


def parse(url: str) -> tuple[tuple[Any, Any], str, str, str]:
    """Address, user, password, database: `redis://user:password@host:port/db`, `unix:///path?db=N`."""
    scheme, _, rest = url.partition("://")
    rest, _, query = rest.partition("?")
    options = dict(part.partition("=")[::2] for part in query.split("&") if part)
    credentials, at, place = rest.rpartition("@")
    user, _, password = credentials.partition(":") if at else ("", "", "")
    if scheme == "unix":
        return (_socket.AF_UNIX, _plain(place)), _plain(user), _plain(password), options.get("db", "")
    place, _, database = place.partition("/")
    host, colon, number = place.rpartition(":")
    if not colon or place.endswith("]"):
        host, number = place, ""
    port = int(number) if number.isdigit() else DEFAULT_PORT
    if (number and not number.isdigit()) or not 0 < port <= MAX_PORT:
        where = hidden(url)
        raise Unavailable(f"{where}: {number} is no port. Nothing was changed.", store=where)
    host = host.removeprefix("[").removesuffix("]")
    database = database or options.get("db", "")
    return (None, (host or "localhost", port)), _plain(user), _plain(password), "" if database == "0" else database


def _resolve(host: str, port: int) -> list[tuple[int, Any]]:
    # As bytes: for text, Python loads what it knows of names in other alphabets, which takes longer than a whole hook.
    name = host.encode() if host.isascii() else host
    return [(found[0], found[4]) for found in _socket.getaddrinfo(name, port, 0, _socket.SOCK_STREAM)]


def _why(error: OSError) -> str:
    """The text for a command without an answer; a kernel timeout looks like "no data yet"."""
    return "timed out" if isinstance(error, BlockingIOError) else str(error)


def _plain(text: str) -> str:
    """Text of a URL with its %XX spelt out."""
    if "%" not in text:
        return text
    from urllib.parse import unquote

    return unquote(text)
