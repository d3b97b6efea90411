"""The checks of running: function, change, the test that fails then."""

from __future__ import annotations

HELD = "tests/workers/test_held_command.py"
VERIFY = "tests/workers/test_task_verify.py"
WORK = "tests/workers/test_work.py"
WORKER = "tests/workers/test_worker.py"

ROWS = (
    ("verification._run", "drop call _end",
     f"{VERIFY}::test_an_interrupt_ends_the_command_and_leaves_the_task_as_it_was"),
    # what a task used is what the kernel counted for it
    ("Commands._run", "drop assign of_command", f"{WORKER}::test_a_command_that_ends_within_a_second_has_true_figures"),
    ("result_of", "drop call check", f"{WORK}::test_whatever_a_command_writes_can_be_handed_in"),
    ("Hold._lose", "replace call end -> $0(0)", f"{HELD}::test_a_claim_that_came_back_under_another_token_is_lost"),
    ("_renewed", "never if token", f"{HELD}::test_a_claim_that_came_back_under_another_token_is_lost"),
    ("attend", "always if until", f"{HELD}::test_a_busy_store_ends_the_command_at_the_claims_deadline_and_not_before"),
    ("Child.__init__", "always if containing expr go",
     f"{HELD}::test_a_command_that_nobody_let_run_dies_with_its_owner"),
    ("Child.wait", "drop operand #1",
     f"{HELD}::test_what_a_command_leaves_running_goes_on_only_after_a_success_that_may"),
)  # fmt: skip
