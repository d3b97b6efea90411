"""The units of a pool that a working tree could have: what neither holders nor earlier waiters have. It only reads."""

from __future__ import annotations

from dibs.operations.claims import pooled, records
from dibs.operations.pools.allocation import free_for
from dibs.operations.pools.shapes import size_of, units_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.operations.claims.records import Claim, Waiter
    from dibs.operations.pools.allocation import Request
    from dibs.operations.pools.shapes import Shape
    from dibs.stores.seam import Transaction


class Vacancies:
    """What there is in one pool."""

    __slots__ = ("free", "holders", "over")

    def __init__(self, tx: Transaction, name: str, shape: Shape, unusable: Sequence[str]) -> None:
        """Read it. `unusable`: units that must not be given out."""
        self.holders: list[Claim] = []  # live claims
        self.over: list[Claim | Waiter] = []  # what has expired
        queue: list[Waiter] = []
        for record in records.within_ranges(tx, records.ranges_of([["name", name]])):
            if records.is_interest(record):
                continue
            if record["until"] <= tx.now:
                self.over.append(record)
            elif records.is_waiter(record):
                queue.append(record)
            else:
                self.holders.append(record)
        taken = {unit for claim in self.holders for unit in pooled.named(claim["resources"], name)}
        for waiter in sorted(queue, key=lambda waiter: waiter["ticket"]):
            if name in waiter.get("pools", ()):
                taken.update(free_for(pooled.wanted(waiter, name), taken))
        every: Request = {"named": (), "count": size_of(shape), "units": units_of(shape), "unusable": unusable}
        self.free = free_for(every, taken)
