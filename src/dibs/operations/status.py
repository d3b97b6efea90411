"""Status: who holds what, who waits, who is there. Reading only; it waits for nobody, not even for a stopped writer."""

from __future__ import annotations

from dibs.operations import agents, holds, resources
from dibs.operations.call import iso
from dibs.operations.declare import Field, Operation
from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.operations.call import Call, Record
    from dibs.stores.seam import Transaction

LIMIT = 1_000  # of each kind; a status of more is not read by anybody


def _status(tx: Transaction, call: Call, resources: Sequence[Sequence[str]] = ()) -> dict[str, Any]:
    """What is live now. A claim past its deadline, or of a process that is dead, is nobody's."""
    if resources:
        found, more = _on(tx, resources), False
        claims = [record for record in found if holds.CLAIM in record]
        waiters = [record for record in found if holds.WAITER in record]
    else:
        claims, more = holds.every(tx, holds.CLAIM, LIMIT)
        waiters, _ = holds.every(tx, holds.WAITER, LIMIT)
    known = {agent["agent"]: agent for _, agent in tx.fetch((), [prefix_range("a\t")], LIMIT).rows}
    call.know([agent["process"] for agent in known.values()])
    claims = [
        claim
        for claim in claims
        if claim["until"] > tx.now and not (claim["tied"] and _dead(call, known.get(claim["agent"])))
    ]
    waiters = sorted([w for w in waiters if w["until"] > tx.now], key=lambda waiter: waiter["ticket"])
    return {
        "claims": [holds.held(tx, claim) for claim in sorted(claims, key=lambda claim: claim["token"])],
        "waiting": [_waits(tx, waiter) for waiter in waiters],
        "agents": [agents.shown(tx, call, agent) for agent in known.values() if agents.is_listed(agent)],
        "tasks": _tasks(tx),
        "more": more,
    }


def _tasks(tx: Transaction) -> list[dict[str, Any]]:
    """The tasks at work."""
    from dibs.operations import lifecycle, tasks

    found = lifecycle.of_state(tx, lifecycle.EXECUTING, LIMIT)[0]
    return [lifecycle.shown(tx, task) for task in found if tasks.live_claim(tx, task) is not None]


def _on(tx: Transaction, wanted: Sequence[Sequence[str]]) -> list[Record]:
    return list(holds.meeting(tx, resources.normal(wanted), ""))


def _dead(call: Call, agent: Record | None) -> bool:
    return agent is not None and call.alive(agent["process"]) is False


def _waits(tx: Transaction, waiter: Record) -> dict[str, Any]:
    return {
        "agent": waiter["agent"],
        "resources": resources.shown(waiter["resources"]),
        "mode": waiter["mode"],
        "since": iso(tx, waiter["since"]),
        "until": iso(tx, waiter["deadline"]),
        "reason": waiter["reason"],
    }


OPERATIONS = (
    Operation(
        "status",
        _status,
        "Show who holds what, who waits, and which agents are there.",
        fields=(
            Field("resources", "resources", "only what overlaps these", positional=True, default=(), metavar="RES"),
        ),
        json="claims[], waiting[], agents[], tasks[], warnings[] if the store should be seen to",
        writes=False,
    ),
)
