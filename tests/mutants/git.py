"""The checks of git: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

SYNC = "tests/facts/git/test_gitsync.py"
OTHERS = "tests/doors/hooks/test_commits_of_others.py"
REMOVED = "tests/doors/hooks/test_removed_trees.py"
MERGES = "tests/doors/hooks/test_merges.py"
HOOKS = "tests/doors/test_git_hooks.py"
SUBMODULES = "tests/doors/hooks/test_submodules.py"
ODD = "tests/doors/hooks/test_odd_names.py"
NUMBERS = "tests/doors/hooks/test_migrations.py"
UNDONE = "tests/doors/hooks/test_undo_of_commands.py"

ROWS = (
    # what counts, from wherever
    ("facts/git/sync.py", "name = branch or known_default(top, remote)", "name = branch or git.branch(top)",
     f"{SYNC}::test_main_counts_from_a_followed_feature_branch_a_new_branch_and_a_detached_head"),
    ("facts/git/sync.py", "(not counts[0] or not counts[1] or not is_shallow(top))", "True",
     f"{SYNC}::test_a_shallow_clone_says_only_what_its_history_proves"),
    ("facts/git/sync.py", "return None if is_shallow(top) else False", "return False",
     f"{SYNC}::test_in_a_shallow_clone_a_commit_that_is_not_there_may_be_contained"),
    ("facts/git/sync.py", "    if tree in _text(since).split():\n        return True\n", "",
     f"{SYNC}::test_a_commit_contains_its_ancestors_and_content_that_came_by_a_squash"),
    # commits next to other agents
    ("doors/git_hooks.py", "        if late and _check(session, paths, sorted(late)) != YES:", "        if False:",
     f"{OTHERS}::test_what_the_repositorys_own_hook_stages_of_another_agent_is_not_committed"),
    ("doors/hooks/missed_commits.py", " if commit not in checked]", "]",
     f"{OTHERS}::test_a_checked_commit_whose_report_is_still_to_come_is_nobody_elses"),
    ("session/checked_commits.py", "not left or not _is_pending(place)", "True",
     f"{OTHERS}::test_a_commit_by_a_person_in_an_editor_has_no_trailer_and_is_waited_for"),
    ("doors/hooks/missed_commits.py", "    if busy:\n        return  # ", "    if False:\n        return  # ",
     f"{OTHERS}::test_a_commit_past_the_hooks_is_left_to_the_command_that_still_runs"),
    ("doors/clients/gemini/hook.py", "RUNS_GIT_HOOKS = False", "RUNS_GIT_HOOKS = True",
     f"{OTHERS}::test_the_commits_of_a_client_that_switches_gits_hooks_off_are_its_own_and_no_bypass"),
    ("operations/guards/shell_guard.py", "        if busy:  #", "        if False:  #",
     "tests/operations/guards/test_commands.py::test_a_git_command_waits_for_another_agents_before_what_is_staged_counts"),
    ("facts/git/commits.py", 'f"--exclude={branch}"', 'f"--exclude=refs/heads/{branch}"',
     f"{OTHERS}::test_a_branch_with_another_agents_commits_alone_is_not_deleted"),
    ("doors/hooks/lifecycle.py", "        _exclude(place)\n", "        pass\n",
     f"{OTHERS}::test_a_working_tree_inside_the_main_one_is_not_added_to_it_as_a_repository"),
    ("operations/guards/working_tree.py", "new[-count:]", "new",
     f"{OTHERS}::test_a_stash_that_a_person_made_after_an_agents_is_not_that_agents"),
    ("running/deploy_checks.py", "        if there:\n            _check_dropped(", "        if False:\n            _check_dropped(",
     f"{HOOKS}::test_a_push_over_another_agents_commit_is_refused_on_any_branch"),
    ("session/push_look.py", "        _remember(place.local, pushes.sizes(place.common))\n", "        pass\n",
     "tests/session/test_push_look.py::test_the_first_push_past_the_hook_of_a_clone_is_noticed_whoever_looks_first"),
    # a merge that is under way
    ("operations/guards/merges.py", "    if free:\n", "    if False:\n",
     f"{MERGES}::test_the_files_of_a_conflict_are_held_for_the_agent_that_merges"),
    ("operations/guards/merges.py", '                endings.give_back(tx, claim, claim["resources"], "released")\n', "",
     f"{MERGES}::test_an_aborted_one_holds_nothing"),
    ("doors/hooks/git_scope.py", "        if busy:\n", "        if False:\n",
     f"{MERGES}::test_what_others_are_told_to_do_meanwhile_is_what_git_accepts"),
    ("doors/hooks/merging.py", "    if not owner and not shell_guard.effects_of(event) & STARTS:", "    if False:",
     f"{MERGES}::test_a_persons_merge_is_no_agents"),
    # submodules, odd names, numbers
    ("doors/hooks/hook.py", ' or (place.top if real.startswith(f"{place.top}/") else "")', "",
     f"{SUBMODULES}::test_a_read_in_a_submodule_counts"),
    ("session/working_tree.py", "        clean -= self._changed_inside(clean)\n", "",
     f"{SUBMODULES}::test_unfinished_work_in_a_submodule_stays_its_agents_after_a_look_at_the_whole_tree"),
    ("doors/hooks/git_scope.py", "        if path.isascii() and path.isprintable() and not self", "        if path.isascii() and not self",
     f"{ODD}::test_another_agents_file_of_an_odd_name_is_not_swept_up"),
    ("reports/restore.py", "    return next(iter([*had_it, *found]), path)", "    return path",
     f"{ODD}::test_restore_writes_the_file_of_that_name_and_no_other"),
    ("operations/guards/edit_guard.py", "                return _refuse(tx, call, target, tree, refusal)\n    return None", "                pass\n    return None",
     f"{NUMBERS}::test_the_second_migration_of_a_number_is_refused"),
    ("doors/hooks/git_scope.py", " if one.isprintable() or not goes]", "]",
     "tests/doors/hooks/test_odd_names.py::test_a_file_of_an_odd_name_is_moved_to_another_name_or_deleted_and_not_made"),
    ("operations/guards/edit_guard.py", " or _numbered_twin(tx, call, claimed, tree)\n", "\n",
     f"{NUMBERS}::test_a_claim_in_the_same_command_gives_no_second_migration_of_a_number"),
    ("operations/guards/migrations.py", ' or any(token < record["token"] for token in own)', "",
     f"{NUMBERS}::test_the_second_migration_of_a_number_is_refused"),
    ("operations/core/entry.py", '    return call.alive(agent["process"]) is False\n', "    return False\n",
     "tests/doors/hooks/test_hooks.py::test_one_session_in_two_processes_goes_on_in_the_first_when_the_second_is_dead"),
    ("session/config.py", "        last.error = error\n", "        raise\n",
     "tests/doors/hooks/test_hooks.py::test_a_config_that_is_not_valid_shuts_nobody_out_and_frees_nobody"),
    # what is kept
    ("session/working_tree.py", "    ledger_files.settle(folder, top)\n", "",
     f"{REMOVED}::test_what_was_uncommitted_in_a_removed_tree_is_listed_told_and_restored"),
    ("facts/ledger_files.py", "        os.rename(folder, kept)\n", "        os.rename(folder, folder + '.old')\n        os.mkdir(kept, 0o700)\n",
     f"{REMOVED}::test_a_ledger_of_an_earlier_version_is_carried_over"),
    ("operations/guards/removed_trees.py", "        endings.end(tx, claim, HOW)\n", "        pass\n",
     f"{REMOVED}::test_what_was_uncommitted_in_a_removed_tree_is_listed_told_and_restored"),
    ("operations/guards/removed_trees.py", ' and claim["since"] <= tx.now - age', "",
     f"{REMOVED}::test_a_tree_of_the_same_name_has_a_ledger_of_its_own"),
    ("session/removed_trees.py", ' or os.path.exists(f"{trees}/{name}/locked")', "",
     f"{REMOVED}::test_a_tree_that_is_there_moved_or_locked_is_left_alone"),
    ("session/working_tree.py", "not self._keeps_modes(kind, seen)", "True",
     f"{UNDONE}::test_modes_and_the_index_come_back_as_they_were"),
    ("session/working_tree.py", '.get("filemode") != "false"', " is not None",
     f"{UNDONE}::test_a_mode_that_git_does_not_keep_is_no_change"),
    ("running/undo_plan.py", "        paths = [one.path for one in files]\n", "        paths = [one.path for one in files if one.to != one.now]\n",
     f"{UNDONE}::test_modes_and_the_index_come_back_as_they_were"),
)  # fmt: skip
