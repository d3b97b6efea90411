"""Tasks never wait for each other in a circle, through whatever parents: held to a brute-force search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.errors import DibsError, Invalid
from dibs.operations.tasks import batches
from tests.operations.core.test_backlog import CrewOnFile
from tests.operations.crew import Crew
from tests.operations.engines import OnFile

if TYPE_CHECKING:
    from collections.abc import Mapping

Spec = tuple[str, tuple[str, ...]]  # the parent, those that it comes after


def circle(specs: Mapping[str, Spec]) -> bool:
    """Does any of these wait for itself? One waits for those it comes after, a parent for its children."""
    waits: dict[str, set[str]] = {name: set(after) for name, (_, after) in specs.items()}
    for name, (parent, _) in specs.items():
        if parent:
            waits[parent].add(name)

    def reached(name: str) -> set[str]:
        found: set[str] = set()
        left = [name]
        while left:
            for one in waits[left.pop()] - found:
                found.add(one)
                left.append(one)
        return found

    return any(name in reached(name) for name in specs)


def disordered(specs: Mapping[str, Spec]) -> bool:
    """Can they not be added one after the other, each after its parent and after those that it comes after?"""
    left, there = dict(specs), set[str]()
    while left:
        fit = [name for name, (parent, after) in left.items() if {*after, *([parent] if parent else [])} <= there]
        if not fit:
            return True
        for name in fit:
            there.add(name)
            del left[name]
    return False


@st.composite
def one_by_one(draw: st.DrawFn) -> list[tuple[str, Spec]]:
    """Tasks in their order, each with a parent and predecessors among those before it."""
    found: list[tuple[str, Spec]] = []
    for number in range(draw(st.integers(2, 12))):
        names = [name for name, _ in found]
        parent = draw(st.sampled_from(["", *names]))
        after = draw(st.lists(st.sampled_from(names), max_size=2, unique=True)) if names else []
        found.append((f"t{number}", (parent, tuple(after))))
    return found


@given(one_by_one())
def test_adding_is_refused_exactly_where_it_would_close_a_circle(tasks: list[tuple[str, Spec]]) -> None:
    crew = Crew()
    there: dict[str, Spec] = {}
    for name, (parent, after) in tasks:
        if not ({parent, *after} - {""}) <= there.keys():
            continue
        try:
            crew.add(name, parent=parent, after=list(after))
            added = True
        except Invalid:
            added = False
        assert added is not circle({**there, name: (parent, after)}), (name, parent, after, there)
        if added:
            there[name] = (parent, after)


@given(st.dictionaries(
    st.sampled_from("abcdefg"),
    st.tuples(st.sampled_from(["", *"abcdefg"]), st.lists(st.sampled_from("abcdefg"), max_size=2, unique=True)),
    min_size=2,
))  # fmt: skip
def test_tasks_from_one_file_are_refused_exactly_where_they_hold_a_circle(drawn: dict[str, Any]) -> None:
    specs: dict[str, Spec] = {
        name: (parent if parent in drawn else "", tuple(one for one in after if one in drawn))
        for name, (parent, after) in drawn.items()
    }
    crew = Crew()
    rows = [{"title": name, "id": name, "parent": one[0], "after": list(one[1])} for name, one in specs.items()]
    try:
        crew.internal("boss", batches.ADD, tasks=rows)
        added = True
    except DibsError:
        added = False
    assert added is not (circle(specs) or disordered(specs)), specs


@pytest.mark.parametrize("kind", [Crew, CrewOnFile])
def test_a_circle_through_a_parents_parent_is_refused(kind: type[Crew]) -> None:
    crew = kind()
    crew.add("X")
    crew.add("G")
    crew.add("P2", parent="G")
    crew.add("U", parent="P2", after=["X"])
    with pytest.raises(Invalid, match="waits for it"):
        crew.add("c", parent="X", after=["G"])
    if isinstance(crew, OnFile):
        crew.close()
