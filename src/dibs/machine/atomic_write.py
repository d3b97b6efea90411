"""Files that are written in one step: a reader sees the old content or the new one, never a part of it.

For small files of dibs itself. A failure raises OSError and leaves no temporary file; the caller says what it means.
"""

from __future__ import annotations

import os

from dibs.machine import clock

FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
DEFAULT_MODE = 0o666  # less what the umask takes
PRIVATE_MODE = 0o600


def replace(path: str, content: str | bytes, *, mode: int = DEFAULT_MODE, sync: bool = False) -> None:
    """Make the file have this content, a text as UTF-8 (a surrogate is the byte that it stands for).

    `mode` is that of the new file; with `sync` its content survives a power loss. Raises OSError.
    """
    making = clock.temporary(path)
    _remove(making)  # of a killed process that had the same number
    try:
        with os.fdopen(os.open(making, FLAGS, mode), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(making, path)
    except BaseException:
        _remove(making)
        raise


def sync_folder(folder: str) -> None:
    """Make new names in a folder survive a power loss."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
