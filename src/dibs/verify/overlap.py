"""Whether two resources overlap, decided independently of the operations and by a different method.

`dibs verify` would prove little if it used the code that it checks. So nothing of the operations is imported here, and
the method is different: a glob becomes an automaton over the characters of a path, two globs overlap if the product of
their automata reaches a common end, and a literal path is read by the glob's automaton. No path is sampled: the answer
is exact.

A resource is `(kind, text)`. This file knows nothing of claims, modes, agents and working trees. It takes the text as
it is: the writer of the event has made the path canonical (`/`-separated, no leading slash, no empty component).

Every component is read with the slash in front of it, so that a path is a run of `/component`. This makes `**` (zero or
more components) a plain loop, and the empty path the only one without a character, which only the
tree `""` covers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    Resource = tuple[str, str]  # kind, text
    Ranges = tuple[tuple[int, int], ...]  # code points from the first to the second, both included, sorted, disjoint

LITERALS = frozenset(("file", "tree"))
NAMES = frozenset(("name", "inode"))  # equal text or nothing
KINDS = LITERALS | NAMES | {"glob"}

MAX_GLOBS = 512  # automata in memory: more globs than one workspace has live at a time
MAX_PLACES = 4_096  # cached anchors of resources: each is needed when a resource is looked up, added and removed
MAX_PAIRS = 32_768  # cached answers for two globs; the same few meet repeatedly
MAX_STATE_SETS = 256  # cached by an automaton before it clears its cache: a glob has some dozens
MAX_STEPS = 128  # characters cached for each of them: those of most paths in a repository

_TOP = 0x10FFFF
_SLASH: Ranges = ((0x2F, 0x2F),)
_OTHER: Ranges = ((0, 0x2E), (0x30, _TOP))  # every character except the slash


def overlap(left: Resource, right: Resource) -> bool:
    """Whether some path (or the same name) is covered by both."""
    kind, text = left
    other_kind, other = right
    if kind in LITERALS and other_kind in LITERALS:
        return text == other or _above(text, other) or _above(other, text)
    if kind in NAMES or other_kind in NAMES:
        return kind == other_kind and text == other
    if kind not in KINDS or other_kind not in KINDS:
        message = f"no such kind of resource: {kind if kind not in KINDS else other_kind!r}"
        raise ValueError(message)
    if kind == other_kind:
        return _globs_overlap(text, other) if text <= other else _globs_overlap(other, text)
    if kind == "glob":
        kind, text, other_kind, other = other_kind, other, kind, text
    if kind == "file" and not text.endswith(_literal_end(other)):  # most files that meet most globs end here
        return False
    return _automaton(other).covers(text, below=kind == "tree")


class Near:
    """An index of resources: finds those that could overlap a given one without looking at all of them.

    A path's anchor is the path, a glob's the components before its first wildcard: everything it covers is
    there or below. So two resources can overlap only if one anchor is the other's ancestor, or both are the same.
    """

    __slots__ = ("_at", "_below")

    def __init__(self) -> None:
        self._at: dict[str, dict[tuple[str, Resource], None]] = {}
        self._below: dict[str, dict[tuple[str, Resource], None]] = {}

    def add(self, owner: str, resource: Resource) -> None:
        """Add a resource of an owner."""
        anchor, above = _places(resource)
        entry = (owner, resource)
        self._at.setdefault(anchor, {})[entry] = None
        for place in above:
            self._below.setdefault(place, {})[entry] = None

    def remove(self, owner: str, resource: Resource) -> None:
        """Remove it; removing an absent one does nothing."""
        anchor, above = _places(resource)
        entry = (owner, resource)
        _drop(self._at, anchor, entry)
        for place in above:
            _drop(self._below, place, entry)

    def candidates(self, resource: Resource) -> Iterator[tuple[str, Resource]]:
        """Every (owner, resource) that could overlap; `overlap` decides whether it does."""
        if not self._at:
            return
        anchor, above = _places(resource)
        for place in above:
            yield from self._at.get(place, ())
        yield from self._at.get(anchor, ())
        yield from self._below.get(anchor, ())


def _drop(buckets: dict[str, dict[tuple[str, Resource], None]], place: str, entry: tuple[str, Resource]) -> None:
    """Remove an entry from a bucket, and the bucket with its last entry."""
    bucket = buckets.get(place)
    if bucket is not None:
        bucket.pop(entry, None)
        if not bucket:
            del buckets[place]


def _above(upper: str, lower: str) -> bool:
    """Whether one path is a proper ancestor of the other; the root is an ancestor of all."""
    return not upper or (lower.startswith(upper) and lower[len(upper) : len(upper) + 1] == "/")


@lru_cache(maxsize=MAX_PLACES)
def _places(resource: Resource) -> tuple[str, list[str]]:
    """The path at or below which a resource is, and its ancestors. A name has no ancestors and no descendants."""
    kind, text = resource
    if kind in NAMES:
        return f"{kind}:{text}", []
    anchor = _literal_part(text) if kind == "glob" else text
    return anchor, _ancestors(anchor)


@lru_cache(maxsize=MAX_GLOBS)
def _literal_part(glob: str) -> str:
    """The components of a glob before the first that might hold a wildcard."""
    components = glob.split("/")
    for place, component in enumerate(components):
        if any(character in component for character in "*?["):
            return "/".join(components[:place])
    return glob


@lru_cache(maxsize=MAX_GLOBS)
def _literal_end(glob: str) -> str:
    """The characters after the last that might be a wildcard, a part of one, or a slash."""
    return glob[max(glob.rfind(character) for character in "*?[]/") + 1 :]


def _ancestors(path: str) -> list[str]:
    """All proper ancestors of a path, the root first."""
    if not path:
        return []
    found, place = [""], path.find("/")
    while place >= 0:
        if place:
            found.append(path[:place])
        place = path.find("/", place + 1)
    return found


# --- from a glob to its automaton


class _Automaton:
    """A glob as states and labelled edges, without empty moves and without states that lead nowhere.

    Because every state leads to an end, "something below this directory matches" is just "a state is left after
    reading the directory and a slash". Each step of reading is cached, so that after the first paths another one costs
    one dict lookup for each of its characters.
    """

    __slots__ = ("edges", "end_bits", "ends", "kept", "start")

    def __init__(self, edges: list[list[tuple[Ranges, int]]], ends: set[int]) -> None:
        alive = _leading_to(edges, ends)
        self.edges = [[(ranges, to) for ranges, to in out if to in alive] for out in edges]
        self.ends = ends
        self.end_bits = sum(1 << end for end in ends)
        self.forget()

    def forget(self) -> None:
        """Clear the cache."""
        self.kept: dict[int, _Reached] = {}
        self.start = _Reached(self, 1)

    def covers(self, path: str, *, below: bool) -> bool:
        """Whether the glob matches the path itself or, if asked, something below it."""
        reached = self.start
        if path:
            reached = reached["/"]
            for character in path:
                reached = reached[character]
                if not reached.states:
                    return False
            if reached.states & self.end_bits:
                return True
        return below and reached["/"].states != 0


class _Reached(dict[str, "_Reached"]):
    """A set of states (bits of a number), and for each character seen so far the next set."""

    __slots__ = ("_automaton", "states")

    def __init__(self, automaton: _Automaton, states: int) -> None:
        super().__init__()
        self._automaton, self.states = automaton, states

    def __missing__(self, character: str) -> _Reached:
        point, found, rest, state = ord(character), 0, self.states, 0
        while rest:
            if rest & 1:
                for ranges, to in self._automaton.edges[state]:
                    if any(low <= point <= high for low, high in ranges):
                        found |= 1 << to
            rest >>= 1
            state += 1
        kept = self._automaton.kept
        reached = kept.get(found)
        if reached is None:
            if len(kept) >= MAX_STATE_SETS:
                self._automaton.forget()
            reached = self._automaton.kept[found] = _Reached(self._automaton, found)
        if len(self) < MAX_STEPS:
            self[character] = reached
        return reached


@lru_cache(maxsize=MAX_GLOBS)
def _automaton(glob: str) -> _Automaton:
    """Build the automaton of a glob. `fronts` are the states in which a component may begin or the path end."""
    edges: list[list[tuple[Ranges, int]]] = [[]]

    def state() -> int:
        edges.append([])
        return len(edges) - 1

    fronts, previous = [0], ""
    for component in glob.split("/"):
        if not component:
            return _Automaton([[]], set())  # no path has an empty component
        if component == "**":
            if previous != "**":  # `**/**` is the same as `**`
                slash, inside = state(), state()
                for front in [*fronts, inside]:
                    edges[front].append((_SLASH, slash))
                edges[slash].append((_OTHER, inside))
                edges[inside].append((_OTHER, inside))
                fronts = [*fronts, inside]
        else:
            here = state()
            for front in fronts:
                edges[front].append((_SLASH, here))
            for ranges in _tokens(component):
                if ranges is None:
                    edges[here].append((_OTHER, here))
                else:
                    there = state()
                    edges[here].append((ranges, there))
                    here = there
            fronts = [here]
        previous = component
    return _Automaton(edges, set(fronts) - {0})  # in state 0 nothing was read: the empty path matches no glob


def _leading_to(edges: list[list[tuple[Ranges, int]]], ends: set[int]) -> set[int]:
    """The states from which an end can be reached. An edge whose class is empty leads nowhere."""
    sources: dict[int, list[int]] = {}
    for state, out in enumerate(edges):
        for ranges, to in out:
            if ranges:
                sources.setdefault(to, []).append(state)
    found, todo = set(ends), list(ends)
    while todo:
        for state in sources.get(todo.pop(), ()):
            if state not in found:
                found.add(state)
                todo.append(state)
    return found


def _tokens(component: str) -> Iterator[Ranges | None]:
    """The character classes of a component, in order; None means any run of characters."""
    if not component.strip("*"):
        yield _OTHER  # only stars, but a component is never empty
    place = 0
    while place < len(component):
        character = component[place]
        close = _closing(component, place) if character == "[" else -1
        if character == "*":
            yield None
        elif character == "?":
            yield _OTHER
        elif close >= 0:
            yield _class(component[place + 1 : close])
            place = close
        else:  # any other character, and a bracket that is never closed
            yield ((ord(character), ord(character)),)
        place += 1


def _closing(component: str, place: int) -> int:
    """The place where the class that opens here closes, or -1. A closing bracket that comes first is a member."""
    first = place + 1
    if component[first : first + 1] in {"!", "^"}:
        first += 1
    return component.find("]", first + 1)


def _class(inside: str) -> Ranges:
    """The characters of a class, never the slash. A reversed range is empty."""
    negated = inside[0] in "!^"
    members = inside[1:] if negated else inside
    ranges, place = [], 0
    while place < len(members):
        low = high = ord(members[place])
        if members[place + 1 : place + 2] == "-" and place + 2 < len(members):
            high = ord(members[place + 2])
            place += 2
        if low <= high:
            ranges.append((low, high))
        place += 1
    if negated:
        return _complement([*ranges, *_SLASH])
    return _complement([*_complement(ranges), *_SLASH])


def _complement(ranges: list[tuple[int, int]]) -> Ranges:
    """All the characters outside of these ranges, which may be in any order and overlap."""
    found, start = [], 0
    for low, high in sorted(ranges):
        if start < low:
            found.append((start, low - 1))
        start = max(start, high + 1)
    if start <= _TOP:
        found.append((start, _TOP))
    return tuple(found)


# --- glob against glob


@lru_cache(maxsize=MAX_PAIRS)
def _globs_overlap(left: str, right: str) -> bool:
    """Whether one path matches both: search the pairs of states that one and the same path can reach."""
    upper, lower = _literal_part(left), _literal_part(right)
    if upper != lower and not _above(upper, lower) and not _above(lower, upper):
        return False
    one, two = _automaton(left), _automaton(right)
    seen, todo = {(0, 0)}, [(0, 0)]
    while todo:
        here, there = todo.pop()
        for ranges, to in one.edges[here]:
            for others, other in two.edges[there]:
                pair = (to, other)
                if pair not in seen and _meet(ranges, others):
                    if to in one.ends and other in two.ends:
                        return True
                    seen.add(pair)
                    todo.append(pair)
    return False


def _meet(left: Ranges, right: Ranges) -> bool:
    """Whether two sorted lists of ranges have a character in common."""
    one = two = 0
    while one < len(left) and two < len(right):
        if left[one][1] < right[two][0]:
            one += 1
        elif right[two][1] < left[one][0]:
            two += 1
        else:
            return True
    return False
