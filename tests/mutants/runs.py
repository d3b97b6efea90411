"""The checks of runs: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

BACKLOG = "tests/operations/core/test_backlog.py"

ROWS = (
    (
        "operations/runs/run_endings.py",
        '("orchestrator", [record["coordinator"]])',
        '("", [])',
        "tests/operations/core/test_authority.py::test_a_run_is_ended_and_dropped_by_its_coordinator",
    ),
    ("operations/runs/run_endings.py", "used += outcomes.unblock_step(", "used += (lambda *_: 0)(",
     f"{BACKLOG}::test_a_purge_unblocks_what_a_job_has_not_come_to"),
    ("operations/runs/run_records.py", '    if record.get("ending"):', "    if False:",
     f"{BACKLOG}::test_a_large_run_takes_nothing_while_it_is_looked_through_for_open_tasks"),
    ("operations/runs/run_endings.py", " and not _waited_for(tx, task)", "",
     "tests/operations/runs/test_runs.py::test_a_failed_task_that_another_outside_waits_for_outlives_its_run"),
)  # fmt: skip
