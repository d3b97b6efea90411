"""Reads archives of the log: the events that left the store, in files that can be checked by themselves.

client/upkeep/log_archives.py writes them and says what is in them; the code here is its own. A file that is missing,
cut, changed, or not what its name says is a `BrokenError` with the reason, never a wrong event: gzip's checksum, the
numbers and the seal at the end are checked while it is read. The links are checked by checker.py, like those of the
store.
"""

from __future__ import annotations

import gzip
import os
import zlib
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from dibs import jsontext
from dibs.stores.seam import GENESIS, Event, Head, Seal
from dibs.verify.reading import say, types

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMAT = 1
CHUNK_BYTES = 1024 * 1024
MAX_LINE_BYTES = 256 * 1024 * 1024  # of one event or seal: more than any engine keeps
COLUMNS = 6  # of an event


class BrokenError(Exception):
    """An archive that cannot be trusted; the text says why."""


class Archive:
    """One open archive: its numbers, the seal before it, its events in order, the seal after them."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._file = gzip.open(path, "rb")  # noqa: SIM115 - `events` closes it
        except OSError as error:
            raise BrokenError(_why(error)) from None
        head = self._line()
        if not isinstance(head, dict) or head.get("dibs") != "archive":
            raise BrokenError("it is not an archive of dibs")
        if head.get("format") != FORMAT:
            raise BrokenError(f"it has format {say(head.get('format'))}, this dibs reads {FORMAT}")
        before: Any = head.get("before")
        named: tuple[Any, ...] = (head.get("first"), head.get("last"), head.get("workspace"))
        if types(named) != (int, int, str) or not isinstance(before, dict):
            raise BrokenError("its first line lacks a field")
        self.first, self.last, self.workspace = named
        seal: tuple[Any, ...] = (before.get("seq"), before.get("link"), before.get("body"))
        if types(seal) != (int, str, str) or seal[0] != self.first - 1 or (seal[0] == 0 and seal[1] != GENESIS):
            raise BrokenError("its first line does not name the event before it")
        self.before = Seal(*seal)  # an empty body: there was none
        self.end: Seal | None = None  # known after the last event

    def _line(self) -> Any:
        try:
            text = self._file.readline(MAX_LINE_BYTES)
        except (OSError, EOFError, zlib.error) as error:
            raise BrokenError(_why(error)) from None
        if not text.endswith(b"\n"):
            raise BrokenError("it ends too early")
        try:
            return jsontext.decode(text[:-1].decode("utf-8", "surrogatepass"))
        except (ValueError, TypeError, RecursionError):
            raise BrokenError("a line cannot be read") from None

    def events(self, after: int = 0) -> Iterator[Event]:
        """Its events in order, those above `after`; then the file is closed."""
        with self._file:
            for seq in range(self.first, self.last + 1):
                if seq <= after:
                    self._skip()
                    continue
                row = self._line()
                if not isinstance(row, list) or len(row) != COLUMNS or row[0] != seq:
                    raise BrokenError(f"event {seq} is not in its place")
                yield Event(*row)
            last = self._line()
            seal = last.get("seal") if isinstance(last, dict) else None
            named: tuple[Any, ...] = ()
            if isinstance(seal, dict):
                named = (seal.get("seq"), seal.get("link"), seal.get("body"))
            if types(named) != (int, str, str) or named[0] != self.last:
                raise BrokenError("the seal at its end cannot be read")
            self.end = Seal(*named)
            try:
                if self._file.read(1):
                    raise BrokenError("it continues after its end")
            except (OSError, EOFError, zlib.error) as error:
                raise BrokenError(_why(error)) from None

    def _skip(self) -> None:
        try:
            if not self._file.readline(MAX_LINE_BYTES):
                raise BrokenError("it ends too early")
        except (OSError, EOFError, zlib.error) as error:
            raise BrokenError(_why(error)) from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _why(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "it is missing"
    return f"it is damaged: {say(getattr(error, 'strerror', None) or error)}"


def digest(path: str) -> str:
    """SHA-256 of a file, or BrokenError."""
    found = sha256()
    try:
        with open(path, "rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                found.update(chunk)
    except OSError as error:
        raise BrokenError(_why(error)) from None
    return found.hexdigest()


class Expected:
    """An archive that the record names: where it should be, and what it should be."""

    __slots__ = ("first", "here", "is_settled", "last", "link", "path", "sha256", "size")

    def __init__(self, record: dict[str, Any], folder: str, host: str) -> None:
        self.first, self.last, self.link = record["first"], record["last"], record["link"]
        self.sha256, self.size = record["sha256"], record["size"]
        self.path = os.path.join(folder, os.path.basename(record["file"]))
        self.is_settled = False  # a person accepted that it cannot be read
        self.here = record["host"] == host or os.path.exists(self.path)  # else another machine has it

    def problem(self) -> str:
        """What is wrong with the file as a whole; "" if nothing is. Reads all of it, and opens nothing."""
        try:
            return "" if digest(self.path) == self.sha256 else "it was changed: its digest is different"
        except BrokenError as error:
            return str(error)


class Gap:
    """In a stream of events: those up to `last` cannot be read; the next one comes right after that."""

    __slots__ = ("first", "last", "link", "why")

    def __init__(self, first: int, last: int, link: str, why: str) -> None:
        self.first, self.last, self.link, self.why = first, last, link, why


def alone(path: str) -> tuple[Head, Iterator[Event], list[Seal]]:
    """An archive without its store, for `verify`: a head as its last event says, its events, its seals.

    The list of seals is complete when the events have been read.
    """
    archive = Archive(path)
    seals = [archive.before] if archive.before.body else []
    head = Head(0, archive.last, "", 0)

    def events() -> Iterator[Event]:
        for event in archive.events():
            head.commit, head.link, head.now = event.commit, event.link, event.now
            yield event
        assert archive.end is not None
        seals.append(archive.end)

    return head, events(), seals
