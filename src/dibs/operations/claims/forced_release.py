"""Taking a claim away from its holder: `release --force`, for persons and orchestrators (authority.py).

- success: every claim in the way of what is named is void as a whole, so its token is fenced. Its holder gets a message
  and is told at its next boot; a task behind it goes back to the queue and counts against nobody. Whoever waits comes
  next. What the holder's unfinished files contained is kept: the door saves it first, `dibs restore` brings it back.
- refusal: nobody holds it (`not_found`); no reason given (`invalid`); not enough authority (`forbidden`).
- retry: the second call finds nobody, or with the same request id gets the first answer.
- race: a claim granted between the door's look and this transaction is void too; nothing is overwritten by that, and
  the content stays in the file.
"""

from __future__ import annotations

from dibs.errors import Invalid, NotFound
from dibs.operations.claims import endings, holds, resources
from dibs.operations.core.call import due
from dibs.operations.core.declare import Operation
from dibs.operations.guards.restores import KEEP
from dibs.operations.messages import mailbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Transaction

FORCED = "forced"  # how such a claim ends, and why such a content is kept


def force(
    tx: Transaction, call: Call, wanted: Sequence[Sequence[str]], why: str, saved: Sequence[Sequence[str]]
) -> dict[str, Any]:
    """Void the claims in the way. `saved`: of each file its claim, working tree, path and content."""
    reason = why.strip()
    if not reason:
        raise Invalid("say why (--why T): the holder and the log are told", field="why")
    held = _in_the_way(tx, wanted)
    if not held:
        name = resources.show(wanted[0])
        raise NotFound(f"nobody holds {name}.", resource=name)
    kept = [_keep(tx, call, claim, *one[1:]) for claim in held for one in saved if one[0] == claim["claim"]]
    holders, freed = [], []
    for claim in held:
        endings.end(tx, claim, FORCED, by=call.agent, reason=reason)
        names = resources.shown(claim["resources"])
        holders.append({"agent": claim["agent"], "resources": names, "token": claim["token"]})
        freed += claim["resources"]
        text = (
            f"{call.name} took {', '.join(names[:5])} away from you: {reason}. Your token {claim['token']} is no "
            "longer live: stop working on it. `dibs restore --list` shows what was kept of your unfinished work."
        )
        mailbox.post(tx, claim["agent"], call.agent, FORCED, text, resources=names)
    endings.serve(tx, freed)
    return {"released": resources.shown(freed), "holders": holders, "kept": kept}


def _in_the_way(tx: Transaction, wanted: Sequence[Sequence[str]]) -> list[Record]:
    """The live claims that block others there, in whatever working tree; one that only watches does not."""
    return [
        record
        for record in holds.meeting(tx, resources.normal(wanted), "")
        if holds.CLAIM in record and record["until"] > tx.now and record["mode"] != resources.WATCH
    ]


def _keep(tx: Transaction, call: Call, claim: Record, tree: str, path: str, blob: str) -> dict[str, Any]:
    """What was in a file of the holder's, as `restore` finds it."""
    identifier, until = f"v{tx.id()}", tx.now + KEEP
    record: Record = {
        "violation": identifier, "path": path, "tree": tree, "holder": claim["agent"], "by": call.agent, "at": tx.now,
        "blob": blob, "overwritten": "", "until": until, "how": FORCED,
    }  # fmt: skip
    tx.put(f"v\t{identifier}", record, i2=due(until))
    return {"id": identifier, "path": path, "tree": tree, "blob": blob}


def _held(tx: Transaction, call: Call, resources: Sequence[Sequence[str]]) -> dict[str, Any]:
    """For the door, which saves the files before the claims are void."""
    keys = ("claim", "tree", "resources")
    return {"claims": [[claim[key] for key in keys] for claim in _in_the_way(tx, resources)]}


HELD = Operation("held", _held, "Which claims would be void?", writes=False)
