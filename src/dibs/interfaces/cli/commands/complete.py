"""`dibs __complete WORD…`: what may follow, for the scripts of `dibs completion`; the last word is being typed."""

from __future__ import annotations

import sys

from dibs.errors import YES
from dibs.interfaces.cli import completion, terminal
from dibs.interfaces.cli.command import Command


def run(arguments: list[str]) -> int:
    """Print each continuation on a line, with what it is after a TAB."""
    for value, text in completion.complete(arguments):
        if value.isprintable():
            sys.stdout.write(f"{value}\t{terminal.clean(text)}\n" if text else f"{value}\n")
    return YES


COMMAND = Command("__complete", "Print what may be typed next.", run=run, raw=True, hidden=True)
