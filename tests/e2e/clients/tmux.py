"""Finds tmux for the tests of `dibs top`: an installed one, else Debian's package for root; and drives it.

    python -m tests.e2e.clients.tmux

Exit 75 (come again later) where none can be had: that is no fault of this project, and it is said.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

LATER = 75  # EX_TEMPFAIL of sysexits.h
MINUTES = 5
WAIT_S = 60


def get() -> int:
    """Have tmux; the exit code."""
    if shutil.which("tmux"):
        return 0
    if os.geteuid() == 0 and shutil.which("apt-get"):
        way = ["apt-get", "install", "--yes", "--quiet", "tmux"]
        print(f"{' '.join(way)} …", flush=True)
        try:
            subprocess.run(way, check=False, capture_output=True, timeout=MINUTES * 60)
        except subprocess.TimeoutExpired:
            return LATER
    return 0 if shutil.which("tmux") else LATER


class Pane:
    """A terminal of a size, in a tmux server of its own, with one command in it."""

    def __init__(self, socket: Path, folder: Path, command: str, size: tuple[int, int], **environment: str) -> None:
        self._tmux = ["tmux", "-S", str(socket), "-f", "/dev/null"]
        known = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "COLUMNS", "LINES", "TMUX"}}
        subprocess.run(
            [*self._tmux, "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), "-c", str(folder),
             f"{command}; echo ended $?; stty -a | grep -o '.icanon'; exec cat"],
            check=True, env={**known, "TERM": "xterm-256color", **environment},
        )  # fmt: skip
        subprocess.run([*self._tmux, "set-option", "-g", "status", "off"], check=True)
        self.resize(size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=False)

    def resize(self, size: tuple[int, int]) -> None:
        """Make the terminal another size."""
        where = ["-x", str(size[0]), "-y", str(size[1])]
        subprocess.run([*self._tmux, "resize-window", *where], check=True)

    def press(self, *keys: str) -> None:
        """Press keys, by tmux's names."""
        subprocess.run([*self._tmux, "send-keys", *keys], check=True)

    def type(self, text: str) -> None:
        """Type a text as it is."""
        subprocess.run([*self._tmux, "send-keys", "-l", text], check=True)

    def lines(self) -> list[str]:
        """What the terminal shows."""
        found = subprocess.run([*self._tmux, "capture-pane", "-p"], check=True, capture_output=True, text=True)
        return found.stdout.split("\n")[:-1]

    def see(self, *texts: str) -> list[str]:
        """What it shows as soon as all these texts are in it."""
        end = time.monotonic() + WAIT_S
        while True:
            lines = self.lines()
            shown = "\n".join(lines)
            if all(text in shown for text in texts):
                return lines
            assert time.monotonic() < end, (texts, shown)
            time.sleep(0.1)

    def gone(self, text: str) -> list[str]:
        """What it shows as soon as this text is not in it."""
        end = time.monotonic() + WAIT_S
        while text in "\n".join(lines := self.lines()):
            assert time.monotonic() < end, (text, lines)
            time.sleep(0.1)
        return lines


if __name__ == "__main__":
    sys.exit(get())
