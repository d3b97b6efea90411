"""A connection to Redis through redis-py, for long-lived processes: TLS, ACL users, Sentinel, Unix sockets.

`redis://`, `rediss://` (TLS) and `unix://` as redis-py reads them; `redis+sentinel://HOST:PORT,HOST:PORT/NAME` asks the
sentinels for the primary of that name, and again after each lost connection. One connection is pinned for commands; a
second one waits for wakes.
"""

from __future__ import annotations

from urllib.parse import unquote

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel

from dibs.stores.redis.wire import NOT_A_REDIS_SERVER, Connection, ConnectionLost, ServerError
from dibs.stores.urls import without_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.stores.redis.wire import Word

SENTINEL = "redis+sentinel"
SENTINEL_PORT = 26379
ERROR_WORDS = (
    (redis.exceptions.NoScriptError, "NOSCRIPT"),
    (redis.ReadOnlyError, "READONLY"),
    (redis.exceptions.NoPermissionError, "NOPERM"),
    (redis.OutOfMemoryError, "OOM"),
    (redis.exceptions.TryAgainError, "TRYAGAIN"),
    (redis.exceptions.MasterDownError, "MASTERDOWN"),
    (redis.exceptions.ClusterDownError, "CLUSTERDOWN"),
)
CONNECTION_ERRORS = (redis.ConnectionError, redis.TimeoutError, OSError)


class ClientWire(Connection):
    """One pinned connection, reopened when it breaks."""

    def __init__(self, url: str, timeout: float) -> None:
        self.url, self._timeout = url, timeout
        self._options: dict[str, Any] = {
            "socket_timeout": timeout,
            "socket_connect_timeout": timeout,
            "retry": Retry(NoBackoff(), 0),  # the engine retries, until its timeout
            "protocol": 2,  # answers of the same shape as those over the plain socket
        }
        self._client: list[Any] = []  # the pinned connection's pool, and the one that asks the sentinels
        self._other: list[Any] = []  # the same for waiters, which may be several threads
        self._connection: Any = None
        super().__init__()

    def _waiting(self, words: tuple[Word, ...], timeout: float) -> Any:
        """Use a connection of another pool: the pinned one stays free for commands, and each may break alone."""
        try:
            if not self._other:
                self._other = self._open()
            pool = self._other[0].connection_pool
            connection = pool.get_connection()
            try:
                connection.send_command(*words)
                return connection.read_response(timeout=timeout + self._timeout)
            except BaseException:
                connection.disconnect()  # its answer may still be in flight
                raise
            finally:
                pool.release(connection)
        except CONNECTION_ERRORS as error:
            raise ConnectionLost(str(error)) from None
        except redis.RedisError as error:
            raise _said(error) from None

    def close(self) -> None:
        """Close all."""
        self._drop()
        for one in self._other:
            one.close()
        self._other = []

    def _drop(self) -> None:
        """Close the pinned connection."""
        self.run_id = ""
        self._connected = False
        if self._connection is not None:
            self._connection.disconnect()
            self._connection = None
        for one in self._client:
            one.close()
        self._client = []

    def _identify(self) -> None:
        said: list[Any] = []
        for section in ("server", "replication"):
            try:
                said.append(self._exchange(("INFO", section)))
            except ServerError as error:
                said.append(error)
        self._name(*said)

    def _connect(self) -> None:
        self._drop()
        self._asking = False
        try:
            self._client = self._open()
            self._connection = self._client[0].connection_pool.get_connection()
            self._connection.connect()
        except redis.AuthenticationError as error:
            self._drop()
            raise ServerError(f"WRONGPASS {error}") from None
        except (*CONNECTION_ERRORS, MasterNotFoundError) as error:
            self._drop()
            raise ConnectionLost(str(error)) from None
        except redis.RedisError as error:
            self._drop()
            raise _said(error) from None
        except ValueError as error:
            self._drop()
            raise ServerError(f"ERR {error}") from None
        try:
            self._identify()
            self._connected = True
        except BaseException:  # an incomplete handshake is no connection
            self._drop()
            raise

    def _open(self) -> list[Any]:
        if not self.url.startswith(f"{SENTINEL}://"):
            return [redis.Redis.from_url(without_option(self.url, "expire"), **self._options)]
        hosts, name, user, password = _sentinels(without_option(self.url, "expire"))
        sentinel: Any = Sentinel(hosts, sentinel_kwargs=self._options)  # type: ignore[no-untyped-call]
        primary = sentinel.master_for(name, username=user or None, password=password or None, **self._options)
        return [primary, *sentinel.sentinels]

    def _exchange(self, words: tuple[Word, ...]) -> Any:
        connection = self._connection
        try:
            self._asking = True
            connection.send_command(*words)
            answer = connection.read_response()
            self._asking = False
        except CONNECTION_ERRORS as error:
            self._drop()
            raise ConnectionLost(str(error)) from None
        except redis.ReadOnlyError as error:
            self._drop()  # it became a replica; ask for its run id again once it is a primary
            raise _said(error) from None
        except redis.RedisError as error:
            if not isinstance(error, redis.ResponseError):
                self._drop()
            self._asking = False
            raise _said(error) from None
        except BaseException:  # interrupted between command and answer: the next answer read would be this one's
            self._drop()
            raise
        return answer


def _said(error: redis.RedisError) -> ServerError:
    """The server's error with its first word, which redis-py removes."""
    if isinstance(error, redis.InvalidResponse):
        return ServerError(f"{NOT_A_REDIS_SERVER} ({error})")
    for kind, word in ERROR_WORDS:
        if isinstance(error, kind) and not str(error).startswith(word):
            return ServerError(f"{word} {error}")
    return ServerError(str(error))


def _sentinels(url: str) -> tuple[list[tuple[str, int]], str, str, str]:
    """`redis+sentinel://[USER:PASSWORD@]HOST:PORT,HOST:PORT/NAME`."""
    rest = url.partition("://")[2]
    credentials, _, place = rest.rpartition("@")
    hosts, _, name = place.partition("/")
    found = []
    for host in hosts.split(","):
        address, _, port = host.partition(":")
        if port and not port.isdigit():
            raise ValueError(f"{port} is no port")
        found.append((address, int(port or SENTINEL_PORT)))
    user, _, password = credentials.partition(":")
    return found, name or "mymaster", unquote(user), unquote(password)
