"""The store's half of a request, asked of a server elsewhere (`DIBS_STORE=https://…`); server_link.py has the meaning.

Each request has a name, so it is sent again where the answer was lost, and done once. What only the caller's machine
can see is looked up here when the server asks for it. An interrupted request is taken back, if the server answers.
"""

from __future__ import annotations

import os

from dibs.client import wire
from dibs.errors import DibsError
from dibs.machine import processes
from dibs.operations.core.query import HERE
from dibs.stores.far.connection import Lost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.client.session import Session
    from dibs.operations.core.call import Call, Fields
    from dibs.operations.core.declare import Operation
    from dibs.stores.far.store import FarStore
    from dibs.stores.seam import Json


class FarLink:
    """Requests of one session, or of all its threads, to a server elsewhere."""

    def __init__(self) -> None:
        self._idle: list[list[Any]] = []  # names of lines of requests, [id, last number]: one for each thread at once
        self._pid = os.getpid()

    def attempt(self, session: Session, operation: Operation, call: Call, fields: Fields) -> Json:
        """Let it be decided once; see `Link`."""
        store: FarStore = session.store  # type: ignore[assignment] # this link is made for such a store
        message = {"op": operation.name, "call": self._call(call), "fields": fields}
        if not operation.writes:
            return self._told(call, store.reach("POST", "/link/run", lambda _: message))
        line = self._line()
        line[1] += 1
        name, number = line
        call.exchange = name, number, True
        try:
            answer = store.reach(
                "POST", "/link/run", lambda attempt: {**message, "via": [name, number, attempt > 0]}, writes=True
            )
        except DibsError:
            call.exchange = None
            raise
        call.exchange = None
        self._idle.append(line)
        return self._told(call, answer)

    def answer(self, session: Session, operation: Operation, call: Call, fields: Fields) -> Json:
        """A whole query, answered by the server."""
        store: FarStore = session.store  # type: ignore[assignment]
        message = {"op": operation.name, "call": self._call(call), "fields": fields}
        result = self._told(call, store.reach("POST", "/link/answer", lambda _: message, timeout=10 * store.timeout))
        if isinstance(result, DibsError):
            raise result
        return result

    @staticmethod
    def answers(operation: Operation) -> bool:
        """Does the server answer this query? One that writes files is answered here, from what the server has."""
        if operation.writes or HERE in operation.wants:
            return False
        return operation.is_query and not any(field.kind == "file" for field in operation.fields)

    def recall(self, session: Session, call: Call) -> bool:
        """Take back the request that is under way; False if there is none."""
        via = call.exchange
        if via is None:
            return False
        from copy import copy

        fields = {"connection": via[0], "number": via[1], "waiter": call.waiter, "kept": bool(call.request)}
        mine = copy(call)
        mine.exchange, mine.request = None, ""
        store: FarStore = session.store  # type: ignore[assignment]
        try:
            message = {"op": "recall", "call": self._call(mine), "fields": fields}
            store.connection.ask("POST", "/link/run", message)
        except (DibsError, Lost):
            pass  # a claim that nobody knows of ends with its process, or expires
        call.exchange = None  # now, not before: it may be interrupted once more
        return True

    def close(self) -> None:
        """The connections are the store's to close."""

    def _line(self) -> list[Any]:
        if self._pid != os.getpid():
            self._idle, self._pid = [], os.getpid()
        try:
            return self._idle.pop()
        except IndexError:
            return [os.urandom(16).hex(), 0]

    def _call(self, call: Call) -> Json:
        return {**wire.call_out(call), "here": processes.here(), "pid": os.getpid()}

    def _told(self, call: Call, answer: Json) -> Json:
        if "who" in answer:
            call.agent, call.identified_by, call.name = answer["who"]
        result = call.decided = wire.answer_in(answer)
        return result
