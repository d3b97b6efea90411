"""Several transactions with one commit (`run_many`): as if run one by one, all kept when answered, none half done."""

from __future__ import annotations

import fcntl
import itertools
import os
import random
import signal
import threading
from typing import TYPE_CHECKING, Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dibs.errors import Busy, DibsError, Invalid, Unavailable
from dibs.machine import clock
from dibs.stores.redis import epoch
from dibs.stores.redis.plain_socket import PlainWire
from dibs.stores.redis.store import RedisStore
from dibs.stores.redis.wire import ConnectionLost
from dibs.stores.seam import COMMIT, GENESIS, digest_of, link_of, prefix_range, read_event
from dibs.stores.sqlite import group as sqlite_group
from dibs.stores.sqlite import store as sqlite_store
from dibs.stores.sqlite.store import SqliteStore
from dibs.testing.memory import MemoryStore
from tests.waiting import LIMIT_S, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from dibs.stores.seam import Store, Transaction
    from tests.stores.redis_server import Server

    Function = Callable[[Transaction], Any]

KEYS = ("a/1", "a/2", "b/1", "b/2")
NUMBERS = itertools.count()


class RefusedError(Exception):
    """What a program of these tests raises."""


@pytest.fixture
def path(tmp_path: Path) -> str:
    made = str(tmp_path / "dibs.db")
    sqlite_store.create(made)
    return made


@pytest.fixture
def store(path: str) -> Iterator[SqliteStore]:
    opened = SqliteStore(path)
    yield opened
    opened.close()


def program(steps: Sequence[tuple[Any, ...]]) -> Function:
    """A transaction made of steps; its answer is all that it read, and its number."""

    def fn(tx: Transaction) -> Any:
        seen: list[Any] = []
        for word, *rest in steps:
            if word == "put":
                tx.put(rest[0], {"value": rest[1], "token": COMMIT}, f"i\t{rest[1]}", f"j\t{rest[0]}")
            elif word == "delete":
                tx.delete(rest[0])
            elif word == "append":
                tx.append("said", "a", str(rest[0]), {"token": COMMIT})
            elif word == "fetch":
                tx.prefetch([rest[0]], [prefix_range("a/")], 2)
                got = tx.fetch([prefix_range("a/")], 2)
                seen.append([_told(tx.get(rest[0])), [[key, _told(value)] for key, value in got.rows]])
                seen.append(got.truncated)
            elif word == "scan":
                scanned = tx.scan(rest[0], "ij"[rest[0] - 1] + "\t", 2)
                seen.append([[entry, key, _told(value)] for entry, key, value in scanned.rows])
                seen.append(scanned.truncated)
            elif word == "raise":
                raise RefusedError
        return [seen, COMMIT if tx.touched else None]

    return fn


def _told(value: Any) -> Any:
    """A row as a program tells it. Its own rows hold the placeholder on some engines and the number on others."""
    return value and value["value"]


step = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(KEYS), st.integers(0, 3)),
    st.tuples(st.just("delete"), st.sampled_from(KEYS)),
    st.tuples(st.just("append"), st.integers(0, 9)),
    st.tuples(st.just("fetch"), st.sampled_from(KEYS)),
    st.tuples(st.just("scan"), st.sampled_from((1, 2))),
    st.tuples(st.just("raise")),
)
groups = st.lists(st.lists(st.lists(step, max_size=5), max_size=5), min_size=1, max_size=4)


def state(store: Store, first: int) -> Any:
    """All rows, by key and by both indexes, and the log; numbers counted from the first."""

    def read(tx: Transaction) -> Any:
        rows = [[key, value["value"], value["token"] - first] for key, value in tx.fetch([("a", "c")]).rows]
        return rows, [[row[:2] for row in tx.scan(index, "ij"[index - 1] + "\t", 99).rows] for index in (1, 2)]

    events, link = [], GENESIS
    for event in store.events():
        link = link_of(link, event.seq, event.commit, event.now, event.wall, digest_of(event.body))
        assert event.link == link, "the log is chained through a group, too"
        said = read_event(event)
        assert said["data"]["token"] == event.commit
        events.append([event.seq, event.commit - first, said["subject"]])
    head = store.head()
    assert head.link == link
    return store.look(read), events, head.commit - first, head.seq


def outcome(run: Callable[[], Any], first: int) -> Any:
    try:
        return told(run(), None, first)
    except RefusedError as error:
        return told(None, error, first)


def told(value: Any, error: Exception | None, first: int) -> Any:
    assert error is None or isinstance(error, RefusedError), error
    return "refused" if error else [value[0], value[1] and value[1] - first]


def same_as_one_by_one(store: Store, lists: list[list[list[tuple[Any, ...]]]]) -> None:
    alone = MemoryStore()
    first = store.head().commit
    for group in lists:
        fns = [program(steps) for steps in group]
        expected = [outcome(lambda fn=fn: alone.run(fn), 0) for fn in fns]  # type: ignore[misc]
        assert [told(value, error, first) for value, error in store.run_many(fns)] == expected
        assert state(store, first) == state(alone, 0)


PROPERTY = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@PROPERTY
@given(lists=groups, seed=st.integers(0, 9))
def test_a_group_on_the_memory_engine_does_what_its_functions_do_one_by_one(lists: Any, seed: int) -> None:
    chance = random.Random(seed)
    same_as_one_by_one(MemoryStore(), lists)
    same_as_one_by_one(MemoryStore(abort=lambda: chance.random() < 0.4), lists)


@PROPERTY
@given(lists=groups)
def test_a_group_on_sqlite_does_what_its_functions_do_one_by_one(lists: Any, tmp_path: Path) -> None:
    path = str(tmp_path / f"{next(NUMBERS)}.db")
    sqlite_store.create(path)
    store = SqliteStore(path)
    store._sql("PRAGMA synchronous = OFF")
    same_as_one_by_one(store, lists)
    store.close()


@PROPERTY
@given(lists=groups)
def test_a_group_on_redis_does_what_its_functions_do_one_by_one(lists: Any, server: Server) -> None:
    store = RedisStore(PlainWire(server.socket_url, 5.0), clock.random_id())
    epoch.begin(store)
    same_as_one_by_one(store, lists)
    store.close()


# --- SQLite: one commit, and what happens when it fails


def count(tx: Transaction) -> int:
    """One more: a row that moves in an index, a row for each, an event and a wake. Gives the number."""
    number: int = (tx.get("n") or 0) + 1
    tx.put("n", number, f"i\t{number:05d}")
    tx.put(f"r\t{number}", COMMIT)
    tx.append("counted", "a", str(number), {})
    tx.wake("nobody")
    return number


def counted(store: Store) -> int:
    """How many were kept; none of them half."""

    def read(tx: Transaction) -> int:
        number: int = tx.get("n") or 0
        assert [row[0] for row in tx.scan(1, "i\t", 9).rows] == ([f"i\t{number:05d}"] if number else [])
        assert len(tx.fetch([("r\t", "r\n")]).rows) == number
        return number

    number = store.look(read)
    head, link = store.head(), GENESIS
    assert (head.commit, head.seq) == (number, number)
    for event in store.events():
        link = link_of(link, event.seq, event.commit, event.now, event.wall, digest_of(event.body))
        assert event.link == link
    assert head.link == link
    return number


class Statements:
    """All statements of a store, in order; with a fault before the statement that begins with certain words."""

    def __init__(self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.said: list[str] = []
        self.fault: tuple[str, Exception] | None = None
        original = store._sql

        def sql(statement: str, values: Sequence[Any] = ()) -> Any:
            self.said.append(statement)
            if self.fault is not None and statement.startswith(self.fault[0]):
                raise self.fault[1]
            return original(statement, values)

        monkeypatch.setattr(store, "_sql", sql)


def test_a_group_is_committed_once_and_a_savepoint_is_set_only_where_something_is_written(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements = Statements(store, monkeypatch)
    store.run_many([count, lambda tx: tx.get_many(["n"]), count, count])
    assert statements.said.count("COMMIT") == 1
    assert statements.said.count("BEGIN IMMEDIATE") == 1
    assert statements.said.count("SAVEPOINT one") == 3
    assert len([said for said in statements.said if said.startswith("UPDATE head")]) == 1
    assert counted(store) == 3


def test_nobody_is_woken_and_the_gate_remembers_nothing_before_the_commit(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements = Statements(store, monkeypatch)
    order: list[Any] = []
    wakes, leave = store._wakes(), store._gate.leave
    monkeypatch.setattr(wakes, "wake", lambda _: order.append("wake" if "COMMIT" in statements.said else "too early"))

    def leaves(number: int = 0, identifier: str = "") -> None:
        order.append(number if "COMMIT" in statements.said else "too early")
        leave(number, identifier)

    monkeypatch.setattr(store._gate, "leave", leaves)
    store.run_many([count, count])
    assert order == [2, "wake", "wake"]
    assert store._gate.remembered()[0] == 2


@pytest.mark.parametrize("where", ["COMMIT", "UPDATE head"])
def test_a_commit_that_fails_is_the_outcome_of_all_and_nothing_is_kept(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    statements = Statements(store, monkeypatch)
    statements.fault = where, apsw.FullError("disk full")
    done = store.run_many([count, lambda tx: tx.get("n"), count])
    assert [(value, type(error)) for value, error in done] == [(None, Unavailable)] * 3
    assert all(isinstance(error, DibsError) and error.fields["full"] for _, error in done)
    statements.fault = None
    assert counted(store) == 0
    assert store.run_many([count, count]) == [(1, None), (2, None)]
    assert counted(store) == 2


@pytest.mark.parametrize("hidden", [False, True], ids=["that is raised", "that a function hides"])
def test_an_error_of_sqlite_that_rolled_back_everything_is_the_outcome_of_all(store: SqliteStore, hidden: bool) -> None:
    def rolled_back(tx: Transaction) -> None:
        tx.put("k", 1)
        tx.append("lost", "a", "", {})
        store._connection.execute("ROLLBACK")  # as SQLite does by itself when the disk is full
        if not hidden:
            raise RefusedError

    done = store.run_many([count, rolled_back, count])
    assert [(value, type(error)) for value, error in done] == [(None, Unavailable)] * 3
    assert counted(store) == 0
    done = store.run_many([count, lambda _: bool(store._connection.execute("ROLLBACK").fetchall()), count, count])
    assert [(value, type(error)) for value, error in done] == [(None, Unavailable)] * 4
    assert counted(store) == 0
    assert store.run(count) == 1


def test_an_error_of_sqlite_that_concerns_one_function_is_its_outcome_alone(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.run(lambda tx: tx.put("bad", 1))
    store._sql("UPDATE kv SET v = '{broken' WHERE k = 'bad'")
    statements = Statements(store, monkeypatch)
    done = store.run_many([count, lambda tx: tx.get("bad"), lambda tx: tx.put("half", "\ud800"), count])
    assert [type(error) for _, error in done] == [type(None), Unavailable, type(None), type(None)]
    done = store.run_many([count, lambda tx: tx.put("half \ud800", 1), count])
    assert [type(error) for _, error in done] == [type(None), Invalid, type(None)]
    statements.fault = "DELETE", apsw.CorruptError("database disk image is malformed")

    def deletes(tx: Transaction) -> None:
        tx.put("k", 1)
        tx.delete("k")

    done = store.run_many([count, deletes, count])
    assert [type(error) for _, error in done] == [type(None), Unavailable, type(None)]
    assert store.look(lambda tx: tx.get_many(["k", "n"])) == {"k": None, "n": 6}


def test_what_run_refuses_is_the_outcome_of_all(store: SqliteStore, path: str) -> None:
    short = SqliteStore(path, timeout=0.05)
    fd = os.open(f"{path}.gate", os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX)
    done = short.run_many([count, count])
    os.close(fd)
    assert [type(error) for _, error in done] == [Busy, Busy]
    os.rename(path, f"{path}.away")
    assert [error.fields["missing"] for _, error in store.run_many([count]) if isinstance(error, DibsError)] == [True]
    os.rename(f"{path}.away", path)
    assert store.run_many([count]) == [(1, None)]
    short.close()


def test_a_group_that_takes_long_is_divided_into_several_commits(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_group, "MAX_GROUP_MS", -1)
    statements = Statements(store, monkeypatch)
    assert store.run_many([count, count, count]) == [(1, None), (2, None), (3, None)]
    assert statements.said.count("COMMIT") == 3
    assert counted(store) == 3


def test_the_oldest_clock_of_a_group_decides_whether_it_is_run_again(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_group, "MAX_GROUP_MS", 60_000)
    store.run(count)  # from its first commit on the store's clock runs with the machine's
    began = clock.since_boot
    runs: list[int] = []

    def paused(tx: Transaction) -> int:
        runs.append(tx.now)
        if len(runs) == 1:  # the process stops for five seconds; those after it have a fresh clock
            monkeypatch.setattr(clock, "since_boot", lambda: began() + 5_000)
        return count(tx)

    assert store.run_many([paused, count]) == [(2, None), (3, None)]
    assert len(runs) == 2
    assert runs[1] - runs[0] >= 5_000
    assert counted(store) == 3


def test_a_look_does_not_wait_for_a_group_of_another_thread(store: SqliteStore) -> None:
    store.run(count)
    inside, go = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> int:
        number = count(tx)
        inside.set()
        assert go.wait(LIMIT_S)
        return number

    done: list[Any] = []
    writer = threading.Thread(target=lambda: done.append(store.run_many([count, slow])))
    writer.start()
    try:
        assert inside.wait(LIMIT_S)
        assert counted(store) == 1, "what was there before"
        assert [event.seq for event in store.events()] == [1]
        with pytest.raises(TypeError):
            store.look(count)
    finally:
        go.set()
        writer.join(LIMIT_S)
    assert done == [[(2, None), (3, None)]]
    assert counted(store) == 3, "and what is there afterwards"


def test_a_store_of_one_thread_has_one_connection(store: SqliteStore) -> None:
    store.run(count)
    counted(store)
    assert store._reader is None


# --- killed inside a group


def killed_at(path: str, point: int, told: int) -> bool:
    """In a process of its own: a group of three, killed before the statement of that number. Was it?"""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    try:  # the child; nothing of pytest may run here any more
        store = SqliteStore(path, short_lived=True)
        store.look(lambda _: None)
        original, left = store._sql, [point]

        def passed() -> None:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        def sql(statement: str, values: Sequence[Any] = ()) -> Any:
            passed()
            return original(statement, values)

        store._sql = sql  # type: ignore[method-assign]
        done = store.run_many([count, program([("put", "a/1", 1), ("raise",)]), count, count])
        passed()  # durable, and not answered
        os.write(told, b"".join(b"%d\n" % value for value, error in done if error is None))
        os._exit(0)
    finally:
        os._exit(1)


def test_a_process_killed_at_any_statement_of_a_group_leaves_all_of_it_or_nothing(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dibs.stores.sqlite.group.MAX_GROUP_MS", 60_000)  # on a busy machine it would be two groups
    reading, told = os.pipe()
    before, kept, lost = 0, 0, 0
    for point in itertools.count(1):
        killed = killed_at(path, point, told)
        store = SqliteStore(path)
        number = counted(store)
        assert store.look(lambda tx: tx.get("a/1")) is None
        store.close()
        assert number - before in {0, 3}, "half of a group is there"
        kept, lost = kept + (number > before), lost + (number == before)
        before = number
        if not killed:
            assert [int(line) for line in os.read(reading, 99).split()] == [number - 2, number - 1, number]
            break
        assert point < 200
    os.close(reading)
    os.close(told)
    assert lost > 15, "killed before the commit"
    assert kept == 2, "killed after the commit; and answered"


# --- Redis: others commit between


def test_a_group_on_redis_takes_a_few_trips_however_many_functions_it_has(
    fresh: Callable[..., RedisStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = fresh()
    store.run_many([count, count])
    trips: list[Any] = []
    call = store.wire.call

    def counted_call(*words: Any) -> Any:
        trips.append(words[0])
        return call(*words)

    monkeypatch.setattr(store.wire, "call", counted_call)
    done = store.run_many([lambda tx, n=n: (tx.get(f"own/{n}"), count(tx))[1] for n in range(40)])  # type: ignore[misc]
    assert [value for value, _ in done] == list(range(3, 43))
    assert len(trips) <= 4


def test_a_group_on_redis_that_meets_another_commit_is_decided_again(fresh: Callable[..., RedisStore]) -> None:
    store, other = fresh(), fresh()
    met: list[int] = []

    def meets(tx: Transaction) -> int:
        number = count(tx)
        if len(met) < 3:
            met.append(other.run(count))
        return number

    first = store.head().commit
    done = store.run_many([count, meets, program([("put", "a/1", 1), ("raise",)]), count])
    assert [type(error) for _, error in done] == [type(None), type(None), RefusedError, type(None)]
    assert [value for value, _ in done if value] == [4, 5, 6]
    assert store.look(lambda tx: tx.get("a/1")) is None
    rows = store.look(lambda tx: tx.fetch([("r\t", "r\n")])).rows
    assert [value - first for _, value in rows] == [1, 2, 3, 4, 5, 6], "each row has its own number"
    assert [event.commit - first for event in store.events()] == [1, 2, 3, 4, 5, 6]


def test_a_group_on_redis_has_right_numbers_although_an_unrelated_commit_comes_between(
    fresh: Callable[..., RedisStore],
) -> None:
    store, other = fresh(), fresh()
    met: list[Any] = []

    def meets(tx: Transaction) -> Any:
        tx.get("own")
        tx.append("said", "a", "", {})
        if not met:
            met.append(other.run(lambda tx: tx.put("elsewhere", 1)))
        return COMMIT

    def after(tx: Transaction) -> Any:
        tx.append("said", "a", "", {})
        return COMMIT

    first = store.head().commit
    done = store.run_many([meets, after])
    assert [value - first for value, _ in done] == [2, 3]
    assert [event.commit - first for event in store.events()] == [2, 3]


def test_a_group_on_redis_whose_answer_is_lost_is_applied_once_and_answered(
    fresh: Callable[..., RedisStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = fresh()
    store.run_many([count, count])
    call = store.wire.call
    lost: list[Any] = []
    before = store.head().seq

    def loses(*words: Any) -> Any:
        answer = call(*words)
        if not lost and isinstance(answer, list) and answer[0] == b"done":
            lost.append(answer)
            message = "the answer did not arrive"
            raise ConnectionLost(message)
        return answer

    monkeypatch.setattr(store.wire, "call", loses)
    done = store.run_many([count, program([("put", "a/1", 1), ("raise",)]), count])
    assert len(lost) == 1
    assert [value for value, _ in done] == [3, None, 4]
    assert [event.seq for event in store.events(before)] == [3, 4]
    assert store.run_many([count, count]) == [(5, None), (6, None)]


def test_several_processes_with_groups_on_one_redis_lose_and_repeat_nothing(fresh: Callable[..., RedisStore]) -> None:
    stores = [fresh() for _ in range(3)]
    found: list[Any] = []

    def work(store: RedisStore) -> None:
        for _ in range(10):
            found.extend(store.run_many([count] * 4))

    threads = [threading.Thread(target=work, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    until(lambda: len(found) == 120)
    for thread in threads:
        thread.join()
    assert [error for _, error in found if error] == []
    assert sorted(value for value, _ in found) == list(range(1, 121))
    assert [event.seq for event in stores[0].events()] == list(range(1, 121))
