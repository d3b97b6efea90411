"""Texts that cannot be known from the words alone; often their beginning can.

`> build/$n.txt` writes somewhere below `build/`, whatever the variable's value, and the output of `grep -rl x lib`
begins with `lib/`. A beginning is a text like a path in a word: relative ones count from the directory where the word
is used. One that ends with a slash means the folder and everything in it. Where a list is known (`git ls-files`), the
text is one of its lines as a whole. An end may be known as well: whatever `$OUT` is, `$OUT/report.json` is no file of
another name.
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
MAX_NAMES = 5_000  # of which one text is one, whole; the files of a large package


class Unknown:
    """A text whose beginning and end, at most, are known."""

    __slots__ = ("below", "end", "whole")

    def __init__(self, below: Iterable[str] | None, end: str = "", *, whole: bool = False) -> None:
        ways = None if below is None else tuple(sorted(set(below)))
        most = MAX_NAMES if whole else MAX_BEGINNINGS
        self.below = ways if ways is not None and len(ways) <= most else None  # None: it may begin with anything
        self.end = end  # how it ends; "": with anything
        self.whole = whole and self.below is not None  # it is one of these, and nothing comes after

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and self._shape == other._shape

    @property
    def _shape(self) -> tuple[tuple[str, ...] | None, str, bool]:
        return self.below, self.end, self.whole

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
        return Unknown([word for way in self.below for word in way.split() or [way]], whole=self.whole)

    def begun(self) -> Unknown:
        """A text that begins like this one."""
        return Unknown(self.below, self.end) if self.whole else self

    def inside(self) -> Unknown:
        """A text derived from this one: a relative one is assumed to stay relative."""
        return PLAIN if self.relative else ANY


class Later(Unknown):
    """One whose beginning takes a look at files: it is worked out only if somebody asks."""

    __slots__ = ("_found", "_look")

    def __init__(self, look: Callable[[], Unknown]) -> None:
        self._look, self._found, self.end = look, False, ""

    def __eq__(self, other: object) -> bool:
        return self is other or super().__eq__(other)

    def __hash__(self) -> int:
        return id(self)  # nothing is looked at for a search in a set

    @property
    def below(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """How it begins."""
        return self._seen().below

    @property
    def whole(self) -> bool:  # type: ignore[override]
        """Is it one of these, and nothing comes after?"""
        return self._seen().whole

    def _seen(self) -> Unknown:
        if not self._found:
            seen = self._look()
            self._look, self._found = (lambda: seen), True
        return self._look()

    def split(self) -> Unknown:
        """Any one of its words."""
        return Later(lambda: self._seen().split())


ANY = Unknown(None)
PLAIN = Unknown(("",))  # a number, a date, a name: nothing that leads out of the folder


def between(before: str, unknown: Unknown, after: str) -> Unknown:
    """A known text, an unknown one, a known one."""
    if "/.." in after or after.startswith("..") or before.startswith("-"):
        return ANY
    if not before and not after:
        return unknown
    if unknown.whole and (unknown.relative or not before):
        return Unknown([f"{before}{way}{after}" for way in unknown.below or ()], whole=True)
    if not before:
        return Unknown(unknown.below, after)
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
    fields = list(fields)
    if fields and all(isinstance(field, Unknown) and field.whole for field in fields):
        return Unknown([way for field in fields for way in (field.below if isinstance(field, Unknown) else ()) or ()],
                       whole=True)  # fmt: skip
    for field in fields:
        below = field.split("\n")[:MAX_BEGINNINGS] if isinstance(field, str) else field.below
        if below is None or (isinstance(field, str) and field.count("\n") >= MAX_BEGINNINGS):
            return ANY
        ways += [way for way in below if way] if isinstance(field, str) and "\n" in field else below
    return Unknown(ways)


def program_path(names: list[Field]) -> Unknown:
    """What `which` and `command -v` print: the place of a program, which ends with its name."""
    name = names[0] if len(names) == 1 else ANY
    return Unknown(("/",), f"/{name}") if isinstance(name, str) and name and "/" not in name else ANY


def places(unknown: Unknown, cwd: str | None) -> list[str] | None:
    """The beginnings as absolute paths, relative to a directory; None: anywhere."""
    if unknown.below is None or (cwd is None and not all(way.startswith("/") for way in unknown.below)):
        return None
    paths = []
    for way in unknown.below:
        path = way if way.startswith("/") else f"{cwd}/{way}"
        slash = "/" if path.endswith(("/", "/.")) else ""
        plain = os.path.normpath(path)
        paths.append(plain if plain.endswith("/") else plain + slash)
    return paths
