"""NEXT: an agent's work waits for the next agent that starts, or that asks for work, in the same working tree.

- kept: whoever offers it holds the claims meanwhile, under new tokens; an agent that offers its own work keeps its own.
- success: the agent gets all of it in the transaction of its boot, with a briefing. One agent: the offer goes with it.
- who: an agent whose process is new, no person and no subagent; one that the task fits and whose role may write the
  files. Work in a working tree is for an agent that starts in that tree.
- expiry: after an hour the claims are released, the task is in the queue, and whoever offered it is told.
- cancelled: the same at once; whoever offered it is told, unless it is the caller.
- replaced: a later hand-over of the same agent takes what is kept.
"""

from __future__ import annotations

from dibs.operations.agents import names
from dibs.operations.agents.records import get_agent, registered_agent
from dibs.operations.claims import endings
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import within
from dibs.operations.handovers import briefing, records
from dibs.operations.handovers.work import HANDED, Passed, Work, pass_on
from dibs.operations.messages import mailbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.call import Call
    from dibs.operations.handovers.briefing import Terms
    from dibs.operations.handovers.records import Offer
    from dibs.stores.seam import Transaction

OFFER_MS = 3_600_000  # an hour: a person who offers work starts an agent soon
GRACE_MS = 300_000  # a kept claim outlasts its offer, so that a sweep releases it and nobody is alarmed
MAX_READ = 50  # offers that a start looks at


def make(tx: Transaction, call: Call, work: Work, note: str, *, own: bool, dry_run: bool) -> tuple[Passed, Offer]:
    """Keep an agent's work for the next agent that starts; a second offer of it renews the first."""
    agent, until = work.agent["agent"], tx.now + OFFER_MS
    before = work.offer
    offer: Offer = {
        "handover": "" if dry_run else f"o{tx.id()}", "agent": agent, "by": call.agent, "note": note, "at": tx.now,
        "until": until, "claims": [], "tasks": [], "files": [],
    }  # fmt: skip
    if dry_run:
        return as_is(work), offer
    if before is not None:
        end(tx, before, "replaced")
    keeper = registered_agent(tx, call.agent)
    passed = as_is(work) if own else pass_on(tx, call, work, keeper, until=until + GRACE_MS)
    offer["claims"] = [claim["claim"] for claim in passed.claims]
    offer["tasks"], offer["files"] = passed.tasks, passed.files
    records.put_offer(tx, offer)
    event = {
        "handover": offer["handover"], "claims": offer["claims"], "tasks": offer["tasks"],
        "files": len(offer["files"]), "until": until, **({"note": note} if note else {}),
        **({"request": [call.operation, call.request]} if call.request else {}),
    }  # fmt: skip
    tx.append("handover.offered", call.agent, agent, event)
    if not own:
        text = f"{call.name} took your work away and keeps it for the next agent: your tokens are no longer live. Stop."
        mailbox.post(tx, agent, call.agent, HANDED, text, handover=offer["handover"])
    return passed, offer


def as_is(work: Work) -> Passed:
    """What there is to pass on, where nothing is passed yet."""
    passed = Passed()
    passed.claims, passed.tasks, passed.files, passed.left = work.claims, work.task_names, work.files, work.left
    return passed


def take(tx: Transaction, call: Call, tree: str) -> list[str]:
    """The caller starts, or asks for work: the first offer that it may have is its own. Returns the tasks of it."""
    offers = sorted(records.get_offers(tx, MAX_READ), key=lambda offer: (offer["at"], offer["handover"]))
    for offer in offers:
        agent = get_agent(tx, offer["agent"])
        if agent is None or offer["until"] <= tx.now or offer["by"] == call.agent:
            continue
        work, me = Work.offered(tx, call, agent, offer), registered_agent(tx, call.agent)
        trees = {claim["tree"] for claim in work.claims} | {one for one, _ in work.files}
        if not trees - {""} <= {tree} or work.is_empty or work.refusal(tx, call, me) is not None:
            continue
        passed = pass_on(tx, call, work, me, own=True)
        records.delete_offer(tx, offer)
        own = within(offer["agent"], offer["by"]) or offer["agent"] == call.agent
        terms: Terms = {"handover": offer["handover"], "by": offer["by"], "note": offer["note"], "own": own}
        briefing.tell(tx, call, work, me, passed, terms)
        text = f"{call.name} took over the work of {names.name_of(tx, offer['agent'], agent)}."
        mailbox.post(tx, offer["by"], "dibs", HANDED, text, handover=offer["handover"])
        return passed.tasks
    return []


def end(tx: Transaction, offer: Offer, why: str) -> None:
    """Nobody took it. Of one that is replaced, the next hand-over has the claims."""
    records.delete_offer(tx, offer)
    tx.append("handover.ended", offer["by"], offer["agent"], {"handover": offer["handover"], "why": why})


def lapse(tx: Transaction, offer: Offer) -> None:
    """No agent started in time: what was kept is released, and whoever kept it is told."""
    end(tx, offer, "lapsed")
    _release(tx, offer)
    text = f"No agent started in time to take over the work of {names.name_of(tx, offer['agent'])}: it is released."
    if not within(offer["agent"], offer["by"]):
        mailbox.post(tx, offer["by"], "dibs", HANDED, text, handover=offer["handover"])


def cancel(tx: Transaction, call: Call, offer: Offer) -> None:
    """The offer is taken back: what was kept is released, and whoever kept it is told by another caller."""
    end(tx, offer, "cancelled")
    _release(tx, offer)
    if offer["by"] != call.agent:
        text = f"{call.name} took back the offer of {names.name_of(tx, offer['agent'])}'s work: it is released."
        mailbox.post(tx, offer["by"], call.agent, HANDED, text, handover=offer["handover"])


def _release(tx: Transaction, offer: Offer) -> None:
    """Release what was kept for the next agent."""
    if within(offer["agent"], offer["by"]):
        return  # its own claims
    freed: list[Resource] = []
    for claim in claim_records.claims_of(tx, offer["by"]):
        if claim["claim"] in offer["claims"]:
            endings.give_back(tx, claim, claim["resources"], "released")
            freed += claim["resources"]
    endings.serve(tx, freed)
