"""What happens when the server lost something, or may have: epochs.

A commit's number has the epoch in its high bits, the seconds since 1970 at which it began. While the same server process
answers, nothing is lost and numbers go on by one. When another answers (a restart, a failover), what was answered can
only be trusted to be all there if the server writes every command to its disk before it answers (appendonly, appendfsync
always), was never a replica, and stands where this machine remembers. Otherwise a new epoch begins: its numbers are
above all that were ever given, and whoever comes first has to give up what rests on lost commits (`Unsettled`).
"""

from __future__ import annotations

import os

from dibs.errors import Unavailable
from dibs.facts import clock
from dibs.stores import redis_scripts
from dibs.stores.redis_wire import Lost, Said, hidden
from dibs.stores.seam import GENESIS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.stores.redis import RedisStore

SCHEMA = "1"
EPOCH_BITS = 22  # below the epoch; with 31 bits for the seconds a number stays below 2^53, which JSON can carry
NEVER = b"0" * 40  # the second replication id of a server that was never a replica


class Remembered:
    """The highest commit that was answered on this machine, in a file of `.dibs/local/`."""

    def __init__(self, path: str) -> None:
        self._fd = -1
        self.number = 0
        if path:
            try:
                self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                self.number = int(os.pread(self._fd, 32, 0).strip() or b"0")
            except (OSError, ValueError):
                pass  # without a memory the server's own word has to do

    def rise(self, number: int) -> None:
        """Remember a higher one. Processes write over each other: the highest counts, and a little less does no harm."""
        if number > self.number:
            self.number = number
            if self._fd >= 0:
                os.pwrite(self._fd, b"%020d\n" % number, 0)


def begin(store: RedisStore) -> bool:
    """Begin the workspace on this server; False if it had begun already."""
    number = _next(store)

    def words() -> list[Any]:
        return [str(number), GENESIS, clock.random_id(), SCHEMA, store.wire.run_id]

    return bool(store.script(redis_scripts.BEGIN, [store.keys[4]], words))


def empty(store: RedisStore, *, leftovers: bool) -> None:
    """The workspace is not there. Where it was used before, the server lost all of it: it begins again, numbers above."""
    where = hidden(store.wire.url)
    if leftovers:
        message = (
            f"{where} has lost a part of this workspace (were keys evicted, or deleted by hand?). Nothing was changed. "
            "`dibs doctor` says what can be done."
        )
        raise Unavailable(message, store=where, damaged=True)
    if not store.remembered.number:
        message = f"this workspace is not on {where}. Nothing was changed; `dibs up` begins it there."
        raise Unavailable(message, store=where, absent=True)
    begin(store)


def another_server(store: RedisStore, before: str, commit: int) -> None:
    """Another server process answers than before: go on if nothing can be missing, else begin a new epoch."""
    if commit >= store.remembered.number and _keeps_all(store):
        store.script(redis_scripts.KEEP, [store.keys[4]], lambda: [before, store.wire.run_id])
        return
    _new(store, before)


def fell(store: RedisStore, commit: int) -> None:
    """The same server stands behind what it answered: an older state was put in its place."""
    del commit
    _new(store, store.wire.run_id)


def _new(store: RedisStore, before: str) -> None:
    number = _next(store)
    store.script(redis_scripts.EPOCH, [store.keys[4]], lambda: [before, store.wire.run_id, str(number)])
    store.remembered.rise(number)


def _next(store: RedisStore) -> int:
    """The number to go on from: above all that this machine remembers, in an epoch of the server's own time."""
    seconds = int(store.ask("TIME")[0])
    return max(seconds, (store.remembered.number >> EPOCH_BITS) + 1) << EPOCH_BITS


def _keeps_all(store: RedisStore) -> bool:
    """Does this server answer only what is on its disk, and was it always the primary?"""
    try:
        settings = store.wire.call("CONFIG", "GET", "append*")
        replication = store.wire.call("INFO", "replication")
    except (Lost, Said):  # it may not be asked: then it is not trusted
        return False
    pairs = (
        list(settings.items()) if isinstance(settings, dict) else list(zip(settings[::2], settings[1::2], strict=True))
    )
    said = {bytes(name): bytes(value) for name, value in pairs}
    lines = dict(line.split(b":", 1) for line in bytes(replication).splitlines() if b":" in line)
    return (
        said.get(b"appendonly") == b"yes"
        and said.get(b"appendfsync") == b"always"
        and lines.get(b"role") == b"master"
        and lines.get(b"master_replid2", NEVER) == NEVER
    )
