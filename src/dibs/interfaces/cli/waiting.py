"""Progress of a waiting command: on a terminal a spinner with the place in line, else plain lines.

A plain line is printed only when something changed: a model pays for each of them.
"""

from __future__ import annotations

import os
import sys
from time import monotonic

from dibs.errors import named, one_line, say_who
from dibs.interfaces.cli import terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAME_S = 0.1  # between two frames


class Lines:
    """One line at each change of the holders or of the place in line."""

    def __init__(self) -> None:
        self._shown: Any = None

    def update(self, result: dict[str, Any]) -> None:
        """Show the answer to a poll: still waiting."""
        blockers = result.get("blockers", ())
        about = [(one["agent"], one["resource"], one.get("waiting")) for one in blockers], result.get("place")
        if about != self._shown:
            self._shown = about
            text = f": {'; '.join(map(say_who, blockers))}" if blockers else f" for {result['for']}"
            sys.stderr.write(f"dibs: waiting{terminal.clean(text)}{_place(result)}\n")
            sys.stderr.flush()

    def close(self) -> None:
        """End the display with the wait."""


class Spinner(Lines):
    """One line of the terminal, which a thread redraws."""

    def __init__(self) -> None:
        from threading import Event, Thread

        super().__init__()
        self._began = monotonic()
        self._result: dict[str, Any] | None = None
        self._over = Event()
        self._thread = Thread(target=self._draw, daemon=True)
        self._thread.start()

    def update(self, result: dict[str, Any]) -> None:
        self._result = result

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def _draw(self) -> None:
        frame, drawn = 0, False
        while not self._over.wait(FRAME_S):
            if self._result is not None:
                text = f"{FRAMES[frame % len(FRAMES)]} {_sentence(self._result)} · {int(monotonic() - self._began)}s"
                self._put(f"\r\033[K{terminal.cut(text, terminal.width() - 1)}")
                frame, drawn = frame + 1, True
        if drawn:
            self._put("\r\033[K")

    def _put(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:  # the terminal is gone
            self._over.set()


def choose() -> Lines:
    """A spinner on a terminal, else lines."""
    fits = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return Spinner() if fits else Lines()


def _sentence(result: dict[str, Any]) -> str:
    """The holder, the time left, and the place in line."""
    blockers = result.get("blockers", ())
    holder = next((one for one in blockers if not one.get("waiting")), None)
    if holder is None:
        return terminal.clean(f"waiting for {one_line(result['for'])}" if "for" in result else "waiting") + _place(
            result
        )
    from dibs.interfaces.cli.render import times

    return (
        terminal.clean(f"{named(holder)} holds {holder['resource']}")
        + f", {times.left(holder['until'])} left{_place(result)}"
    )


def _place(result: dict[str, Any]) -> str:
    if result.get("line", 1) < 2:  # noqa: PLR2004 - nobody else waits
        return ""
    return f"; place {result['place']} of {result['line']}"
