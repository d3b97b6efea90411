"""A connection to Redis for a process that lives for milliseconds: hiredis over a plain socket.

It uses the C modules directly (`_socket`, `hiredis`): the packages around them cost more than the call. No TLS, no
Sentinel, no pool: redis_client.py has those.
"""

from __future__ import annotations

import _socket

from hiredis import HiredisError, Reader, pack_command

from dibs.stores.redis_wire import Lost, Said, run_id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PORT = 6379
CHUNK = 65_536  # bytes read at once


class PlainWire:
    """One socket; opened again when it broke."""

    def __init__(self, url: str, timeout: float) -> None:
        self.url, self._timeout = url, timeout
        self._where, self._user, self._password, self._database = _parse(url)
        self._socket: Any = None
        self._reader: Any = None
        self._other: PlainWire | None = None
        self.run_id = ""

    def call(self, *words: Any) -> Any:
        """Send one command and give its answer."""
        if self._socket is None:
            self._connect()
        return self._exchange(words)

    def wait(self, name: str, timeout: float) -> bool:
        """Wait for a push to the list `name`."""
        return self._waiting(("BLPOP", name, f"{max(0.001, timeout):.3f}"), timeout) is not None

    def block(self, command: str, timeout: float, *words: Any) -> Any:
        """A command that blocks for some milliseconds."""
        return self._waiting((command, "BLOCK", str(max(1, int(timeout * 1000))), *words), timeout)

    def _waiting(self, words: tuple[Any, ...], timeout: float) -> Any:
        """On a connection of its own, kept for the next wait: the other stays free for questions."""
        if self._other is None:
            self._other = PlainWire(self.url, self._timeout)
        other = self._other
        if other._socket is None:
            other._connect()
        other._socket.settimeout(timeout + self._timeout)
        return other._exchange(words)

    def close(self) -> None:
        """Close the sockets."""
        if self._other is not None:
            self._other.close()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connect(self) -> None:
        family, address = self._where
        try:
            if family is None:
                family, address = _resolve(*address)
            self._socket = _socket.socket(family, _socket.SOCK_STREAM)
            self._socket.settimeout(self._timeout)
            self._socket.connect(address)
            if family != _socket.AF_UNIX:
                self._socket.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
        except OSError as error:
            self.close()
            raise Lost(error.strerror or str(error)) from None
        self._reader = Reader()
        if self._password:
            self._exchange(("AUTH", *([self._user] if self._user else []), self._password))
        if self._database:
            self._exchange(("SELECT", self._database))
        self.run_id = run_id_of(self._exchange(("INFO", "server")))

    def _exchange(self, words: tuple[Any, ...]) -> Any:
        try:
            self._socket.sendall(pack_command(words))
            while True:
                answer = self._reader.gets()
                if answer is not False:
                    break
                data = self._socket.recv(CHUNK)
                if not data:
                    message = "the server closed the connection"
                    raise OSError(message)
                self._reader.feed(data)
        except (OSError, HiredisError) as error:
            self.close()
            raise Lost(str(error)) from None
        except BaseException:  # interrupted between question and answer: the next answer would be the wrong one
            self.close()
            raise
        if isinstance(answer, Exception):
            raise Said(str(answer))
        return answer


def _parse(url: str) -> tuple[tuple[Any, Any], str, str, str]:
    """Where to, user, password, database: `redis://user:password@host:port/db`, `unix:///path?db=N`."""
    scheme, _, rest = url.partition("://")
    rest, _, query = rest.partition("?")
    options = dict(part.partition("=")[::2] for part in query.split("&") if part)
    credentials, at, place = rest.rpartition("@")
    user, _, password = credentials.partition(":") if at else ("", "", "")
    if scheme == "unix":
        return (_socket.AF_UNIX, _plain(place)), _plain(user), _plain(password), options.get("db", "")
    place, _, database = place.partition("/")
    host, port = place, PORT
    if place.startswith("["):
        host, _, after = place[1:].partition("]")
        port = int(after[1:] or PORT) if after[1:].isdigit() or not after[1:] else PORT
    elif ":" in place:
        host, _, number = place.rpartition(":")
        port = int(number) if number.isdigit() else PORT
    database = database or options.get("db", "")
    return (None, (host or "localhost", port)), _plain(user), _plain(password), "" if database == "0" else database


def _resolve(host: str, port: int) -> tuple[int, Any]:
    found = _socket.getaddrinfo(host, port, 0, _socket.SOCK_STREAM)
    family, _, _, _, address = found[0]
    return family, address


def _plain(text: str) -> str:
    """Text of a URL with its %XX spelt out."""
    if "%" not in text:
        return text
    from urllib.parse import unquote

    return unquote(text)
