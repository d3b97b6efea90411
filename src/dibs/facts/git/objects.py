"""Contents that dibs keeps: as git's own loose objects in the repository, or in `.dibs/local/` where there is no git.

An object is named by its content, so keeping twice is keeping once, and reading back proves that nothing was damaged.
What is kept is the file's bytes as they are, without git's filters: that is what has to come back.
A kept object lasts as long as git lets unreachable ones (two weeks); `pin` gives it a ref, and then until that goes.
"""

from __future__ import annotations

import os

from dibs.errors import Unavailable
from dibs.facts.clock import random_id
from dibs.facts.git import queries as git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

LARGEST = 64 * 1024 * 1024  # a bigger file is not kept: reading it would cost a hook its time limit
CHUNK = 1 << 20
SHA1, SHA256 = 40, 64  # hexadecimal digits of an id


def objects_of(common: str, local: str) -> str:
    """Where this workspace's objects lie: in git's common directory, else in `.dibs/local/`."""
    return os.path.join(common or local, "objects")


def blob_of(path: str) -> str:
    """The id that git gives to this file's bytes as they are; "" for what is not there or not a file.

    A symbolic link is its target's text, as for git. Always SHA-1: it is compared with others from here.
    """
    try:
        if os.path.islink(path):
            return blob_id(os.fsencode(os.readlink(path)))
        with open(path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            digest = _hasher(SHA1)(b"blob %d\0" % size)
            while chunk := file.read(CHUNK):
                digest.update(chunk)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ""
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}", path=path) from None
    found: str = digest.hexdigest()
    return found


def blob_id(content: bytes, digits: int = SHA1) -> str:
    """The id that git gives to this content."""
    digest = _hasher(digits)(b"blob %d\0" % len(content))
    digest.update(content)
    found: str = digest.hexdigest()
    return found


def keep(objects: str, content: bytes, *, sync: bool = True) -> str:
    """Keep a content; returns its id.

    Without `sync` a power loss may leave an empty object, which git would take for a damaged repository: only for a
    folder of dibs's own.
    """
    digits = _digits(objects)
    blob = blob_id(content, digits)
    path = f"{objects}/{blob[:2]}/{blob[2:]}"
    if os.path.exists(path):
        return blob
    import zlib

    making = f"{path}.{random_id()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(making, "xb") as file:
            file.write(zlib.compress(b"blob %d\0" % len(content) + content, 1))
            file.flush()
            os.fchmod(file.fileno(), 0o444)
            if sync:
                os.fsync(file.fileno())
        os.rename(making, path)
    except OSError as error:
        raise Unavailable(f"{path} cannot be kept: {error.strerror}", path=path) from None
    return blob


def keep_file(objects: str, path: str, *, sync: bool = True) -> str:
    """Keep what a file holds now; "" for what is not there, not a file, or too large."""
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST + 1)
    except OSError:
        return ""
    return keep(objects, content, sync=sync) if len(content) <= LARGEST else ""


def read_blob(objects: str, blob: str) -> bytes | None:
    """A kept content; None if it is not there or damaged."""
    if len(blob) not in {SHA1, SHA256} or not set(blob) <= set("0123456789abcdef"):
        return None
    import zlib

    try:
        with open(f"{objects}/{blob[:2]}/{blob[2:]}", "rb") as file:
            head, found, content = zlib.decompress(file.read()).partition(b"\0")
    except FileNotFoundError:
        return _read_packed(objects, blob)
    except (OSError, zlib.error):
        return None
    fine = found and head == b"blob %d" % len(content) and blob_id(content, len(blob)) == blob
    return content if fine else None


def pin(common: str, name: str, blob: str) -> None:
    """Give a kept object the ref `refs/dibs/NAME`, so that git does not clear it away."""
    if common:
        git.ask(common, f"--git-dir={common}", "update-ref", f"refs/dibs/{name}", blob)


def unpin(common: str, names: Iterable[str]) -> None:
    """Take the refs `refs/dibs/NAME` away again; what they kept stays as long as git lets it."""
    if common:
        for name in names:
            git.ask(common, f"--git-dir={common}", "update-ref", "-d", f"refs/dibs/{name}")


def _read_packed(objects: str, blob: str) -> bytes | None:
    """Git packs loose objects now and then; it finds them again."""
    common = os.path.dirname(objects)
    if not os.path.exists(f"{common}/HEAD"):
        return None
    done = git.ask(common, f"--git-dir={common}", "cat-file", "blob", blob, fine=(0, 128))
    return done.out if done.ok and blob_id(done.out, len(blob)) == blob else None


def _digits(objects: str) -> int:
    """How long this repository's ids are: git calls it the object format."""
    try:
        with open(f"{os.path.dirname(objects)}/config", "rb") as file:
            text = file.read(65_536).lower().replace(b" ", b"").replace(b"\t", b"")
    except OSError:
        return SHA1
    return SHA256 if b"\nobjectformat=sha256" in text else SHA1


def _hasher(digits: int) -> Any:
    """Git's digest; by the C module behind hashlib, which costs several milliseconds to import."""
    if digits == SHA256:
        from hashlib import sha256

        return sha256
    try:
        from _sha1 import sha1
    except ImportError:  # pragma: no cover - an interpreter without it
        from hashlib import sha1
    return sha1
