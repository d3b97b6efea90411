"""What the record says of an agent's work, for whoever continues it: its tasks with their last notes, what it holds.

The rest (what it changed, what it read) only its machine knows: client/baton.py puts both together. It only reads.
"""

from __future__ import annotations

from dibs.operations.agents import limits, names
from dibs.operations.agents.records import get_agent
from dibs.operations.claims import endings, resources
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.handovers.work import Work
from dibs.operations.tasks.records import get_task, verification_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NotRequired, TypedDict

    from dibs.operations.core.call import Call
    from dibs.operations.handovers.requests import WorkOfRequest
    from dibs.operations.tasks.records import Verification
    from dibs.stores.seam import Transaction

    class TaskFacts(TypedDict):
        """A task that the agent has, or had when it ended."""

        id: str
        title: str
        note: str
        progress: int
        verified: NotRequired[Verification]

    class WorkFacts(TypedDict):
        """Of `work-of`."""

        agent: str
        name: str
        tasks: list[TaskFacts]
        held: list[str]
        limited: str  # that it is at a limit, in words; "" if it is not


MAX_TASKS = 5


def _work_of(tx: Transaction, call: Call, request: WorkOfRequest) -> WorkFacts:
    """An agent's work."""
    identifier = names.found(tx, request["agent"])
    agent = get_agent(tx, identifier)
    if agent is None:
        raise names.unknown(tx, request["agent"])
    work = Work(tx, call, agent, ())
    tasks: list[TaskFacts] = []
    for name in work.task_names[:MAX_TASKS]:
        task = get_task(tx, name)
        if task is not None:
            facts: TaskFacts = {
                "id": name, "title": task["title"], "note": task["note"] or "", "progress": task["progress"]
            }  # fmt: skip
            proof = tx.get(verification_key(name))
            if proof is not None:
                facts["verified"] = proof
            tasks.append(facts)
    claims = [claim for claim in work.claims if claim["by"] != endings.BY_TASK]
    held = {text for claim in claims for text in resources.shown(claim["resources"])}
    return {
        "agent": identifier, "name": names.name_of(tx, identifier, agent), "tasks": tasks, "held": sorted(held),
        "limited": limits.words(tx, agent["limited"]) if "limited" in agent else "",
    }  # fmt: skip


WORK_OF = Operation(
    "work-of", _work_of, "What does this agent work on, by the record?", sent_by=ANYWHERE, rank="worker",
    fields=(Field("agent", "agent", "its id or name", required=True),), writes=False,
)  # fmt: skip

INTERNAL = (WORK_OF,)
