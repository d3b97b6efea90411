"""Resources: which two of them overlap, and under which keys a resource is stored so that overlaps are found fast.

A resource is `[kind, text]` or `[kind, text, alias]`, already canonical: `file` and `tree` (a literal path, and a
literal path with all below it), `glob`, `name`, and `inode` for the alias of a multiply linked file. Two overlap if any
real path could match both; that is decided exactly.

Keys are `r/PATH⇥LAST⇥…`: PATH is the literal path or a glob's literal prefix, LAST a glob's last component if that is
literal. Everything that can overlap a path lies at one of its ancestors or below it.

The algebra of globs is loaded with the first glob: most claims are on files.
"""

from __future__ import annotations

from dibs.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dibs.stores.seam import Range

    Resource = Sequence[str]

MAX_RESOURCES = 256  # in one request; a refactoring across more claims its directories
LITERAL_KINDS = ("file", "tree")

WRITE, READ, WATCH = "write", "read", "watch"
MODES = (WRITE, READ, WATCH)
PLAIN_PARTS = 2  # kind and text; the alias comes after them


def normal(resources: Sequence[Resource]) -> list[list[str]]:
    """The resources of a request: globs simplified, each alias after its file, duplicates dropped."""
    if len(resources) == 1:  # the usual case: one, without an alias
        kind, text, *alias = resources[0]
        if kind != "glob" and not (alias and alias[0]):
            return [[kind, text]]
    found: dict[tuple[str, str], list[str]] = {}
    for resource in resources:
        kind, text = resource[0], resource[1]
        if kind == "glob":
            from dibs.operations.claims import globs

            kind, text = globs.simplify(text)
        if kind == "tree":
            found.pop(("file", text), None)
        found[kind, text] = [kind, text]
        if len(resource) > PLAIN_PARTS and resource[2]:
            found["inode", resource[2]] = ["inode", resource[2]]
    if not found:
        raise Invalid("name at least one resource: a path, a glob or a name such as db:migrations")
    if len(found) > MAX_RESOURCES:
        raise Invalid(f"{len(found)} resources in one request; at most {MAX_RESOURCES}. Claim directories instead.")
    return list(found.values())


def shown(resources: Iterable[Resource]) -> list[str]:
    """The resources as people write them, aliases left out."""
    return [show(resource) for resource in resources if resource[0] != "inode"]


def show(resource: Resource) -> str:
    """One resource as people write it."""
    kind, text = resource[0], resource[1]
    if kind == "inode":
        return f"inode:{text}"
    return text or "."


def same(one: Resource, other: Resource) -> bool:
    """Do two resources name the same thing? A claim on a file that did not exist yet was a tree claim."""
    if one[1] != other[1]:
        return False
    return one[0] == other[0] or (one[0] in LITERAL_KINDS and other[0] in LITERAL_KINDS)


def overlap(one: Resource, other: Resource) -> bool:
    """Could any real path match both?"""
    kind, text, their_kind, their_text = one[0], one[1], other[0], other[1]
    if kind in LITERAL_KINDS:
        if their_kind in LITERAL_KINDS:
            return text == their_text or _below(text, their_text) or _below(their_text, text)
        if their_kind == "glob":
            from dibs.operations.claims import globs

            return globs.matches(their_text, text) if kind == "file" else globs.meets_tree(their_text, text)
        return False
    if kind == "glob":
        if their_kind == "glob":
            from dibs.operations.claims import globs

            return globs.overlap(text, their_text)
        return their_kind in LITERAL_KINDS and overlap(other, one)
    return kind == their_kind and text == their_text


def covers(holder: Resource, wanted: Resource) -> bool:
    """Does `holder` contain everything that `wanted` can match?"""
    kind, text, their_kind, their_text = holder[0], holder[1], wanted[0], wanted[1]
    if same(holder, wanted):
        return True
    if kind in LITERAL_KINDS and their_kind in LITERAL_KINDS:
        return _below(their_text, text)
    if "glob" not in {kind, their_kind}:
        return False
    from dibs.operations.claims import globs

    if kind == "tree" and their_kind == "glob":
        prefix = globs.literal_prefix(their_text)
        return not text or prefix == text or _below(prefix, text)
    return kind == "glob" and their_kind == "file" and globs.matches(text, their_text)


def any_overlap(some: Sequence[Resource], others: Sequence[Resource]) -> Resource | None:
    """The first of `some` that overlaps any of the others."""
    if some == others:  # waiters in one queue often want exactly the same: no need to compare a hundred times
        return some[0]
    for one in some:
        for other in others:
            if overlap(one, other):
                return one
    return None


def all_covered(wanted: Iterable[Resource], held: Sequence[Resource]) -> bool:
    """Is each wanted resource within one that is held?"""
    return all(any(covers(holder, one) for holder in held) for one in wanted)


def conflict(mode: str, other: str) -> bool:
    """May these two modes not be held by two unrelated agents at once?"""
    return (mode == WRITE and other != WATCH) or (other == WRITE and mode != WATCH)


def enough(held: str, wanted: str) -> bool:
    """Does a claim in mode `held` include the rights of mode `wanted`?"""
    return MODES.index(held) <= MODES.index(wanted)


def same_tree(tree: str, other: str) -> bool:
    """Do two claims meet in a working tree? An empty name means all working trees."""
    return not tree or not other or tree == other


# --- where a resource is kept


def key_of(resource: Resource, suffix: str) -> str:
    """The key of one hold, wait or interest on one resource."""
    kind, text = resource[0], resource[1]
    if kind in LITERAL_KINDS:
        return f"r/{text}\t\t{suffix}" if text else f"r\t\t{suffix}"
    if kind == "glob":
        from dibs.operations.claims import globs

        prefix = globs.literal_prefix(text)
        # with the whole glob at the end: one claim may have several with the same prefix and last component
        return f"r{'/' if prefix else ''}{prefix}\t{globs.literal_last(text)}\t{suffix}\t{text}"
    return f"{kind[0]}{text}\t\t{suffix}"


_last_ranges: tuple[list[list[str]], list[Range]] = ([], [])


def ranges_of(resources: Sequence[Resource]) -> list[Range]:
    """The ranges of keys that hold everything that can overlap these resources; disjoint and sorted.

    The last answer is cached: what is prefetched for an operation is what it reads. Do not change the list.
    """
    global _last_ranges  # noqa: PLW0603 - a cache of one entry
    last = _last_ranges  # read once: another thread may replace it
    if last[0] != resources:
        last = _last_ranges = ([[*one] for one in resources], _ranges_of(resources))  # a copy: callers change theirs
    return last[1]


def _ranges_of(resources: Sequence[Resource]) -> list[Range]:
    """The end of a prefix is the prefix with its last character raised by one: TAB becomes newline, `/` becomes `0`."""
    found: list[Range] = []
    for resource in resources:
        kind, text = resource[0], resource[1]
        if kind in LITERAL_KINDS or kind == "glob":
            base = text if kind in LITERAL_KINDS else _prefix(text)
            last = base.rpartition("/")[2] if kind == "file" else ""
            for ancestor in _lineage(base):
                if last:  # a glob whose last component is another name cannot match this file
                    found.append((f"{ancestor}\t\t", f"{ancestor}\t\n"))
                    found.append((f"{ancestor}\t{last}\t", f"{ancestor}\t{last}\n"))
                else:
                    found.append((f"{ancestor}\t", f"{ancestor}\n"))
            found.append((f"r/{base}/", f"r/{base}0") if base else ("r/", "r0"))
        else:
            found.append((f"{kind[0]}{text}\t", f"{kind[0]}{text}\n"))
    return found if len(resources) == 1 else _merged(sorted(found))  # those of one resource are in order already


def places_of(resources: Sequence[Resource]) -> list[Range]:
    """The ranges of keys that hold everything that is on these very resources, and not on what is below them."""
    keys = set()
    for resource in resources:
        literal = resource[0] != "glob"
        keys.add(key_of(resource, "").rstrip("\t") if literal else _lineage(_prefix(resource[1]))[-1])
    return [(f"{key}\t", f"{key}\n") for key in sorted(keys)]


def ranges_for(wanted: Sequence[Resource]) -> list[Range]:
    """`ranges_of`, for resources as the caller wrote them."""
    return ranges_of(normal(wanted))


def root_glob(resource: Resource) -> bool:
    """Does a glob begin with a wildcard? Every claim is compared with those, so their number is limited."""
    return resource[0] == "glob" and not _prefix(resource[1])


def _prefix(glob: str) -> str:
    from dibs.operations.claims import globs

    return globs.literal_prefix(glob)


def _lineage(path: str) -> list[str]:
    """The keys of the root, of each directory above a path, and of the path itself."""
    found = ["r"]
    place = path.find("/")
    while place >= 0:
        found.append(f"r/{path[:place]}")
        place = path.find("/", place + 1)
    if path:
        found.append(f"r/{path}")
    return found


def _merged(ranges: list[Range]) -> list[Range]:
    merged: list[Range] = []
    for low, high in ranges:
        if merged and low < merged[-1][1]:
            if high > merged[-1][1]:
                merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return merged


def _below(path: str, above: str) -> bool:
    return not above or path.startswith(above + "/")


def order_of(resource: Resource) -> tuple[Any, ...]:
    """The place of a resource in the global order that `ordering = "enforce"` holds claims to."""
    return (resource[0] in {"name", "inode"}, resource[1])
