"""Values for the fields of any operation, by their declarations: usual ones, and all kinds that a field accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as some

from dibs.canonical import Canonical

if TYPE_CHECKING:
    from dibs.operations.core.declare import Field, Operation

TEXTS = ("", "x", "\udcff", "a\tb", "\x1a")
PROCESS = ["host", "boot", "ns", 1, 1]


def usual_request(operation: Operation) -> dict[str, Any]:
    """The least that can be asked."""
    return {field.name: usual(field) for field in operation.fields if field.required}


def usual(field: Field) -> Any:
    """A value of this kind that says nothing special."""
    if field.items and field.kind == "object":
        return {one.name: usual(one) for one in field.items if one.required}
    if field.items and field.kind == "json":
        return [{one.name: usual(one) for one in field.items if one.required}]
    plain = {
        "choice": field.choices[0] if field.choices else "", "resource": Canonical(("file", "x.py", "")),
        "resources": [Canonical(("file", "x.py", ""))], "integer": 1, "number": 1, "amount": 1.5, "flag": True,
        "process": PROCESS, "duration": 1_000, "json": [], "words": [], "raws": [], "rows": [],
        "texts": {}, "tree": "/repo",
    }  # fmt: skip
    return plain.get(field.kind, "x")


WORDS = some.sampled_from(("x", "a", "b", "x.py", "", "/repo", "c1", "t" * 40))
RESOURCES = some.builds(
    Canonical,
    some.sampled_from((
        ("file", "x.py", ""), ("file", "x.py", "1:2"), ("file", "src/y.py"), ("tree", "", ""), ("tree", "src"),
        ("glob", "src/**/*.py", ""), ("glob", "*"), ("name", "git:index", ""), ("name", "db:x"),
    )),
)  # fmt: skip
KINDS: dict[str, some.SearchStrategy[Any]] = {
    "text": WORDS, "agent": WORDS, "commit": WORDS, "raw": some.one_of(WORDS, some.sampled_from(TEXTS)),
    "raws": some.lists(WORDS, max_size=3), "words": some.lists(WORDS, max_size=3), "resource": RESOURCES,
    "resources": some.lists(RESOURCES, max_size=3), "integer": some.integers(0, 9), "number": some.integers(-9, 9),
    "duration": some.integers(0, 9_000), "amount": some.sampled_from((0, 0.5, 7)), "flag": some.booleans(),
    "process": some.just(PROCESS), "json": some.sampled_from((None, 1, {"x": [1]})),
    "texts": some.dictionaries(WORDS, WORDS, max_size=2), "tree": WORDS, "ref": WORDS, "channel": some.just("c1"),
}  # fmt: skip


def values(field: Field) -> some.SearchStrategy[Any]:
    """Values that the field accepts."""
    if field.kind == "choice":
        return some.sampled_from(field.choices)
    if field.choices:
        return some.lists(some.sampled_from(field.choices), max_size=2)
    if field.kind == "rows":
        return some.lists(some.tuples(*map(values, field.items)), max_size=2)
    if not field.items:
        return KINDS[field.kind]
    whole = some.fixed_dictionaries(
        {one.name: values(one) for one in field.items if one.required},
        optional={one.name: values(one) for one in field.items if not one.required},
    )
    return whole if field.kind == "object" else some.lists(whole, max_size=2)
