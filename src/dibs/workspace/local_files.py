"""Files next to the store that were left behind or grew old: found by name and age, and folders kept below a size.

Only files that dibs itself names are ever found here; everything else in these folders is left alone. What writes files
below `.dibs/local/` or git's directory bounds them with `oldest_beyond`.
"""

from __future__ import annotations

import errno
import os
import stat

from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

HOUR_S, DAY_S = 3_600, 86_400
HEX = frozenset("0123456789abcdef")
TEMPORARY_FOLDERS = ("", "archive", "runs", "results", "commits", "alive")  # below .dibs/local/: where files are made
CONFIG_CACHE_LIFE_S = 7 * DAY_S  # what was read of a config that is not used any more
COMMIT_MEMORY_LIFE_S = DAY_S  # of a git process that checked a commit


def temporary_files(local: str) -> list[str]:
    """Files that a process was writing when it ended: `NAME.PID.THREAD` of a dead process, older than an hour."""
    found = []
    for folder in TEMPORARY_FOLDERS:
        where = os.path.join(local, folder)
        for name, _, age in _files(where):
            pid = _writer(name)
            if pid and age > HOUR_S and not _lives(pid):
                found.append(os.path.join(where, name))
    return sorted(found)


def _writer(name: str) -> int:
    """The process in a temporary name (machine/clock.py, `dibs.db.making-PID`); 0 for any other name."""
    base, _, last = name.rpartition(".")
    if last.startswith("making-") and last[7:].isdigit():
        return int(last[7:])
    rest, _, pid = base.rpartition(".")
    return int(pid) if rest and pid.isdigit() and last and HEX.issuperset(last) else 0


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def config_caches(local: str, configs: Iterable[str]) -> list[str]:
    """What was kept of configs that are not those of any working tree any more."""
    used = {"config-none.json"}
    for path in configs:
        try:
            used.add(f"config-{os.stat(path).st_ino}.json")
        except OSError:
            continue
    return sorted(
        os.path.join(local, name)
        for name, _, age in _files(local)
        if name.startswith("config-") and name.endswith(".json") and name not in used and age > CONFIG_CACHE_LIFE_S
    )


def commit_memories(local: str) -> list[str]:
    """Notes of git processes that ended without a commit."""
    folder = os.path.join(local, "commits")
    return sorted(
        os.path.join(folder, name)
        for name, _, age in _files(folder)
        if name != "told" and age > COMMIT_MEMORY_LIFE_S and set(name) <= HEX | {"-"}
    )


def dead_pipes(local: str) -> list[str]:
    """Pipes of waiters that were killed: nobody reads them."""
    folder = os.path.join(local, "wakes")
    try:
        with os.scandir(folder) as entries:
            pipes = [one.path for one in entries if stat.S_ISFIFO(one.stat(follow_symlinks=False).st_mode)]
    except OSError:
        return []
    return sorted(pipe for pipe in pipes if not _is_read(pipe))


def _is_read(pipe: str) -> bool:
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError as error:
        return error.errno != errno.ENXIO
    return True


def oldest_beyond(folder: str, limit: int, endings: tuple[str, ...]) -> list[str]:
    """The oldest files of a folder with these endings, as many as it takes to come below `limit` bytes.

    The function for whatever keeps files and has a limit of bytes: give what it returns to `remove`.
    """
    files = sorted(((age, size, name) for name, size, age in _files(folder) if name.endswith(endings)), reverse=True)
    over = sum(size for _, size, _ in files) - limit
    found = []
    for _, size, name in files:
        if over <= 0:
            break
        found.append(os.path.join(folder, name))
        over -= size
    return found


def remove(paths: Iterable[str]) -> list[str]:
    """Remove files; returns those that are gone now."""
    gone = []
    for path in paths:
        try:
            os.unlink(path)
        except OSError:
            continue
        gone.append(path)
    return gone


def _files(folder: str) -> list[tuple[str, int, float]]:
    """The plain files of a folder: name, size, and age in seconds."""
    now = clock.wall() / 1000
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    found.append((entry.name, status.st_size, now - status.st_mtime))
    except OSError:
        return []
    return found
