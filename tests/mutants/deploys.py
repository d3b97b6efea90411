"""The checks of deploys: file, text, what stands instead, the test that fails."""

from __future__ import annotations

CORPUS = "tests/facts/test_deploycommands.py"
RULES = "tests/operations/guards/test_deploys.py"
SYNC = "tests/facts/git/test_gitsync.py"
HELD = "tests/running/test_held_command.py"

DEPLOYS = (
    # what may ship
    ("operations/guards/deploy_guard.py", '    if sync["behind"]:\n        return Behind(**facts)\n', "",
     f"{RULES}::test_what_is_behind_is_refused_with_how_far_and_unsynced_does_not_excuse_it"),
    ("operations/guards/deploy_guard.py", 'if sync["behind"] is None and not unsynced:', "if False:",
     f"{RULES}::test_what_cannot_be_compared_is_refused_with_2_unless_it_is_said"),
    ("operations/guards/deploy_guard.py", "for sync in syncs or [UNKNOWN_FACTS]:", "for sync in syncs:",
     f"{RULES}::test_what_cannot_be_compared_is_refused_with_2_unless_it_is_said"),
    ("operations/guards/deploy_guard.py", "    if contains is False:\n        return Behind(**facts)\n", "",
     f"{RULES}::test_what_lacks_the_last_good_deploy_is_refused_unless_it_is_called_a_rollback"),
    ("operations/guards/deploy_guard.py", "if rollback or contains:", "if rollback or contains is not False:",
     f"{RULES}::test_whether_the_last_good_deploy_is_contained_must_be_known_or_excused"),
    ("operations/guards/deploy_guard.py", 'running["token"] == token and related(running["agent"], call.agent)', "True",
     f"{RULES}::test_a_push_under_a_running_deploy_is_judged_by_what_was_said_of_that_deploy"),
    ("operations/guards/deploy_guard.py", "said = {name: True for name in ACCEPTED_RISKS if running.get(name)}", "pass",
     f"{RULES}::test_what_was_taken_upon_oneself_is_in_the_log_from_start_to_end"),
    # what counts, from wherever
    ("facts/git/sync.py", "name = branch or known_default(top, remote)", "name = branch or git.branch(top)",
     f"{SYNC}::test_main_counts_from_a_followed_feature_branch_a_new_branch_and_a_detached_head"),
    ("facts/git/sync.py", "(not counts[0] or not counts[1] or not is_shallow(top))", "True",
     f"{SYNC}::test_a_shallow_clone_says_only_what_its_history_proves"),
    ("facts/git/sync.py", "return None if is_shallow(top) else False", "return False",
     f"{SYNC}::test_in_a_shallow_clone_a_commit_that_is_not_there_may_be_contained"),
    ("facts/git/sync.py", "    if tree in _text(since).split():\n        return True\n", "",
     f"{SYNC}::test_a_commit_contains_its_ancestors_and_content_that_came_by_a_squash"),
    # deploys in scripts
    ("facts/deploy_commands.py", "    if words[0] in PACKAGES:\n        return _package(words, patterns, cwd, depth)\n", "",
     f"{CORPUS}::test_what_deploys_is_recognised"),
    ("facts/deploy_commands.py", "    if words[0] in MAKES:\n        return _made(words, patterns, cwd, depth)\n", "",
     f"{CORPUS}::test_what_deploys_is_recognised"),
    ("facts/deploy_commands.py", 'any(word.partition("=")[0] in DRY for word in words[1:])', "False",
     f"{CORPUS}::test_ordinary_commands_are_not_taken_for_deploys"),
    ("facts/deploy_commands.py", " and _really(pattern, words, simple.assignments)", "",
     f"{CORPUS}::test_ordinary_commands_are_not_taken_for_deploys"),
    ("facts/deploy_commands.py", 'if line[:1] not in {" ", "\\t", "#", ""}]', "]",
     f"{CORPUS}::test_ordinary_commands_are_not_taken_for_deploys"),
    # one deploy at a time, and its command ends with it
    ("operations/guards/deploy_guard.py", 'for process in (running["process"], running.get("runs")):', 'for process in (running["process"],):',
     f"{RULES}::test_a_command_that_outlived_its_deploy_keeps_the_next_one_away_with_its_pid"),
    ("operations/guards/deploy_guard.py", '(alive is None and running["token"] == token)', "alive is None",
     f"{RULES}::test_a_deploy_on_another_machine_counts_while_its_claim_lives_and_not_for_ever"),
    ("running/held_command.py", "        self.lost = error\n        if self.child is not None:\n            self.child.end()\n",
     "        self.lost = error\n        if self.child is not None:\n            self.child.end(0)\n",
     f"{HELD}::test_a_claim_that_came_back_under_another_token_is_lost"),
    ("running/held_command.py", 'if renewed["token"] != self.token:', "if False:",
     f"{HELD}::test_a_claim_that_came_back_under_another_token_is_lost"),
    ("running/held_command.py", "if clock.since_boot() >= self.until:  #", "if True:  #",
     f"{HELD}::test_a_busy_store_ends_the_command_at_the_claims_deadline_and_not_before"),
    ("running/child_process.py", "if not waits:", "if True:", f"{HELD}::test_a_command_that_nobody_let_run_dies_with_its_owner"),
    ("running/child_process.py", "if code or not leaves:", "if not leaves:",
     f"{HELD}::test_what_a_command_leaves_running_goes_on_only_after_a_success_that_may"),
)  # fmt: skip
