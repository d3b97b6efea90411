"""`confirm` (is a token still live?) and `ask` (a request to the holder to release)."""

from __future__ import annotations

from dibs.errors import NEWER, Fenced, Invalid, NotFound, Quota
from dibs.operations.agents import names
from dibs.operations.claims import records, resources
from dibs.operations.claims.records import ranges_for
from dibs.operations.core.call import OF_TREE, iso, related, within
from dibs.operations.core.declare import Field, Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.claims.answers import AskAnswer, ConfirmAnswer
    from dibs.operations.claims.records import Claim, InterestRequest
    from dibs.operations.claims.requests import AskRequest, ConfirmRequest
    from dibs.operations.core.call import Call
    from dibs.operations.core.declare import Ahead
    from dibs.stores.seam import Transaction


def _confirm(tx: Transaction, call: Call, request: ConfirmRequest) -> ConfirmAnswer:
    """Is this token still live for this resource?"""
    wanted = resources.normal([request["resource"]])[0]
    caller = names.found(tx, call.agent) if call.agent else ""
    own_claim: Claim | None = None  # the caller's claim on all of it, under another token
    other: Claim | None = None
    for claim in records.overlapping_claims(tx, [wanted], ""):
        if claim["until"] <= tx.now:
            continue
        is_callers = not caller or related(claim["agent"], caller)  # a caller without a name may ask about any token
        covers = resources.all_covered([wanted], claim["resources"])
        if claim["token"] == request["token"] and covers and is_callers:
            tx.certify()
            return {"holder": claim["agent"], "token": request["token"], "expires_at": iso(tx, claim["until"])}
        if claim["mode"] == resources.WATCH:
            continue
        if not caller or not is_callers:
            if not resources.is_pool(wanted):  # a holder of another unit has nothing of the caller's
                other = other or claim
        elif covers:  # a claim of the caller on a part of it says nothing of the whole
            own_claim = own_claim or claim
    present = own_claim or other
    raise Fenced(
        resource=resources.show(wanted),
        given=request["token"],
        holder=present["agent"] if present else None,
        token=present["token"] if present else None,
        since=iso(tx, present["since"]) if present else None,
        **({"why": NEWER} if own_claim else {}),
    )


def _ask(tx: Transaction, call: Call, request: AskRequest) -> AskAnswer | Quota:
    """Ask every holder of a resource to release it; the caller is told when it is free."""
    from dibs.operations.claims import waiters
    from dibs.operations.messages import mailbox

    text = request["text"]
    wanted = resources.normal([request["resource"]])[0]
    if not text:
        raise Invalid("say why you need it", field="text")
    name = resources.show(wanted)
    held_by = [
        claim["agent"]
        for claim in records.overlapping_claims(tx, [wanted], "")
        if claim["until"] > tx.now and claim["agent"] != call.agent
    ]
    # a subagent's shell has its parent's id: if only the family holds it, another agent of the family is meant
    asked = [agent for agent in held_by if not within(agent, call.agent)] or held_by
    if not asked:
        raise NotFound(f"nobody else holds {name}; claim it.", resource=name)
    trees = [holder for holder in asked if holder.startswith(OF_TREE)]
    asked = [agent for agent in asked if agent not in trees]
    if not asked:
        way = "`dibs env --list` shows where it is, `dibs env --release` there gives it back"
        raise NotFound(f"{name} is a working tree's ({trees[0]}), which cannot be asked: {way}.", resource=name)
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
    interests = records.interests_of(tx, call.agent, limit=64)
    # of an edit that was refused
    tree = next((known["tree"] for known in interests if known["resources"] == [wanted]), "")
    interest: InterestRequest = {
        "agent": call.agent, "mode": resources.WRITE, "tree": tree, "resources": [wanted], "reason": text,
    }  # fmt: skip
    if resources.pool_of(wanted):
        from dibs.operations.claims import pooled

        interest["pools"] = pooled.wishes_of(call, [wanted], 1)
    waiters.leave_interest(tx, interest)
    return {"message": message, "to": told, "resource": name}


def _ask_ahead(call: Call, request: AskRequest) -> Ahead:
    return (), ranges_for([request["resource"]])


OPERATIONS = (
    Operation(
        "confirm",
        _confirm,
        "Check whether a token is still live for a resource.",
        group="claims",
        fields=(
            Field("resource", "resource", "the resource", positional=True, required=True, metavar="RESOURCE"),
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
            Field("resource", "resource", "the resource", positional=True, required=True, metavar="RESOURCE"),
            Field("text", "text", "why you need it", positional=True, required=True, metavar="TEXT"),
        ),
        errors=(NotFound, Quota, Invalid),
        rank="worker",
        answer="AskAnswer",
        ahead=_ask_ahead,
    ),
)
