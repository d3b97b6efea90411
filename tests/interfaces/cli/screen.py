"""`dibs` on a real terminal: a pty of a chosen size, whose output is read and whose keys can be pressed."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from pathlib import Path

from tests.scratch import DIBS

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

CTRL_C = "\x03"


class Screen:
    """One command on a terminal of its own."""

    def __init__(
        self, folder: Path, *words: str, columns: int = 80, rows: int = 24, program: tuple[str, ...] = (DIBS,),
        **environment: str,
    ) -> None:  # fmt: skip
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        known = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "COLUMNS", "LINES"}}
        self.process = subprocess.Popen(
            [*program, *words], cwd=folder, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env={**known, "TERM": "xterm-256color", **environment},
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - so that Ctrl-C is a signal
        )  # fmt: skip
        os.close(slave)
        self.raw = ""

    def until(self, text: str, seconds: float = 60) -> str:
        """What was shown, as soon as this is in it."""
        end = time.monotonic() + seconds
        while text not in self.raw:
            assert time.monotonic() < end, (text, self.raw)
            assert self._read(end - time.monotonic()), (text, self.raw)
        return self.raw

    def press(self, keys: str) -> None:
        """Type something."""
        os.write(self.master, keys.encode())

    def end(self, seconds: float = 60) -> tuple[int, str]:
        """Wait until it has ended: its exit code, and all that was shown."""
        end = time.monotonic() + seconds
        while self._read(end - time.monotonic()):
            pass
        code = self.process.wait(timeout=max(1, end - time.monotonic()))
        os.close(self.master)
        return code, self.raw.replace("\r\n", "\n")

    def _read(self, seconds: float) -> bool:
        """Some more of the output; False when there is no more."""
        ready, _, _ = select.select([self.master], [], [], max(0.0, seconds))
        if not ready:
            return False
        try:
            found = os.read(self.master, 65_536)
        except OSError:  # the other side is closed
            return False
        self.raw += found.decode(errors="replace")
        return bool(found)


def shown(folder: Path, *words: str, **how: object) -> str:
    """What a command shows on a terminal; it must end well."""
    code, text = Screen(folder, *words, **how).end()  # type: ignore[arg-type]
    assert code == 0, text
    return text


def bare(text: str) -> str:
    """The text without its colours."""
    return ESCAPE.sub("", text)
