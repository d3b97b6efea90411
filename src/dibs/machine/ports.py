"""TCP ports of this machine: which of a range something listens on now, and which process that is.

Linux tells it in two files, as this network namespace sees it. Elsewhere each port is tried: what cannot be bound on
the loopback addresses and on all addresses is in use. What forwards a port without listening on it (iptables rules of
a container engine without its proxy) is not seen. Nothing is decided here.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
LISTEN = "0A"  # the state, in the fourth column; those that listen come first
MAX_LINES = 100_000  # of a table
MAX_TRIED = 4_096  # ports: as many as a pool may have
MAX_PROCESSES = 50_000  # that are looked through for one owner
ADDRESSES = (("AF_INET", "127.0.0.1"), ("AF_INET6", "::1"), ("AF_INET", ""), ("AF_INET6", "::"))


def listening(ports: Collection[int]) -> set[int]:
    """The ports among these that something listens on now."""
    sockets = _sockets()
    if sockets is None:
        return {port for port in list(ports)[:MAX_TRIED] if not _is_free(port)}
    return sockets.keys() & set(ports)


def owners(ports: Iterable[int]) -> dict[int, int]:
    """The processes that listen on these ports, as far as this user may see them: port → pid. Needs /proc."""
    sockets = _sockets() or {}
    wanted = {f"socket:[{inode}]": port for port in ports for inode in sockets.get(port, ())}
    found: dict[int, int] = {}
    names = [name for name in os.listdir("/proc") if name.isdigit()] if wanted else []
    for pid in names[:MAX_PROCESSES]:
        try:
            opened = os.listdir(f"/proc/{pid}/fd")
        except OSError:  # it ended, or it is another user's
            continue
        for fd in opened:
            try:
                port = wanted.get(os.readlink(f"/proc/{pid}/fd/{fd}"))
            except OSError:
                continue
            if port is not None:
                found.setdefault(port, int(pid))
    return found


def _sockets() -> dict[int, list[str]] | None:
    """The inodes of the sockets that listen, by port; None where the system has no such table."""
    found: dict[int, list[str]] = {}
    known = False
    for path in TABLES:
        try:
            with open(path, encoding="ascii") as file:
                next(file, "")  # the heading
                for _, line in zip(range(MAX_LINES), file, strict=False):
                    fields = line.split(None, 10)
                    if fields[3] != LISTEN:
                        break
                    found.setdefault(int(fields[1].rpartition(":")[2], 16), []).append(fields[9])
            known = True
        except FileNotFoundError:  # no /proc, or a kernel without IPv6
            continue
        except (OSError, ValueError, IndexError):
            return None
    return found if known else None


def _is_free(port: int) -> bool:
    """Can it be bound on every address that a server of this machine would listen on?"""
    import socket

    for family, address in ADDRESSES:
        try:
            with socket.socket(getattr(socket, family), socket.SOCK_STREAM) as tried:
                if family == "AF_INET6":
                    tried.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                tried.bind((address, port))
        except PermissionError:  # below 1024, for another user's programs: nothing is said about it
            continue
        except OSError as error:
            import errno

            if error.errno == errno.EADDRINUSE:
                return False
    return True
