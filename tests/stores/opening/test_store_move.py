"""`dibs store move`: everything goes along, nobody writes meanwhile, one store is in charge whatever happens."""

from __future__ import annotations

import contextlib
import datetime as dt
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dibs
from dibs.client import store_move
from dibs.client.session import Session
from dibs.errors import Busy, DibsError, Unavailable
from dibs.machine import clock
from dibs.stores.move import carry
from dibs.stores.redis import move_side as redis_side
from dibs.stores.redis.store import RedisStore
from dibs.stores.sqlite import move_side as sqlite_side
from dibs.stores.sqlite import store as sqlite_store
from tests.interfaces import mover
from tests.interfaces.local_server import Home
from tests.scratch import DIBS, Shell
from tests.stores.redis_server import ALWAYS, Server, opened, running
from tests.stores.redis_ways import cluster, sentinel_of, tls_in_front_of
from tests.waiting import until

if TYPE_CHECKING:
    from dibs.stores.seam import Store, Transaction

pytestmark = pytest.mark.slow

Make = Callable[..., Home]
MOVER = str(Path(mover.__file__))


@pytest.fixture(scope="module")
def second() -> Iterator[Server]:
    with running(**ALWAYS) as started:
        yield started


@pytest.fixture
def make(tmp_path: Path) -> Make:
    return lambda name="repo", url="", like=None: Home(tmp_path / name, url, like)


@pytest.fixture
def home(make: Make) -> Home:
    return make()


def fill(home: Home) -> None:
    """Something of every kind, alive."""
    home.json("claim", "a.py", "src/", "--as", "one", "--ttl", "10m", "--reason", "to move", exit=0)
    home.json("claim", "b.py", "--as", "two", "--mode", "read", exit=0)
    home.json("claim", "deploy:prod", "--as", "two", exit=0)
    home.json("task", "add", "first", "--as", "one", exit=0)
    home.json("task", "add", "second", "--priority", "5", "--as", "one", exit=0)
    home.json("task", "next", "--as", "three", exit=0)
    home.json("send", "two", "héllo", "--as", "one", exit=0)
    home.json("state", "set", "key", '{"deep": [1, "é"]}', "--as", "one", exit=0)
    home.json("subscribe", "claim.granted", "--as", "two", exit=0)
    home.json("vote", "open", "which?", "--options", "a,b", "--as", "one")
    home.json("claim", "a.py", "--as", "four", exit=1)
    home.json("kill", "four", "--why", "wrong", "--as", "one", exit=0)
    home.json("claim", "c.py", "--as", "one", "--request-id", "r1", exit=0)


def seen(home: Home) -> dict[str, Any]:
    """What anybody can see of it, times that are left included."""
    status = home.json("status", exit=0)
    now = dt.datetime.now(dt.UTC)
    left = {}
    for claim in status["claims"]:
        until_then = dt.datetime.fromisoformat(claim["expires_at"]) - now
        left[claim["token"]] = until_then.total_seconds()
    return {
        "claims": [(c["agent"], c["resources"], c["mode"], c["token"], c["reason"]) for c in status["claims"]],
        "tasks": [
            (task["id"], task["title"], task["state"], task["priority"], task.get("agent"))
            for task in home.json("task", "list", exit=0)["tasks"]
        ],
        "state": home.json("state", "get", "key", exit=0)["version"],
        "killed": [agent["agent"] for agent in status["agents"] if agent.get("killed")],
        "left": left,
    }


def same(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Nothing changed but that a moment passed."""
    for token, left in before.pop("left").items():
        gone = left - after["left"][token]
        assert -0.1 < gone < 60, "a deadline keeps its remaining life"
    del after["left"]
    assert before == after


def test_all_of_it_goes_along_and_comes_back(home: Home, server: Server, second: Server) -> None:
    fill(home)
    token = home.json("claim", "d.py", "--as", "one", exit=0)["token"]
    for url in (server.url, second.socket_url, "sqlite:", server.socket_url, "sqlite:"):
        before, events = seen(home), home.log()
        found = home.json("store", "move", url, "--as", "one", exit=0)
        assert found["to"] == url
        assert found["events"] == len(events) + 1
        same(before, seen(home))
        after = home.log()
        assert after[: len(events)] == events, "the record is the same, to its links"
        assert [event["kind"] for event in after[len(events) :]] == ["store.moving", "store.moved"]
        assert after[-1]["data"]["digest"] == found["digest"]
        home.verified()
        rising = home.json("claim", f"{len(after)}.py", "--as", "one", exit=0)["token"]
        assert rising > token
        token = rising
    assert home.json("claim", "c.py", "--as", "one", "--request-id", "r1", exit=0)["token"] < token, "same answer"
    assert home.json("claim", "x.py", "--as", "four", exit=1)["error"]["code"] == "killed"
    assert home.json("inbox", "--as", "two", exit=0)["messages"][0]["text"] == "héllo"
    home.json("release", "a.py", "--as", "one", exit=0)
    home.verified()


@pytest.mark.long
def test_a_move_goes_by_tls_by_a_sentinel_and_to_a_cluster(
    home: Home, server: Server, second: Server, tmp_path: Path
) -> None:
    fill(home)
    with (
        tls_in_front_of(server, tmp_path) as by_tls,
        sentinel_of(second, tmp_path / "sentinel") as by_sentinel,
        cluster(tmp_path / "cluster") as (node,),
    ):
        for url in (by_tls, by_sentinel, node.url, "sqlite:"):
            before, events = seen(home), home.log()
            assert home.json("store", "move", url, "--as", "one", exit=0)["events"] == len(events) + 1, url
            same(before, seen(home))
            home.verified()
    home.json("release", "a.py", "--as", "one", exit=0)
    home.verified()


def test_a_workspace_that_begins_on_a_server_has_no_database(tmp_path: Path, server: Server) -> None:
    shell = Shell(tmp_path)
    shell.environment["DIBS_STORE"] = server.socket_url
    for words in (["--dry-run"], []):
        changes = shell.json("init", "--clients", "none", *words, exit=0)["changes"]
        assert ".dibs/local/store" in changes
        assert ".dibs/local/dibs.db" not in changes
    assert (tmp_path / ".dibs/local/store").exists()
    assert not (tmp_path / ".dibs/local/dibs.db").exists()


def test_who_waits_across_a_move_is_served_after_it(home: Home, server: Server) -> None:
    home.json("claim", "a.py", "--as", "one", exit=0)
    words = [DIBS, "claim", "a.py", "--as", "two", "--wait", "60s", "--json"]
    waiting = subprocess.Popen(words, cwd=home.folder, env=home.environment, stdout=subprocess.PIPE, text=True)
    until(lambda: home.json("status", exit=0)["waiting"])
    home.json("store", "move", server.url, exit=0)
    assert home.json("status", exit=0)["waiting"]
    home.json("release", "a.py", "--as", "one", exit=0)
    out, _ = waiting.communicate(timeout=60)
    assert waiting.returncode == 0, out
    assert [claim["agent"] for claim in home.json("status", exit=0)["claims"]] == ["two"]
    home.verified()


def test_who_has_the_old_store_open_goes_on_in_the_new_one(home: Home, server: Server) -> None:
    with dibs.Workspace(str(home.folder), agent="python") as ws:
        ws.claim("a.py")
        for url in (server.url, "sqlite:"):
            home.json("store", "move", url, exit=0)
            ws.claim(f"{url[:5]}.py")
        assert len(ws.status()["claims"]) == 3
    home.verified()


def test_another_machine_is_told_where_it_went_and_follows(
    home: Home, make: Make, server: Server, second: Server
) -> None:
    home.json("store", "move", server.url, exit=0)
    other = make("other", server.url, home)
    other.json("claim", "a.py", "--as", "there", exit=0)
    home.json("store", "move", second.url, exit=0)
    error = other.json("claim", "b.py", "--as", "there", exit=2)["error"]
    assert error["to"] == second.url
    assert f"dibs store move {second.url}" in error["message"]
    assert other.json("store", "move", server.socket_url, exit=2)["error"]["to"] == second.url
    assert other.json("store", "move", second.url, exit=0)["followed"] is True
    other.json("claim", "b.py", "--as", "there", exit=0)
    assert len(home.json("status", exit=0)["claims"]) == 2


def test_a_config_that_still_names_the_old_store_is_understood_and_another_is_not(
    make: Make, server: Server, second: Server
) -> None:
    home = make("repo", server.url)
    home.json("claim", "a.py", "--as", "one", exit=0)
    home.json("store", "move", second.url, exit=0)
    assert len(home.json("status", exit=0, DIBS_STORE=server.url)["claims"]) == 1
    assert home.json("status", exit=2, DIBS_STORE="sqlite:")["error"]["pinned"] == second.url


# --- what is refused


@pytest.mark.parametrize("url", ["sqlite:", "postgres://x", "", "redis", "redis:localhost"])
def test_a_place_that_makes_no_sense_is_refused(home: Home, url: str) -> None:
    found = home.run("store", "move", url, "--json")
    assert found.returncode in {2, 64}
    assert home.pin == ["sqlite:"]


def test_a_place_where_this_workspace_is_in_use_is_refused(home: Home, make: Make, server: Server) -> None:
    other = make("other", server.url, home)
    other.json("claim", "a.py", "--as", "there", exit=0)
    assert "in use on" in home.json("store", "move", server.url, exit=2)["error"]["message"]
    home.json("claim", "a.py", "--as", "here", exit=0)


def test_a_killed_agent_moves_nothing(home: Home, server: Server) -> None:
    home.json("kill", "bad", "--why", "x", "--as", "one", exit=1)
    home.json("claim", "a.py", "--as", "bad", exit=0)
    home.json("kill", "bad", "--why", "x", "--as", "one", exit=0)
    assert home.json("store", "move", server.url, "--as", "bad", exit=1)["error"]["code"] == "killed"
    assert home.pin == ["sqlite:"]


def test_a_server_that_does_not_answer_is_refused_and_nothing_changed(home: Home) -> None:
    refused = home.json("store", "move", "redis://192.0.2.1", "--timeout", "300ms", exit=2)
    assert refused["error"]["code"] == "unavailable"
    assert home.pin == ["sqlite:"]
    home.json("claim", "a.py", "--as", "one", exit=0)


# --- nobody writes meanwhile


def paused(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Stops a move when all is copied: the first is set then, the second lets it go on."""
    reached, go_on = threading.Event(), threading.Event()
    complete = {side: side.complete for side in (redis_side.RedisSide, sqlite_side.SqliteSide)}

    for side, was in complete.items():

        def stop(self: Any, identifier: str, was: Any = was) -> None:
            was(self, identifier)
            reached.set()
            assert go_on.wait(60)

        monkeypatch.setattr(side, "complete", stop)
    return reached, go_on


def moved_in_thread(home: Home, url: str) -> tuple[threading.Thread, list[Any]]:
    found: list[Any] = []

    def work() -> None:
        session = Session(str(home.folder), str(home.folder))
        try:
            found.append(store_move.move(session, url, session.identify("mover")))
        except DibsError as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    return thread, found


@pytest.mark.parametrize("back", [False, True], ids=["from a file", "from a server"])
def test_nobody_writes_while_it_is_copied_and_everybody_can_look(
    home: Home, server: Server, monkeypatch: pytest.MonkeyPatch, back: bool
) -> None:
    home.json("claim", "a.py", "--as", "one", exit=0)
    if back:
        home.json("store", "move", server.url, exit=0)
    reached, go_on = paused(monkeypatch)
    thread, found = moved_in_thread(home, "sqlite:" if back else server.url)
    try:
        assert reached.wait(60)
        error = home.json("claim", "b.py", "--as", "two", "--timeout", "300ms", exit=2)["error"]
        assert error["code"] == "busy"
        assert "being moved" in error["message"]
        assert len(home.json("status", exit=0)["claims"]) == 1
        late = subprocess.Popen(
            [DIBS, "claim", "b.py", "--as", "two", "--timeout", "30s"], cwd=home.folder, env=home.environment
        )
    finally:
        go_on.set()
        thread.join()
    assert late.wait(60) == 0, "who waited long enough writes to the new store"
    assert found[0]["rows"] > 0
    assert len(home.json("status", exit=0)["claims"]) == 2
    home.verified()


@pytest.mark.parametrize("back", [False, True], ids=["from a file", "from a server"])
def test_a_mover_that_was_paused_too_long_moves_nothing(
    home: Home, server: Server, monkeypatch: pytest.MonkeyPatch, back: bool
) -> None:
    if back:
        home.json("store", "move", server.url, exit=0)
    before = home.pin
    for module in (redis_side, sqlite_side):
        monkeypatch.setattr(module, "FREEZE_MS", 50)
    reached, go_on = paused(monkeypatch)
    thread, found = moved_in_thread(home, "sqlite:" if back else server.url)
    try:
        assert reached.wait(60)
        home.json("claim", "b.py", "--as", "two", exit=0)  # waits until the mark is worth nothing
    finally:
        go_on.set()
        thread.join()
    assert isinstance(found[0], Unavailable)
    assert "Nothing was moved" in found[0].message
    assert home.pin == before
    assert len(home.json("status", exit=0)["claims"]) == 1
    home.verified()


def test_a_copy_that_differs_is_found_and_nothing_is_moved(
    home: Home, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(home)
    fill_page = redis_side.RedisSide.fill
    for lost in (0, 1):

        def lossy(self: Any, identifier: str, rows: Any, events: Any, seals: Any, lost: int = lost) -> None:
            fill_page(self, identifier, rows[:-1] if lost else rows, events if lost else events[:-1], seals)

        monkeypatch.setattr(redis_side.RedisSide, "fill", lossy)
        session = Session(str(home.folder), str(home.folder))
        with pytest.raises(Unavailable, match="not what was copied"):
            store_move.move(session, server.url, session.identify("mover"))
        assert home.pin == ["sqlite:"]
        home.json("claim", f"z{lost}.py", "--as", "one", exit=0)


def test_two_that_move_at_once_do_not_meet(home: Home, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    reached, go_on = paused(monkeypatch)
    thread, found = moved_in_thread(home, server.url)
    try:
        assert reached.wait(60)
        assert "another process" in home.json("store", "move", server.socket_url, exit=2)["error"]["message"]
    finally:
        go_on.set()
        thread.join()
    assert found[0]["to"] == server.url


# --- a crash at any step

TARGETS = {"to a server": False, "to a file": True}
CRASHES = [(when, step) for step in mover.STEPS for when in ("before", "after")]


@pytest.mark.parametrize("back", TARGETS.values(), ids=TARGETS.keys())
@pytest.mark.parametrize(("when", "step"), CRASHES, ids=[f"{when} {step}" for when, step in CRASHES])
def test_a_crash_leaves_one_store_in_charge(home: Home, server: Server, when: str, step: str, back: bool) -> None:
    home.json("claim", "a.py", "--as", "one", exit=0)
    old, new = "sqlite:", server.url
    if back:
        home.json("store", "move", server.url, exit=0)
        old, new = new, old
    done = subprocess.run(
        [sys.executable, MOVER, str(home.folder), new, when, step], env=home.environment, check=False, timeout=60
    )
    assert done.returncode == 9, "it came to that step"
    home.json("claim", "b.py", "--as", "two", "--timeout", "20s", exit=0)
    after = mover.STEPS.index(step) > mover.STEPS.index("give_up") or (when, step) == ("after", "give_up")
    assert home.pin[0] == (new if after else old)
    assert [claim["agent"] for claim in home.json("status", exit=0)["claims"]] == ["one", "two"]
    home.verified()
    session = Session(str(home.folder), str(home.folder))
    sides = {url: store_move.side_of(session, url) for url in (old, new)}
    marks = {url: side.mark().partition(" ")[0] for url, side in sides.items()}
    assert marks[old] == ("moved" if after else marks[old])
    assert marks[new if after else old] != "moved"
    for side in sides.values():
        side.close()
    home.json("store", "move", old if after else new, exit=0)
    home.json("claim", "c.py", "--as", "three", exit=0)
    home.verified()
    assert not [*home.local.glob("store-move"), *home.local.glob("*.move-*")]


# --- the engines themselves


def test_what_was_left_on_a_server_expires_and_the_mark_stays(home: Home, server: Server) -> None:
    home.json("store", "move", server.url, exit=0)
    identifier = Session(str(home.folder), str(home.folder)).config.id
    home.json("store", "move", "sqlite:", exit=0)
    old = opened(server.url, identifier, begin=False)
    tag = f"{{dibs:{identifier}}}:"
    assert server.ask("PTTL", f"{tag}v") > 0
    assert server.ask("PTTL", f"{tag}head") == -1
    with pytest.raises(Unavailable, match="was moved from"):
        old.head()
    old.close()


def test_a_workspace_expires_only_when_told_to(make: Make, server: Server) -> None:
    home = make("repo", f"{server.url}?expire=2d")
    home.json("claim", "a.py", "--as", "one", exit=0)
    tag = f"{{dibs:{Session(str(home.folder), str(home.folder)).config.id}}}:"
    for name in ("v", "k", "head", "log"):
        assert 2 * 86_400_000 - 60_000 < server.ask("PTTL", tag + name) <= 2 * 86_400_000
    server.ask("PEXPIRE", f"{tag}v", "60000")
    home.json("claim", "b.py", "--as", "one", exit=0)
    assert server.ask("PTTL", f"{tag}v") > 60_000, "each commit puts it off"
    home.json("up", exit=0, DIBS_STORE=server.url)
    assert {server.ask("PTTL", tag + name) for name in ("v", "k", "head", "log")} == {-1}
    assert home.json("status", exit=64, DIBS_STORE=f"{server.url}?expire=soon")["error"]["code"] == "invalid"


def seal(tx: Transaction) -> None:
    tx.seal("{}")
    tx.append("sealed", "a", "", {})


values = st.recursive(st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(), st.lists, max_leaves=5)
keys = st.text(st.characters(min_codepoint=32, exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)
entries = st.none() | keys


@settings(max_examples=25)
@given(st.lists(st.tuples(keys, values, entries, entries, st.booleans()), max_size=20), st.integers(0, 2))
def test_any_contents_are_the_same_on_the_other_side(
    tmp_path_factory: pytest.TempPathFactory, server: Server, written: list[Any], seals: int
) -> None:
    folder = tmp_path_factory.mktemp("move")
    path, other = str(folder / "one.db"), str(folder / "two.db")
    sqlite_store.create(path, 7)
    store: Store = sqlite_store.SqliteStore(path)
    for key, value, one, two, keep in written:
        store.run(lambda tx, k=key, v=value, a=one, b=two: (tx.put(k, v, a, b), tx.append("k", "a", k, v)))  # type: ignore[misc]
        if not keep:
            store.run(lambda tx, k=key: tx.delete(k))  # type: ignore[misc]
    for _ in range(seals if written else 0):
        store.run(seal)
    now = store.look(lambda tx: tx.now)
    store.close()
    sides: list[carry.Side] = [sqlite_side.SqliteSide(path, 5.0)]
    workspace = clock.random_id()
    sides += [redis_side.RedisSide(opened(server.url, workspace, begin=False)), sqlite_side.SqliteSide(other, 5.0)]
    for old, new in ((sides[0], sides[1]), (sides[1], sides[2])):
        identifier = clock.random_id()
        frozen = old.freeze(identifier, "there")
        for _ in carry.copy(old, new, identifier, frozen):
            pass
        assert carry.Contents(old).as_json() == carry.Contents(new, identifier).as_json()
        new.complete(identifier)
        assert old.give_up(identifier, "there", frozen.commit)
        new.publish(identifier)
        assert new.origin() == identifier
    assert carry.Contents(sides[0]).as_json() == carry.Contents(sides[2]).as_json()
    for side in sides:
        side.close()
    moved = sqlite_store.SqliteStore(other)
    try:
        assert 0 <= moved.look(lambda tx: tx.now) - now < 60_000, "its clock goes on"
        moved.run(lambda tx: tx.put("after", 1))
    finally:
        moved.close()


def test_a_frozen_store_gives_up_only_where_it_stood(tmp_path: Path, server: Server) -> None:
    path = str(tmp_path / "one.db")
    sqlite_store.create(path)
    file, redis = sqlite_store.SqliteStore(path, timeout=0.2), opened(server.url, clock.random_id())
    assert isinstance(redis, RedisStore)
    redis.timeout = 0.2  # until it is busy; the server has longer to answer
    pairs: list[tuple[Store, carry.Side]] = [
        (file, sqlite_side.SqliteSide(path, 5.0)), (redis, redis_side.RedisSide(redis)),
    ]  # fmt: skip
    with contextlib.ExitStack() as at_the_end:
        for store, side in pairs:
            at_the_end.callback(store.close)
            at_the_end.callback(side.close)
        for store, side in pairs:
            store.run(lambda tx: tx.put("k", 1))
            frozen = side.freeze("m1", "there")
            with pytest.raises(Busy):
                store.run(lambda tx: tx.put("k", 2))
            with pytest.raises(Busy):
                side.freeze("m2", "elsewhere")
            assert not side.give_up("m2", "elsewhere", frozen.commit)
            assert not side.give_up("m1", "there", frozen.commit - 1)
            side.thaw("m2")
            with pytest.raises(Busy):
                store.run(lambda tx: tx.put("k", 2))
            side.thaw("m1")
            store.run(lambda tx: tx.put("k", 2))
            assert not side.give_up("m1", "there", frozen.commit)
            again = side.freeze("m3", "there")
            assert side.give_up("m3", "there", again.commit)
            for use in (store.head, lambda store=store: store.run(lambda tx: tx.put("k", 3))):
                with pytest.raises(Unavailable, match="was moved from") as refused:
                    use()
                assert (refused.value.moved, refused.value.to) == ("m3", "there")
