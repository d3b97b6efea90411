"""`dibs demo --machine`: real suites that use the processors, a real pool; what it says is what its processes did."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dibs.demo import machine, machine_plot
from tests.interfaces.repository import PATIENCE, is_gone
from tests.waiting import until

if TYPE_CHECKING:
    from dibs.demo.results import MachineResult, SuiteRun

pytestmark = pytest.mark.slow


def at_once(runs: list[SuiteRun]) -> int:
    """The most suites that ran at the same time."""
    return max(sum(other["began"] <= one["began"] < other["ended"] for other in runs) for one in runs)


@pytest.mark.long
def test_with_slots_no_more_suites_run_at_once_than_there_are_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIBS_AGENT", "somebody")
    seen = machine.play_machine(5, seconds=8.0, quiet=True)
    assert at_once(seen["with"]["runs"]) <= seen["slots"] == 2
    assert at_once(seen["without"]["runs"]) == 5
    for round_ in (seen["without"], seen["with"]):
        assert round_["passed"] + round_["failed"] == len(round_["runs"]) == 5
        assert all(run["asked"] <= run["began"] < run["ended"] <= round_["seconds"] for run in round_["runs"])
        assert all(run["passed"] or run["ended"] - run["began"] >= seen["limit"] for run in round_["runs"])
    assert seen["limit"] == round(seen["alone"] * machine.LIMIT_FACTOR, 1)
    assert seen["ok"] is (seen["with"]["failed"] == 0)
    assert os.environ["DIBS_AGENT"] == "somebody"
    text = "\n".join(machine_plot.lines(seen, plain=True))
    assert all(f"  {run['agent']} " in text for run in seen["with"]["runs"])
    assert machine_plot.verdict(seen) in text


def test_ctrl_c_leaves_no_process_and_no_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dibs", "demo", "--machine", "--agents", "4", "--json"]
    demo = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE, text=True)
    until(lambda: next(tmp_path.glob("dibs-demo-*/suites-without/*.jsonl"), None) is not None, "the first round")
    until(lambda: "begins" in next(tmp_path.glob("dibs-demo-*/suites-without/*.jsonl")).read_text(), "a suite")
    workers = [int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit() and _is_of(one, tmp_path)]
    assert len(workers) > 4
    demo.send_signal(signal.SIGINT)
    assert demo.communicate(timeout=PATIENCE)[0] == ""
    assert demo.returncode in {130, -signal.SIGINT}
    assert all(map(is_gone, workers))
    assert list(tmp_path.iterdir()) == []


def _is_of(process: Path, folder: Path) -> bool:
    try:
        return str(folder) in (process / "cmdline").read_text()
    except OSError:
        return False


@pytest.mark.parametrize("words", [("--keep",), ("--agents", "0"), ("--agents", "99"), ("--seed", "3")])
def test_what_makes_no_sense_is_refused(words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dibs", "demo", "--machine", *words, "--json"], capture_output=True, text=True,
        check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 64, done
    assert json.loads(done.stdout)["error"]["code"] == "invalid"


def test_a_machine_that_needs_no_slots_is_told_so() -> None:
    run: SuiteRun = {"agent": "ada", "asked": 0.0, "began": 0.0, "ended": 1.0, "passed": True}
    seen: MachineResult = {
        "ok": True, "agents": 1, "processors": 64, "slots": 2, "alone": 1.0, "limit": 4.0, "seconds": 9.0,
        "without": {"passed": 1, "failed": 0, "seconds": 1.0, "runs": [run]},
        "with": {"passed": 1, "failed": 0, "seconds": 1.0, "runs": [run]},
    }  # fmt: skip
    assert "it needs no slots for these" in machine_plot.verdict(seen)
