"""Replays who holds which unit of a pool: one agent at a time, whatever its family, and no more units than there are.

Part of `dibs verify`; it imports nothing of the operations. A pool is known by the first grant that says its size:
before, the same names were claims like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.verify.reading import must, say, whole

if TYPE_CHECKING:
    from dibs.stores.seam import Json
    from dibs.verify.checker import Report
    from dibs.verify.replay import Claim

POOL = "pool:"


def unit_of(name: str) -> tuple[str, str]:
    """The pool and the unit of a name; the unit is "" if it is none."""
    if not name.startswith(POOL):
        return "", ""
    pool, _, unit = name[len(POOL) :].partition(":")
    return POOL + pool, unit


class Pools:
    """The units that are held, by the claims that have them."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._known: set[str] = set()
        self._held: dict[str, dict[str, list[Claim]]] = {}  # pool → unit → claims

    def hold(self, claim: Claim) -> None:
        """Note the units of a claim."""
        for pool, unit in self._units(claim):
            self._held.setdefault(pool, {}).setdefault(unit, []).append(claim)

    def end(self, claim: Claim) -> None:
        """Forget them."""
        for pool, unit in self._units(claim):
            self._held[pool][unit].remove(claim)
            if not self._held[pool][unit]:
                del self._held[pool][unit]

    def check(self, seq: int, claim: Claim) -> None:
        """A claim that was granted or has moved: does another agent have a unit of it?"""
        for pool, unit in self._units(claim):
            for other in self._held.get(pool, {}).get(unit, ()) if pool in self._known else ():
                if other.id != claim.id and other.agent != claim.agent:
                    message = f"{say(claim.agent)} got {say(pool)}:{say(unit)} while {say(other.agent)} held it"
                    self._report.add(seq, "pool", message)
                    return

    def check_sizes(self, seq: int, now: int, sizes: Json) -> None:
        """After a grant: no pool has more holders than units. A claim past its deadline has no holder."""
        must(isinstance(sizes, dict), "`pools` is not an object")
        for pool in sizes:
            size = whole(sizes, pool)
            self._known.add(pool)
            held = [unit for unit, claims in self._held.get(pool, {}).items() if any(one.until > now for one in claims)]
            if len(held) > size:
                self._report.add(seq, "pool", f"{len(held)} units of {say(pool)} were held, which has {size}")

    @staticmethod
    def _units(claim: Claim) -> list[tuple[str, str]]:
        return [found for kind, name in claim.resources if kind == "name" and (found := unit_of(name))[1]]
