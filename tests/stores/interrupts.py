"""Raise KeyboardInterrupt at one bytecode after the other of some files, and nowhere else.

Python's tracing calls a function before every bytecode. That is more than a signal can do (its handler runs only
between certain bytecodes), so whatever survives this survives every Ctrl-C.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING, Any

import dibs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

ROOT = f"{os.path.dirname(dibs.__file__)}/"


class Interrupter:
    """Runs a function and interrupts it at the bytecode of that number, counted within the watched files."""

    def __init__(self, *watched: str) -> None:
        self._watched = tuple(ROOT + name for name in watched)
        self._left = 0

    def _enter(self, frame: FrameType, _event: str, _arg: Any) -> Any:
        if not frame.f_code.co_filename.startswith(self._watched):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._step

    def _step(self, _frame: FrameType, event: str, _arg: Any) -> Any:
        if event == "opcode":
            self._left -= 1
            if self._left == 0:
                raise KeyboardInterrupt
        return self._step

    def interrupt(self, fn: Callable[[], Any], at: int) -> BaseException | None:
        """Run `fn` and interrupt it at bytecode `at`; the interrupt, or None if the function ended before that."""
        self._left = at
        gc.disable()  # what it would run is not of these files
        sys.settrace(self._enter)
        try:
            fn()
        except KeyboardInterrupt as raised:
            return raised  # with its traceback, as a prompt keeps it: no frame is freed by having been left
        finally:
            sys.settrace(None)
            gc.enable()
        return None

    def everywhere(self, fn: Callable[[], Any], step: int = 1, start: int = 1) -> Iterator[BaseException]:
        """Interrupt `fn` at one bytecode after the other, until one run of it comes to its end."""
        at = start
        while (raised := self.interrupt(fn, at)) is not None:
            yield raised
            at += step
