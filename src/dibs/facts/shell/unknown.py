"""Texts that cannot be known from the words alone, and what can be said of them all the same: how they begin.

`> build/$n.txt` writes somewhere below `build/`, whatever the variable holds, and what `grep -rl x lib` prints begins
with `lib/`. A beginning is a text like a path in a word: relative ones count from the directory where the word is used.
One that ends with a slash stands for the folder and all that is in it.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    Field: TypeAlias = "str | Unknown"  # a word of a command

WAYS = 64  # beginnings of one text; with more, nothing is said of it


class Unknown:
    """A text of which at most the beginning is known."""

    __slots__ = ("below",)

    def __init__(self, below: Iterable[str] | None) -> None:
        ways = None if below is None else tuple(sorted(set(below)))
        self.below = ways if ways is not None and len(ways) <= WAYS else None  # None: it may begin with anything

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and self.below == other.below

    def __hash__(self) -> int:
        return hash(self.below)

    def __repr__(self) -> str:
        return f"Unknown({self.below!r})"

    @property
    def relative(self) -> bool:
        """Does it certainly not begin at the root?"""
        return self.below is not None and not any(way.startswith("/") for way in self.below)

    def inside(self) -> Unknown:
        """A text made out of this one in some way: of a relative one it is taken that it stays relative."""
        return PLAIN if self.relative else ANY


ANY = Unknown(None)
PLAIN = Unknown(("",))  # a number, a date, a name: nothing that leads out of where it stands


def between(before: str, unknown: Unknown, after: str) -> Unknown:
    """A known text, an unknown one, a known one."""
    if "/.." in after or after.startswith("..") or before.startswith("-"):
        return ANY
    if not before:
        if unknown.below is None:
            return ANY
        return unknown
    # An agent does not write `build/../src`: what is behind a known folder stays in it.
    return Unknown([before + way for way in unknown.below] if unknown.relative and unknown.below else (before,))


def either(fields: Iterable[Field]) -> Unknown:
    """One of these, nobody knows which."""
    ways: list[str] = []
    for field in fields:
        below = field.split("\n")[:WAYS] if isinstance(field, str) else field.below
        if below is None or (isinstance(field, str) and field.count("\n") >= WAYS):
            return ANY
        ways += [way for way in below if way] if isinstance(field, str) and "\n" in field else below
    return Unknown(ways)


def places(unknown: Unknown, cwd: str | None) -> list[str] | None:
    """The beginnings as absolute paths, as they are from a directory; None: anywhere."""
    if unknown.below is None or (cwd is None and not all(way.startswith("/") for way in unknown.below)):
        return None
    found = []
    for way in unknown.below:
        path = way if way.startswith("/") else f"{cwd}/{way}"
        slash = "/" if path.endswith(("/", "/.")) else ""
        plain = os.path.normpath(path)
        found.append(plain if plain.endswith("/") else plain + slash)
    return found
