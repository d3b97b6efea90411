"""Processes: which one called dibs, and is it still alive? Read from /proc; from `ps` where there is none (macOS).

A process is named by (host, boot id, pid namespace, pid, start time): a pid alone is reused, the five together never.
No psutil here: this runs before every tool call of every agent.
"""

from __future__ import annotations

import os
import sys

from dibs.machine import caller, clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

MAX_COMMAND_BYTES = 160  # of a command line that people are shown
MAX_LINE_BYTES = 4096  # of a command line that is searched
MAX_ANCESTORS = 24  # deeper than any client starts its hooks; a bound in case of a broken parent chain

_cache: dict[str, str] = {}


def host() -> str:
    """The name of this machine; it survives a reboot."""
    if "host" not in _cache:
        _cache["host"] = _read_first("/etc/machine-id", "/var/lib/dbus/machine-id") or os.uname().nodename
    return _cache["host"]


def namespace() -> str:
    """The pid namespace: the same pid in another container is another process."""
    if "namespace" not in _cache:
        try:
            _cache["namespace"] = os.readlink("/proc/self/ns/pid")[5:-1]
        except OSError:
            _cache["namespace"] = "0"
    return _cache["namespace"]


def boot() -> str:
    """The boot id, read once."""
    if "boot" not in _cache:
        _cache["boot"] = clock.boot_id()
    return _cache["boot"]


def here() -> list[str]:
    """What makes a process local: host, boot and pid namespace."""
    return [host(), boot(), namespace()]


def this() -> list[Any]:
    """The running process itself."""
    found = of(os.getpid())
    assert found is not None, "a running process can be read"
    return found


def of(pid: int) -> list[Any] | None:
    """The full name of a live process with this pid, or None."""
    stat = _stat(pid)
    return None if stat is None else [*here(), pid, stat[1]]


def ancestors(pid: int = 0) -> list[tuple[list[Any], str]]:
    """The processes above the caller's, nearest first, each with its command's name; or `pid` and those above it."""
    found: list[tuple[list[Any], str]] = []
    place = here()
    pid = pid or caller.above()
    while pid > 1 and len(found) < MAX_ANCESTORS:
        stat = _stat(pid)
        if stat is None:
            break
        parent, start, _, name = stat
        found.append(([*place, pid, start], name))
        pid = parent
    return found


def client_among(chain: list[tuple[list[Any], str]], names: Collection[str]) -> list[Any] | None:
    """The agent client among the ancestors, if one is recognised by one of these names."""
    for process, name in chain:
        if name in names:
            return process
    return None


def alive(process: list[Any]) -> bool | None:
    """Is that process still running? None if it cannot be seen from here (another host, another namespace)."""
    their_host, their_boot, their_namespace, pid, start = process
    if their_host != host():
        return None
    if their_boot != boot():
        return False  # this machine was restarted since
    if their_namespace != namespace():
        return None
    stat = _stat(pid)
    return stat is not None and stat[1] == start and stat[2] not in "ZX"


def stopped(pid: int) -> bool:
    """Is that pid paused (SIGSTOP, a debugger)?"""
    stat = _stat(pid)
    return stat is not None and stat[2] in "Tt"


def name_of(pid: int) -> str:
    """The name of a live process, or nothing."""
    stat = _stat(pid)
    return "" if stat is None or stat[2] in "ZX" else stat[3]


def variable_of(process: list[Any], name: str) -> str:
    """A variable of the environment that a local process was started with; "" if it cannot be read."""
    try:
        with open(f"/proc/{process[3]}/environ", "rb") as file:
            started = file.read()
    except OSError:
        return ""
    wanted = name.encode() + b"="
    return next((os.fsdecode(one[len(wanted) :]) for one in started.split(b"\0") if one.startswith(wanted)), "")


def started_by(root: int, variables: Collection[str], value: str) -> list[tuple[int, str]]:
    """Processes below this one, and those whose environment has this value in one of these variables.

    Of each line only the last, with its command line. What a shell left in the background is below none: its
    environment tells. Needs /proc.
    """
    own = {found[0][3] for found in ancestors()} | {os.getpid()}
    parents: dict[int, int] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        stat = _stat(int(name)) if name.isdigit() else None
        if stat is not None and stat[2] not in "ZX":
            parents[int(name)] = stat[0]
    leaves = sorted(parents.keys() - set(parents.values()) - own - {root})
    place = here()
    return [
        (pid, _command_of(pid))
        for pid in leaves
        if root in _above(pid, parents) or any(variable_of([*place, pid, 0], one) == value for one in variables)
    ]


# In the command line of a hook of dibs: of the launcher that a client's shell reads, and of what that starts.
HOOKS = (".dibs/hook", "/dibs/hook", "serve.bash", "/guards/start/entry.py")


def runs_since(root: int, age: int, variables: Collection[str], value: str) -> bool:
    """Does anything run that a client started within the last `age` ms? `root` is the client's process.

    Below a child of it that began since then; or below none, with this value in one of these variables: what a shell
    has left. Hooks of dibs, and the caller's own process, do not count. True where processes cannot be seen.
    """
    if not os.path.isdir("/proc/self"):  # pragma: no cover - macOS
        return True
    ticks = os.sysconf("SC_CLK_TCK")
    since = (clock.since_boot() - age) * ticks // 1000 - 1
    own = {found[0][3] for found in ancestors()} | {os.getpid()}
    stats = {int(name): stat for name in os.listdir("/proc") if name.isdigit() and (stat := _stat(int(name)))}
    live = {pid: stat for pid, stat in stats.items() if stat[2] not in "ZX"}
    place = here()
    for pid in live.keys() - {stat[0] for stat in live.values()} - own - {root}:
        first, above = pid, live[pid][0]
        while above != root and above in live and above > 1:
            first, above = above, live[above][0]
        if above == root:
            began = live[first][1]
        elif any(variable_of([*place, pid, 0], one) == value for one in variables):
            began = live[pid][1]
        else:
            continue
        if began >= since and not any(sign in _command_of(pid, MAX_LINE_BYTES) for sign in HOOKS):
            return True
    return False


def _above(pid: int, parents: dict[int, int]) -> list[int]:
    found: list[int] = []
    while pid in parents and len(found) < MAX_ANCESTORS:
        pid = parents[pid]
        found.append(pid)
    return found


def _command_of(pid: int, most: int = MAX_COMMAND_BYTES) -> str:
    """The words of its command line, as one text."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(most).decode("utf-8", "replace").split("\0")
    except OSError:
        return ""
    return "".join(letter if letter.isprintable() else " " for letter in " ".join(words).strip())


def _stat(pid: int) -> tuple[int, int, str, str] | None:
    """Parent, start time, state and name of a pid, or None if there is no such process."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return _stat_elsewhere(pid) if sys.platform == "darwin" else None
    except OSError:
        return None
    try:
        text = os.read(fd, 1024)
    except OSError:  # it ended between open and read
        return None
    finally:
        os.close(fd)
    # the name is in parentheses and may itself contain blanks and parentheses
    opened, closed = text.index(b"("), text.rindex(b")")
    fields = text[closed + 2 :].split()
    return int(fields[1]), int(fields[19]), fields[0].decode(), text[opened + 1 : closed].decode(errors="replace")


def _stat_elsewhere(pid: int) -> tuple[int, int, str, str] | None:  # pragma: no cover - macOS
    import subprocess
    import zlib

    command = ["/bin/ps", "-o", "ppid=,stat=,lstart=,comm=", "-p", str(pid)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=5)  # noqa: S603 - fixed but for a number
    line = done.stdout.split()
    name_at = 7  # after two words and the five of a date
    if len(line) <= name_at:
        return None
    name = os.path.basename(" ".join(line[name_at:]))
    return int(line[0]), zlib.crc32(" ".join(line[2:name_at]).encode()), line[1][0], name


def _read_first(*paths: str) -> str:
    for path in paths:
        try:
            with open(path, "rb") as file:
                text = file.read(64).decode(errors="replace").strip()
        except OSError:
            continue
        if text:
            return text
    return ""
