"""An agent's journal: which file it read or wrote last, and with which content; which of its calls are open.

One file an agent in `.dibs/local/journal/`, lines appended by one write each, so that parallel hooks of one agent do
not mix. It holds facts about files, no decisions: the stale-read guard and the audit compare them with what is there.

A line: KIND ⇥ time ⇥ signature ⇥ blob ⇥ path. Kinds: R read, W wrote or claimed, O and C a call opened and closed (the
path is then the call's id, the blob of O the claims that were taken for it, its signature the length of git's diary),
N when the store should next hear that the agent is active (the time says when).
"""

from __future__ import annotations

import os

from dibs.facts import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.facts.workspace import Place

LARGEST = 512 * 1024  # a longer journal is cut down to what its last lines say
HASHED = 4 * 1024 * 1024  # a bigger file is known by its signature alone
OPEN_FOR = 30 * 60_000  # ms after which a call that was never closed counts as closed
RENEW = 4 * 60_000  # ms between signs of life: well within half of the shortest usual life of a claim
_FILE, _KIND = 0o100000, 0o170000  # st_mode, without importing stat
MISSING = "-"  # signature of what is not there


def name_of(agent: str) -> str:
    """An agent's id as the name of a file; no two ids share one."""
    return "".join([letter if letter.isalnum() or letter in "-_@" else f"%{ord(letter):x}." for letter in agent])[:200]


def agent_named(name: str) -> str:
    """The agent's id from its journal's name."""
    first, *rest = name.split("%")
    return first + "".join([chr(int(part.partition(".")[0], 16)) + part.partition(".")[2] for part in rest])


def inside(place: Place, real: str) -> bool:
    """Is it in this working tree, in the workspace's main one, or in another of the same repository?"""
    if real.startswith((f"{place.top}/", f"{place.root}/")):
        return True
    from dibs.facts import workspace

    directory = os.path.dirname(real)
    while place.common and directory != "/":
        if os.path.isfile(f"{directory}/.git"):
            return workspace.common_of(directory) == place.common
        directory = os.path.dirname(directory)
    return False


def signature(path: str) -> str:
    """What a look at the file shows without reading it."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return MISSING
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ino}"


def blob_of(path: str) -> str:
    """The id that git gives to a file's bytes; "" where they cannot be read."""
    try:
        from _sha1 import sha1  # without hashlib, which costs several milliseconds
    except ImportError:  # pragma: no cover - an interpreter without it
        from hashlib import sha1

    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe would keep a hook waiting
        try:
            status = os.fstat(fd)
            if status.st_mode & _KIND != _FILE or status.st_size > HASHED:
                return ""
            content = b""
            while part := os.read(fd, status.st_size + 1):
                content += part
        finally:
            os.close(fd)
    except (OSError, ValueError):
        return ""
    digest = sha1(b"blob %d\0" % len(content), usedforsecurity=False)
    digest.update(content)
    found: str = digest.hexdigest()
    return found


def line(kind: str, what: str, signature: str = "", blob: str = "", when: int | None = None) -> str:
    """One line of a journal."""
    if "\\" in what or "\n" in what or "\t" in what:
        what = what.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")
    return f"{kind}\t{clock.since_boot() if when is None else when}\t{signature}\t{blob}\t{what}\n"


def append(local: str, agent: str, lines: Iterable[str]) -> None:
    """Add to an agent's journal, in one write."""
    path = f"{local}/journal/{name_of(agent)}"
    data = "".join(lines).encode("utf-8", "surrogateescape")
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    try:
        fd = os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(f"{local}/journal", 0o700, exist_ok=True)
        fd = os.open(path, flags, 0o600)
    try:
        while data:  # more than once only where the disk is full or nearly so
            data = data[os.write(fd, data) :]
    finally:
        os.close(fd)


class Journal:
    """What an agent's journal says, read once."""

    __slots__ = ("_text",)

    def __init__(self, local: str, agent: str = "", *, name: str = "") -> None:
        """An agent's journal, or the one in the file of that name."""
        try:
            with open(f"{local}/journal/{name or name_of(agent)}", "rb") as file:
                self._text = file.read()
        except OSError:
            self._text = b""

    def last(self, path: str) -> tuple[str, str] | None:
        """Signature and blob of a file as the agent last saw or left it; None if it never did."""
        wanted = line("", path).rpartition("\t")[2].encode("utf-8", "surrogateescape")
        found = self._text.rfind(b"\t" + wanted)
        while found >= 0:
            start = self._text.rfind(b"\n", 0, found) + 1
            parts = self._text[start:found].split(b"\t")  # a line that was torn has more or fewer
            if len(parts) == 4 and parts[0] in {b"R", b"W"}:  # noqa: PLR2004 - see the head of this file
                return parts[2].decode(), parts[3].decode()
            found = self._text.rfind(b"\t" + wanted, 0, found)
        return None

    def files(self, kinds: bytes = b"RW") -> dict[str, tuple[str, str]]:
        """Every file that it names, with signature and blob as they were last; the latest named comes last."""
        found: dict[str, tuple[str, str]] = {}
        for row in self._text.split(b"\n"):
            parts = row.split(b"\t")
            if len(parts) == 5 and parts[0] and parts[0] in kinds:  # noqa: PLR2004 - see the head of this file
                path = parts[4].decode("utf-8", "surrogateescape")
                if "\\" in path:
                    path = _unescaped(path)
                found.pop(path, None)
                found[path] = parts[2].decode(), parts[3].decode()
        return found

    def open_calls(self, since: int = 0) -> bool:
        """Has the agent a call open now, or had it one at any time after `since`?"""
        opened: dict[bytes, int] = {}
        at = clock.since_boot()
        for row in self._text.split(b"\n"):
            parts = row.split(b"\t")
            if len(parts) != 5 or parts[0] not in {b"O", b"C"}:  # noqa: PLR2004 - the same
                continue
            if parts[0] == b"O":
                opened[parts[4]] = _number(parts[1])
            else:
                opened.pop(parts[4], None)
                if since and _number(parts[1]) >= since:
                    return True
        return any(at - when < OPEN_FOR for when in opened.values())

    def is_writing(self, path: str) -> bool:
        """Is a call open that was allowed to write this very file? Then who changed it is no question."""
        wanted = line("", path).rpartition("\t")[2].rstrip("\n").encode("utf-8", "surrogateescape")
        opened: dict[bytes, int] = {}
        written = -1
        for number, row in enumerate(self._text.split(b"\n")):
            parts = row.split(b"\t")
            if len(parts) != 5:  # noqa: PLR2004 - the same
                continue
            if parts[0] == b"O":
                opened.setdefault(parts[4], number)
            elif parts[0] == b"C":
                opened.pop(parts[4], None)
            elif parts[0] == b"W" and parts[4] == wanted:
                written = number
        return any(number < written for number in opened.values())

    def _opening(self, call: str) -> list[bytes]:
        """The line by which a call was opened last."""
        wanted = line("", call).rpartition("\t")[2].rstrip("\n").encode("utf-8", "surrogateescape")
        for row in reversed(self._text.split(b"\n")):
            parts = row.split(b"\t")
            if len(parts) == 5 and parts[0] == b"O" and parts[4] == wanted:  # noqa: PLR2004 - the same
                return parts
        return []

    def opened_at(self, call: str) -> int:
        """When a call was opened, in ms since boot; 0 if the journal does not say."""
        found = self._opening(call)
        return _number(found[1]) if found else 0

    def diary_at(self, call: str) -> int:
        """How long git's diary of HEAD was when a shell command began; negative if the journal does not say."""
        found = self._opening(call)
        return _number(found[2]) if found and found[2] else -1

    def claims_of(self, call: str) -> list[str]:
        """The claims that were taken for one call and end with it."""
        found = self._opening(call)
        return found[3].decode().split(",") if found and found[3] else []

    def renewal_due(self) -> bool:
        """Is it time that the store hears of the agent again? A time far ahead is of an earlier boot."""
        found = self._text.rfind(b"\nN\t") + 1
        if not self._text.startswith(b"N\t", found):
            return True
        when = _number(self._text[found + 2 : found + 32].partition(b"\t")[0])
        return not 0 <= when - clock.since_boot() <= RENEW

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self._text)


def _number(text: bytes) -> int:
    """A number of a line; 0 in a line that was torn."""
    return int(text) if text.isdigit() else 0


def next_renewal() -> str:
    """The line that says when the store should hear of the agent again."""
    return line("N", "", when=clock.since_boot() + RENEW)


def compact(local: str, agent: str) -> None:
    """Cut a long journal down to what it says in the end.

    A line that another hook adds meanwhile may be lost: then a file counts as not seen, or seen as it was.
    """
    journal = Journal(local, agent)
    if journal.size <= LARGEST:
        return
    rows = [line("W", path, *known) for path, known in list(journal.files().items())[-2000:]]
    making = f"{local}/journal/{name_of(agent)}.{os.getpid()}"
    with open(making, "wb") as file:
        file.write("".join(rows).encode("utf-8", "surrogateescape"))
    os.replace(making, f"{local}/journal/{name_of(agent)}")


def agents(local: str) -> list[str]:
    """The files of all journals."""
    try:
        return sorted(os.listdir(f"{local}/journal"))
    except OSError:
        return []


def _unescaped(text: str) -> str:
    done, place = "", 0
    while place < len(text):
        if text[place] == "\\" and place + 1 < len(text):
            done += {"n": "\n", "t": "\t"}.get(text[place + 1], text[place + 1])
            place += 2
        else:
            done += text[place]
            place += 1
    return done
