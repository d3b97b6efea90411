"""The states of working trees: function, change, the test that fails then."""

from __future__ import annotations

ANCHOR = "tests/states/test_anchor.py"
WAYS = "tests/states/test_ways.py"
REMOVAL = "tests/guards/test_tree_removal.py"
MACHINE = "tests/undo/test_time_machine.py"

ROWS = (
    # what is kept
    ("keep_commits", "drop call pack",
     f"{ANCHOR}::test_it_outlives_its_tree_its_branch_and_every_clean_up_of_git"),
    ("retention._pack", "always if startswith",
     f"{ANCHOR}::test_a_clean_up_keeps_every_state_and_deletes_what_none_needs"),
    ("retention._pack", "never if startswith",
     f"{ANCHOR}::test_a_clean_up_keeps_every_state_and_deletes_what_none_needs"),
    ("anchor.take", "drop operand is_settled", f"{ANCHOR}::test_a_change_within_a_tick_of_the_clock_is_a_state"),
    ("store.append", "never if pread", f"{ANCHOR}::test_a_torn_line_is_void_and_the_next_state_is_not"),
    ("at_time.Past.__init__", "drop for changes", f"{WAYS}::test_what_the_ledger_saw_after_the_last_state_comes_back_too"),
    # what is brought back
    ("restore_tree.restore", "drop call look", f"{WAYS}::test_what_the_ledger_saw_after_the_last_state_comes_back_too"),
    ("_check_free", "never if listdir",
     f"{WAYS}::test_a_folder_that_is_in_use_is_not_written_over_unless_told"),
    ("restore_tree._check_place", "never if AT_WORK",
     f"{WAYS}::test_an_agent_says_only_a_new_folder_next_to_the_repository"),
    ("_scope_of_file", "never if containing raise _built_on",
     f"{MACHINE}::test_a_restore_is_refused_where_another_agent_has_built_on_it"),
    # what is not deleted
    ("shared_tree.refusal", "drop operand _unfinished",
     f"{REMOVAL}::test_its_author_is_refused_too_and_each_way_out_works"),
    ("rewritten", "never return _unlanded",
     f"{REMOVAL}::test_what_was_never_landed_stays_although_its_agent_is_gone"),
    ("_deleted", "drop operand _has_landed", f"{REMOVAL}::test_what_was_landed_as_another_commit_may_go"),
)  # fmt: skip
