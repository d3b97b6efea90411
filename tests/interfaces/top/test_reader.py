"""The reader: follows by itself, says when nothing is heard, and misses nothing when it is back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dibs.client.session import Session
from dibs.errors import Unavailable
from dibs.interfaces.session_doors import ProgramDoor
from dibs.interfaces.top import reader as readers
from dibs.interfaces.top.reader import Asker, FeedReader
from dibs.interfaces.top.state import LIVE, LOST, FleetState
from dibs.machine import clock
from tests.waiting import LIMIT_S, until


class Shaky(Asker):
    """A way to the store that can be cut."""

    cut = False

    def ask(self, name: str, fields: dict[str, Any] | None = None, *, request: str = "") -> Any:
        if self.cut:
            raise Unavailable("the server does not answer")
        return super().ask(name, fields, request=request)


@pytest.fixture
def running(ada: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[FleetState, Shaky]]:
    monkeypatch.setattr(readers, "LONGEST_PAUSE_MS", 50)
    assert ada
    asker = Shaky(lambda: Session(str(tmp_path), None, door=ProgramDoor()), "root")
    state = FleetState()
    reader = FeedReader(asker, state)
    reader.start()
    yield state, asker
    reader.stop()
    reader.join(LIMIT_S)


def test_it_reads_a_snapshot_and_follows(running: tuple[FleetState, Shaky], ada: Any) -> None:
    state, _ = running
    until(lambda: state.phase == LIVE and state.whole)
    ada.claim("src/a.py", reason="new route")
    until(lambda: [claim for claim in state.claims.values() if claim["reason"] == "new route"])
    ada.task_add("Do it", id="t1")
    until(lambda: "t1" in state.tasks)


def test_nothing_is_missed_while_nothing_is_heard(running: tuple[FleetState, Shaky], ada: Any) -> None:
    state, asker = running
    until(lambda: state.phase == LIVE and state.whole)
    asker.cut = True
    ada.claim("src/a.py")
    until(lambda: state.phase == LOST)
    assert state.why_not("kill") == "not connected: actions are off"
    until(lambda: clock.wall() > state.lost_at)
    assert state.now == state.lost_at, "what is shown is as old as the last word"
    for number in range(5):
        ada.claim(f"src/away-{number}.py")
    asker.cut = False
    until(lambda: state.phase == LIVE and len(state.claims) == 6)
    assert [event["seq"] for event in state.events] == list(range(1, state.seq + 1))
    assert "none missed" in state.marks[-1][1]


def test_pruned_events_and_another_log_are_said_and_read_anew(
    running: tuple[FleetState, Shaky], ada: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, asker = running
    until(lambda: state.phase == LIVE and state.whole)
    whole = asker.ask

    def pruned(name: str, fields: dict[str, Any] | None = None, *, request: str = "") -> Any:
        answer = whole(name, fields, request=request)
        if name == "log" and fields and fields.get("after") and not state.marks:
            answer["events"] = answer["events"][1:]
        return answer

    monkeypatch.setattr(asker, "ask", pruned)
    ada.claim("src/a.py", "src/b.py")
    ada.claim("src/c.py")
    ada.claim("src/d.py")
    until(lambda: state.marks)
    assert "were pruned before they were read: a new snapshot was taken" in state.marks[-1][1]
    until(lambda: len(state.claims) == 3)
    state.seq += 1_000  # as if the log had been a longer one
    until(lambda: len(state.marks) > 1)
    assert "the log is another one now" in state.marks[-1][1]
    assert state.seq == ada.log()["cursor"]
