"""Raise KeyboardInterrupt at one bytecode after the other of some files, and nowhere else.

Python's tracing calls a function before every bytecode. That is more than a signal can do (its handler runs only
between certain bytecodes), so whatever survives this survives every Ctrl-C.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

import dibs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, FrameType

ROOT = f"{os.path.dirname(dibs.__file__)}/"
ENGINE_FILES = ("stores/", "testing/memory.py")  # all of them
TOOL = 4  # of the numbers that `sys.monitoring` leaves to anybody


class Interrupter:
    """Runs a function and interrupts it at the bytecode of that number, counted within the watched files."""

    def __init__(self, *watched: str) -> None:
        self._watched = tuple(ROOT + name for name in watched)
        self._left = 0

    def _count(self) -> None:
        self._left -= 1
        if self._left == 0:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def _traced(self) -> Iterator[None]:
        """Count the bytecodes of this thread, as Python 3.11 shows them."""

        def enter(frame: FrameType, _event: str, _arg: Any) -> Any:
            if not frame.f_code.co_filename.startswith(self._watched):
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            return step

        def step(_frame: FrameType, event: str, _arg: Any) -> Any:
            if event == "opcode":
                self._count()
            return step

        sys.settrace(enter)
        try:
            yield
        finally:
            sys.settrace(None)

    @contextlib.contextmanager
    def _monitored(self) -> Iterator[None]:
        """The same from Python 3.12 on, where tracing misses what was not traced the time before."""
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        thread = threading.get_ident()

        def step(code: CodeType, _offset: int) -> Any:
            if not code.co_filename.startswith(self._watched):
                return monitoring.DISABLE
            if threading.get_ident() == thread:
                self._count()
            return None

        monitoring.use_tool_id(TOOL, "dibs tests")
        monitoring.register_callback(TOOL, monitoring.events.INSTRUCTION, step)
        monitoring.restart_events()
        monitoring.set_events(TOOL, monitoring.events.INSTRUCTION)
        try:
            yield
        finally:
            monitoring.set_events(TOOL, 0)
            monitoring.register_callback(TOOL, monitoring.events.INSTRUCTION, None)
            monitoring.free_tool_id(TOOL)

    def interrupt(self, fn: Callable[[], Any], at: int) -> BaseException | None:
        """Run `fn` and interrupt it at bytecode `at`; the interrupt, or None if the function ended before that."""
        self._left = at
        gc.disable()  # what it would run is not of these files
        try:
            with self._monitored() if hasattr(sys, "monitoring") else self._traced():
                fn()
        except KeyboardInterrupt as raised:
            return raised  # with its traceback, as a prompt keeps it: no frame is freed by having been left
        finally:
            gc.enable()
        return None

    def everywhere(self, fn: Callable[[], Any], step: int = 1, start: int = 1) -> Iterator[BaseException]:
        """Interrupt `fn` at one bytecode after the other, until one run of it comes to its end."""
        at = start
        while (raised := self.interrupt(fn, at)) is not None:
            yield raised
            at += step
