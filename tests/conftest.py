"""What every test stands on: Hypothesis's profiles, and an environment that names no workspace of the developer's."""

from __future__ import annotations

import gc
import os
import sys

from hypothesis import HealthCheck, settings

from dibs.doors.session import SESSION_VARIABLES

# A shared machine is slow at times; how long an example took says nothing about the code. `make test` looks at the same
# examples each time, so that a change is judged by what it changed; `make torture` draws new ones, and many more.
settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("torture", parent=settings.get_profile("default"), derandomize=False, max_examples=2_000)
settings.load_profile(os.environ.get("DIBS_HYPOTHESIS", "default"))

# ... and no client, in whose shell the tests may be run: what they say they say as nobody's agent.
for _name in ("DIBS_AGENT", "DIBS_STORE", "DIBS_WORKSPACE", *SESSION_VARIABLES):
    os.environ.pop(_name, None)

# What was compiled once need not be compiled again, here and in each process that a test starts.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_finish() -> None:
    """What was collected stays to the end: the garbage collector need not walk through it again and again.

    It took a fifth of the simulation's time. Garbage in cycles is still found, after more of it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
