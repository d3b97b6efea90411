"""`confirm` (is a token still live?) and `ask` (a request to the holder to release)."""

from __future__ import annotations

from dibs.errors import NEWER, Fenced, Invalid, NotFound, Quota
from dibs.operations.agents import names
from dibs.operations.claims import holds, resources
from dibs.operations.claims.resources import ranges_for
from dibs.operations.core.call import iso, related, within
from dibs.operations.core.declare import Field, Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Fetched, Range, Transaction


def _confirm(tx: Transaction, call: Call, resource: Sequence[str], token: int) -> dict[str, Any]:
    """Is this token still live for this resource?"""
    wanted = resources.normal([resource])[0]
    other: Record | None = None
    for record in holds.meeting(tx, [wanted], ""):
        if holds.CLAIM not in record or record["until"] <= tx.now:
            continue
        live = record["token"] == token and resources.all_covered([wanted], record["resources"])
        if live and _is_the_callers(tx, call, record):
            return {"holder": record["agent"], "token": token, "expires_at": iso(tx, record["until"])}
        if other is None and record["mode"] != resources.WATCH:
            other = record
    newer = {"why": NEWER} if other and call.agent and _is_the_callers(tx, call, other) else {}
    raise Fenced(
        resource=resources.show(wanted),
        given=token,
        holder=other["agent"] if other else None,
        token=other["token"] if other else None,
        since=iso(tx, other["since"]) if other else None,
        **newer,
    )


def _is_the_callers(tx: Transaction, call: Call, record: Record) -> bool:
    """Is the holder the caller or one of its family? A caller without a name may ask about any token."""
    return not call.agent or related(record["agent"], names.found(tx, call.agent))


def _ask(tx: Transaction, call: Call, got: Fetched, resource: Sequence[str], text: str) -> dict[str, Any] | Quota:
    """Ask every holder of a resource to release it; the caller is told when it is free."""
    from dibs.operations.claims import waiters
    from dibs.operations.messages import mailbox

    wanted = resources.normal([resource])[0]
    if not text:
        raise Invalid("say why you need it", field="text")
    name = resources.show(wanted)
    held_by = [
        record["agent"]
        for record in holds.meeting(tx, [wanted], "", got)
        if holds.CLAIM in record and record["until"] > tx.now and record["agent"] != call.agent
    ]
    # a subagent's shell has its parent's id: if only the family holds it, another agent of the family is meant
    asked = [agent for agent in held_by if not within(agent, call.agent)] or held_by
    if not asked:
        raise NotFound(f"nobody else holds {name}; claim it.", resource=name)
    message, told = "", []
    for holder in sorted(set(asked)):
        posted = mailbox.post(tx, holder, call.agent, "ask", text, resource=name)
        if posted:
            tx.append("claim.asked", call.agent, holder, {"resource": name, "text": text})
            message = posted
            told.append(holder)
    if not told:
        return Quota(
            f"the inbox of {names.name_of(tx, asked[0])} is full; it cannot be asked now.",
            what="messages kept for one agent",
        )
    wish = {"agent": call.agent, "mode": resources.WRITE, "tree": "", "resources": [wanted], "reason": text}
    waiters.leave_interest(tx, wish)
    return {"message": message, "to": told, "resource": name}


def _ask_ahead(call: Call, resource: Sequence[str], **_: Any) -> list[Range]:
    return ranges_for([resource])


OPERATIONS = (
    Operation(
        "confirm",
        _confirm,
        "Check whether a token is still live for a resource.",
        group="claims",
        fields=(
            Field("resource", "resource", "the resource", positional=True, required=True, metavar="RES"),
            Field("token", "integer", "the token", required=True, metavar="N"),
        ),
        errors=(Fenced,),
        answer="ConfirmAnswer",
        writes=False,
    ),
    Operation(
        "ask",
        _ask,
        "Ask the holder of a resource to release it.",
        group="claims",
        fields=(
            Field("resource", "resource", "the resource", positional=True, required=True, metavar="RES"),
            Field("text", "text", "why you need it", positional=True, required=True, metavar="TEXT"),
        ),
        errors=(NotFound, Quota, Invalid),
        may="worker",
        answer="AskAnswer",
        ahead=_ask_ahead,
    ),
)
