"""Reads a log that may be broken: the fields of a body with their types, and every id met so far.

Shared by the replay (replay.py, tasks.py) and the check of the chain (checker.py). Nothing is judged here.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from heapq import merge
from typing import TYPE_CHECKING, Any

from dibs import jsontext
from dibs.verify.overlap import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.verify.overlap import Resource

RUN_IDS = 65_536  # kept in a set before they are packed into a sorted run of eight bytes each
TWO_TEXTS = (str, str)


class MalformedError(Exception):
    """A body lacks a field that its kind requires; the text says which."""


def must(held: bool, message: str) -> None:
    """Raise MalformedError unless the condition holds."""
    if not held:
        raise MalformedError(message)


def read_body(text: str) -> dict[str, Any]:
    """A body's object, or MalformedError."""
    try:
        opened = jsontext.decode(text)
    except (ValueError, TypeError, RecursionError):
        opened = None
    must(isinstance(opened, dict), "the body is not the JSON text of an object")
    return opened  # type: ignore[no-any-return]


def text(data: Any, name: str) -> str:
    """A text of an object."""
    value = data.get(name) if isinstance(data, dict) else None
    must(isinstance(value, str), f"`{name}` is not a text")
    return str(value)


def whole(data: dict[str, Any], name: str) -> int:
    """A whole number of an object."""
    value: Any = data.get(name)
    must(type(value) is int, f"`{name}` is not a whole number")
    return int(value)


def resources(data: dict[str, Any], name: str) -> frozenset[Resource]:
    """A list of resources of an object."""
    value: Any = data.get(name)
    good = type(value) is list
    for item in value if good else ():
        good = good and type(item) is list and types(item) == TWO_TEXTS and item[0] in KINDS
    must(good, f"`{name}` is not a list of resources")
    return frozenset(map(tuple, value))


def types(values: Iterable[object]) -> tuple[type, ...]:
    """The exact types of some values."""
    return tuple(map(type, values))


def related(one: str, other: str) -> bool:
    """Whether two agents are the same or one is the other's ancestor: such two never block each other."""
    return one == other or one.startswith(other + "/") or other.startswith(one + "/")


def say(value: object) -> str:
    """A text from the log, for a message: short, and harmless to a terminal."""
    text = str(value)
    text = text if len(text) <= 100 else text[:99] + "…"  # noqa: PLR2004
    return text if text.isprintable() else ascii(text)


# --- ids


class Ids:
    """Every id that was met, eight bytes each: a set for the newest, sorted runs for the others.

    A log has millions of them, too many to keep as texts. Two ids with the same 64 bits would count as one; among
    ten million that is expected less than once in a hundred thousand logs.
    """

    def __init__(self) -> None:
        self._recent: set[int] = set()
        self._runs: list[array[int]] = []

    def add(self, identifier: str) -> bool:
        """Note an id; False if it was noted before."""
        number = hash(identifier) & 0xFFFF_FFFF_FFFF_FFFF
        if self._known(number):
            return False
        self._recent.add(number)
        if len(self._recent) == RUN_IDS:
            newest = array("Q", sorted(self._recent))
            while self._runs and len(self._runs[-1]) <= len(newest):
                newest = array("Q", merge(self._runs.pop(), newest))
            self._runs.append(newest)
            self._recent.clear()
        return True

    def has(self, identifier: str) -> bool:
        """Was this id noted?"""
        return self._known(hash(identifier) & 0xFFFF_FFFF_FFFF_FFFF)

    def _known(self, number: int) -> bool:
        if number in self._recent:
            return True
        for run in self._runs:
            place = bisect_left(run, number)
            if place < len(run) and run[place] == number:
                return True
        return False
