"""A server that is killed, paused, put back, emptied, failed over or cut off (../stores/redis_server.py)."""

from __future__ import annotations

import hashlib
import shutil
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Busy, DibsError, Held, Unavailable
from dibs.machine import clock
from dibs.stores.redis import epoch, scripts
from dibs.stores.redis.clock_pace import Pace
from dibs.stores.redis.plain_socket import PlainWire
from dibs.stores.redis.store import RedisStore
from dibs.stores.redis.wire import ConnectionLost, ServerError
from tests.faults.kit import SOON, Dice, size
from tests.stores.redis_server import (
    ALWAYS,
    EVERYSEC,
    NOTHING,
    PERSISTENCE,
    Machine,
    Proxy,
    Server,
    opened,
    tell_time,
)
from tests.stores.redis_ways import sentinel_of
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dibs.stores.seam import Transaction

pytestmark = pytest.mark.slow

APPLY = hashlib.sha1(scripts.APPLY.encode(), usedforsecurity=False).hexdigest().encode()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    made: list[Server] = []

    def another(*words: str, **settings: str) -> Server:
        made.append(Server(tmp_path / f"s{len(made)}", *words, **settings))
        return made[-1].start()

    yield another
    for server in made:
        if server.process is not None:
            server.go_on()
        server.kill()


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Callable[..., Machine]]:
    made: list[Machine] = []

    def another(url: str, name: str = "one", *, timeout: float = 5.0) -> Machine:
        made.append(Machine(url, tmp_path / name, timeout=timeout))
        return made[-1]

    yield another
    for one in made:
        one.store.close()


@contextmanager
def impatient(one: Machine, seconds: float) -> Iterator[None]:
    """It waits no longer than this for its server meanwhile; while all is well a busy machine may take its time."""
    store, wire = one.store, one.store.wire
    assert isinstance(wire, PlainWire)
    before = store.timeout, wire._timeout
    store.timeout = wire._timeout = seconds
    wire._limit(seconds)
    try:
        yield
    finally:
        store.timeout, wire._timeout = before
        if wire._connected:
            wire._limit(wire._timeout)


# --- kill -9


@pytest.mark.parametrize("how", PERSISTENCE)
def test_after_a_kill_claims_survive_where_nothing_can_be_lost_and_are_void_elsewhere(
    how: str, start: Callable[..., Server], machine: Callable[..., Machine]
) -> None:
    server = start(**PERSISTENCE[how])
    one = machine(server.url).begin()
    before = one.claim("ann", "a.py")
    highest = one.claim("bob", "b.py")
    server.restart()
    again = machine(server.url)  # a process that starts after it
    for each in (one, again):
        assert each.live("ann", "a.py", before) is (how == "always")
    assert one.holders() == ({"a.py": ["ann"], "b.py": ["bob"]} if how == "always" else {})
    if how == "always":
        with pytest.raises(Held):
            again.claim("cid", "a.py")
    else:
        assert [event["data"]["since"] > highest for event in one.events("store.epoch")] == [True]
        assert again.claim("cid", "a.py") > highest
    assert again.claim("cid", "c.py") > highest
    again.check()


@pytest.mark.parametrize("how", PERSISTENCE)
def test_what_a_kill_loses_is_what_the_setting_admits(
    how: str, start: Callable[..., Server], machine: Callable[..., Machine], dice: Dice
) -> None:
    """Answered commits that are missing afterwards. A kill spares what the kernel has: only a power cut takes that."""
    server = start(**PERSISTENCE[how])
    answered = missing = 0
    for number in range(size(2, 30)):
        store = machine(server.url).begin().store
        done = _write_until_it_dies(store, f"{number}", server, dice.uniform(0.05, 0.3))
        server.restart()
        reader = machine(server.url)
        reader.call("reader", "sweep")  # settles
        kept: dict[str, Any] = reader.store.look(lambda tx, done=done: tx.get_many(done))  # type: ignore[misc]
        answered += len(done)
        missing += sum(value is None for value in kept.values())
    print(f"appendfsync {how}: {answered} commits answered, {missing} missing after kill -9")
    assert answered
    if how == "always":
        assert missing == 0
    elif how == "nothing":
        assert missing == answered


def _write_until_it_dies(store: RedisStore, name: str, server: Server, seconds: float) -> list[str]:
    """Commit after commit until the server is killed; those that were answered."""
    store.timeout = 0.0
    done: list[str] = []
    timer = threading.Timer(seconds, server.kill)
    timer.start()
    try:
        while True:
            key = f"k\t{name}\t{len(done):06d}"
            store.run(lambda tx, key=key: tx.put(key, 1))  # type: ignore[misc]
            done.append(key)
    except Unavailable:
        return done
    finally:
        timer.join()


def test_a_server_that_was_not_sure_before_its_restart_is_not_trusted_after_it(
    start: Callable[..., Server], machine: Callable[..., Machine]
) -> None:
    server = start(**EVERYSEC)
    one = machine(server.url).begin()
    token = one.claim("ann", "a.py")
    server.restart(**ALWAYS)
    other = machine(server.url, "two")  # it remembers nothing
    assert not other.live("ann", "a.py", token)
    later = other.claim("bob", "a.py")
    assert later > token
    server.restart()  # by now it was sure from the start of the epoch
    assert machine(server.url, "two").live("bob", "a.py", later)


# --- pause


def test_a_paused_server_is_unavailable_in_time_and_afterwards_all_is_well(
    start: Callable[..., Server], machine: Callable[..., Machine]
) -> None:
    server = start(**ALWAYS)
    one = machine(server.url).begin()
    held = one.claim("ann", "a.py")
    for number in range(size(2, 20)):
        server.stop()
        began = time.monotonic()
        with impatient(one, 0.4), pytest.raises((Unavailable, Busy)) as refused:
            one.claim("bob", f"b{number}.py", f"r{number}")
        assert time.monotonic() - began < 1 + SOON
        assert "Traceback" not in str(refused.value)
        server.go_on()
        token = one.claim("bob", f"b{number}.py", f"r{number}")
        assert token > held
        assert one.live("bob", f"b{number}.py", token)
    granted = [event for event in one.events("claim.granted") if event["agent"] == "bob"]
    assert len(granted) == size(2, 20), "the request that was on the way and the one after it had one effect"
    assert one.live("ann", "a.py", held)
    one.check()


# --- an older state, or none


def test_an_older_snapshot_voids_all_and_tokens_go_on_above(
    start: Callable[..., Server], machine: Callable[..., Machine], tmp_path: Path
) -> None:
    server = start(**ALWAYS)
    one = machine(server.url).begin()
    early = one.claim("ann", "a.py")
    server.save(tmp_path / "copy")
    one.release("ann", "a.py", early)
    late = one.claim("bob", "a.py")
    server.kill()
    server.restore(tmp_path / "copy")
    server.start()
    again = machine(server.url)
    assert not again.live("ann", "a.py", early)
    assert not again.live("bob", "a.py", late)
    assert again.claim("cid", "a.py") > late
    assert one.holders() == {"a.py": ["cid"]}
    again.check()


def test_whoever_remembers_more_than_an_older_snapshot_has_voids_it_even_if_another_machine_came_first(
    start: Callable[..., Server], machine: Callable[..., Machine], tmp_path: Path
) -> None:
    server = start(**ALWAYS)
    one, two = machine(server.url, "one").begin(), machine(server.url, "two")
    early = two.claim("ann", "a.py")
    server.save(tmp_path / "copy")
    late = one.claim("bob", "b.py")
    server.kill()
    server.restore(tmp_path / "copy")
    server.start()
    between = two.claim("cid", "b.py")  # for all that this machine knows nothing is missing
    assert between > late, "tokens never fall"
    assert two.live("ann", "a.py", early)
    assert not one.live("bob", "b.py", late)  # this one knows better: nothing of before is to be trusted
    assert not two.live("ann", "a.py", early)
    assert not two.live("cid", "b.py", between)
    again = one.claim("bob", "b.py")
    assert again > between
    assert two.holders() == {"b.py": ["bob"]}
    assert len(two.events("store.epoch")) == 1
    one.check()


def test_a_process_knows_what_others_on_its_machine_were_answered(
    start: Callable[..., Server], machine: Callable[..., Machine], tmp_path: Path
) -> None:
    server = start(**ALWAYS)
    idle, busy = machine(server.url).begin(), machine(server.url)  # two processes, one memory
    early = idle.claim("ann", "a.py")
    server.save(tmp_path / "copy")
    late = busy.claim("bob", "b.py")
    server.kill()
    server.restore(tmp_path / "copy")
    server.start()
    assert not idle.live("ann", "a.py", early)
    assert idle.claim("cid", "b.py") > late


@pytest.mark.parametrize("who", ["the same process", "another"])
def test_an_older_state_under_a_living_server_is_noticed(
    who: str, start: Callable[..., Server], machine: Callable[..., Machine]
) -> None:
    server = start(**ALWAYS)
    one = machine(server.url).begin()
    early = one.claim("ann", "a.py")
    kept = {key: server.ask("DUMP", key) for key in server.ask("KEYS", "*")}
    late = one.claim("bob", "b.py")
    server.ask("FLUSHALL")
    for key, dumped in kept.items():
        server.ask("RESTORE", key, 0, dumped)
    again = one if who == "the same process" else machine(server.url)
    assert again.claim("cid", "c.py") > late
    assert not again.live("ann", "a.py", early)
    assert again.claim("cid", "b.py") > late
    assert len(one.events("store.epoch")) == 1
    one.check()


@pytest.mark.parametrize("who", ["the same process", "another of its machine"])
def test_an_older_state_that_another_machine_went_on_from_is_noticed_by_whoever_saw_more(
    who: str, start: Callable[..., Server], machine: Callable[..., Machine]
) -> None:
    server = start(**ALWAYS)
    one, two = machine(server.url, "one").begin(), machine(server.url, "two")
    two.claim("cid", "c.py")
    kept = {key: server.ask("DUMP", key) for key in server.ask("KEYS", "*")}
    token = one.claim("bob", "x.py")
    server.ask("FLUSHALL")
    for key, dumped in kept.items():
        server.ask("RESTORE", key, 0, dumped)
    second = two.claim("cid", "x.py")  # it cannot know
    for number in range(3):
        two.claim("cid", f"{number}.py")  # the numbers are past what the other machine remembers
    again = one if who == "the same process" else machine(server.url, "one")
    assert not again.live("bob", "x.py", token)
    assert not two.live("cid", "x.py", second), "both were granted it, and neither may go on"
    assert again.claim("bob", "x.py") > max(token, second)
    assert two.holders() == {"x.py": ["bob"]}
    assert len(two.events("store.epoch")) == 1
    again.check()


def test_a_machine_that_comes_late_after_many_restarts_finds_nothing_missing(
    start: Callable[..., Server], machine: Callable[..., Machine]
) -> None:
    server = start(**ALWAYS)
    one, two = machine(server.url, "one").begin(), machine(server.url, "two")
    token = one.claim("ann", "a.py")
    for number in range(3):
        server.restart()
        two.claim("bob", f"b{number}.py")
    assert one.live("ann", "a.py", token)
    assert len(one.holders()) == 4
    assert one.events("store.epoch") == []


def test_a_server_that_comes_back_empty_begins_again_above(
    start: Callable[..., Server], machine: Callable[..., Machine]
) -> None:
    server = start(**ALWAYS)
    one = machine(server.url).begin()
    tokens = [one.claim("ann", "a.py")]
    for _ in range(2):
        server.kill()
        server.forget()
        server.start()
        stranger = machine(server.url, "never here before")
        with pytest.raises(Unavailable) as refused:
            stranger.holders()
        assert refused.value.fields["absent"] is True
        assert not one.live("ann", "a.py", tokens[-1])
        assert stranger.holders() == {}
        tokens.append(one.claim("ann", "a.py"))
        assert len(one.events("store.epoch")) == 1
    assert tokens == sorted(set(tokens))
    one.check()


def test_a_flush_under_a_living_server_is_noticed(
    start: Callable[..., Server], machine: Callable[..., Machine]
) -> None:
    server = start(**ALWAYS)
    one = machine(server.url).begin()
    token = one.claim("ann", "a.py")
    server.ask("FLUSHALL")
    assert not one.live("ann", "a.py", token)
    assert one.claim("bob", "a.py") > token


# --- failover


def test_a_failover_by_sentinel_voids_claims_and_tokens_rise(
    start: Callable[..., Server], machine: Callable[..., Machine], tmp_path: Path
) -> None:
    primary = start(**ALWAYS)
    replica = start(**ALWAYS, replicaof=f"127.0.0.1 {primary.port}")
    until(lambda: b"master_link_status:up" in replica.ask("INFO", "replication"))
    with sentinel_of(primary, tmp_path / "sentinel", replicas=1) as url:
        one = machine(url, timeout=15.0).begin()
        token = one.claim("ann", "a.py")
        until(lambda: replica.ask("HGET", one.store.keys[4], "commit") == str(token).encode())
        primary.kill()
        later = one.claim("bob", "a.py")  # waits until the sentinel has named the other
        assert later > token
        assert not one.live("ann", "a.py", token)
        assert one.holders() == {"a.py": ["bob"]}
        assert len(one.events("store.epoch")) == 1
        assert replica.ask("HGET", one.store.keys[4], "commit") is not None
        one.check()


def test_a_primary_that_was_a_replica_for_a_while_is_another_server(
    start: Callable[..., Server], machine: Callable[..., Machine]
) -> None:
    """Away and back, the same process: what it was answering when it was cut off went with its former state."""
    primary = start(**ALWAYS)
    replica = start(**ALWAYS, replicaof=f"127.0.0.1 {primary.port}")
    one, two = machine(primary.url, "one").begin(), machine(primary.url, "two")
    early = two.claim("ann", "a.py")
    until(lambda: replica.ask("HGET", one.store.keys[4], "commit") == str(early).encode())
    replica.ask("REPLICAOF", "NO", "ONE")
    late = one.claim("bob", "b.py")  # on the old primary alone
    primary.ask("REPLICAOF", "127.0.0.1", str(replica.port))
    until(lambda: b"master_link_status:up" in primary.ask("INFO", "replication"))
    with pytest.raises(Unavailable) as refused:
        two.claim("cid", "b.py")
    assert refused.value.fields["readonly"] is True
    primary.ask("REPLICAOF", "NO", "ONE")
    assert two.claim("cid", "b.py") > late
    assert not two.live("ann", "a.py", early)
    assert not one.live("bob", "b.py", late)
    assert one.holders() == {"b.py": ["cid"]}


# --- a network that loses


@pytest.fixture
def proxy(start: Callable[..., Server]) -> Iterator[Proxy]:
    made = Proxy(start(**NOTHING).port, APPLY)
    yield made
    made.close()


FAULTS = ("request", "half", "answer", "silent", "late", "slow")


def test_a_transaction_whose_outcome_was_unknown_is_done_once_or_not_at_all(proxy: Proxy, dice: Dice) -> None:
    store = opened(proxy.url, timeout=1.5)
    direct = opened(f"redis://127.0.0.1:{proxy.target}")
    direct.run(lambda tx: tx.put("count", 0))
    store.run(lambda tx: tx.put("other", 0))
    store.wire._timeout = 0.3  # type: ignore[attr-defined]
    done = unknown = 0
    for number in range(size(12, 200)):
        proxy.fault = FAULTS[number % len(FAULTS)] if number < len(FAULTS) else dice.choice(FAULTS)
        proxy.delay = dice.uniform(0.0, 0.5)
        meddles = dice.random() < 0.5

        def fn(tx: Transaction, number: int = number, meddles: bool = meddles) -> int:
            count: int = tx.get("count")
            if meddles and proxy.fault:  # somebody else commits in between: then it has to be run again
                direct.run(lambda tx: tx.put("count", tx.get("count") + 1_000_000))
            tx.put("count", count + 1)
            tx.append("counted", "a", str(number), {"from": count})
            return count

        before = direct.look(lambda tx: tx.get("count")) % 1_000_000
        try:
            store.run(fn)
            done += 1
        except Unavailable as error:
            assert error.fields["unknown"] is True
            unknown += 1
        proxy.let_go()
        after = direct.look(lambda tx: tx.get("count")) % 1_000_000
        effects = [event for event in direct.events(0, 100_000) if f'"subject":"{number}"' in event.body]
        assert len(effects) == after - before <= 1
        if done + unknown == number + 1 and not unknown:
            assert len(effects) == 1
    print(f"{done} done once, {unknown} of unknown outcome, each done once or not at all; {proxy.done} faults")
    assert proxy.done >= size(12, 200)
    assert done >= proxy.done * size(1, 6) / 10
    store.close()
    direct.close()


def test_claims_through_a_network_that_loses_have_one_effect_for_each_request(
    proxy: Proxy, dice: Dice, machine: Callable[..., Machine]
) -> None:
    one = machine(proxy.url, timeout=1.0).begin()
    one.claim("ann", "warm.py")
    one.store.wire._timeout = 0.2  # type: ignore[attr-defined]
    rounds = size(12, 200)
    tokens = []
    for number in range(rounds):
        proxy.fault = dice.choice(FAULTS)
        proxy.delay = dice.uniform(0.0, 0.4)
        while True:
            try:
                tokens.append(one.claim("ann", f"f{number}.py", f"r{number}"))
                break
            except Unavailable:
                pass
        proxy.let_go()
        assert one.claim("ann", f"f{number}.py", f"r{number}") == tokens[-1]
    granted = [event["data"]["token"] for event in one.events("claim.granted")]
    assert granted[1:] == tokens == sorted(set(tokens))
    one.check()


def test_what_arrives_late_does_not_undo_what_was_decided_since(proxy: Proxy) -> None:
    """A run that is stuck in the network, another that takes its place, and then the first arrives."""
    store, direct = opened(proxy.url), opened(f"redis://127.0.0.1:{proxy.target}")
    store.run(lambda tx: tx.put("warm", 1))
    runs = 0

    def fn(tx: Transaction) -> str:
        nonlocal runs
        runs += 1
        if tx.get("held") is not None:
            tx.append("refused", "a", "", {})
            return "refused"
        if runs == 1:
            direct.run(lambda tx: tx.put("held", 1))  # in the way, for a moment
            proxy.fault = "late"
        tx.append("granted", "a", "", {})
        return "granted"

    original = store._next_try

    def next_try(*given: Any) -> Any:
        direct.run(lambda tx: tx.delete("held"))  # as if nothing had been: what the first run read holds again
        proxy.let_go()
        return original(*given)

    store._next_try = next_try  # type: ignore[method-assign,assignment]
    answer = store.run(fn)
    kinds = [event.body.split('"')[3] for event in store.events()]
    assert kinds == [answer], "what was answered is what was done, once"
    store.close()
    direct.close()


def test_what_arrives_late_is_not_done_again_even_if_nothing_it_read_has_changed(proxy: Proxy) -> None:
    """The first request is stuck in the network, the second is done, and then the first arrives."""
    store, direct = opened(proxy.url), opened(f"redis://127.0.0.1:{proxy.target}")
    store.run(lambda tx: tx.put("warm", 1))
    for number in range(3):
        proxy.fault = "late"
        store.run(lambda tx, number=number: tx.append("done", "a", str(number), {}))  # type: ignore[misc]
        proxy.let_go()
    found = len(direct.events())
    store.close()
    direct.close()
    assert (proxy.done, found) == (3, 3)


def test_a_cut_is_unavailable_within_the_timeout_and_over_when_it_is_over(
    proxy: Proxy, machine: Callable[..., Machine]
) -> None:
    one = machine(proxy.url).begin()
    token = one.claim("ann", "a.py")
    proxy.cut = True
    proxy.reset()
    began = time.monotonic()
    with impatient(one, 0.5), pytest.raises(Unavailable) as refused:
        one.claim("bob", "b.py")
    assert time.monotonic() - began < 1 + SOON
    assert refused.value.fields["unreachable"] is True
    assert one.store.wait("nothing", 0.05) is False
    one.store.unwatch("nothing")
    proxy.cut = False
    assert one.claim("bob", "b.py") > token
    assert one.live("ann", "a.py", token)


@pytest.mark.parametrize("fault", ["answer", "request"])
def test_an_outcome_that_stays_unknown_is_told_as_that_and_settled_by_the_request_id(
    fault: str, proxy: Proxy, machine: Callable[..., Machine]
) -> None:
    one = machine(proxy.url).begin()
    one.claim("ann", "warm.py")
    proxy.cut, proxy.fault = True, fault  # the connection that stands is good for one more request
    with impatient(one, 0.4), pytest.raises(Unavailable) as refused:
        one.claim("ann", "a.py", "r1")
    assert refused.value.fields["unknown"] is True
    assert "Nothing was changed" not in str(refused.value)
    proxy.cut = False
    token = one.claim("ann", "a.py", "r1")
    assert [event["data"]["token"] for event in one.events("claim.granted")][1:] == [token]


def test_a_transaction_that_was_paused_beyond_what_the_server_remembers_is_not_sent_again(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dibs.machine import clock

    store = opened(proxy.url, timeout=3.0)
    store.run(lambda tx: tx.put("warm", 1))
    jump = 0
    real, real_sleep = clock.since_boot, clock.sleep
    monkeypatch.setattr(clock, "since_boot", lambda: real() + jump)

    def sleep(seconds: float) -> None:
        nonlocal jump
        real_sleep(seconds)
        if not jump:  # between the loss and the next try, eleven minutes pass
            jump = 660_000
            store.ask("DEL", *store.ask("KEYS", f"{store.tag}t:*"))
            store.ask("HDEL", store.keys[4], "outcomes")
            store.run(lambda tx: tx.put("theirs", 2))

    monkeypatch.setattr(clock, "sleep", sleep)
    proxy.fault = "answer"

    def fn(tx: Transaction) -> None:
        tx.get("theirs")
        tx.append("done", "a", "", {})

    with pytest.raises(Unavailable) as refused:
        store.run(fn)
    assert refused.value.fields["unknown"] is True
    assert len(store.events()) == 1
    store.close()


# --- the server's clock


def test_a_clock_that_is_set_back_freezes_nothing_and_one_that_is_set_forward_ends_nothing(
    start: Callable[..., Server], machine: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    tell_time(monkeypatch)
    server = start(**NOTHING)
    one = machine(server.url).begin()
    hour, year = 3_600_000, 31_557_600_000
    now = 1_800_000_000_000
    since_boot, passed = clock.since_boot, 0
    monkeypatch.setattr(clock, "since_boot", lambda: since_boot() + passed)

    def at(moment: int) -> None:
        server.ask("SET", f"{one.store.tag}clock", str(moment))

    def pass_time(ms: int) -> None:
        nonlocal now, passed
        now, passed = now + ms, passed + ms
        at(now)

    at(now)
    tokens = [one.claim("ann", "a.py", ttl=hour // 2)]
    for back in (hour, 10 * year):
        now -= back
        at(now)
        assert one.live("ann", "a.py", tokens[-1]), "nothing expires"
        with pytest.raises(Held):
            one.claim("bob", "a.py")
        pass_time(hour // 2 + 1)
        tokens.append(one.claim("ann", "a.py", ttl=hour // 2))  # half an hour passed, whatever the clock said before
        assert not one.live("ann", "a.py", tokens[-2])
    for ahead in (hour, 10 * year):
        now += ahead
        at(now)
        with pytest.raises(Held):
            one.claim("bob", "a.py")
        assert one.live("ann", "a.py", tokens[-1]), "nothing expires"
        now -= ahead
        at(now)  # somebody put it right
        with pytest.raises(Held):
            one.claim("bob", "a.py")
        assert one.live("ann", "a.py", tokens[-1])
        pass_time(hour // 2 + 1)
        tokens.append(one.claim("bob", "a.py", ttl=hour // 2))
        assert not one.live("ann", "a.py", tokens[-2])
        pass_time(hour // 2 + 1)
        tokens.append(one.claim("ann", "a.py", ttl=hour // 2))
    assert tokens == sorted(set(tokens))
    one.check()


@pytest.mark.parametrize("jump", [2_500, -3_600_000])
def test_a_commit_whose_clock_is_far_from_the_servers_is_decided_again(
    jump: int, start: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    tell_time(monkeypatch)
    server = start(**NOTHING)
    store = opened(server.url)
    now = 1_800_000_000_000
    server.ask("SET", f"{store.tag}clock", str(now))
    store.run(lambda tx: tx.put("k", 1))
    seen: list[int] = []

    def fn(tx: Transaction) -> None:
        seen.append(tx.now)
        if len(seen) == 1:  # too long on the way, or a caller whose clock ran away
            server.ask("SET", f"{store.tag}clock", str(now + max(jump, 0)))
            store._pace = Pace("")  # a caller that cannot tell it from a step of the server's clock
            inside: Any = tx
            inside.snapshot.now += max(-jump, 0)
        tx.put("k", tx.now)

    store.run(fn)
    assert len(seen) == 2
    assert now + max(jump, 0) <= seen[-1] < now + 10_000
    assert store.head().now == seen[-1]
    store.close()


# --- one after the other, at random


def test_whatever_happens_to_the_server_nobody_holds_what_another_does_and_tokens_rise(
    start: Callable[..., Server], machine: Callable[..., Machine], dice: Dice, tmp_path: Path
) -> None:
    server = start(**ALWAYS)
    machines = [machine(server.url, name, timeout=2.0).begin() for name in ("one", "two", "three")]
    highest, kinds = 0, {"kill": 0, "weaker": 0, "older": 0, "empty": 0, "pause": 0}
    server.save(tmp_path / "copy")
    for _ in range(size(12, 200)):
        for _ in range(6):
            one, agent, path = dice.choice(machines), dice.choice("abc"), f"{dice.randrange(3)}.py"
            try:
                token = one.claim(agent, path)
                assert token > highest or one.live(agent, path, token), "a token that is new is the highest"
                highest = max(highest, token)
                if dice.random() < 0.5:
                    one.release(agent, path, token)
            except DibsError as error:
                assert error.code in {"held", "fenced", "not_found", "unavailable"}, error
        kind = dice.choice(list(kinds))
        kinds[kind] += 1
        if kind == "kill":
            server.restart(**ALWAYS)
        elif kind == "weaker":
            server.restart(**EVERYSEC)
        elif kind == "older":
            server.kill()
            server.restore(tmp_path / "copy")
            server.start()
        elif kind == "empty":
            server.kill()
            server.forget()
            server.start()
            machines[0].holders()  # whoever was there before begins it again
        else:
            server.stop()
            threading.Timer(0.3, server.go_on).start()
        if dice.random() < 0.3 and kind != "pause":
            shutil.rmtree(tmp_path / "copy")
            server.save(tmp_path / "copy")
        for one in machines:
            until(lambda one=one: _answers(one))  # type: ignore[misc]
            one.check()
    print(f"{kinds}, highest token {highest}")


def _answers(machine: Machine) -> bool:
    try:
        machine.holders()
    except Unavailable as error:
        if not error.fields.get("absent"):
            return False
        raise
    return True


def test_a_name_that_changed_under_a_standing_connection_is_no_other_server(
    start: Callable[..., Server], machine: Callable[..., Machine]
) -> None:
    server = start(**NOTHING)
    one = machine(server.url).begin()
    token = one.claim("ann", "a.py")
    one.store.wire.run_id += "+former"
    assert one.live("ann", "a.py", token)
    assert one.events("store.epoch") == []


def test_two_that_see_the_same_loss_begin_one_epoch(
    start: Callable[..., Server], machine: Callable[..., Machine]
) -> None:
    server = start(**NOTHING)
    one, two = machine(server.url, "one").begin(), machine(server.url, "two")
    one.claim("ann", "a.py")
    commit = one.store.head().commit
    run = one.store.wire.run_id
    epoch._new(one.store, run, commit)
    first = one.store.head().commit
    epoch._new(two.store, run, commit)
    assert one.store.head().commit == first
    epoch._new(two.store, "somebody else's")
    assert one.store.head().commit == first
    assert two.store.remembered.number <= first


def test_a_late_settler_does_not_touch_what_came_after_the_loss(
    start: Callable[..., Server], machine: Callable[..., Machine]
) -> None:
    server = start(**EVERYSEC)
    one, two = machine(server.url, "one").begin(), machine(server.url, "two")
    one.claim("ann", "a.py")
    server.restart()
    held = two.claim("bob", "a.py")  # settles
    waiting = two.call("cid", "claim", resources=[["file", "a.py"]], wait=60_000)
    assert "waiting" in waiting
    events = len(two.events())

    def late() -> bool:
        found: bool = one.store.run(lambda tx: tx.append("settled again", "a", "", {})) is None
        return found

    one.store.settle(late)
    assert len(two.events()) == events, "there is nothing to settle any more"
    assert two.live("bob", "a.py", held)


def test_a_server_without_memory_is_told_in_one_sentence_and_nothing_is_changed(start: Callable[..., Server]) -> None:
    one = Machine(start().url).begin()
    one.store.ask("CONFIG", "SET", "maxmemory", "1")
    one.store.ask("SCRIPT", "FLUSH")  # what is sent again because the server does not know the script was not done
    with pytest.raises(Unavailable) as refused:
        one.claim("ann", "a.py")
    assert str(refused.value).endswith("used memory > 'maxmemory'. Nothing was changed.")
    one.store.ask("CONFIG", "SET", "maxmemory", "0")
    assert one.holders() == {}
    one.claim("ann", "a.py")
    one.check()
    one.store.close()


def test_errors_that_pass_are_waited_for_and_others_are_told(start: Callable[..., Server]) -> None:
    store = opened(start().url, timeout=1.0)
    said = iter(
        [ServerError("LOADING the dataset"), ConnectionLost("gone"), ServerError("BUSY with a script"), b"PONG"]
    )

    def call(*_: Any) -> Any:
        found = next(said)
        if isinstance(found, Exception):
            raise found
        return found

    store.wire.call = call  # type: ignore[method-assign]
    assert store.ask("PING") == b"PONG"
    said = iter([ServerError("OOM no memory")])
    with pytest.raises(Unavailable, match="cannot write now"):
        store.ask("PING")
    store.close()


# --- two primaries

HEAD = "{dibs:w}:head"


@pytest.fixture
def split(start: Callable[..., Server]) -> Iterator[Callable[..., tuple[Server, Server]]]:
    """A primary, and what was its replica until the network between them was cut and it was promoted."""
    links: list[Proxy] = []

    def made(act: Callable[[Server], None], **settings: str) -> tuple[Server, Server]:
        first = start(**EVERYSEC, **settings)
        links.append(Proxy(first.port))
        port = links[-1].url.rpartition(":")[2]
        second = start(**EVERYSEC, replicaof=f"127.0.0.1 {port}")
        until(lambda: b"master_link_status:up" in second.ask("INFO", "replication"))
        act(first)
        until(lambda: first.ask("HGET", HEAD, "commit") == second.ask("HGET", HEAD, "commit"))
        links[-1].cut = True
        links[-1].reset()
        second.ask("REPLICAOF", "NO", "ONE")
        return first, second

    yield made
    for link in links:
        link.close()


def test_a_primary_that_is_cut_off_neither_grants_nor_confirms_where_it_must_have_a_replica(
    split: Callable[..., tuple[Server, Server]], tmp_path: Path
) -> None:
    tokens: list[int] = []
    machines: list[Machine] = []

    def act(first: Server) -> None:
        machines.append(Machine(first.url, tmp_path / "one").begin())
        tokens.append(machines[0].claim("ann", "a.py"))
        assert machines[0].live("ann", "a.py", tokens[0])

    first, second = split(act, min_replicas_to_write="1", min_replicas_max_lag="2")
    one, two = machines[0], Machine(second.url, tmp_path / "two")
    again = Machine(first.url, tmp_path / "one")
    until(lambda: b"min_slaves_good_slaves:0" in first.ask("INFO", "replication"))
    theirs = two.claim("bob", "a.py")
    assert two.live("bob", "a.py", theirs)
    for act_again in (
        lambda: one.live("ann", "a.py", tokens[0]),
        lambda: one.claim("ann", "b.py"),
        lambda: one.call("ann", "renew", resources=[["file", "a.py"]]),
        lambda: again.live("ann", "a.py", tokens[0]),
    ):
        with pytest.raises(Unavailable, match="NOREPLICAS"):
            act_again()
    assert theirs > tokens[0]
    again.store.close()
    one.store.close()
    two.check()
    two.store.close()


def test_two_primaries_that_begin_in_the_same_second_do_not_give_the_same_tokens(
    split: Callable[..., tuple[Server, Server]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = split(lambda first: Machine(first.url, tmp_path / "one").begin().store.close())
    first.restart()
    real = RedisStore.ask
    monkeypatch.setattr(
        RedisStore, "ask", lambda store, *words: [b"1900000000", b"0"] if words == ("TIME",) else real(store, *words)
    )
    given: list[set[int]] = []
    for server, name in ((first, "one"), (second, "two")):
        machine = Machine(server.url, tmp_path / name)
        given.append({machine.claim("ann", f"{number}.py") for number in range(20)})
        machine.check()
        machine.store.close()
    assert not given[0] & given[1]
    assert {token >> epoch.EPOCH_BITS for token in given[0] | given[1]} == {1_900_000_000}
