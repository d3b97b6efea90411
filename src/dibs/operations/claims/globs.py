"""Exact algebra of globs: can some path match both of these? Pure functions of strings; nothing is read from disk.

A glob is parsed once into components, a component into characters. Both levels have the same question: two sequences,
some of whose items stand for "any run" (`**` among components, `*` among characters), can they be the same sequence?
`_share` answers it for both. It walks one sequence and keeps the set of positions that it can have reached in the other
(the bits of one integer), so the work is at most the product of the two lengths: nothing branches, and no malicious
pattern takes exponential time. That matters because it runs inside a transaction.

What a glob means: `/` separates components, which are never empty. `*` is any run of characters, also an empty one; `?`
is one character; `[abc]`, `[a-z]`, `[!x]` and `[^x]` are one character of a class (a `]` that comes first is a member;
a `[` that is never closed is itself). None of these crosses a `/`. `**` as a whole component is any number of
components, also none; inside a longer component it is the same as `*`. There are no backslash escapes: a literal `*` is
written `[*]`. A class may be empty (`[z-a]`); a glob with one matches nothing and meets nothing.

Texts come in canonical form (workspace/paths.py); `simplify` refuses the others.
"""

from __future__ import annotations

from dibs.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Ranges = tuple[tuple[int, int], ...]  # code points, sorted, apart from each other
    Atom = str | Ranges | None  # one character, one of a class, or any run of them
    Component = str | tuple[Atom, ...] | None  # literal, wild, or any run of components

MAX_GLOB_BYTES = 4096  # PATH_MAX: nothing longer can name a file
MAX_COMPONENTS = 64  # far deeper than any repository; bounds the work of one comparison
MAX_CACHED_GLOBS = 2048  # above it the cache is emptied, which costs little and needs no bookkeeping

_LAST_CODE_POINT = 0x10FFFF
_SLASH = ord("/")
_ANY: Ranges = ((0, _SLASH - 1), (_SLASH + 1, _LAST_CODE_POINT))

remembered: dict[str, tuple[tuple[Component, ...], bool]] = {}


def is_wild(text: str) -> bool:
    """Whether the text has a wildcard: `*`, `?` or a closed `[…]`."""
    if "*" in text or "?" in text:
        return True
    return "[" in text and any(_wild_component(part) for part in text.split("/"))


def overlap(a: str, b: str) -> bool:
    """Whether some path matches both globs."""
    if a == b and "[" not in a:  # a glob without a class always matches something
        return True
    first, can_first = _parse(a)
    second, can_second = _parse(b)
    return can_first and can_second and _share(first, second, _components_meet)


def matches(pattern: str, path: str) -> bool:
    """Whether the glob matches this very path; the path is literal whatever characters it has."""
    if not path.endswith(_tail(pattern)):  # fast path: most globs that a file is compared with are for another suffix
        return False
    components, can = _parse(pattern)
    return can and _share(components, _literal(path), _components_meet)


def meets_tree(pattern: str, tree: str) -> bool:
    """Whether the glob can match the directory `tree` itself or a path below it; the tree "" is everything."""
    components, can = _parse(pattern)
    return can and _share(components, (*_literal(tree), None), _components_meet)


def _tail(pattern: str) -> str:
    """The literal characters at a glob's end, after its last wildcard; a path without them cannot match.

    Empty after a `**`, which may stand for nothing at all, and where the last `]` may close a class.
    """
    tail = pattern[max(pattern.rfind("*"), pattern.rfind("?"), pattern.rfind("]")) + 1 :]
    return tail.rpartition("/")[2] if "/" in tail else tail


def literal_prefix(pattern: str) -> str:
    """The literal components before the first wild one. Whatever the glob matches is that path or lies below it."""
    parts = pattern.split("/")
    for place, part in enumerate(parts):
        if _wild_component(part):
            return "/".join(parts[:place])
    return pattern


def literal_last(pattern: str) -> str:
    """The last component if it is literal and a wildcard comes before it. Whatever the glob matches ends with it."""
    before, _, last = pattern.rpartition("/")
    return last if not _wild_component(last) and is_wild(before) else ""


def simplify(pattern: str) -> tuple[str, str]:
    """The kind and text of the plainest resource that means the same: a tree if the glob is one, else the glob.

    `src/**` and the directory `src` are one resource and must have one form, since claims are found by it. Raises
    Invalid for a text that is no glob.
    """
    _check(pattern)
    parts: list[str] = []
    for part in pattern.split("/"):
        if part != "**" or parts[-1:] != ["**"]:
            parts.append(part)
    if parts[-1] == "**" and not any(map(_wild_component, parts[:-1])):
        return "tree", "/".join(parts[:-1])
    return "glob", "/".join(parts)


def _check(pattern: str) -> None:
    """Refuse a text that cannot be a canonical glob, and say why."""
    try:
        size = len(pattern.encode())
    except UnicodeEncodeError:
        shown = pattern.encode("utf-8", "backslashreplace").decode()
        message = "a glob must be text: this one has bytes that are not UTF-8"
        raise Invalid(message, resource=shown) from None
    parts = pattern.split("/")
    if size > MAX_GLOB_BYTES:
        message = f"a glob may have at most {MAX_GLOB_BYTES} bytes; this one has {size}"
    elif any(c < " " or c == "\x7f" for c in pattern):
        message = "a glob may not contain control characters"
    elif "" in parts:
        message = f"the glob {pattern!r} has an empty component"
    elif "." in parts or ".." in parts:
        message = f"the glob {pattern!r} has a '.' or '..' component"
    elif len(parts) > MAX_COMPONENTS:
        message = f"a glob may have at most {MAX_COMPONENTS} components; this one has {len(parts)}"
    else:
        return
    raise Invalid(message, resource=pattern)


def _share(a: Sequence[Any], b: Sequence[Any], meet: Callable[[Any, Any], bool]) -> bool:
    """Whether two sequences can be the same one; None is any run of items, `meet` compares two items.

    Bit q of `here` says: what was read of `a` so far can equal the first q items of `b`. A None of `a` reaches every
    later position, since each item of `b` can stand for something; that is why a sequence with an item that matches
    nothing must not come here, nor one with two Nones in a row.
    """
    stars = 0
    where: dict[Any, int] = {}  # each different item of b, and the bits of its places
    for place, item in enumerate(b):
        if item is None:
            stars |= 1 << place
        else:
            where[item] = where.get(item, 0) | 1 << place
    end = 1 << len(b)
    whole = 2 * end - 1
    known: dict[tuple[Any, Any], bool] = {}
    here = 1
    for item in a:
        if item is None:
            here = -(here & -here) & whole
            continue
        here |= (here & stars) << 1  # a run of b may be empty,
        ahead = here & stars  # or take this item of a
        for other, places in where.items():
            if here & places:
                same = known.get((item, other))
                if same is None:
                    same = known[item, other] = meet(item, other)
                if same:
                    ahead |= (here & places) << 1
        here = ahead
        if not here:
            return False
    here |= (here & stars) << 1
    return here & end != 0


def _components_meet(a: str | tuple[Atom, ...], b: str | tuple[Atom, ...]) -> bool:
    """Whether some name matches both components."""
    if isinstance(a, str) and isinstance(b, str):
        return a == b
    return _share(a, b, _characters_meet)


def _characters_meet(a: str | Ranges, b: str | Ranges) -> bool:
    """Whether some character is in both."""
    if isinstance(a, str):
        if isinstance(b, str):
            return a == b
        return _within(ord(a), b)
    if isinstance(b, str):
        return _within(ord(b), a)
    return any(low <= top and bottom <= high for low, high in a for bottom, top in b)


def _within(code: int, ranges: Ranges) -> bool:
    """Whether the code point is in one of the ranges."""
    return any(low <= code <= high for low, high in ranges)


def _literal(path: str) -> tuple[str, ...]:
    """The components of a literal path; the root "" has none."""
    return tuple(path.split("/")) if path else ()


def _parse(pattern: str) -> tuple[tuple[Component, ...], bool]:
    """The glob's components, `**` runs collapsed, and whether anything can match it."""
    parsed = remembered.get(pattern)
    if parsed is not None:
        return parsed
    components: list[Component] = []
    can = True
    for part in pattern.split("/") if pattern else ():
        if part == "**":
            if components[-1:] != [None]:
                components.append(None)
        elif _wild_component(part):
            atoms = _atoms(part)
            can = can and () not in atoms
            components.append(atoms)
        else:
            components.append(part)
    if len(remembered) >= MAX_CACHED_GLOBS:
        remembered.clear()
    result = remembered[pattern] = tuple(components), can
    return result


def _wild_component(part: str) -> bool:
    """Whether one component has a wildcard."""
    if "*" in part or "?" in part:
        return True
    start = part.find("[")
    while start >= 0:
        if _class_end(part, start) > 0:
            return True
        start = part.find("[", start + 1)
    return False


def _class_end(part: str, start: int) -> int:
    """Where the class that opens at `start` closes, or -1 if it never does."""
    first = start + 1
    if part[first : first + 1] in ("!", "^"):
        first += 1
    return part.find("]", first + 1)


def _atoms(part: str) -> tuple[Atom, ...]:
    """The characters of a wild component; runs of `*` are one."""
    atoms: list[Atom] = []
    place = 0
    while place < len(part):
        sign = part[place]
        end = _class_end(part, place) if sign == "[" else -1
        if end > 0:
            atoms.append(_ranges(part[place + 1 : end]))
            place = end
        elif sign == "?":
            atoms.append(_ANY)
        elif sign != "*":
            atoms.append(sign)
        elif atoms[-1:] != [None]:
            atoms.append(None)
        place += 1
    return tuple(atoms)


def _ranges(body: str) -> Ranges:
    """The characters of a class as ranges, without the `/`; `body` is what stands between the brackets."""
    negated = body[0] in "!^"
    if negated:
        body = body[1:]
    given: list[tuple[int, int]] = []
    place = 0
    while place < len(body):
        low = high = ord(body[place])
        if place + 2 < len(body) and body[place + 1] == "-":
            high = ord(body[place + 2])
            place += 2
        place += 1
        if low <= high:
            given.append((low, high))
    if negated:
        return _outside([*given, (_SLASH, _SLASH)])
    return _outside([*_outside(given), (_SLASH, _SLASH)])


def _outside(given: list[tuple[int, int]]) -> Ranges:
    """All characters that are in none of the given ranges."""
    left: list[tuple[int, int]] = []
    low = 0
    for bottom, top in sorted(given):
        if low < bottom:
            left.append((low, bottom - 1))
        low = max(low, top + 1)
    if low <= _LAST_CODE_POINT:
        left.append((low, _LAST_CODE_POINT))
    return tuple(left)
