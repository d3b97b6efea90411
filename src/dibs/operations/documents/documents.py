"""Shared state: small JSON documents with versions, written by compare-and-set, so that no write is lost.

- success: a write gives the document the next version; so does a deletion, so that a version never means two things.
- refusal: a write to an existing document names the version that it read, or a live token of a write claim on
  `state:KEY`; else it is a conflict, with the version, its author and time. If another agent's claim on `state:KEY`
  excludes writers, a write is `held`; a stale token is fenced.
- retry: the same request id gets the first answer; without one, a write that had succeeded is a conflict.
- race: transactions are decided one after the other; of all writers that name the same version exactly one wins.

Not here: the loop that reads, changes and writes again after a conflict (interfaces/python/update_loop.py), and waiting
for a change (subscriptions.py).
"""

from __future__ import annotations

from dibs import jsontext
from dibs.errors import Conflict, Fenced, Held, Invalid, NotFound, Quota, quoted
from dibs.operations.agents import names
from dibs.operations.claims import endings, resources, views
from dibs.operations.claims import records as claim_records
from dibs.operations.core import json_values
from dibs.operations.core.call import iso, related, span
from dibs.operations.core.declare import Field, Operation
from dibs.operations.documents import records
from dibs.stores.seam import digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.errors import DibsError
    from dibs.operations.claims.records import Claim
    from dibs.operations.core.call import Call
    from dibs.operations.core.declare import Ahead
    from dibs.operations.documents.answers import (
        DocumentView,
        StateDeleteAnswer,
        StateGetAnswer,
        StateListAnswer,
        StateSetAnswer,
    )
    from dibs.operations.documents.records import Document, Version
    from dibs.operations.documents.requests import (
        StateDeleteRequest,
        StateGetRequest,
        StateListRequest,
        StateSetRequest,
    )
    from dibs.stores.seam import Json, Transaction

MAX_DOCUMENTS = 10_000  # of a workspace: for what agents agree on, not a database
MAX_LOGGED_CHARS = 2_000  # of a value in the log; of a longer one it has the digest
DEFAULT_LISTED, MAX_LISTED = 100, 1_000  # documents in one list
# after a week a deleted document's own version is forgotten, and a common bound kept
DELETED_VERSION_LIFE_MS = 7 * 86_400_000
MAX_ROUNDS = 8  # retries after a write ended a dead holder's claim; each round ends all that it saw
MAX_BLOCKERS_SHOWN = 16


def resource_of(key: str) -> list[str]:
    """The name under which a document is claimed."""
    return ["name", f"state:{key}"]


# --- reading


def _get(tx: Transaction, call: Call, request: StateGetRequest) -> StateGetAnswer:
    name = json_values.check_key(request["key"])
    document, deletion = records.get_document(tx, name)
    if document is None:
        raise NotFound(_missing(tx, name, deletion), key=name)
    return {**_shown(tx, document), "value": document["value"]}


def _missing(tx: Transaction, key: str, deletion: Version | None) -> str:
    if deletion is None:
        return f"there is no document {key}; `dibs state list` shows those there are."
    return f"there is no document {key}: {deletion['by']} deleted it {span(tx.now - deletion['at'])} ago."


def _shown(tx: Transaction, document: Document) -> DocumentView:
    return {
        "key": document["key"],
        "version": document["version"],
        "by": document["by"],
        "at": iso(tx, document["at"]),
    }


def _list(tx: Transaction, call: Call, request: StateListRequest) -> StateListAnswer:
    first = json_values.check_key(request["prefix"], least=0)
    after = json_values.check_key(request["after"]) if request["after"] else ""
    documents, more = records.scan_documents(tx, first, after, request["limit"])
    cursor = documents[-1]["key"] if more else None
    return {"documents": [_shown(tx, document) for document in documents], "more": more, "cursor": cursor}


# --- writing


def _set(tx: Transaction, call: Call, request: StateSetRequest) -> StateSetAnswer | DibsError:
    value = request["value"]
    name = json_values.check_key(request["key"])
    text = jsontext.encode(value)
    document, deletion = records.get_document(tx, name)
    version, token = request["version"], request["token"]
    refusal = _fenced_or_held(tx, call, name, token) or _stale(tx, name, document, deletion, version, token)
    counts = records.get_counts(tx) if document is None else records.NO_DOCUMENTS
    if refusal is None and counts["documents"] >= MAX_DOCUMENTS:
        what = "documents"
        refusal = Quota(f"at most {MAX_DOCUMENTS} {what}; delete some first.", what=what, limit=MAX_DOCUMENTS)
    if refusal is not None:
        return _refuse(tx, call, name, refusal)
    if document is not None:
        number = document["version"] + 1
    else:
        number = (deletion["version"] if deletion is not None else counts["forgotten"]) + 1
        records.delete_deletion(tx, name)
        records.put_counts(tx, {**counts, "documents": counts["documents"] + 1})
    records.put_document(tx, {"key": name, "value": value, "version": number, "by": call.agent, "at": tx.now})
    content = {"value": value} if len(text) <= MAX_LOGGED_CHARS else {"digest": digest_of(text)}
    _tell(tx, call, name, "state set", {"version": number, **content})
    return {"key": name, "value": value, "version": number}


def _delete(tx: Transaction, call: Call, request: StateDeleteRequest) -> StateDeleteAnswer | DibsError:
    """Delete a document. Its version stays, so that a caller that read it before cannot overwrite a new one."""
    name = json_values.check_key(request["key"])
    document, deletion = records.get_document(tx, name)
    if document is None:
        raise NotFound(_missing(tx, name, deletion), key=name)
    version, token = request["version"], request["token"]
    refusal = _fenced_or_held(tx, call, name, token) or _stale(tx, name, document, None, version, token)
    if refusal is not None:
        return _refuse(tx, call, name, refusal)
    number = document["version"] + 1
    last: Version = {"key": name, "version": number, "by": call.agent, "at": tx.now}
    records.put_deletion(tx, last, tx.now + DELETED_VERSION_LIFE_MS)
    counts = records.get_counts(tx)
    assert counts["documents"] > 0, "a document that was not counted"
    records.put_counts(tx, {**counts, "documents": counts["documents"] - 1})
    _tell(tx, call, name, "state delete", {"version": number, "deleted": True})
    return {"key": name, "version": number}


def forget(tx: Transaction, deletion: Version) -> None:
    """A sweep forgets a deleted document: from now on new documents begin above its version."""
    counts = records.get_counts(tx)
    records.delete_deletion(tx, deletion["key"])
    records.put_counts(tx, {**counts, "forgotten": max(counts["forgotten"], deletion["version"])})


def _ahead(call: Call, request: StateSetRequest | StateDeleteRequest) -> Ahead:
    """The document, the record of a deleted one, and its claims."""
    name = json_values.check_key(request["key"])
    return [records.document_key(name), records.deletion_key(name)], claim_records.ranges_of([resource_of(name)])


def _tell(tx: Transaction, call: Call, key: str, operation: str, data: dict[str, Json]) -> None:
    """One event for each version, and a wake for the document's subscribers."""
    from dibs.operations.messages import subscriptions

    if call.request:
        data["request"] = [operation, call.request]
    tx.append("state.set", call.agent, key, data)
    subscriptions.tell(tx, "state", key)


def _refuse(tx: Transaction, call: Call, key: str, refusal: DibsError) -> DibsError:
    tx.append("call.refused", call.agent, f"state:{key}", {"code": refusal.code})
    return refusal


# --- who may write


def _stale(
    tx: Transaction,
    key: str,
    document: Document | None,
    deletion: Version | None,
    version: int | None,
    token: int | None,
) -> Conflict | None:
    """Does a write name the present version? A token replaces it; a new document needs neither."""
    current = document["version"] if document is not None else 0
    if version == current or (version is None and (document is None or token is not None)):
        return None
    last = document or deletion
    by, at = (last["by"], iso(tx, last["at"])) if last is not None else (None, None)
    ago = f"{span(tx.now - last['at'])} ago" if last is not None else ""
    who = names.name_of(tx, by) if by else ""
    if document is None:
        gone = f": {who} deleted it {ago}" if deletion is not None else ""
        text = f"there is no document {key}{gone}. Write with `--version 0` to create it."
    else:
        given = "this write names no version" if version is None else f"this write was made for version {version}"
        text = (
            f"{key} is at version {current}, written by {who} {ago}; {given}. Read it again "
            f"(`dibs state get {quoted(key)}`), make your change to what it is now, and write with the version "
            "that you read."
        )
    return Conflict(text, key=key, version=current, given=version, by=by, at=at)


def _fenced_or_held(tx: Transaction, call: Call, key: str, token: int | None) -> DibsError | None:
    """Do the claims on a document allow this write?"""
    wanted = resource_of(key)
    live = _live(tx, call, wanted)
    if token is None:
        blockers = [claim for claim in live if endings.blocks(claim, resources.WRITE, call.agent)]
        if not blockers:
            return None
        named = [views.blocker(tx, claim, [wanted]) for claim in blockers[:MAX_BLOCKERS_SHOWN]]
        return Held(blockers=named, more=max(0, len(blockers) - MAX_BLOCKERS_SHOWN))
    mine = [claim for claim in live if related(claim["agent"], call.agent)]
    if any(claim["token"] == token and claim["mode"] == resources.WRITE for claim in mine):
        return None
    name = resources.show(wanted)
    other = next((claim for claim in live if claim not in mine), None) or next(iter(mine), None)
    if other is None:
        return Fenced(resource=name, given=token, holder=None, token=None, since=None)
    text = ""
    if other["token"] == token and other in mine:
        text = f"token {token} is that of a {other['mode']} claim on {name}; a write needs a write claim's."
    elif other in mine:
        text = f"token {token} for {name} is no longer live; {other['agent']} holds it under token {other['token']}."
    since = iso(tx, other["since"])
    return Fenced(text, resource=name, given=token, holder=other["agent"], token=other["token"], since=since)


def _live(tx: Transaction, call: Call, wanted: Sequence[str]) -> list[Claim]:
    """The live claims on a document; those of dead local processes are ended on the way."""
    live: list[Claim] = []
    for _ in range(MAX_ROUNDS):
        live = [
            record
            for record in claim_records.overlapping_claims(tx, [wanted], "")
            if record["until"] > tx.now and record["mode"] != resources.WATCH
        ]
        gone = endings.gone(tx, call, [c for c in live if not (call.from_current_process and c["agent"] == call.agent)])
        if not gone:
            break
        endings.clear(tx, call, (), gone)
    return live


_KEY = Field("key", "text", "the document's key", positional=True, required=True, metavar="KEY")
_TOKEN = Field("token", "integer", "the live token of your write claim on `state:KEY`", metavar="N")

OPERATIONS = (
    Operation(
        "state get",
        _get,
        "Read a document and its version.",
        group="state",
        fields=(_KEY,),
        errors=(NotFound, Invalid),
        answer="StateGetAnswer",
        writes=False,
    ),
    Operation(
        "state set",
        _set,
        "Write a document; an existing one needs the version you read, or a token.",
        group="state",
        fields=(
            _KEY,
            Field("value", "json", "the new value", positional=True, required=True, metavar="JSON"),
            Field("version", "integer", "the version you read; 0: it must not exist yet", metavar="N"),
            _TOKEN,
        ),
        errors=(Conflict, Held, Fenced, Quota, Invalid),
        rank="agent",
        answer="StateSetAnswer",
        ahead=_ahead,
    ),
    Operation(
        "state list",
        _list,
        "List the documents, without their values.",
        group="state",
        fields=(
            Field("prefix", "text", "only keys that begin with this", positional=True, default="", metavar="PREFIX"),
            Field(
                "after", "text", "continue after this key (the `cursor` of the page before)", default="", metavar="KEY"
            ),
            Field(
                "limit", "integer", "how many at once", default=DEFAULT_LISTED, least=1, most=MAX_LISTED, metavar="N"
            ),
        ),
        errors=(Invalid,),
        answer="StateListAnswer",
        writes=False,
    ),
    Operation(
        "state delete",
        _delete,
        "Delete a document; needs the version you read, or a token.",
        group="state",
        fields=(_KEY, Field("version", "integer", "the version you read", metavar="N"), _TOKEN),
        errors=(NotFound, Conflict, Held, Fenced, Invalid),
        rank="agent",
        answer="StateDeleteAnswer",
        destructive=True,
        ahead=_ahead,
    ),
)
