"""Epochs: what happens when the server lost commits, or may have lost them.

A commit's number has the epoch in its high bits, the seconds since 1970 at which it began. Where the numbers of an
epoch begin comes from the run id: two servers that take themselves for the primary in the same second do not give the
same numbers. While the same server process answers, nothing is lost and numbers rise by one. When another process
answers (a restart, a failover), numbers continue in a new epoch, above all that were ever given. Answered commits count
as complete only if the server writes every command to its disk before it answers (appendonly, appendfsync always), did
so before the restart too, was never a replica, and stands where this machine remembers. Otherwise the first caller has
to give up what rests on lost commits (`Unsettled`). A machine that comes later and remembers more than was there begins
another epoch. So does a machine that remembers a different event than the log has: an older state was restored into the
running server, and others continued from it.

A user who may not ask for INFO does not learn the server's run id. For such users each run id has a mark in the
server's script cache, which ends with the process: where the mark of the stored run id is, the same process answers.
"""

from __future__ import annotations

import os

from dibs.errors import Unavailable
from dibs.machine import clock
from dibs.stores.redis import scripts
from dibs.stores.redis.wire import ConnectionLost, ServerError
from dibs.stores.seam import GENESIS, sha1_of
from dibs.stores.urls import hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.stores.redis.store import RedisStore

SCHEMA = "1"
FIRST_NUMBERS = 1 << 19  # of an epoch, among which the run id chooses: half of its numbers
EPOCH_BITS = 20  # below the epoch: a million commits a second; with 33 bits for the seconds (to the year 2242) a number
MAX_NUMBER = 1 << 53  # stays below this, which JSON and Lua can carry
WITNESS_BYTES = 160  # file with a remembered commit: number, event, link, and a digest of these
SLOTS, SLOT_BYTES = 16, 21  # the file is a row of numbers
NO_REPLICATION_ID = b"0" * 40  # the second replication id of a server that was never a replica


class Remembered:
    """The highest commit that was answered on this machine, in a file of `.dibs/local/`, and in a second one if given.

    The second file is outside the reach of `git clean`. Without a file, dibs has to trust the server.
    """

    def __init__(self, path: str, kept: str = "") -> None:
        self._fds: list[int] = []
        self.number = 0
        self.witness = b""  # a commit that was answered here, the number and the link of its last event
        self._witness_fd = -1
        if path:
            self._open_witness(f"{path}-log")
        for name in (path, kept):
            if name:
                try:
                    self._fds.append(os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
                except OSError:
                    pass
        self.look()

    def look(self) -> None:
        """Read what other processes have remembered since."""
        for fd in self._fds:
            try:
                written = os.pread(fd, SLOTS * SLOT_BYTES, 0)
            except OSError:
                continue
            for place in range(0, len(written), SLOT_BYTES):
                text = written[place : place + SLOT_BYTES - 1]
                if text.isdigit() and self.number < int(text) < MAX_NUMBER:
                    self.number = int(text)

    def rise(self, number: int) -> None:
        """Remember a higher number.

        Processes write at the same time, and one that was paused may write a number that others have passed. Each
        number has its slot, so a late write replaces at most one other number: at least the second highest is kept.
        """
        if number > self.number:
            self.number = number
            for fd in self._fds:
                try:
                    os.pwrite(fd, b"%020d\n" % number, number % SLOTS * SLOT_BYTES)
                except OSError:
                    pass  # the commit is done; a full disk here does not undo it

    def _open_witness(self, path: str) -> None:
        try:
            self._witness_fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            line, _, check = os.pread(self._witness_fd, WITNESS_BYTES, 0).rstrip().rpartition(b" ")
        except OSError:
            return
        if line and sha1_of(line).encode() == check:  # two writers at once may have left a mixture
            self.witness = line

    def saw(self, number: int, seq: int, link: bytes) -> None:
        """Remember the log's last event at a commit that is about to be answered."""
        if not seq:
            return
        self.witness = b"%d %d %s" % (number, seq, link)
        if self._witness_fd >= 0:
            try:
                os.pwrite(
                    self._witness_fd, (self.witness + b" " + sha1_of(self.witness).encode()).ljust(WITNESS_BYTES), 0
                )
            except OSError:
                pass

    def close(self) -> None:
        """Close the files."""
        if self._witness_fd >= 0:
            os.close(self._witness_fd)
            self._witness_fd = -1
        while self._fds:
            os.close(self._fds.pop())


def begin(store: RedisStore, *, lost: bool = False) -> bool:
    """Create the workspace on this server; False if it exists already."""
    number, sure = next_number(store), keeps_all(store)

    def words() -> list[Any]:
        return [str(number), GENESIS, clock.random_id(), SCHEMA, store.wire.run_id, int(sure), int(lost)]

    head = store.keys[4]
    beside = [*[key for key in store.keys if key != head], f"{store.tag}seals"]
    answer = store.script(scripts.BEGIN, [head, *beside], words)
    if answer < 0:
        damaged(store)
    begun = bool(answer == 1)
    if begun:
        _mark_run(store)
    if begun and store.expire:
        set_expiry(store)
    # From now on this machine knows that the workspace exists: a server without it has lost it.
    store.remembered.rise(number if begun else int(store.ask("HGET", head, "commit") or 0))
    return begun


def set_expiry(store: RedisStore) -> None:
    """Let the workspace expire after this long without a commit; usually never."""
    names = [*store.keys, f"{store.tag}seals"]
    if store.expire:
        store.ask("HSET", store.keys[4], "expire", str(store.expire))
        for name in names:
            store.ask("PEXPIRE", name, str(store.expire))
    elif store.ask("HDEL", store.keys[4], "expire"):
        for name in names:
            store.ask("PERSIST", name)


def damaged(store: RedisStore) -> None:
    """A part of the workspace is missing, or was changed by something else."""
    where = hidden(store.wire.url)
    message = (
        f"{where} has lost a part of this workspace (were keys evicted, or deleted by hand?). Nothing was changed. "
        "`dibs doctor` says what can be done."
    )
    raise Unavailable(message, store=where, damaged=True)


def empty(store: RedisStore, *, leftovers: bool) -> None:
    """The workspace is absent. If it was used before, the server lost it: create it again with higher numbers."""
    if leftovers:
        damaged(store)
    store.remembered.look()
    if not store.remembered.number:
        where = hidden(store.wire.url)
        message = f"this workspace is not on {where}. Nothing was changed; `dibs up` begins it there."
        raise Unavailable(message, store=where, absent=True)
    begin(store, lost=True)


def another_server(store: RedisStore, before: str, commit: int) -> None:
    """A different server process answers: continue if nothing can be missing, else begin a new epoch."""
    store.remembered.look()
    if not store.wire.is_named and _is_marked(store, before):
        store.wire.run_id = before
        return
    store.ask_run_id()
    if store.wire.run_id == before:  # the run id changed while the connection stayed open
        return
    if commit >= store.remembered.number and keeps_all(store):
        words = [before, store.wire.run_id, str(next_number(store))]
        if store.script(scripts.KEEP, [store.keys[4]], lambda: words):
            _mark_run(store)
            return
    _new(store, before)


def check(store: RedisStore, commit: int, since: int) -> bool:
    """Is everything there that this machine remembers? If not, begin a new epoch; the caller retries."""
    number = store.remembered.number
    if commit < number:  # an older state was restored
        _new(store, store.wire.run_id, commit)
        return False
    if number >> EPOCH_BITS == commit >> EPOCH_BITS or number < since:
        return True  # of the same run, or given up with everything before this epoch
    kept = store.ask("HGET", store.keys[4], "kept") or b""
    for one in kept.split():
        there, gone_on = map(int, one.split(b":"))
        if number < gone_on:  # the first restart after it was answered
            if there < number:
                _new(store, store.wire.run_id, commit)
                return False
            break
    store.remembered.rise(commit)
    return True


def replaced(store: RedisStore, commit: int) -> None:
    """The log has a different event than this machine saw.

    An older state was restored, and others continued from it.
    """
    store.remembered.look()
    _new(store, store.wire.run_id, commit)


def _new(store: RedisStore, before: str, commit: int | None = None) -> None:
    number, sure = next_number(store), keeps_all(store)
    there = "" if commit is None else str(commit)

    def words() -> list[Any]:
        return [before, store.wire.run_id, str(number), int(sure), there]

    begun = store.script(scripts.EPOCH, [store.keys[4]], words)
    if begun:
        store.remembered.rise(int(begun))
        _mark_run(store)


def _mark_run(store: RedisStore) -> None:
    """Leave the mark of the stored run id in the script cache, after it was stored: a mark must not come first."""
    store.ask("EVAL", _mark(store, store.wire.run_id), 0)


def _is_marked(store: RedisStore, run_id: str) -> bool:
    """Did this server process store that run id?"""
    try:
        store.command("EVALSHA", sha1_of(_mark(store, run_id).encode()), 0)
    except (ConnectionLost, ServerError):
        return False
    return True


def _mark(store: RedisStore, run_id: str) -> str:
    return f"return '{store.tag}{run_id}'"


def next_number(store: RedisStore) -> int:
    """The number to continue from: above all that this machine remembers, in an epoch of the server's time."""
    seconds = int(store.ask("TIME")[0])
    number = max(seconds, (store.remembered.number >> EPOCH_BITS) + 1) << EPOCH_BITS
    number += int(sha1_of(store.wire.run_id.encode())[:8], 16) % FIRST_NUMBERS
    if number >= MAX_NUMBER >> 1:
        where = hidden(store.wire.url)
        message = f"{where} has a clock that is centuries ahead; commit numbers would run out. Nothing was changed."
        raise Unavailable(message, store=where, seconds=seconds)
    return number


def keeps_all(store: RedisStore) -> bool:
    """Does this server answer only after its disk has the commit, and was it always the primary?"""
    if store.wire.url.startswith("redis+sentinel:"):
        return False
    try:
        settings = store.command("CONFIG", "GET", "*append*")
        replication = store.command("INFO", "replication")
    except (ConnectionLost, ServerError):  # the user may not ask: then the server is not trusted
        return False
    pairs = (
        list(settings.items()) if isinstance(settings, dict) else list(zip(settings[::2], settings[1::2], strict=True))
    )
    said = {bytes(name): bytes(value) for name, value in pairs}
    lines = dict(line.split(b":", 1) for line in bytes(replication).splitlines() if b":" in line)
    return (
        said.get(b"appendonly") == b"yes"
        and said.get(b"appendfsync") == b"always"
        and said.get(b"no-appendfsync-on-rewrite", b"no") == b"no"
        and lines.get(b"role") == b"master"
        and lines.get(b"master_replid2", NO_REPLICATION_ID) == NO_REPLICATION_ID
    )
