"""The rows of a list in `dibs top`: what each is about, and how it is drawn as soon as it is seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, overload

Span = tuple[str, str]
Line = list[Span]


class Row(NamedTuple):
    """One line of a list. Its id keeps it selected while others come and go."""

    id: str
    draw: Callable[[int], Line]  # in this many columns
    open: str = ""  # the story behind it
    agent: str = ""  # that it is about
    search: str = ""  # what a filter looks at


class Rows(Sequence[Row]):
    """The rows of thousands of things, each made when it is looked at: a screen shows a few of them.

    `name` gives the id of a thing's row without making it.
    """

    def __init__(self, things: Sequence[Any], name: Callable[[Any], str], make: Callable[[Any], Row]) -> None:
        self._things, self._name, self._make = things, name, make

    def place_of(self, id: str) -> int | None:
        """Where the row with this id is."""
        name = self._name
        return next((place for place, one in enumerate(self._things) if name(one) == id), None)

    def __len__(self) -> int:
        return len(self._things)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        """One row, or some."""
        if isinstance(place, slice):
            return [self._make(one) for one in self._things[place]]
        return self._make(self._things[place])


def place_of(rows: Sequence[Row], id: str) -> int | None:
    """Where the row with this id is, if it is still there."""
    if isinstance(rows, Rows):
        return rows.place_of(id)
    return next((place for place, row in enumerate(rows) if row.id == id), None)
