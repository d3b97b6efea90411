"""The terminal: raw keys, the other screen, colours; repaints only the lines that changed. Gives back what it took.

Escape sequences that every terminal of the last thirty years knows; no terminfo, no library. Nothing that agents wrote
is an escape sequence by the time it is here (words.plain), and no line wraps.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import struct
import sys
import termios
import tty

from dibs.doors.cli import terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Self

    from dibs.doors.top.draw import Line

# style → SGR
_CODES = {
    "bold": "1", "dim": "2", "bad": "31", "ok": "32", "wait": "33", "held": "36", "dead": "90", "selected": "7",
}  # fmt: skip
_ON = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h\x1b[2J"  # other screen, no cursor, no wrapping, marked pastes
_OFF = "\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[0m\x1b[?1049l"
SMALLEST = (40, 10)
MOST_INPUT = 65_536


class Screen:
    """The terminal, as long as `top` has it."""

    def __init__(self) -> None:
        self._out, self._in = sys.stdout, sys.stdin.fileno()
        self._colored = terminal.colored(sys.stdout)
        self._shown: list[str] = []
        self._size = (0, 0)
        self._before: Any = None
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        os.set_blocking(self._wake_read, False)
        self._handlers: dict[int, object] = {}
        self.ended_by = 0  # the signal that ends it

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(self._in)
        for number in (signal.SIGWINCH, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGCONT):
            self._handlers[number] = signal.signal(number, self._signalled)
        self._take()
        return self

    def __exit__(self, *_: object) -> None:
        self._give_back()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type] # what `signal` gave us
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _take(self) -> None:
        tty.setraw(self._in, termios.TCSADRAIN)
        self._shown, self._size = [], (0, 0)
        self._write(_ON)

    def _give_back(self) -> None:
        try:
            self._write(_OFF)
        except OSError:  # the terminal is gone
            pass
        if self._before is not None:
            try:
                termios.tcsetattr(self._in, termios.TCSAFLUSH, self._before)
            except termios.error:
                pass

    def _signalled(self, number: int, _: FrameType | None) -> None:
        if number in {signal.SIGTERM, signal.SIGHUP, signal.SIGINT}:
            self.ended_by = number
        elif number == signal.SIGCONT:
            self._take()
        self.wake()

    def wake(self) -> None:
        """End a wait for keys. Any thread may call it."""
        try:
            os.write(self._wake_write, b".")
        except (BlockingIOError, OSError):
            pass  # it is awake, or over

    def suspend(self) -> None:
        """Ctrl-Z: back to the shell until it says `fg`."""
        self._give_back()
        os.kill(os.getpid(), signal.SIGSTOP)

    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        try:
            rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(self._out.fileno(), termios.TIOCGWINSZ, b"\0" * 8))
        except OSError:
            rows, columns = 24, 80
        return max(SMALLEST[0], columns or 80), max(SMALLEST[1], rows or 24)

    def keys(self, seconds: float) -> bytes | None:
        """What was typed within this time; b"" if nothing was, None if the terminal is gone."""
        try:
            ready, _, _ = select.select([self._in, self._wake_read], [], [], max(0.0, seconds))
        except InterruptedError:
            return b""
        if self._wake_read in ready:
            try:
                os.read(self._wake_read, 4096)
            except BlockingIOError:
                pass
        if self._in not in ready:
            return b""
        try:
            return os.read(self._in, MOST_INPUT) or None
        except OSError:
            return None

    def paint(self, lines: list[Line], cursor: tuple[int, int] | None = None) -> None:
        """Show these lines: those that differ from what is there. `cursor` is where text is being typed."""
        size = self.size()
        parts = []
        if size != self._size:
            self._shown, self._size = [], size
            parts.append("\x1b[2J")
        drawn = [self._drawn(line) for line in lines[: size[1]]]
        for row, text in enumerate(drawn):
            if row >= len(self._shown) or self._shown[row] != text:
                erase = "" if text.isascii() else "\x1b[2K"  # a letter may be narrower there than it is counted here
                parts.append(f"\x1b[{row + 1};1H{erase}{text}")
        self._shown = drawn
        parts.append(f"\x1b[{cursor[1] + 1};{cursor[0] + 1}H\x1b[?25h" if cursor else "\x1b[?25l")
        if len(parts) > 1 or cursor:
            self._write(f"\x1b[?2026h{''.join(parts)}\x1b[?2026l")  # at once, where the terminal knows how

    def _drawn(self, line: Line) -> str:
        if not self._colored:
            # what is selected has its mark; nothing depends on a colour
            return "".join([text for text, _ in line])
        found = []
        for text, style in line:
            codes = ";".join([_CODES[word] for word in style.split() if word in _CODES])
            found.append(f"\x1b[{codes}m{text}\x1b[0m" if codes else text)
        return "".join(found)

    def _write(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        out = self._out.fileno()
        while data:
            try:
                data = data[os.write(out, data) :]
            except BlockingIOError:
                select.select([], [out], [], 1.0)
