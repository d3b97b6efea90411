"""The checks of landings and coming conflicts: function, change, the test that fails then."""

from __future__ import annotations

QUEUE = "tests/operations/landing/test_queue.py"
CONFLICTS = "tests/operations/landing/test_conflicts.py"
LANDING = "tests/land/test_landing.py"
LOCKS = "tests/land/test_landing_locks.py"
PLACES = "tests/land/test_landing_places.py"

ROWS = (
    ("lander._mine", "drop operand turn", f"{QUEUE}::test_a_stale_lander_is_refused_at_every_step"),
    ("lander._mine", "replace boolop related -> True and $2", f"{QUEUE}::test_the_claim_itself_is_asked_at_every_step"),
    ("_still_lands", "never if containing assign iso",
     f"{QUEUE}::test_one_process_lands_and_the_next_one_when_it_leaves_or_dies"),
    ("lander._move", "drop operand #1", f"{QUEUE}::test_what_was_cancelled_or_replaced_meanwhile_is_not_moved_to"),
    ("_still_lands", "drop call end", f"{QUEUE}::test_one_process_lands_and_the_next_one_when_it_leaves_or_dies"),
    ("queue._cancel", "replace subscript landing beneath compare moving -> None",
     f"{QUEUE}::test_a_landed_branch_is_decided_once_and_its_agents_are_told"),
    ("queue._asks_to_cancel", "always ifexp orchestrator",
     f"{QUEUE}::test_only_its_agents_or_an_orchestrator_take_a_branch_out_of_the_queue"),
    ("conflicts._report", "replace call _begin -> $0($1, $2, $3); $0($1, $2, $3)",
     f"{CONFLICTS}::test_both_agents_are_told_once_with_their_own_lines"),
    ("Landings._check_token", "never if _is_live",
     f"{QUEUE}::test_the_lookout_finds_a_target_that_was_moved_without_a_live_token"),
    ("_orders", "drop joinedstr _fence", f"{LANDING}::test_a_stale_lander_cannot_move_main_even_if_it_asks_git_alone"),
    ("_orders", "replace joinedstr update -> f'update {$1.0} {$3.0}'",
     f"{LANDING}::test_main_that_a_person_moves_right_before_the_move_stays"),
    ("Lander._chain", "replace attribute _target in_the_way -> lambda *_: ''",
     f"{LANDING}::test_a_dirty_worktree_of_main_keeps_its_work_and_only_what_it_touches_is_refused"),
    ("_fails", "replace call _checked -> None", f"{LANDING}::test_where_main_itself_fails_the_check_nobody_is_blamed"),
    ("bring_along", "replace call _write_notes -> $0({})",
     f"{LOCKS}::test_a_worktree_of_main_that_a_lock_file_kept_behind_is_brought_along_by_the_next_lander"),
    ("Lander.take", "drop call drop_others",
     f"{LOCKS}::test_lock_files_in_the_clean_worktree_of_a_dead_lander_do_not_stop_the_next_one"),
    ("check_tree._is_half_made", "replace compare wall -> True",
     f"{LOCKS}::test_a_tree_that_a_killed_git_had_half_made_does_not_stop_the_next_fetch"),
    ("drop_others", "drop operand _prefix beneath boolop _mark",
     f"{LOCKS}::test_a_tree_of_a_lander_that_was_killed_at_any_point_does_not_stop_the_next_fetch"),
    ("Lander._fetched", "never if drop_others",
     f"{LOCKS}::test_a_git_that_outlives_its_lander_for_a_moment_does_not_stop_the_next_fetch"),
    ("lander._stop", "replace listcomp stopped -> $2",
     f"{QUEUE}::test_what_stops_the_queue_is_told_once_for_each_cause_and_shown_until_something_is_decided"),
    ("CommitBuilder.together", "always operand MERGE",
     f"{LANDING}::test_a_batch_is_one_check_and_each_commit_of_main_has_passed_it"),
    ("settings_of", "replace compare config -> not $1",
     f"{LANDING}::test_a_branch_does_not_choose_the_check_by_which_it_lands"),
    ("Lander._chain", "drop if passed", f"{PLACES}::test_a_commit_that_only_another_clone_has_is_left_to_that_clone"),
    ("QueueLander.step", "replace call append beneath except DibsError -> raise",
     f"{PLACES}::test_a_server_lands_on_every_branch_that_has_a_queue"),
    ("run.once", "replace call reread -> ''",
     "tests/workers/test_sweep_watch.py::test_a_change_of_the_config_counts_at_the_next_sweep"),
)  # fmt: skip
