"""A command under a claim: kept while the claim is, ended when it is lost, never run when it is called off."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dibs.errors import Busy, Fenced
from dibs.machine import clock
from dibs.testing.memory import MemoryStore
from dibs.workers import child_process, held_command
from dibs.workers.held_command import HeldCommand, Hold
from tests.interfaces.worker_processes import alive, number_in
from tests.waiting import LIMIT_S, in_time, until


class Store:
    """What a hold asks: says yes until told otherwise."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.error: Exception | None = None
        self.then: Callable[[], None] = lambda: None  # done at each question
        self.token, self.life = 7, 60_000

    def hold(self, life: int = 60_000) -> Hold:
        self.life = life
        return Hold(
            "role:x", 7, self._expires(), deadline=lambda at: clock.of_iso(at) - MemoryStore().wall_ahead(),
            confirm=lambda: self._ask("confirm"), renew=lambda: self._ask("renew"),
        )  # fmt: skip

    def _expires(self) -> str:
        return clock.iso(clock.wall() + self.life)

    def _ask(self, name: str) -> Any:
        self.asked.append(name)
        self.then()
        if self.error is not None:
            raise self.error
        return {"renewed": [{"token": self.token, "expires_at": self._expires()}]}


@pytest.fixture
def keeper(monkeypatch: pytest.MonkeyPatch) -> Iterator[child_process.Keeper]:
    monkeypatch.setattr(held_command, "CONFIRM_INTERVAL_S", 0.02)
    monkeypatch.setattr(child_process, "KILL_GRACE_MS", 300)
    made = child_process.Keeper()
    yield made
    made.close()


def test_a_command_whose_claim_is_lost_is_ended_with_all_that_it_started(
    keeper: child_process.Keeper, tmp_path: Path
) -> None:
    store = Store()
    hold = store.hold()
    script = "trap '' TERM; sleep 600 & echo $! > pid; while :; do wait; done"  # it does not listen, so it is killed
    command = HeldCommand(keeper, hold, ["/bin/sh", "-c", script], cwd=tmp_path)
    hold.child = command.child

    def lose() -> None:
        if number_in(tmp_path / "pid"):  # before that it would listen
            store.error = Fenced(resource="role:x", given=7, holder="bob")

    store.then = lose
    assert command.run(timeout=LIMIT_S) == -signal.SIGKILL
    assert isinstance(hold.lost, Fenced)
    pid = number_in(tmp_path / "pid")
    until(lambda: not alive(pid), "the end of what it started")


def test_a_claim_is_confirmed_at_each_look_and_renewed_within_a_quarter_of_its_life(
    keeper: child_process.Keeper,
) -> None:
    store = Store()
    hold = store.hold(400)
    command = HeldCommand(keeper, hold, ["sleep", "600"])
    before = hold.until

    def enough() -> None:
        if store.asked.count("renew") >= 3 and command.signal == 0:
            command.interrupt(signal.SIGTERM)

    store.then = enough
    assert command.run(timeout=LIMIT_S) == -signal.SIGTERM
    assert hold.lost is None
    assert hold.until > before
    assert "confirm" in store.asked


def test_a_claim_that_came_back_under_another_token_is_lost(keeper: child_process.Keeper) -> None:
    store = Store()
    hold = store.hold(400)
    store.token = 8
    assert HeldCommand(keeper, hold, ["sleep", "600"]).run(timeout=LIMIT_S) == -signal.SIGTERM
    assert isinstance(hold.lost, Fenced)


def test_a_busy_store_ends_the_command_at_the_claims_deadline_and_not_before(keeper: child_process.Keeper) -> None:
    def play(life: float) -> None:
        store = Store()
        hold = store.hold(int(life * 1000))
        deadline = hold.until
        store.error = Busy()
        code = HeldCommand(keeper, hold, ["sleep", "600"]).run(timeout=LIMIT_S)
        assert clock.since_boot() >= deadline
        assert code in {-signal.SIGTERM, -signal.SIGKILL}  # by us, or by the keeper
        assert len(store.asked) > 1

    in_time(play, life=0.3)


def test_a_command_that_is_called_off_never_runs(keeper: child_process.Keeper, tmp_path: Path) -> None:
    command = HeldCommand(keeper, Store().hold(), ["touch", str(tmp_path / "ran")])
    command.cancel()
    assert not alive(command.child.pid)
    assert not (tmp_path / "ran").exists()


def test_a_command_that_nobody_let_run_dies_with_its_owner(tmp_path: Path) -> None:
    owner = (
        "from dibs.workers.child_process import Child, Keeper; import os, time\n"
        f"child = Child(Keeper(), ['touch', {str(tmp_path / 'ran')!r}], until=0, waits=True)\n"
        "time.sleep(0.3)  # in which it would run, if it were let\n"
        "print(child.pid, flush=True); os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", owner], capture_output=True, text=True, check=False, timeout=60)
    until(lambda: not alive(int(done.stdout)), "its end")
    assert not (tmp_path / "ran").exists()


def test_a_signal_reaches_the_command(keeper: child_process.Keeper, tmp_path: Path) -> None:
    script = "trap 'exit 9' INT; echo 1 > up; while :; do sleep 0.05; done"
    command = HeldCommand(keeper, Store().hold(), ["/bin/sh", "-c", script], cwd=tmp_path)
    command.child.go()
    until(lambda: number_in(tmp_path / "up"), "the trap")
    command.interrupt(signal.SIGINT)
    assert command.child.wait(LIMIT_S) == 9
    assert command.signal == signal.SIGINT


def test_a_timeout_ends_the_command(keeper: child_process.Keeper) -> None:
    assert HeldCommand(keeper, Store().hold(), ["sleep", "600"]).run(timeout=0.05) is None


@pytest.mark.parametrize(("code", "leaves", "stays"), [(0, True, True), (0, False, False), (3, True, False)])
def test_what_a_command_leaves_running_goes_on_only_after_a_success_that_may(
    keeper: child_process.Keeper, tmp_path: Path, code: int, leaves: bool, stays: bool
) -> None:
    script = f"sleep 600 & echo $! > pid; exit {code}"
    command = HeldCommand(keeper, Store().hold(), ["/bin/sh", "-c", script], cwd=tmp_path)
    assert command.run(leaves=leaves) == code
    pid = number_in(tmp_path / "pid")
    if stays:
        assert alive(pid)
        os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(pid), "its end")
