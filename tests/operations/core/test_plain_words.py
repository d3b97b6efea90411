"""Text that cannot be encoded and numbers that JSON does not have are refused at the door, on every engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.canonical import Canonical
from dibs.client import catalogue
from dibs.errors import Invalid
from dibs.operations.core.call import Call
from dibs.operations.core.entry import perform
from dibs.operations.core.policy import Policy
from dibs.stores.sqlite import store as sqlite_store
from dibs.stores.sqlite.store import SqliteStore
from dibs.testing.memory import MemoryStore
from tests.canonical import canonical

if TYPE_CHECKING:
    from pathlib import Path

    from dibs.operations.core.declare import Operation
    from dibs.stores.seam import Store

HALF = "half an emoji \ud83d"
BYTE = "\udcff"  # how Python has the byte FF of a command line
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("claim", {"resources": [["name", "x"]], "reason": HALF}),
    ("claim", {"resources": [["name", "x"]], "task": BYTE}),
    ("task add", {"title": HALF}),
    ("task add", {"title": "t", "payload": {"deep": [{"er": HALF}]}}),
    ("task add", {"title": "t", "payload": {HALF: 1}}),
    ("task add", {"title": "t", "payload": float("nan")}),
    ("boot", {"task": BYTE}),
    ("boot", {"type": HALF}),
    ("kill", {"agent": "bob", "why": HALF}),
    ("send", {"to": "all", "text": HALF}),
    ("send", {"to": BYTE, "text": "t"}),
    ("emit", {"kind": "k", "data": [HALF]}),
    ("state set", {"key": "k", "value": HALF}),
    ("state set", {"key": "k", "value": float("inf")}),
    ("state get", {"key": BYTE}),
    ("run start", {"name": "r", "tasks": [{"title": HALF}]}),
    ("task show", {"id": BYTE}),
    ("run purge", {"run": float("nan")}),
]


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "memory":
        return MemoryStore()
    sqlite_store.create(str(tmp_path / "dibs.db"))
    return SqliteStore(str(tmp_path / "dibs.db"))


def asked(store: Store, operation: Operation, fields: dict[str, Any]) -> Any:
    """Run the operation, as every door does."""
    fields = canonical(operation, fields)
    verb = store.run if operation.writes else store.look
    return verb(lambda tx: perform(tx, Call(Policy(), agent="ann"), operation, fields))


@pytest.mark.parametrize(("name", "fields"), CALLS, ids=[f"{name} {list(fields)[-1]}" for name, fields in CALLS])
def test_such_a_word_is_invalid_wherever_it_stands(store: Store, name: str, fields: dict[str, Any]) -> None:
    operation = catalogue.operation(name)
    known = {field.name for field in operation.fields}
    assert set(fields) <= known, known
    with pytest.raises(Invalid):
        asked(store, operation, fields)
    assert store.head().seq == 0
    store.close()


@pytest.mark.parametrize("name", ["status", "claim", "inbox"])
def test_so_is_the_name_of_the_caller(store: Store, name: str) -> None:
    operation = catalogue.operation(name)
    fields = {"resources": [Canonical(("name", "x"))]} if name == "claim" else {}
    verb = store.run if operation.writes else store.look
    with pytest.raises(Invalid):
        verb(lambda tx: perform(tx, Call(Policy(), agent=f"a{HALF[-1]}"), operation, fields))
    store.close()
