"""The checks of lookout: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

REGISTRIES = "tests/operations/tasks/test_registries.py"
VERIFY_TASKS = "tests/lookout/test_verify_tasks.py"

ROWS = (
    ("lookout/tasks.py", 'if state == "complete" and event.data.get("imported") is True:', 'if state == "complete":',
     f"{REGISTRIES}::test_a_complete_task_may_begin_so_only_if_it_was_imported"),
    ("lookout/tasks.py", "            self._check_token(event, task, needed=to in BY_TOKEN)\n",
     "            pass\n", f"{VERIFY_TASKS}::test_a_late_finish_is_found"),
    ("lookout/tasks.py", '        elif to == "executing":\n            self._check_claim(event, task)\n', "",
     f"{VERIFY_TASKS}::test_a_task_taken_without_a_claim_is_found"),
    ("lookout/votes.py", "        if (outcome, option) != counted:", "        if False:",
     "tests/lookout/test_verify_votes.py"),
    ("lookout/replay.py", "        self._tasks.settle(self._seq)\n", "        pass\n",
     f"{VERIFY_TASKS}::test_a_task_that_stays_at_work_when_its_claim_ends_is_found"),
)  # fmt: skip
