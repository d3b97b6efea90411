"""Contents that dibs keeps: as git's own loose objects in the repository, or in `.dibs/local/` where there is no git.

An object is named by its content, so keeping it twice is the same as once, and reading it back proves that it is
intact. The file's bytes are kept as they are, without git's filters, because exactly these have to be restored. A kept
object lasts as long as git keeps unreachable objects (two weeks); `pin` gives it a ref, and it lasts as long as the
ref.
"""

from __future__ import annotations

import os

from dibs.errors import Unavailable
from dibs.git import queries as git
from dibs.machine.clock import random_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

MAX_KEPT_BYTES = 64 * 1024 * 1024  # a larger file is not kept: reading it would exceed a hook's timeout
SHA1_DIGITS, SHA256_DIGITS = 40, 64  # hexadecimal digits of an id


def objects_of(common: str, local: str) -> str:
    """The folder of this workspace's objects: in git's common directory, else in `.dibs/local/`."""
    return os.path.join(common or local, "objects")


def blob_id(content: bytes, digits: int = SHA1_DIGITS) -> str:
    """Git's blob id of this content."""
    digest = _hasher(digits)(b"blob %d\0" % len(content))
    digest.update(content)
    found: str = digest.hexdigest()
    return found


def keep(objects: str, content: bytes, *, sync: bool = True, digits: int = 0) -> str:
    """Keep a content; returns its id, of so many digits (0: as the folder's repository has them).

    Without `sync` a power loss may leave an empty object, which git would take for a damaged repository: only for a
    folder of dibs's own.
    """
    blob = blob_id(content, digits or digits_of(objects))
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
    """Keep a file's present content; "" if the file is missing, not a file, or too large."""
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_KEPT_BYTES + 1)
    except OSError:
        return ""
    return keep(objects, content, sync=sync) if len(content) <= MAX_KEPT_BYTES else ""


def read_blob(objects: str, blob: str) -> bytes | None:
    """A kept content; None if it is missing or damaged."""
    if len(blob) not in {SHA1_DIGITS, SHA256_DIGITS} or not set(blob) <= set("0123456789abcdef"):
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
    """Give a kept object the ref `refs/dibs/NAME`, so that git does not prune it."""
    if common:
        git.ask(common, f"--git-dir={common}", "update-ref", f"refs/dibs/{name}", blob)


def unpin(common: str, names: Iterable[str]) -> None:
    """Remove the refs `refs/dibs/NAME`; git may then prune what they kept."""
    if common:
        for name in names:
            git.ask(common, f"--git-dir={common}", "update-ref", "-d", f"refs/dibs/{name}")


def _read_packed(objects: str, blob: str) -> bytes | None:
    """Read an object through git, which packs loose objects now and then."""
    common = os.path.dirname(objects)
    if not os.path.exists(f"{common}/HEAD"):
        return None
    done = git.ask(common, f"--git-dir={common}", "cat-file", "blob", blob, fine=(0, 128))
    return done.out if done.ok and blob_id(done.out, len(blob)) == blob else None


def digits_of(objects: str) -> int:
    """How long this repository's ids are: git calls it the object format."""
    try:
        with open(f"{os.path.dirname(objects)}/config", "rb") as file:
            text = file.read(65_536).lower().replace(b" ", b"").replace(b"\t", b"")
    except OSError:
        return SHA1_DIGITS
    return SHA256_DIGITS if b"\nobjectformat=sha256" in text else SHA1_DIGITS


def _hasher(digits: int) -> Any:
    """Git's digest, by the C module: importing hashlib costs several milliseconds."""
    if digits == SHA256_DIGITS:
        from hashlib import sha256

        return sha256
    try:
        from _sha1 import sha1
    except ImportError:  # pragma: no cover - an interpreter without it
        from hashlib import sha1
    return sha1
