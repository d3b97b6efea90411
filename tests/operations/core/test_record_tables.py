"""The tables of event kinds and of keys are those of the code: nothing is missing in them, and nothing too many."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dibs.operations.core import events, keys
from tests import record_tables
from tests.operations.fleet import Fleet

if TYPE_CHECKING:
    from collections.abc import Iterator

OPERATIONS = Path(events.__file__).resolve().parent
while OPERATIONS.name != "operations":
    OPERATIONS = OPERATIONS.parent
APPEND_ARGUMENTS = 4  # kind, agent, subject, data: a list's `append` has one


def appended() -> Iterator[tuple[str, ast.expr]]:
    """Every `tx.append` of the operations: where, and its kind."""
    for path in sorted(OPERATIONS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "append"
                and len(node.args) == APPEND_ARGUMENTS
            ):
                yield f"{path.name}:{node.lineno}", node.args[0]


def kinds(node: ast.expr) -> list[str]:
    """The kinds that an expression can be: a text, one of two, or a text with a hole in it (then its beginning)."""
    if isinstance(node, ast.IfExp):
        return [*kinds(node.body), *kinds(node.orelse)]
    if isinstance(node, ast.JoinedStr):
        begins = node.values[0]
        assert isinstance(begins, ast.Constant)
        start = str(begins.value)
        return [kind for kind in events.KINDS if kind.startswith(start)] or [f"{start}…"]
    if isinstance(node, ast.Name):
        return ["event.emitted"] if node.id == "EMITTED" else [node.id]
    assert isinstance(node, ast.Constant)
    return [str(node.value)]


def test_every_kind_that_is_appended_is_in_the_table_and_every_kind_of_the_table_is_appended() -> None:
    said = {kind: where for where, node in appended() for kind in kinds(node)}
    assert {kind: where for kind, where in said.items() if kind not in events.KINDS} == {}
    assert set(events.KINDS) - set(said) == set()


def test_every_row_says_what_happened_in_one_sentence() -> None:
    for kind, (subject, means, _) in events.KINDS.items():
        assert subject, kind
        assert means.endswith("."), kind
        assert kind.partition(".")[0] + "." in events.families()


def test_no_two_records_share_a_prefix_unless_they_are_places_of_claims() -> None:
    prefixes = [record_tables.prefix_of(form) for form in keys.KEYS]
    assert sorted(prefix for prefix in prefixes if prefixes.count(prefix) > 1) == ["r", "r", "r"]
    rooms = {room for room, *_ in keys.KEYS.values()}
    assert rooms == {
        "agents", "alerts", "claims", "core", "guards", "landing", "messages", "oversight", "runs", "shared", "tasks",
        "upkeep",
    }  # fmt: skip


@pytest.mark.parametrize(("kind", "data"), [("claim.grunted", {}), ("claim.ended", {"whence": "x"}), ("kind", {})])
def test_an_event_that_the_table_does_not_have_is_wrong(kind: str, data: dict[str, str]) -> None:
    assert record_tables.wrong_event(kind, data)


def test_what_the_tables_have_is_right() -> None:
    assert not record_tables.wrong_event("claim.ended", {"why": "expired", "request": ["x", "y"]})
    assert not record_tables.wrong_key("r/src/a.py\t\thann\tc1")
    assert not record_tables.wrong_key("ec")
    assert record_tables.wrong_key("zz\tann")


def test_operations_are_held_to_the_tables_in_every_test(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet()
    others = {kind: row for kind, row in events.KINDS.items() if kind != "claim.granted"}
    monkeypatch.setattr(events, "KINDS", others)  # the table itself stays in its order, which a document has
    with pytest.raises(AssertionError, match=r"claim\.granted is no kind"):
        fleet.call("ann", "claim", resources=["a.py"])
    monkeypatch.undo()
    monkeypatch.setattr(record_tables, "PREFIXES", record_tables.PREFIXES - {"r"})
    with pytest.raises(AssertionError, match="is no key"):
        fleet.call("ann", "claim", resources=["a.py"])


def test_neither_a_claim_nor_a_message_nor_a_document_loads_the_tables() -> None:
    code = (
        "import sys\n"
        "from dibs.client import catalogue\n"
        "for name in ('claim', 'release', 'send', 'state set', 'task next', 'boot'): catalogue.operation(name)\n"
        f"print(*[name for name in {(events.__name__, keys.__name__)!r} if name in sys.modules])"
    )
    fresh = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert fresh.stdout.split() == []
