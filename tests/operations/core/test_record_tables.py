"""What operations write is defined: every kind of event with its data, every key; and nothing too many is defined."""

from __future__ import annotations

import ast
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from dibs.operations.core.event_kinds import FAMILIES, KINDS
from tests import record_tables
from tests.operations.fleet import Fleet
from tools.event_definitions import events
from tools.key_definitions import definitions_of, family_of, keys
from tools.sources import OPERATIONS, Source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

APPEND_ARGUMENTS = 4  # kind, agent, subject, data: a list's `append` has one


def appended() -> Iterator[tuple[str, ast.expr, ast.expr]]:
    """Every `tx.append` of the operations: where, its kind, its data."""
    for path in sorted(OPERATIONS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "append"
                and len(node.args) == APPEND_ARGUMENTS
            ):
                yield f"{path.parent.name}/{path.name}:{node.lineno}", node.args[0], node.args[3]


def kinds(node: ast.expr) -> list[str]:
    """The kinds that an expression can be: a text, one of two, or a text with a hole in it (then its beginning)."""
    if isinstance(node, ast.IfExp):
        return [*kinds(node.body), *kinds(node.orelse)]
    if isinstance(node, ast.JoinedStr):
        begins = node.values[0]
        assert isinstance(begins, ast.Constant)
        start = str(begins.value)
        return [kind for kind in KINDS if kind.startswith(start)] or [f"{start}…"]
    if isinstance(node, ast.Name):
        return ["event.emitted"] if node.id == "EMITTED" else [node.id]
    assert isinstance(node, ast.Constant)
    return [str(node.value)]


def test_every_kind_that_is_appended_is_defined_and_every_kind_that_is_defined_is_appended() -> None:
    places = {kind: where for where, node, _ in appended() for kind in kinds(node)}
    assert {kind: where for kind, where in places.items() if kind not in KINDS} == {}
    assert set(KINDS) - set(places) == set()


def test_every_name_in_the_data_of_an_event_is_defined() -> None:
    names = {event.kind: {field.name for field in event.fields} for event in events()}
    checked = 0
    for where, node, data in appended():
        if isinstance(data, ast.Dict):
            written = {str(key.value) for key in data.keys if isinstance(key, ast.Constant)}
            assert written <= set.intersection(*(names[kind] for kind in kinds(node))), where
            checked += 1
    assert checked > len(KINDS) / 2


def test_every_kind_is_defined_once_and_says_what_happened() -> None:
    definitions = events()
    assert sorted(event.kind for event in definitions) == sorted(KINDS)
    for event in definitions:
        assert event.meaning[0].isupper(), event
        assert event.meaning.endswith("."), event
        assert event.kind.startswith(FAMILIES)


def test_a_definition_tells_names_notes_and_values() -> None:
    (ended,) = [event for event in events() if event.kind == "claim.moved"]
    assert ended.room == "claims"
    assert ended.subject == "claim id"
    assert ended.data == "`to` (agent), `token, why` (`boot`, `left`)"
    (moved,) = [event for event in events() if event.kind == "run.phased"]
    assert moved.data == "`from` (the phase before), `to`"
    (dropped,) = [event for event in events() if event.kind == "deploy.started"]
    assert dropped.data == "`commit, token, command`; at times `unsynced, rollback`"


def test_no_two_records_share_a_prefix_unless_they_are_places_of_claims() -> None:
    prefixes = [record_tables.prefix_of(key.form) for key in keys()]
    assert sorted(prefix for prefix in prefixes if prefixes.count(prefix) > 1) == ["r", "r", "r"]


def test_a_key_is_told_with_its_form_its_type_and_its_entries() -> None:
    (task,) = [key for key in keys() if key.form == "t⇥TASK"]
    assert (task.room, task.what, task.type) == ("tasks", "a task", "Task")
    assert "ready⇥POOL⇥PRIORITY⇥ORDER⇥TASK" in task.first
    assert set(task.second) == {"later⇥TIME", "over⇥TIME"}
    (note,) = [key for key in keys() if family_of(key.form) == "tn"]
    assert (note.form, note.type) == ("tn⇥TASK⇥STAMP", "Note")
    (job,) = [key for key in keys() if family_of(key.form) == "j"]
    assert (job.form, job.type, job.second) == ("j⇥JOB", "Job", ("later⇥TIME⇥JOB",))


RECORDS = """
COUNTS_KEY = "zc"  # the number of zones
ZONE_KEYS = "z\\t"
OPEN, OVER = "zones\\topen\\t", "zones\\tover\\t"

def zones_prefix(place: str) -> str:
    'The zones of a place.'
    return f"z\\t{place}\\t"

def zone_key(place: str, identifier: str) -> str:
    'A zone: what is in it.'
    return zones_prefix(place) + identifier

def wake_key(channel: str) -> str:
    'Nothing is there.'
    return f"w\\t{channel}"

def in_state(state: str) -> str:
    'The zones in one state.'
    return f"zones\\t{state}\\t"
"""


def test_the_keys_of_a_room_are_read_from_its_functions_and_constants(tmp_path: Path) -> None:
    file = tmp_path / "records.py"
    file.write_text(RECORDS)
    assert definitions_of(Source(file)) == [
        ("z⇥PLACE⇥ID", "a zone: what is in it"),
        ("zc", "the number of zones"),
    ]


def test_the_first_part_of_a_key_is_one_or_two_letters_and_that_of_an_entry_is_a_word() -> None:
    entries = {entry.partition("⇥")[0] for key in keys() for entry in (*key.first, *key.second)}
    assert {"claims", "due", "later"} <= entries
    assert {entry for entry in entries if family_of(entry)} == set()


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("claim.grunted", {}),
        ("kind", {}),
        ("claim.ended", {"why": "expired", "until": 1, "whence": "x"}),
        ("claim.ended", {"why": "bored", "until": 1}),
        ("claim.ended", {"why": "expired", "until": "soon"}),
        ("claim.ended", {"why": "expired"}),
    ],
)
def test_an_event_that_is_not_as_it_is_defined_is_wrong(kind: str, data: dict[str, str]) -> None:
    assert record_tables.wrong_event(kind, data)


def test_what_is_defined_is_right() -> None:
    assert not record_tables.wrong_event("claim.ended", {"why": "expired", "until": 1})
    assert not record_tables.wrong_event("claim.renewed", {"until": 1, "request": ["x", "y"]})
    assert not record_tables.wrong_key("r/src/a.py\t\thann\tc1")
    assert not record_tables.wrong_key("ec")
    assert record_tables.wrong_key("zz\tann")


def test_operations_are_held_to_the_definitions_in_every_test(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet()
    monkeypatch.delitem(record_tables.types(), "claim.granted")
    with pytest.raises(AssertionError, match=r"claim\.granted is not defined"):
        fleet.call("ann", "claim", resources=["a.py"])
    monkeypatch.undo()
    rest = record_tables.prefixes() - {"r"}
    monkeypatch.setattr(record_tables, "prefixes", lambda: rest)
    with pytest.raises(AssertionError, match="is not defined"):
        fleet.call("ann", "claim", resources=["a.py"])


def test_no_operation_loads_the_definitions_of_events() -> None:
    code = (
        "import sys\n"
        "from dibs.client import catalogue\n"
        "from dibs.operations.core import index\n"
        "for name in index.FILES: catalogue.operation(name)\n"
        "print(*[name for name in sys.modules if name.startswith('dibs.') and name.endswith('.events')])"
    )
    fresh = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert fresh.stdout.split() == []


def test_what_the_suite_is_held_to_is_what_the_rooms_define() -> None:
    assert {kind: data.__name__ for kind, data in record_tables.types().items()} == {
        event.kind: event.type for event in events()
    }
    assert record_tables.prefixes() == {record_tables.prefix_of(key.form) for key in keys()}
