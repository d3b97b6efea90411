"""How long states stay, and how much of the disk they take: `[guards] keep` and `states` of the config.

`keep` is how far back every tree can be brought: its last state before that stays as well, while the tree is there. The
states of more than a day ago are thinned out to one in ten minutes. Above the size the oldest go first. A clean-up is
alone in the store: it writes one pack of what is needed, and deletes the rest. Killed in between, it leaves both.
"""

from __future__ import annotations

import os
import time

from dibs.states import store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.states.store import StateRecord, Store
    from dibs.workspace.location import Place

PACKED = "packed"  # in the store: its time is that of the last clean-up
EVERY_S = 3600.0
MAX_LOOSE = 24  # files in one of 256 folders: then it is time to pack, whatever the hour
MIN_LOOSE, DAY_S = 2, 86_400.0  # fewer are not worth an hourly clean-up
DAY_MS, TEN_MINUTES_MS = 86_400_000, 600_000
MAX_ROUNDS = 8  # of dropping the older half, until the size is kept


def tidy_if_due(place: Place) -> None:
    """Clean up: once a day, once an hour if there is something to pack, at once if there is much."""
    kept = store.Store(place)
    try:
        age = time.time() - os.stat(f"{kept.folder}/{PACKED}").st_mtime
    except OSError:
        age = 0.0
        _mark(kept)
    try:
        loose = len(os.listdir(f"{kept.path}/00"))
    except OSError:
        loose = 0
    if loose < MAX_LOOSE and age < (EVERY_S if loose >= MIN_LOOSE else DAY_S):
        return
    from dibs.workspace import config

    guards = config.load(place.config, place.local, place.root, place.shared).policy.guards
    tidy(place, guards["keep"], guards["states"])


def is_on(place: Place) -> bool:
    """Does the config want states?"""
    from dibs.workspace import config

    return config.load(place.config, place.local, place.root, place.shared).policy.guards["states"] > 0


def tidy(place: Place, keep_ms: int, most: int) -> None:
    """Drop what is too old or too much, and pack the rest."""
    kept = store.Store(place)
    with kept.locked(alone=True):
        _mark(kept)
        now = time.time_ns() // 1_000_000
        ledgers = kept.ledgers()
        for folder, top in ledgers:
            is_there = os.path.isdir(top)
            _drop(folder, lambda rows, there=is_there: chosen(rows, now, keep_ms, is_there=there))  # type: ignore[misc]
        _pack(kept)
        for _ in range(MAX_ROUNDS):
            if kept.bytes() <= most:
                return
            dropped = [_drop(folder, _newer_half) for folder, _ in ledgers]
            if not any(dropped):
                return
            _pack(kept)


def chosen(rows: Sequence[StateRecord], now: int, keep_ms: int, *, is_there: bool) -> list[StateRecord]:
    """The states that stay."""
    young = [row for row in rows if row["at"] >= now - keep_ms]
    old = [row for row in rows if row["at"] < now - keep_ms]
    last = old[-1:] if is_there else []
    thin: dict[int, StateRecord] = {row["at"] // TEN_MINUTES_MS: row for row in young if row["at"] < now - DAY_MS}
    return [*last, *thin.values(), *[row for row in young if row["at"] >= now - DAY_MS]]


def _drop(folder: str, choose: Callable[[list[StateRecord]], list[StateRecord]]) -> bool:
    rows = store.records(folder)
    left = choose(rows)
    if len(left) == len(rows):
        return False
    store.replace(folder, left)
    return True


def _newer_half(rows: list[StateRecord]) -> list[StateRecord]:
    return rows[len(rows) // 2 :]


def _pack(kept: Store) -> None:
    """One pack of what the states need, one of HEADs that only they have; then the other files go."""
    rows = [row for folder, _ in kept.ledgers() for row in store.records(folder)]
    before = [f"{folder}/{name}" for folder, _, files in os.walk(kept.path) for name in files]
    states = list(dict.fromkeys(row["id"] for row in rows))
    own = kept.pack(kept.live_objects(states) if states else [], alone=True)
    heads = [one for head in dict.fromkeys(row["head"] for row in rows if row["head"]) for one in kept.needed_of(head)]
    theirs = kept.pack(list(dict.fromkeys(heads)), alone=False)
    written = tuple(name for name in (own, theirs) if name)
    for path in before:
        if not path.startswith(written):
            os.unlink(path)


def _mark(kept: Store) -> None:
    os.makedirs(kept.folder, 0o700, exist_ok=True)
    fd = os.open(f"{kept.folder}/{PACKED}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.utime(fd)
    os.close(fd)
