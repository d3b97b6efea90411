"""What is special to the SQLite engine: its file, its schema's versions, its gate, its clock."""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import apsw
import pytest

from dibs.errors import Busy, Invalid, Unavailable
from dibs.machine import clock
from dibs.stores import seam
from dibs.stores.sqlite import database_file
from dibs.stores.sqlite import store as sqlite_store
from dibs.stores.sqlite.gate import Gate
from dibs.stores.sqlite.reader import Reader
from dibs.stores.sqlite.store import SqliteStore
from tests.waiting import LIMIT_S, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.stores.seam import Transaction


@pytest.fixture
def path(tmp_path: Path) -> str:
    name = str(tmp_path / "dibs.db")
    sqlite_store.create(name)
    return name


def put(store: SqliteStore, key: str) -> None:
    def fn(tx: Transaction) -> None:
        tx.put(key, 1)
        tx.append("kind", "a", key, {})

    store.run(fn)


def test_commits_are_synchronous_and_in_wal_mode(path: str) -> None:
    store = SqliteStore(path)
    put(store, "k")
    assert store._sql("PRAGMA synchronous").get == 2
    assert store._sql("PRAGMA journal_mode").get == "wal"
    store.close()


def test_pages_carry_checksums(path: str) -> None:
    store = SqliteStore(path)
    put(store, "k")
    assert store._connection.reserve_bytes() == 8
    store.close()


def test_the_database_is_only_readable_by_its_owner(path: str) -> None:
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_a_missing_database_is_an_error_and_is_not_made_anew(path: str) -> None:
    os.unlink(path)
    with pytest.raises(Unavailable, match="is gone") as refused:
        SqliteStore(path)
    assert refused.value.missing
    assert not os.path.exists(path)


def test_making_one_where_there_is_one_touches_nothing(path: str) -> None:
    before = Path(path).read_bytes()
    with pytest.raises(Unavailable, match="exists already"):
        sqlite_store.create(path)
    assert Path(path).read_bytes() == before


def test_a_newer_schema_is_refused_and_nothing_changed(path: str) -> None:
    store = SqliteStore(path)
    put(store, "k")
    store._sql("UPDATE head SET schema = 99")
    store.close()
    before = Path(path).read_bytes()
    with pytest.raises(Unavailable, match="a newer dibs made it"):
        put(SqliteStore(path), "other")
    assert Path(path).read_bytes() == before


def test_an_older_schema_is_brought_up_to_date_once(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqliteStore(path)
    put(store, "k")
    store.close()
    added = "CREATE TABLE extra (x); INSERT INTO extra VALUES (7);"
    monkeypatch.setattr(database_file, "MIGRATIONS", [*database_file.MIGRATIONS, added])
    store = SqliteStore(path)
    put(store, "after")
    assert store._sql("SELECT x FROM extra").get == 7
    assert store._sql("SELECT schema FROM head").get == len(database_file.MIGRATIONS)
    assert store.look(lambda tx: tx.get_many(["k", "after"])) == {"k": 1, "after": 1}
    store.close()


def test_a_foreign_database_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = str(tmp_path / "dibs.db")
    foreign = apsw.Connection(path)
    foreign.execute("CREATE TABLE bookmarks (url)")
    foreign.close()
    before = Path(path).read_bytes()
    with pytest.raises(Unavailable, match=r"not one of dibs.*`dibs doctor --recover`"):
        put(SqliteStore(path), "k")
    with pytest.raises(Unavailable):
        SqliteStore(path).head()
    assert Path(path).read_bytes() == before


def test_a_file_that_was_cut_off_is_called_that_with_the_way_out(path: str) -> None:
    SqliteStore(path).close()
    Path(path).write_bytes(b"")
    with pytest.raises(Unavailable, match=r"is empty: it was cut off.*`dibs doctor --recover`"):
        put(SqliteStore(path), "k")


def test_an_older_copy_put_back_is_refused_because_tokens_would_fall(path: str, tmp_path: Path) -> None:
    store = SqliteStore(path)
    put(store, "early")
    store.close()
    copy = tmp_path / "copy"
    shutil.copy(path, copy)
    store = SqliteStore(path)
    put(store, "late")
    store.close()
    shutil.copy(copy, path)
    with pytest.raises(Unavailable, match="was answered"):
        put(SqliteStore(path), "more")
    with pytest.raises(Unavailable, match="was answered"):
        SqliteStore(path).head()


def test_a_wal_that_was_cut_off_is_noticed(path: str) -> None:
    store = SqliteStore(path)
    for number in range(5):
        put(store, str(number))
    wal = Path(f"{path}-wal").read_bytes()
    database = Path(path).read_bytes()
    store.close()
    Path(path).write_bytes(database)
    Path(f"{path}-wal").write_bytes(wal[: len(wal) // 2])
    with pytest.raises(Unavailable):
        put(SqliteStore(path), "more")


def test_the_stores_clock_ignores_the_wall_clock_and_goes_on_after_a_reboot(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def note(tx: Transaction) -> None:
        seen.append(tx.now)
        tx.put("k", 1)

    store = SqliteStore(path)
    store.run(note)
    monkeypatch.setattr(clock, "wall", lambda: 0)
    store.run(note)
    store.close()
    monkeypatch.setattr(clock, "since_boot", lambda: 50)
    store = SqliteStore(path)
    store._boot = "another boot"
    store.run(note)
    monkeypatch.setattr(clock, "since_boot", lambda: 1050)
    store.run(note)
    store.close()
    assert seen == sorted(seen)
    assert seen[2] - seen[1] < 100
    assert seen[3] - seen[2] == 1000


def test_the_gate_names_who_is_inside(tmp_path: Path) -> None:
    path = str(tmp_path / "gate")
    inside = Gate(path, 1.0)
    inside.enter()
    outside = Gate(path, 0.05)
    with pytest.raises(Busy) as refused:
        outside.enter()
    assert (refused.value.pid, refused.value.stopped) == (os.getpid(), False)
    inside.leave(7, "some-id")
    assert outside.enter() == (7, "some-id")
    outside.leave()
    inside.close()
    outside.close()


def test_a_gate_that_was_given_up_on_does_not_stay_shut(tmp_path: Path) -> None:
    path = str(tmp_path / "gate")
    inside = Gate(path, 1.0)
    inside.enter()
    outside = Gate(path, 0.05)
    for _ in range(3):
        with pytest.raises(Busy):
            outside.enter()
    inside.leave()
    third = Gate(path, 2.0)
    third.enter()
    third.leave()
    outside.timeout = 2.0
    outside.enter()
    outside.leave()


def test_somebody_elses_transaction_makes_it_busy(path: str) -> None:
    other = apsw.Connection(path)
    other.execute("BEGIN IMMEDIATE")
    store = SqliteStore(path, timeout=0.05)
    with pytest.raises(Busy):
        put(store, "k")
    other.execute("ROLLBACK")
    put(store, "k")
    store.close()
    other.close()


def test_text_that_dibs_did_not_write_is_damage(path: str) -> None:
    store = SqliteStore(path)
    put(store, "k")
    store._sql("UPDATE kv SET v = '{broken'")
    with pytest.raises(Unavailable, match="damaged"):
        store.run(lambda tx: tx.get("k"))
    store.close()


def test_a_database_replaced_while_it_is_open_is_not_gone_on_with(path: str, tmp_path: Path) -> None:
    store = SqliteStore(path)
    put(store, "k")
    sqlite_store.create(str(tmp_path / "other.db"))
    os.replace(tmp_path / "other.db", path)
    with pytest.raises(Unavailable, match="was replaced"):
        put(store, "more")
    with pytest.raises(Unavailable):
        store.head()


def test_a_database_of_another_workspace_is_refused(path: str, tmp_path: Path) -> None:
    store = SqliteStore(path)
    put(store, "k")
    store.close()
    other = str(tmp_path / "other.db")
    sqlite_store.create(other, 1000)
    shutil.move(other, path)
    with pytest.raises(Unavailable, match="another workspace"):
        put(SqliteStore(path), "more")
    with pytest.raises(Unavailable, match="another workspace"):
        SqliteStore(path).head()


FORK = """
import os, sys
from dibs.errors import Unavailable
from dibs.stores.sqlite.store import SqliteStore
from tests.waiting import LIMIT_S
store = SqliteStore(sys.argv[1])
store.run(lambda tx: tx.put("k", 1))
if os.fork() == 0:
    try:
        store.run(lambda tx: tx.put("child", 1))
    except Unavailable as error:
        print(error.message, flush=True)
    os._exit(0)
os.wait()
store.run(lambda tx: tx.put("parent", 1))
print("the parent goes on", flush=True)
"""


def test_a_store_opened_before_a_fork_is_refused_after_it(path: str) -> None:
    done = subprocess.run([sys.executable, "-c", FORK, path], capture_output=True, text=True, check=True)
    child, parent = done.stdout.splitlines()
    assert "opened before this process was forked" in child
    assert parent == "the parent goes on"


def test_a_forked_child_cannot_take_the_gate_from_its_parent(path: str) -> None:
    store = SqliteStore(path)

    def fn(tx: Transaction) -> bool:
        tx.put("k", 1)
        child = os.fork()
        if not child:
            try:
                put(store, "child")
            except Unavailable:
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        fd = os.open(f"{path}.gate", os.O_RDWR)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    assert store.run(fn), "the child unlocked the gate under its parent"
    store.close()


@pytest.mark.parametrize("look", [True, False])
def test_only_the_file_is_called_damaged_never_what_an_operation_did(path: str, look: bool) -> None:
    store = SqliteStore(path)
    verb = store.look if look else store.run

    def fails(_: Transaction) -> None:
        message = "of the operation's own"
        raise ValueError(message)

    with pytest.raises(ValueError, match="own"):
        verb(fails)
    with pytest.raises(Invalid):
        verb(lambda tx: tx.get("half \ud83d"))
    with pytest.raises(ValueError, match="float"):
        store.run(lambda tx: tx.put("k", float("nan")))
    put(store, "k")
    store.close()


@pytest.mark.parametrize("suffix", ["-wal", "-shm"])
def test_a_log_or_index_of_sqlite_removed_under_an_open_process_is_noticed(path: str, suffix: str) -> None:
    store = SqliteStore(path)
    put(store, "k")
    os.unlink(path + suffix)
    for verb in (store.run, store.look):
        with pytest.raises(Unavailable, match="-wal or -shm was removed") as refused:
            verb(lambda tx: tx.get("k"))
        assert refused.value.replaced
    store.close()


def test_a_checkpoint_of_another_process_is_no_such_loss(path: str) -> None:
    store = SqliteStore(path)
    put(store, "k")
    other = apsw.Connection(path)
    other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other.close()
    put(store, "after")
    assert store.head().commit == 2
    assert set(store.look(lambda tx: tx.get_many(["k", "after"]))) == {"k", "after"}
    store.close()


def _commit_and_die(path: str, name: str) -> None:
    """What a hook does: one commit in a process of its own, which ends without closing the database."""
    child = os.fork()
    if not child:
        try:
            store = SqliteStore(path, short_lived=True)
            put(store, name)
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.slow
def test_the_wal_of_processes_that_come_one_after_another_stays_short(path: str) -> None:
    sizes = []
    for number in range(80):
        _commit_and_die(path, f"p{number}")
        sizes.append(os.stat(f"{path}-wal").st_size)
    assert 0 < max(sizes) < (sqlite_store.SHORT_LIVED_WAL_PAGES + 20) * 4120
    store = SqliteStore(path)
    assert store.head().seq == 80
    assert store.integrity() == []
    store.close()


def test_a_wal_that_somebody_reads_is_left_for_later_without_waiting(path: str) -> None:
    reader = apsw.Connection(path)
    reader.execute("BEGIN; SELECT * FROM head").fetchall()
    store = SqliteStore(path, short_lived=True, timeout=LIMIT_S)
    before = clock.since_boot()
    put(store, "k")
    while os.stat(f"{path}-wal").st_size < sqlite_store.SHORT_LIVED_WAL_PAGES * 4120:
        put(store, "k")
    assert clock.since_boot() - before < 750 * LIMIT_S, "three quarters of what it would have waited"
    assert os.stat(f"{path}-wal").st_size > 0
    reader.close()
    put(store, "after")
    assert os.stat(f"{path}-wal").st_size == 0
    store.close()


def test_the_pipe_of_a_process_that_died_is_removed_by_the_next_one_that_waits(path: str) -> None:
    store, folder = SqliteStore(path), Path(path).parent / "wakes"
    store.watch("mine")
    os.mkfifo(folder / "dead")
    (folder / "@mark").touch()
    other = SqliteStore(path)
    other.watch("other")
    assert sorted(one.name for one in folder.iterdir()) == ["@mark", "mine", "other"]
    put(store, "k")

    def wakes(tx: Transaction) -> None:
        tx.put("k", 2)
        tx.wake("mine")

    other.run(wakes)
    assert store.wait("mine", 5.0)
    other.close()
    store.close()


@pytest.mark.parametrize("name", ["../precious", "../../precious", "/etc/precious", "", ".", "..", "a/b", "x\0y"])
def test_a_wake_touches_nothing_outside_its_folder(path: str, name: str) -> None:
    store, folder = SqliteStore(path), Path(path).parent
    store.watch("mine")
    (folder / "precious").write_text("text")
    os.mkfifo(folder / "pipe")  # what has no reader is removed, but for what is not in the folder of wakes
    for one in (name, "../pipe"):

        def wakes(tx: Transaction, one: str = one) -> None:
            tx.put("k", 1)
            tx.wake(one)

        store.run(wakes)
        store.unwatch(one)
    assert (folder / "precious").read_text() == "text"
    assert (folder / "pipe").exists()
    with pytest.raises(Unavailable, match="Invalid argument"):
        store.watch(name)
    store.close()


class HeldPoll:
    """A poll that keeps its files open while it waits, as the kernel does, and says when it waits."""

    waits = threading.Event()
    found: ClassVar[list[int]] = []

    def __init__(self) -> None:
        self.held: list[int] = []

    def register(self, fd: int, _: int) -> None:
        self.held.append(os.dup(fd))

    def poll(self, _: float) -> list[int]:
        self.waits.set()
        try:
            self.found[:] = select.select(self.held, [], [], LIMIT_S)[0]
            return self.found
        finally:
            for fd in self.held:
                os.close(fd)


def test_a_close_wakes_a_thread_that_waits(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqliteStore(path)
    store.watch("n")
    monkeypatch.setattr(select, "poll", HeldPoll)
    thread = threading.Thread(target=store.wait, args=["n", LIMIT_S])
    thread.start()
    assert HeldPoll.waits.wait(LIMIT_S)
    store.close()
    thread.join(2 * LIMIT_S)
    assert HeldPoll.found, "a poll does not notice that its file was closed"


@pytest.mark.parametrize("at", ["a transaction", "a look", "a look while another thread writes"])
def test_a_close_waits_for_what_another_thread_does_with_the_store(path: str, at: str) -> None:
    store, inside, go_on = SqliteStore(path), threading.Event(), threading.Event()
    put(store, "k")
    done: list[object] = []

    def stay(tx: Transaction) -> object:
        inside.set()
        go_on.wait(LIMIT_S)
        return tx.get("k")

    def play(fn: Callable[[], object]) -> None:
        try:
            done.append(fn())
        except Exception as error:  # noqa: BLE001 - whatever it is
            done.append(error)

    verb, turns = (store.run if at == "a transaction" else store.look), store._turns
    if at == "a look while another thread writes":
        reader = store._reader = Reader(path, 5.0)
        turns = reader.turns
    threads = [threading.Thread(target=play, args=[lambda: verb(stay)])]
    threads[0].start()
    inside.wait(LIMIT_S)
    threads += [threading.Thread(target=play, args=[store.close]) for _ in range(2)]  # both may close it
    for thread in threads[1:]:
        thread.start()
    until(lambda: len(turns._line) > 1 or len(done) > 1)
    go_on.set()
    for thread in threads:
        thread.join(LIMIT_S)
    assert sorted(done, key=str) == [1, None, None]
    for late in (store.run, store.look):
        with pytest.raises(Unavailable, match="closed by another thread"):
            late(lambda tx: tx.get("k"))


def test_a_transaction_that_is_too_slow_is_given_up_after_a_few_runs(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(path)
    moments = [clock.since_boot()]
    monkeypatch.setattr(clock, "since_boot", lambda: moments[-1])

    def slow(tx: Transaction) -> None:
        tx.put("k", 1)
        moments.append(moments[-1] + seam.MAX_CLOCK_AGE_MS + 1)

    with pytest.raises(Busy, match="took over 2 s in each of 3 attempts"):
        store.run(slow)
    assert len(moments) == 1 + seam.MAX_STALE_RUNS
    assert [str(error)[:23] for _, error in store.run_many([slow, slow])] == ["this request took over "] * 2
    assert store.look(lambda tx: tx.get("k")) is None
    put(store, "k")
    store.close()


@pytest.mark.parametrize("together", [False, True], ids=["alone", "in a group"])
def test_a_failed_fsync_of_a_commit_is_answered_as_unknown(
    path: str, monkeypatch: pytest.MonkeyPatch, *, together: bool
) -> None:
    store = SqliteStore(path)
    put(store, "before")
    sql = SqliteStore._sql

    def failing(self: SqliteStore, statement: str, values: Any = ()) -> Any:
        if statement == "COMMIT":
            sql(self, "ROLLBACK")
            raise apsw.IOError("disk I/O error")
        return sql(self, statement, values)

    monkeypatch.setattr(SqliteStore, "_sql", failing)
    if together:
        ((_, error),) = store.run_many([lambda tx: tx.put("k", 1)])
    else:
        with pytest.raises(Unavailable) as refused:
            put(store, "k")
        error = refused.value
    assert isinstance(error, Unavailable)
    assert error.unknown
    assert "Nothing was changed" not in error.message
    monkeypatch.undo()
    put(store, "after")
    store.close()


def test_a_gate_that_cannot_be_read_is_a_plain_refusal(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqliteStore(path)
    put(store, "k")

    def fails(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "pread", fails)
    with pytest.raises(Unavailable, match=r"Input/output error\. Nothing was changed"):
        put(store, "k")
    monkeypatch.undo()
    put(store, "k")
    store.close()
