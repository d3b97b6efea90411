"""Texts that cannot be known from the words alone; often their beginning can.

`> build/$n.txt` writes somewhere below `build/`, whatever the variable's value, and the output of `grep -rl x lib`
begins with `lib/`. A beginning is a text like a path in a word: relative ones count from the directory where the word
is used. One that ends with a slash means the folder and everything in it. An end may be known as well: whatever
`$OUT` is, `$OUT/report.json` is no file of another name.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    Field: TypeAlias = "str | Unknown"  # a word of a command

WILDCARDS = "*?[{"  # in a pattern that a program expands itself
MAX_BEGINNINGS = 64  # of one text; with more, it is fully unknown


class Unknown:
    """A text whose beginning and end, at most, are known."""

    __slots__ = ("below", "end")

    def __init__(self, below: Iterable[str] | None, end: str = "") -> None:
        ways = None if below is None else tuple(sorted(set(below)))
        self.below = (
            ways if ways is not None and len(ways) <= MAX_BEGINNINGS else None
        )  # None: it may begin with anything
        self.end = end  # how it ends; "": with anything

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and self.below == other.below and self.end == other.end

    def __hash__(self) -> int:
        return hash(self.below)

    def __repr__(self) -> str:
        return f"Unknown({self.below!r}, {self.end!r})"

    @property
    def relative(self) -> bool:
        """Does it certainly not begin at the root?"""
        return self.below is not None and not any(way.startswith("/") for way in self.below)

    def split(self) -> Unknown:
        """Any one of its words."""
        if self.below is None or not any(way.split() not in ([], [way]) for way in self.below):
            return self
        return Unknown([word for way in self.below for word in way.split() or [way]])

    def inside(self) -> Unknown:
        """A text derived from this one: a relative one is assumed to stay relative."""
        return PLAIN if self.relative else ANY


class Later(Unknown):
    """One whose beginning takes a look at files: it is worked out only if somebody asks."""

    __slots__ = ("_found", "_look")

    def __init__(self, look: Callable[[], Unknown]) -> None:
        self._look, self._found, self.end = look, False, ""

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Unknown) and self.below == other.below and self.end == other.end)

    def __hash__(self) -> int:
        return id(self)  # nothing is looked at for a search in a set

    @property
    def below(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """How it begins."""
        if not self._found:
            found = self._look()
            self._look, self._found = (lambda: found), True
        return self._look().below

    def split(self) -> Unknown:
        """Any one of its words."""
        return Later(lambda: Unknown(self.below).split())


ANY = Unknown(None)
PLAIN = Unknown(("",))  # a number, a date, a name: nothing that leads out of the folder


def between(before: str, unknown: Unknown, after: str) -> Unknown:
    """A known text, an unknown one, a known one."""
    if "/.." in after or after.startswith("..") or before.startswith("-"):
        return ANY
    if not before:
        return Unknown(unknown.below, after) if after else unknown
    # Assumption: agents do not write `build/../src`, so a path after a known folder stays in it.
    ways = [before + way for way in unknown.below] if unknown.relative and unknown.below else (before,)
    return Unknown(ways, after or unknown.end)


def matches(pattern: str) -> Unknown:
    """One of the names that a program finds for a pattern: `src/**/*.py`."""
    first = min([pattern.index(mark) for mark in WILDCARDS if mark in pattern])
    last = max([pattern.rindex(mark) for mark in "*?]}" if mark in pattern] or [len(pattern)])
    return Unknown((pattern[:first],), pattern[last + 1 :])


def either(fields: Iterable[Field]) -> Unknown:
    """One of these, unknown which."""
    ways: list[str] = []
    for field in fields:
        below = field.split("\n")[:MAX_BEGINNINGS] if isinstance(field, str) else field.below
        if below is None or (isinstance(field, str) and field.count("\n") >= MAX_BEGINNINGS):
            return ANY
        ways += [way for way in below if way] if isinstance(field, str) and "\n" in field else below
    return Unknown(ways)


def places(unknown: Unknown, cwd: str | None) -> list[str] | None:
    """The beginnings as absolute paths, relative to a directory; None: anywhere."""
    if unknown.below is None or (cwd is None and not all(way.startswith("/") for way in unknown.below)):
        return None
    found = []
    for way in unknown.below:
        path = way if way.startswith("/") else f"{cwd}/{way}"
        slash = "/" if path.endswith(("/", "/.")) else ""
        plain = os.path.normpath(path)
        found.append(plain if plain.endswith("/") else plain + slash)
    return found
