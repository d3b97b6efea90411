"""A file lock: one process at a time starts a server or moves a workspace. The kernel drops it with its holder."""

from __future__ import annotations

import fcntl
import os

from dibs.errors import Unavailable
from dibs.machine import clock

POLL_S = 0.05  # between two attempts


class FileMutex:
    """Held between `with` and its end, if it is `mine`; a process that has it for longer than the timeout keeps it."""

    def __init__(self, path: str, timeout_s: float = 0.0) -> None:
        self._path, self._timeout_s = path, timeout_s
        self._fd = -1
        self.mine = False

    def __enter__(self) -> FileMutex:  # noqa: PYI034 - `typing.Self` must not be loaded here
        end = clock.since_boot() + int(self._timeout_s * 1000)
        try:
            os.makedirs(os.path.dirname(self._path), 0o700, exist_ok=True)
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            message = f"{self._path} cannot be written: {error.strerror}. Nothing was changed."
            raise Unavailable(message, path=self._path) from None
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if clock.since_boot() >= end:
                    return self
            else:
                self.mine = self._is_in_place()
                return self
            clock.sleep(POLL_S)

    def _is_in_place(self) -> bool:
        """Is it the file that others find? While this process waited, the workspace may have been deleted."""
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(self._fd))
        except OSError:
            return False

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)
