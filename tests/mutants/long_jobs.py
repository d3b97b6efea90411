"""Long work in steps and honest limits: file, text, what stands instead, the test that fails."""

from __future__ import annotations

BACKLOG = "tests/operations/core/test_backlog.py"
BOUNDS = "tests/faults/test_backlog_bounds.py"
LISTINGS = "tests/operations/core/test_listings.py"

BOUNDED = (
    # what a job calls off counts as cancelled at once
    ("operations/tasks/pulls.py", "    task = long_jobs.as_counted(tx, task, call.jobs)\n", "",
     f"{BACKLOG}::test_after_the_first_commit_nobody_gets_a_task_of_the_tree"),
    ("operations/tasks/pulls.py", "if call.jobs and long_jobs.covering(tx, task, call.jobs) is not None:", "if False:",
     f"{BACKLOG}::test_after_the_first_commit_nobody_gets_a_task_of_the_tree"),
    ("operations/tasks/outcomes.py", "if jobs and long_jobs.covering(tx, task, jobs) is not None:", "if False:",
     f"{BACKLOG}::test_a_result_for_a_task_that_a_job_calls_off_is_refused_before_its_step"),
    ("operations/tasks/additions.py",
     '    parent["state"] = long_jobs.as_counted(tx, parent, long_jobs.going(tx))["state"]\n', "",
     f"{BACKLOG}::test_a_task_that_a_job_calls_off_gets_no_child_and_is_not_planned_again"),
    ("operations/core/long_jobs.py", 'if one is not task and one["state"] in lifecycle.FINAL_STATES and one["finished"] < job["at"]:', "if False:",
     f"{BACKLOG}::test_what_lies_below_a_task_that_was_over_before_is_left_alone"),
    # a job is gone on with
    ("operations/core/long_jobs.py", 'return bool(tx.now - job["touched"] >= ABANDONED_MS)', "return False",
     f"{BACKLOG}::test_whoever_takes_a_task_goes_on_with_a_job_that_was_abandoned"),
    ("operations/core/long_jobs.py", 'return bool(tx.now - job["touched"] >= ABANDONED_MS)', "return True",
     f"{BACKLOG}::test_a_job_in_hand_is_left_to_whoever_has_it"),
    ("operations/tasks/pulls.py", 'return {"again": True}  # the next step may find something', "pass",
     f"{BACKLOG}::test_many_that_come_after_one_become_ready_in_steps"),
    ("operations/core/long_jobs.py", '    tx.put(f"j\\t{job[\'job\']}", job, i2=DUE_PREFIX + job["job"])', "    pass",
     f"{BACKLOG}::test_a_tree_is_called_off_in_steps_and_the_answer_counts_all"),
    ("operations/runs/run_endings.py", "used += outcomes.unblock_step(", "used += (lambda *_: 0)(",
     f"{BACKLOG}::test_a_purge_unblocks_what_a_job_has_not_come_to"),
    ("operations/agents/departures.py", 'if record["since"] <= job["at"]:', "if True:",
     f"{BACKLOG}::test_what_an_agent_claims_after_it_left_is_not_released"),
    ("operations/runs/run_records.py", '    if record.get("ending"):', "    if False:",
     f"{BACKLOG}::test_a_large_run_takes_nothing_while_it_is_looked_through_for_open_tasks"),
    # no transaction does more than a step, whatever a record costs
    ("operations/tasks/cancellations.py", "    return RECORDS_PER_RUNNING_TASK if claim is not None else 0\n", "    return 0\n",
     f"{BOUNDS}::test_calling_off_many_tasks"),
    ("operations/agents/departures.py", 'used += len(record["resources"])  # one record for each resource', "used += 1",
     f"{BOUNDS}::test_leaving_with_many_claims_of_many_resources"),
    ("operations/upkeep/sweeps.py", "call.jobs[long_jobs.take_step(tx, call.jobs[0]) :]",
     "[job for job in call.jobs if not long_jobs.take_step(tx, job)]", f"{BOUNDS}::test_a_sweep_takes_one_step_of_one_job"),
    # honest limits
    ("operations/tasks/additions.py", 'above["parent"] if above is not None else ""', '""',
     "tests/operations/tasks/test_circles.py::test_a_circle_through_a_parents_parent_is_refused"),
    ("operations/tasks/pulls.py", "if found or not page.truncated:", "if True:",
     f"{LISTINGS}::test_a_dead_holders_task_is_found_behind_any_number_of_live_ones"),
    ("operations/core/paging.py", "if looked >= MAX_ROWS_READ:", "if False:",
     f"{LISTINGS}::test_a_page_that_has_looked_at_many_rows_in_vain_says_that_there_is_more"),
    ("operations/claims/status.py", 'and row[1]["claim"] not in dead', "",
     f"{LISTINGS}::test_dead_claims_take_no_room_in_a_status"),
)  # fmt: skip
