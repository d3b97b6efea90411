"""The files of the demo: the shared files, each agent's journal, and the markers by which the parent directs the play.

A shared file is a counter and the list of the edits made to it. An edit reads all of it and later writes all of it, as
an agent's Write tool does; through a new file and a rename, so that a reader never sees half a file. So an edit can be
lost only because another agent overwrote it.
"""

from __future__ import annotations

import os

from dibs import jsontext
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.operations.claims.answers import BlockerView
    from dibs.stores.seam import Json

    class JournalLine(TypedDict, total=False):
        """A line of a journal."""

        kind: str
        agent: str  # whose journal it is; its reader adds it
        at: int  # on the clock since boot
        file: str
        edit: str
        edits: int  # of others, that are overwritten
        message: str
        code: str
        token: int
        holder: str
        blockers: list[BlockerView]
        expires_at: str


HEADING = "edits: "
POLL_S = 0.005  # between two looks at a marker


class Shared:
    """The content of one shared file."""

    __slots__ = ("count", "edits")

    def __init__(self, count: int = 0, edits: list[str] | None = None) -> None:
        self.count = count
        self.edits = edits or []

    def add(self, edit: str) -> None:
        """Make one edit, in this copy."""
        self.count += 1
        self.edits.append(edit)


def read(path: str) -> Shared:
    """Read a whole shared file."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    return Shared(int(lines[0].removeprefix(HEADING)), lines[1:])


def write(path: str, content: Shared, making: str) -> None:
    """Write a whole shared file. `making` is the temporary file, outside the repository."""
    with open(making, "w", encoding="utf-8") as file:
        file.write("\n".join([f"{HEADING}{content.count}", *content.edits]) + "\n")
    os.replace(making, path)


class Journal:
    """One agent's own record. A line about a write is on the disk before the agent continues."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def note(self, kind: str, **facts: Json) -> None:
        """Add a line."""
        os.write(self._file, (jsontext.encode({"kind": kind, **facts}) + "\n").encode())
        if kind == "wrote":
            os.fsync(self._file)


class JournalReader:
    """Reads a growing journal, each line once."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._place = 0

    def more(self) -> list[JournalLine]:
        """The new lines since the last call."""
        try:
            with open(self._path, "rb") as file:
                file.seek(self._place)
                text = file.read()
        except FileNotFoundError:
            return []
        whole = text[: text.rfind(b"\n") + 1]  # an unfinished line is read next time
        self._place += len(whole)
        return [jsontext.decode(line) for line in whole.decode().splitlines()]


class Markers:
    """Empty files in one folder: "I have read it", "it is dead", "continue"."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def put(self, name: str) -> None:
        """Touch a marker."""
        with open(f"{self._folder}/{name}", "w", encoding="utf-8"):
            pass

    def there(self, name: str) -> bool:
        """Was it touched?"""
        return os.path.exists(f"{self._folder}/{name}")

    def wait(self, name: str, seconds: float) -> bool:
        """Wait for a marker, until the timeout, or until no process is left to touch it."""
        end = clock.since_boot() + seconds * 1000
        parent = os.getppid()
        while not self.there(name):
            if clock.since_boot() > end or os.getppid() != parent:
                return False
            clock.sleep(POLL_S)
        return True
