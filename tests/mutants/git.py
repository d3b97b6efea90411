"""The checks of git: function, change, the test that fails then."""

from __future__ import annotations

SYNC = "tests/git/test_gitsync.py"
OTHERS = "tests/guards/test_commits_of_others.py"
REMOVED = "tests/guards/test_removed_trees.py"
MERGES = "tests/guards/test_merges.py"
HOOKS = "tests/guards/test_git_hooks.py"
SUBMODULES = "tests/guards/test_submodules.py"
ODD = "tests/guards/test_odd_names.py"
NUMBERS = "tests/guards/test_migrations.py"
UNDONE = "tests/guards/test_undo_of_commands.py"

ROWS = (
    # what counts, from wherever
    ("_tip", "replace operand known_default -> git.branch($1)",
     f"{SYNC}::test_main_counts_from_a_followed_feature_branch_a_new_branch_and_a_detached_head"),
    ("sync.compare", "always boolop is_shallow", f"{SYNC}::test_a_shallow_clone_says_only_what_its_history_proves"),
    ("sync.contains", "never return is_shallow beneath if commit",
     f"{SYNC}::test_in_a_shallow_clone_a_commit_that_is_not_there_may_be_contained"),
    ("sync.contains", "drop if _text",
     f"{SYNC}::test_a_commit_contains_its_ancestors_and_content_that_came_by_a_squash"),
    # commits next to other agents
    ("_prepare_message", "never if YES",
     f"{OTHERS}::test_what_the_repositorys_own_hook_stages_of_another_agent_is_not_committed"),
    ("missed_commits.tell", "drop filter beneath call untold",
     f"{OTHERS}::test_a_checked_commit_whose_report_is_still_to_come_is_nobody_elses"),
    ("checked_commits.untold", "always operand #1",
     f"{OTHERS}::test_a_commit_by_a_person_in_an_editor_has_no_trailer_and_is_waited_for"),
    ("missed_commits.tell", "never if #3",
     f"{OTHERS}::test_a_commit_past_the_hooks_is_left_to_the_command_that_still_runs"),
    ("gemini.hook.RUNS_GIT_HOOKS", "always assign RUNS_GIT_HOOKS",
     f"{OTHERS}::test_the_commits_of_a_client_that_switches_gits_hooks_off_are_its_own_and_no_bypass"),
    ("shell_guard._in_the_way", "never if containing assign blocker",
     "tests/operations/guards/test_commands.py::test_a_git_command_waits_for_another_agents_before_what_is_staged_counts"),
    ("only_on", "replace joinedstr exclude -> f'--exclude=refs/heads/{$1.0}'",
     f"{OTHERS}::test_a_branch_with_another_agents_commits_alone_is_not_deleted"),
    ("lifecycle.boot", "drop call _exclude",
     f"{OTHERS}::test_a_working_tree_inside_the_main_one_is_not_added_to_it_as_a_repository"),
    ("_stashed", "replace subscript #1 beneath expr making -> $0",
     f"{OTHERS}::test_a_stash_that_a_person_made_after_an_agents_is_not_that_agents"),
    ("check_push", "never if containing expr _check_dropped",
     f"{HOOKS}::test_a_push_over_another_agents_commit_is_refused_on_any_branch"),
    ("push_look.begin", "drop call _remember",
     "tests/client/test_push_look.py::test_the_first_push_past_the_hook_of_a_clone_is_noticed_whoever_looks_first"),
    # a merge that is under way
    ("_merging", "never if containing assign BY",
     f"{MERGES}::test_the_files_of_a_conflict_are_held_for_the_agent_that_merges"),
    ("_merging", "drop call give_back", f"{MERGES}::test_an_aborted_one_holds_nothing"),
    ("GitFootprint.commit", "never if containing assign OWN_TREE",
     f"{MERGES}::test_what_others_are_told_to_do_meanwhile_is_what_git_accepts"),
    ("reported", "never if STARTS", f"{MERGES}::test_a_persons_merge_is_no_agents"),
    # submodules, odd names, numbers
    ("hook._read", "drop operand top", f"{SUBMODULES}::test_a_read_in_a_submodule_counts"),
    ("look_at_all", "drop assign _changed_inside",
     f"{SUBMODULES}::test_unfinished_work_in_a_submodule_stays_its_agents_after_a_look_at_the_whole_tree"),
    ("GitFootprint.text", "drop operand isprintable", f"{ODD}::test_another_agents_file_of_an_odd_name_is_not_swept_up"),
    ("restore._spelled", "replace call next -> $2", f"{ODD}::test_restore_writes_the_file_of_that_name_and_no_other"),
    ("_numbered_twin", "drop return _refuse", f"{NUMBERS}::test_the_second_migration_of_a_number_is_refused"),
    ("GitFootprint.names", "drop filter isprintable",
     "tests/guards/test_odd_names.py::test_a_file_of_an_odd_name_is_moved_to_another_name_or_deleted_and_not_made"),
    ("_in_tree", "drop operand _numbered_twin beneath boolop _claims_first",
     f"{NUMBERS}::test_a_claim_in_the_same_command_gives_no_second_migration_of_a_number"),
    ("migrations.refusal", "drop operand token", f"{NUMBERS}::test_the_second_migration_of_a_number_is_refused"),
    ("_comes_back", "never return alive",
     "tests/guards/test_hooks.py::test_one_session_in_two_processes_goes_on_in_the_first_when_the_second_is_dead"),
    ("config.load", "replace assign error -> raise",
     "tests/guards/test_hooks.py::test_a_config_that_is_not_valid_shuts_nobody_out_and_frees_nobody"),
    # what is kept
    ("working_tree._tree", "drop call settle",
     f"{REMOVED}::test_what_was_uncommitted_in_a_removed_tree_is_listed_told_and_restored"),
    ("ledger_files._settle", "never if isdir", f"{REMOVED}::test_a_ledger_of_an_earlier_version_is_carried_over"),
    ("restores._restore", "drop call note_restored",
     "tests/guards/test_removed_trees.py::test_it_is_restored_by_its_path_in_this_tree_or_in_the_removed_one"),
    ("tool_call._after", "drop call _finish_inside",
     "tests/guards/test_submodules.py::test_a_commit_inside_a_submodule_ends_the_claims_on_what_it_has"),
    ("merging.reported", "never ifexp CONFLICT unmerged",
     "tests/guards/test_merges.py::test_the_files_of_a_conflict_that_git_does_not_continue_are_held_until_it_is_resolved"),
    ("removed_trees._removed", "drop call end",
     f"{REMOVED}::test_what_was_uncommitted_in_a_removed_tree_is_listed_told_and_restored"),
    ("removed_trees._removed", "drop operand since",
     f"{REMOVED}::test_a_tree_of_the_same_name_has_a_ledger_of_its_own"),
    ("_living", "drop operand locked", f"{REMOVED}::test_a_tree_that_is_there_moved_or_locked_is_left_alone"),
    ("Tree._note", "always operand _keeps_modes", f"{UNDONE}::test_modes_and_the_index_come_back_as_they_were"),
    ("_keeps_modes", "replace compare common_of -> $0.0.0 is not None",
     f"{UNDONE}::test_a_mode_that_git_does_not_keep_is_no_change"),
    ("_unstage", "replace listcomp path -> [$0 for $1 in $2 if $1.to != $1.now]",
     f"{UNDONE}::test_modes_and_the_index_come_back_as_they_were"),
)  # fmt: skip
