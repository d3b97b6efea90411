"""The Redis engine: what is its own. What all engines share is in the conformance suite and the parity traces."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dibs.errors import Busy, NotFound, Unavailable
from dibs.machine import clock
from dibs.stores import seam
from dibs.stores.redis import epoch
from dibs.stores.redis.client import ClientWire
from dibs.stores.redis.plain_socket import PlainWire
from dibs.stores.redis.store import RedisStore
from dibs.stores.redis.wire import identity_of, open_wire
from dibs.stores.seam import COMMIT, Unsettled, prefix_range
from dibs.stores.urls import hidden
from dibs.testing.memory import MemoryStore
from dibs.verify.checker import verify_store
from tests.stores.redis_server import ALWAYS, Machine, Pretender, Proxy, Server, info, opened, running, tell_time
from tests.stores.redis_ways import SLOTS, cluster, tls_in_front_of
from tests.waiting import LIMIT_S, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.stores.seam import Store, Transaction


# --- transactions that meet, beside the memory engine that runs them one after the other

KEYS = [f"{family}{number}" for family in "ab" for number in range(3)]
ENTRIES = st.sampled_from([None, "x\t1", "x\t2", "y\t1"])
READS = st.one_of(
    st.tuples(st.just("keys"), st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique=True)),
    st.tuples(st.just("range"), st.sampled_from("ab"), st.integers(1, 4)),
    st.tuples(st.just("both"), st.integers(1, 7)),
    st.tuples(st.just("scan"), st.integers(1, 2), st.sampled_from("xy"), st.integers(1, 4), st.booleans()),
)
WRITES = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(KEYS), ENTRIES, ENTRIES),
    st.tuples(st.just("delete"), st.sampled_from(KEYS)),
    st.tuples(st.just("append"), st.integers(0, 9)),
    st.tuples(st.just("seal")),
)
STEPS = st.lists(st.one_of(READS, WRITES), min_size=1, max_size=7)


def masked(value: Any) -> Any:
    """A value without the commit's number, which is known to some engines before it is to others."""
    return {**value, "commit": 0} if isinstance(value, dict) else value


def perform(tx: Transaction, steps: Any, between: Callable[[int], None]) -> Any:
    """What is written depends on all that was read before."""
    seen: list[Any] = []
    for place, step in enumerate(steps):
        between(place)
        kind = step[0]
        if kind == "keys":
            seen.append({key: masked(value) for key, value in tx.get_many(step[1]).items()})
        elif kind == "range":
            tx.prefetch([KEYS[0]], [prefix_range(step[1])], step[2])
            got = tx.fetch([prefix_range(step[1])], step[2])
            seen.append([[(key, masked(value)) for key, value in got.rows], got.truncated, masked(tx.get(KEYS[0]))])
        elif kind == "both":
            got = tx.fetch([prefix_range("a"), prefix_range("b")], step[1])
            seen.append([[(key, masked(value)) for key, value in got.rows], got.truncated])
        elif kind == "scan":
            found = tx.scan(step[1], f"{step[2]}\t", step[3], after=f"{step[2]}\t1" if step[4] else "")
            seen.append([[(*row[:2], masked(row[2])) for row in found.rows], found.truncated])
        elif kind == "put":
            tx.put(step[1], {"saw": len(repr(seen)), "place": place, "commit": COMMIT}, step[2], step[3])
        elif kind == "delete":
            tx.delete(step[1])
        elif kind == "append":
            tx.append("kind", "a", str(step[1]), {"saw": len(repr(seen))})
        else:
            tail = tx.tail()
            tx.seal(f"{tail.seq}")
            tx.append("sealed", "a", str(tail.seq), {})
    return seen


def only_reads(steps: Any) -> bool:
    """Does a transaction of these steps change nothing?"""
    return all(step[0] in ("keys", "range", "both", "scan") for step in steps)


def nothing(_: int) -> None:
    """Nobody comes between."""


def dump(store: Store, first: int) -> Any:
    """All that is there, with numbers counted from the first."""

    def look(tx: Transaction) -> Any:
        rows = tx.fetch([prefix_range("a"), prefix_range("b")]).rows
        return [(key, {**value, "commit": value["commit"] - first}) for key, value in rows], [
            [row[:2] for row in tx.scan(index, f"{letter}\t", 99).rows] for index in (1, 2) for letter in "xy"
        ]

    log = [(event.seq, event.commit - first, event.body) for event in store.events()]
    return store.look(look), log, {(seal.seq, seal.body) for seal in store.seals()}


@settings(max_examples=150 if os.environ.get("DIBS_HYPOTHESIS") != "torture" else 2_000)
@given(st.lists(st.tuples(STEPS, STEPS, st.integers(0, 6)), min_size=1, max_size=4))
@example([([("both", 1), ("range", "a", 1), ("keys", ["a0"])], [("put", "a0", None, None)], 2)])
def test_transactions_that_meet_end_as_if_one_had_come_after_the_other(program: Any) -> None:
    """The second store commits in the middle of the first one's transaction: so one that writes comes after it.

    One that only reads may come before it too: whatever it asks again was seen already, and is not asked anew.
    """
    server = _lasting()
    name = clock.random_id()
    one, two, model = opened(server, name), opened(server, name), MemoryStore()
    first = one.head().commit
    try:
        for outer, inner, when in program:
            met: list[Any] = []

            def between(place: int, inner: Any = inner, when: int = when, met: list[Any] = met) -> None:
                if place == when and not met:
                    met.append(two.run(partial(perform, steps=inner, between=nothing)))

            before = model.look(partial(perform, steps=outer, between=nothing)) if only_reads(outer) else None
            found = one.run(partial(perform, steps=outer, between=between))
            expected = [model.run(partial(perform, steps=inner, between=nothing))] if met else []
            assert met == expected
            after = model.run(partial(perform, steps=outer, between=nothing))
            assert found == after or (only_reads(outer) and found == before)
            assert dump(one, first) == dump(model, 0)
        assert two.head().link == one.head().link
    finally:
        one.close()
        two.close()


_SERVERS: list[str] = []


def _lasting() -> str:
    """One server for all examples."""
    return _SERVERS[0]


@pytest.fixture(scope="module", autouse=True)
def _told(server: Server) -> Iterator[None]:
    _SERVERS[:] = [server.socket_url]
    yield
    _SERVERS.clear()


def test_reads_in_several_trips_are_one_snapshot(fresh: Callable[..., RedisStore]) -> None:
    one, two = fresh(), fresh()
    one.run(lambda tx: tx.put("a", 0))
    one.run(lambda tx: tx.put("b", 0))
    stop = threading.Event()

    def both(tx: Transaction) -> None:
        value = tx.get("a") + 1
        tx.put("a", value)
        tx.put("b", value)

    def write() -> None:
        while not stop.is_set():
            two.run(both)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(100):
            first, second = one.look(lambda tx: (tx.get("a"), tx.get("b")))
            assert first == second
    finally:
        stop.set()
        writer.join()


def test_what_many_move_about_at_once_is_neither_made_nor_lost(fresh: Callable[..., RedisStore]) -> None:
    """Rows that come and go, seen by range and by index: a transaction sees all that there is, or is run again."""
    whole, most, rounds = 1_000, 4, 60 if os.environ.get("DIBS_TORTURE") != "1" else 2_000

    def holdings(tx: Transaction, way: int) -> dict[str, int]:
        if way:
            return {key: value for _, key, value in tx.scan(way, "x\t", 99).rows}
        return dict(tx.fetch([prefix_range("a")]).rows)

    def move(tx: Transaction, dice: random.Random) -> None:
        before = holdings(tx, dice.randrange(3))
        assert sum(before.values()) == whole, before
        assert len(before) <= most
        giver = dice.choice(sorted(before))
        part = dice.randrange(before[giver] + 1)
        taker = f"a{dice.randrange(10_000)}" if len(before) < most else dice.choice(sorted(before))
        if taker != giver:
            tx.put(taker, before.get(taker, 0) + part, "x\t1", "x\t2")
            if part == before[giver]:
                tx.delete(giver)
            else:
                tx.put(giver, before[giver] - part, "x\t3", f"x\t{part}")
        tx.append("moved", "a", "", {})

    stores = [fresh() for _ in range(4)]
    stores[0].run(lambda tx: tx.put("a0", whole, "x\t1", "x\t1"))
    failed: list[BaseException] = []

    def work(store: RedisStore, seed: int) -> None:
        dice = random.Random(seed)
        try:
            for _ in range(rounds):
                seed = dice.getrandbits(32)
                store.run(lambda tx, seed=seed: move(tx, random.Random(seed)))  # type: ignore[misc]
        except BaseException as error:  # noqa: BLE001 - told below
            failed.append(error)

    threads = [threading.Thread(target=work, args=(store, number)) for number, store in enumerate(stores)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed
    for way in range(3):
        seen = stores[0].look(partial(holdings, way=way))
        assert sum(seen.values()) == whole
    assert len(stores[0].events(0, 10_000)) == 4 * rounds
    assert verify_store(stores[0]).findings == []


@pytest.mark.parametrize("changed", ["k", "none", "a5", "a1", "other"])
def test_what_was_prefetched_is_checked_at_the_commit_and_asked_for_once(
    changed: str, fresh: Callable[..., RedisStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = fresh(), fresh()
    for key in ("k", "a1"):
        one.run(lambda tx, key=key: tx.put(key, 0))  # type: ignore[misc]
    one._cache.clear()
    asked: list[int] = []
    read = one.read

    def counted(reads: Any, **how: Any) -> Any:
        asked.append(len(reads))
        return read(reads, **how)

    monkeypatch.setattr(one, "read", counted)
    seen: list[Any] = []

    def decide(tx: Transaction) -> None:
        tx.prefetch(["k", "none"], [prefix_range("a"), prefix_range("b")])
        if not seen:
            two.run(lambda other: other.put(changed, 1))
        rows = tx.fetch([prefix_range("a")]).rows
        assert rows == tx.fetch([prefix_range("a"), prefix_range("b")]).rows
        seen.append([tx.get("k"), tx.get_many(["none", "k"])["none"], dict(rows)])
        tx.put("decided", seen[-1])

    one.run(decide)
    assert asked == [1], "one read for all of it; a conflict brings it again"
    assert seen[0] == [0, None, {"a1": 0}], "one state, whatever was committed meanwhile"
    after = {"k": [1, None, {"a1": 0}], "none": [0, 1, {"a1": 0}], "a5": [0, None, {"a1": 0, "a5": 1}],
             "a1": [0, None, {"a1": 1}], "other": seen[0]}  # fmt: skip
    assert seen[-1] == after[changed] == one.look(lambda tx: tx.get("decided"))
    assert len(seen) == (1 if changed == "other" else 2)


@pytest.mark.parametrize("how", ["raises", "answers", "writes"])
def test_nothing_is_refused_by_what_was_true_a_moment_ago(how: str, fresh: Callable[..., RedisStore]) -> None:
    one, two = fresh(), fresh()

    def decide(tx: Transaction) -> Any:
        tx.prefetch(["k"], [prefix_range("a")])
        if tx.get("k") is None or not tx.fetch([prefix_range("a")]).rows:
            if how == "raises":
                raise LookupError
            if how == "writes":
                tx.append("refused", "a", "", {})
            return "refused"
        return "granted"

    def nothing_there(tx: Transaction) -> None:
        tx.prefetch(["k"], [prefix_range("a")])
        assert tx.fetch([prefix_range("a")]).rows == []
        tx.put("other", 1)

    def both(tx: Transaction) -> None:
        tx.put("k", 1)
        tx.put("a1", 1)

    one.run(nothing_there)
    two.run(both)
    assert one.run(decide) == "granted"
    assert one.events() == []


def test_numbers_do_not_fall_when_an_older_state_is_put_back_in_the_middle_of_work(
    fresh: Callable[..., RedisStore], server: Server
) -> None:
    """All that the next transaction reads is as it was; only the number tells."""
    store = fresh()

    def write(tx: Transaction) -> Any:
        tx.put("k", tx.get("j"))
        return COMMIT

    store.run(write)
    older = {key: server.ask("DUMP", key) for key in server.ask("KEYS", f"{store.tag}*")}
    number = store.run(write)
    server.ask("DEL", *server.ask("KEYS", f"{store.tag}*"))
    for key, dumped in older.items():
        server.ask("RESTORE", key, 0, dumped)
    with pytest.raises(Unsettled):
        store.run(write)
    store.settle(lambda: False)
    assert store.run(write) > number


def test_a_seal_stands_where_it_was_decided_or_is_decided_again(fresh: Callable[..., RedisStore]) -> None:
    one, two = fresh(), fresh()
    one.run(lambda tx: tx.append("first", "a", "", {}))
    runs: list[int] = []

    def seal(tx: Transaction) -> None:
        seq = tx.tail().seq
        runs.append(seq)
        if len(runs) == 1:
            two.run(lambda tx: tx.append("between", "a", "", {}))
        tx.seal(str(seq))
        tx.append("sealed", "a", "", {"through": seq})

    one.run(seal)
    assert runs == [1, 2]
    assert [(found.seq, found.body) for found in one.seals()] == [(2, "2")]


# --- lost races


def test_whoever_lost_often_commits_alone_and_then_lets_the_others(fresh: Callable[..., RedisStore]) -> None:
    one, two = fresh(), fresh()
    one.run(lambda tx: tx.put("k", 0))
    runs = 0

    def unlucky(tx: Transaction) -> None:
        nonlocal runs
        runs += 1
        value = tx.get("k")
        if one.ask("GET", f"{one.tag}gate") is None:
            assert runs < 9, "it is let through at last"
            two.run(lambda tx: tx.put("k", tx.get("k") + 1))
        tx.put("k", value + 100)

    one.run(unlucky)
    assert runs > 3
    assert one.look(lambda tx: tx.get("k")) == 100 + runs - 1
    assert one.ask("GET", f"{one.tag}gate") is None


@pytest.mark.parametrize("how", ["raises", "writes nothing"])
def test_whoever_was_to_commit_alone_and_does_not_lets_the_others_at_once(
    how: str, fresh: Callable[..., RedisStore]
) -> None:
    one, two = fresh(), fresh()
    one.run(lambda tx: tx.put("k", 0))
    runs = 0

    def gives_up(tx: Transaction) -> None:
        nonlocal runs
        runs += 1
        tx.get("k")
        if one.ask("GET", f"{one.tag}gate") is not None:
            if how == "raises":
                raise KeyError
            return
        assert runs < 9, "it is let through at last"
        two.run(lambda tx: tx.put("k", tx.get("k") + 1))
        tx.put("k", -1)

    with pytest.raises(KeyError) if how == "raises" else contextlib.nullcontext():
        one.run(gives_up)
    assert one.ask("GET", f"{one.tag}gate") is None
    assert two.look(lambda tx: tx.get("k")) == runs - 1


def test_a_gate_that_nobody_opens_again_is_busy_only_for_its_moment(fresh: Callable[..., RedisStore]) -> None:
    store = fresh()
    store.ask("SET", f"{store.tag}gate", "somebody who died", "PX", "500")
    store.timeout = LIMIT_S
    store.run(lambda tx: tx.put("k", 1))
    store.ask("SET", f"{store.tag}gate", "somebody who lasts")
    store.timeout = 0.2
    with pytest.raises(Busy):
        store.run(lambda tx: tx.put("k", 2))
    store.ask("DEL", f"{store.tag}gate")
    assert store.look(lambda tx: tx.get("k")) == 1


# --- waiting


def test_threads_that_wait_at_once_each_hear_their_own_wake(fresh: Callable[..., RedisStore]) -> None:
    store = fresh()
    assert store.wait("nothing", 0.001) is False  # a connection is kept for the next
    heard: dict[str, bool] = {}
    names = [f"n{number}" for number in range(6)]
    waiting = [
        threading.Thread(target=lambda name=name: heard.update({name: store.wait(name, LIMIT_S)})) for name in names
    ]
    for thread in waiting:
        thread.start()
    for name in names[:3]:
        store.run(lambda tx, name=name: (tx.put("k", name), tx.wake(name)))  # type: ignore[misc]
    until(lambda: len(heard) == 3)
    assert heard == dict.fromkeys(names[:3], True)
    for name in names[3:]:
        store.run(lambda tx, name=name: (tx.put("k", name), tx.wake(name)))  # type: ignore[misc]
    for thread in waiting:
        thread.join()
    assert all(heard.values())


# --- one connection, many threads

USES: dict[str, Callable[[RedisStore], Any]] = {
    "run": lambda store: store.run(lambda tx: tx.put("other", 1)),
    "run_many": lambda store: store.run_many([lambda tx: tx.put("other", 1)] * 2),
    "look": lambda store: store.look(lambda tx: tx.get("k")),
    "head": lambda store: store.head(),
    "events": lambda store: store.events(),
    "seals": lambda store: store.seals(),
    "unwatch": lambda store: store.unwatch("n"),
    "describe": lambda store: store.describe(),
    "check": lambda store: list(store.check()),
    "settle": lambda store: store.settle(lambda: False),
    "begin": epoch.begin,
    "expiry": epoch.set_expiry,
    "ask": lambda store: store.ask("PING"),
    "close": lambda store: store.close(),
}


@pytest.mark.parametrize("use", USES)
def test_no_thread_speaks_on_the_connection_in_anothers_turn(
    use: str, fresh: Callable[..., RedisStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, spoke = fresh(), set()
    for name in ("call", "identify", "close"):
        real = getattr(store.wire, name)

        def heard(*words: Any, real: Callable[..., Any] = real) -> Any:
            spoke.add(threading.get_ident())
            return real(*words)

        monkeypatch.setattr(store.wire, name, heard)
    other = threading.Thread(target=USES[use], args=(store,))

    def fn(tx: Transaction) -> None:
        tx.put("k", tx.now)
        if not other.ident:
            other.start()
            until(lambda: len(store._turns._line) > 1 or other.ident in spoke)
            assert other.ident not in spoke

    store.run(fn)
    other.join(LIMIT_S)
    assert other.ident in spoke
    assert fresh().look(lambda tx: tx.get("k")) > 0


def test_threads_that_claim_get_their_own_answers_while_others_ask_for_the_status(server: Server) -> None:
    one = Machine(server.url, workspace=clock.random_id()).begin()
    claims: list[tuple[str, int]] = []
    errors: list[Exception] = []
    done = threading.Event()

    def claim(name: str) -> None:
        try:
            for number in range(40):
                path = f"{name}/{number}.py"
                claims.append((path, one.claim(name, path)))
        except Exception as error:  # noqa: BLE001 - whatever it is
            errors.append(error)

    def status() -> None:
        try:
            while not done.is_set():
                one.store.describe()
                assert [ok for name, ok, _, _ in one.store.check() if name in {"server", "database"}] == [True, True]
        except Exception as error:  # noqa: BLE001 - whatever it is
            errors.append(error)

    claiming = [threading.Thread(target=claim, args=(name,)) for name in ("ann", "bob", "cid")]
    looking = [threading.Thread(target=status) for _ in range(2)]
    for thread in (*claiming, *looking):
        thread.start()
    for thread in claiming:
        thread.join(LIMIT_S)
    done.set()
    for thread in looking:
        thread.join(LIMIT_S)
    assert errors == []
    granted = {event["data"]["resources"][0][1]: event["commit"] for event in one.events("claim.granted")}
    assert granted == dict(claims)
    one.store.close()


# --- one workspace and another


def test_two_workspaces_never_see_each_others_keys() -> None:
    with running() as alone:
        one, two = Machine(alone.url, workspace="one").begin(), Machine(alone.url, workspace="two").begin()
        token = one.claim("ann", "a.py")
        assert two.claim("bob", "a.py")
        one.call("ann", "state set", key="k", value=1)
        two.call("bob", "state set", key="k", value=2)
        one.call("ann", "seal")
        two.store.wait("nothing", 0.01)
        one.release("ann", "a.py", token)
        assert (one.holders(), two.holders()) == ({}, {"a.py": ["bob"]})
        assert [event["agent"] for event in one.events("claim.")] == ["ann", "ann"]
        mine, theirs = ({*alone.ask("KEYS", f"{store.store.tag}*")} for store in (one, two))
        everything = {*alone.ask("KEYS", "*")}
        assert mine | theirs == everything
        assert not mine & theirs
        assert all(key.startswith((b"{dibs:one}:", b"{dibs:two}:")) for key in everything)
        for machine in (one, two):
            machine.check()
            machine.store.close()


# --- ways in


def test_by_password_by_user_by_socket_and_by_database(tmp_path: Path) -> None:
    with running(password="s/e:c@ret") as guarded:
        guarded.password = "s%2Fe%3Ac%40ret"
        assert guarded.ask("PING") == b"PONG"
        guarded.ask("ACL", "SETUSER", "dibs", "on", ">pass", "~{dibs:*", "+@all", "-@dangerous", "+info", "+config|get")
        place = f"127.0.0.1:{guarded.port}"
        ways = (
            guarded.url,
            f"redis://dibs:pass@{place}",
            f"unix://:{guarded.password}@{guarded.socket}",
            f"{guarded.url}/3",
            f"{guarded.url}?db=4",
        )
        kinds: tuple[Any, ...] = (PlainWire, ClientWire)
        for number, (url, kind) in enumerate(itertools.product(ways, kinds)):
            store = RedisStore(kind(url, 5.0), str(number), memory=str(tmp_path / str(number)))
            epoch.begin(store)
            store.run(lambda tx: tx.put("k", 1))
            assert store.look(lambda tx: tx.get("k")) == 1, url
            assert "s%2F" not in hidden(url)
            store.close()
        assert guarded.ask("DBSIZE") == 6 * 4, "three ways lead to the first database"


def test_by_tls(server: Server, tmp_path: Path) -> None:
    """The server here has no TLS of its own; something in front of it has."""
    with tls_in_front_of(server, tmp_path) as url:
        store = opened(url, clock.random_id())
        store.run(lambda tx: tx.put("k", 1))
        assert store.look(lambda tx: tx.get("k")) == 1
        assert store.wait("nothing", 0.01) is False
        store.close()
        untrusted = opened(url.partition("?")[0], begin=False, timeout=1.0)
        with pytest.raises(Unavailable, match=r"(?i)certificate"):
            epoch.begin(untrusted)
        untrusted.close()


def test_in_a_cluster_the_node_that_has_the_keys_is_to_be_named(tmp_path: Path) -> None:
    with cluster(tmp_path, nodes=2) as nodes:
        name = clock.random_id()
        slot = nodes[0].ask("CLUSTER", "KEYSLOT", f"{{dibs:{name}}}:head")
        has, other = nodes if slot < SLOTS // 2 else reversed(nodes)
        store = opened(has.url, name)
        store.run(lambda tx: tx.put("k", 1))
        assert store.look(lambda tx: tx.get("k")) == 1
        store.close()
        elsewhere = opened(other.url, name, begin=False)
        with pytest.raises(Unavailable, match=f"another one, 127.0.0.1:{has.port}, has this workspace's keys"):
            elsewhere.look(lambda tx: tx.get("k"))
        elsewhere.close()


# --- what is not as it should be


def refused(url: str, *, timeout: float = 5.0, **how: Any) -> Unavailable:
    """How it is refused, by each kind of connection that knows such URLs."""
    errors = []
    for kind in (open_wire, ClientWire) if url.startswith(("redis:", "unix:")) else (open_wire,):
        try:
            store = RedisStore(kind(url, timeout), "w", timeout=timeout, **how)
        except Unavailable as error:
            errors.append(error)
            continue
        try:
            epoch.begin(store)
        except Unavailable as error:
            errors.append(error)
        else:
            message = f"{url} was opened"
            raise AssertionError(message)
        finally:
            store.close()
    assert "Traceback" not in str(errors[0])
    return errors[0]


@pytest.mark.parametrize(
    "url",
    [
        "redis://127.0.0.1:1", "redis://127.0.0.1:99999", "redis://127.0.0.1:0", "redis://127.0.0.1:port",
        "redis://no.such.host.invalid", "redis://a..b", f"redis://{'x' * 80}.invalid", "unix:///no/such/socket",
        f"unix:///{'x' * 200}", "rediss://127.0.0.1:1", "redis+sentinel://127.0.0.1:1/name", "redis://[::1]:1",
        "redis+sentinel://127.0.0.1:port/name",
    ],
)  # fmt: skip
def test_a_url_that_leads_nowhere_is_unavailable(url: str) -> None:
    assert refused(url, timeout=0.3).fields["store"] == url


def test_a_wrong_password_is_told_without_showing_it() -> None:
    with running(password="right") as guarded:
        for url in (f"redis://127.0.0.1:{guarded.port}", f"redis://:wr0ng@127.0.0.1:{guarded.port}"):
            error = refused(url)
            assert error.fields["auth"] is True
            assert "wr0ng" not in str(error)
        assert guarded.ask("DBSIZE") == 0


@pytest.mark.parametrize("command", ["xadd", "hset", "zadd", "set", "pexpire", "xtrim", "evalsha", "time", "unlink"])
def test_a_user_who_may_not_do_all_of_it_does_nothing(command: str, server: Server) -> None:
    name = clock.random_id()
    admin = opened(server.url, name)
    admin.run(writes)
    before = all_of(server, admin.tag)
    server.ask("ACL", "SETUSER", name, "on", ">p", "~*", "+@all", f"-{command}")
    for kind in (PlainWire, ClientWire):
        store = RedisStore(kind(f"redis://{name}:p@127.0.0.1:{server.port}", 5.0), name, timeout=5.0)
        with pytest.raises(Unavailable) as error:
            store.run(everything)
        assert error.value.fields.get("auth") is True, str(error.value)
        assert all_of(server, admin.tag) == before
        store.close()
    server.ask("ACL", "DELUSER", name)
    admin.close()


@pytest.mark.parametrize("kind", [PlainWire, ClientWire])
def test_a_user_who_may_not_ask_for_info_is_served_and_the_server_trusted_less(
    kind: type[PlainWire | ClientWire], tmp_path: Path
) -> None:
    with running(**ALWAYS) as server:

        def machine(name: str, user: str = "") -> Machine:
            made = Machine(server.url, tmp_path / name)
            if user:
                made.store.wire = kind(f"redis://{user}@127.0.0.1:{server.port}", 5.0)
            return made

        def permit() -> None:
            server.ask("ACL", "SETUSER", "few", "on", ">p", "~*", "+@all", "-info", "-config")

        permit()
        few, other, admin = machine("1", "few:p").begin(), machine("2", "few:p"), machine("3")
        token = few.claim("ann", "a.py")
        assert other.live("ann", "a.py", token), "the same server process: no new epoch"
        for one in (admin, few, other, admin, few):  # once each: from then on both kinds of users know the run id
            one.holders()
        token = admin.claim("ann", "b.py")
        for one in (few, other, admin, few, admin):
            assert one.live("ann", "b.py", token)
        assert [ok for name, ok, _, _ in few.store.check() if name in {"server", "database"}] == [True, True]
        assert few.store.describe()["engine"]
        server.restart()
        permit()
        assert not few.live("ann", "b.py", token), "whether the restart lost something is not known: void"
        later = other.claim("bob", "b.py")
        assert later > token
        assert few.live("bob", "b.py", later)
        few.check()
        for one in (few, other, admin):
            one.store.close()


def test_a_commit_whose_answer_was_lost_is_done_once_under_every_policy_of_eviction(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = Proxy(server.port, b"EVALSHA")
    store = opened(proxy.url, clock.random_id())
    store.run(writes)
    before = store.head().seq

    def evict(_: float) -> None:
        """What a policy of volatile keys may drop when the memory is full: all that have an expiry."""
        for key in server.ask("KEYS", f"{store.tag}*"):
            if server.ask("PTTL", key) > 0:
                server.ask("DEL", key)

    def emit(tx: Transaction) -> None:
        _ = tx.now
        proxy.fault = "answer"
        tx.append("kind", "a", "", {})

    monkeypatch.setattr(clock, "sleep", evict)  # between the lost answer and the next attempt
    store.run(emit)
    assert proxy.done == 1
    assert store.head().seq == before + 1
    store.close()
    proxy.close()


def test_outcomes_are_kept_for_ten_minutes_and_no_longer_than_twenty(
    fresh: Callable[..., RedisStore], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell_time(monkeypatch)
    store = fresh()
    monkeypatch.setattr(store._pace, "excess", lambda _: 0)  # the time has really passed
    minute = 60_000

    def kept() -> int:
        return sum(server.ask("HLEN", f"{store.tag}t:{n}") for n in (0, 1))

    start = 1_700_000_400_000  # a whole number of ten minutes
    for at in range(0, 60, 4):
        server.ask("SET", f"{store.tag}clock", start + at * minute)
        store._cache.clear()
        store.run(lambda tx, at=at: tx.put("k", at))  # type: ignore[misc]
        assert min(at // 4 + 1, 3) <= kept() <= 8, "those of the last ten minutes, and at most two spans of three"
        assert store.look(lambda tx: tx.get("k")) == at


def writes(tx: Transaction) -> None:
    """A row with entries in both indexes, and an event."""
    tx.put("k", len(tx.get_many(["k"])), "x\t1", "y\t1")
    tx.append("kind", "a", "", {})


def everything(tx: Transaction) -> None:
    """All that a commit can write."""
    writes(tx)
    tx.seal("s")
    tx.wake("somebody")


def all_of(server: Server, tag: str) -> dict[bytes, bytes]:
    """Every key of a workspace that lasts, as the server would dump it."""
    lasting = [key for key in server.ask("KEYS", f"{tag}*") if b":t:" not in key]
    return {key: server.ask("DUMP", key) for key in lasting}


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", "does not answer as a Redis server"),
        (b"+OK\r\n+OK\r\n", "does not answer as a Redis server"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "does not answer as a Redis server"),
        (info("5.0.14"), "5.0.14"),
        (info("6.0.9"), "6.0.9"),
        (info("strange"), "strange"),
        (b"", "cannot be reached"),
    ],
)
def test_what_is_no_redis_or_too_old_a_one_is_told(answer: bytes, text: str) -> None:
    pretender = Pretender(answer)
    try:
        began = clock.since_boot()
        assert text in str(refused(pretender.url, timeout=5.0 if answer else 0.3))
        assert clock.since_boot() - began < 20_000
    finally:
        pretender.close()


def test_versions_are_compared_as_numbers() -> None:
    for version in ("6.2.0", "7.0.15", "10.1", "9.1.2"):
        assert identity_of(f"redis_version:{version}\r\nrun_id:abc\r\n".encode(), b"") == "abc"
    named = identity_of(b"redis_version:7.0.0\r\nrun_id:abc\r\n", b"master_replid2:12ab\r\n")
    assert named == "abc+12ab"


def test_a_read_only_replica_is_refused_and_a_replica_is_not_written_to(server: Server) -> None:
    with running(replicaof=f"127.0.0.1 {server.port}") as replica:
        until(lambda: b"master_link_status:up" in replica.ask("INFO", "replication"))
        error = refused(replica.url)
        assert error.fields["readonly"] is True
        assert "primary" in str(error)


@pytest.mark.parametrize("name", ["v", "k", "i1", "i2", "head", "log", "seals", "gate"])
def test_a_key_of_another_type_under_our_names_is_told_and_nothing_is_written(
    name: str, fresh: Callable[..., RedisStore], server: Server
) -> None:
    store = fresh()
    store.run(lambda tx: tx.append("first", "a", "", {}))
    store.ask("DEL", f"{store.tag}{name}")
    store.ask("RPUSH", f"{store.tag}{name}", "not ours")
    before = all_of(server, store.tag)
    with pytest.raises(Unavailable) as error:
        store.run(everything)
    assert error.value.fields.get("foreign") is True
    assert all_of(server, store.tag) == before
    store.ask("DEL", *before)


def not_there(tx: Transaction) -> None:
    """An operation that finds nothing and says so."""
    tx.scan(1, "ready", 5)
    raise NotFound


@pytest.mark.parametrize("name", ["v", "k", "i1", "i2", "log", "head", "seals", "t:*"])
def test_a_key_that_was_evicted_is_missed_at_the_next_question(
    name: str, fresh: Callable[..., RedisStore], server: Server
) -> None:
    store = fresh()
    store.run(writes)
    store.run(everything)
    store.ask("DEL", *server.ask("KEYS", f"{store.tag}{name}"))
    before = all_of(server, store.tag)
    for ask in (
        lambda: store.run(lambda tx: tx.put("k", 2)),
        lambda: store.look(lambda tx: tx.get_many(["k"])),
        lambda: store.run(lambda tx: tx.scan(1, "ready", 5)),  # it writes nothing
        lambda: store.run(not_there),
        lambda: epoch.begin(store) or store.look(lambda tx: tx.now),
    ):
        with pytest.raises(Unavailable) as error:
            ask()
        assert error.value.fields.get("damaged") is True
    assert all_of(server, store.tag) == before
    store.ask("DEL", *before)


@pytest.mark.parametrize("field", ["commit", "seq", "link", "now", "run", "since", "schema"])
@pytest.mark.parametrize("value", [None, "strange"])
def test_a_head_that_something_else_wrote_is_told(
    field: str, value: str | None, fresh: Callable[..., RedisStore], server: Server
) -> None:
    store = fresh()
    store.run(lambda tx: tx.put("k", 1))
    head = f"{store.tag}head"
    store.ask("HDEL", head, field) if value is None else store.ask("HSET", head, field, value)
    if (field, value) in {("link", "strange"), ("run", "strange")}:  # nothing tells them from what they could be
        with contextlib.suppress(Unsettled):
            store.look(lambda tx: tx.now)
        return
    before = all_of(server, store.tag)
    with pytest.raises(Unavailable):
        store.run(lambda tx: tx.put("k", 2))
    assert all_of(server, store.tag) == before
    store.ask("DEL", *before)


def test_values_that_something_else_wrote_are_told(fresh: Callable[..., RedisStore], server: Server) -> None:
    store = fresh()
    store.run(lambda tx: tx.put("k", 1, "x\t1"))
    store.ask("HSET", f"{store.tag}v", "k", "strange")
    before = all_of(server, store.tag)
    with pytest.raises(Unavailable, match="DAMAGED"):
        store.look(lambda tx: tx.get_many(["k"]))
    with pytest.raises(Unavailable, match="DAMAGED"):
        store.look(lambda tx: tx.scan(1, "x\t", 9))
    assert all_of(server, store.tag) == before


def test_a_newer_schema_is_left_alone(fresh: Callable[..., RedisStore], server: Server) -> None:
    store = fresh()
    store.ask("HSET", f"{store.tag}head", "schema", "2", "run", "another")
    before = all_of(server, store.tag)
    for ask in (lambda: store.run(lambda tx: tx.put("k", 2)), store.head, store.events):
        with pytest.raises(Unavailable) as error:
            ask()
        assert error.value.fields["schema"] == "2"
    assert epoch.begin(store) is False
    assert all_of(server, store.tag) == before


def test_a_clock_centuries_ahead_is_refused_before_numbers_come_to_an_end(fresh: Callable[..., RedisStore]) -> None:
    store = fresh()
    store.remembered.number = epoch.MAX_NUMBER - 1
    with pytest.raises(Unavailable, match="centuries"):
        epoch.next_number(store)


def test_scripts_that_the_server_forgot_are_sent_again(fresh: Callable[..., RedisStore], server: Server) -> None:
    plain, client = fresh(), fresh()
    client.wire.close()
    client.wire = ClientWire(server.url, 5.0)
    for store in (plain, client):
        store.run(lambda tx: tx.put("k", 1))
        server.ask("SCRIPT", "FLUSH")
        store.run(lambda tx: tx.put("k", tx.get("k") + 1))
    assert plain.look(lambda tx: tx.get("k")) == 2


# --- what this machine remembers


def test_a_number_that_comes_late_takes_the_place_of_no_more_than_one(tmp_path: Path) -> None:
    path = str(tmp_path / "memory")
    slow, quick = epoch.Remembered(path), epoch.Remembered(path)
    for number in range(100, 200):
        quick.rise(number)
    slow.rise(150)  # it was stopped between its commit and this line
    again = epoch.Remembered(path)
    assert again.number == 199
    slow.rise(199 - epoch.SLOTS)  # the worst of all
    once_more = epoch.Remembered(path)
    assert once_more.number == 197, "two late ones, two places"
    slow.look()
    assert slow.number == 197
    for one in (slow, quick, again, once_more):
        one.close()


@pytest.mark.parametrize(
    "text", [b"", b"\0" * 50, b"garbage\n", b"9" * 400, b"-5\n", b"00000000000000000012\n\xff\xfe"]
)
def test_a_memory_that_makes_no_sense_is_as_good_as_none(
    text: bytes, fresh: Callable[..., RedisStore], tmp_path: Path
) -> None:
    path = tmp_path / "memory"
    path.write_bytes(text)
    known = epoch.Remembered(str(path))
    assert known.number in {0, 12}
    known.close()
    store = fresh(memory=str(path))
    store.run(lambda tx: tx.put("k", 1))
    again = epoch.Remembered(str(path))
    assert again.number == store.head().commit
    again.close()


def test_a_memory_that_cannot_be_kept_does_not_undo_a_commit(
    fresh: Callable[..., RedisStore], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = fresh(memory=str(tmp_path / "memory"))

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    store.run(lambda tx: tx.put("k", 1))
    assert store.look(lambda tx: tx.get("k")) == 1
    nowhere = fresh(memory=str(tmp_path / "no" / "such" / "folder"))
    nowhere.run(lambda tx: tx.put("k", 2))


def test_the_log_can_be_read_while_a_loss_is_not_settled(fresh: Callable[..., RedisStore]) -> None:
    store = fresh()
    store.run(lambda tx: tx.append("first", "a", "", {}))
    store.ask("HSET", f"{store.tag}head", "void", "1")
    assert [event.seq for event in store.events()] == [1]
    assert store.head().seq == 1
    assert verify_store(store).findings == []
    for verb in (store.run, store.look):
        with pytest.raises(Unsettled):
            verb(lambda tx: tx.get("k"))
    store.settle(lambda: False)
    store.run(lambda tx: tx.put("k", 1))


def test_an_interrupt_between_question_and_answer_leaves_no_answer_behind(
    fresh: Callable[..., RedisStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = fresh()
    store.run(lambda tx: tx.put("k", 1))
    wire: Any = store.wire
    original = wire._answer

    def interrupted() -> Any:
        monkeypatch.setattr(wire, "_answer", original)
        raise KeyboardInterrupt

    monkeypatch.setattr(wire, "_answer", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.look(lambda tx: tx.get("k"))
    assert wire.run_id == "", "the server behind the next connection is asked for its name"
    assert store.look(lambda tx: tx.get("k")) == 1


def now_of(store: RedisStore) -> int:
    """The store's clock, as a transaction that writes sees it."""

    def fn(tx: Transaction) -> int:
        tx.put("k", tx.now)
        return tx.now

    return store.run(fn)


@pytest.mark.parametrize("ahead", [3_600_000, 315_360_000_000], ids=["an hour", "ten years"])
@pytest.mark.parametrize("process", ["the same", "another", "one that looks first"])
def test_a_forward_jump_of_the_servers_clock_ends_nothing_early(
    fresh: Callable[..., RedisStore], tmp_path: Path, ahead: int, process: str
) -> None:
    store = fresh(memory=str(tmp_path / "memory"))
    before = now_of(store)
    store.ask("HINCRBY", f"{store.tag}head", "offset", ahead)  # to the scripts it is the same
    again = store if process == "the same" else fresh(memory=str(tmp_path / "memory"))
    if process == "one that looks first":
        assert again.look(lambda tx: tx.now) - before < ahead // 2
    after = now_of(again)
    assert before <= after < before + ahead // 2
    assert before <= now_of(store) < before + ahead // 2
    elsewhere = fresh()  # a machine that never was here: the others have put it right
    assert elsewhere.look(lambda tx: tx.now) < before + ahead // 2


def test_time_that_really_passed_is_no_jump(
    fresh: Callable[..., RedisStore], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = fresh(memory=str(tmp_path / "memory"))
    before = now_of(store)
    since = clock.since_boot
    monkeypatch.setattr(clock, "since_boot", lambda: since() + 3_600_000)  # this machine slept for an hour
    store.ask("HINCRBY", f"{store.tag}head", "offset", 3_600_000)
    assert now_of(fresh(memory=str(tmp_path / "memory"))) >= before + 3_590_000
    assert now_of(store) >= before + 3_590_000


def test_after_a_reboot_nothing_is_known_of_the_servers_clock(fresh: Callable[..., RedisStore], tmp_path: Path) -> None:
    store = fresh(memory=str(tmp_path / "memory"))
    before = now_of(store)
    line = tmp_path / "memory-clock"
    line.write_text(line.read_text().rpartition(" ")[0] + " another-boot\n")
    store.ask("HINCRBY", f"{store.tag}head", "offset", 3_600_000)
    assert now_of(fresh(memory=str(tmp_path / "memory"))) >= before + 3_590_000


@pytest.mark.parametrize("count", [1, 2], ids=["alone", "in a group"])
def test_a_transaction_that_is_too_slow_is_given_up_after_a_few_runs(
    fresh: Callable[..., RedisStore], monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    store = fresh()
    store.run(lambda tx: tx.put("k", 0))
    moments = [clock.since_boot()]
    monkeypatch.setattr(clock, "since_boot", lambda: moments[-1])

    def slow(tx: Transaction) -> None:
        tx.put("k", 1)
        moments.append(moments[-1] + seam.MAX_CLOCK_AGE_MS + 1)

    outcomes = store.run_many([slow] * count)
    assert ["took over 2 s in each of 3 attempts" in str(error) for _, error in outcomes] == [True] * count
    assert len(moments) <= 1 + 2 * count * seam.MAX_STALE_RUNS, "a group may run again for what it has to read"
    monkeypatch.undo()
    assert store.look(lambda tx: tx.get("k")) == 0
