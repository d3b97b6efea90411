"""`dibs log` reads from the end: the last events cost no more than they are, and pages go on from a cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.doors.cli.commands import log
from dibs.stores.memory import MemoryStore
from dibs.stores.seam import Event

if TYPE_CHECKING:
    from dibs.stores.seam import Transaction

EVENTS = 57


class Counting(MemoryStore):
    """Counts the events that are read."""

    read = 0

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        found = super().events(after, limit)
        self.read += len(found)
        return found


@pytest.fixture
def store() -> Counting:
    made = Counting(now=lambda: 1, wall=lambda: 1, new_id=lambda: "i")
    for number in range(EVENTS):
        made.run(lambda tx, number=number: _say(tx, number))  # type: ignore[misc]
    return made


def _say(tx: Transaction, number: int) -> None:
    tx.append("odd.one" if number % 10 == 3 else "even.one", "a", str(number), {})


def seqs(events: list[dict[str, Any]]) -> list[int]:
    return [event["seq"] for event in events]


def test_the_last_five_events_cost_five_events(store: Counting) -> None:
    found, last, earlier = log.last_of(store, log.Filter(), 5)
    assert (seqs(found), last, earlier) == ([53, 54, 55, 56, 57], EVENTS, True)
    assert store.read <= 5 + 1, "and one that tells whether there are earlier ones"


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize("since", [0, 20, 56, 57, 90])
@pytest.mark.parametrize("kind", ["", "odd", "none"])
@pytest.mark.parametrize("limit", [0, 1, 5, 6, 57, 58])
def test_the_last_events_are_those_that_the_whole_log_ends_with(
    store: Counting, limit: int, kind: str, since: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "PAGE", size)
    found, _, earlier = log.last_of(store, log.Filter(since=since, kind=kind), limit)
    every = [n for n in range(1, EVENTS + 1) if n > since and (kind in {"", "odd"}) and (not kind or n % 10 == 4)]
    assert seqs(found) == (every[-limit:] if limit else every)
    assert earlier is (bool(limit) and len(every) > limit)


@pytest.mark.parametrize("kind", ["", "odd"])
@pytest.mark.parametrize("limit", [1, 5, 6, 57])
def test_pages_from_the_beginning_are_the_whole_log(store: Counting, limit: int, kind: str) -> None:
    found: list[int] = []
    cursor, more = 0, True
    while more:
        page, cursor, more = log.page_of(store, cursor, log.Filter(kind=kind), limit)
        assert len(page) == limit or not more
        found += seqs(page)
    assert found == [n for n in range(1, EVENTS + 1) if not kind or n % 10 == 4]
    assert cursor == EVENTS
