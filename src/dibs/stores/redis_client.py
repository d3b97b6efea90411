"""A connection to Redis through redis-py, for processes that live longer: TLS, ACL users, Sentinel, Unix sockets.

`redis://`, `rediss://` (TLS) and `unix://` as redis-py reads them; `redis+sentinel://HOST:PORT,HOST:PORT/NAME` asks the
sentinels for the primary of that name, again after each loss. One connection is pinned for questions and answers; a
second one waits for wakes.
"""

from __future__ import annotations

import redis
from redis.sentinel import MasterNotFoundError, Sentinel

from dibs.stores.redis_wire import Lost, Said, run_id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SENTINEL = "redis+sentinel"
SENTINEL_PORT = 26379
BROKEN = (redis.ConnectionError, redis.TimeoutError, OSError)


class ClientWire:
    """One pinned connection; opened again when it broke."""

    def __init__(self, url: str, timeout: float) -> None:
        self.url, self._timeout = url, timeout
        self._options = {"socket_timeout": timeout, "socket_connect_timeout": timeout}
        self._client: Any = None
        self._connection: Any = None
        self.run_id = ""

    def call(self, *words: Any) -> Any:
        """Send one command and give its answer."""
        if self._connection is None:
            self._connect()
        return self._exchange(words)

    def wait(self, name: str, timeout: float) -> bool:
        """Wait for a push to the list `name`."""
        return self._waiting(("BLPOP", name, f"{max(0.001, timeout):.3f}"), timeout) is not None

    def block(self, command: str, timeout: float, *words: Any) -> Any:
        """A command that blocks for some milliseconds."""
        return self._waiting((command, "BLOCK", str(max(1, int(timeout * 1000))), *words), timeout)

    def _waiting(self, words: tuple[Any, ...], timeout: float) -> Any:
        """On another connection of the pool: the pinned one stays free for questions."""
        if self._connection is None:
            self._connect()
        pool = self._client.connection_pool
        try:
            connection = pool.get_connection()
            try:
                connection.send_command(*words)
                return connection.read_response(timeout=timeout + self._timeout)
            except BaseException:
                connection.disconnect()  # its answer may still be on the way
                raise
            finally:
                pool.release(connection)
        except BROKEN as error:
            raise Lost(str(error)) from None

    def close(self) -> None:
        """Close all."""
        if self._connection is not None:
            self._connection.disconnect()
            self._connection = None
        if self._client is not None:
            self._client.close()
            self._client = None

    def _connect(self) -> None:
        try:
            self._client = self._open()
            self._connection = self._client.connection_pool.get_connection()
            self._connection.connect()
        except redis.AuthenticationError as error:
            self.close()
            raise Said(f"WRONGPASS {error}") from None
        except (*BROKEN, MasterNotFoundError) as error:
            self.close()
            raise Lost(str(error)) from None
        except redis.ResponseError as error:
            self.close()
            raise Said(str(error)) from None
        self.run_id = run_id_of(self._exchange(("INFO", "server")))

    def _open(self) -> Any:
        if not self.url.startswith(f"{SENTINEL}://"):
            return redis.Redis.from_url(self.url, **self._options)
        hosts, name, password = _sentinels(self.url)
        return Sentinel(hosts, **self._options).master_for(name, password=password or None, **self._options)

    def _exchange(self, words: tuple[Any, ...]) -> Any:
        connection = self._connection
        try:
            connection.send_command(*words)
            return connection.read_response()
        except BROKEN as error:
            self.close()
            raise Lost(str(error)) from None
        except redis.ResponseError as error:
            raise Said(str(error)) from None
        except BaseException:  # interrupted between question and answer: the next answer would be the wrong one
            self.close()
            raise


def _sentinels(url: str) -> tuple[list[tuple[str, int]], str, str]:
    """`redis+sentinel://[:PASSWORD@]HOST:PORT,HOST:PORT/NAME`."""
    rest = url.partition("://")[2]
    credentials, _, place = rest.rpartition("@")
    hosts, _, name = place.partition("/")
    found = []
    for host in hosts.split(","):
        address, _, port = host.partition(":")
        found.append((address, int(port) if port.isdigit() else SENTINEL_PORT))
    return found, name or "mymaster", credentials.partition(":")[2]
