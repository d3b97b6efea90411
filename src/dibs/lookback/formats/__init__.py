"""The formats in which clients keep their sessions: one file each.

A format's file has `NAME`, `is_first(line)` (is this an object of it, among the first lines of a file?), `folders(home,
environ)` (where the client keeps them) and `Reader`, made with the path of a file. `Reader.read(line)` gives the
moments of one parsed line. It never raises for a line that it does not know: it returns None, and the line is counted
by the version that `Reader.version` has by then. What a tool's input means, `guards/payload.py` reads, as at a hook.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Protocol

    from dibs.lookback.moments import Moment

    class Reader(Protocol):
        """Reads one file of sessions."""

        version: str

        def __init__(self, path: str) -> None:
            """For the file at this path."""

        def read(self, line: dict[str, object]) -> Iterable[Moment] | None:
            """The moments of a line; None if nothing of it is known."""

        def end(self) -> Iterable[Moment]:
            """What is left at the end of the file."""

    class Format(Protocol):
        """A module of this folder."""

        @property
        def NAME(self) -> str:  # noqa: N802 - a module's constant, and so is the next
            """The client's title."""

        @property
        def Reader(self) -> type[Reader]:  # noqa: N802
            """The class that reads a file of it."""

        def is_first(self, line: dict[str, object]) -> bool:
            """Is this one of the first lines of such a file?"""

        def folders(self, home: str, environ: Mapping[str, str]) -> list[str]:
            """Where the client keeps its sessions on this machine."""


def every() -> list[Format]:
    """All formats, in the order in which a file's first lines are shown to them."""
    from dibs.lookback.formats import claude, codex, copilot, gemini, recorded

    return [claude, codex, copilot, gemini, recorded]
