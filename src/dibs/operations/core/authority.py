"""Authority: who may call which operation. One decision for all operations and all doors.

Each operation declares `may`, the least rank that may call it at all. If it can touch another agent's things, it also
declares `others` and `asks`: the rank that this request needs, and the owners of the thing. Each rank includes the
ranks before it:

- viewer: reads.
- worker: its own tasks, messages, its scratch folder.
- agent (an agent without a role): claims, tasks, messages, state, its own subagents.
- orchestrator: others' tasks, assignments, kill, revive, forced releases, deploys.
- person: everything, with pruning, the store, the configuration.

A rank comes from a credential (credentials.py) or the config's `[roles]`, never from the caller's word. Without a role
there, an agent is an agent, and a caller with no client above its process (a person at a terminal, a script, CI) is a
person: by the operating system's user, which is all that can be known. An agent may always act on its own things and on
its subagents'.

- refusal: `forbidden`, in the log as `call.refused`; it names the needed rank and the agents known to have it.
- retry: refused again, until the config changes or the thing is the caller's own.
"""

from __future__ import annotations

from dibs.errors import Forbidden
from dibs.operations.agents import names, roles, speech
from dibs.operations.agents.records import AGENT_KEYS, get_agent, process_key
from dibs.operations.core import paging
from dibs.operations.core.call import process_name, within
from dibs.operations.core.declare import AGENT, ANYWHERE, ORCHESTRATOR, PERSON, RANKS, Field, Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.operations.agents.records import Agent
    from dibs.operations.core.answers import NoAnswer
    from dibs.operations.core.call import Call
    from dibs.operations.core.requests import MayRequest
    from dibs.stores.seam import Transaction

MAX_AGENTS_NAMED = 3
# Commands that are no operation, or are judged by their words before they run; the least rank for each.
ACTS = {"kill": ORCHESTRATOR, "revive": ORCHESTRATOR, "seal": ORCHESTRATOR, "prune": PERSON,
        "init --uninstall": PERSON, "store move": PERSON}  # fmt: skip


def refusal(
    tx: Transaction, call: Call, operation: Operation, agent: Agent | None, needed: str, owners: Sequence[str]
) -> Forbidden | None:
    """Why this caller may not do this, or None. `agent` is its record, `owners` own the thing."""
    have = rank(tx, call, agent)
    if RANKS[have] >= RANKS[needed]:
        return None
    own = any(within(owner, call.agent) for owner in owners)
    if own and RANKS[have] >= RANKS[operation.rank]:
        return None
    act_text = f"`dibs {operation.name}`"
    if RANKS[have] >= RANKS[operation.rank or needed]:  # the command itself is for this caller
        act_text += " of what is not its own" if owners else " in this way"
    named_owners = [owner for owner in owners if owner]
    return _forbidden(tx, call, call.agent, have, needed, operation.name, named_owners, act_text)


def refusal_to(tx: Transaction, call: Call, act: str, own: str = "") -> Forbidden | None:
    """The same for a command that is no operation (ACTS), or that an agent's shell is about to run."""
    who = own or call.agent
    have = rank(tx, call, get_agent(tx, who), who)
    return None if RANKS[have] >= RANKS[ACTS[act]] else _forbidden(tx, call, who, have, ACTS[act], act, ())


def rank(tx: Transaction, call: Call, agent: Agent | None, who: str = "") -> str:
    """The caller's rank: by the config, else a person if no client is above the call."""
    role, _ = roles.of(call, agent, who=who)
    if role:
        found = roles.rank_of(call, role)
        return AGENT if found == PERSON and comes_from_agent(tx, call) else found  # a credential is in its shell, too
    if call.credential is not None:  # a person's has a role
        return AGENT
    return AGENT if comes_from_agent(tx, call) else PERSON


def is_person(tx: Transaction, call: Call) -> bool:
    """Is this a person who speaks for itself? What it does to files, it does for the agents that hold them."""
    return call.is_person and rank(tx, call, get_agent(tx, call.agent)) == PERSON


def comes_from_agent(tx: Transaction, call: Call) -> bool:
    """Is there a client, or a client's shell, above this call? A program that calls dibs itself is no client."""
    if call.model or call.shell_owner or call.session or (call.client is not None and not call.is_program(call.client)):
        return True
    keys = [process_key(process_name(process)) for process in call.ancestors]
    found = tx.get_many(keys)
    return any(record is not None and not record.get("program") for record in found.values())


def has_orchestrator(call: Call) -> bool:
    """Does the config name an orchestrator? If not, agents keep those rights."""
    settings = call.policy.guards["roles"]
    given = [settings["default"], *[role for _, role in settings["assign"]]]
    return any(role and roles.rank_of(call, role) == ORCHESTRATOR for role in given)


def _forbidden(
    tx: Transaction, call: Call, who: str, have: str, needed: str, act: str, owners: Sequence[str], act_text: str = ""
) -> Forbidden:
    """The refusal, with the agents that could do it: the owners, and those with the rank."""
    could = _who_could(tx, call, needed)
    known = names.names_of(tx, [*owners, *could])
    able = [known[owner] for owner in dict.fromkeys(owners)]
    ranks = [rank for rank in RANKS if RANKS[needed] <= RANKS[rank] < RANKS[PERSON]]
    if ranks:
        live = ", ".join(known[agent] for agent in could)
        able.append(f"{_a(ranks[0])}{f' ({live})' if live else ''}")
    elif could:
        able.append(", ".join(known[agent] for agent in could))
    able.append("a person at a terminal")
    by = ", or ".join(able)
    name = names.name_of(tx, who)
    return Forbidden(
        f"{act_text or f'`dibs {act}`'} is not for {name} ({_a(have)}): {by} can do it. Ask, and say why it is needed.",
        agent=who, act=act, role=have, needs=needed, owners=list(owners), could=could,
    )  # fmt: skip


def _a(rank: str) -> str:
    return f"an {rank}" if rank[0] in "ao" else f"a {rank}"


def _who_could(tx: Transaction, call: Call, needed: str) -> list[str]:
    """Present agents and people with the rank, the last seen first; a few of them."""
    found = [
        agent
        for _, agent in paging.every(tx, AGENT_KEYS)
        if not agent["left"] and not agent["killed"] and RANKS[_rank_known(call, agent)] >= RANKS[needed]
    ]
    found.sort(key=lambda agent: (-agent["seen"], agent["agent"]))
    call.know([agent["process"] for agent in found])
    return [agent["agent"] for agent in found if call.alive(agent["process"]) is not False][:MAX_AGENTS_NAMED]


def _rank_known(call: Call, agent: Agent) -> str:
    """The rank of an agent that is not calling now, by the config and its record."""
    role, _ = roles.of(call, agent, who=agent["agent"])
    if role:
        return roles.rank_of(call, role)
    return PERSON if agent.get("kind") == PERSON else AGENT


def _may(tx: Transaction, call: Call, request: MayRequest) -> NoAnswer:
    """For doors whose command is no operation."""
    if not call.agent:
        from dibs.operations.agents.speech import name_caller

        name_caller(tx, call)
    error = speech.refusal(tx, call) or refusal_to(tx, call, request["act"])
    if error is not None:
        raise error
    return {}


MAY = Operation(
    "may", _may, "May this be done from here?", sent_by=ANYWHERE,
    fields=(Field("act", "choice", "the act", choices=tuple(ACTS), required=True),), errors=(Forbidden,), writes=False,
)  # fmt: skip

INTERNAL = (MAY,)


def refusal_to_speak(tx: Transaction, call: Call, spoken: speech.Spoken) -> Forbidden | None:
    """The same for the dibs commands in a shell command of the agent, before it runs (shell/dibs_commands.py)."""
    call.shell_owner = call.shell_owner or call.agent  # this agent's shell will run them
    for command, speaker in spoken:
        if speaker and not within(names.found(tx, speaker), call.agent):
            return speech.refusal_of_other_agent(tx, call.agent, speaker)
        if command in ACTS:
            error = refusal_to(tx, call, command)
            if error is not None:
                return error
    return None
