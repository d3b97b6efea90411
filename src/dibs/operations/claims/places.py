"""What both searches for deadlocks share: the places of an agent, a limit of reads, the steps that are shown."""

from __future__ import annotations

from dibs.errors import Quota
from dibs.operations.claims import records, views
from dibs.operations.core.call import iso
from dibs.operations.core.policy import MAX_WAITS_PER_AGENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.alerts.answers import CycleStep
    from dibs.operations.claims.records import Claim, Place, Waiter, Want
    from dibs.stores.seam import Transaction

    Blocker = Claim | Waiter

MAX_READ = 8_000  # trips and records in one search: some 100 ms; a fleet has fewer waiters by far


class Reads:
    """How much one search has read."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def add(self, read: int) -> None:
        """So many were read."""
        self.count += read
        if self.count > MAX_READ:
            raise Quota(what="claims and waiters that can be searched for a deadlock", limit=MAX_READ)


def places_of(tx: Transaction, agent: str) -> list[Place]:
    """The agent's live places in queues, and its waits for tasks."""
    places: list[Place] = [*records.waiters_of(tx, agent, limit=MAX_WAITS_PER_AGENT)]
    places += records.task_places_of(tx, agent, MAX_WAITS_PER_AGENT)
    return [place for place in places if place["until"] > tx.now]


def step(tx: Transaction, place: Want, record: Blocker) -> CycleStep:
    """One step of a deadlock: who waits for what, and who has it."""
    shown = views.blocker(tx, record, place["resources"])
    return {
        "agent": place["agent"], "resource": shown["resource"], "holder": record["agent"],
        "since": iso(tx, record["since"]),
    }  # fmt: skip
