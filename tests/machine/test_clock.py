"""The two clocks, read by a process that the machine interrupts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dibs.machine import clock
from dibs.stores.sqlite.store import SqliteStore, create

if TYPE_CHECKING:
    from pathlib import Path

AHEAD = 1_700_000_000_000


class Busy:
    """A machine on which the process is descheduled after some of its looks at a clock, for 300 ms."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *stops: int) -> None:
        self.now, self.looks, self.stops = 5_000, 0, stops
        monkeypatch.setattr(clock, "since_boot", self.look)
        monkeypatch.setattr(clock, "wall", lambda: self.look() + AHEAD)

    def look(self) -> int:
        now, self.looks = self.now, self.looks + 1
        self.now += 300 if self.looks in self.stops else 0
        return now


@pytest.mark.parametrize("stops", [(), (1,), (2,), (1, 4), (1, 2, 4, 5)])
def test_the_difference_of_the_two_clocks_is_that_of_one_moment(
    stops: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    Busy(monkeypatch, *stops)
    assert clock.ahead() == AHEAD


def test_where_no_moment_is_quiet_it_is_not_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    Busy(monkeypatch, *range(1, 100))
    assert clock.ahead() >= AHEAD


@pytest.mark.parametrize("stop", range(1, 8))
def test_a_store_s_first_event_has_the_time_of_day_though_its_process_was_interrupted(
    stop: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All later events go by the difference that the first one has."""
    path = str(tmp_path / "db")
    create(path)
    store = SqliteStore(path)
    try:
        Busy(monkeypatch, stop)
        store.run(lambda tx: tx.append("x.y", "ann", "x", {}))
        assert store.wall_ahead() == AHEAD
    finally:
        store.close()
