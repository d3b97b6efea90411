"""What is stored for upkeep: seals of the log, archives, where sweeps continue. Nothing is decided here."""

from __future__ import annotations

from dibs.operations.core.call import due
from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NotRequired, TypedDict

    from dibs.stores.seam import Scanned, Transaction

    class Link(TypedDict):
        """A place in the log."""

        seq: int  # the number of an event
        link: str  # the hash that chains it to all before it

    class SealPlace(Link):
        """A seal's place. The seal itself is next to the log."""

        at: int  # ms
        dropped: NotRequired[int]  # the events before it are being dropped: through which they are
        pruned: NotRequired[bool]  # all of them are dropped

    class LastSeal(TypedDict):
        """The newest seal, and the oldest before which no event was pruned: what every look asks."""

        seq: int  # of the newest
        at: int  # ms: of the newest
        own: int  # events since then that only say how the log was kept
        oldest: int | None  # ms: of the oldest one that was not pruned
        before: int  # the last event that has left the store
        begun: NotRequired[bool]  # a pruning is under way

    class Archive(TypedDict):
        """A file of pruned events."""

        file: str  # its name in the folder of archives
        first: int  # the number of its first event
        last: int  # of its last one
        link: str  # the last event's link
        sha256: str  # of the file
        size: int  # bytes
        host: str  # the machine that has it

    class DroppedArchives(TypedDict):
        """The files of the archives that were dropped last: they may still be there after a crash."""

        files: list[str]

    class SweepPlace(TypedDict):
        """The last agent that a sweep looked at, while there are more."""

        agent: str


LAST_SEAL_KEY = "sl"  # the newest seal, and the time of the oldest one before which no event was pruned
DROPPED_KEY = "ad"  # the files of the archives that were dropped last
SWEEP_PLACE_KEY = "sw"  # the last agent that a sweep looked at, while there are more
MAX_SEALS_READ = 10_000  # a keep of a year with a seal each day, and room for busy days
MAX_ARCHIVES = 10_000  # listed: 100 million events; the oldest are dropped beyond that


# --- keys


def _seal_key(seq: int) -> str:
    """A seal's place and time; through which event those before it were dropped, and whether all of them."""
    return f"s\t{seq:015d}"


def archive_key(last: int) -> str:
    """An archive of pruned events, by its last one: file, numbers, last link, digest, size, machine."""
    return f"ar\t{last:015d}"


ARCHIVE_KEYS = "ar\t"  # before every archive's last event


def wake_key(channel: str) -> str:
    """Nothing is there: what is deleted so that a wake has something to go along with."""
    return f"q\t\twake\t{channel}"


def family_of(key: str) -> str:
    """The first part of a key, which tells one kind of record from the others."""
    return key.partition("\t")[0]


# --- seals


def get_seals(tx: Transaction) -> list[SealPlace]:
    """The places of the seals, the oldest first."""
    return [seal for _, seal in tx.fetch([prefix_range("s\t")], MAX_SEALS_READ).rows]


def put_seal(tx: Transaction, seal: SealPlace) -> None:
    """Write the place of a seal."""
    tx.put(_seal_key(seal["seq"]), seal)


def delete_seal(tx: Transaction, seal: SealPlace) -> None:
    """Delete the place of a seal."""
    tx.delete(_seal_key(seal["seq"]))


def get_last_seal(tx: Transaction) -> LastSeal | None:
    """The newest seal; None if there is none, or if it was made by an earlier version."""
    last: LastSeal | None = tx.get(LAST_SEAL_KEY)
    return last


def put_last_seal(tx: Transaction, last: LastSeal) -> None:
    """Write the newest seal."""
    tx.put(LAST_SEAL_KEY, last)


# --- archives


def get_archives(tx: Transaction) -> tuple[list[Archive], list[str]]:
    """The archives that there must be, the oldest first, and the files of those that were dropped last."""
    archives = [prefix_range(ARCHIVE_KEYS)]
    tx.prefetch([DROPPED_KEY], archives, MAX_ARCHIVES)
    dropped: DroppedArchives | None = tx.get(DROPPED_KEY)
    rows = tx.fetch(archives, MAX_ARCHIVES).rows
    return [archive for _, archive in rows], dropped["files"] if dropped is not None else []


def put_archive(tx: Transaction, archive: Archive) -> None:
    """Write an archive."""
    tx.put(archive_key(archive["last"]), archive)


def delete_archive(tx: Transaction, archive: Archive) -> None:
    """Delete an archive."""
    tx.delete(archive_key(archive["last"]))


def put_dropped(tx: Transaction, files: list[str]) -> None:
    """Write the files of the archives that were dropped last."""
    dropped: DroppedArchives = {"files": files}
    tx.put(DROPPED_KEY, dropped)


# --- sweeps


def scan_due(tx: Transaction, limit: int) -> Scanned:
    """Up to `limit` due records of all rooms, the earliest first."""
    return tx.scan(2, "due\t", limit, before=due(tx.now + 1))


def get_sweep_place(tx: Transaction) -> str | None:
    """The last agent that a sweep looked at; None if the next one begins with the first."""
    place: SweepPlace | None = tx.get(SWEEP_PLACE_KEY)
    return None if place is None else place["agent"]


def put_sweep_place(tx: Transaction, agent: str) -> None:
    """The next sweep begins after this agent."""
    place: SweepPlace = {"agent": agent}
    tx.put(SWEEP_PLACE_KEY, place)


def delete_sweep_place(tx: Transaction) -> None:
    """The next sweep begins with the first agent."""
    tx.delete(SWEEP_PLACE_KEY)
