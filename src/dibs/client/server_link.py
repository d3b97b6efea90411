"""Requests through a server: what is sent, what each side does, and why nothing is done twice or lost.

The caller's half of a request stays with the caller: it finds the workspace, makes paths canonical, reads rules and
environment, looks at its processes, runs commands. What is sent is the store's half (wire.py has the words):

- the operation's name and its fields; resources are canonical already, and held to their one form on arrival;
- the call: agent, fallback, client, ancestors, request id, kind, typed, session, how, the digest of the rules, what the
  caller knows of processes, and (far) its machine. The policy is not sent: the server reads the config of the caller's
  working tree (near) or its own (far).

The answer is the result, the refusal (raised here as the same class), or `need`: processes of another machine than the
server's, which the caller has to look at. A result with `again` names a command that the caller runs first.

Near (`SocketLink`): a server of the same user on the same machine, over a Unix socket. It is used for what writes; the
caller reads, waits and is woken at the store itself, under a name of its own. If there is no server, or it is of
another build, or it does not answer in time, the caller asks the store itself: both decide by the same record, in the
same transactions, so there is no split.

Far (far_link.py, stores/far/store.py): a server elsewhere, over HTTPS, with a credential. It is asked for everything.

Done once. A request has a name: the connection's id, which the caller makes up, and its number there. The transaction
that decides keeps its answer under this name (operations/core/exchanges.py). So, whatever happens to the server:

| the server | the caller | the record |
| --- | --- | --- |
| is not there, or another build | asks the store; nothing was sent | |
| is another workspace's, of which this one is a copy | is refused before anything is decided, asks the store | |
| dies before the commit | sees the connection end, retries at the store under the same name | decided once, there |
| dies after the commit | the same | the retry gets the first answer |
| stops (SIGSTOP) before it read the request | retries after ANSWER_TIMEOUT_S | the server finds the answer later |
| stops inside its transaction | waits at the gate, as for any stopped process | |
| continues after the retry | has its answer, and has closed the connection | nothing is changed |

A retry comes at once, and never after RETRY_WITHIN_MS, when the record may be gone: then the call is refused.

Interrupted (`withdraws`): a caller that has no answer yet takes the request back by its name (`recall`): what it got is
released, and if it is decided later, it is not done. The server does the same for a caller that has gone before it
could be answered, unless a retry got the answer.
"""

from __future__ import annotations

import os

from dibs import jsontext
from dibs.client import wire
from dibs.client.driver import Driver, StoreLink
from dibs.errors import DibsError, Invalid, Unavailable
from dibs.machine import clock
from dibs.operations.core import index
from dibs.workspace import serve_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket as _socket  # the same classes, with types

    from dibs.client.session import Link, Session
    from dibs.operations.core.call import Call, Fields
    from dibs.operations.core.declare import Operation
    from dibs.stores.seam import Json
else:
    import _socket  # `socket` itself imports selectors and enum

CONNECT_TIMEOUT_S = 0.05  # a Unix socket accepts at once, or its queue is full
ANSWER_TIMEOUT_S = 0.9  # a server that takes longer counts as stopped: the caller opens the store itself
RETRY_WITHIN_MS = 300_000  # operations/core/exchanges.py keeps an answer twice as long
PAUSE_MS = 2_000  # after a failure a program asks the store itself for this long before it tries the server again
MAX_LINE = 4 * 1024 * 1024  # bytes of a request; a longer one goes to the store directly
MAX_ANSWER = 64 * 1024 * 1024
CHUNK = 65_536
TOP = "top"  # the field by which a server refuses a working tree of another workspace


class Lost(Exception):
    """No answer came: it is not known whether the request was decided."""


class Connection:
    """One socket to a server, with at most one request under way."""

    __slots__ = ("id", "number", "socket")

    def __init__(self, path: str) -> None:
        self.id = os.urandom(16).hex()
        self.number = 0
        self.socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            self.socket.settimeout(CONNECT_TIMEOUT_S)
            self.socket.connect(path)
            self.socket.settimeout(ANSWER_TIMEOUT_S)
        except BaseException:
            self.socket.close()
            raise

    def ask(self, line: bytes) -> Json:
        """Send a request and return its answer; raises Lost if none comes."""
        try:
            self.socket.sendall(line)
            parts, size = [], 0
            while True:
                data = self.socket.recv(CHUNK)
                if not data or size > MAX_ANSWER:
                    raise Lost
                parts.append(data)
                size += len(data)
                if data.endswith(b"\n"):
                    return jsontext.decode(b"".join(parts)[:-1].decode())
        except (OSError, ValueError):
            raise Lost from None

    def close(self) -> None:
        """Close it: the server sees that nobody waits for an answer."""
        self.socket.close()


class SocketLink:
    """The store's half of a request, asked of a server on this machine; of the store itself where there is none."""

    def __init__(self, local: str, direct: Link | None = None) -> None:
        self._local = local
        self.direct = direct or StoreLink()
        self._idle: list[Connection] = []  # threads take one each: a list's pop and append are atomic
        self._path = ""
        self._not_before = 0  # by the monotonic clock: when the server is tried again after a failure
        self._is_foreign = False  # the server there is another workspace's
        self.group = 0  # how many requests the server decided together with the last one; 0 if no server did

    def attempt(self, session: Session, operation: Operation, call: Call, fields: Fields) -> Json:
        """Let a server decide it, or the store itself; see `Link`."""
        connection = self._connection() if operation.writes and is_known(operation.name) else None
        self.group = 0
        if connection is None:
            return self.direct.attempt(session, operation, call, fields)
        connection.number += 1
        message = {
            "n": connection.number, "op": operation.name, "top": session.place.top, "via": connection.id,
            "store": os.environ.get("DIBS_STORE") or session.config.store, "call": wire.call_out(call),
            "fields": fields,
        }  # fmt: skip
        line = jsontext.encode(message).encode() + b"\n"
        if len(line) > MAX_LINE:
            self._idle.append(connection)
            return self.direct.attempt(session, operation, call, fields)
        call.exchange = connection.id, connection.number, True
        sent = clock.since_boot()
        try:
            answer = connection.ask(line)
        except Lost:
            connection.close()
            self._not_before = clock.since_boot() + PAUSE_MS
            return self._retry(session, operation, call, fields, sent)
        except BaseException:  # interrupted: `recall` takes it back
            connection.close()
            raise
        call.exchange = None
        if connection.number != answer.get("n"):  # it is no server of ours
            connection.close()
        else:
            self._idle.append(connection)
        self.group = answer.get("g", 1)
        if type(ahead := answer.get("ahead")) is int:
            session.ahead = ahead
            clock.hear(ahead)
        if "who" in answer:
            call.agent, call.identified_by, call.name = answer["who"]
        result = call.decided = wire.answer_in(answer)
        if isinstance(result, Invalid) and result.fields.get("field") == TOP:  # decided nothing: it is not ours
            self._is_foreign = True
            self.close()
            return self.direct.attempt(session, operation, call, fields)
        return result

    def recall(self, session: Session, call: Call) -> bool:
        """Take back the request that is under way; False if there is none."""
        via = call.exchange
        if via is None:
            return False
        from copy import copy

        from dibs.operations.claims.recalls import RECALL

        fields = {"connection": via[0], "number": via[1], "waiter": call.waiter, "kept": bool(call.request)}
        mine = copy(call)
        mine.exchange, mine.request = None, ""
        try:
            Driver(RECALL, mine, fields).run(session, self.direct)
        except DibsError:
            pass
        call.exchange = None  # now, not before: it may be interrupted once more
        return True

    def is_near(self) -> bool:
        """Is there a server to ask?"""
        connection = self._connection()
        if connection is not None:
            self._idle.append(connection)
        return connection is not None

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().close()

    def _connection(self) -> Connection | None:
        """A connection that nobody uses, or a new one; None if there is no server."""
        try:
            return self._idle.pop()
        except IndexError:
            pass
        if self._is_foreign or (self._not_before and clock.since_boot() < self._not_before):
            return None
        path = serve_file.socket_of(self._local)
        try:
            if path:
                return Connection(path)
        except OSError:
            pass
        self._not_before = clock.since_boot() + PAUSE_MS
        return None

    def _retry(self, session: Session, operation: Operation, call: Call, fields: Fields, sent: int) -> Json:
        """The same request, asked of the store itself: whatever the server did of it, it is done once."""
        if clock.since_boot() - sent > RETRY_WITHIN_MS:
            message = "the answer was lost while this process was paused; look at `dibs status` before you ask again."
            raise Unavailable(message, unknown=True)
        call.decided = None
        try:
            result = Driver(operation, call, fields).run(session, self.direct)
        except DibsError:
            call.exchange = None
            raise
        except BaseException:
            if call.decided is not None:  # else the server may have decided it: `recall` finds out
                call.exchange = None
            raise
        call.exchange = None
        return result


def is_known(name: str) -> bool:
    """Does a server find that operation by its name? A server's own ones it does not."""
    return name in index.FILES or name in index.INTERNAL
