"""Another SQLite program opens the database and closes it: dibs goes on, and what is damaged is still refused."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dibs.errors import Unavailable
from dibs.stores.sqlite import database_file
from dibs.stores.sqlite import store as sqlite_store
from dibs.stores.sqlite.gate import MENDING
from dibs.stores.sqlite.store import SqliteStore
from tests.waiting import until

if TYPE_CHECKING:
    from dibs.stores.seam import Transaction

WRITES = """
import os, sys
from dibs.stores.sqlite.store import SqliteStore
def put(tx):
    number = (tx.get("n") or 0) + 1
    tx.put("n", number, f"i\\t{number:05d}")
    tx.put(f"r\\t{number}", "x" * 200)
    tx.append("counted", "a", str(number), {"text": "y" * 200})
store = SqliteStore(sys.argv[1], short_lived=True)
for _ in range(int(sys.argv[2])):
    store.run(put)
os._exit(0)  # like a hook, or a process that is killed: it closes nothing
"""
LOOKS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
for statement in sys.argv[2:]:
    connection.execute(statement).fetchall()
connection.commit()
connection.close()
"""
MENDS = """
import os, signal, sys
from dibs.stores.sqlite import database_file
from dibs.stores.sqlite.store import SqliteStore
real = database_file.compact
def compact(connection, path):
    if sys.argv[2] == "late":
        connection.execute("VACUUM")
    if sys.argv[2] != "slow":
        os.kill(os.getpid(), signal.SIGKILL)
    print("mends", flush=True)
    sys.stdin.readline()
    return real(connection, path)
database_file.compact = compact
print(SqliteStore(sys.argv[1], short_lived=True).look(lambda tx: tx.get("n")), flush=True)
os._exit(0)
"""
LOOK = "SELECT count(*) FROM kv"


def run(program: str, *words: str) -> None:
    """In a process of its own: one process must not have the file open by two libraries."""
    subprocess.run([sys.executable, "-c", program, *words], check=True)


@pytest.fixture
def path(tmp_path: Path) -> str:
    name = str(tmp_path / "dibs.db")
    sqlite_store.create(name)
    run(WRITES, name, "30")
    assert Path(f"{name}-wal").stat().st_size > 0
    return name


def number(tx: Transaction) -> int:
    found: int = tx.get("n")
    return found


def flip(path: str, sought: bytes) -> None:
    """One bit of this text in the database file."""
    data = bytearray(Path(path).read_bytes())
    data[data.index(sought)] ^= 1
    Path(path).write_bytes(data)


@pytest.mark.parametrize("first", ["look", "run"])
def test_a_program_that_only_looks_damages_nothing(path: str, first: str) -> None:
    for count in (30, 31):  # and again
        run(LOOKS, path, LOOK)
        assert not Path(f"{path}-wal").exists(), "it has folded the WAL into the database"
        store = SqliteStore(path, short_lived=True)
        try:
            assert getattr(store, first)(number) == count
            assert database_file.integrity(store._connection) == []
            assert [event.seq for event in store.events()] == list(range(1, count + 1))
            assert store.head().commit == count
        finally:
            store.close()
        Path(f"{path}.gate").write_bytes(Path(f"{path}.gate").read_bytes().replace(b"c", b" ", 1))
        run(WRITES, path, "1")


def test_a_database_whose_old_events_were_dropped_in_part_is_taken_over(path: str) -> None:
    def seal(tx: Transaction) -> None:
        tx.seal("{}")
        tx.append("sealed", "a", "", {})

    store = SqliteStore(path)
    store.run(seal)
    store.run(lambda tx: tx.prune(30, 10))
    store.close()
    run(WRITES, path, "1")
    run(LOOKS, path, LOOK)
    store = SqliteStore(path, short_lived=True)
    assert [event.seq for event in store.events()] == list(range(11, 33))
    assert store.look(number) == 31
    store.close()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE log SET body = replace(body, 'y', 'z') WHERE seq = 7",
        "UPDATE log SET link = (SELECT link FROM log WHERE seq = 8) WHERE seq = 7",
        "UPDATE log SET body = 7 WHERE seq = 7",
        "DELETE FROM log WHERE seq = 7",
        "DELETE FROM head",
    ],
)
def test_what_the_log_does_not_have_is_not_taken_over(path: str, change: str) -> None:
    run(LOOKS, path, change)
    with pytest.raises(Unavailable) as refusal:
        SqliteStore(path, short_lived=True).events()
    assert refusal.value.fields["damaged"]


def test_a_log_that_was_cut_is_not_taken_over(path: str) -> None:
    run(LOOKS, path, "DELETE FROM log WHERE seq = 30")
    with pytest.raises(Unavailable) as refusal:
        SqliteStore(path, short_lived=True).events()
    assert refusal.value.fields["damaged"]


def test_an_older_database_is_not_taken_over(path: str) -> None:
    run(LOOKS, path, LOOK)
    line = bytearray(Path(f"{path}.gate").read_bytes())
    line[11:31] = b"%-20d" % 31
    Path(f"{path}.gate").write_bytes(line)
    with pytest.raises(Unavailable) as refusal:
        SqliteStore(path, short_lived=True).look(number)
    assert refusal.value.fields["damaged"]


@pytest.mark.parametrize("first", ["look", "run"])
def test_after_dibs_itself_has_closed_it_a_wrong_checksum_is_damage(path: str, first: str) -> None:
    store = SqliteStore(path)
    assert store.look(number) == 30
    store.close()
    assert not Path(f"{path}-wal").exists()
    flip(path, b"xxxxxxxx")
    for _ in range(2):
        with pytest.raises(Unavailable) as refusal:
            getattr(SqliteStore(path, short_lived=True), first)(lambda tx: tx.fetch([("r\t", "r\n")]))
        assert refusal.value.fields["damaged"]


def test_a_look_waits_for_the_process_that_makes_the_checksums_anew(path: str) -> None:
    run(LOOKS, path, LOOK)
    mender = subprocess.Popen(
        [sys.executable, "-c", MENDS, path, "slow"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert mender.stdin is not None
    assert mender.stdout is not None
    with mender, ThreadPoolExecutor(1) as pool:
        assert mender.stdout.readline() == "mends\n"
        assert Path(f"{path}-wal").exists(), "nothing tells a look that somebody is at work"
        store = SqliteStore(path, timeout=60.0)
        found = pool.submit(store.look, number)
        until(lambda: found.done() or store._gate.queued > 0)
        mender.stdin.write("go on\n")
        mender.stdin.flush()
        assert found.result() == 30
        assert mender.stdout.readline() == "30\n"
    store.close()


@pytest.mark.parametrize("first", ["look", "run"])
@pytest.mark.parametrize("when", ["early", "late"])
def test_after_a_process_was_killed_that_made_the_checksums_anew_the_next_one_does_it(
    path: str, first: str, when: str
) -> None:
    run(LOOKS, path, LOOK)
    for _ in range(2):
        killed = subprocess.run([sys.executable, "-c", MENDS, path, when], check=False)
        assert killed.returncode in {-9, 0} if when == "late" else killed.returncode == -9
    store = SqliteStore(path, short_lived=True)
    assert getattr(store, first)(number) == 30
    assert database_file.integrity(store._connection) == []
    assert store._gate.mark != MENDING
    store.close()
