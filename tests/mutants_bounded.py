"""Long work in steps and honest limits, for tests/mutants.py: file, text, what stands instead, the test that fails."""

from __future__ import annotations

BACKLOG = "tests/operations/test_backlog.py"
LISTINGS = "tests/operations/test_listings.py"
BACKLOG_PY, DEPARTING_PY = "operations/core/long_jobs.py", "operations/agents/departures.py"
CANCELLING_PY, TAKING_PY = "operations/tasks/cancellations.py", "operations/tasks/pulls.py"
OUTCOMES_PY, RUNENDS_PY = "operations/tasks/outcomes.py", "operations/runs/run_endings.py"

BOUNDED = (
    # what a job calls off counts as cancelled at once
    (TAKING_PY, "    task = long_jobs.called_off(tx, task, call.jobs)\n", "",
     f"{BACKLOG}::test_after_the_first_commit_nobody_gets_a_task_of_the_tree"),
    (TAKING_PY, "if call.jobs and long_jobs.covering(tx, task, call.jobs) is not None:", "if False:",
     f"{BACKLOG}::test_after_the_first_commit_nobody_gets_a_task_of_the_tree"),
    (OUTCOMES_PY, "if jobs and long_jobs.covering(tx, task, jobs) is not None:", "if False:",
     f"{BACKLOG}::test_a_result_for_a_task_that_a_job_calls_off_is_refused_before_its_step"),
    ("operations/tasks/additions.py",
     '    parent["state"] = long_jobs.called_off(tx, parent, long_jobs.going(tx))["state"]\n', "",
     f"{BACKLOG}::test_a_task_that_a_job_calls_off_gets_no_child_and_is_not_planned_again"),
    (BACKLOG_PY, 'if one is not task and one["state"] in lifecycle.OVER and one["finished"] < job["at"]:', "if False:",
     f"{BACKLOG}::test_what_lies_below_a_task_that_was_over_before_is_left_alone"),
    # a job is gone on with
    (BACKLOG_PY, 'return tx.now - job["touched"] >= ABANDONED_MS and help_on(tx, job)', "return False",
     f"{BACKLOG}::test_whoever_takes_a_task_goes_on_with_a_job_that_was_abandoned"),
    (BACKLOG_PY, 'return tx.now - job["touched"] >= ABANDONED_MS and help_on(tx, job)', "return help_on(tx, job)",
     f"{BACKLOG}::test_a_job_in_hand_is_left_to_whoever_has_it"),
    (TAKING_PY, 'return {"again": True}  # there may be something when that is done', "pass",
     f"{BACKLOG}::test_many_that_come_after_one_become_ready_in_steps"),
    (BACKLOG_PY, '    tx.put(f"j\\t{job[\'job\']}", job, i2=FIRST + job["job"])', "    pass",
     f"{BACKLOG}::test_a_tree_is_called_off_in_steps_and_the_answer_counts_all"),
    (RUNENDS_PY, "used += outcomes.unblock_step(", "used += (lambda *_: 0)(",
     f"{BACKLOG}::test_a_purge_unblocks_what_a_job_has_not_come_to"),
    (DEPARTING_PY, 'if record["since"] <= job["at"]:', "if True:",
     f"{BACKLOG}::test_what_an_agent_claims_after_it_left_is_not_released"),
    ("operations/runs/run_records.py", '    if record.get("ending"):', "    if False:",
     f"{BACKLOG}::test_a_large_run_takes_nothing_while_it_is_looked_through_for_open_tasks"),
    # honest limits
    ("operations/tasks/additions.py", 'above["parent"] if above is not None else ""', '""',
     "tests/operations/test_circles.py::test_a_circle_through_a_parents_parent_is_refused"),
    (TAKING_PY, "if found or not page.truncated:", "if True:",
     f"{LISTINGS}::test_a_dead_holders_task_is_found_behind_any_number_of_live_ones"),
    ("operations/core/paging.py", "if looked >= LOOKED_AT:", "if False:",
     f"{LISTINGS}::test_a_page_that_has_looked_at_many_rows_in_vain_says_that_there_is_more"),
    ("operations/claims/status.py", 'and row[1]["claim"] not in dead', "",
     f"{LISTINGS}::test_dead_claims_take_no_room_in_a_status"),
)  # fmt: skip
