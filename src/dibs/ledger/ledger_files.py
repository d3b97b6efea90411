"""The files of a ledger: any hook may append lines at any time, and no hook waits for another.

`live` has the lines of ledger/state.py. Appending is one write under a shared lock. Only trimming
the file needs an exclusive lock, and is postponed if the lock is taken. `seen/AGENT` has what an agent knows of files:
one line for each content that it read or made, searched from the end, so that a Read has nothing to read back. `past`
has the changes of ledgers that were compacted since; no hook reads it.

The ledger of the main working tree is in the common folder below git's directory, those of linked ones in its `trees`.

No fsync: after a power loss, a missing line about a seen file costs one more Read, and a missing change is found again.
"""

from __future__ import annotations

import os
import time

from dibs import jsontext
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Read = tuple[list[list[str]], tuple[int, int]]  # lines as their fields; the file's inode and how many bytes

TREES, TOP = "trees", "top"  # below the common folder: the ledgers of linked working trees; each says whose it is
PAST = "past"  # the file of changes that a compacted ledger no longer has
PAST_TRIM_BYTES = 16 * 1024 * 1024  # some hundred thousand changes; then the older half is forgotten
SEEN_TRIM_BYTES = 512 * 1024  # a longer `seen` file is trimmed
LOCK_TRIES, LOCK_PAUSE_S = 50, 0.01  # for the lock, held only during a trim; then append anyway
MAX_NAME_LETTERS = 200  # of a file's name; most filesystems allow 255
BLIND = "?"  # the known content of a file that the agent changed unseen
HEARTBEAT_S = 240  # between two: well within half of the shortest usual life of a claim
MAX_CLIENT_BYTES = 4096  # of the line that names a client's process
FAR_HEARTBEAT_S = 10  # where the store is a server, which leaves no mark here: a kill counts after this time at most
APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
_AHEAD = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now() -> tuple[int, int]:
    """Nanoseconds of the wall clock, and how many seconds it is ahead of the clock since boot."""
    wall = time.time_ns()
    return wall, (wall - time.clock_gettime_ns(_AHEAD)) // 1_000_000_000


def name_of(agent: str) -> str:
    """An agent's id as the name of a file; no two ids share one."""
    if agent.isascii() and agent.replace("-", "").replace("_", "").isalnum():
        name = agent
    else:
        name = "".join(
            [one if one.isascii() and (one.isalnum() or one in "-_@") else f"%{ord(one):x}." for one in agent]
        )
    if len(name) <= MAX_NAME_LETTERS:
        return name
    from dibs.ledger.contents import blob_id

    return f"{name[:100]}%%{blob_id(agent.encode('utf-8', 'surrogateescape'))}"


# --- where it is


def settle(folder: str, top: str) -> None:
    """Put the ledger of a linked working tree where it outlives the tree: in git's common directory.

    `git worktree remove` deletes the tree's own directory, and there only a link. A tree of the same name that is added
    later has no link yet, and gets a ledger of its own.
    """
    if "/worktrees/" not in folder or os.path.islink(folder):
        return
    own = os.path.dirname(folder)
    if not os.path.exists(f"{own}/commondir"):
        return  # the main working tree, of a repository in a folder of that name
    home = f"{os.path.dirname(os.path.dirname(own))}/{os.path.basename(folder)}/{TREES}"
    try:
        os.makedirs(home, 0o700, exist_ok=True)
        fd = os.open(f"{home}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return  # a sandbox: what can be read is read where it is
    try:
        import fcntl

        fcntl.flock(fd, fcntl.LOCK_EX)
        if not os.path.islink(folder):
            _settle(folder, top, f"{home}/{os.path.basename(own)}-{clock.random_id()}")
    finally:
        os.close(fd)


def await_settled(shared: str) -> None:
    """Wait until each ledger that can be seen now has the link of its tree, if the tree is there."""
    try:
        fd = os.open(f"{shared}/{TREES}/lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return
    try:
        import fcntl

        fcntl.flock(fd, fcntl.LOCK_EX)
    finally:
        os.close(fd)


def of_linked(shared: str) -> list[tuple[str, str]]:
    """The ledgers of linked working trees, also of removed ones: the folder, and the top of its tree."""
    found = []
    try:
        names = sorted(os.listdir(f"{shared}/{TREES}"))
    except OSError:
        return []
    for name in names:
        folder = f"{shared}/{TREES}/{name}"
        try:
            with open(f"{folder}/{TOP}", encoding="utf-8", errors="surrogateescape") as file:
                found.append((folder, file.read()))
        except OSError:
            pass  # no ledger
    return found


def note_top(folder: str, top: str) -> None:
    """Note whose ledger it is."""
    with open(f"{folder}/{TOP}", "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(top)


def _settle(folder: str, top: str, kept: str) -> None:
    if os.path.isdir(folder):  # of an earlier version; a line that is written at this moment may be lost
        os.rename(folder, kept)
    else:
        os.mkdir(kept, 0o700)
    note_top(kept, top)
    os.symlink(os.path.relpath(kept, os.path.dirname(folder)), folder)


# --- the ledger itself


def load(folder: str) -> Read:
    """The lines, each as its fields, and what was read: the file's inode and the number of bytes."""
    try:
        fd = os.open(f"{folder}/live", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return [], (0, 0)
    try:
        status = os.fstat(fd)
        data = b""
        while part := os.read(fd, status.st_size + 65_536):
            data += part
    finally:
        os.close(fd)
    data = data[: data.rfind(b"\n") + 1]  # an unfinished line is left out
    return rows(data), (status.st_ino, len(data))


def tail(folder: str, known: tuple[int, int]) -> Read | None:
    """The lines added since; None if the file was replaced."""
    try:
        fd = os.open(f"{folder}/live", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        if status.st_ino != known[0] or status.st_size < known[1]:
            return None
        data = os.pread(fd, status.st_size - known[1], known[1])
    finally:
        os.close(fd)
    data = data[: data.rfind(b"\n") + 1]
    return rows(data), (known[0], known[1] + len(data))


def append(folder: str, lines: Iterable[Sequence[str]], known: tuple[int, int]) -> Read | None:
    """Add lines in one write; returns all lines added since `known`, or None if the file has to be read again."""
    data = _bytes(lines)
    path = f"{folder}/live"
    for turn in range(LOCK_TRIES + 1):
        fd = _open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC)
        try:
            if turn < LOCK_TRIES and not _locked(fd, alone=False):
                os.close(fd)
                fd = -1
                time.sleep(LOCK_PAUSE_S)
                continue
            inode = os.fstat(fd).st_ino
            if turn < LOCK_TRIES and os.stat(path).st_ino != inode:  # it was trimmed in the meantime
                continue
            _write(fd, b"\n" + data if _is_torn(fd) else data)
            if inode != known[0]:
                return None
            added = os.pread(fd, os.fstat(fd).st_size - known[1], known[1])
            added = added[: added.rfind(b"\n") + 1]
            return rows(added), (inode, known[1] + len(added))
        except FileNotFoundError:
            continue
        finally:
            if fd >= 0:
                os.close(fd)
    return None


def note_look(folder: str, when: tuple[int, int], content: str, signature: str, path: str) -> None:
    """Add the one line of a Read: it found at that time what git has. The hook of a Read loads no operation.

    `look_line` in ledger/state.py makes the same line.
    """
    append(folder, [("S", f"{when[0]}:{when[1]}", content, signature, path)], (0, 0))


def replace(
    folder: str, lines: Iterable[Sequence[str]], known: tuple[int, int], past: Sequence[Sequence[str]] = ()
) -> bool:
    """Replace the known lines with these; False if other hooks have added more, or are about to.

    `past` are the lines to be remembered in the file of that name (`dibs undo` reads it). They are written first: a
    crash in between leaves them twice, and their ids tell.
    """
    path = f"{folder}/live"
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if not _locked(fd, alone=True):
            return False
        status = os.fstat(fd)
        if (status.st_ino, status.st_size) != known or os.stat(path).st_ino != status.st_ino:
            return False
        if past:
            _append_past(folder, _bytes(past))
        making = clock.temporary(path)
        new = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            _write(new, _bytes(lines))
        finally:
            os.close(new)
        os.rename(making, path)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def _append_past(folder: str, data: bytes) -> None:
    fd = os.open(f"{folder}/{PAST}", os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _write(fd, b"\n" + data if _is_torn(fd) else data)
    finally:
        os.close(fd)


def past(folder: str) -> list[list[str]]:
    """The changes that compacted ledgers no longer have, the oldest first."""
    try:
        with open(f"{folder}/{PAST}", "rb") as file:
            data = file.read()
    except OSError:
        return []
    return rows(data[: data.rfind(b"\n") + 1])


def trim_past(folder: str, is_young: Callable[[list[str]], bool]) -> None:
    """Forget the remembered changes that are not young, and the oldest of too many.

    Under the ledger's own lock, which a hook that compacts it holds, too; if it is taken, the next boot tries again.
    """
    path = f"{folder}/{PAST}"
    try:
        with open(path, "rb") as file:
            first, size = file.readline(), os.fstat(file.fileno()).st_size
        fd = os.open(f"{folder}/live", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if (any(map(is_young, rows(first))) and size <= PAST_TRIM_BYTES) or not _locked(fd, alone=True):
            return
        with open(path, "rb") as file:
            file.seek(max(0, size - PAST_TRIM_BYTES // 2) if size > PAST_TRIM_BYTES else 0)
            if file.tell():
                file.readline()  # the rest of a line
            left = [line for line in file if any(map(is_young, rows(line)))]
        making = clock.temporary(path)
        with open(making, "wb") as file:
            file.write(b"".join(left))
        os.replace(making, path)
    except OSError:
        pass
    finally:
        os.close(fd)


def rows(data: bytes) -> list[list[str]]:
    """Lines as their fields. Every hook reads the whole ledger: this function and `State.add` are the cost of it."""
    text = data.decode("utf-8", "surrogateescape")
    found = [line.split("\t") for line in text.split("\n")]
    found.pop()  # what follows the last newline: nothing
    if "\\" in text:
        return [[_unescaped(field) for field in row] for row in found]
    return found


def _bytes(lines: Iterable[Sequence[str]]) -> bytes:
    """Fields as lines; tabs and newlines within a field are escaped."""
    return "".join(["\t".join([_escaped(field) for field in line]) + "\n" for line in lines]).encode(
        "utf-8", "surrogateescape"
    )


def _locked(fd: int, *, alone: bool) -> bool:
    import fcntl

    try:
        fcntl.flock(fd, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError as error:
        import errno

        return error.errno not in {errno.EWOULDBLOCK, errno.EAGAIN}  # a filesystem without locks
    return True


def _open(path: str, flags: int) -> int:
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        return os.open(path, flags, 0o600)


def _is_torn(fd: int) -> bool:
    """Does the file end in the middle of a line (after a full disk)? The next line must not be lost with it."""
    size = os.fstat(fd).st_size
    return size > 0 and os.pread(fd, 1, size - 1) != b"\n"


def _write(fd: int, data: bytes) -> None:
    while data:  # more than once only if the disk is nearly full
        data = data[os.write(fd, data) :]


# --- what an agent has seen


def saw(folder: str, agent: str, seen: Iterable[tuple[str, str, int]]) -> None:
    """Note what the agent knows: path, content, and when the content was there."""
    rows = [f"{when}\t{content}\t{_escaped(path)}\n" for path, content, when in seen]
    fd = _open(f"{folder}/seen/{name_of(agent)}", APPEND)
    try:
        _write(fd, "".join(rows).encode("utf-8", "surrogateescape"))
    finally:
        os.close(fd)


class Seen:
    """What one agent knows of files, read once."""

    __slots__ = ("_text",)

    def __init__(self, folder: str, agent: str) -> None:
        try:
            with open(f"{folder}/seen/{name_of(agent)}", "rb") as file:
                self._text = file.read()
        except OSError:
            self._text = b""

    def last(self, path: str) -> str:
        """The content that the agent knows of a path; "" if it never saw the path, "?" if it changed it unseen."""
        found = self._contents(path)
        return max(found)[1] if found else ""

    def ever(self, path: str, content: str) -> bool:
        """Did the agent ever see this content there?"""
        return any(one[1] == content for one in self._contents(path))

    def contents(self, path: str) -> set[str]:
        """All contents that the agent ever knew of a path; "?" if it once changed it unseen."""
        return {content for _, content in self._contents(path)} - {"", "-"}

    def _contents(self, path: str) -> list[tuple[int, str]]:
        """Times and contents. The hook that finds a change notes it for the actor, so lines may be out of order."""
        wanted = b"\t" + _escaped(path).encode("utf-8", "surrogateescape") + b"\n"
        found = []
        place = self._text.find(wanted)
        while place >= 0:
            start = self._text.rfind(b"\n", 0, place) + 1
            when, tab, content = self._text[start:place].partition(b"\t")
            if tab and when.isdigit() and b"\t" not in content:
                found.append((int(when), content.decode("ascii", "replace")))
            place = self._text.find(wanted, place + 1)
        return found

    def files(self) -> dict[str, str]:
        """Every known path with its content; the latest seen comes last."""
        times: dict[str, int] = {}
        found: dict[str, str] = {}
        for row in self._text.split(b"\n"):
            parts = row.split(b"\t")
            if len(parts) == 3 and parts[0].isdigit():  # noqa: PLR2004 - time, content, path
                path = _unescaped(parts[2].decode("utf-8", "surrogateescape"))
                if int(parts[0]) >= times.get(path, 0):
                    times[path] = int(parts[0])
                    found.pop(path, None)
                    found[path] = parts[1].decode("ascii", "replace")
        return found

    @property
    def is_long(self) -> bool:
        """Is it worth trimming?"""
        return len(self._text) > SEEN_TRIM_BYTES


def trim_seen(folder: str, agent: str) -> None:
    """Trim a `seen` file to the last content of each of the last two thousand paths.

    A line that another hook adds at the same time may be lost: then the agent has to read the file once more.
    """
    seen = Seen(folder, agent)
    if not seen.is_long:
        return
    path = f"{folder}/seen/{name_of(agent)}"
    making = clock.temporary(path)
    rows = [f"1\t{content}\t{_escaped(name)}\n" for name, content in list(seen.files().items())[-2000:]]
    with open(making, "wb") as file:
        file.write("".join(rows).encode("utf-8", "surrogateescape"))
    os.replace(making, path)


def _escaped(text: str) -> str:
    if "\\" in text or "\n" in text or "\t" in text:
        return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")
    return text


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return text.replace("\\\\", "\0").replace("\\n", "\n").replace("\\t", "\t").replace("\0", "\\")


# --- heartbeats


def is_due(local: str, agent: str) -> bool:
    """Is the agent's next heartbeat due? Also if the wall clock was set."""
    return not 0 <= _silence_s(local, agent) <= HEARTBEAT_S


def is_due_far(local: str, agent: str) -> bool:
    """Is it due where a server has the store? That leaves no mark of a kill here, so it is asked more often."""
    return not 0 <= _silence_s(local, agent) <= FAR_HEARTBEAT_S and is_elsewhere(local)


def _silence_s(local: str, agent: str) -> float:
    """Seconds since the agent's last heartbeat; -1 if none is known."""
    try:
        return time.time() - os.stat(f"{local}/alive/{name_of(agent)}").st_mtime
    except OSError:
        return -1


def is_elsewhere(local: str) -> bool:
    """Is the store a server, which leaves no mark here? Then it has to be asked."""
    try:
        fd = os.open(f"{local}/store", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not os.read(fd, 7).startswith(b"sqlite")
    finally:
        os.close(fd)


def heard(local: str, agent: str, client: Sequence[object] | None = None) -> None:
    """Note a heartbeat to the store now, and the client's process, so that its end is seen without the store."""
    try:
        fd = _open(f"{local}/alive/{name_of(agent)}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC)
        try:
            os.pwrite(fd, f"{jsontext.encode(client)}\n".encode(), 0)
        finally:
            os.close(fd)
    except OSError:
        pass


def gone(local: str, agents: Iterable[str]) -> list[str]:
    """Those of these agents whose client's process has certainly ended. Agents of one client are one look at it."""
    known: dict[bytes, bool] = {}
    found = []
    for agent in agents:
        try:
            fd = os.open(f"{local}/alive/{name_of(agent)}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            client = os.read(fd, MAX_CLIENT_BYTES).partition(b"\n")[0]
        finally:
            os.close(fd)
        if client not in known:
            known[client] = _is_over(client)
        if known[client]:
            found.append(agent)
    return found


def _is_over(client: bytes) -> bool:
    from dibs.machine import processes

    try:
        process = jsontext.decode(client.decode())
    except ValueError:
        return False
    return process is not None and processes.alive(process) is False
