"""Who may act for whom: a shell that a client started for its agent acts for that agent only.

The facts come from the door: a typed call (a command line, git's hooks, a script), the id in the client's own session
variable, and the processes above it. An agent's shell may name that agent or one of its subagents; any other id is
refused. A person at a terminal may act for any agent, and so may a script with no client above it. The same holds for a
Python program that opens a workspace as an agent (`dibs.open(agent=…)`), where the agent of the shell is known there;
dibs' own programs (`dibs worker`) are agents of their own. authority.py decides what the acting agent may do. This
protects agents from accidents, not from malice: they share one user of the operating system.
"""

from __future__ import annotations

from dibs.errors import Forbidden, quoted
from dibs.operations.agents import names
from dibs.operations.agents.records import agent_key, process_key, subagents_range
from dibs.operations.core.call import PROGRAM, process_name, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.operations.agents.records import Agent, ProcessOwner
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction

    Spoken = Sequence[tuple[str, str]]  # what a shell command would have dibs do, and as which agent ("": as itself)


def name_caller(tx: Transaction, call: Call) -> None:
    """The registered agent whose process is among the caller's ancestors, else the person at the terminal."""
    keys = [process_key(process_name(process)) for process in call.ancestors]
    owner: ProcessOwner | None
    for owner in tx.get_many(keys).values():
        if owner is not None:
            call.agent, call.identified_by = owner["agent"], "process"
            return
    call.agent, call.identified_by = call.fallback, "user"


def shells_of(tx: Transaction, call: Call) -> list[str]:
    """The agents whose shell this call comes from: by its session variable, and by the nearest client process."""
    program = not call.from_shell and call.identified_by == PROGRAM
    if not (call.from_shell or program):
        return []
    keys, own = [process_key(process_name(process)) for process in call.ancestors], agent_key(call.session)
    owners = tx.get_many([*keys, own])
    clients = [owners[key]["agent"] for key in keys if owners[key] is not None and not owners[key].get("program")]
    nearest = clients[0] if clients else ""
    session = "" if program and owners[own] is None else call.session  # an agent of another workspace is none here
    return [agent for agent in (nearest, session) if agent]


def refusal(tx: Transaction, call: Call) -> Forbidden | None:
    """Why this call may not come from its shell, or None. Remembers whose shell it is."""
    own = shells_of(tx, call)
    call.shell_owner = next((agent for agent in own if within(call.agent, agent)), own[0] if own else "")
    if not own:
        return None
    return None if within(call.agent, call.shell_owner) else refusal_of_other_agent(tx, call.shell_owner, call.agent)


def refusal_of_other_agent(tx: Transaction, own: str, other: str) -> Forbidden:
    """The refusal of an agent's shell that names another agent."""
    name = names.name_of(tx, own)
    whom = names.name_of(tx, other)
    return Forbidden(
        f"this is the shell of {name}, which speaks for itself and its subagents, not for {whom}: that one can do it, "
        f"or a person at a terminal. Leave out --as and DIBS_AGENT; to ask for something, "
        f"`dibs send {quoted(whom)} TEXT`.",
        agent=own, wanted=other,
    )  # fmt: skip


def subagents(tx: Transaction, agent: str) -> list[Agent]:
    """The agent's subagents that have not ended, as far as is known; a few of them."""
    rows = tx.fetch([subagents_range(agent)], 64).rows
    return [record for _, record in rows if not record["left"] and not record["killed"]]
