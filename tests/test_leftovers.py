"""What a run leaves behind is found at its end, and nothing of another run."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests import leftovers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SLEEP = ["sleep", "1000"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run that has ended."""
    monkeypatch.setattr(leftovers, "GRACE_S", 0.1)
    monkeypatch.setattr(leftovers, "_ENDS", [])
    folder = tmp_path / "run"
    (folder / "home").mkdir(parents=True)
    monkeypatch.setenv(leftovers.RUN, str(folder))
    return folder


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        process.kill()
        process.wait()


def test_a_run_that_leaves_nothing_finds_nothing(run: Path, tmp_path: Path) -> None:
    leftovers.note(tmp_path / "tests")
    assert leftovers.found(run) == []
    assert not run.exists()


def test_processes_are_found_by_the_runs_mark_by_their_folder_and_by_their_words_and_are_ended(
    run: Path, tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    tests, bare = tmp_path / "tests", {"PATH": os.environ["PATH"]}
    tests.mkdir()
    started += [
        subprocess.Popen(SLEEP, start_new_session=True, env={**bare, leftovers.RUN: str(run)}),
        subprocess.Popen(SLEEP, start_new_session=True, env=bare, cwd=tests),
        subprocess.Popen(["tail", "-f", "/dev/null", str(run)], env=bare, stderr=subprocess.DEVNULL),
    ]
    other = subprocess.Popen(SLEEP, env={**bare, leftovers.RUN: f"{run}-other"}, cwd="/")
    try:
        leftovers.note(tests)
        tests.rename(tmp_path / "garbage")  # as pytest does
        said = leftovers.found(run)
        assert sorted(line.partition(":")[0] for line in said) == sorted(f"process {one.pid}" for one in started)
        assert [process.wait() for process in started] == [-9] * 3
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_folders_and_files_are_found_but_for_the_users_folder_of_sockets(run: Path) -> None:
    for folder in (run / "tmpabc", run / "home" / ".config", run / f"dibs-{os.getuid()}"):
        folder.mkdir()
    (run / "x").touch()
    found = [f"folder {run}/home/.config", f"folder {run}/tmpabc", f"file {run}/x"]
    assert leftovers.found(run) == found


def test_a_run_within_a_run_is_part_of_it(run: Path) -> None:
    assert leftovers.begin(own_home=True) is None
    assert os.environ[leftovers.RUN] == str(run)
