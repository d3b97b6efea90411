"""The checks of hooks that wait, and of units of pools around commands: function, change, the test that fails then."""

from __future__ import annotations

FILES = "tests/guards/test_waiting_files.py"
POOLS = "tests/guards/test_pool_turns.py"

ROWS = (
    # a hook that waits for a file
    ("wait.check", "never if getppid", f"{FILES}::test_a_hook_whose_client_was_killed_leaves_the_line"),
    ("waiting.wait", "drop call signal", f"{FILES}::test_a_hook_that_its_client_ends_leaves_no_place"),
    ("waiting.limit", "replace call max -> 600_000", f"{FILES}::test_a_hook_without_the_time_for_it_refuses_at_once"),
    ("edit_guard._edit", "drop call _give_back", f"{FILES}::test_a_patch_over_two_working_trees_holds_nothing_while_it_waits"),
    # a unit for the length of a command
    ("pool_guard._units", "drop call _give_back", f"{POOLS}::test_a_command_of_several_pools_takes_them_all_or_none"),
    ("_by_hand", "never if SHELL", f"{POOLS}::test_an_agent_that_holds_a_unit_by_hand_runs_under_it"),
    ("tool_call._give_back", "drop call run", f"{POOLS}::test_a_command_that_is_refused_after_its_wait_gives_its_unit_back"),
    ("waiting.wait", "drop call withdraw", f"{POOLS}::test_a_server_leaves_the_waiting_to_the_hooks_own_process"),
    ("grants.claim", "never if own_place", f"{POOLS}::test_what_is_handed_to_a_killed_hook_passes_on"),
    ("shell_guard._hold", "drop operand pool_of", f"{POOLS}::test_a_git_command_leaves_the_unit_of_another_command"),
    ("audits._idle", "drop operand resources", f"{POOLS}::test_a_command_in_the_background_keeps_its_unit_until_it_is_over"),
    ("pool_guard._units", "never if is_orphan",
     f"{POOLS}::test_a_hook_that_has_outlived_its_client_from_the_start_gets_no_unit"),
    # ends that no client tells of
    ("pool_turn.ended", "always if containing return units",
     f"{POOLS}::test_a_command_in_the_background_keeps_its_unit_until_it_is_over"),
    ("pool_turn._end_idle", "always filter _runs", f"{POOLS}::test_a_turn_that_is_over_leaves_the_unit_to_what_runs_on"),
    ("pool_turn.settle", "drop call _end_idle", f"{POOLS}::test_a_turn_that_is_over_leaves_no_unit_of_what_does_not_run"),
    ("_may_begin", "never if START_MS",
     f"{POOLS}::test_who_waits_gets_the_unit_of_a_command_that_was_interrupted"),
    ("_may_begin", "never return ASKS_MS",
     f"{POOLS}::test_while_a_person_is_asked_the_command_may_begin_yet"),
)  # fmt: skip
