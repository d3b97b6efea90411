"""How few reads an operation makes: what it names ahead is read with the caller's record, by one statement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Held
from dibs.operations.claims import grants
from dibs.operations.claims import records as claim_records
from dibs.stores.sqlite.store import SqliteStore, create
from tests.operations.fleet import Fleet, item

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Reads:
    """A fleet on SQLite, and the statements by which its transactions read rows."""

    def __init__(self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fleet = Fleet()
        self.fleet.store = store  # type: ignore[assignment]
        self.statements: list[str] = []
        plain = store._sql

        def sql(statement: str, values: Any = ()) -> Any:
            if " kv " in statement and "SELECT" in statement:
                self.statements.append(statement)
            return plain(statement, values)

        monkeypatch.setattr(store, "_sql", sql)

    def of(self, act: Callable[[], Any]) -> int:
        """How many reads it makes."""
        self.statements.clear()
        act()
        return len(self.statements)


@pytest.fixture
def reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reads]:
    create(str(tmp_path / "dibs.db"))
    store = SqliteStore(str(tmp_path / "dibs.db"))
    monkeypatch.setattr(grants, "SWEEP_ONE_IN", 1 << 60)  # none sweeps
    made = Reads(store, monkeypatch)
    for agent in ("ann", "bob"):
        made.fleet.call(agent, "boot")
    yield made
    store.close()


def test_a_claim_is_decided_by_one_read(reads: Reads) -> None:
    fleet = reads.fleet
    assert reads.of(lambda: fleet.claim("ann", "src/a/x.py")) == 1
    assert reads.of(lambda: fleet.claim("ann", "src/a/x.py")) == 1, "it is refreshed"
    assert reads.of(lambda: fleet.claim("ann", *[f"m/{name}.py" for name in "abcdef"])) == 1
    fleet.claim("bob/sub", "first.py")
    assert reads.of(lambda: fleet.claim("bob/sub", "y.py", request="r1")) == 1, "with its ancestors and its request"


def test_an_edit_is_decided_by_one_read(reads: Reads) -> None:
    fleet = reads.fleet
    for _ in range(2):
        assert reads.of(lambda: fleet.edit("ann", "src/a/x.py")) == 1
        assert reads.of(lambda: fleet.edit("ann", "b/x.py", item("b/y.py", ignored=True), "b/z.py")) == 1
    with pytest.raises(Held):
        fleet.edit("bob", "src/a/x.py")


def test_the_rows_near_what_is_released_are_read_once(reads: Reads) -> None:
    fleet = reads.fleet
    fleet.claim("ann", "src/a/x.py")
    fleet.claim("ann", "src/a/y.py")
    assert reads.of(lambda: fleet.release("ann", "src/a/x.py")) == 1


def test_a_document_and_its_claims_are_read_once(reads: Reads) -> None:
    fleet = reads.fleet
    fleet.call("ann", "state set", key="k", value=1)
    assert reads.of(lambda: fleet.call("ann", "state set", key="k", value=2, version=1)) == 2, "and its subscribers"


def test_the_task_that_is_finished_its_holders_and_its_dependents_are_read_once(reads: Reads) -> None:
    fleet = reads.fleet
    for name in ("one", "two"):
        fleet.call("bob", "task add", title=name, id=name)
    taken = fleet.call("bob", "task claim", id="one")
    assert reads.of(lambda: fleet.call("bob", "task progress", id="one", percent=50, token=taken["token"])) == 1
    reads.of(lambda: fleet.call("bob", "task done", id="one", token=taken["token"]))
    assert len([one for one in reads.statements if "(0,?,?)" in one and "(1,?,?)" in one]) == 1
    assert not [one for one in reads.statements[1:] if "(1,?,?)" in one], "no range is read after the prefetch"


def test_the_ranges_of_a_request_do_not_follow_a_list_that_its_caller_changes() -> None:
    wanted = [["file", "a/x.py"]]
    first = claim_records.ranges_of(wanted)
    wanted[0][1] = "b/y.py"
    assert claim_records.ranges_of(wanted) != first
    wanted.append(["file", "c/z.py"])
    assert len(claim_records.ranges_of(wanted)) > len(first)
    assert claim_records.ranges_of([["file", "a/x.py"]]) == first
