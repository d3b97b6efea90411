"""The checks of tasks: function, change, the test that fails then."""

from __future__ import annotations

BACKLOG = "tests/operations/core/test_backlog.py"
BOUNDS = "tests/faults/test_backlog_bounds.py"
LISTINGS = "tests/operations/core/test_listings.py"
OUTCOMES = "tests/operations/tasks/test_task_outcomes.py"
REGISTRIES = "tests/operations/tasks/test_registries.py"
TAKING = "tests/operations/tasks/test_task_taking.py"
TASKS = "tests/operations/tasks/test_tasks.py"
VERIFY = "tests/workers/test_task_verify.py"
WORKER = "tests/workers/test_worker.py"

INTERRUPTED = "tests/client/test_interrupted_waits.py"

ROWS = (
    # an interrupted pull leaves neither a task at work nor a place in line
    ("pulls.OPERATIONS", "drop keyword withdraws #1",
     f"{INTERRUPTED}::test_an_interrupt_of_a_pull_gives_the_task_back_in_a_process_that_continues"),
    ("pulls.withdraw", "replace call _give_up -> records.delete_waiter($1, $2)",
     f"{INTERRUPTED}::test_an_interrupted_wait_for_a_task_leaves_no_place_and_keeps_no_other_agent_from_it"),
    ("waiters.withdraw", "drop call beneath expr FOLLOW_UPS",
     f"{INTERRUPTED}::test_an_interrupted_wait_for_a_task_leaves_no_place_and_keeps_no_other_agent_from_it"),
    # what a look shows, and what a refusal advises
    ("holders.expired", "drop operand until",
     f"{TAKING}::test_a_task_whose_claim_expired_is_shown_as_that_before_anybody_returns_it"),
    ("_taking", "never if TASK",
     f"{TAKING}::test_the_advice_for_a_task_that_another_agent_has_is_a_command_that_takes_tasks"),
    # first come, first served, within one millisecond too
    ("additions._record", "replace name COMMIT -> 0",
     f"{TAKING}::test_of_tasks_of_one_millisecond_the_first_comes_first"),
    ("workforce.present", "replace call sorted -> $1",
     f"{TAKING}::test_of_waiters_of_one_millisecond_the_first_comes_first"),
    ("put_waiter", "replace argument turn #2 -> '-'",
     f"{TAKING}::test_of_waiters_for_one_task_of_one_millisecond_the_first_gets_it"),
    ("strategies._keep", "replace name COMMIT -> 0",
     "tests/operations/tasks/test_strategies.py::test_round_robin_holds_within_one_millisecond"),
    ("pulls._next", "drop assign registered_agent #2",
     "tests/operations/tasks/test_auctions.py::test_the_winner_whose_own_call_closes_the_auction_gets_the_prize_and_no_other_task"),
    ("_standing", "drop operand task",
     "tests/operations/tasks/test_assigning.py::test_an_assignment_is_no_mere_information_and_nobody_else_can_send_one"),
    # tasks of a registry
    ("registries._import", "always if id",
     f"{REGISTRIES}::test_tasks_come_in_in_their_states_with_their_text_and_once[memory]"),
    ("registries._give_back", "drop operand related",
     f"{REGISTRIES}::test_a_task_of_a_file_is_taken_given_back_and_finished[memory]"),
    ("registries._give_back", "drop call _again_scoped",
     f"{REGISTRIES}::test_a_task_of_a_file_is_taken_given_back_and_finished[memory]"),
    ("registries._join", "drop call _convert",
     f"{REGISTRIES}::test_a_claim_on_the_name_becomes_the_claim_of_the_task[memory]"),
    ("registries._adopt", "drop if EXECUTING",
     f"{REGISTRIES}::test_a_claim_made_with_files_has_what_is_left_of_its_time_and_no_limit_of_tasks_refuses_it[memory]"),
    ("registries._move", "drop operand MANUAL_STATES #2",
     f"{REGISTRIES}::test_a_file_moved_by_hand_moves_an_open_task_that_nobody_has[memory]"),
    ("_again_scoped", "drop operand SCOPED",
     f"{REGISTRIES}::test_what_was_scoped_and_is_lost_is_scoped_again_and_what_was_planned_stays_in_the_queue"),
    ("pulls.grant", "drop element origin",
     f"{REGISTRIES}::test_what_was_scoped_and_is_lost_is_scoped_again_and_what_was_planned_stays_in_the_queue"),
    ("pulls.take", "always ifexp origin",
     f"{REGISTRIES}::test_a_task_that_a_worker_takes_from_the_queue_forgets_that_it_was_scoped"),
    ("pulls.grant", "replace call min -> $1.1",
     f"{REGISTRIES}::test_a_claim_made_with_files_has_what_is_left_of_its_time_and_no_limit_of_tasks_refuses_it[memory]"),
    ("_asks_to_move", "replace tuple by -> ('', [])",
     "tests/operations/core/test_authority.py::test_a_task_that_nobody_has_is_moved_by_any_agent_and_an_assigned_one_is_not"),
    ("_asks_to_move", "replace call _asks_to_cancel -> ('', [])",
     "tests/operations/core/test_authority.py::test_a_task_is_called_off_by_who_added_it_or_has_it"),
    ("assignments._asks", "replace tuple having -> ('', [])",
     "tests/operations/core/test_authority.py::test_a_task_is_given_to_somebody_by_who_added_it_and_passed_on_by_whom_it_waits_for"),
    ("strategies._agents", "drop filter works",
     "tests/operations/tasks/test_assigning.py::test_nobody_is_given_work_who_did_not_say_that_it_works"),
    ("_unable", "never if works",
     "tests/operations/tasks/test_assigning.py::test_nobody_is_given_work_who_did_not_say_that_it_works"),
    ("_may_have", "drop operand awaited",
     "tests/operations/tasks/test_task_waiting.py::test_waiters_are_served_in_order_and_before_those_who_take_any_task"),
    ("_after_others", "never ifexp Held",
     "tests/operations/tasks/test_task_waiting.py::test_waiters_are_served_in_order_and_before_those_who_take_any_task"),
    ("places.places_of", "drop assign task_places_of",
     "tests/operations/tasks/test_task_waiting.py::test_a_deadlock_of_a_task_and_a_claim_is_refused_whichever_wait_comes_last"),
    ("scan_line", "replace argument task_line -> 'none'",
     "tests/operations/tasks/test_task_waiting.py::test_waiters_for_a_task_are_served_in_order_however_many_others_wait_for_work"),
    ("pulls._claim", "always if containing return _wait_for",
     "tests/operations/tasks/test_task_waiting.py::test_a_circle_of_agents_that_wait_for_each_others_tasks_is_refused"),
    ("pulls._give_up", "drop assign awaited",
     "tests/operations/tasks/test_task_waiting.py::test_at_the_end_of_its_time_it_is_refused_and_nothing_is_left_of_it"),
    ("mine", "always call within",
     "tests/operations/tasks/test_task_waiting.py::test_anothers_is_not_and_neither_is_one_that_is_over"),
    # a task with a verification is finished by that alone, by its holder, who keeps it meanwhile
    ("outcomes._done", "never if exit", f"{VERIFY}::test_a_task_stays_with_its_holder_when_the_command_fails"),
    ("outcomes._done", "replace argument work beneath return _to_verify -> {**work, 'result': {'sha': 1}}",
     f"{VERIFY}::test_the_command_does_not_run_for_one_that_could_not_finish_the_task"),
    ("_keep_use", "replace attribute keep_use -> lambda *_: 0",
     f"{WORKER}::test_a_command_that_ends_within_a_second_has_true_figures"),
    # what a job calls off counts as cancelled at once
    ("pulls.take", "drop assign as_counted", f"{BACKLOG}::test_after_the_first_commit_nobody_gets_a_task_of_the_tree"),
    ("_may_have", "never if covering", f"{BACKLOG}::test_after_the_first_commit_nobody_gets_a_task_of_the_tree"),
    ("mine", "never if covering",
     f"{BACKLOG}::test_a_result_for_a_task_that_a_job_calls_off_is_refused_before_its_step"),
    ("additions._adopt", "drop assign going",
     f"{BACKLOG}::test_a_task_that_a_job_calls_off_gets_no_child_and_is_not_planned_again"),
    ("pulls._next", "drop return Continue", f"{BACKLOG}::test_many_that_come_after_one_become_ready_in_steps"),
    # no transaction does more than a step, whatever a record costs
    ("cancellations._cancel", "never ifexp RECORDS_PER_RUNNING_TASK", f"{BOUNDS}::test_calling_off_many_tasks"),
    # honest limits
    ("_refuse_circle", "never ifexp parent",
     "tests/operations/tasks/test_circles.py::test_a_circle_through_a_parents_parent_is_refused"),
    ("_gather_orphans", "always if truncated",
     f"{LISTINGS}::test_a_dead_holders_task_is_found_behind_any_number_of_live_ones"),
    # Tasks: taken once, finished once, by the live token, never lost
    ("mine", "drop operand token", f"{OUTCOMES}::test_done_needs_the_live_token_and_says_what_became_of_the_task"),
    ("mine", "always call related", f"{OUTCOMES}::test_a_sibling_is_a_stranger"),
    ("mine", "always if until",
     f"{OUTCOMES}::test_whoever_comes_back_late_is_refused_and_told_and_changes_nothing_about_the_task"),
    ("pulls._refused", "always if len", f"{TAKING}::test_who_has_a_live_task_gets_no_second"),
    ("best", "drop if fits", f"{TAKING}::test_only_who_is_of_the_type_and_has_all_capabilities_gets_it"),
    ("_gather_orphans", "replace call gone -> []", f"{TAKING}::test_next_takes_over_from_a_dead_holder_by_itself"),
    ("workforce.wake", "drop call wake", f"{TAKING}::test_whatever_makes_a_task_ready_wakes_one_who_waits"),
    ("early_claim", "replace call clear -> return None", f"{TAKING}::test_a_name_whose_holder_is_dead_is_free"),
    ("outcomes._retry", "never if failures",
     f"{OUTCOMES}::test_failed_or_lost_too_often_it_is_quarantined_with_an_alert_and_a_message"),
    ("outcomes._retry", "drop assign not_before",
     f"{OUTCOMES}::test_a_transient_failure_is_tried_again_after_a_pause_that_doubles_up_to_a_bound"),
    ("finishable", "never if kids",
     f"{TASKS}::test_a_task_that_gets_a_child_while_it_is_worked_on_cannot_be_finished_before_it"),
    ("outcomes.finish", "never if race",
     f"{TASKS}::test_of_a_race_the_first_to_finish_wins_and_late_results_are_refused"),
    ("outcomes.finish", "drop assign unblock", f"{TASKS}::test_a_task_waits_for_all_that_it_comes_after"),
    ("_put_parts", "replace assign len -> $0.1 = True", f"{TASKS}::test_a_task_waits_for_all_that_it_comes_after"),
    ("additions.create", "drop call _refuse_circle",
     f"{TASKS}::test_a_child_cannot_wait_for_its_parent_nor_for_what_waits_for_it"),
    ("additions._in_order", "never if len",
     f"{TASKS}::test_tasks_that_wait_for_each_other_in_a_circle_are_refused_together"),
    ("additions.create", "never if containing return load_task",
     f"{TASKS}::test_the_same_key_gives_the_first_task_whatever_became_of_it"),
    ("cancellations._cancel", "drop call end", f"{TASKS}::test_calling_off_ends_the_work_and_whoever_does_it_is_told"),
    ("cancellations._cancel", "drop keyword over",
     f"{TASKS}::test_a_task_whose_holder_was_silent_for_too_long_can_be_called_off_planned_and_taken_again"),
    ("strategies.sticky", "replace call sorted -> list($1)", "tests/operations/tasks/test_strategies.py"),
)  # fmt: skip
