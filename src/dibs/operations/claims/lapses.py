"""Claims whose deadline has passed: they expire, or their agent's process keeps them. Loaded when there is one.

A claim that ends with the commit of its file has unfinished work of its agent. While the process that it is tied to is
known to be alive, whoever would expire it renews it, up to `max_life`: a lunch break loses nothing and alarms nobody.
The claim on a task of an agent at its usage limit is kept so, too; with `[agents] limited = "offer"` it ends instead.

- refusal: a process that cannot be seen from here, is dead, or is not the agent's any more keeps nothing.
- crash, race: renewed or expired in one transaction; the next one sees which. A claim that ended is never revived.
- from afar: a caller's word about a process counts as for every other decision (agents/places.py).
"""

from __future__ import annotations

from dibs.operations.agents.records import get_agents
from dibs.operations.claims import endings, records, releases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dibs.operations.agents.records import Agent
    from dibs.operations.claims.records import Claim, Waiter
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction


def kept(tx: Transaction, call: Call, claims: Iterable[Claim]) -> list[Claim]:
    """The claims among these, past their deadline, that a process keeps; not one that cannot be seen from here."""
    over = [claim for claim in claims if claim["until"] <= tx.now and (endings.keepable(tx, claim) or _is_task(claim))]
    if not over:
        return []
    agents = get_agents(tx, sorted({claim["agent"] for claim in over}))
    waiting = call.policy.work["agents"]["limited"] == "wait"
    over = [claim for claim in over if not _is_task(claim) or (waiting and _may_wait(tx, claim, agents))]
    call.know([agent["process"] for agent in agents.values() if agent is not None])
    there = {
        name
        for name, agent in agents.items()
        if agent is not None and not agent["left"] and not agent["killed"] and call.alive(agent["process"])
    }
    return [claim for claim in over if claim["agent"] in there]


def _is_task(claim: Claim) -> bool:
    return claim["by"] == endings.BY_TASK


def _may_wait(tx: Transaction, claim: Claim, agents: Mapping[str, Agent | None]) -> bool:
    """Is it the task of an agent at its usage limit, which goes on after it?"""
    agent = agents[claim["agent"]]
    return agent is not None and "limited" in agent and claim["tied"] and tx.now < claim["life"]


def held(tx: Transaction, call: Call, claims: Sequence[Claim]) -> list[Claim]:
    """The claims among these that have a holder: neither expired nor of a dead process. For answers that only read."""
    over = kept(tx, call, claims)
    return [*endings.living(tx, call, [claim for claim in claims if claim["until"] > tx.now]), *over]


def lapse(tx: Transaction, call: Call, claims: Sequence[Claim]) -> list[Claim]:
    """Expire these claims, whose deadline has passed, or renew what a process keeps; returns those that expired."""
    keep = {claim["claim"] for claim in kept(tx, call, claims)}
    for claim in claims:
        if claim["claim"] in keep:
            releases.renew_one(tx, claim, why="alive")
        elif (
            _is_task(claim)
            and not claim["pending"]
            and "limited" in (get_agents(tx, [claim["agent"]])[claim["agent"]] or {})
        ):
            endings.end(tx, claim, "limited")  # the task is offered to others
        else:
            endings.expire(tx, claim)
    return [claim for claim in claims if claim["claim"] not in keep]


def clear(tx: Transaction, call: Call, over: Sequence[Claim | Waiter]) -> list[Claim | Waiter]:
    """The same, with waiters among them, which leave the queue; returns what has ended."""
    ended: list[Claim | Waiter] = []
    for waiter in over:
        if records.is_waiter(waiter):
            endings.drop_waiter(tx, waiter, "lapsed")
            ended.append(waiter)
    return [*ended, *lapse(tx, call, [claim for claim in over if records.is_claim(claim)])]
