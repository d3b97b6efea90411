"""The workforce: agents that wait for tasks, how many each may have, and which of them a ready task wakes.

pulls.py takes tasks, placement.py assigns them; both use this.
"""

from __future__ import annotations

from dibs.operations.agents.records import get_agent
from dibs.operations.claims import endings
from dibs.operations.claims import records as claim_records
from dibs.operations.core.policy import MINUTE
from dibs.operations.tasks import lifecycle, records
from dibs.operations.tasks.lifecycle import PLANNED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.operations.agents.answers import Breaker
    from dibs.operations.agents.records import Agent
    from dibs.operations.claims.records import Claim, Waiter
    from dibs.operations.core.call import Call
    from dibs.operations.tasks.records import Task, WorkWaiter
    from dibs.stores.seam import Transaction


WAITER_LEASE_MS = 15_000  # after its last poll, while a waiting agent counts as present
MAX_WAITERS_READ = 64  # when a task becomes ready
MAX_BREAKER_PAUSE_MS = 30 * MINUTE


def early_claim(tx: Transaction, call: Call, task: Task) -> Claim | Waiter | None:
    """The claim on a task's name from before the task existed; a planned task's name has no other holder."""
    if not task["named"]:
        return None
    wanted = [lifecycle.resource_of(task["task"])]
    while True:  # each round ends at least one record, and its waiters are served first
        here = [record for record in claim_records.overlapping(tx, wanted, "") if not claim_records.is_interest(record)]
        over = [record for record in here if record["until"] <= tx.now]
        live = [record for record in here if record not in over]
        dead = endings.gone(tx, call, [record for record in live if claim_records.is_claim(record)])
        if not over and not dead:
            return next((record for record in here if endings.blocks(record, "write", call.agent)), None)
        endings.clear(tx, call, over, dead)


def expect(tx: Transaction, agent: str, until: int) -> None:
    """A task is assigned to an agent: its record says until when the agent has to look for one."""
    from dibs.operations.agents.records import put_agent

    record = get_agent(tx, agent)
    if record is not None and record.get("assigned", 0) < until:
        record["assigned"] = until
        put_agent(tx, record)


def limit_of(tx: Transaction, call: Call, agent: Agent) -> int:
    """How many tasks this agent may have; an agent with an open breaker gets one to try."""
    most: int = call.policy.work["tasks"]["max_tasks"]
    return 1 if breaker(tx, call, agent)[0] == "half-open" else most


def live_tasks(tx: Transaction, agent: str) -> list[Claim]:
    """The live claims on tasks that an agent holds."""
    return [claim for claim in claim_records.claims_of(tx, agent) if claim["by"] == "task" and claim["until"] > tx.now]


def breaker(tx: Transaction, call: Call, agent: Agent | None) -> tuple[Breaker, int]:
    """Closed, open or half-open, and until when it is open: by the failures in a row, and the last one's time."""
    strikes = agent.get("strikes", 0) if agent is not None else 0
    settings = call.policy.work["tasks"]
    if agent is None or strikes < settings["breaker_failures"]:
        return "closed", 0
    pause = min(MAX_BREAKER_PAUSE_MS, settings["breaker_pause"] << min(16, strikes - settings["breaker_failures"]))
    until: int = agent["struck"] + pause
    return ("open", until) if until > tx.now else ("half-open", until)


def mark_as_worker(tx: Transaction, agent: Agent) -> None:
    """The agent asks for work: from now on it may be given some. One that only looks, or runs a script, never is."""
    if not agent.get("works"):
        from dibs.operations.agents.records import put_agent

        agent["works"] = True
        put_agent(tx, agent)


def present(tx: Transaction) -> list[WorkWaiter]:
    """The agents that wait for work now, first come first; absent ones are dropped."""
    waiting = []
    for identifier, waiter in records.get_waiters(tx, MAX_WAITERS_READ):
        if waiter["until"] <= tx.now:
            records.delete_waiter(tx, identifier)
        else:
            waiting.append(waiter)
    return sorted(waiting, key=turn_of)


def turn_of(waiter: WorkWaiter | None) -> int:
    """The number of the commit with which an agent began to wait for work; 0 if there is none."""
    return int(waiter.get("turn", 0)) if waiter is not None else 0


def wake(tx: Transaction, ready: Sequence[Task]) -> None:
    """Tasks became ready: wake as many waiters for such work. A wake is a hint; each waiter looks for itself."""
    waiting: list[WorkWaiter] | None = None
    for task in ready:
        if task["state"] != PLANNED or task["open"] or task["kids"] or task["window"] or task["not_before"] > tx.now:
            continue
        if waiting is None:
            waiting = present(tx)
        for waiter in waiting:
            fitting = lifecycle.fits(waiter, task["needs"], task["for"]) and waiter["run"] in {"", task["run"]}
            fitting = fitting and (not records.is_for_one_task(waiter) or waiter["task"] == task["task"])
            if fitting and waiter["wake"] and (not task["assigned"] or task["assigned"]["agent"] == waiter["agent"]):
                tx.wake(waiter["wake"])
                waiting = [other for other in waiting if other is not waiter]
                break
