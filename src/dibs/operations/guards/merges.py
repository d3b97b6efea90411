"""The files of a merge, rebase, cherry-pick, revert or stash that stopped on a conflict: its agent's while it lasts.

- success: the files that it brought and that no other agent holds are claimed for its agent, as an edit does. They are
  released with the commits of them; what is left, when the operation is over.
- retry: what is claimed already is renewed.
"""

from __future__ import annotations

from dibs.errors import DibsError
from dibs.operations.claims import endings, grants, resources
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import related
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.guards.edit_guard import BY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.call import Call
    from dibs.operations.guards.requests import MergingRequest
    from dibs.stores.seam import Transaction

    class MergeAnswer(TypedDict):
        """Of `merging`."""

        claimed: list[str]


REASON = "a {what} is under way"
KINDS = ("merge", "cherry-pick", "revert", "rebase", "conflict resolution")
REASONS = tuple(REASON.format(what=what) for what in KINDS)


def _merging(tx: Transaction, call: Call, request: MergingRequest) -> MergeAnswer:
    """Claim the files of what is under way; with nothing under way, release those that it left."""
    tree = request["tree"]
    if not request["what"]:
        freed: list[Resource] = []
        for claim in claim_records.claims_of(tx, call.agent):
            if claim["by"] == BY and claim["tree"] == tree and claim["reason"] in REASONS:
                endings.give_back(tx, claim, claim["resources"], "released")
                freed += claim["resources"]
        endings.serve(tx, freed)
        return {"claimed": []}
    normal = resources.normal(request["paths"])
    taken = [
        record["resources"]
        for record in (claim_records.overlapping_claims(tx, normal, tree) if normal else ())
        if record["until"] > tx.now and not related(record["agent"], call.agent)
    ]
    free = [path for path in request["paths"] if not any(resources.any_overlap(held, [path[:2]]) for held in taken)]
    if free:
        held = grants.claim_at_once(
            tx, call, grants.CLAIM.request(resources=free, tree=tree, by=BY, reason=REASON.format(what=request["what"]))
        )
        free = [] if isinstance(held, DibsError) else free
    return {"claimed": resources.shown(free)}


MERGING = Operation(
    "merging", _merging, "These files are those of a merge that is under way.", sent_by=ANYWHERE,
    fields=(
        Field("tree", "tree", "the top of the working tree", required=True),
        Field("what", "choice", "what is under way; nothing, if it ended",
              choices=KINDS, default=""),
        Field("paths", "resources", "the files that it brought", default=()),
    ),
    takes=True,
)  # fmt: skip

INTERNAL = (MERGING,)
