"""Files that get a kept content back: whole or not at all, with the kind of file that it was."""

from __future__ import annotations

import os
from stat import S_ISREG

from dibs.ledger import contents

NEW_FILE_MODE = 0o666  # less what the umask takes


def put(path: str, content: bytes | None, kind: str, making: str) -> None:
    """Make the file have this content and kind, in one step; None removes it. Raises OSError.

    `making` is where the new file is made first: on the same filesystem, under a name that a later run knows.
    """
    if content is None:
        os.unlink(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        os.unlink(making)  # of a run that was killed
    except FileNotFoundError:
        pass
    if kind == contents.LINKED:
        os.symlink(os.fsdecode(content), making)
    else:
        fd = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), _mode(path, kind))
            os.fsync(file.fileno())
    os.replace(making, path)


def chmod(path: str, kind: str) -> None:
    """Only the kind changes."""
    os.chmod(path, _mode(path, kind))


def _mode(path: str, kind: str) -> int:
    """The mode that the file has, executable for all who may read it, or for none."""
    try:
        mode = os.lstat(path).st_mode
        mode = mode & 0o777 if S_ISREG(mode) else NEW_FILE_MODE & ~_umask()
    except OSError:
        mode = NEW_FILE_MODE & ~_umask()
    return mode | (mode & 0o444) >> 2 if kind == contents.EXECUTABLE else mode & ~0o111


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
