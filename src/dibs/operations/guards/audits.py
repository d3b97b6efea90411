"""After a call: what an agent is to be told, and what it need not hold any more. changes.py has what a change means.

Internal: only the doors that stand around the agents' tool calls run these, and bring the facts.
"""

from __future__ import annotations

from dibs.operations.agents.names import name_of
from dibs.operations.agents.records import put_agent
from dibs.operations.claims import endings, holds, resources
from dibs.operations.core.call import check_text, iso, related
from dibs.operations.core.declare import Operation
from dibs.operations.guards import changes
from dibs.operations.guards.edit_guard import BY, is_there
from dibs.operations.messages import mailbox
from dibs.operations.upkeep import sweeps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Fetched, Transaction

LIMIT = 2_000  # claims of others that one audit looks at
SHELL = "shell"  # what a claim says in `by` that lasts only as long as one command


# --- who holds what here


def _others(tx: Transaction, call: Call, tree: str = "") -> dict[str, Any]:
    """The live write claims of agents outside the caller's family that count in this working tree."""
    claims = [
        {
            "claim": record["claim"], "agent": record["agent"], "resources": record["resources"], "by": record["by"],
            "since": iso(tx, record["since"]), "until": iso(tx, record["until"]), "reason": record["reason"],
            "tree": record["tree"],
        } for record in others(tx, call, tree)
    ]  # fmt: skip
    return {"claims": claims}


def others(tx: Transaction, call: Call, tree: str) -> list[Record]:
    """Their records. A holder whose process is dead holds nothing."""
    found, _ = holds.every(tx, holds.CLAIM, LIMIT)
    live = [
        record
        for record in found
        if record["until"] > tx.now
        and record["mode"] == resources.WRITE
        and (not tree or record["tree"] in {"", tree})
        and not related(record["agent"], call.agent)
    ]
    return endings.living(tx, call, live)


# --- after a call


def _audit(
    tx: Transaction,
    call: Call,
    got: Fetched,
    found: Sequence[dict[str, Any]] = (),
    release: Sequence[str] = (),
    tool: str = "",
) -> dict[str, Any]:
    """Tell what changed files mean, end the claims that lasted for the call, and say what the agent should know."""
    violations = changes.tell(tx, call, found, tool)
    freed: list[Any] = []
    for claim in holds.of_agent(tx, holds.CLAIM, call.agent) if release else ():
        if claim["claim"] not in release or claim["by"] != SHELL:
            continue
        endings.give_back(tx, claim, claim["resources"], "released")
        freed += claim["resources"]
    endings.serve(tx, freed)
    sweeps.some(tx, sweeps.A_FEW)  # a little of it here, where nobody waits for the answer
    return {"violations": violations, **_news(tx, call, got)}


def _changed(tx: Transaction, call: Call, got: Fetched, found: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """The same where the agent cannot be told at once: everybody concerned gets a message, the caller too."""
    return {"violations": changes.tell(tx, call, found, "", direct=False)}


# --- news


def _news(tx: Transaction, call: Call, got: Fetched) -> dict[str, Any]:
    """Messages to be told now (see mailbox.py), and whether the rules changed since the agent was told them.

    Showing the rules is the acknowledgement: it is recorded here and not asked of the model.
    """
    agent = got.values[f"a\t{call.agent}"]
    news: list[dict[str, Any]] = []
    for key, message in mailbox.deliverable(tx, call.agent)[0]:
        mailbox.mark_shown(tx, key, message)
        news.append(mailbox.shown(tx, message))
    known = agent.get("rules", "")
    changed = bool(call.rules) and known != call.rules
    if changed:
        agent["rules"] = call.rules
        put_agent(tx, agent)
        tx.append("rules.acknowledged", call.agent, call.agent, {"digest": call.rules})
    return {"messages": news, "rules_changed": changed, "rules_first": changed and not known}


def _activity(tx: Transaction, call: Call, got: Fetched) -> dict[str, Any]:
    """The agent is there: its claims are renewed on the way in (see call.py), and it hears what is new."""
    return _news(tx, call, got)


# --- when an agent stops


def _idle(tx: Transaction, call: Call, got: Fetched, now: dict[str, str] | None = None) -> dict[str, Any]:
    """The agent's turn is over: edit claims whose file is what it was when it was claimed are given back.

    `now` has the content (blob) of each file of the agent's edit claims, by claim and path.
    """
    freed: list[Any] = []
    for claim in holds.of_agent(tx, holds.CLAIM, call.agent):
        if claim["until"] <= tx.now:
            continue
        if claim["by"] == SHELL:  # of a command that was broken off, so that nobody told of its end
            endings.give_back(tx, claim, claim["resources"], "released")
            freed += claim["resources"]
        if claim["by"] != BY:
            continue
        base = claim.get("base") or {}
        same = [
            resource
            for resource in claim["resources"]
            if resource[1] in base and (now or {}).get(f"{claim['claim']}\t{resource[1]}") == base[resource[1]]
        ]
        if same:
            same = holds.with_aliases(claim["resources"], same)
            endings.give_back(tx, claim, same, "unchanged")
            freed += same
    endings.serve(tx, freed)
    return {"released": resources.shown(freed)}


def _mine(tx: Transaction, call: Call) -> dict[str, Any]:
    """The caller's own live claims that guards made, so that the door can look at their files."""
    return {
        "claims": [
            [record["claim"], record["tree"], [r[1] for r in record["resources"] if r[0] in resources.LITERAL]]
            for record in holds.of_agent(tx, holds.CLAIM, call.agent)
            if record["by"] in {BY, SHELL} and record["until"] > tx.now
        ]
    }


def _known(tx: Transaction, call: Call) -> dict[str, Any]:
    """Is the caller registered? A client may tell of the end of what never began."""
    return {"known": tx.fetch([f"a\t{call.agent}"]).values[f"a\t{call.agent}"] is not None}


def _peers(tx: Transaction, call: Call, agents: Sequence[str]) -> dict[str, Any]:
    """Which of these agents are still at work, and which have ended in the very process that the caller runs in.

    A client that is told to forget (`/clear`) goes on under another id in the same process.
    """
    there, mine = [], []
    for agent, record in zip(agents, tx.fetch([f"a\t{one}" for one in agents]).values.values(), strict=True):
        if is_there(tx, call, agent):
            there.append(agent)
        elif record is not None and record["process"] is not None and record["process"] == call.client:
            mine.append(agent)
    return {"there": there, "mine": mine, "names": {agent: name_of(tx, agent) for agent in agents}}


def _doubt(tx: Transaction, call: Call, got: Fetched, why: str = "", tool: str = "") -> dict[str, Any]:
    """A guard could not decide and the config says to let it pass: at least the log has it."""
    tx.append("guard.doubted", call.agent, check_text(tool, "tool") or "?", {"why": why[:200]})
    return {}


OTHERS = Operation("others", _others, "Who else holds what in this working tree?", writes=False)
MINE = Operation("mine", _mine, "Which files does the edit guard hold for me?", writes=False)
KNOWN = Operation("known", _known, "Am I registered?", writes=False)
AUDIT = Operation("audit", _audit, "What did this call change that others hold?", wants=("rules", "deliveries"))
CHANGED = Operation("changed", _changed, "These files were changed; tell whom it concerns.")
ACTIVITY = Operation("activity", _activity, "I am here; what is new?", wants=("rules", "deliveries"))
PEERS = Operation("peers", _peers, "Which of these agents are at work?", writes=False)
IDLE = Operation("idle", _idle, "My turn is over.", wants=("rules",))
DOUBT = Operation("doubt", _doubt, "A guard let something pass without knowing.")
