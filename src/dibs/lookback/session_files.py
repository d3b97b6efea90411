"""The files of sessions: which there are, their lines, and their moments merged by time.

A file is read in pieces, so that any number of sessions can be under way and memory stays flat. What cannot be read
(a line that no format knows, a torn or very long one, a file that is not ours to read) is counted, never an error.
"""

from __future__ import annotations

import gzip
import heapq
import os
import zlib
from collections import Counter, OrderedDict
from itertools import islice

from dibs import jsontext
from dibs.lookback import formats
from dibs.lookback.formats.session import ms_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from dibs.lookback.formats import Format
    from dibs.lookback.moments import Moment

PIECE_BYTES = 256 * 1024  # of a file, read at once
MAX_LINE_BYTES = 32 * 1024 * 1024  # a longer line has a picture or a log in it
MAX_WHOLE_BYTES = 64 * 1024 * 1024  # of a session that is one JSON text
FIRST_LINES = 20  # of a file, in which its format and its first time are
MAX_COPIES = 20_000  # ids of calls that are remembered: a resumed session has copies of the same moments
MAX_FILES = 200_000
ENDS = (".jsonl", ".jsonl.gz", ".json")


class Unread:
    """What could not be read, by the reason."""

    def __init__(self) -> None:
        self.lines: Counter[str] = Counter()  # by format and version
        self.files: Counter[str] = Counter()  # by reason
        self.read = 0  # lines
        self.size = 0  # bytes

    def as_json(self) -> dict[str, dict[str, int]]:
        """Plain figures."""
        return {"lines": dict(self.lines.most_common()), "files": dict(self.files.most_common())}


class SessionFile:
    """One file with sessions of a known format."""

    __slots__ = ("format", "path", "since")

    def __init__(self, path: str, format: Format, since: int) -> None:
        self.path, self.format, self.since = path, format, since  # since: its first time


def default_folders(home: str, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Where the clients keep their sessions here: (client, folder)."""
    return [(one.NAME, folder) for one in formats.every() for folder in one.folders(home, environ)]


def find(folders: Iterable[str], unread: Unread, seen: Callable[[int], None], *, since: int = 0) -> list[SessionFile]:
    """The files of sessions in these folders (or these files), by the time at which they begin."""
    known = formats.every()
    found: list[SessionFile] = []
    for path in islice(_paths(folders, unread), MAX_FILES):
        seen(len(found))
        try:
            if since and os.stat(path).st_mtime * 1000 < since:
                continue
            file = _known(path, known)
        except (OSError, EOFError, zlib.error) as error:
            unread.files[getattr(error, "strerror", None) or "not readable"] += 1
            continue
        if file is not None:
            found.append(file)
    return sorted(found, key=lambda file: (file.since, file.path))


def _paths(folders: Iterable[str], unread: Unread) -> Iterator[str]:
    """All files that may be sessions, each once, whatever links lead to it."""
    told: set[str] = set()
    for start in filter(os.path.lexists, folders):  # most people have one or two of the clients
        if os.path.isfile(start):
            named: Iterable[tuple[str, list[str]]] = [(os.path.dirname(start) or ".", [os.path.basename(start)])]
        else:
            walk = os.walk(start, onerror=lambda error: unread.files.update([error.strerror or "not readable"]))
            named = ((folder, sorted(names)) for folder, _, names in walk)
        for folder, names in named:
            for name in names:
                path = os.path.realpath(os.path.join(folder, name))
                if name.endswith(ENDS) and path not in told and os.path.isfile(path):
                    told.add(path)
                    yield path


def _known(path: str, known: list[Format]) -> SessionFile | None:
    """The file with its format; None if it has no sessions, as most `.json` files near them."""
    if path.endswith(".json") and "chats" not in path and "session" not in os.path.basename(path):
        return None
    if path.endswith(".json") and os.path.getsize(path) > MAX_WHOLE_BYTES:
        raise OSError(0, "one JSON text above 64 MiB")
    at = 0
    kind: Format | None = None
    for line in islice(_objects(path, Unread()), FIRST_LINES):
        if line is not None:
            kind = kind or next((one for one in known if one.is_first(line)), None)
            at = next((ms for name in ("timestamp", "startTime", "t") if (ms := ms_of(line.get(name)))), 0)
        if kind is not None and at:
            break
    return None if kind is None else SessionFile(path, kind, at)


def _objects(path: str, unread: Unread) -> Iterator[dict[str, object] | None]:
    """The JSON objects of a file; None for a line that is none."""
    if path.endswith(".json"):
        with open(path, "rb") as file:
            data = file.read(MAX_WHOLE_BYTES)
        unread.size += len(data)
        yield _object(data)
        return
    for line in _lines(path, unread):
        if line.strip():
            yield _object(line)


def _object(line: bytes) -> dict[str, object] | None:
    try:
        found = jsontext.decode(line.decode("utf-8", "replace").strip())
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _lines(path: str, unread: Unread) -> Iterator[bytes]:
    """The lines of a file. Nothing stays open between two pieces; a line that is too long comes as an empty object."""
    rest = bytearray()
    is_long = False
    for piece in _pieces(path):
        unread.size += len(piece)
        first, *more = piece.split(b"\n")
        if not is_long:
            rest += first
        for line in more:
            if not is_long:
                yield bytes(rest)
            is_long = False
            rest = bytearray(line)
        if len(rest) > MAX_LINE_BYTES:
            yield b"{}"
            rest, is_long = bytearray(), True
    if rest and not is_long:
        yield bytes(rest)


def _pieces(path: str) -> Iterator[bytes]:
    if path.endswith(".gz"):
        with gzip.open(path) as packed:
            while piece := packed.read(PIECE_BYTES):
                yield piece
        return
    at = 0
    while True:
        with open(path, "rb") as file:
            file.seek(at)
            piece = file.read(PIECE_BYTES)
        if not piece:
            return
        at += len(piece)
        yield piece


def moments_of(file: SessionFile, unread: Unread) -> Iterator[Moment]:
    """The moments of one file, in its order."""
    reader = file.format.Reader(file.path)
    try:
        for line in _objects(file.path, unread):
            unread.read += 1
            try:
                found = reader.read(line) if line else None
            except Exception:  # noqa: BLE001 - a line never ends the look; it is counted
                found = None
            if found is None:
                unread.lines[f"{file.format.NAME} {reader.version or '?'}"] += 1
            else:
                yield from found
        yield from reader.end()
    except (OSError, EOFError, zlib.error) as error:
        unread.files[getattr(error, "strerror", None) or "cut short"] += 1


def merged(files: list[SessionFile], unread: Unread) -> Iterator[Moment]:
    """The moments of all files by time, each call once. A file is begun when its time has come."""
    waiting: list[tuple[int, int, Moment, Iterator[Moment]]] = []
    told: OrderedDict[tuple[str, str], None] = OrderedDict()
    number = place = 0
    while waiting or place < len(files):
        while place < len(files) and (not waiting or files[place].since <= waiting[0][0]):
            begun = moments_of(files[place], unread)
            place, number = place + 1, number + 1
            first = next(begun, None)
            if first is not None:
                heapq.heappush(waiting, (first.at, number, first, begun))
        if not waiting:
            break
        at, own, moment, rest = waiting[0]
        following = next(rest, None)
        if following is None:
            heapq.heappop(waiting)
        else:  # a file's own order counts, whatever its clock says
            heapq.heapreplace(waiting, (max(at, following.at), own, following, rest))
        moment.at = at
        key = (moment.client, moment.call)
        if moment.call and key in told:
            continue
        told[key] = None
        if len(told) > MAX_COPIES:
            told.popitem(last=False)
        yield moment
