"""An interrupt at any bytecode leaves every engine sound: this process and others go on, and nothing is half done."""

from __future__ import annotations

import _thread
import fcntl
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from dibs.errors import Busy
from dibs.machine import clock
from dibs.stores.redis import epoch
from dibs.stores.redis import group as redis_group
from dibs.stores.redis.client import ClientWire
from dibs.stores.redis.plain_socket import PlainWire
from dibs.stores.redis.store import RedisStore
from dibs.stores.sqlite import gate
from dibs.stores.sqlite import group as sqlite_group
from dibs.stores.sqlite import store as sqlite_store
from dibs.stores.sqlite.gate import Gate
from dibs.stores.sqlite.store import SqliteStore
from dibs.stores.turns import Turns
from dibs.testing.memory import MemoryStore
from tests.stores.interrupts import ENGINE_FILES, Interrupter
from tests.waiting import LIMIT_S, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.stores.redis.wire import Wire
    from dibs.stores.seam import Store, Transaction
    from tests.stores.redis_server import Server

ENGINES = ("memory", "sqlite", "redis", "redis through redis-py")
# A socket or file object that an interrupt dropped closes itself, and says so.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store
    if request.param == "memory":
        made = MemoryStore()
    elif request.param == "sqlite":
        sqlite_store.create(str(tmp_path / "dibs.db"))
        made = SqliteStore(str(tmp_path / "dibs.db"))
        made.look(lambda _: None)
        made._sql("PRAGMA synchronous = OFF")  # nothing here is about power
    else:
        there = request.getfixturevalue("server")
        wire: Wire = ClientWire(there.url, 5.0) if "redis-py" in request.param else PlainWire(there.url, 5.0)
        made = RedisStore(wire, clock.random_id(), memory=str(tmp_path / "memory"))
        epoch.begin(made)
    yield made
    made.close()


def count(tx: Transaction) -> int:
    """One more: a row that moves in an index, a row that stays, an event and a wake. Gives the number."""
    tx.prefetch(["n"], [("r\t", "r\n")])
    number: int = (tx.get("n") or 0) + 1
    tx.put("n", number, f"i\t{number:05d}")
    tx.put(f"r\t{number % 3}", number)
    tx.append("counted", "a", str(number), {})
    tx.wake("nobody")
    return number


def seen(store: Store) -> tuple[Any, ...]:
    """What is there, read by another thread, which no interrupt of this one may keep waiting."""
    found: list[Any] = []

    def read() -> None:
        def rows(tx: Transaction) -> Any:
            return tx.get("n"), [row[0] for row in tx.scan(1, "i\t", 9).rows], tx.tail().seq

        found.append(store.look(rows))

    thread = threading.Thread(target=read)
    thread.start()
    thread.join(LIMIT_S)
    assert found, "another thread waits for a call that has ended"
    number, entries, seq = found[0]
    assert entries == [f"i\t{number:05d}"], "half of a transaction is there"
    assert seq == number, "a transaction is there without its event, or the other way round"
    return number, seq


def others_go_on(store: Store) -> None:
    """Before this process does anything else, another one can take the gate and SQLite's own lock."""
    if not isinstance(store, SqliteStore):
        return
    fd = os.open(f"{store.path}.gate", os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(fd)
    other = apsw.Connection(store.path)
    try:
        other.execute("BEGIN IMMEDIATE")
    finally:
        other.close()


def interrupted_everywhere(store: Store, step: int, start: int) -> int:
    store.run(count)
    points, before = 0, store.run(count)
    for interrupt in Interrupter(*ENGINE_FILES).everywhere(lambda: store.run(count), step, start):
        others_go_on(store)
        number, _ = seen(store)
        assert number - before in {0, 1}, "an interrupted transaction happened twice, or took another one with it"
        before = store.run(count)
        assert before == number + 1
        points += 1
        del interrupt
    for interrupt in Interrupter(*ENGINE_FILES).everywhere(lambda: seen_here(store), step, start):
        others_go_on(store)
        assert seen(store)[0] == before + 1, "a look that was interrupted changed something"
        points += 1
        del interrupt
    return points


def group_interrupted_everywhere(store: Store, step: int, start: int) -> int:
    store.run_many([count, count])
    points, before = 0, store.run(count)
    for interrupt in Interrupter(*ENGINE_FILES).everywhere(lambda: store.run_many([count, fails, count]), step, start):
        others_go_on(store)
        number, _ = seen(store)
        assert number - before in {0, 2}, "an interrupted group was done in part, or twice"
        (before, first), (_, second), (_, third) = store.run_many([count, fails, count])
        assert (before, first, type(second), third) == (number + 1, None, KeyError, None)
        before += 1
        points += 1
        del interrupt
    return points


def fails(tx: Transaction) -> None:
    count(tx)
    raise KeyError


def seen_here(store: Store) -> Any:
    return store.look(lambda tx: tx.get_many(["n"]))


# The ordinary run takes one bytecode in so many, others each time; the torture takes them all.
STEPS = {"memory": 1, "sqlite": 7, "redis": 61, "redis through redis-py": 61}


@pytest.mark.parametrize(("store", "step"), list(STEPS.items()), indirect=["store"], ids=list(STEPS))
def test_an_interrupt_in_a_transaction_leaves_nothing_half_done_and_nobody_waiting(store: Store, step: int) -> None:
    assert interrupted_everywhere(store, step, 1 + clock.since_boot() % step) > 20


@pytest.mark.parametrize(("store", "step"), list(STEPS.items()), indirect=["store"], ids=list(STEPS))
def test_an_interrupt_in_a_group_leaves_all_of_it_or_nothing_and_nobody_waiting(
    store: Store, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for engine in (sqlite_group, redis_group):  # tracing is slow: the group is not to be divided for that
        monkeypatch.setattr(engine, "MAX_GROUP_MS", 60_000)
    step *= 3
    assert group_interrupted_everywhere(store, step, 1 + clock.since_boot() % step) > 20


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_an_interrupt_at_every_bytecode_of_the_sqlite_engine_keeps_no_other_process_out(store: Store) -> None:
    store.run(count)
    for interrupt in Interrupter("stores/sqlite/store.py").everywhere(lambda: store.run(count)):
        others_go_on(store)
        del interrupt


@pytest.mark.torture
@pytest.mark.parametrize("store", ENGINES, indirect=True)
def test_an_interrupt_at_every_single_bytecode_of_a_transaction(store: Store) -> None:
    assert interrupted_everywhere(store, 1, 1) > 500


# --- waiting at the gate


@pytest.mark.parametrize("alarm", ["free", "taken"])
def test_an_interrupt_while_the_gate_is_waited_for_leaves_no_lock_no_timer_and_no_handler(
    tmp_path: Path, alarm: str
) -> None:
    path = str(tmp_path / "gate")
    inside, waiting = Gate(path, 5.0), Gate(path, 0.002)
    inside.enter()
    threads = _thread._count()
    if alarm == "taken":  # by the program: then a helper thread waits
        signal.signal(signal.SIGALRM, lambda *_: None)
    try:
        for interrupt in Interrupter("stores/sqlite/gate.py").everywhere(lambda: _refused(waiting), 3, 1):
            until(lambda: _free(path, inside))
            until(lambda: _thread._count() == threads)  # each helper that was left behind has had the lock, and ended
            inside.enter()
            del interrupt
        inside.leave()
        waiting.timeout = 5.0
        waiting.enter()  # and it works as ever
        waiting.leave()
        if alarm == "free":
            until(lambda: not signal.getitimer(signal.ITIMER_REAL)[0])
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        inside.close()
        waiting.close()


def _refused(waiting: Gate) -> None:
    with pytest.raises(Busy):
        waiting.enter()


def _free(path: str, inside: Gate) -> bool:
    """Once the one inside has left, is nobody there who was interrupted?"""
    inside.leave()
    fd = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True


def test_a_timer_that_was_left_behind_rings_for_nobody_and_its_handler_is_known_as_ours() -> None:
    signal.signal(signal.SIGALRM, gate._on_timer)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        until(lambda: not signal.getitimer(signal.ITIMER_REAL)[0])  # were it to raise, it would be here
        waited: list[int] = []
        assert gate._timed(lambda: waited.append(1), 5.0)
        assert waited
        assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def test_a_timer_whose_first_ring_is_lost_before_the_kernel_waits_still_ends_the_wait(tmp_path: Path) -> None:
    held = gate.Gate(str(tmp_path / "gate"), 5.0)
    held.enter()
    waits = os.open(tmp_path / "gate", os.O_RDWR)
    gives_up = threading.Timer(LIMIT_S, held.leave)  # else nothing would end it
    gives_up.start()

    def wait() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        try:
            signal.sigwait({signal.SIGALRM})  # the ring that comes right before the call below
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
        fcntl.flock(waits, fcntl.LOCK_EX)

    try:
        with pytest.raises(gate._TimerExpiredError):
            gate._timed(wait, 0.01)
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    finally:
        gives_up.cancel()
        held.leave()
        os.close(waits)


def test_an_answer_to_a_call_that_was_interrupted_is_not_taken_for_the_next_ones(server: Server) -> None:
    for wire in (PlainWire(server.url, 5.0), ClientWire(server.url, 5.0)):
        assert wire.call("ECHO", "first") == b"first"
        if isinstance(wire, PlainWire):
            wire._socket.sendall(b"*2\r\n$4\r\nECHO\r\n$4\r\nlate\r\n")
        else:
            wire._connection.send_command("ECHO", "late")
        wire._asking = True
        assert wire.call("ECHO", "second") == b"second"
        wire.close()


# --- turns


def test_a_turn_whose_thread_ended_without_giving_it_back_is_taken_by_the_next() -> None:
    turns = Turns(lambda: None, "store")

    def interrupted() -> None:
        interrupter = Interrupter("stores/turns.py")
        for interrupt in interrupter.everywhere(lambda: turns.call(lambda x: x, 1, 1.0)):
            assert isinstance(interrupt, KeyboardInterrupt)

    thread = threading.Thread(target=interrupted)
    thread.start()
    thread.join()
    assert turns.call(lambda x: x, 2, 1.0) == 2


def test_a_call_inside_a_call_of_the_same_thread_is_refused_at_once_and_harms_neither() -> None:
    turns = Turns(lambda: None, "store")

    def outer(_: int) -> str:
        with pytest.raises(Busy, match="this very thread"):
            turns.call(lambda x: x, 1, 60.0)
        return "went on"

    assert turns.call(outer, 1, 60.0) == "went on"
    assert turns.call(lambda x: x, 3, 1.0) == 3


def test_threads_take_turns_and_one_that_is_inside_is_waited_for_and_not_pushed_aside() -> None:
    turns, inside, most, done = Turns(lambda: None, "store"), [0], [0], []
    lock = _thread.allocate_lock()

    def body(_: int) -> None:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        with lock:  # the others run meanwhile
            pass
        inside[0] -= 1
        done.append(1)

    with lock:
        threads = [threading.Thread(target=turns.call, args=(body, 1, 30.0)) for _ in range(6)]
        for thread in threads:
            thread.start()
        until(lambda: len(turns._line) == 6)
        with pytest.raises(Busy):
            turns.call(body, 1, 0.05)
    for thread in threads:
        thread.join()
    assert (len(done), most[0]) == (6, 1)


# --- real signals

STORM = """
import os, signal, sys
from dibs.errors import Busy
from dibs.stores.sqlite.store import SqliteStore

store = SqliteStore(sys.argv[1], timeout=20.0)
target = int(sys.argv[2])
store.look(lambda _: None)
store._sql("PRAGMA synchronous = OFF")

def one(tx):
    mine = f"own\t{os.getpid()}"
    found = tx.get_many(["n", mine])
    tx.put("n", (found["n"] or 0) + 1)
    tx.put(mine, (found[mine] or 0) + 1)
    tx.append("counted", "a", mine, {})

interrupted = returned = 0
armed = [False]

def interrupt(*_):
    if armed[0]:
        armed[0] = False
        raise KeyboardInterrupt

signal.signal(signal.SIGINT, interrupt)
print("ready", flush=True)
while returned < target or interrupted < int(sys.argv[3]):
    try:
        armed[0] = True
        store.run(one)
        armed[0] = False
        returned += 1
    except KeyboardInterrupt:
        interrupted += 1
signal.signal(signal.SIGINT, signal.SIG_IGN)
store.run(one)
print(returned + 1, interrupted, store.look(lambda tx: tx.get(f"own\t{os.getpid()}")))
"""


def _storm(path: str, processes: int, target: int, interrupts: int) -> None:
    """Processes that count, under a rain of SIGINT, beside one that is left in peace."""
    sqlite_store.create(path)
    command = [sys.executable, "-c", STORM, path, str(target)]
    hit = [subprocess.Popen([*command, str(interrupts)], stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    calm = subprocess.Popen([*command, "0"], stdout=subprocess.PIPE, text=True)
    try:
        for one in (*hit, calm):
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"
        while any(one.poll() is None for one in hit):
            for one in hit:
                if one.poll() is None:
                    os.kill(one.pid, signal.SIGINT)
            clock.sleep(0.005)
        answers = [str(one.stdout and one.stdout.readline()).split() for one in (*hit, calm)]  # what was read is kept
    finally:
        for one in (*hit, calm):
            one.kill()
            one.wait()
            if one.stdout is not None:
                one.stdout.close()
    total = 0
    for returned, interrupted, counted in answers:
        assert int(returned) <= int(counted) <= int(returned) + int(interrupted)
        total += int(counted)
    store = SqliteStore(path)
    assert store.look(lambda tx: tx.get("n")) == total == store.head().seq
    store.close()


def test_a_rain_of_interrupts_stops_nobody_and_loses_nothing(tmp_path: Path) -> None:
    _storm(str(tmp_path / "dibs.db"), 2, 15, 25)


@pytest.mark.torture
def test_a_storm_of_interrupts_stops_nobody_and_loses_nothing(tmp_path: Path) -> None:
    _storm(str(tmp_path / "dibs.db"), 3, 3_000, 3_000)
