"""The conformance suite: what every engine must do, run against all of them.

An engine's test calls each of `CASES` with a function that opens a new, empty store. The cases use the seam alone and
no domain word; the memory engine is the reference. A case fails by an AssertionError.
"""

from __future__ import annotations

import _thread

from dibs.machine import clock
from dibs.stores.seam import COMMIT, ERROR, GENESIS, WARNING, Envelope, digest_of, link_of, prefix_range, read_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.stores.seam import Store, Transaction

    Make = Callable[[], Store]


def _put(tx: Transaction, *keys: str) -> None:
    for key in keys:
        tx.put(key, {"key": key})


def a_put_is_read_back_and_shares_no_memory(make: Make) -> None:
    store = make()
    value: dict[str, Any] = {"list": [1, 2.5, None, True, "é\n\"'"], "nested": {"a": []}}
    store.run(lambda tx: tx.put("k", value))
    read = store.look(lambda tx: tx.get("k"))
    assert read == value
    read["list"].append("changed")
    assert store.look(lambda tx: tx.get("k")) == value


def a_key_that_is_not_there_reads_as_none(make: Make) -> None:
    store = make()
    assert store.look(lambda tx: tx.get("nothing")) is None
    assert store.look(lambda tx: tx.get_many(["nothing", "k"])) == {"nothing": None, "k": None}
    got = store.look(lambda tx: tx.fetch([("a", "z")]))
    assert not got.rows
    assert not got.truncated


def get_many_takes_any_number_of_keys_and_keeps_their_order(make: Make) -> None:
    store = make()
    keys = [f"k/{number:03d}" for number in range(600)]
    store.run(lambda tx: _put(tx, *keys[::2]))
    values = store.look(lambda tx: tx.get_many(keys[::-1]))
    assert list(values) == keys[::-1]
    assert values == {key: {"key": key} if key in keys[::2] else None for key in keys}
    assert store.look(lambda tx: tx.get_many([])) == {}


def a_read_value_may_be_changed_and_the_change_counts_when_it_is_put(make: Make) -> None:
    store = make()
    store.run(lambda tx: _put(tx, "a/1", "k"))

    def fn(tx: Transaction) -> None:
        tx.prefetch(["k"], [prefix_range("a/")])
        for _ in range(2):
            value, (row,) = tx.get("k"), tx.fetch([prefix_range("a/")]).rows
            assert (value, row) == ({"key": "k"}, ("a/1", {"key": "a/1"})), "an earlier change was not put"
            assert tx.get_many(["k", "a/1"]) == {"k": value, "a/1": row[1]}
            value["more"] = row[1]["more"] = 1
        tx.put("k", value)
        assert tx.get("k") == {"key": "k", "more": 1}
        value["more"] = 2
        assert tx.get("k") == tx.get_many(["k"])["k"] == {"key": "k", "more": 1}, "changed after it was put"

    store.run(fn)
    assert store.look(lambda tx: tx.get("k")) == {"key": "k", "more": 1}


def own_writes_win_over_what_was_prefetched(make: Make) -> None:
    store = make()
    store.run(lambda tx: _put(tx, "a/1", "a/3", "b/1", "k", "n"))

    def fn(tx: Transaction) -> None:
        tx.put("n", "before")
        tx.prefetch(["k", "n", "none"], [prefix_range("a/"), prefix_range("b/")])
        tx.put("a/2", 2)
        tx.delete("a/1")
        tx.put("k", "new")
        tx.put("none", "some")
        tx.delete("b/1")
        tx.put("b/1", "again")
        assert tx.get_many(["k", "n", "none", "a/1", "a/2"]) == {
            "k": "new", "n": "before", "none": "some", "a/1": None, "a/2": 2,
        }  # fmt: skip
        assert tx.fetch([prefix_range("a/")]).rows == [("a/2", 2), ("a/3", {"key": "a/3"})]
        assert tx.fetch([prefix_range("a/"), prefix_range("b/")], 2).rows == [("a/2", 2), ("a/3", {"key": "a/3"})]
        assert tx.fetch([prefix_range("b/")]).rows == [("b/1", "again")]
        tx.prefetch(["k", "none"], [prefix_range("a/")])
        assert (tx.get("k"), tx.get("none"), len(tx.fetch([prefix_range("a/")]).rows)) == ("new", "some", 2)

    store.run(fn)


def rows_deleted_after_a_prefetch_that_was_cut_short_make_room_for_the_next(make: Make) -> None:
    store = make()
    names = [f"a/{number}" for number in range(9)]
    store.run(lambda tx: _put(tx, *names))

    def fn(tx: Transaction) -> None:
        tx.prefetch((), [prefix_range("a/")], 4)
        tx.delete("a/0")
        tx.delete("a/2")
        fetched = tx.fetch([prefix_range("a/")], 4)
        assert ([key for key, _ in fetched.rows], fetched.truncated) == (["a/1", "a/3", "a/4", "a/5"], True)
        assert [key for key, _ in tx.fetch([("a/1", "a/4")], 2).rows] == ["a/1", "a/3"]

    store.run(fn)


def a_prefetch_changes_the_answer_of_no_read(make: Make) -> None:
    store = make()
    names = [f"{letter}/{number:02d}" for letter in "abcd" for number in range(8)]
    store.run(lambda tx: _put(tx, *names))
    asked: list[tuple[list[tuple[str, str]], int]] = [
        ([("a/02", "a/05"), ("b/", "b/04"), ("c/07", "d/01")], 5),
        ([("a/", "b0")], 9),
        ([("a/", "a0"), ("b/", "b0"), ("c/", "c0")], 100),
        ([("b/03", "b/04")], 1),
        ([("b/03", "b/06"), ("d/", "d0")], 4),
        ([("a/", "d0")], 100),
        ([("0", "a/")], 1),
    ]

    def read(tx: Transaction) -> list[Any]:
        pages = [tx.fetch(ranges, limit) for ranges, limit in asked]
        return [
            *[(page.rows, page.truncated) for page in pages],
            tx.get_many(["a/00", *names[::5], "e"]),
            tx.get("c/0"),
        ]

    plain = store.look(read)
    for ranges, limit in asked:

        def prefetched(tx: Transaction, ranges: Any = ranges, limit: int = limit) -> list[Any]:
            tx.prefetch(["a/00", "e"], ranges, limit)
            return read(tx)

        assert store.look(prefetched) == plain, (ranges, limit)
        assert store.run(prefetched) == plain, (ranges, limit)


def a_transaction_reads_its_own_writes(make: Make) -> None:
    def fn(tx: Transaction) -> None:
        tx.put("a/1", 1, "i\t1", "j\t1")
        tx.put("a/2", 2, "i\t2")
        tx.delete("a/1")
        tx.put("a/3", 3, "i\t3")
        assert tx.get_many(["a/1", "a/2"]) == {"a/1": None, "a/2": 2}
        assert tx.fetch([prefix_range("a/")]).rows == [("a/2", 2), ("a/3", 3)]
        assert [row[2] for row in tx.scan(1, "i\t", 10).rows] == [2, 3]
        assert tx.scan(2, "j\t", 10).rows == []

    make().run(fn)


def a_raised_error_takes_everything_back(make: Make) -> None:
    store = make()
    store.run(lambda tx: tx.put("old", 1, "i\told"))
    before = store.head()

    def fn(tx: Transaction) -> None:
        tx.put("old", 2, "i\tchanged")
        tx.put("new", 1)
        tx.delete("old")
        tx.append("kind", "agent", "subject", {})
        raise RuntimeError

    for _ in range(2):
        try:
            store.run(fn)
        except RuntimeError:
            pass
        else:
            message = "the error did not come through"
            raise AssertionError(message)
    got = store.look(lambda tx: (tx.get_many(["old", "new"]), tx.scan(1, "i\t", 9).rows))
    assert got == ({"old": 1, "new": None}, [("i\told", "old", 1)])
    after = store.head()
    assert (after.seq, after.commit, after.link) == (before.seq, before.commit, before.link)
    assert store.events() == []


def ranges_come_in_the_order_of_their_keys(make: Make) -> None:
    store = make()
    store.run(lambda tx: _put(tx, "b/2", "a/1", "b/10", "b", "c/1", "b-x", "b/\u00e9", "b/\U0001f600", "b/\uffff"))
    got = store.look(lambda tx: tx.fetch([("a/", "a0"), ("b/", "b0"), ("c/", "c0")]))
    keys = [key for key, _ in got.rows]
    assert keys == ["a/1", "b/10", "b/2", "b/\u00e9", "b/\uffff", "b/\U0001f600", "c/1"]


def a_range_includes_its_start_and_not_its_end(make: Make) -> None:
    store = make()
    store.run(lambda tx: _put(tx, "a", "b", "c"))
    assert [key for key, _ in store.look(lambda tx: tx.fetch([("a", "c")])).rows] == ["a", "b"]


def a_fetch_that_was_cut_short_says_so(make: Make) -> None:
    store = make()
    store.run(lambda tx: _put(tx, *[f"r/{number:03d}" for number in range(20)]))
    for limit, rows, truncated in ((19, 19, True), (20, 20, False), (21, 20, False), (1, 1, True)):
        got = store.look(lambda tx, limit=limit: tx.fetch([("r/", "r0")], limit))  # type: ignore[misc]
        assert (len(got.rows), got.truncated) == (rows, truncated), limit
    paged, last = [], "r/"
    while True:
        got = store.look(lambda tx, last=last: tx.fetch([(last, "r0")], 7))  # type: ignore[misc]
        paged += [key for key, _ in got.rows]
        if not got.truncated:
            break
        last = got.rows[-1][0] + "\x01"
    assert paged == [f"r/{number:03d}" for number in range(20)]


def a_scan_follows_its_index(make: Make) -> None:
    store = make()

    def fill_in(tx: Transaction) -> None:
        tx.put("z", "z", "who\ta\t1", "due\t3")
        tx.put("y", "y", "who\ta\t2", "due\t1")
        tx.put("x", "x", "who\tb\t1", "due\t2")
        tx.put("w", "w", None, None)

    store.run(fill_in)
    look = store.look
    assert [row[2] for row in look(lambda tx: tx.scan(1, "who\ta\t", 9)).rows] == ["z", "y"]
    assert [row[2] for row in look(lambda tx: tx.scan(2, "due\t", 9)).rows] == ["y", "x", "z"]
    assert [row[2] for row in look(lambda tx: tx.scan(2, "due\t", 9, before="due\t3")).rows] == ["y", "x"]
    assert [row[2] for row in look(lambda tx: tx.scan(2, "due\t", 9, after="due\t1")).rows] == ["x", "z"]
    cut = look(lambda tx: tx.scan(2, "due\t", 2))
    assert ([row[2] for row in cut.rows], cut.truncated) == (["y", "x"], True)
    assert not look(lambda tx: tx.scan(2, "due\t", 3)).truncated


def an_entry_moves_with_its_key(make: Make) -> None:
    store = make()
    store.run(lambda tx: tx.put("k", 1, "i\ta", "j\ta"))
    store.run(lambda tx: tx.put("k", 2, "i\tb"))
    assert store.look(lambda tx: (tx.scan(1, "i\t", 9).rows, tx.scan(2, "j\t", 9).rows)) == ([("i\tb", "k", 2)], [])
    store.run(lambda tx: tx.delete("k"))
    assert store.look(lambda tx: tx.scan(1, "i\t", 9).rows) == []


def a_look_may_not_write(make: Make) -> None:
    store = make()
    first = store.head().commit
    for write in (
        lambda tx: tx.put("k", 1),
        lambda tx: tx.delete("k"),
        lambda tx: tx.append("kind", "a", "s", {}),
    ):
        try:
            store.look(write)
        except TypeError:
            continue
        message = "a look wrote"
        raise AssertionError(message)
    assert store.head().commit == first


def the_commit_is_filled_in_where_it_was_written(make: Make) -> None:
    store = make()

    def fn(tx: Transaction) -> Any:
        tx.put("k", {"token": COMMIT, "list": [COMMIT], "text": "no \x1a here"})
        tx.append("kind", "agent", "subject", {"token": COMMIT})
        return {"token": COMMIT, "deep": [{"token": COMMIT}]}

    first, second = store.run(fn), store.run(fn)
    number = first["token"]
    assert isinstance(number, int)
    assert first == {"token": number, "deep": [{"token": number}]}
    assert second["token"] > number
    held = store.run(lambda tx: Envelope(fn(tx))).answer
    assert held["token"] > second["token"], "inside an envelope, too"
    kept = store.look(lambda tx: tx.get("k"))
    assert kept == {"token": held["token"], "list": [held["token"]], "text": "no \x1a here"}
    events = store.events()
    assert [read_event(event)["data"]["token"] for event in events] == [number, second["token"], held["token"]]
    assert all('"\\u001a"' in event.body for event in events)


def an_index_entry_sorts_by_the_number_of_its_commit(make: Make) -> None:
    store = make()

    def kept(name: str) -> Callable[[Transaction], None]:
        return lambda tx: tx.put(name, {"token": COMMIT}, f"i\t{COMMIT}\t1", f"j\t{COMMIT}")

    for name in "dcba":
        store.run(kept(name))
    store.run_many([kept(name) for name in "zyx"])
    for index, prefix in ((1, "i\t"), (2, "j\t")):
        rows = store.look(lambda tx, i=index, p=prefix: tx.scan(i, p, 100).rows)  # type: ignore[misc]
        assert [key for _, key, _ in rows] == list("dcbazyx")
        assert [entry[2:18] for entry, _, _ in rows] == [f"{value['token']:016d}" for _, _, value in rows]
    middle = rows[3][0]
    assert [key for _, key, _ in store.look(lambda tx: tx.scan(2, "j\t", 2, after=middle)).rows] == ["z", "y"]
    store.run(lambda tx: tx.delete("d"))
    assert [key for _, key, _ in store.look(lambda tx: tx.scan(1, "i\t", 2)).rows] == ["c", "b"]


def commits_rise_by_one_when_something_was_written(make: Make) -> None:
    store = make()
    first = store.head().commit
    store.run(lambda tx: tx.get("k"))
    assert store.head().commit == first
    store.run(lambda tx: tx.put("k", 1))
    assert store.head().commit == first + 1
    store.run(lambda tx: tx.append("kind", "a", "s", {}))
    assert store.head().commit == first + 2


def the_log_is_numbered_and_chained(make: Make) -> None:
    store = make()
    first = store.head().commit
    for number in range(3):
        store.run(lambda tx, n=number: [tx.append("kind", "a", f"{n}.{i}", {"n": n}) for i in range(n + 1)])  # type: ignore[misc]
    events = store.events()
    assert [event.seq for event in events] == [1, 2, 3, 4, 5, 6]
    assert [read_event(event)["subject"] for event in events] == ["0.0", "1.0", "1.1", "2.0", "2.1", "2.2"]
    assert [event.commit - first for event in events] == [1, 2, 2, 3, 3, 3]
    link = GENESIS
    for event in events:
        link = link_of(link, event.seq, event.commit, event.now, event.wall, digest_of(event.body))
        assert event.link == link
    head = store.head()
    assert (head.seq, head.link, head.commit) == (6, link, first + 3)
    assert [event.seq for event in store.events(after=2, limit=3)] == [3, 4, 5]


def a_body_has_the_same_text_on_every_engine(make: Make) -> None:
    store = make()
    store.run(lambda tx: tx.append("kind", "ä/b", "s", {"z": [1, None, "é"], "a": 1.5}))
    expected = '{"kind":"kind","agent":"\\u00e4/b","subject":"s","data":{"z":[1,null,"\\u00e9"],"a":1.5}}'
    assert store.events()[0].body == expected


def now_never_falls_and_ids_differ(make: Make) -> None:
    store = make()
    seen: list[int] = []
    ids: set[str] = set()

    def fn(tx: Transaction) -> None:
        seen.append(tx.now)
        ids.update((tx.id(), tx.id()))
        tx.put("k", 1)

    for _ in range(20):
        store.run(fn)
    assert seen == sorted(seen)
    assert len(ids) == 40


def a_transaction_that_is_run_again_gets_the_same_ids(make: Make) -> None:
    store = make()
    ids: list[list[str]] = []

    def fn(tx: Transaction) -> None:
        ids.append([tx.id(), tx.id()])
        tx.put("k", 1)
        if len(ids) == 1:
            clock_was = clock.since_boot
            clock.since_boot = lambda: clock_was() + 5_000
            restore.append(clock_was)

    restore: list[Any] = []
    try:
        store.run(fn)
    finally:
        clock.since_boot = restore[0]
    assert len(ids) >= 2, "a commit whose clock is five seconds old is run again"
    assert ids[0] == ids[1]


def a_seal_stands_where_the_log_ended_and_pruning_keeps_the_rest(make: Make) -> None:
    store = make()
    for number in range(4):
        store.run(lambda tx, n=number: tx.append("kind", "a", str(n), {}))  # type: ignore[misc]
    before = store.head()

    def seal(tx: Transaction) -> None:
        tail = tx.tail()
        assert (tail.seq, tail.link, tail.commit) == (before.seq, before.link, before.commit)
        tx.seal('{"body":1}')
        tx.append("sealed", "a", "", {})

    store.run(seal)
    store.run(lambda tx: tx.append("kind", "a", "after", {}))
    assert [(s.seq, s.link, s.body) for s in store.seals()] == [(4, before.link, '{"body":1}')]
    try:
        store.run(lambda tx: tx.prune(3, 3))
    except Exception:  # noqa: BLE001, S110 - the engine chooses the error
        pass
    else:
        message = "pruned where no seal stands"
        raise AssertionError(message)

    def prune(tx: Transaction) -> None:
        tx.prune(4, 4)
        tx.append("pruned", "a", "", {})

    store.run(lambda tx: tx.prune(4, 2))
    assert [event.seq for event in store.events()] == [3, 4, 5, 6], "the rest stays for a later transaction"
    assert [event.seq for event in store.events(after=1)] == [3, 4, 5, 6]
    store.run(prune)
    assert [event.seq for event in store.events()] == [5, 6, 7]
    assert [event.seq for event in store.events(after=5)] == [6, 7]
    assert store.head().seq == 7

    def seal_again(tx: Transaction) -> None:
        tx.seal(f'{{"body":{tx.tail().seq}}}')
        tx.append("sealed", "a", "", {})

    store.run(seal_again)
    store.run(seal_again)
    store.run(lambda tx: tx.prune(7, 7))
    assert [(s.seq, s.body) for s in store.seals()] == [(7, '{"body":7}'), (8, '{"body":8}')], "those before are gone"
    assert [event.seq for event in store.events()] == [8, 9]


def a_wake_reaches_its_waiter_and_no_other(make: Make) -> None:
    store = make()

    def wake(tx: Transaction) -> None:
        tx.put("k", 1)
        tx.wake("one")

    store.watch("one")
    store.watch("two")
    try:
        assert store.wait("one", 0.01) is False
        store.run(wake)
        assert store.wait("one", 1.0) is True
        assert store.wait("two", 0.01) is False
    finally:
        store.unwatch("one")
        store.unwatch("two")


def a_wake_of_a_transaction_that_failed_reaches_nobody(make: Make) -> None:
    store = make()
    store.watch("one")

    def fn(tx: Transaction) -> None:
        tx.put("k", 1)
        tx.wake("one")
        raise RuntimeError

    try:
        store.run(fn)
    except RuntimeError:
        pass
    try:
        assert store.wait("one", 0.05) is False
    finally:
        store.unwatch("one")


def threads_take_turns(make: Make) -> None:
    store = make()
    store.run(lambda tx: tx.put("count", 0))
    done = _thread.allocate_lock()
    finished: list[int] = []

    def add(tx: Transaction) -> None:
        tx.put("count", tx.get("count") + 1)

    def work() -> None:
        for _ in range(25):
            store.run(add)
        with done:
            finished.append(1)

    for _ in range(4):
        _thread.start_new_thread(work, ())
    while len(finished) < 4:
        clock.sleep(0.01)
    assert store.look(lambda tx: tx.get("count")) == 100


def a_follower_of_the_log_misses_no_event_between_reading_and_waiting(make: Make) -> None:
    store = make()
    store.run(lambda tx: tx.append("first", "a", "", {}))
    assert [event.seq for event in store.events()] == [1]
    store.run(lambda tx: tx.append("second", "a", "", {}))  # after it was read, before it is waited for
    began = clock.since_boot()
    assert store.follow(1, 5.0) is True
    assert clock.since_boot() - began < 4_000
    assert [event.seq for event in store.events(1)] == [2]
    assert store.follow(2, 0.02) is False


def settling_a_store_that_lost_nothing_changes_nothing(make: Make) -> None:
    store = make()
    store.run(lambda tx: tx.put("k", 1))
    before = store.head().commit

    def give_up() -> bool:
        store.run(lambda tx: tx.put("k", 2))
        return False

    store.settle(give_up)
    assert store.look(lambda tx: tx.get_many(["k"])) == {"k": 1}
    assert store.head().commit == before


def a_store_describes_itself_in_plain_values(make: Make) -> None:
    store = make()
    store.run(lambda tx: tx.put("k", 1))
    said = store.describe()
    assert set(said) == {"engine", "address", "persistence", "warnings", "figures"}
    assert all(isinstance(said[name], str) and said[name] for name in ("engine", "address", "persistence"))
    assert isinstance(said["warnings"], list)
    assert all(isinstance(figure, int) for figure in said["figures"].values())
    assert store.address == store.address
    assert make().address
    checks = list(store.check())
    assert checks
    for name, ok, message, severity in checks:
        assert name
        assert message
        assert ok or severity == WARNING, (name, message)
        assert severity in {ERROR, WARNING}


def a_sweep_takes_nothing_from_listeners(make: Make) -> None:
    store = make()

    def wake(tx: Transaction) -> None:
        tx.put("k", 1)
        tx.wake("one")

    store.watch("one")
    try:
        assert store.tidy() == 0
        store.run(wake)
        assert store.wait("one", 1.0) is True
    finally:
        store.unwatch("one")


def _claim_like(name: str) -> Callable[[Transaction], Any]:
    """A function that reads what others wrote, writes rows, an event and a wake, and shows its number."""

    def fn(tx: Transaction) -> Any:
        tx.prefetch(["count"], [prefix_range("n/")])
        count, rows = (tx.get("count") or 0) + 1, tx.fetch([prefix_range("n/")]).rows
        tx.put("count", count)
        tx.put(f"n/{name}", {"token": COMMIT, "before": [key for key, _ in rows]}, f"i\t{count:03d}")
        tx.append("counted", name, str(count), {"token": COMMIT})
        return {"count": count, "token": COMMIT, "seen": [value["token"] for _, value in rows]}

    return fn


def _failing(tx: Transaction) -> None:
    tx.put("count", -1)
    tx.put("n/failed", {"token": COMMIT}, "i\tfailed")
    tx.delete("n/a")
    tx.append("failed", "a", "", {})
    tx.wake("failed")
    raise LookupError


def a_group_gives_each_its_own_number_events_and_answer(make: Make) -> None:
    store = make()
    first = store.head().commit
    done = store.run_many([_claim_like(name) for name in "abc"])
    assert [error for _, error in done] == [None, None, None]
    assert [value["token"] - first for value, _ in done] == [1, 2, 3]
    assert [value["count"] for value, _ in done] == [1, 2, 3]
    assert [value["seen"] for value, _ in done] == [[], [first + 1], [first + 1, first + 2]], "with the others' numbers"
    events = store.events()
    assert [(event.seq, event.commit - first) for event in events] == [(1, 1), (2, 2), (3, 3)]
    link = GENESIS
    for event in events:
        link = link_of(link, event.seq, event.commit, event.now, event.wall, digest_of(event.body))
        assert event.link == link
    head = store.head()
    assert (head.commit - first, head.seq, head.link) == (3, 3, link)
    rows = store.look(lambda tx: tx.fetch([prefix_range("n/")])).rows
    assert [(key, value["token"] - first) for key, value in rows] == [("n/a", 1), ("n/b", 2), ("n/c", 3)]
    assert [row[1] for row in store.look(lambda tx: tx.scan(1, "i\t", 9)).rows] == ["n/a", "n/b", "n/c"]
    assert store.run_many([]) == []


def what_one_of_a_group_raises_undoes_that_one_alone(make: Make) -> None:
    store = make()
    first = store.head().commit
    store.watch("failed")
    try:
        done = store.run_many([_failing, _claim_like("a"), _failing, _claim_like("b"), _failing])
        assert store.wait("failed", 0.02) is False
    finally:
        store.unwatch("failed")
    assert [type(error) for _, error in done] == [LookupError, type(None), LookupError, type(None), LookupError]
    assert [done[1][0]["token"], done[3][0]["token"]] == [first + 1, first + 2]
    assert [value for value, error in done if error] == [None, None, None]
    assert store.look(lambda tx: tx.get("count")) == 2
    assert [key for key, _ in store.look(lambda tx: tx.fetch([prefix_range("n/")])).rows] == ["n/a", "n/b"]
    assert [row[1] for row in store.look(lambda tx: tx.scan(1, "i\t", 9)).rows] == ["n/a", "n/b"]
    assert [(event.seq, event.commit - first) for event in store.events()] == [(1, 1), (2, 2)]


def one_of_a_group_that_writes_nothing_uses_up_no_number(make: Make) -> None:
    store = make()
    first = store.head().commit
    read = store.run_many([lambda tx: tx.get("count"), lambda _: "nothing"])
    assert read == [(None, None), ("nothing", None)]
    assert store.head().commit == first
    read = store.run_many([lambda tx: tx.get("count"), _claim_like("a"),
                           lambda tx: tx.get("count"), _claim_like("b")])  # fmt: skip
    assert [read[0][0], read[1][0]["token"], read[2][0], read[3][0]["token"]] == [None, first + 1, 1, first + 2]
    assert store.head().commit == first + 2


def a_group_may_seal_and_prune_between_others(make: Make) -> None:
    store = make()
    ends: list[int] = []

    def seal(tx: Transaction) -> int:
        ends.append(tx.tail().seq)
        tx.seal("{}")
        tx.append("sealed", "a", "", {})
        return tx.tail().seq

    def prune(tx: Transaction) -> None:
        tx.prune(2, 2)
        tx.append("pruned", "a", "", {})

    done = store.run_many([_claim_like("a"), _claim_like("b"), seal, _claim_like("c"), prune, _claim_like("d")])
    assert [error for _, error in done] == [None] * 6
    assert done[2][0] == 2
    assert [event.seq for event in store.events()] == [3, 4, 5, 6]
    assert [seal.seq for seal in store.seals()] == [2]
    assert len({event.commit for event in store.events()}) == 4


def a_group_whose_clock_went_stale_is_run_again_with_the_same_ids(make: Make) -> None:
    store = make()
    ids: list[str] = []
    restore: list[Any] = []

    def fn(tx: Transaction) -> None:
        ids.append(tx.id())
        tx.put(f"k/{tx.id()}", tx.now)

    def pause(tx: Transaction) -> None:
        fn(tx)
        if not restore:
            clock_was = clock.since_boot
            clock.since_boot = lambda: clock_was() + 5_000
            restore.append(clock_was)

    try:
        done = store.run_many([fn, pause])
    finally:
        clock.since_boot = restore[0]
    assert [error for _, error in done] == [None, None]
    rows = store.look(lambda tx: tx.fetch([prefix_range("k/")])).rows
    assert len(rows) == 2, "each was applied once"
    assert len(ids) > 3, "a commit whose clock is five seconds old is run again"
    assert len(set(ids)) == 2


def a_group_wakes_the_waiters_of_all_its_members(make: Make) -> None:
    store = make()

    def wake(name: str) -> Callable[[Transaction], None]:
        def fn(tx: Transaction) -> None:
            tx.put(name, 1)
            tx.wake(name)

        return fn

    for name in ("one", "two", "three"):
        store.watch(name)
    try:
        store.run_many([wake("one"), wake("two")])
        assert store.wait("one", 1.0) is True
        assert store.wait("two", 1.0) is True
        assert store.wait("three", 0.01) is False
    finally:
        for name in ("one", "two", "three"):
            store.unwatch(name)


def a_group_of_readers_of_many_pages_is_answered_like_each_alone(make: Make) -> None:
    store = make()
    store.run(lambda tx: _put(tx, *[f"r/{number:03d}" for number in range(40)]))

    def count(tx: Transaction) -> int:
        total, low = 0, "r/"
        while True:
            got = tx.fetch([(low, "r0")], 2)
            total += len(got.rows)
            if not got.truncated:
                tx.put(f"r/{total:03d}x", total)
                return total
            low = got.rows[-1][0] + "\x01"

    done = store.run_many([_claim_like("a"), count, _claim_like("b"), count, count])
    assert [error for _, error in done] == [None] * 5
    assert [done[1][0], done[3][0], done[4][0]] == [40, 41, 42]
    assert done[2][0]["count"] == 2


def groups_of_several_threads_take_turns(make: Make) -> None:
    store = make()
    done = _thread.allocate_lock()
    finished: list[Any] = []

    def work(name: str) -> None:
        found = [store.run_many([_claim_like(f"{name}{number}{one}") for one in range(3)]) for number in range(8)]
        with done:
            finished.append(found)

    for name in ("a", "b", "c"):
        _thread.start_new_thread(work, (name,))
    while len(finished) < 3:
        clock.sleep(0.01)
    counts = sorted(value["count"] for found in finished for group in found for value, _ in group)
    assert counts == list(range(1, 73))
    assert store.head().seq == 72


CASES: tuple[Callable[[Make], None], ...] = (
    a_put_is_read_back_and_shares_no_memory,
    a_key_that_is_not_there_reads_as_none,
    get_many_takes_any_number_of_keys_and_keeps_their_order,
    a_read_value_may_be_changed_and_the_change_counts_when_it_is_put,
    own_writes_win_over_what_was_prefetched,
    rows_deleted_after_a_prefetch_that_was_cut_short_make_room_for_the_next,
    a_prefetch_changes_the_answer_of_no_read,
    a_transaction_reads_its_own_writes,
    a_raised_error_takes_everything_back,
    ranges_come_in_the_order_of_their_keys,
    a_range_includes_its_start_and_not_its_end,
    a_fetch_that_was_cut_short_says_so,
    a_scan_follows_its_index,
    an_entry_moves_with_its_key,
    a_look_may_not_write,
    the_commit_is_filled_in_where_it_was_written,
    an_index_entry_sorts_by_the_number_of_its_commit,
    commits_rise_by_one_when_something_was_written,
    the_log_is_numbered_and_chained,
    a_body_has_the_same_text_on_every_engine,
    now_never_falls_and_ids_differ,
    a_transaction_that_is_run_again_gets_the_same_ids,
    a_seal_stands_where_the_log_ended_and_pruning_keeps_the_rest,
    a_wake_reaches_its_waiter_and_no_other,
    a_wake_of_a_transaction_that_failed_reaches_nobody,
    threads_take_turns,
    a_follower_of_the_log_misses_no_event_between_reading_and_waiting,
    settling_a_store_that_lost_nothing_changes_nothing,
    a_store_describes_itself_in_plain_values,
    a_sweep_takes_nothing_from_listeners,
    a_group_gives_each_its_own_number_events_and_answer,
    what_one_of_a_group_raises_undoes_that_one_alone,
    one_of_a_group_that_writes_nothing_uses_up_no_number,
    a_group_may_seal_and_prune_between_others,
    a_group_whose_clock_went_stale_is_run_again_with_the_same_ids,
    a_group_wakes_the_waiters_of_all_its_members,
    a_group_of_readers_of_many_pages_is_answered_like_each_alone,
    groups_of_several_threads_take_turns,
)
