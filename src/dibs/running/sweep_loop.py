"""Sweeping again and again: what `dibs sweep --watch` does, and `dibs worker` beside its work.

Nothing is decided here: each sweep is the operation, called until nothing more is due. A busy store is survived.
"""

from __future__ import annotations

from dibs.errors import Busy, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Sweep = Callable[[], Any]  # a SweepAnswer

MAX_SWEEPS = 1_000  # sweeps in a row before others get their turn, each of 256 records


def sweep(once: Sweep) -> dict[str, int]:
    """All that is due, by kind; only what was found."""
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
    """Sweeps when it is told to, and says what it found. A store that cannot be used is said once, until it can."""

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
