"""Claims in one long-lived process, compared with bare SQLite.

The bare side is the minimum: an open apsw connection, WAL, synchronous=FULL, and one transaction of two inserts, with
the row and the event of a real claim, in the same two tables. Every door calls the operation; the Python API adds the
canonical path (links resolved) and the caller's identity.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import apsw

import dibs
from benchmarks.environment import Peer
from benchmarks.figures import AT_LEAST, Comparison, Row, Target, alternate, bursts, median, not_measured, spread
from dibs.canonical import Canonical
from dibs.client.session import Session
from dibs.operations.core.call import Call
from dibs.stores.sqlite import database_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.environment import Environment
    from benchmarks.figures import Burst
    from benchmarks.place import Bench

GROUP = "claims"
TARGET = Target(AT_LEAST, 0.5)
BURST = 10
BARE, OPERATION, API = "bare apsw transaction", "claim operation", "Python API claim"
PEERS = {
    "filelock": ("filelock acquire + release", "nothing is written"),
    "huey": ("huey lock_task", "fsync"),
    "coordinationhub": ("CoordinationHub library", "no fsync"),
}


def measure(bench: Bench, environment: Environment | None) -> list[Row]:
    """The rows of this group."""
    rounds = bench.count(150, 15)
    bench.say(f"claims: {rounds * BURST} of each")
    missing: list[Row] = []
    with ExitStack() as stack:
        session = Session(bench.workspace("claims"), None)
        stack.callback(session.close)
        workspace = stack.enter_context(dibs.open(bench.workspace("api"), agent="bench"))
        sides: dict[str, Burst] = {OPERATION: operation(session), API: _api(workspace)}
        sides[BARE] = _bare(session, bench.sub("bare"))
        for name, (title, _) in PEERS.items() if environment is not None else ():
            assert environment is not None
            if name in environment.versions:
                sides[title] = stack.enter_context(Peer(environment, name, bench.sub(f"peer-{name}"))).burst
            else:
                missing.append(not_measured(GROUP, title, environment.absent))
        taken = alternate(sides, rounds, BURST)
    notes = dict(PEERS.values())
    rows = []
    for name in (BARE, OPERATION, API, *[name for name in taken if name not in {BARE, OPERATION, API}]):
        times = taken[name]
        rows.append(
            Row(
                GROUP,
                name,
                median(times),
                "µs",
                beside=None if name == BARE else Comparison(times, taken[BARE], "bare's rate", rates=True),
                target=TARGET if name == OPERATION else None,
                note=notes.get(name, ""),
                more=spread(times),
            )
        )
    return rows + missing


def operation(session: Session, agent: str = "bench") -> Burst:
    """The claim operation through the session that every door uses, on canonical resources."""
    claim = session.operation("claim")

    def prepare(number: int) -> Callable[[], object]:
        fields = {"resources": [Canonical(("file", f"src/pkg{number % 50}/file{number}.py"))]}
        return partial(session.run, claim, Call(session.config.policy, agent=agent), fields)

    return bursts(prepare)


def _api(workspace: dibs.Workspace) -> Burst:
    def prepare(number: int) -> Callable[[], object]:
        return partial(workspace.claim, os.path.join(workspace.root, f"src/pkg{number % 50}/file{number}.py"))

    return bursts(prepare)


def _bare(session: Session, folder: str) -> Burst:
    """Two inserts in one transaction, with the row and the event that one claim of the session left behind."""
    row, event = _left_by_a_claim(session)
    # The plain VFS: page checksums are part of a claim's cost, not of the baseline.
    connection = apsw.Connection(os.path.join(folder, "bare.db"), vfs="unix")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(database_file.SCHEMA_1)

    def transaction(number: int) -> None:
        connection.execute("BEGIN IMMEDIATE")
        key = row[0].replace("file0", f"file{number}")
        connection.execute("INSERT INTO kv VALUES (?, ?, ?, ?, ?)", (key, row[1], number, f"{row[3]}{number}", row[4]))
        connection.execute("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)", (number, number, *event))
        connection.execute("COMMIT")

    return bursts(lambda number: partial(transaction, number))


def _left_by_a_claim(session: Session) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The kv row and the log row of one claim, as they stand in the database."""
    fields = {"resources": [Canonical(("file", "src/pkg0/file0.py"))]}
    session.run(session.operation("claim"), Call(session.config.policy, agent="bench"), fields)
    path = os.path.join(session.place.local, "dibs.db")
    connection = database_file.connect(path)
    try:
        row = connection.execute("SELECT k, v, n, i1, i2 FROM kv WHERE k LIKE 'r/%' LIMIT 1").get
        event = connection.execute("SELECT now, wall, body, link FROM log ORDER BY seq DESC LIMIT 1").get
    finally:
        connection.close()
    assert row is not None
    assert event is not None
    return row, event
