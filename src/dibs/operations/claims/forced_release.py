"""`release --force`: people and orchestrators take a claim away from its holder (authority.py).

- success: every claim that overlaps the named resources is void as a whole, so its token is fenced. The holder gets a
  message now and a notice at its next boot. A claimed task goes back to the queue and the loss counts against nobody.
  The next waiter is served. The contents of the holder's unfinished files are kept: the door saves them first, and
  `dibs restore` brings them back.
- with a token only the claim that has it is void: what was advised when its holder died never hits the next holder.
- refusal: nobody holds it (`not_found`), or not under that token (`fenced`); no reason given (`invalid`); not enough
  authority (`forbidden`).
- retry: the second call finds no holder; with the same request id it gets the first answer.
- race: a claim granted between the door's look and this transaction is void too. Nothing is overwritten by that; the
  content stays in the file.
"""

from __future__ import annotations

from dibs.errors import NOT_TAKEN, Fenced, Invalid, NotFound
from dibs.operations.claims import endings, records, resources
from dibs.operations.core.call import iso
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.guards import records as guard_records
from dibs.operations.messages import mailbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from dibs.operations.claims.answers import ForcedHolder, KeptContent, ReleaseAnswer
    from dibs.operations.claims.records import Claim
    from dibs.operations.claims.requests import HeldRequest, ReleaseRequest
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction

    class HeldAnswer(TypedDict):
        """Of `held`."""

        claims: list[list[str | Sequence[Resource]]]  # of each its id, working tree and resources


def force(tx: Transaction, call: Call, request: ReleaseRequest) -> ReleaseAnswer | Fenced:
    """Void the claims in the way."""
    wanted, token, reason = request["resources"], request["token"], request["why"].strip()
    if not reason:
        raise Invalid("say why (--why T): the holder is notified, and the log records it", field="why")
    held, name = _in_the_way(tx, wanted), resources.show(wanted[0])
    if not held:
        raise NotFound(f"nobody holds {name}.", resource=name)
    if token:
        now = held[0]
        held = [claim for claim in held if claim["token"] == token]
        if not held:
            tx.append("call.refused", call.agent, name, {"code": "fenced"})
            since = iso(tx, now["since"])
            return Fenced(
                resource=name, given=token, holder=now["agent"], token=now["token"], since=since, why=NOT_TAKEN
            )
    contents = [
        _keep(tx, call, claim, tree, path, content)
        for claim in held
        for identifier, tree, path, content in request["saved"]
        if identifier == claim["claim"]
    ]
    holders: list[ForcedHolder] = []
    freed: list[Resource] = []
    for claim in held:
        endings.end(tx, claim, endings.FORCED, by=call.agent, reason=reason)
        names = resources.shown(claim["resources"])
        holders.append({"agent": claim["agent"], "resources": names, "token": claim["token"]})
        freed += claim["resources"]
        text = (
            f"{call.name} took {', '.join(names[:5])} away from you: {reason}. Your token {claim['token']} is no "
            "longer live: stop working on it. `dibs restore` shows what was kept of your unfinished work."
        )
        mailbox.post(tx, claim["agent"], call.agent, endings.FORCED, text, resources=names)
    endings.serve(tx, freed)
    return {"released": resources.shown(freed), "holders": holders, "kept": contents}


def _in_the_way(tx: Transaction, wanted: Sequence[Resource]) -> list[Claim]:
    """The live claims that block others there, in any working tree; watch claims do not."""
    return [
        claim
        for claim in records.overlapping_claims(tx, resources.normal(wanted), "")
        if claim["until"] > tx.now and claim["mode"] != resources.WATCH
    ]


def _keep(tx: Transaction, call: Call, claim: Claim, tree: str, path: str, blob: str) -> KeptContent:
    """Record the content of one of the holder's files, for `restore`."""
    identifier = f"v{tx.id()}"
    kept = guard_records.new_kept(tx, identifier, path, tree, holder=claim["agent"], by=call.agent, blob=blob)
    guard_records.put_kept(tx, {**kept, "how": endings.FORCED}, call.place)
    return {"id": identifier, "path": path, "tree": tree, "blob": blob}


def _held(tx: Transaction, call: Call, request: HeldRequest) -> HeldAnswer:
    """The claims that a forced release would void: the door saves their files first."""
    claims = _in_the_way(tx, request["resources"])
    return {"claims": [[claim["claim"], claim["tree"], claim["resources"]] for claim in claims]}


HELD = Operation(
    "held", _held, "Which claims would be void?", sent_by=ANYWHERE,
    fields=(Field("resources", "resources", "what is taken away", default=()),), writes=False,
)  # fmt: skip

INTERNAL = (HELD,)
