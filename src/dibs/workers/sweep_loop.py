"""Repeated sweeps: for `dibs sweep --watch`, and for `dibs worker` next to its work.

Nothing is decided here: each sweep is the operation, called until nothing more is due. A busy store does not end the
loop.
"""

from __future__ import annotations

from dibs.errors import Busy, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Sweep = Callable[[], Any]  # a SweepAnswer

MAX_SWEEPS = 1_000  # in a row, each of 256 records, before other callers get their turn


def sweep(once: Sweep) -> dict[str, int]:
    """Sweep all that is due; returns the counts by kind, without zeros."""
    found: dict[str, int] = {}
    for _ in range(MAX_SWEEPS):
        answer = once()
        for kind, count in answer["swept"].items():
            if count:
                found[kind] = found.get(kind, 0) + count
        if not answer["more"]:
            break
    return found


class Watch:
    """Sweeps on request and reports what it found. An unavailable store is reported once, until it is back."""

    def __init__(self, once: Sweep, told: Callable[[dict[str, int]], None], trouble: Callable[[str], None]) -> None:
        self._once, self._told, self._trouble = once, told, trouble
        self._in_trouble = False

    def step(self) -> None:
        """One sweep, of all that is due."""
        try:
            found = sweep(self._once)
        except (Busy, Unavailable) as error:
            if not self._in_trouble:
                self._trouble(error.message)
            self._in_trouble = True
            return
        self._in_trouble = False
        if found:
            self._told(found)
