"""The two queues that the bench of work compares: dibs' own tasks, and a minimal queue on SQLite.

Both have the same four verbs: `add` tasks, `take` one, `finish` it, `close`. The bare one is an apsw connection with
WAL and synchronous=FULL, in dibs' own tables, with the rows and events of a real take and finish: one transaction finds
the first ready row by its index, changes it, and adds a claim's row and the events; another changes it again, deletes
the claim's row and adds its events. It decides nothing: no agent, no token, no deadline, no chain of the log. Nothing
is measured here.
"""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Any, Protocol

import apsw

from dibs.client.session import Session
from dibs.errors import NotFound
from dibs.operations.core.call import Call
from dibs.operations.core.entry import perform
from dibs.stores.sqlite import database_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.stores.seam import Transaction

PATIENCE = 120_000  # SQLite's busy timeout in ms: no process gives up
TOGETHER = 500  # tasks added in one transaction; one of over two seconds would be run again
AGENT = "bench"
READY = "SELECT k, v FROM kv WHERE i1 >= 'ready\t' AND i1 < 'ready\n' ORDER BY i1 LIMIT 1"
CHANGE = "UPDATE kv SET v = ?, n = ?, i1 = ?, i2 = ? WHERE k = ?"
INSERT = "INSERT INTO kv VALUES (?, ?, ?, ?, ?)"
DELETE = "DELETE FROM kv WHERE k = ?"
APPEND = "INSERT INTO log VALUES (NULL, ?, ?, ?, ?, ?)"

Item = tuple[str, int]  # a task's id, and the token to finish it with


class Queue(Protocol):
    """A queue of tasks."""

    def add(self, count: int) -> None:
        """Add this many tasks, all alike."""

    def take(self) -> Item | None:
        """Take the first one; None if there is none."""

    def finish(self, item: Item) -> None:
        """Finish it."""

    def close(self) -> None:
        """Close the store."""


class Tasks:
    """The tasks of a workspace, through the session that every door uses.

    With `chained`, a finish takes the next task in the same transaction, as `dibs worker` does; `take` then only
    returns the task that is there already. With `turn`, this many are finished and taken in one transaction.
    """

    def __init__(self, folder: str, agent: str = AGENT, *, chained: bool = False, turn: int = 0) -> None:
        if turn:
            _allow(folder, turn)
        self._many, self._ready, self._finished = turn, list[Item](), list[Item]()
        self.session = Session(folder, None, timeout=PATIENCE / 1000)
        self._turn = self.session.operation("task turn")
        self.agent = agent
        self._next, self._done = self.session.operation("task next"), self.session.operation("task done")
        self._chained = chained
        self._following: Item | None = None

    def add(self, count: int) -> None:
        """Add this many tasks, all alike."""
        self.add_all([{"title": "a task of the bench"}] * count)

    def add_all(self, wanted: Sequence[dict[str, Any]]) -> None:
        """Add tasks with these fields, many in one transaction."""
        add = self.session.operation("task add")
        for first in range(0, len(wanted), TOGETHER):
            some = wanted[first : first + TOGETHER]

            def together(tx: Transaction, some: Sequence[dict[str, Any]] = some) -> None:
                for fields in some:
                    perform(tx, self._call("load"), add, fields)

            self.session.store.run(together)

    def take(self) -> Item | None:
        """Take the best ready task."""
        if self._many:
            if not self._ready:
                self.turn()
            return self._ready.pop(0) if self._ready else None
        if self._following is not None:
            item, self._following = self._following, None
            return item
        try:
            answer = self.session.run(self._next, self._call(), {})
        except NotFound:
            return None
        return answer["task"]["id"], answer["token"]

    def finish(self, item: Item) -> None:
        """Finish it, and take the next one with it if they are chained."""
        if self._many:
            self._finished.append(item)
            return
        fields = {"id": item[0], "token": item[1]}
        if not self._chained:
            self.session.run(self._done, self._call(), fields)
            return
        following = self.session.run(self._done, self._call(), {**fields, "next": True})["next"]
        self._following = (following["task"]["id"], following["token"]) if following is not None else None

    def turn(self) -> None:
        """Finish the finished tasks, take as many as one turn has."""
        done = [{"id": name, "token": token} for name, token in self._finished]
        answer = self.session.run(self._turn, self._call(), {"done": done, "take": self._many})
        assert not answer["refused"], answer["refused"]
        self._finished.clear()
        self._ready += [(one["task"]["id"], one["token"]) for one in answer["tasks"]]

    def close(self) -> None:
        """Close the store."""
        self.session.close()

    def _call(self, agent: str = "") -> Call:
        return Call(self.session.config.policy, agent=agent or self.agent)


def _allow(folder: str, count: int) -> None:
    """Let an agent of this workspace have this many tasks at a time."""
    path = os.path.join(folder, ".dibs", "config.toml")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if "\nmax_tasks =" not in text:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + f"\n[tasks]\nmax_tasks = {count}\n")


def left_behind(tasks: Tasks) -> dict[str, Any]:
    """The rows and events of one take and one finish, from the database; plain values."""
    tasks.add(2)
    first = tasks.take()
    assert first is not None
    tasks.finish(first)  # registers the agent: this is written once, not with each task
    connection = database_file.connect(os.path.join(tasks.session.place.local, "dibs.db"))
    try:
        (task,) = [row[0].removeprefix("t\t") for row in connection.execute(READY)]
        found: dict[str, Any] = {"task": task, "ready": _row(connection, f"t\t{task}")}
        before = connection.execute("SELECT max(seq) FROM log").get
        item = tasks.take()
        assert item is not None
        assert item[0] == task
        found["taken"] = _row(connection, f"t\t{task}")
        name = f"ntask:{task}\t"
        claims = connection.execute("SELECT k, v, n, i1, i2 FROM kv WHERE k >= ? AND k < ?", (name, name[:-1] + "\n"))
        (found["claim"],) = [list(row) for row in claims]
        found["take"], between = _events(connection, before)
        tasks.finish(item)
        found["done"] = _row(connection, f"t\t{task}")
        found["finish"], _ = _events(connection, between)
    finally:
        connection.close()
    return found


def _row(connection: apsw.Connection, key: str) -> list[Any]:
    row = connection.execute("SELECT k, v, n, i1, i2 FROM kv WHERE k = ?", (key,)).get
    assert row is not None, key
    return list(row)


def _events(connection: apsw.Connection, after: int) -> tuple[list[list[Any]], int]:
    """The events after that one, and the number of the last."""
    rows = list(connection.execute("SELECT seq, now, wall, body, link FROM log WHERE seq > ? ORDER BY seq", (after,)))
    assert rows
    return [list(row[1:]) for row in rows], rows[-1][0]


class Bare:
    """The same rows in the same tables, with bare SQLite."""

    def __init__(self, folder: str, texts: dict[str, Any]) -> None:
        # The plain VFS: page checksums are part of a task's cost, not of the baseline.
        self._connection = apsw.Connection(os.path.join(folder, "bare.db"), vfs="unix")
        self._connection.set_busy_timeout(PATIENCE)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._texts = texts
        self._task: str = texts["task"]
        self._numbers = itertools.count(1)

    def make(self) -> None:
        """Make the tables; once."""
        self._connection.execute(database_file.SCHEMA_1)

    def add(self, count: int) -> None:
        """Add this many tasks, all alike."""
        sql, task, (key, value, number, i1, i2) = self._connection.execute, self._task, self._texts["ready"]
        sql("BEGIN IMMEDIATE")
        for place in itertools.islice(self._numbers, count):
            name = f"t{place:0{len(task) - 1}d}"
            sql(INSERT, (*[text.replace(task, name) for text in (key, value)], number, i1.replace(task, name), i2))
        sql("COMMIT")

    def take(self) -> Item | None:
        """One transaction: find the first, change it, add the claim and the events."""
        sql = self._connection.execute
        sql("BEGIN IMMEDIATE")
        row = sql(READY).fetchone()
        if row is None:
            sql("ROLLBACK")
            return None
        name = row[0][2:]
        self._change("taken", name)
        key, value, number, i1, i2 = self._texts["claim"]
        sql(INSERT, (key.replace(self._task, name), value.replace(self._task, name), number, i1, i2))
        self._append("take", name)
        sql("COMMIT")
        return name, 0

    def finish(self, item: Item) -> None:
        """Another transaction: change it, delete the claim, add the events."""
        sql, name = self._connection.execute, item[0]
        sql("BEGIN IMMEDIATE")
        self._change("done", name)
        sql(DELETE, (self._texts["claim"][0].replace(self._task, name),))
        self._append("finish", name)
        sql("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _change(self, what: str, name: str) -> None:
        key, value, number, i1, i2 = self._texts[what]
        task = self._task
        values = (value.replace(task, name), number, i1.replace(task, name), i2, key.replace(task, name))
        self._connection.execute(CHANGE, values)

    def _append(self, what: str, name: str) -> None:
        for now, wall, body, link in self._texts[what]:
            self._connection.execute(APPEND, (now, now, wall, body.replace(self._task, name), link))
