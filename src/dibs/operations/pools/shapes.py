"""Pools as the config has them: which units a pool has, and what is said about it. Pure; nothing is decided here.

A pool keeps the form in which it was written, so that a range of 4,000 ports costs a request two numbers.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, NotRequired, TypedDict

    class Shape(TypedDict, total=False):
        """Which units a pool has: one of these, or none of them, if it has only a rate."""

        size: int  # "0", "1", …
        range: list[int]  # the first and the last port
        units: list[str]  # their names
        names: list[str]  # before and after the number: `size` of them

    class Rate(TypedDict):
        """A token bucket."""

        count: int  # tokens in each `per`
        per: int  # ms
        burst: int  # tokens that it holds at most

    class Pressure(TypedDict):
        """Above this pressure of the machine (Linux PSI, percent of the last 10 seconds) nobody gets a unit."""

        of: str  # cpu, io or memory
        most: float

    class Pool(Shape):
        """[pools.NAME], complete. A rate alone has no shape."""

        wait: int  # ms that a hook holds a call
        on_timeout: Literal["refuse", "pass"]
        scope: Literal["workspace", "machine"]
        ttl: NotRequired[int]  # ms
        rate: NotRequired[Rate]
        pressure: NotRequired[Pressure]

    class Use(TypedDict):
        """[[pools.use]]: the commands that need units of a pool."""

        match: list[str]
        pool: str
        units: int

    class PoolSettings(TypedDict):
        """[pools]."""

        named: dict[str, Pool]
        use: list[Use]


MAX_CACHED = 64  # pools whose names are kept; a config has fewer
_numbered: dict[tuple[str, int, int, str], list[str]] = {}


def size_of(shape: Shape) -> int:
    """How many units it has."""
    if "range" in shape:
        first, last = shape["range"]
        return last - first + 1
    return len(shape["units"]) if "units" in shape else shape.get("size", 0)


def units_of(shape: Shape) -> list[str]:
    """The names of its units, in the order in which they are given out. Do not change the list."""
    if "units" in shape:
        return shape["units"]
    first, last = shape.get("range", (0, shape.get("size", 0) - 1))
    before, after = shape.get("names", ("", ""))
    known = _numbered.get((before, first, last, after))
    if known is None:
        if len(_numbered) >= MAX_CACHED:
            _numbered.clear()
        known = _numbered[before, first, last, after] = [
            f"{before}{number}{after}" for number in range(first, last + 1)
        ]
    return known


def shape_of(pool: Pool) -> Shape:
    """What of a pool says which units it has."""
    shape: Shape = {}
    if "size" in pool:
        shape["size"] = pool["size"]
    if "range" in pool:
        shape["range"] = pool["range"]
    if "units" in pool:
        shape["units"] = pool["units"]
    if "names" in pool:
        shape["names"] = pool["names"]
    return shape
