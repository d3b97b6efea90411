"""Whose socket is at the other end of a loopback connection? The kernel is asked, not the caller.

A pid in a request is the caller's word. In a container with the host's network it even names another process here. So
the process has to have the connecting socket among its open files, and to live in this pid namespace.

Where the system has no /proc (macOS) this cannot be asked: then the pid is believed, of a caller that has shown the
secret of a file that only this user can read.
"""

from __future__ import annotations

import os
import socket
import struct

from dibs.machine import processes

NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST = 4, 20, 1
ALL_STATES = 0xFFFFFFFF
ANSWER_BYTES = 4096
HEAD = struct.Struct("=IHHII")  # length, type, flags, sequence, port
ASKED = struct.Struct("=BBBBI")  # family, protocol, extensions, padding, states
ENDS = struct.Struct("!HH16s16s")  # both ports, both addresses
INTERFACE_AND_COOKIE = b"\0" * 4 + b"\xff" * 8  # any of them
UID_AND_INODE = struct.Struct("=II")
UID_AT = HEAD.size + 4 + ENDS.size + len(INTERFACE_AND_COOKIE) + 12  # after three more numbers
USUAL_FD = 3  # where the hook's script opens it
HAS_PROC = os.path.isdir("/proc/self/fd")


def belongs_to(pid: int, connection: socket.socket) -> bool:
    """Is the far end of this connection open in that process, of this user and in this pid namespace?"""
    return is_end_of(pid, connection.getpeername(), connection.getsockname())


def is_end_of(pid: int, peer: tuple[str, int], own: tuple[str, int]) -> bool:
    """The same for a connection between these two ends: the caller's, and ours. Both are on this machine."""
    if peer[0] != own[0] or ":" in peer[0]:
        return False
    if not HAS_PROC:
        return True
    inode = inode_of(peer, own)
    if not inode:
        return False
    try:
        if os.readlink(f"/proc/{pid}/ns/pid")[5:-1] != processes.namespace():
            return False
        wanted = f"socket:[{inode}]"
        if _is_open_at(pid, USUAL_FD, wanted):
            return True
        return any(_is_open_at(pid, fd, wanted) for fd in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return False


def _is_open_at(pid: int, fd: int | str, wanted: str) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/fd/{fd}") == wanted
    except OSError:
        return False


def inode_of(own: tuple[str, int], other: tuple[str, int]) -> int:
    """The inode of this user's socket with these two ends; 0 if there is none."""
    try:
        uid, inode = _by_netlink(own, other)
    except OSError:  # a kernel or a sandbox without it
        uid, inode = _by_table(own, other)
    return inode if uid == os.getuid() else 0


def _by_netlink(own: tuple[str, int], other: tuple[str, int]) -> tuple[int, int]:
    """Ask for the one socket; to read the table of all sockets costs milliseconds."""
    ends = ENDS.pack(own[1], other[1], socket.inet_aton(own[0]), socket.inet_aton(other[0]))
    body = ASKED.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0, ALL_STATES) + ends + INTERFACE_AND_COOKIE
    head = HEAD.pack(HEAD.size + len(body), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, NETLINK_SOCK_DIAG) as asked:
        asked.settimeout(1.0)
        asked.send(head + body)
        answer = asked.recv(ANSWER_BYTES)
    _, kind, _, _, _ = HEAD.unpack_from(answer)
    if kind != SOCK_DIAG_BY_FAMILY or len(answer) < UID_AT + UID_AND_INODE.size:
        raise OSError(0, "no such socket")
    uid, inode = UID_AND_INODE.unpack_from(answer, UID_AT)
    return uid, inode


def _by_table(own: tuple[str, int], other: tuple[str, int]) -> tuple[int, int]:
    """The same from /proc/net/tcp."""
    wanted = [_as_listed(own), _as_listed(other)]
    try:
        with open("/proc/net/tcp", encoding="ascii") as file:
            for line in file:
                fields = line.split()
                if fields[1:3] == wanted:
                    return int(fields[7]), int(fields[9])
    except (OSError, ValueError, IndexError):
        pass
    return -1, 0


def _as_listed(end: tuple[str, int]) -> str:
    address = int.from_bytes(socket.inet_aton(end[0]), "little" if struct.pack("=H", 1) == b"\1\0" else "big")
    return f"{address:08X}:{end[1]:04X}"
