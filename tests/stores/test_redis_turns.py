"""Processes of one machine that want the same rows take turns on Redis; nothing but speed rests on it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dibs.facts import clock
from dibs.stores import gate, redis_turns
from dibs.stores.redis_turns import Turns
from dibs.stores.seam import prefix_range
from tests.stores.redis_server import opened, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.stores.seam import Transaction

WORDS = ["p", 48, b"a\tann", 1, b"r\t\nr/one\t"]
OTHERS = ["p", 48, b"a\tann", 1, b"r\t\nr/two\t"]
HOLDER = """
import os, sys
from dibs.stores.redis_turns import Turns
turns = Turns(os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600))
turns.overtaken()
turns.take(["p", 48, b"a\\tbob", 1, b"r\\t\\nr/one\\t"])
print("has it", flush=True)
sys.stdin.readline()
turns.leave()
print("left", flush=True)
sys.stdin.readline()
"""


class Holder:
    """Another process, whose turn it is."""

    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.hear("has it")

    def hear(self, word: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == f"{word}\n"

    def leave(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.hear("left")

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=30)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGSTOP)


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[Holder]:
    started = Holder(tmp_path / "memory")
    yield started
    started.kill()


@pytest.fixture
def turns(tmp_path: Path) -> Iterator[Turns]:
    """This process's, on the same file. It was overtaken."""
    fd = os.open(tmp_path / "memory", os.O_RDWR | os.O_CREAT, 0o600)
    found = Turns(fd)
    found.overtaken()
    yield found
    os.close(fd)


class Looks:
    """Counts how often somebody found that it was not its turn, and does something at the fifth."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fifth: Callable[[], None]) -> None:
        self.count = self.time = 0
        monkeypatch.setattr(gate, "timed", lambda *_: False)  # as outside the main thread
        self._fifth = fifth
        monkeypatch.setattr(clock, "sleep", self.sleep)
        monkeypatch.setattr(clock, "since_boot", lambda: self.time)

    def sleep(self, _: float) -> None:
        self.count += 1
        self.time += 1
        if self.count == 5:
            self._fifth()


@pytest.mark.parametrize("end", ["leave", "kill"])
def test_the_kernel_wakes_whoever_is_next(
    end: str, holder: Holder, turns: Turns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_turns, "PATIENCE", 30_000)
    monkeypatch.setattr(clock, "sleep", None)  # nobody looks again and again
    later = threading.Timer(0.1, getattr(holder, end))
    later.start()
    turns.take(WORDS)
    later.join()
    assert later.finished.is_set()
    turns.leave()
    Holder(tmp_path / "memory").kill()  # which had it, and so it was given back


def test_the_wait_for_the_kernel_ends(holder: Holder, turns: Turns) -> None:
    holder.stop()
    for _ in range(3):
        turns.take(WORDS)
        turns.leave()
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize("end", ["leave", "kill"])
def test_a_turn_is_waited_for_until_its_holder_leaves_or_dies(
    end: str, holder: Holder, turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = Looks(monkeypatch, getattr(holder, end))
    turns.take(WORDS)
    assert looks.count == 5
    turns.leave()


def test_whoever_waits_behind_a_stopped_process_goes_on_without(
    holder: Holder, turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = Looks(monkeypatch, holder.stop)
    turns.take(WORDS)
    assert looks.time == redis_turns.PATIENCE
    turns.leave()
    turns.take(WORDS)
    assert looks.time == 2 * redis_turns.PATIENCE, "it had none to give back, and it is still not its turn"


@pytest.mark.parametrize("words", [OTHERS, ["p", 48, b"a\tann", 0], ["s", 1, 9, b"[waits\tann\t", b"(waits\tann\n"]])
def test_who_wants_other_rows_does_not_wait(
    words: list[Any], holder: Holder, turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = Looks(monkeypatch, holder.leave)
    turns.take(words)
    assert looks.count == 0


def test_turns_are_taken_for_a_while_after_one_was_overtaken(
    holder: Holder, turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = Looks(monkeypatch, holder.stop)
    waited = []
    for _ in range(redis_turns.AFTER_ONE + 2):
        before = looks.count
        turns.take(WORDS)
        turns.leave()
        waited.append(looks.count > before)
    assert waited == [True] * redis_turns.AFTER_ONE + [False, False]


def test_a_file_that_cannot_be_locked_means_no_turns(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "memory", os.O_RDONLY | os.O_CREAT, 0o600)
    turns = Turns(fd)
    turns.overtaken()
    turns.take(WORDS)  # an exclusive lock takes a file that is open for writing
    turns.leave()
    os.close(fd)


# --- in a store


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running() as server:
        yield server.socket_url


def grow(tx: Transaction) -> int:
    """One row more; says how many there were."""
    rows = tx.fetch((), [prefix_range("r\t")]).rows
    tx.put(f"r\t{len(rows)}", 1)
    return len(rows)


def test_a_store_takes_turns_once_it_was_overtaken_and_gives_them_back(url: str, tmp_path: Path) -> None:
    name = clock.random_id()
    one, two = (opened(url, name, memory=str(tmp_path / "memory")) for _ in range(2))
    one.run(grow)
    assert one.turns is None, "nobody came between"

    overtaken: list[int] = []

    def meets(tx: Transaction) -> int:
        found = grow(tx)
        if not overtaken:
            overtaken.append(two.run(grow))
        return found

    one._memory.clear()  # it reads rather than believes
    assert one.run(meets) == 2
    assert overtaken == [1]
    assert one.turns is not None
    mine = Holder(tmp_path / "memory")  # it gets its turn, so nobody has it
    mine.leave()
    mine.kill()
    assert one.run(grow) == 3
    one.close()
    two.close()


def test_reads_that_will_be_wanted_come_with_the_answer_to_a_lost_race(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = clock.random_id()
    one, two = opened(url, name), opened(url, name)

    def look_around(tx: Transaction) -> None:
        rows = tx.fetch((), [prefix_range("r\t")]).rows
        if rows:  # what it does not find where it believes that there is nothing
            tx.scan(1, "i\t", 5)
            tx.scan(2, "i\t", 5)
        tx.put("mine", len(rows))

    two.run(lambda tx: tx.put("r\t1", 1))
    for _ in range(4):
        one.run(look_around)
    two.run(lambda tx: tx.delete("r\t1"))
    one.run(look_around)
    two.run(lambda tx: tx.put("r\t1", 1))
    asked: list[str] = []
    call = one.wire.call

    def counted(*words: Any) -> Any:
        asked.append(words[0])
        return call(*words)

    monkeypatch.setattr(one.wire, "call", counted)
    one.run(look_around)
    assert len(asked) == 2, "a guess that was wrong, and the commit: the scans came with the answer"
    assert two.look(lambda tx: tx.fetch(["mine"]).values) == {"mine": 1}
    one.close()
    two.close()
