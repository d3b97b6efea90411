"""Contents of files: their signatures, their ids, the ids in git's index, and kept copies.

A content's id is git's blob id; "-" is a missing file. A file over 4 MB has the id of a sample: "~" and a digest of its
size and of blocks spread evenly over it. A signature (size, mtime, ctime, inode) shows without reading that a file is
unchanged; ctime cannot be set back, so a change with the old size and mtime is seen too. A symbolic link is its own
content: "@" and the id of its target's text. A signature ends in ":x" for an executable file and in ":l" for a link.

Kept copies are uncompressed files named by content, in one folder a working tree: a hook spends no time on zlib.
"""

from __future__ import annotations

import os

from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.workspace.location import Place

MISSING = "-"
MAX_WHOLE_BYTES = 4 * 1024 * 1024  # a larger file is sampled
HASHLIB_FROM_BYTES = 1024 * 1024  # from this size on, hashlib's faster digest is worth its import
SAMPLE_BLOCKS, SAMPLE_BLOCK_BYTES = 64, 4096  # of a sample
MAX_KEPT_BYTES = 64 * 1024 * 1024  # a larger file is not copied
CTIME_TICK_NS = 20_000_000  # a file written this shortly before a look may change again without a new ctime
MAX_INDEX_READ_BYTES = 256 * 1024  # a larger index is searched, not read whole
INDEX_MOST = 512 * 1024 * 1024
_FILE, _DIRECTORY, _LINK, _KIND = 0o100000, 0o040000, 0o120000, 0o170000  # st_mode, without importing stat
LINK = "@"  # begins the id of a symbolic link
SAMPLED = "~"  # begins the id of a large file
EXECUTABLE, LINKED, PLAIN = "x", "l", ""  # kinds of files, as signatures have them


def signature(path: str) -> str:
    """The file's signature, without reading it; MISSING if there is no file."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return MISSING
    mode = status.st_mode
    kind = mode & _KIND
    if kind == _DIRECTORY:
        return MISSING
    plain = f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_ino}"
    return plain if kind == _FILE and not mode & 0o100 else f"{plain}:{LINKED if kind == _LINK else EXECUTABLE}"


def kind_of(signature: str) -> str:
    """What a file is by its signature: EXECUTABLE, LINKED or PLAIN."""
    last = signature[-1:]
    return last if last in {EXECUTABLE, LINKED} else PLAIN


def changed_at(path: str, signature: str) -> int:
    """When the file was last changed, by its ctime; for a missing file, when its directory was."""
    if signature != MISSING:
        return int(signature.split(":")[2])
    directory = os.path.dirname(path)
    while True:
        try:
            return os.stat(directory).st_mtime_ns
        except OSError:
            if directory in {"/", ""}:
                return 0
            directory = os.path.dirname(directory)


def written_at(signature: str) -> int:
    """When the file's content was last written, by its mtime; 0 for a missing file."""
    return 0 if signature == MISSING else int(signature.split(":")[1])


def is_racy(signature: str, looked: int) -> bool:
    """Could the file have changed since that look and still have the same signature?"""
    return signature != MISSING and int(signature.split(":")[2]) + CTIME_TICK_NS >= looked


def read(path: str) -> tuple[str, bytes | None]:
    """The id of a file's content, and its bytes if it was read whole."""
    try:
        # a pipe would block a hook
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except (OSError, ValueError):
        return _read_link(path)
    try:
        status = os.fstat(fd)
        if status.st_mode & _KIND != _FILE:
            return MISSING, None
        if status.st_size > MAX_WHOLE_BYTES:
            return _sampled(fd, status.st_size), None
        content = b""
        while part := os.read(fd, status.st_size + 1):
            content += part
    except OSError:
        return MISSING, None
    finally:
        os.close(fd)
    return blob_id(content), content


def _read_link(path: str) -> tuple[str, bytes | None]:
    try:
        content = os.fsencode(os.readlink(path))
    except (OSError, ValueError):
        return MISSING, None
    return LINK + blob_id(content), content


def blob_id(content: bytes) -> str:
    """Git's blob id of this content."""
    digest = _hasher(len(content))(b"blob %d\0" % len(content), usedforsecurity=False)
    digest.update(content)
    found: str = digest.hexdigest()
    return found


def _hasher(size: int) -> Any:
    """Git's digest, by the C module: importing hashlib costs several milliseconds."""
    if size < HASHLIB_FROM_BYTES:
        try:
            from _sha1 import sha1
        except ImportError:  # pragma: no cover - an interpreter without it
            pass
        else:
            return sha1
    from hashlib import sha1 as fast

    return fast


def _sampled(fd: int, size: int) -> str:
    digest = _hasher(0)(b"%d\0" % size, usedforsecurity=False)
    last = size - SAMPLE_BLOCK_BYTES
    for number in range(SAMPLE_BLOCKS):
        digest.update(
            os.pread(fd, SAMPLE_BLOCK_BYTES, last * number // (SAMPLE_BLOCKS - 1))
        )  # the first, the last and some between
    return f"{SAMPLED}{digest.hexdigest()[1:]}"


# --- what git's index has


def of_mode(mode: int, blob: str) -> tuple[str, str]:
    """A content that git has, and the kind of its file."""
    if mode & _KIND == _LINK:
        return LINK + blob, LINKED
    return blob, EXECUTABLE if mode & 0o100 else PLAIN


class Index:
    """The index of one working tree, read without starting git."""

    __slots__ = ("_data",)

    def __init__(self, git_dir: str) -> None:
        """Open it; a missing index, or one of an unknown version, counts as empty."""
        self._data: Any = b""
        if not git_dir:
            return
        try:
            fd = os.open(f"{git_dir}/index", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return
        try:
            size = os.fstat(fd).st_size
            if size <= MAX_INDEX_READ_BYTES:
                self._data = os.read(fd, MAX_INDEX_READ_BYTES)
            elif size <= INDEX_MOST:
                import mmap

                self._data = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
        except (OSError, ValueError):
            pass
        finally:
            os.close(fd)
        if self._data[:4] != b"DIRC" or self._data[4:8] not in {b"\0\0\0\2", b"\0\0\0\3"}:
            self._data = b""

    def blob(self, path: str) -> str:
        """The id of a path's content; MISSING if the path is untracked, unmerged, or in a sha256 repository."""
        return self.entry(path)[0]

    def entry(self, path: str) -> tuple[str, str]:
        """The same with the kind of the file."""
        place, extended = self._place(path)
        if place < 0:
            return MISSING, PLAIN
        found: str = self._data[place - 22 - extended : place - 2 - extended].hex()
        mode = int.from_bytes(self._data[place - 38 - extended : place - 34 - extended], "big")
        return of_mode(mode, found)

    def has(self, path: str, signature: str) -> bool:
        """Is a file of this signature what git has, by its size and time? So git itself knows it without reading."""
        place, extended = self._place(path)
        if place < 0 or signature == MISSING:
            return False
        row = self._data[place - 62 - extended : place - 22 - extended]
        seconds, ns, size = (int.from_bytes(row[at : at + 4], "big") for at in (8, 12, 36))
        parts = signature.split(":")
        mtime = int(parts[1])
        return (size, seconds, ns) == (
            int(parts[0]) & 0xFFFFFFFF, mtime // 1_000_000_000 & 0xFFFFFFFF, mtime % 1_000_000_000,
        )  # fmt: skip

    def _place(self, path: str) -> tuple[int, int]:
        """Where the name of a path is, and how many bytes of further flags precede it; -1 if there is none."""
        name = os.fsencode(path)
        wanted = min(len(name), 0xFFF)  # 12 bits of the flags
        place = self._data.find(name + b"\0") if self._data else -1
        while place >= 0:
            for extended in (0, 2):  # version 3 may have two more bytes of flags
                flags = self._data[place - 2 - extended : place - extended]
                number = int.from_bytes(flags, "big")
                if len(flags) == 2 and number & 0xFFF == wanted and bool(number & 0x4000) is bool(extended):  # noqa: PLR2004
                    return (-1, 0) if number & 0x3000 else (place, extended)  # no side of a merge
            place = self._data.find(name + b"\0", place + 1)
        return -1, 0


# --- copies


def keep(folder: str, blob: str, content: bytes) -> None:
    """Keep a content in this folder, under its id. A failure to write is ignored."""
    path = f"{folder}/{blob[:2]}/{blob[2:]}"
    try:
        os.utime(path)  # it is there already; a new mtime protects it from cleanup.py
    except OSError:
        pass
    else:
        return
    making = clock.temporary(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    try:
        try:
            fd = os.open(making, flags, 0o600)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            fd = os.open(making, flags, 0o600)
        try:
            while content:
                content = content[os.write(fd, content) :]
        finally:
            os.close(fd)
        os.rename(making, path)
    except OSError:
        pass


def touch(folder: str, blob: str) -> None:
    """A kept content is needed again: it is not cleaned up for another while. No harm if git has it instead."""
    try:
        os.utime(f"{folder}/{blob[:2]}/{blob[2:]}")
    except OSError:
        pass


def keep_file(folder: str, blob: str, path: str) -> None:
    """Keep a large file's content: by a reflink where the filesystem can, else by a copy up to a limit."""
    to = f"{folder}/{blob[:2]}/{blob[2:]}"
    if os.path.exists(to):
        os.utime(to)
        return
    making = clock.temporary(to)
    try:
        os.makedirs(os.path.dirname(to), 0o700, exist_ok=True)
        with open(path, "rb") as source, open(making, "wb") as copy:
            done = _cloned(source.fileno(), copy.fileno())
            if not done and os.fstat(source.fileno()).st_size <= MAX_KEPT_BYTES:
                while part := source.read(HASHLIB_FROM_BYTES):
                    copy.write(part)
                done = True
        (os.rename(making, to) if done else os.unlink(making))
    except OSError:
        try:
            os.unlink(making)
        except OSError:
            pass


def _cloned(source: int, copy: int) -> bool:
    try:
        from fcntl import ioctl

        ioctl(copy, 0x40049409, source)  # FICLONE
    except (OSError, ImportError):
        return False
    return True


def kept(folder: str, blob: str) -> bytes | None:
    """A kept content; None if it is missing or damaged."""
    plain = blob.removeprefix(LINK)
    if len(plain) != 40 or not set(plain[1:]) <= set("0123456789abcdef"):  # noqa: PLR2004 - the digits of SHA-1
        return None
    try:
        with open(f"{folder}/{blob[:2]}/{blob[2:]}", "rb") as file:
            content = file.read()
    except OSError:
        return None
    return content if blob.startswith("~") or blob_id(content) == plain else None


def of_tree(place: Place, blob: str, tree: str) -> bytes | None:
    """A content of a working tree that was kept, or that git has; None if it is gone."""
    if not blob:
        return None
    from dibs.git import objects
    from dibs.workspace import location

    folder = place.private if tree in {"", place.top} else location.private_of(tree)
    found = kept(f"{folder}/objects", blob) if folder else None
    if found is None and not os.path.isdir(folder):  # a working tree that was removed: its ledger was not
        from dibs.ledger import ledger_files

        trees = [ledger for ledger, top in ledger_files.of_linked(place.shared) if top == tree]
        found = next((one for ledger in trees if (one := kept(f"{ledger}/objects", blob)) is not None), None)
    if found is None and os.path.isdir(place.common or place.local):
        found = objects.read_blob(objects.objects_of(place.common, place.local), blob.removeprefix(LINK))
    return found
