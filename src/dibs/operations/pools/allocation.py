"""Which units a request gets: one pure function of the units that are held and of the requests before it.

Earlier requests reserve first, in their order, whether or not they can be served now: one for a named unit reserves
that unit, one for N reserves N of the free ones, or all of them if there are fewer. So a large request is not starved
by small ones. What is left decides the next one. A pool never has more holders than units, also where the units that
are held are not those of the config any more.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import TypedDict

    class Request(TypedDict):
        """What one request wants of one pool."""

        named: Sequence[str]  # these units
        count: int  # and as many others
        units: Sequence[str]  # that the pool has, in the order in which they are given out
        unusable: Collection[str]  # that must not be given out: something else on the caller's machine uses them


def allocate(request: Request, earlier: Iterable[Request], held: Collection[str]) -> list[str] | None:
    """The units that a request gets: those that it names, then the first free ones; None if it has to wait."""
    taken = set(held)
    for other in earlier:
        taken.update(free_for(other, taken))
    given = free_for(request, taken)
    return given if len(given) == len(request["named"]) + request["count"] else None


def free_for(request: Request, taken: Collection[str]) -> list[str]:
    """The units that a request can have or reserve: all that it wants, or as many as there are."""
    room = max(0, len(request["units"]) - len(taken))
    named = [unit for unit in request["named"] if unit not in taken][:room]
    others: list[str] = []
    for unit in request["units"] if request["count"] else ():
        if len(others) == min(request["count"], room - len(named)):
            break
        if unit not in taken and unit not in request["named"] and unit not in request["unusable"]:
            others.append(unit)
    return [*named, *others]
