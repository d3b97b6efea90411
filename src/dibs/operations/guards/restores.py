"""Restores of overwritten contents: which are kept, and may this one be written back now?

The audit keeps the contents after a violation, as objects; this file decides who may restore which. Restoring is an
edit: it takes the edit guard's claim on the path, so it overwrites no other agent's work, and it keeps the content
before it in the same way, so that a restore can be undone.
"""

from __future__ import annotations

from dibs.errors import DibsError, Forbidden, Held, NotFound
from dibs.operations.agents import roles
from dibs.operations.claims import grants, resources
from dibs.operations.claims.resources import ranges_for
from dibs.operations.core.call import check_text, due, iso
from dibs.operations.core.declare import Field, Operation
from dibs.operations.guards import changes
from dibs.operations.guards.edit_guard import BY
from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Fetched, Range, Transaction

MAX_LISTED = 1_000
CONTENT_LIFE_MS = 30 * 86_400_000  # as long as the audit keeps its finds


def _restorable(tx: Transaction, call: Call, tree: str = "") -> dict[str, Any]:
    """The kept contents that can be restored, the newest first; with `tree`, only of that working tree."""
    found = tx.fetch((), [prefix_range("v\t")], MAX_LISTED)
    kept = [
        record
        for _, record in found.rows
        if record["blob"] and record.get("until", tx.now + 1) > tx.now and tree in {"", record["tree"]}
    ]
    kept.sort(key=lambda record: (record["at"], record["violation"]), reverse=True)
    return {"kept": [_shown(tx, record) for record in kept], "more": found.truncated}


def _shown(tx: Transaction, record: Record) -> dict[str, Any]:
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


def _restore(
    tx: Transaction,
    call: Call,
    got: Fetched,
    kept: str,
    resource: Sequence[str],
    tree: str,
    now: str = "",
    local: bool = True,
) -> Any:
    """Claim the path, as an edit does, and record the present content. `now` is where that is kept."""
    key = f"v\t{check_text(kept, 'kept')}"
    record = tx.fetch([key]).values[key]
    if record is None:
        raise NotFound(f"nothing is kept as {kept}; `dibs restore --list` shows what is", kept=kept)
    refusal = roles.refusal_of_write(call, got.values[f"a\t{call.agent}"], resource, local=local)
    if refusal is not None:
        tx.append("edit.refused", call.agent, resources.show(resource), {"code": refusal.code, "tree": tree})
        return refusal
    held = grants.take(tx, call, got, [resource], tree=tree, by=BY, reason=f"restores {kept}")
    if isinstance(held, DibsError):
        return held
    changes.settle(tx, tree, [record["path"]])
    undo = ""
    if now and now != record["blob"]:
        undo = f"v{tx.id()}"
        until = tx.now + CONTENT_LIFE_MS
        before: Record = {
            "violation": undo, "path": record["path"], "tree": record["tree"], "holder": call.agent, "by": call.agent,
            "at": tx.now, "blob": now, "overwritten": record["blob"], "until": until,
        }  # fmt: skip
        tx.put(f"v\t{undo}", before, i2=due(until))
    data = {"id": kept, "tree": tree, "was": now, "now": record["blob"], "undo": undo}
    tx.append("edit.restored", call.agent, record["path"], data)
    return {"id": kept, "path": record["path"], "blob": record["blob"], "undo": undo or None, "token": held["token"]}


def _ahead(call: Call, resource: Sequence[str], **_: Any) -> list[Range]:
    return ranges_for([resource])


RESTORABLE = Operation(
    "restorable", _restorable, "Which overwritten contents are kept?",
    fields=(Field("tree", "raw", "the working tree; empty for all", default=""),), writes=False,
)  # fmt: skip
RESTORE = Operation(
    "restore-take", _restore, "Take a path to bring back what was there.",
    fields=(
        Field("kept", "text", "the kept content", required=True),
        Field("resource", "resource", "its path", required=True),
        Field("tree", "raw", "the top of the working tree", required=True),
        Field("now", "text", "where the present content is kept", default=""),
        Field("local", "flag", "this working tree has dibs' own record", default=True),
    ),
    errors=(Forbidden, Held, NotFound), takes=True, ahead=_ahead,
)  # fmt: skip

INTERNAL = (RESTORABLE, RESTORE)
