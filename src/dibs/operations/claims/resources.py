"""Resources: which two of them overlap. records.py has the keys under which overlaps are found fast.

A resource is `[kind, text]` or `[kind, text, alias]`, already canonical: `file` and `tree` (a literal path, and a
literal path with all below it), `glob`, `name`, and `inode` for the alias of a multiply linked file. Two overlap if any
real path could match both; that is decided exactly.

The algebra of globs is loaded with the first glob: most claims are on files.
"""

from __future__ import annotations

from dibs.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Literal

    Mode = Literal["write", "read", "watch"]
    Resource = Sequence[str]  # kind and text, as it is stored; in a request the alias may follow

MAX_RESOURCES = 256  # in one request; a refactoring across more claims its directories
LITERAL_KINDS = ("file", "tree")

WRITE: Literal["write"] = "write"
READ: Literal["read"] = "read"
WATCH: Literal["watch"] = "watch"
MODES: tuple[Mode, ...] = (WRITE, READ, WATCH)  # the stronger first
PLAIN_PARTS = 2  # kind and text; the alias comes after them
POOL = "pool:"  # begins the name of a pool, `pool:NAME`, and of each of its units, `pool:NAME:UNIT`


def kind_of(resource: Resource) -> str:
    """Its kind: file, tree, glob, name or inode."""
    return resource[0]


def text_of(resource: Resource) -> str:
    """Its path, pattern or name."""
    return resource[1]


def is_alias(resource: Resource) -> bool:
    """Is it the inode of a multiply linked file, which follows the file itself?"""
    return resource[0] == "inode"


def pool_of(resource: Resource) -> str:
    """The name of the pool that a resource is, or that it is a unit of; "" if it is neither."""
    text = resource[1]
    if resource[0] != "name" or not text.startswith(POOL):
        return ""
    end = text.find(":", len(POOL))
    return text if end < 0 else text[:end]


def unit_of(resource: Resource) -> str:
    """The own name of a unit of a pool; "" if the resource is none."""
    pool = pool_of(resource)
    return resource[1][len(pool) + 1 :] if pool else ""


def is_pool(resource: Resource) -> bool:
    """Is it a pool: any of its units?"""
    return resource[0] == "name" and pool_of(resource) == resource[1]


def units_among(resources: Iterable[Resource]) -> list[str]:
    """The own names of the units of pools among these."""
    return [unit for unit in map(unit_of, resources) if unit]


def without_pools(resources: Sequence[Resource]) -> Sequence[Resource]:
    """What of these is neither a pool nor a unit of one."""
    return [resource for resource in resources if not pool_of(resource)]


def is_unit_of(unit: Resource, pool: Resource) -> bool:
    """Is the one a unit of the other? Those of a machine's own, `pool:NAME@MACHINE`, are units of `pool:NAME`, too."""
    name = pool_of(unit)
    return bool(name) and name != unit[1] and is_pool(pool) and (name == pool[1] or name.startswith(f"{pool[1]}@"))


def normal(resources: Sequence[Resource]) -> list[list[str]]:
    """The resources of a request: globs simplified, each alias after its file, duplicates dropped."""
    if len(resources) == 1:  # the usual case: one, without an alias
        kind, text, *alias = resources[0]
        if kind != "glob" and not (alias and alias[0]):
            return [[kind, text]]
    distinct: dict[tuple[str, str], list[str]] = {}
    for resource in resources:
        kind, text = resource[0], resource[1]
        if kind == "glob":
            from dibs.operations.claims import globs

            kind, text = globs.simplify(text)
        if kind == "tree":
            distinct.pop(("file", text), None)
        distinct[kind, text] = [kind, text]
        if len(resource) > PLAIN_PARTS and resource[2]:
            distinct["inode", resource[2]] = ["inode", resource[2]]
    if not distinct:
        raise Invalid("name at least one resource: a path, a glob or a name such as db:migrations")
    if len(distinct) > MAX_RESOURCES:
        raise Invalid(f"{len(distinct)} resources in one request; at most {MAX_RESOURCES}. Claim directories instead.")
    return list(distinct.values())


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
    return kind == their_kind and (text == their_text or is_unit_of(one, other) or is_unit_of(other, one))


def covers(holder: Resource, wanted: Resource) -> bool:
    """Does `holder` contain everything that `wanted` can match? A unit is all that a request for its pool wants."""
    kind, text, their_kind, their_text = holder[0], holder[1], wanted[0], wanted[1]
    if same(holder, wanted):
        return True
    if kind in LITERAL_KINDS and their_kind in LITERAL_KINDS:
        return _below(their_text, text)
    if "glob" not in {kind, their_kind}:
        return kind == "name" and is_unit_of(holder, wanted)
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


def with_aliases(held: Sequence[Resource], chosen: Sequence[Resource]) -> list[Resource]:
    """The chosen resources of a claim, with the inode of each multiply linked file."""
    complete: list[Resource] = []
    for place, resource in enumerate(held):
        if resource in chosen:
            complete.append(resource)
            complete += [following for following in held[place + 1 : place + 2] if is_alias(following)]
    return complete


def conflict(mode: Mode, other: Mode) -> bool:
    """May these two modes not be held by two unrelated agents at once?"""
    return (mode == WRITE and other != WATCH) or (other == WRITE and mode != WATCH)


def enough(held: Mode, wanted: Mode) -> bool:
    """Does a claim in mode `held` include the rights of mode `wanted`?"""
    return MODES.index(held) <= MODES.index(wanted)


def same_tree(tree: str, other: str) -> bool:
    """Do two claims meet in a working tree? An empty name means all working trees."""
    return not tree or not other or tree == other


def root_glob(resource: Resource) -> bool:
    """Does a glob begin with a wildcard? Every claim is compared with those, so their number is limited."""
    return resource[0] == "glob" and not glob_prefix(resource[1])


def glob_prefix(glob: str) -> str:
    """The literal directories that a glob begins with."""
    from dibs.operations.claims import globs

    return globs.literal_prefix(glob)


def _below(path: str, above: str) -> bool:
    return not above or path.startswith(above + "/")


def order_of(resource: Resource) -> tuple[bool, str]:
    """The place of a resource in the global order that `ordering = "enforce"` holds claims to: one for each pool."""
    return (resource[0] in {"name", "inode"}, pool_of(resource) or resource[1])
