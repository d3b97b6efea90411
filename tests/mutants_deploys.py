"""The checks of deploys, for tests/mutants.py: file, text, what stands instead, the test that fails."""

from __future__ import annotations

DEPLOYS_PY, SYNC_PY = "operations/deploys.py", "facts/gitsync.py"
RULES, SYNC, DOOR = "tests/operations/test_deploys.py", "tests/facts/test_gitsync.py", "tests/doors/test_deploy.py"

DEPLOYS = (
    # what may ship
    (DEPLOYS_PY, '    if sync["behind"]:\n        return Behind(**facts)\n', "",
     f"{RULES}::test_what_is_behind_is_refused_with_how_far_and_unsynced_does_not_excuse_it"),
    (DEPLOYS_PY, 'if sync["behind"] is None and not unsynced:', "if False:",
     f"{RULES}::test_what_cannot_be_compared_is_refused_with_2_unless_it_is_said"),
    (DEPLOYS_PY, "for sync in syncs or [NOTHING]:", "for sync in syncs:",
     f"{RULES}::test_what_cannot_be_compared_is_refused_with_2_unless_it_is_said"),
    (DEPLOYS_PY, "    if contains is False:\n        return Behind(**facts)\n", "",
     f"{RULES}::test_what_lacks_the_last_good_deploy_is_refused_unless_it_is_called_a_rollback"),
    (DEPLOYS_PY, "if rollback or contains:", "if rollback or contains is not False:",
     f"{RULES}::test_whether_the_last_good_deploy_is_contained_must_be_known_or_excused"),
    (DEPLOYS_PY, 'running["token"] == token and related(running["agent"], call.agent)', "True",
     f"{RULES}::test_a_push_under_a_running_deploy_is_judged_by_what_was_said_of_that_deploy"),
    (DEPLOYS_PY, "said = {name: True for name in SAID if running.get(name)}", "pass",
     f"{RULES}::test_what_was_taken_upon_oneself_is_in_the_log_from_start_to_end"),
    # what counts, from wherever
    (SYNC_PY, "name = branch or known_default(top, remote)", "name = branch or git.branch(top)",
     f"{SYNC}::test_main_counts_from_a_followed_feature_branch_a_new_branch_and_a_detached_head"),
    (SYNC_PY, "(not counts[0] or not counts[1] or not is_shallow(top))", "True",
     f"{SYNC}::test_a_shallow_clone_says_only_what_its_history_proves"),
    (SYNC_PY, "return None if is_shallow(top) else False", "return False",
     f"{SYNC}::test_in_a_shallow_clone_a_commit_that_is_not_there_may_be_contained"),
    (SYNC_PY, "    if tree in _text(since).split():\n        return True\n", "",
     f"{SYNC}::test_a_commit_contains_its_ancestors_and_content_that_came_by_a_squash"),
)  # fmt: skip
