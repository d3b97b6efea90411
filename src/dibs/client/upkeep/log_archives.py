"""Writes the events that are about to leave the store to an archive: a compressed file that can be checked by itself.

`.dibs/local/archive/FIRST-LAST-LINK.jsonl.gz`: one JSON value a line. The first line names the workspace, the numbers
and the seal before (link and live claims), then each event as `[seq, commit, now, wall, body, link]`, at the end the
seal after them. Equal events give equal bytes.

It is written under another name, synced, read back, renamed, and the folder synced: a file with an archive's name is
complete, and only then the events leave the store (client/upkeep/log_upkeep.py). Each event's link is computed while it
is written: a log that is damaged is not pruned. `read` gives the events back to readers of the log
(client/log_reader.py); verify/archives.py checks the files, by code of its own.
"""

from __future__ import annotations

import gzip
import os
import zlib
from hashlib import sha256

from dibs import jsontext
from dibs.errors import Unavailable
from dibs.machine import atomic_write, clock
from dibs.stores.seam import Event, digest_of, link_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from typing import Any

    from dibs.operations.upkeep.log_retention import PrunePlan
    from dibs.operations.upkeep.records import Archive, Link
    from dibs.stores.seam import Seal, Store

FOLDER = "archive"  # below .dibs/local/
SUFFIX = ".jsonl.gz"
FORMAT = 1
PAGE_EVENTS = 1_000  # read from the store at a time
LINK_LETTERS = 8  # of the last link, in the name: archives of another log never have the same name
COMPRESSION = 6  # gzip's own default: 9 takes twice the time for 2 % less
CHUNK_BYTES = 1024 * 1024
QUOTE = rb"\""  # within a JSON text
KIND = rb"{\"kind\":\""  # how the body of every event begins (`seam.body_of`)


def folder_of(local: str) -> str:
    """The folder of archives."""
    return os.path.join(local, FOLDER)


def name_of(first: int, last: int, link: str) -> str:
    """The name of an archive; names sort by number."""
    return f"{first:010d}-{last:010d}-{link[:LINK_LETTERS]}{SUFFIX}"


def write(store: Store, local: str, workspace: str, plan: PrunePlan, host: str) -> Archive:
    """Write the events after `plan["before"]` up to `plan["through"]`; returns the archive's facts for the record."""
    before, through = plan["before"], plan["through"]
    first = before["seq"] + 1
    seals = {seal.seq: seal for seal in store.seals()}
    if through not in seals:
        raise Unavailable("another process pruned the log meanwhile; nothing was dropped.")
    name = name_of(first, through, plan["link"])
    path = os.path.join(folder_of(local), name)
    making = clock.temporary(path)
    try:
        os.makedirs(folder_of(local), 0o700, exist_ok=True)
        try:
            with open(making, "xb", opener=_private) as file:
                with gzip.GzipFile("", "wb", COMPRESSION, file, mtime=0) as packed:
                    _pack(store, packed, workspace, before, seals.get(before["seq"]), seals[through])
                file.flush()
                os.fsync(file.fileno())
            digest, size = digest_and_size(making)
            os.replace(making, path)
        except BaseException:
            _unlink(making)
            raise
        atomic_write.sync_folder(folder_of(local))
        if digest_and_size(path) != (digest, size):
            raise Unavailable(f"{path} does not read as it was written; nothing was dropped.", path=path)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}. No event was dropped."
        raise Unavailable(message, path=path) from None
    return {
        "file": name, "first": first, "last": through, "link": plan["link"], "sha256": digest, "size": size,
        "host": host,
    }  # fmt: skip


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _pack(store: Store, packed: gzip.GzipFile, workspace: str, before: Link, sealed: Seal | None, end: Seal) -> None:
    start = {**before, "body": "" if sealed is None else sealed.body}
    head = {"dibs": "archive", "format": FORMAT, "workspace": workspace, "first": before["seq"] + 1, "last": end.seq}
    _line(packed, {**head, "before": start})
    link, seq = before["link"], before["seq"]
    while seq < end.seq:
        page = store.events(seq, min(PAGE_EVENTS, end.seq - seq))
        if not page or page[0].seq != seq + 1:
            raise Unavailable(f"event {seq + 1} is not in the store; nothing was dropped. Run `dibs verify`.")
        for event in page:
            link = link_of(link, event.seq, event.commit, event.now, event.wall, digest_of(event.body))
            if event.seq != seq + 1 or link != event.link:
                raise Unavailable(f"event {event.seq} was changed; nothing was dropped. Run `dibs verify`.")
            seq = event.seq
            _line(packed, [seq, event.commit, event.now, event.wall, event.body, link])
    if link != end.link:
        raise Unavailable(f"the seal at event {end.seq} has another link; nothing was dropped. Run `dibs verify`.")
    _line(packed, {"seal": {"seq": end.seq, "link": end.link, "body": end.body}})


def _line(packed: gzip.GzipFile, value: Any) -> None:
    packed.write((jsontext.encode(value) + "\n").encode("utf-8", "surrogatepass"))


class DamagedError(Exception):
    """An archive that is missing, or is not what was written."""


def read(path: str, after: int = 0, kinds: Container[bytes] | None = None) -> Iterator[Event]:
    """The events of an archive above `after`, in order; DamagedError where it does not continue as it was written.

    With `kinds`, only those: a line of another kind is not decoded.
    """
    try:
        with gzip.open(path, "rb") as file:
            head = _value(file.readline())
            for seq in range(head["first"], head["last"] + 1):
                line = file.readline()
                if seq > after and (kinds is None or _kind_of(line) in kinds):
                    row = _value(line)
                    if row[0] != seq:
                        raise DamagedError(path)
                    yield Event(*row)
    except (OSError, EOFError, zlib.error, ValueError, TypeError, KeyError, IndexError) as error:
        raise DamagedError(path) from error


def _kind_of(line: bytes) -> bytes:
    """The kind of an event, from its line: its body is a JSON text within JSON, and begins with the kind."""
    start = line.index(KIND) + len(KIND)
    return line[start : line.index(QUOTE, start)]


def _value(line: bytes) -> Any:
    return jsontext.decode(line.rstrip(b"\n").decode("utf-8", "surrogatepass"))


def digest_and_size(path: str) -> tuple[str, int]:
    """SHA-256 and size of a file."""
    digest, size = sha256(), 0
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
            size += len(chunk)
    return digest.hexdigest(), size


def remove(local: str, names: list[str]) -> list[str]:
    """Remove archives that the record gave up; returns those that were there."""
    own = [name for name in names if name.endswith(SUFFIX) and "/" not in name]
    return [name for name in own if _unlink(os.path.join(folder_of(local), name))]


def leftovers(local: str) -> list[str]:
    """Temporary files of writers that were killed. The lock of log_upkeep.py keeps a live one out of them."""
    try:
        names = os.listdir(folder_of(local))
    except OSError:
        return []
    return sorted(name for name in names if SUFFIX + "." in name)


def remove_leftovers(local: str) -> list[str]:
    """Remove them; the caller has the lock."""
    return [name for name in leftovers(local) if _unlink(os.path.join(folder_of(local), name))]


def _unlink(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True
