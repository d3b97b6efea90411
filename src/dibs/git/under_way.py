"""A merge, rebase, cherry-pick, revert or am that stopped in a working tree and waits to be finished.

By git's own files, and no git is started: a hook looks after every git command.
"""

from __future__ import annotations

import os

MARKS = {
    "MERGE_HEAD": "merge", "CHERRY_PICK_HEAD": "cherry-pick", "REVERT_HEAD": "revert", "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}  # fmt: skip
CONFLICT = "conflict resolution"  # of a stash, a checkout, a patch: git has nothing to continue there
PARTLY = frozenset({"rebase-apply"})  # git commits single paths in the middle of this one


def operation(git_dir: str) -> str:
    """What is under way, by the working tree's own directory: `merge`, `rebase` (or am) …; "" for nothing."""
    return next((name for mark, name in MARKS.items() if os.path.lexists(f"{git_dir}/{mark}")), "")


def refuses_paths(git_dir: str) -> str:
    """The same if git would refuse to commit single paths now."""
    marks = [mark for mark in MARKS if mark not in PARTLY and os.path.lexists(f"{git_dir}/{mark}")]
    return MARKS[marks[0]] if marks else ""
