"""Recorded calls in a plain form, for whoever measures: `{"session", "cwd", "t", "kind", "text"}` a line.

`kind` is command, read or edit; `text` the command or the path; `branch`, `tool` (`Write` replaces the whole file) may
be there. The sessions may stand in any order: the file is read whole, and sorted. A line with `cmd` alone is a command
of no session: `make corpus` reads it, and here it says nothing.
"""

from __future__ import annotations

from dibs.lookback.formats.session import Session, ms_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dibs.lookback.moments import Moment

NAME = "recorded calls"
WHOLE = "Write"
KINDS = {"command": "Bash", "cmd": "Bash", "read": "Read", "edit": "Edit"}


def is_first(line: dict[str, object]) -> bool:
    """Is this a line of such a file?"""
    return ("cwd" in line and "kind" in line and "text" in line) or list(line) == ["cmd"]


def folders(home: str, environ: Mapping[str, str]) -> list[str]:
    """No client keeps them."""
    del home, environ
    return []


class Reader:
    """Reads one file, in which the sessions may alternate."""

    def __init__(self, path: str) -> None:
        del path
        self.version = ""
        self._session = Session("claude")
        self._read: list[Moment] = []

    def read(self, line: dict[str, object]) -> Iterable[Moment] | None:
        """The moment of a line."""
        tool = KINDS.get(text_of(line.get("kind")))
        text = text_of(line.get("text"))
        session = self._session
        session.session, session.cwd = text_of(line.get("session")), text_of(line.get("cwd"))
        session.agent, session.branch = session.session, text_of(line.get("branch"))
        session.at = ms_of(line.get("t"))
        if not tool or not text or not session.session or not session.at:
            return () if list(line) == ["cmd"] else None
        given = {"command": text} if tool == "Bash" else {"file_path": text}
        if tool == "Edit" and text_of(line.get("tool")) == WHOLE:
            tool, given = WHOLE, {**given, "content": ""}
        found = session.call(tool, given, "")
        self._read += found or ()
        return None if found is None else ()

    def end(self) -> Iterable[Moment]:
        """All of them, by time."""
        return sorted(self._read, key=lambda moment: moment.at)
