"""The process of an agent's client, for `dibs kill AGENT --end`: the store knows it, a person's command ends it.

Only a client that dibs recognises has one here: what a script, a shell or a person calls from is theirs, and a subagent
runs in its parent's process. Nothing is ended here, and nothing is written.
"""

from __future__ import annotations

from dibs.operations.agents import names
from dibs.operations.agents.kill_all import agents_that
from dibs.operations.agents.records import get_agent
from dibs.operations.core.declare import HOSTS, Field, Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.operations.agents.records import Agent
    from dibs.operations.core.call import Call, Process
    from dibs.stores.seam import Transaction

    class ClientProcessRequest(TypedDict):
        """The fields of `client-process`."""

        agent: str

    class ClientProcessAnswer(TypedDict):
        """Of `client-process`."""

        agent: str
        name: str
        client: str  # "" for one that dibs does not know
        process: Process | None  # None if there is none that may be ended
        others: list[str]  # the names of agents in the same process


def _client_process(tx: Transaction, call: Call, request: ClientProcessRequest) -> ClientProcessAnswer:
    record = get_agent(tx, request["agent"])
    if record is None:
        raise names.unknown(tx, request["agent"])
    own, client = record["agent"], record.get("client", "")
    process = record["process"] if client and "/" not in own and record.get("kind") != "person" else None

    def shares(agent: Agent) -> bool:
        return agent["process"] == process and agent["agent"].partition("/")[0] != own and not agent["left"]

    others = agents_that(tx, shares) if process is not None else []
    return {
        "agent": own, "name": names.name_of(tx, own, record), "client": client, "process": process,
        "others": [names.name_of(tx, one["agent"], one) for one in others],
    }  # fmt: skip


CLIENT_PROCESS = Operation(
    "client-process", _client_process, "Which process is this agent's client?", sent_by=HOSTS, rank="orchestrator",
    fields=(Field("agent", "agent", "whose", required=True),), writes=False,
)  # fmt: skip

INTERNAL = (CLIENT_PROCESS,)
