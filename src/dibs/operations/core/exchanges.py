"""A request that goes through a server is done once, also if its answer is lost and the caller asks again.

A caller that asks a server may lose the answer: the server is killed, or stopped, or the connection breaks. Nobody can
tell whether the commit was made. So each such request has a name, which its caller makes up: a connection's id and the
number of the request on it. The transaction that decides the request keeps its answer under the connection; a second
run of the same number, by the server or by the caller itself (a retry), gets that answer and changes nothing. One
connection has one request under way, so its last answer is enough: one record for each connection, not for each call.

- What wrote nothing is not kept: a second run decides the same by the same record. A retry is kept in any case, so that
  a server that was stopped and continues cannot do after it what the caller has done meanwhile.
- A number below the last one is late: its caller has gone on. It changes nothing.
- `recall` (claims/recalls.py) takes a request back whose caller has gone: what it granted, or the request itself if it
  comes later. A retry that was answered (`taken`) cannot be taken back.

The record is swept some time after the connection's last request. A caller refuses its own retry after RETRY_WITHIN_MS
(client/server_link.py), because the record may be gone.
"""

from __future__ import annotations

from dibs.errors import Conflict, DibsError, from_parts
from dibs.operations.core.call import Continue, of_json, to_json
from dibs.operations.core.records import get_exchange, put_exchange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.operations.core.records import Exchange
    from dibs.stores.seam import Json, Transaction

LIFE_MS = 600_000  # how long an answer is kept: far longer than any caller waits for a server


def once(tx: Transaction, via: tuple[str, int, bool], decide: Callable[[], Json]) -> Json:
    """What `decide` says, or what it said when this request was decided before."""
    connection, number, retry = via
    known = get_exchange(tx, connection)
    if known is not None and known["n"] >= number:
        if known["n"] > number or (known.get("recalled") and not retry):
            raise Conflict("the caller no longer waits for this request; nothing was changed.")
        if not known.get("recalled"):
            if retry and not known.get("taken"):
                _put(tx, connection, known, {**known, "taken": True})
            return answer_in(known)
    result = decide()
    if (tx.touched or retry) and not isinstance(result, Continue):
        exchange = _kept(number, result)
        if retry:
            exchange["taken"] = True
        _put(tx, connection, known, exchange)
    return result


def close(tx: Transaction, connection: str, number: int) -> tuple[Exchange | None, bool]:
    """Take a request back: its record, if it was decided, and whether it is too late, because a retry has the answer.

    From now on a run of this request changes nothing.
    """
    known = get_exchange(tx, connection)
    if known is not None and (known["n"] > number or (known["n"] == number and known.get("taken"))):
        return None, True
    _put(tx, connection, known, {"n": number, "until": 0, "recalled": True})
    return (known if known is not None and known["n"] == number else None), False


def answer_in(known: Exchange) -> Json:
    """The answer that a record keeps."""
    if "error" in known:
        return from_parts(known["error"])
    return of_json(known.get("result"))  # a recalled request has none


def _kept(number: int, result: Json) -> Exchange:
    if isinstance(result, DibsError):
        return {"n": number, "until": 0, "error": result.parts()}
    return {"n": number, "until": 0, "result": to_json(result)}


def _put(tx: Transaction, connection: str, known: Exchange | None, exchange: Exchange) -> None:
    """Write it, with the entry by which a sweep finds it; that one moves now and then, not at every request."""
    until = known["until"] if known is not None else 0
    if until < tx.now + LIFE_MS // 2:
        until = tx.now + LIFE_MS
    put_exchange(tx, connection, {**exchange, "until": until})
