"""A long text at a terminal, a screen at a time, by the reader's own pager (PAGER), as git and man do it."""

from __future__ import annotations

import os
import shutil
import sys

from dibs.errors import YES
from dibs.interfaces.cli import terminal

DEFAULT = "less"


def show(lines: list[str]) -> int:
    """Print the lines; in a pager if standard output is a terminal that they do not fit on."""
    text = "".join(f"{terminal.styled(line, getattr(line, 'style', ''), sys.stdout)}\n" for line in lines)
    command = _command() if terminal.is_terminal() and len(lines) >= shutil.get_terminal_size().lines else []
    if not command or not _paged(command, text):
        sys.stdout.write(text)
    return YES


def _command() -> list[str]:
    """The words of the pager; none if there is none, or if the reader wants none."""
    import shlex

    try:
        words = shlex.split(os.environ.get("PAGER", DEFAULT))
    except ValueError:
        return []
    return words if words and words != ["cat"] and shutil.which(words[0]) else []


def _paged(command: list[str], text: str) -> bool:
    """Let the pager show it, until the reader leaves it. False if it cannot be started."""
    import subprocess

    environment = {"LESS": "FRX", "LV": "-c", **os.environ}
    try:
        pager = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, encoding="utf-8", env=environment)  # noqa: S603 - it is the reader's own
    except OSError:
        return False
    assert pager.stdin is not None
    try:
        pager.stdin.write(text)
        pager.stdin.close()
    except (BrokenPipeError, KeyboardInterrupt):  # it was left before its end
        pass
    while True:
        try:
            pager.wait()
        except KeyboardInterrupt:  # is the pager's own: it stays until it is left
            continue
        return True
