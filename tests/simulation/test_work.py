"""The simulation of work, in the ordinary run and, with DIBS_TORTURE=1, at its full size. DIBS_SEED replays one run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.simulation.traces import aborting, on_sqlite, same
from tests.simulation.work import Work

if TYPE_CHECKING:
    from pathlib import Path

TORTURE = bool(os.environ.get("DIBS_TORTURE"))
OPERATIONS = 20_000 if TORTURE else 3_000  # in one run; half of them find their agent asleep or idle
RUNS = 20 if TORTURE else 6
CHECK_EVERY = 250
SEEDS = [int(os.environ["DIBS_SEED"])] if "DIBS_SEED" in os.environ else list(range(1, RUNS + 1))
TRACED = 10_000 if TORTURE else 1_200


@pytest.mark.parametrize("seed", SEEDS)
def test_no_task_is_lost_none_finished_twice_none_starved_whatever_happens_to_who_works(seed: int) -> None:
    world = Work(seed)
    step = 0
    try:
        for step in range(OPERATIONS):
            world.step()
            if step % CHECK_EVERY == 0:
                world.placed()
        world.check()
    except BaseException as error:
        error.add_note(f"replay with: DIBS_SEED={seed} pytest {__file__} (step {step}, at {world.now})")
        raise
    ledger = world.ledger
    print(f"seed {seed}: {ledger.completed} tasks, {ledger.lost} times lost, {ledger.refused} late ones refused")
    assert ledger.completed > OPERATIONS / 40
    assert ledger.lost > OPERATIONS / 200
    assert ledger.refused > OPERATIONS / 200


# --- parity


@pytest.mark.parametrize("seed", [201, 202, 203])
def test_memory_and_sqlite_decide_and_log_the_same_about_work(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    same(lambda: Work(seed, aborts=0), lambda: Work(seed, on_sqlite(tmp_path, monkeypatch), aborts=0), TRACED)


@pytest.mark.parametrize("seed", [201, 202])
def test_work_in_transactions_that_are_aborted_and_run_again_is_decided_the_same(seed: int) -> None:
    same(lambda: Work(seed, aborts=0), lambda: aborting(Work(seed, aborts=0), seed), TRACED)
