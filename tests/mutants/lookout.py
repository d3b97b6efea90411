"""The checks of lookout: function, change, the test that fails then."""

from __future__ import annotations

REGISTRIES = "tests/operations/tasks/test_registries.py"
VERIFY_TASKS = "tests/verify/test_verify_tasks.py"

ROWS = (
    ("on_added", "drop operand imported", f"{REGISTRIES}::test_a_complete_task_may_begin_so_only_if_it_was_imported"),
    ("on_moved", "drop call _check_token", f"{VERIFY_TASKS}::test_a_late_finish_is_found"),
    ("on_moved", "never if containing expr _check_claim",
     f"{VERIFY_TASKS}::test_a_task_taken_without_a_claim_is_found"),
    ("Votes.on_decided", "never if containing assign join", "tests/verify/test_verify_votes.py"),
    ("Replay.finish", "drop call settle",
     f"{VERIFY_TASKS}::test_a_task_that_stays_at_work_when_its_claim_ends_is_found"),
)  # fmt: skip
