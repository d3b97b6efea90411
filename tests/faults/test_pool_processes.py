"""Pools and real processes on a real database: twenty at three units, and SIGKILL at random moments."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import dibs
from tests.waiting import LIMIT_S

if TYPE_CHECKING:
    from tests.scratch import Shell

pytestmark = pytest.mark.long

SIZE, PROCESSES, TURNS, KILLS = 3, 20, 2, 8
TOP = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(shell: Shell) -> str:
    """A repository whose config has a pool."""
    config = shell.folder / ".dibs" / "config.toml"
    config.write_text(f"{config.read_text()}\n[pools]\nbuild = {{ size = {SIZE} }}\n")
    return str(shell.folder)


def start(folder: str, agent: str, turns: int) -> subprocess.Popen[bytes]:
    worker = [sys.executable, "-m", "tests.faults.pool_worker", folder, agent, str(turns)]
    return subprocess.Popen(worker, cwd=TOP, stderr=subprocess.PIPE)


@pytest.mark.slow
def test_twenty_processes_at_three_units_never_have_more_than_three(folder: str) -> None:
    workers = [start(folder, f"a{number}", TURNS) for number in range(PROCESSES)]
    errors = [worker.communicate(timeout=LIMIT_S * 3)[1] for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * PROCESSES, errors
    inside: dict[str, str] = {}
    turns = 0
    for line in Path(folder, "units.log").read_text().splitlines():
        unit, agent = line[1:].split()
        if line.startswith("+"):
            assert unit not in inside, f"{agent} and {inside[unit]} had unit {unit}"
            inside[unit] = agent
            turns += 1
        else:
            assert inside.pop(unit) == agent
    assert turns == PROCESSES * TURNS
    with dibs.open(folder, agent="ann") as ws:
        assert ws.status()["pools"][0]["taken"] == []
        assert not ws.verify()["findings"]


@pytest.mark.slow
def test_a_process_that_is_killed_at_any_moment_loses_no_unit(folder: str) -> None:
    chance = random.Random(1)
    with dibs.open(folder, agent="ann") as ws:
        for number in range(KILLS):
            workers = [start(folder, f"k{number}-{one}", 1000) for one in range(2)]
            log, grown = Path(folder, "units.log"), 0
            before = log.stat().st_size if log.exists() else 0
            while not grown:  # until they are at it
                assert all(worker.poll() is None for worker in workers)
                grown = (log.stat().st_size if log.exists() else 0) > before
            time.sleep(chance.random() * 0.05)
            for worker in workers:
                worker.kill()
                worker.communicate()
            with ws.claim("pool:build", units=SIZE, wait=LIMIT_S) as claim:
                assert claim.units == ["0", "1", "2"], "all of them are there again"
        assert not ws.verify()["findings"]
