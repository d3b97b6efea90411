"""The checks of runs: function, change, the test that fails then."""

from __future__ import annotations

BACKLOG = "tests/operations/core/test_backlog.py"

ROWS = (
    ("run_endings._asks", "replace tuple coordinator -> ('', [])",
     "tests/operations/core/test_authority.py::test_a_run_is_ended_and_dropped_by_its_coordinator"),
    ("_drop_task", "replace attribute release_dependents -> lambda *_: (0, [])",
     f"{BACKLOG}::test_a_purge_unblocks_what_a_job_has_not_come_to"),
    ("active", "never if ending",
     f"{BACKLOG}::test_a_large_run_takes_nothing_while_it_is_looked_through_for_open_tasks"),
    ("run_endings._answer", "never if error",
     "tests/operations/runs/test_runs.py::test_a_run_with_many_tasks_does_not_end_if_the_first_of_them_are_open"),
    ("_drop_task", "drop operand _waited_for",
     "tests/operations/runs/test_runs.py::test_a_failed_task_that_another_outside_waits_for_outlives_its_run"),
)  # fmt: skip
