"""Restores of overwritten contents: which are kept, and may this one be written back now?

The audit keeps the contents after a violation, as objects; this file decides who may restore which. Restoring is an
edit: it takes the edit guard's claim on the path, so it overwrites no other agent's work, and it keeps the content
before it in the same way, so that a restore can be undone. What a change took away from another agent that is still
there, and that nobody has settled, is given back to it: it is its work again, and nobody else keeps a claim on it.
A person restores for the agents that hold the path: they keep it and are notified (person_acts.py).

A content is restored where it was kept: what a far caller reported, by that caller's credential alone; what this
machine saw, here. Nothing is ever written below `.git/` or to dibs' own files.
"""

from __future__ import annotations

from dibs.errors import DibsError, Forbidden, Held, NotFound
from dibs.operations.agents import roles
from dibs.operations.agents.names import name_of
from dibs.operations.agents.records import get_agent
from dibs.operations.claims import grants, resources
from dibs.operations.claims.records import ranges_for
from dibs.operations.core import authority, paging
from dibs.operations.core.call import check_text, iso
from dibs.operations.core.declare import ANYWHERE, PAGED, Field, Operation
from dibs.operations.guards import changes, person_acts, records
from dibs.operations.guards.edit_guard import BY, SHELL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from dibs.operations.claims.records import Claim
    from dibs.operations.core.answers import Page
    from dibs.operations.core.call import Call
    from dibs.operations.core.declare import Ahead
    from dibs.operations.guards.answers import HolderView, KeptView
    from dibs.operations.guards.records import KeptFile
    from dibs.operations.guards.requests import RestorableRequest, RestoreTakeRequest
    from dibs.stores.seam import Transaction

    class RestorableAnswer(Page):
        """Of `restorable`."""

        kept: list[KeptView]

    class RestoreTaken(TypedDict):
        """Of `restore-take`."""

        id: str
        path: str
        blob: str
        undo: str | None  # under which the content before the restore is kept
        token: int
        claim: str  # that ends when it is written; "" if there is none
        owner: str  # the agent whose work it is again; "" for the caller
        holders: list[HolderView]  # for which a person acts


MAX_AT = 10**15  # above every time of a store, in ms


def _restorable(tx: Transaction, call: Call, request: RestorableRequest) -> RestorableAnswer:
    """The kept contents that can be restored, the newest first.

    With `tree` or `path`, only those of that working tree or path; with `ids`, only these.
    """
    size = paging.check_limit(request["limit"])
    kept = [
        record
        for record in (_named(tx, request["ids"]) if request["ids"] else records.all_kept(tx))
        if record["blob"]
        and records.place_of(record) == call.place
        and record.get("until", tx.now + 1) > tx.now
        and request["tree"] in {"", record["tree"]}
        and request["path"] in {"", record["path"]}
    ]
    kept.sort(key=_newest_first)
    page = paging.listed(kept, _newest_first, size, request["after"])
    return {"kept": [_shown(tx, record) for record in page.records], "more": page.more, "cursor": page.cursor}


def _named(tx: Transaction, ids: Sequence[str]) -> list[KeptFile]:
    kept = records.get_kept_of(tx, [check_text(one, "ids") for one in ids])
    return [record for record in kept.values() if record is not None]


def _newest_first(record: KeptFile) -> str:
    return f"{MAX_AT - record['at']:015d} {record['violation']}"


def _shown(tx: Transaction, record: KeptFile) -> KeptView:
    return {
        "id": record["violation"],
        "path": record["path"],
        "tree": record["tree"],
        "holder": record["holder"],
        "by": record["by"] or None,
        "at": iso(tx, record["at"]),
        "blob": record["blob"],
        "how": record.get("how", ""),
    }


def _restore(tx: Transaction, call: Call, request: RestoreTakeRequest) -> RestoreTaken | DibsError:
    """Claim the path, as an edit does, and record the present content. `now` is where that is kept."""
    kept, resource, tree, now = request["kept"], request["resource"], request["tree"], request["now"]
    record = records.get_kept(tx, check_text(kept, "kept"))
    if record is None or records.place_of(record) != call.place:
        raise NotFound(f"nothing is kept as {kept}; `dibs restore` shows what is", kept=kept)
    _check_path(record["path"])
    _check_path(resource[1])  # by its real name: a folder of the path may be a link
    refusal = roles.refusal_of_write(call, get_agent(tx, call.agent), resource, local=request["local"])
    if refusal is not None:
        tx.append("edit.refused", call.agent, resources.show(resource), {"code": refusal.code, "tree": tree})
        return refusal
    owner = changes.owed_to(tx, call, record)
    person = authority.is_person(tx, call)
    holders = person_acts.at_work(tx, call, [resource], tree) if person else []
    if holders:
        token, claim = holders[0]["token"], ""
        owner = owner or holders[0]["agent"]
    else:
        by = SHELL if owner or person else BY  # a person does not work on it: it is free afterwards
        wanted = grants.CLAIM.request(resources=[resource], tree=tree, by=by, reason=f"restores {kept}")
        held = grants.claim_at_once(tx, call, wanted, is_first=person)
        if isinstance(held, DibsError):
            return held
        owner = "" if held.get("renewed") else owner  # the caller held it before: it is its own to decide
        token, claim = held["token"], held["claim"] if by == SHELL and not held.get("renewed") else ""
    _tell(tx, call, owner, holders, record)
    changes.settle(tx, call, tree, [record["path"]])
    if record.get("ledger") and not record.get("restored"):
        from dibs.operations.alerts import lifecycle

        records.put_kept(tx, {**record, "restored": True}, call.place)
        lifecycle.note_restored(tx, call, record["ledger"])
    undo = ""
    if now and now != record["blob"]:
        undo = f"v{tx.id()}"
        before = records.new_kept(tx, undo, record["path"], tree, holder=call.agent, by=call.agent, blob=now)
        before["overwritten"] = record["blob"]
        records.put_kept(tx, before, call.place)
    data = {"id": kept, "tree": tree, "was": now, "now": record["blob"], "undo": undo}
    tx.append("edit.restored", call.agent, record["path"], data)
    named = dict.fromkeys([one["agent"] for one in holders])
    return {
        "id": kept, "path": record["path"], "blob": record["blob"], "undo": undo or None, "token": token,
        "claim": claim, "owner": owner, "holders": [{"agent": one, "name": name_of(tx, one)} for one in named],
    }  # fmt: skip


def _tell(tx: Transaction, call: Call, owner: str, holders: list[Claim], record: KeptFile) -> None:
    """Notify the agents that hold the path, and the one whose work it is again."""
    from dibs.operations.messages import mailbox

    path, kept = record["path"], record["violation"]
    text = f"{name_of(tx, call.agent)} brought back {path} as it was before change {kept}."
    person_acts.tell(tx, call, holders, text, "violation", resource=path, violation=kept)
    if owner and owner not in [one["agent"] for one in holders]:
        mailbox.post(tx, owner, call.voice, "violation", text, resource=path, violation=kept)


def _check_path(path: str) -> None:
    """Refuse to restore what git or dibs runs or reads for itself; git has the committed content of the rest."""
    parts = [part.casefold() for part in path.split("/")]
    if ".git" in parts or ".dibs" in parts or ".." in parts:
        raise Forbidden(f"{path} is git's or dibs' own: it is not restored by dibs.", path=path)


def _ahead(call: Call, request: RestoreTakeRequest) -> Ahead:
    return (), ranges_for([request["resource"]])


RESTORABLE = Operation(
    "restorable", _restorable, "Which overwritten contents are kept?", sent_by=ANYWHERE,
    fields=(
        Field("tree", "tree", "the working tree; empty for all", default=""),
        Field("path", "raw", "the path; empty for all", default=""),
        Field("ids", "raws", "these alone", default=()),
        *PAGED,
    ),
    writes=False,
)  # fmt: skip
RESTORE = Operation(
    "restore-take", _restore, "Take a path to bring back what was there.", sent_by=ANYWHERE,
    fields=(
        Field("kept", "text", "the kept content", required=True),
        Field("resource", "resource", "its path", required=True),
        Field("tree", "tree", "the top of the working tree", required=True),
        Field("now", "text", "where the present content is kept", default=""),
        Field("local", "flag", "this working tree has dibs' own record", default=True),
    ),
    errors=(Forbidden, Held, NotFound), takes=True, ahead=_ahead,
)  # fmt: skip

INTERNAL = (RESTORABLE, RESTORE)
