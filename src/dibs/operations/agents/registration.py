"""An agent's record: made at its first call, with its process. presence.py has boot, leave and kill."""

from __future__ import annotations

from dibs.operations.agents import names
from dibs.operations.agents.records import process_key, put_agent
from dibs.operations.core.call import process_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.agents.records import Agent
    from dibs.operations.core.call import Call, Process
    from dibs.stores.seam import Transaction

MAX_FORMER_PROCESSES = 8  # earlier processes of an agent, kept so that they are recognised as fenced


def register(tx: Transaction, call: Call, process: Process | None, kind: str) -> Agent:
    """Make the caller known, and give it a name, by its kind. Its parent is in its id."""
    agent: Agent = {
        "agent": call.agent, "name": "", "type": "", "can": [], "incarnation": 1, "process": None, "former": [],
        "killed": None, "since": tx.now, "seen": tx.now, "left": False,
    }  # fmt: skip
    if call.is_person:
        agent["kind"] = "person"
    if call.machine:  # by its credential: see credentials.py
        agent["machine"] = call.machine
    if call.kind:
        agent["client"] = call.kind
    if process is not None:
        set_process(tx, agent, process, program=call.is_program(process), host=call.host)
    names.give(tx, agent, kind)
    data = {"process": process, "name": agent["name"], **({"machine": call.machine} if call.machine else {})}
    tx.append("agent.registered", call.agent, call.agent, data)
    put_agent(tx, agent)
    return agent


def set_process(tx: Transaction, agent: Agent, process: Process, *, program: bool = False, host: str = "") -> None:
    """Set the process that the agent runs in; the one before is fenced.

    `program`: it calls dibs itself, from Python; a process that it starts is no agent's shell (see speech.py). `host`:
    its machine's name, for people.
    """
    agent["where"] = host
    before = agent["process"]
    if before is not None:
        if "/" not in agent["agent"]:
            tx.delete(process_key(process_name(before)))
        agent["former"] = [*[p for p in agent["former"] if p != process], before][-MAX_FORMER_PROCESSES:]
    agent["former"] = [p for p in agent["former"] if p != process]
    agent["process"] = process
    if "/" not in agent["agent"]:  # a subagent runs in its parent's process, under the parent's name
        record = {"agent": agent["agent"], "program": True} if program else {"agent": agent["agent"]}
        tx.put(process_key(process_name(process)), record)
