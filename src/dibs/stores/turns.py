"""Turns: one thread of this process at a time uses a store, and no interrupt can leave the store taken.

An exception from a signal handler (Ctrl-C) can come at any bytecode, also at those that would give a lock back. So a
turn is not a lock that has to be released. It is an entry in a list, and it counts for as long as the call that made it
is on the stack of its thread. A thread that finds an ended entry in front removes it.

A process that was forked gets no turn: a socket, a lock or a database that it shares with its parent would mix their
answers.

Every change of the list is one call of a C function, which either happened or did not. At the start of a turn an engine
repairs whatever the previous turn left undone.
"""

from __future__ import annotations

import _thread
import os
import sys

from dibs.errors import Busy, Unavailable
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import TypeVar

    A = TypeVar("A")
    R = TypeVar("R")

POLL_S = 0.02  # between two looks at the front of the line; usually the event is set earlier


class _Turn:
    """One call in the line."""

    __slots__ = ("bell", "frame", "thread")

    def __init__(self, frame: FrameType) -> None:
        self.thread = _thread.get_ident()
        self.frame: FrameType | None = frame
        self.bell: _thread.LockType | None = None

    def ended(self) -> bool:
        """Is the call that made this entry no longer on the stack of its thread?"""
        frame = sys._current_frames().get(self.thread)
        while frame is not None:
            if frame is self.frame:
                return False
            frame = frame.f_back
        return True


class Turns:
    """The line in front of one store. With `nested`, a call inside a call of the same thread runs at once.

    `begin` is called when a turn begins that is not inside another one; `where` names the store in a refusal.
    """

    def __init__(self, begin: Callable[[], None], where: str, *, nested: bool = False) -> None:
        self._begin = begin
        self._where = where
        self._nested = nested
        self._line: list[_Turn] = []
        self._pid = os.getpid()

    def call(self, body: Callable[[A], R], argument: A, timeout_s: float) -> R:
        """Run `body(argument)` while no other thread of this process runs one. Raises Busy after the timeout.

        The turn lasts as long as this frame: it does nothing else.
        """
        self.refuse_forked()
        turn = _Turn(sys._getframe())
        try:
            self._line.append(turn)
            if self._line[0] is turn or self._wait(turn, timeout_s):
                self._begin()
            return body(argument)
        finally:
            turn.frame = None  # it would keep itself alive
            try:
                self._line.remove(turn)
            except ValueError:  # it was never in the line, or ran inside another turn
                pass
            if self._line:
                self._ring()

    def refuse_forked(self) -> None:
        """Refuse a store that was opened before this process was forked."""
        if os.getpid() != self._pid:
            raise forked(self._where)

    def is_another(self) -> bool:
        """Is it another thread's turn right now?"""
        try:
            return self._line[0].thread != _thread.get_ident()
        except IndexError:
            return False

    def _wait(self, turn: _Turn, timeout_s: float) -> bool:
        """Wait until this turn is first in the line; False if it runs inside another turn."""
        end = clock.since_boot() + int(timeout_s * 1000)
        turn.bell = _thread.allocate_lock()
        turn.bell.acquire()
        while (first := self._line[0]) is not turn:
            if first.ended():
                try:
                    self._line.remove(first)
                except ValueError:  # another thread was faster
                    pass
                continue
            if first.thread == turn.thread:  # a call inside a call
                if not self._nested:
                    raise Busy("the store is busy: this very thread is in the middle of another call (did a signal "
                               "handler call dibs?).", pid=os.getpid(), nested=True)  # fmt: skip
                self._line.remove(turn)
                return False
            if clock.since_boot() >= end:
                raise Busy(pid=os.getpid(), stopped=False, waited=timeout_s)
            turn.bell.acquire(timeout=POLL_S)
        return True

    def _ring(self) -> None:
        """Wake the next thread, which would otherwise notice at its next poll."""
        try:
            bell = self._line[0].bell
            if bell is not None:
                bell.release()
        except (IndexError, RuntimeError):  # it has left, or was woken already
            pass


def forked(where: str) -> Unavailable:
    """The refusal of what was opened before this process was forked."""
    message = f"{where} was opened before this process was forked. Nothing was changed; open it again here."
    return Unavailable(message, store=where, forked=True)
