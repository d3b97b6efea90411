"""The rows of architecture.md, "Where to change what": each place is there, and has the names that the row promises."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent
SOURCE = TOP / "src" / "dibs"
MAX_PLACES = 3
REQUESTS = 15


def rows() -> list[tuple[str, list[str]]]:
    """Each request with its places."""
    text = (
        (TOP / "docs" / "internals" / "architecture.md")
        .read_text()
        .split("## Where to change what\n", 1)[1]
        .split("\n## ", 1)[0]
    )
    cells = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [(request, places.split(" · ")) for request, places in cells if request not in {"request", "---"}]


def definitions(path: Path) -> set[str]:
    """What a module defines, at its top (below `if TYPE_CHECKING` as well) and in its classes."""
    names = set()
    top = ast.parse(path.read_text()).body
    for node in [*top, *[part for block in top if isinstance(block, ast.If) for part in block.body]]:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
            names |= {f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def missing(place: str) -> list[str]:
    """What a place promises and has not: its file, or names in it."""
    file, _, promised = place.partition("`: ")
    path = SOURCE / file.strip("`")
    if not file.startswith("`"):
        return []  # words: a file of its own, the operation that refuses
    if not path.is_file():
        return [file]
    return (
        [name for name in re.findall(r"`([\w.]+)`", f"`{promised}") if name not in definitions(path)]
        if promised
        else []
    )


@pytest.mark.parametrize(("request_", "places"), rows(), ids=lambda cell: cell if isinstance(cell, str) else "")
def test_a_request_leads_to_at_most_three_places_that_are_there(request_: str, places: list[str]) -> None:
    assert len(places) <= MAX_PLACES
    assert places[0].startswith("`"), "a place to begin with"
    assert [name for place in places for name in missing(place)] == [], request_


def test_all_requests_are_answered() -> None:
    assert len(rows()) == REQUESTS


@pytest.mark.parametrize(
    "place", ["`nowhere/at_all.py`", "`errors.py`: `Nothing`", "`errors.py`: `DibsError`, `Nothing`"]
)
def test_a_place_that_is_gone_is_found(place: str) -> None:
    assert missing(place)
