"""What every test stands on: Hypothesis's profiles, and an environment that names no workspace of the developer's."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, settings

from dibs.workspace.known_clients import SESSION_VARIABLES
from tests import compiled, declared, leftovers, record_tables
from tests.scratch import repo, shell

if TYPE_CHECKING:
    from collections.abc import Iterator

# A shared machine is slow at times; how long an example took says nothing about the code. `make test` looks at the same
# examples each time, so that a change is judged by what it changed; `make torture` draws new ones, and many more.
settings.register_profile(
    "default",
    deadline=None,
    max_examples=60,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("torture", parent=settings.get_profile("default"), derandomize=False, max_examples=2_000)
# That a test fails is all that a mutant is asked for, not the smallest example.
settings.register_profile(
    "mutants", parent=settings.get_profile("default"), phases=(Phase.explicit, Phase.generate), print_blob=False
)
settings.load_profile(os.environ.get("DIBS_HYPOTHESIS", "default"))

# ... and no client, in whose shell the tests may be run: what they say they say as nobody's agent. Nor does a
# hook of git, from which they may be run, name a repository (GIT_DIR) or an author for them.
OF_TESTS = ("DIBS_TORTURE", "DIBS_HYPOTHESIS", "DIBS_SEED", "DIBS_RADAR_EXAMPLES")
for _name in [*os.environ]:
    if _name in SESSION_VARIABLES or (_name.startswith(("DIBS_", "GIT_")) and _name not in OF_TESTS):
        del os.environ[_name]
os.environ["DIBS_STATES"] = "off"  # each hook would leave a process; tests of states take it out
os.environ["GIT_CONFIG_GLOBAL"] = str(Path(__file__).with_name("gitconfig"))

# What was compiled once need not be compiled again, here and in each process that a test starts.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

gc.disable()  # until all is collected, see pytest_collection_finish

declared.hold_workspaces()
# A run in the background of a script comes with SIGINT ignored, one below nohup with SIGHUP, and so would each process
# that a test interrupts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

__all__ = ["repo", "shell"]  # the scratch workspace, for every test that asks for it

MEMORY = Path("/dev/shm")
ROOM = 4 << 30  # bytes; a whole run has less than one in use at a time
THE_RUN = pytest.StashKey[Path | None]()  # the folder of the run that this process began
LEFT = pytest.StashKey[list[str]]()  # what it left behind


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first: one that is begun last is waited for by all processes but its own."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(autouse=True, scope="session")
def _held_to_the_tables() -> Iterator[None]:
    """Whatever an operation appends or puts, in any test, is in the tables of kinds and of keys."""
    with pytest.MonkeyPatch.context() as patch:
        record_tables.hold(patch)
        yield


def pytest_configure(config: pytest.Config) -> None:
    """The byte code of the tests is made (compiled.py); temporary folders lie in memory where there is room.

    Half of the time of small files is the disk's. The full run (DIBS_TORTURE=1) is on the disk, and whoever says
    --basetemp gets it.
    """
    if hasattr(config, "workerinput"):
        given = config.workerinput
        compiled.make(config, int(given["workerid"].removeprefix("gw")), given["workercount"])
        return
    on_disk = os.environ.get("DIBS_TORTURE") or config.option.basetemp
    if not on_disk and MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    if not config.option.collectonly:
        config.stash[THE_RUN] = leftovers.begin(own_home=config.option.markexpr != "clients")


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """When all workers have ended, nothing of the run is left; else it fails."""
    run = session.config.stash.get(THE_RUN, None)
    if run is not None or hasattr(session.config, "workerinput"):
        leftovers.note(session.config._tmp_path_factory.getbasetemp())  # type: ignore[attr-defined]
    yield
    if run is not None:
        left = leftovers.found(run)
        # A mutant without the line that ends a process leaves that process: it is ended here, and no fault.
        session.config.stash[LEFT] = [] if session.config.option.markexpr == "mutants" else left
        if session.config.stash[LEFT] and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name what the run left behind."""
    if left := config.stash.get(LEFT, None):
        terminalreporter.section("left behind by this run", red=True)
        for one in left:
            terminalreporter.line(one)


def pytest_collection_finish() -> None:
    """What was collected stays to the end: the garbage collector need not walk through it again and again.

    It took a fifth of the simulation's time. Garbage in cycles is still found, after more of it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()
