"""One check, taken out, and whether its test fails then.

The test sees a tree of symbolic links to `src` with one real file: the changed one. The byte code is linked as well,
which is good for all but the changed file: to compile the rest takes longer than the test. A folder of byte code is
real, so that nothing made from the changed file can end up beside the true sources.

The test runs in a child of a process that has pytest loaded (warm_pytest.py), one such process for each of ours.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tests import leftovers
from tests.mutants import syntax

TOP = Path(__file__).resolve().parent.parent.parent
WARM_PYTEST = str(Path(__file__).with_name("warm_pytest.py"))
MEMORY = Path("/dev/shm")
ROOM = 1 << 30  # bytes that must be free there; a test has some ten million in use
LIMIT_S = 900  # of one test; none takes a minute, but the machine may have other work
KILLED = (1, 3)  # pytest's exit code when a test failed, and when that left a file or a socket open besides
TIMED_OUT = -1  # warm_pytest.py's own


class Mutant(NamedTuple):
    """One check, taken out."""

    where: str  # these two: syntax.py
    change: str  # empty: nothing is changed
    test: str

    def __str__(self) -> str:
        return f"{self.where}: {self.change}"


def survives(mutant: Mutant) -> str:
    """Run the mutant's test on a tree without the check. Says what went wrong; empty if the test failed as it must."""
    scope = syntax.scope(mutant.where)
    with tempfile.TemporaryDirectory(dir=_room()) as folder:
        tree = Path(folder)
        link(TOP / "src" / "dibs", tree / "src" / "dibs")
        changed = tree / "src" / "dibs" / scope.file
        changed.unlink()
        changed.write_text(syntax.mutated(scope, mutant.change))
        for stale in (changed.parent / "__pycache__").glob(f"{changed.stem}.*"):
            stale.unlink()
        # With its line in place a test has all the time that it has elsewhere (tests/waiting.py).
        profile = "mutants" if mutant.change else "default"
        code, said = _run({"src": str(tree / "src"), "test": mutant.test, "temporary": str(tree / "t"),
                           "profile": profile, "limit_s": LIMIT_S})  # fmt: skip
    if code in KILLED and " failed" in said:
        return ""
    how = f"not finished in {LIMIT_S} s" if code == TIMED_OUT else f"exit {code}"
    return f"{how}: {mutant.test} on {scope.file} with {mutant}:\n{said[-2000:]}"


def link(source: Path, target: Path) -> None:
    """The same folders, with links to the files. The bundle of the hooks is left out: it is made from the sources."""
    target.mkdir(parents=True)
    with os.scandir(source) as entries:
        for entry in entries:
            if entry.is_dir():
                link(source / entry.name, target / entry.name)
            elif not entry.name.endswith(".bin"):  # the bundle
                (target / entry.name).symlink_to(entry.path)


def _room() -> str | None:
    """Where the trees are made: in memory, if there is room."""
    fits = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM
    return str(MEMORY) if fits else None


# --- the process that runs the tests

_process: dict[int, subprocess.Popen[str]] = {}  # by our pid


def _run(order: dict[str, Any]) -> tuple[int, str]:
    process = _process.get(os.getpid())
    if process is None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        process = _process[os.getpid()] = subprocess.Popen(
            [sys.executable, WARM_PYTEST], cwd=TOP, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        leftovers.at_end(partial(_end, process))
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(order) + "\n")
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer["code"], answer["said"]


def _end(process: subprocess.Popen[str]) -> None:
    """It ends when nobody is there any more to ask."""
    process.communicate()
