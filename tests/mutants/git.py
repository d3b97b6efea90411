"""The checks of git: file, text, what stands instead, the test that fails then."""

from __future__ import annotations

SYNC = "tests/facts/git/test_gitsync.py"

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
)  # fmt: skip
