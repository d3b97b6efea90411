"""The checks of `dibs undo`: function, change, the test that fails then."""

from __future__ import annotations

UNDO = "tests/undo/test_undo.py"

BY_HAND = "tests/interfaces/cli/test_undo_by_hand.py"

ROWS = (
    ("attribution._times", "never if UNDO", f"{BY_HAND}::test_work_that_follows_an_undo_at_once_is_its_own_agent_s"),
    ("follow_rewrites", "drop call add", f"{BY_HAND}::test_a_commit_that_was_rebased_is_still_its_work"),
    ("Planner.made", "drop operand _is_undone",
     f"{BY_HAND}::test_conflict_marks_of_an_undo_are_not_doubled_by_a_second_one"),
    ("Tree._judge", "drop operand _is_in_new_folder",
     f"{BY_HAND}::test_the_same_without_git_and_what_was_in_the_folder_stays"),
    ("guards.undo.undone", "drop if #1 beneath if before version",
     f"{UNDO}::test_what_others_built_on_it_is_refused_and_merged_if_told_so"),
    ("undo._asks", "always ifexp within", f"{UNDO}::test_only_an_orchestrator_or_a_person_undoes_another_agent_s_work"),
    ("undo._done", "always call any",
     "tests/operations/core/test_internal.py::test_an_odd_value_is_refused_or_decided_and_never_a_raw_error[undo-done]"),
    ("grants._refresh", "always if BY_HAND",
     f"{UNDO}::test_the_caller_s_own_claim_outlives_the_undo_with_its_own_reason"),
    ("State._opened", "drop operand UNDO", f"{UNDO}::test_an_agent_without_hooks_that_undoes_a_part_can_undo_the_rest"),
    ("Worker.begin", "replace return beneath except KeyboardInterrupt -> raise",
     f"{UNDO}::test_ctrl_c_leaves_all_of_it_or_nothing_and_no_claim"),
    ("_think", "drop operand _uncommitted",
     f"{UNDO}::test_unfinished_work_that_another_agent_s_commit_took_in_is_unfinished_again"),
    ("_chains", "drop call sort", f"{UNDO}::test_a_file_that_was_changed_and_then_made_executable_comes_back"),
    ("Worker.begin", "drop call _write_journal",
     f"{UNDO}::test_killed_at_any_step_the_next_run_continues_to_the_same_end"),
    ("ledger_files.replace", "drop if containing expr _bytes",
     f"{UNDO}::test_a_ledger_that_was_compacted_still_knows_what_was_there"),
    ("scope", "always ifexp UNDO",
     f"{UNDO}::test_nothing_is_the_work_of_an_undo_only_because_its_caller_held_the_file"),
)  # fmt: skip
