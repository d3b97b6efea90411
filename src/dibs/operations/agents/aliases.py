"""Aliases: scripts and environments know an agent by an id of their own (AGENT_ID), its client by a session id.

The session is the agent; the alias is one more id of it, so that claims under either id belong to the same agent.
Decided at boot (AGENT_ID in the client's environment, or an id that was used before in the same client process), and
when a script in the agent's shell names an id.

- unused id: from now on it means this agent.
- id of an agent without a client (a script's, an imported one), or whose client is gone: it is this agent now, as after
  a resume. Its live claims move here under new tokens, and its losses are told here.
- id of another client that is there: it stays that client's, and the caller is told who it is. Two clients that were
  started with one id are two agents.
- from afar: a machine's credential takes the ids of agents that it registered, and unused ones that no credential was
  made for; an agent's credential takes none.
- retry: the same answer. Nothing is taken that the other id did not hold.
"""

from __future__ import annotations

from dibs.errors import Conflict, Invalid
from dibs.operations.agents import names, speech
from dibs.operations.agents.records import agent_key, get_agent, name_key, process_key, put_agent, registered_agent
from dibs.operations.claims import endings
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import TOKEN, check_agent_id, iso
from dibs.operations.core.declare import ANYWHERE, BY_MACHINE, BY_PERSON, HOSTS, Field, Operation
from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.operations.agents.answers import Rival
    from dibs.operations.agents.records import Agent
    from dibs.operations.agents.requests import SameRequest, WhoRequest
    from dibs.operations.claims.records import Claim
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction

    class WhoAnswer(TypedDict):
        """Of `who`."""

        shell: str  # the agent whose shell it is
        known_as: str

    class SameAnswer(TypedDict):
        """Of `same`."""

        agent: str


MAX_ALIASES = 8  # in an agent's record
MAX_LOSSES_MOVED = 200  # with one alias
RECENT_MS = 120_000  # an agent on another machine that acted within this time counts as present


def adopt(tx: Transaction, call: Call, agent: Agent, alias: str) -> Rival | None:
    """Make `alias` another id of the caller. None if it is one now; else who has that id, and since when.

    `agent` is the caller's record; the caller writes it.
    """
    if not _is_id(alias) or alias == call.agent or "/" in call.agent:
        return None
    record, named = tx.get_many([agent_key(alias), name_key(alias)]).values()
    owner = record.get("same", alias) if record is not None else named["agent"] if named is not None else ""
    if owner == call.agent:
        return None
    former = get_agent(tx, owner) if owner else None
    if not _may_take(tx, call, alias, former):
        return None if former is None else {"id": alias, "agent": owner, "since": iso(tx, former["since"])}
    if former is not None and _is_present(tx, call, former):
        return {"id": alias, "agent": owner, "since": iso(tx, former["since"])}
    if former is not None:
        _bring(tx, call, former)
    if record is not None:
        record.update(same=call.agent, left=True)
        put_agent(tx, record)
    else:
        tx.put(name_key(alias), {"agent": call.agent})
    known = [*[earlier for earlier in agent.get("also", ()) if earlier != alias], alias]
    agent["also"] = known[-MAX_ALIASES:]
    for old in known[:-MAX_ALIASES]:  # else each would leave a record that nobody removes
        tx.delete(name_key(old))
    tx.append("agent.same", call.agent, alias, {"was": owner})
    return None


def earlier_id(tx: Transaction, agent: str, process: str) -> str:
    """The id that was used by hand in this client process before its agent was known; "" if there is none."""
    owner = tx.get(process_key(process))
    if owner is None or owner.get("program") or owner["agent"] == agent:
        return ""
    record = get_agent(tx, owner["agent"])
    if record is None or record.get("client_type") or record["left"]:  # a session of its own, in the same process
        return ""
    return str(owner["agent"])


def _is_id(alias: str) -> bool:
    try:
        check_agent_id(alias)
    except Invalid:
        return False
    return "/" not in alias


def _may_take(tx: Transaction, call: Call, alias: str, former: Agent | None) -> bool:
    """May this caller have that id, as far as its credential goes? One agent's takes no other id."""
    if call.credential is None or call.sender == BY_PERSON:
        return True
    if former is not None:
        return call.sender == BY_MACHINE and former.get("machine") == call.machine
    from dibs.operations.agents import credentials

    return call.sender == BY_MACHINE and not credentials.is_of_another(tx, alias, BY_MACHINE, call.machine)


def _is_present(tx: Transaction, call: Call, record: Agent) -> bool:
    """Does another client run this agent now? If its process cannot be seen, its last act decides."""
    if record["killed"]:
        return True  # a killed agent is not continued under another id
    if record["left"] or record["process"] is None or record["process"] == call.client:
        return False
    alive = call.alive(record["process"])
    return alive if alive is not None else bool(tx.now - record["seen"] <= RECENT_MS)


def _bring(tx: Transaction, call: Call, former: Agent) -> None:
    """The claims and losses of the other id are the caller's from now on."""
    from dibs.operations.tasks import holders

    before = former["agent"]
    for claim in claim_records.claims_of(tx, before):
        if claim["until"] <= tx.now:
            endings.expire(tx, claim)
            continue
        given: Claim = {
            **claim,
            "agent": call.agent,
            "claim": f"c{tx.id()}",
            "token": TOKEN,
            "tied": call.from_current_process,
        }
        endings.give_back(tx, claim, claim["resources"], "handover", to=call.agent)
        endings.grant(tx, given, "handover")
        if given["by"] == endings.BY_TASK:
            holders.follow(tx, given)
    for key, loss in tx.fetch([prefix_range(claim_records.losses_prefix(before))], MAX_LOSSES_MOVED).rows:
        tx.delete(key)
        loss["agent"] = call.agent
        claim_records.put_loss(tx, loss)


# --- for scripts


def _who(tx: Transaction, call: Call, request: WhoRequest) -> WhoAnswer:
    """Whose shell this is ("" for none), and the id by which scripts know an agent."""
    own = speech.shells_of(tx, call)
    identifier = names.found(tx, request["agent"]) if request["agent"] else ""
    record = get_agent(tx, identifier) if identifier else None
    also = record.get("also", ()) if record is not None else ()
    return {"shell": own[0] if own else "", "known_as": also[-1] if also else identifier}


def _same(tx: Transaction, call: Call, request: SameRequest) -> SameAnswer | Conflict:
    """A script in the caller's shell names the caller by this id."""
    agent, alias = registered_agent(tx, call.agent), request["alias"]
    before = list(agent.get("also", ()))
    other = adopt(tx, call, agent, alias)
    if other is not None:
        name = names.name_of(tx, other["agent"])
        text = f"{alias} is another session ({name}) that is still there: use an id of your own."
        return Conflict(text, holder=other["agent"], since=other["since"])
    if agent.get("also", []) != before:
        put_agent(tx, agent)
    return {"agent": call.agent}


WHO = Operation(
    "who", _who, "Whose shell is this, and what do scripts call an agent?", sent_by=ANYWHERE,
    fields=(Field("agent", "text", "the agent", default=""),), writes=False,
)  # fmt: skip
SAME = Operation(
    "same", _same, "A script calls the agent by this id.", sent_by=HOSTS,
    fields=(Field("alias", "text", "the id", required=True),), errors=(Conflict,),
)  # fmt: skip

INTERNAL = (WHO, SAME)
