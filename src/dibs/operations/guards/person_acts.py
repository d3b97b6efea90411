"""A person decides: a restore or an undo by a person acts for the agents that hold the files.

A person is a caller that speaks for itself and has the rank of one (`authority.is_person`): at a terminal, or on the
page with a person's credential; never an agent's shell, whatever credential is in it. Anybody else is refused, as any
edit of a held file is.

- restore: every holder keeps its claim and is notified. Its next write is checked against what lies there now: the
  edit guard refuses a whole file that was made from another content.
- undo: an agent whose own work is undone loses its claims on those files, under their tokens, and is notified. Other
  holders keep theirs, and so does the holder of a task, whose claim is its work on the task; they are notified.
- refusal, Ctrl-C before the first file is written: what the undo took away is given back, under new tokens.
- death: a holder whose process is dead holds nothing.
- race: a holder's call that was let through before may still write. What lay there is compared right before it is
  replaced, and what was replaced is kept.
"""

from __future__ import annotations

from dibs.operations.agents.records import get_agent
from dibs.operations.claims import endings, resources
from dibs.operations.claims import records as claim_records
from dibs.operations.core import authority
from dibs.operations.core.call import within
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.messages import mailbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import TypedDict

    from dibs.operations.claims.records import Claim
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.call import Call
    from dibs.operations.guards.answers import AtWorkView
    from dibs.operations.guards.requests import AtWorkRequest
    from dibs.stores.seam import Transaction

    class AtWorkAnswer(TypedDict):
        """Of `at-work`."""

        decides: bool  # the caller is a person: it acts for these
        holders: list[AtWorkView]


def at_work(tx: Transaction, call: Call, wanted: Sequence[Resource], tree: str) -> list[Claim]:
    """The live claims of other agents in the way of a write there."""
    found = [
        claim
        for claim in claim_records.overlapping_claims(tx, resources.normal(wanted), tree)
        if claim["until"] > tx.now and endings.blocks(claim, resources.WRITE, call.agent)
    ]
    return endings.living(tx, call, found)


def loses(claim: Claim, of: Collection[str]) -> bool:
    """Does the holder lose this claim if the work of these agents is undone?"""
    return claim["by"] != endings.BY_TASK and any(within(claim["agent"], agent) for agent in of)


def tell(tx: Transaction, call: Call, claims: Sequence[Claim], did: str, kind: str, **facts: str) -> None:
    """Notify each of these holders of what was done to its files. It still holds them."""
    for agent in dict.fromkeys([claim["agent"] for claim in claims]):
        text = f"{did} You still hold it: read it again before you write to it."
        mailbox.post(tx, agent, call.voice, kind, text, **facts)


def take_away(tx: Transaction, call: Call, claims: Sequence[Claim], reason: str) -> list[Claim]:
    """End these claims, for an undo of their holders' own work. What became free is served when the undo is done."""
    for claim in claims:
        endings.end(tx, claim, endings.FORCED, by=call.agent, reason=reason)
    return list(claims)


def give_back(tx: Transaction, taken: Sequence[Claim]) -> None:
    """Nothing was undone: the holders have their claims again, as far as they are there and nothing else is."""
    for old in taken:
        agent = get_agent(tx, old["agent"])
        if old["until"] <= tx.now or agent is None or agent["left"] or agent["killed"]:
            continue
        others = claim_records.overlapping_claims(tx, old["resources"], old["tree"])
        if any(one["until"] > tx.now and endings.blocks(one, old["mode"], old["agent"]) for one in others):
            continue
        tx.delete(claim_records.loss_key(old["agent"], old["claim"]))
        claim = old.copy()
        claim["claim"] = f"c{tx.id()}"
        claim.pop("rows", None)
        endings.grant(tx, claim, "handover")


def _at_work(tx: Transaction, call: Call, request: AtWorkRequest) -> AtWorkAnswer:
    """Who holds these files now, and what each loses by an undo of the work of `of`."""
    wanted = resources.normal(request["resources"])
    holders: dict[tuple[str, bool], AtWorkView] = {}
    for claim in at_work(tx, call, wanted, request["tree"]):
        agent, lost = claim["agent"], loses(claim, request["of"])
        one = holders.setdefault((agent, lost), {"agent": agent, "files": [], "holds": [], "loses": lost})
        met = [wish for wish in wanted if resources.any_overlap(claim["resources"], [wish]) is not None]
        one["files"] += [name for name in resources.shown(met) if name not in one["files"]]
        one["holds"] += [name for name in resources.shown(claim["resources"]) if name not in one["holds"]]
    return {"decides": authority.is_person(tx, call), "holders": list(holders.values())}


AT_WORK = Operation(
    "at-work", _at_work, "Who is at work on these files?", sent_by=ANYWHERE,
    fields=(
        Field("resources", "resources", "the files", required=True),
        Field("tree", "tree", "the top of the working tree", required=True),
        Field("of", "words", "the agents whose work is to be undone", default=()),
    ),
    writes=False, rank="worker",
)  # fmt: skip

INTERNAL = (AT_WORK,)
