"""The checks of upkeep: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

BOUNDS = "tests/faults/test_backlog_bounds.py"
SMALL = "tests/operations/core/test_small_things.py"
WAITING = "tests/operations/claims/test_waiting.py"

ROWS = (
    (
        "operations/upkeep/sweeps.py",
        "    if keep < least:\n",
        "    if False:\n",
        "tests/operations/core/test_old_events.py::test_what_is_younger_than_the_retention_stays_whoever_asks",
    ),
    # who died is told, once
    ("operations/upkeep/sweeps.py", "        deaths.tell(tx, call, dead, over)\n", "        pass\n",
     f"{SMALL}::test_a_dead_agent_is_told_to_the_coordinator_of_its_run_once"),
    ("operations/upkeep/sweeps.py", "call.jobs[long_jobs.take_step(tx, call.jobs[0]) :]",
     "[job for job in call.jobs if not long_jobs.take_step(tx, job)]", f"{BOUNDS}::test_a_sweep_takes_one_step_of_one_job"),
    ("operations/upkeep/sweeps.py", "    elif last is not None:\n        tx.delete(SWEEP_PLACE_KEY)\n", "",
     f"{WAITING}::test_sweeps_look_at_all_agents_one_after_the_other"),
    ("operations/upkeep/sweeps.py", "    if due and not any(done.values()):", "    if due:",
     "tests/operations/core/test_old_events.py"),
)  # fmt: skip
