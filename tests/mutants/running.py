"""The checks of running: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

HELD = "tests/running/test_held_command.py"
VERIFY = "tests/running/test_task_verify.py"
WORKER = "tests/running/test_worker.py"

ROWS = (
    ("running/verification.py", "                _end(command.child)\n", "                pass\n",
     f"{VERIFY}::test_an_interrupt_ends_the_command_and_leaves_the_task_as_it_was"),
    # what a task used is what the kernel counted for it
    ("running/task_command.py", "            job.used = usage.of_command(child.used)\n", "            pass\n",
     f"{WORKER}::test_a_command_that_ends_within_a_second_has_true_figures"),
    ("running/held_command.py", "        self.lost = error\n        if self.child is not None:\n            self.child.end()\n",
     "        self.lost = error\n        if self.child is not None:\n            self.child.end(0)\n",
     f"{HELD}::test_a_claim_that_came_back_under_another_token_is_lost"),
    ("running/held_command.py", 'if renewed["token"] != self.token:', "if False:",
     f"{HELD}::test_a_claim_that_came_back_under_another_token_is_lost"),
    ("running/held_command.py", "if clock.since_boot() >= self.until:  #", "if True:  #",
     f"{HELD}::test_a_busy_store_ends_the_command_at_the_claims_deadline_and_not_before"),
    ("running/child_process.py", "if not waits:", "if True:", f"{HELD}::test_a_command_that_nobody_let_run_dies_with_its_owner"),
    ("running/child_process.py", "if code or not leaves:", "if not leaves:",
     f"{HELD}::test_what_a_command_leaves_running_goes_on_only_after_a_success_that_may"),
)  # fmt: skip
