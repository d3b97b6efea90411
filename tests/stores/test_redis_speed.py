"""How few trips the Redis engine makes: by guesses from the cache, which the server checks and which decide nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import NotFound
from dibs.machine import clock
from dibs.stores.redis import cache as redis_cache
from dibs.stores.redis.cache import Cache
from dibs.stores.seam import prefix_range
from tests.stores.redis_server import Machine, Server

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.stores.redis.store import RedisStore
    from dibs.stores.seam import Transaction


class Trips:
    """Counts the questions of a store."""

    def __init__(self, store: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        asked = store.wire.call

        def call(*words: Any) -> Any:
            self.count += 1
            return asked(*words)

        monkeypatch.setattr(store.wire, "call", call)

    def of(self, act: Callable[[], Any]) -> int:
        """How many it takes."""
        before = self.count
        act()
        return self.count - before


def raise_one(tx: Transaction) -> int:
    """Counts one up, and says what it was."""
    tx.prefetch(["k"], [prefix_range("r\t")])
    value: int = (tx.get("k") or 0) + 1
    tx.put("k", value)
    return value


def test_a_claim_and_its_release_take_a_trip_each_where_nobody_else_comes(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Machine(server.url, workspace=clock.random_id()).begin()
    for number in range(3):
        one.release("ann", "a.py", one.claim("ann", "a.py", f"r{number}"))
    trips = Trips(one.store, monkeypatch)
    tokens: list[int] = []
    assert trips.of(lambda: tokens.append(one.claim("ann", "b.py"))) <= 2
    assert trips.of(lambda: one.release("ann", "b.py", tokens[0])) == 1
    one.check()
    one.store.close()


def test_a_guess_that_is_wrong_is_put_right_in_the_same_trip(
    fresh: Callable[[], RedisStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = fresh(), fresh()
    one.run(raise_one)
    trips = Trips(one, monkeypatch)
    assert trips.of(lambda: one.run(raise_one)) == 1, "nobody came between: it is guessed"
    two.run(raise_one)
    two.run(lambda tx: tx.put("r\tnew", 1))
    seen: list[int] = []
    assert trips.of(lambda: seen.append(one.run(raise_one))) == 2, "the guess was wrong; what came back was right"
    assert seen == [4]
    assert two.look(lambda tx: tx.get_many(["k"])) == {"k": 4}


@pytest.mark.parametrize("rows", [redis_cache.MAX_ANSWER_ROWS, redis_cache.MAX_ANSWER_ROWS + 1, 200])
def test_a_range_of_more_rows_than_are_kept_is_guessed_wrong_at_most_once(
    rows: int, fresh: Callable[[], RedisStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = fresh()
    for number in range(rows):
        one.run(lambda tx, number=number: tx.put(f"r\t{number:03}", number))  # type: ignore[misc]
    runs: list[int] = []

    def count(tx: Transaction) -> int:
        """Reads by the clock between two other reads, as an operation does that looks for what is due."""
        runs.append(tx.now)
        clock.sleep(0.002)  # the next run has another time
        tx.get("k")
        tx.get(f"due {tx.now}")
        found = len(tx.fetch([prefix_range("r\t")], 1000).rows)
        tx.put("k", found)
        return found

    gates: list[Any] = []
    monkeypatch.setattr(one, "_open_gate", gates.append)
    assert one.run(count) == rows
    assert len(runs) <= 2
    for _ in range(5):
        runs.clear()
        assert one.run(count) == rows
        assert len(runs) == 1, "the server is asked at once"
    assert gates == []


def test_what_a_wrong_guess_brought_is_kept_when_the_run_asks_for_more(
    fresh: Callable[[], RedisStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = fresh(), fresh()

    def add(tx: Transaction) -> None:
        clock.sleep(0.002)  # the next run has another time
        tx.get(f"at {tx.now}")
        tx.put("k", (tx.get("k") or 0) + 1)

    one.run(add)
    two.run(add)
    trips = Trips(one, monkeypatch)
    assert trips.of(lambda: one.run(add)) == 4, "the first time, the wrong guess, the second time, the commit"
    assert one.look(lambda tx: tx.get("k")) == 3


def test_what_is_only_believed_is_never_answered_and_never_a_reason_to_refuse(fresh: Callable[[], RedisStore]) -> None:
    one, two = fresh(), fresh()
    one.run(raise_one)
    two.run(raise_one)
    assert one.run(lambda tx: tx.get("k")) == 2, "it writes nothing, and so it asks"
    two.run(raise_one)

    def refuse(tx: Transaction) -> None:
        if tx.get("k") < 3:
            message = "nothing like it"
            raise NotFound(message)
        tx.put("found", 1)

    one.run(refuse)
    assert two.look(lambda tx: tx.get("found")) == 1


def test_after_a_second_nothing_is_guessed(fresh: Callable[[], RedisStore], monkeypatch: pytest.MonkeyPatch) -> None:
    one = fresh()
    one.run(raise_one)
    trips = Trips(one, monkeypatch)
    real = clock.since_boot
    monkeypatch.setattr(clock, "since_boot", lambda: real() + redis_cache.MAX_AGE_MS)
    assert trips.of(lambda: one.run(raise_one)) == 2


def test_the_log_s_end_is_never_guessed(fresh: Callable[[], RedisStore]) -> None:
    one, two = fresh(), fresh()
    one.run(lambda tx: tx.append("first", "a", "", {}))
    two.run(lambda tx: tx.append("second", "a", "", {}))

    def seal(tx: Transaction) -> int:
        tx.get("k")
        tx.seal("body")
        tx.append("sealed", "a", "", {})
        return tx.tail().seq

    assert one.run(seal) == 2
    assert [found.seq for found in two.seals()] == [2]


def test_a_later_read_brings_the_earlier_ones_again_in_the_same_trip(
    fresh: Callable[[], RedisStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = fresh(), fresh()
    two.run(lambda tx: tx.put("k", 1, "i\t1"))
    runs: list[int] = []

    def put_both(tx: Transaction) -> None:
        tx.put("k", 10)
        tx.put("other", 10)

    def sums(tx: Transaction) -> int:
        runs.append(1)
        first = tx.get("k")
        if len(runs) == 1:  # between two reads, something that it has read and something that it has not
            two.run(put_both)
        elif len(runs) == 2:
            two.run(lambda tx: tx.put("unread", 1))
        found = first + (tx.get("other") or 0)
        tx.put("sum", found)
        return int(found)

    trips = Trips(one, monkeypatch)
    assert trips.of(lambda: one.run(sums)) == 3, "the first read; both reads; the commit"
    assert len(runs) == 2, "what it had read was changed: it began again; what it had not read makes no difference"
    assert two.look(lambda tx: tx.get_many(["sum"])) == {"sum": 20}


def test_a_scan_that_was_made_before_is_guessed_with_what_this_process_wrote_since(
    fresh: Callable[[], RedisStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = fresh(), fresh()

    def add(tx: Transaction) -> list[int]:
        seen = [value for _, _, value in tx.scan(1, "i\t", 9).rows]
        tx.put(f"k{len(seen)}", len(seen), f"i\t{len(seen)}")
        return seen

    one.run(add)
    trips = Trips(one, monkeypatch)
    found: list[list[int]] = []
    assert trips.of(lambda: found.append(one.run(add))) == 1
    assert trips.of(lambda: found.append(one.run(add))) == 1
    two.run(add)
    assert trips.of(lambda: found.append(one.run(add))) == 2, "another process wrote: the guess was wrong, once"
    two.run(lambda tx: tx.delete("k0"))
    assert trips.of(lambda: found.append(one.run(add))) == 2
    assert found == [[0], [0, 1], [0, 1, 2, 3], [1, 2, 3, 4]]


def test_the_cache_is_bounded_and_forgets_what_was_deleted() -> None:
    cache = Cache()
    for number in range(redis_cache.MAX_ROWS + 1):
        cache.wrote(number, 0, 0, [(b"k%d" % number, ("1", None, None))])
    assert cache.find(["p", 9, b"k1", 0]) is None
    cache.wrote(7, 0, 0, [(b"k", ('{"token":"\\u001a"}', "i\t1", None)), (b"gone", ("1", None, None))])
    cache.wrote(8, 0, 0, [(b"gone", (None, None, None))])
    found = cache.find(["p", 9, b"k", 1, b"g\nk"])
    assert found is not None
    assert found[:3] == [[b'7\ni\t1\n\n{"token":7}'], [b"k", b'7\ni\t1\n\n{"token":7}'], 0]
    assert cache.find(["p", 9, b"gone", 0]) is None, "what is not known is not guessed"
    assert cache.find(["p", 0, b"", 1, b"k"]) is None, "more than was asked for"


@pytest.mark.parametrize("kind", ["url", "socket_url"])
def test_a_hook_on_redis_loads_no_library_but_hiredis(kind: str, server: Server) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "before = set(sys.modules)\n"
        "from dibs.stores.redis.store import RedisStore\n"
        "from dibs.stores.redis.wire import open_wire\n"
        "store = RedisStore(open_wire(sys.argv[1], 5.0), 'w')\n"
        "store.ask('PING')\n"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before} - {'dibs'}))\n"
    )
    root = redis_cache.__file__.rpartition("/dibs/")[0]
    done = subprocess.run(
        [sys.executable, "-c", code, getattr(server, kind), root],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    loaded = set(done.stdout.split())
    assert not loaded & {"redis", "socket", "ssl", "urllib", "re", "enum", "json", "typing", "encodings", "stringprep"}
    assert "hiredis" in loaded


def test_what_was_never_looked_at_is_not_certain(fresh: Callable[[], RedisStore]) -> None:
    one, two = fresh(), fresh()
    two.run(lambda tx: tx.put("r\told", 1))
    one.run(raise_one)
    one.run(lambda tx: tx.put("other", len(tx.fetch([prefix_range("s\t")]).rows)))

    def count(tx: Transaction) -> int:
        found = len(tx.fetch([prefix_range("s\t"), prefix_range("t\t")]).rows)
        tx.put("count", found)
        return found

    two.run(lambda tx: tx.put("t\tnew", 1))
    assert one.run(count) == 1
    assert one.run(count) == 1


@pytest.mark.parametrize("meanwhile", ["run", "look"])
def test_what_was_seen_before_somebody_elses_commit_is_not_certain_after_it(
    meanwhile: str, fresh: Callable[[], RedisStore]
) -> None:
    one, two = fresh(), fresh()

    def count(tx: Transaction) -> int:
        found = len(tx.fetch([prefix_range("t\t")]).rows)
        tx.put("count", found)
        return found

    assert [one.run(count) for _ in range(2)] == [0, 0]
    two.run(lambda tx: tx.put("t\tnew", 1))
    if meanwhile == "run":  # of other rows: it learns that there was a commit, and not what was in it
        one.run(raise_one)
    else:
        one.look(lambda tx: tx.fetch([prefix_range("r\t")]))
    assert one.run(count) == 1


class Words(Trips):
    """Counts the reads that a store sends."""

    def __init__(self, store: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        asked = store.read

        def read(reads: Any, **how: Any) -> Any:
            self.count += len(reads)
            return asked(reads, **how)

        monkeypatch.setattr(store, "read", read)


def test_a_transaction_with_many_reads_does_not_send_all_of_them_again_with_each(
    fresh: Callable[[], RedisStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = fresh()

    def look_at_many(tx: Transaction) -> None:
        for number in range(200):
            tx.get(f"k{number}")
        tx.put("done", 1)

    assert Words(one, monkeypatch).of(lambda: one.run(look_at_many)) < 300


def test_a_commit_between_two_of_many_reads_is_noticed(fresh: Callable[[], RedisStore]) -> None:
    one, two = fresh(), fresh()
    runs: list[int] = []

    def put_both(tx: Transaction) -> None:
        tx.put("k0", 10)
        tx.put("last", 10)

    def sums(tx: Transaction) -> int:
        runs.append(1)
        first, *_ = [tx.get(f"k{number}") for number in range(20)]
        if len(runs) == 1:
            two.run(put_both)
        return (first or 0) + (tx.get("last") or 0)

    assert one.look(sums) == 20
    assert len(runs) == 2


def test_what_a_transaction_wrote_is_read_without_a_trip(
    fresh: Callable[[], RedisStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = fresh()
    trips = Trips(one, monkeypatch)

    def write_and_read(tx: Transaction) -> list[int]:
        found = []
        for number in range(20):
            tx.put(f"k{number}", number)
            found.append(tx.get(f"k{number}"))
        return found

    seen: list[int] = []
    assert trips.of(lambda: seen.extend(one.run(write_and_read))) <= 2
    assert seen == list(range(20))


@pytest.mark.parametrize("by", ["fetch", "scan"])
def test_a_look_after_hundreds_of_deletions_finds_the_rows_that_are_left(
    by: str, fresh: Callable[[], RedisStore]
) -> None:
    one = fresh()
    keys = [f"r\t{number:03d}" for number in range(400)]

    def fill(tx: Transaction) -> None:
        for key in keys:
            tx.put(key, 1, f"i\t{key}")

    def delete_most(tx: Transaction) -> tuple[list[str], bool]:
        for key in keys[:390]:
            tx.delete(key)
        if by == "fetch":
            found = tx.fetch([prefix_range("r\t")], 3)
            return [key for key, _ in found.rows], found.truncated
        page = tx.scan(1, "i\t", 3)
        return [key for _, key, _ in page.rows], page.truncated

    one.run(fill)
    assert one.run(delete_most) == (keys[390:393], True)


def test_hundreds_of_tasks_are_added_together_in_a_few_trips(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Machine(server.url, workspace=clock.random_id()).begin()
    before = one.call("boss", "task add", title="before")["task"]["id"]
    specs = [
        {"title": "t", "id": f"n{number}", "key": f"key{number}", "for": "worker",
         "after": [before, *([f"n{number - 1}"] if number else [])]}
        for number in range(300)  # on a busy machine a transaction of more may be decided again
    ]  # fmt: skip
    assert Trips(one.store, monkeypatch).of(lambda: one.call("boss", "run start", name="x", tasks=specs)) < 60
    assert len(one.events("task.added")) == 301
    one.check()
    one.store.close()
