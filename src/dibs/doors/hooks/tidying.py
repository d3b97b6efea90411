"""Throws away what the guards kept and nobody needs any more: contents of days ago, journals of agents long gone.

Done at boot, a little at a time. A claim lasts hours; what was overwritten under one was made a git object when it was
found, so the copies here are safe to drop after two days.
"""

from __future__ import annotations

import os
import time

DAY = 86_400
CONTENTS = 2 * DAY
JOURNALS = 30 * DAY  # an agent that comes back within a month is still told what changed
A_FEW = 500  # files looked at in one boot


def tidy(local: str) -> None:
    """Remove some of what is old."""
    left = _old_files(f"{local}/journal", JOURNALS, A_FEW)
    try:
        folders = sorted(os.listdir(f"{local}/objects"))
    except OSError:
        return
    first = time.time_ns() // 1_000_000_000 // 60 % len(folders) if folders else 0  # another one each minute
    for folder in folders[first:] + folders[:first]:
        left = _old_files(f"{local}/objects/{folder}", CONTENTS, left)
        if left <= 0:
            return


def _old_files(folder: str, age: int, limit: int) -> int:
    """Remove files of that age; returns how many more may be looked at."""
    before = time.time() - age
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                limit -= 1
                if limit <= 0:
                    break
                if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mtime < before:
                    os.unlink(entry.path)
    except OSError:
        pass
    return limit
