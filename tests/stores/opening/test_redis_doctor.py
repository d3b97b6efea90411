"""`dibs doctor` and `dibs status` on a server: what its settings can lose, and what somebody should change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dibs.canonical import Canonical
from dibs.client import catalogue
from dibs.operations.core.call import Call
from dibs.operations.core.entry import perform
from dibs.operations.core.policy import Policy
from tests.interfaces.local_server import Home, port_url, socket_url
from tests.stores.redis_server import ALWAYS, EVERYSEC, NO, NOTHING, Server, opened, running

Make = Callable[..., Home]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Home] = []

    def one(url: str) -> Home:
        made.append(Home(tmp_path / f"repo{len(made)}", url))
        return made[-1]

    yield one
    for home in made:
        home.clean()


def checks(home: Home, exit: int | None = 0) -> dict[str, dict[str, Any]]:
    return {check["check"]: check for check in home.json("doctor", exit=exit)["checks"]}


@pytest.mark.parametrize(
    ("settings", "text", "ok"),
    [
        (ALWAYS, "what was answered is on the disk", True),
        (EVERYSEC, "can lose the last second or two", True),
        (NO, "some 30 seconds", True),
        ({"appendonly": "no", "save": "3600 1"}, "loses every commit since the last one", True),
        (NOTHING, "loses the whole workspace", False),
    ],
    ids=["always", "everysec", "no", "snapshots", "nothing"],
)
def test_doctor_says_what_the_servers_persistence_can_lose(
    make: Make, server: Server, settings: dict[str, str], text: str, ok: bool
) -> None:
    home = make(server.url)
    home.json("claim", "a.py", "--as", "one", exit=0)
    for name, value in {**ALWAYS, "save": "", **settings}.items():
        server.ask("CONFIG", "SET", name, value)
    try:
        found = checks(home)["persistence"]
        assert text in found["message"]
        assert (found["ok"], found["severity"]) == (ok, "warning")
        warned = home.json("status", exit=0).get("warnings", [])
        assert any("keeps nothing on disk" in one for one in warned) is not ok
        assert ("warning: the server keeps nothing" in home.run("status").stdout) is not ok
    finally:
        for name, value in {**ALWAYS, "save": ""}.items():
            server.ask("CONFIG", "SET", name, value)


def test_doctor_and_status_warn_of_a_server_that_drops_keys(make: Make, server: Server) -> None:
    home = make(server.url)
    home.json("claim", "a.py", "--as", "one", exit=0)
    assert checks(home)["memory"]["ok"] is True
    server.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    try:
        assert "set noeviction" in checks(home)["memory"]["message"]
        assert "allkeys-lru" in home.json("status", exit=0)["warnings"][0]
    finally:
        server.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
    assert "warnings" not in home.json("status", exit=0)


def test_doctor_shows_version_replication_protection_and_the_record(make: Make, server: Server) -> None:
    home = make(server.url)
    home.json("claim", "a.py", "--as", "one", exit=0)
    found = checks(home)
    assert "Valkey" in found["server"]["message"]
    assert "no replicas" in found["replication"]["message"]
    assert "TLS no, password no; loopback" in found["protection"]["message"]
    assert "commit" in found["database"]["message"]
    assert found["record"]["ok"] is True
    assert "pages" not in found
    assert "Unix socket" in checks_at(make, server.socket_url)["protection"]["message"]


def checks_at(make: Make, url: str) -> dict[str, dict[str, Any]]:
    home = make(url)
    home.json("claim", "a.py", "--as", "one", exit=0)
    return checks(home)


def test_a_password_is_shown_by_nobody(make: Make) -> None:
    with running(password="geheim") as server:
        home = make(server.url)
        home.json("claim", "a.py", "--as", "one", exit=0)
        for words in (("doctor",), ("status",), ("up",), ("store", "move", server.url)):
            done = home.run(*words)
            assert "geheim" not in done.stdout + done.stderr
        assert (home.local / "store").stat().st_mode & 0o077 == 0
        assert "password yes" in checks(home)["protection"]["message"]


def test_a_server_that_may_not_be_asked_for_its_settings_is_still_examined(make: Make, server: Server) -> None:
    server.ask("ACL", "SETUSER", "ann", "on", ">secret", "~*", "&*", "+@all", "-config")
    home = make(server.url.replace("redis://", "redis://ann:secret@"))
    home.json("claim", "a.py", "--as", "one", exit=0)
    assert "could not be asked" in checks(home)["persistence"]["message"]
    home.json("status", exit=0)


@pytest.mark.long
def test_doctor_starts_nothing_and_says_what_would(make: Make, tmp_path: Path) -> None:
    home = make(socket_url(tmp_path))
    home.json("up", exit=0)
    home.kill_server()
    found = checks(home, exit=1)["server"]
    assert "`dibs up` starts it again" in found["message"]
    assert not home.answers()
    assert "starts one here" in checks(make(port_url()), exit=1)["server"]["message"]


def test_recover_is_for_a_file(make: Make, server: Server) -> None:
    home = make(server.url)
    home.json("claim", "a.py", "--as", "one", exit=0)
    assert "is for an SQLite file" in home.json("doctor", "--recover", "--yes", exit=64)["error"]["message"]


def test_a_replica_is_named_as_what_it_is(make: Make, server: Server) -> None:
    with running("--replicaof", "127.0.0.1", str(server.port)) as replica:
        home = make(server.url)
        home.json("claim", "a.py", "--as", "one", exit=0)
        found = checks(home)["replication"]
        assert "1 replica: a failover loses" in found["message"]
        assert (found["ok"], found["severity"]) == (False, "warning")
        assert "min-replicas-to-write 1" in found["message"]
        server.ask("CONFIG", "SET", "min-replicas-to-write", "1")
        try:
            found = checks(home)["replication"]
        finally:
            server.ask("CONFIG", "SET", "min-replicas-to-write", "0")
        assert found["ok"] is True
        assert "it takes no writes after 10 s" in found["message"]
        (home.local / "store").write_text(f"{replica.url}\nmoved-from {server.url}\n")
        assert "takes no writes" in checks(home, exit=None)["replication"]["message"]


def test_the_memory_that_the_documentation_states_is_what_is_used(server: Server) -> None:
    store = opened(server.url, "memory")
    claim = catalogue.operation("claim")

    def used(*names: str) -> int:
        return sum(int(server.ask("MEMORY", "USAGE", store.tag + name, "SAMPLES", "0") or 0) for name in names)

    def claims(first: int, last: int) -> None:
        for number in range(first, last):
            call = Call(Policy(), agent=f"agent-{number % 20}")
            fields = {"resources": [Canonical(("file", f"src/some/package/module_{number:05d}.py", ""))]}
            store.run(lambda tx, call=call, fields=fields: perform(tx, call, claim, fields))  # type: ignore[misc]

    claims(0, 200)
    before, seq, log = used("v", "k", "i1", "i2"), store.head().seq, used("log")
    claims(200, 700)
    each = (used("v", "k", "i1", "i2") - before) / 500
    events = (used("log") - log) / (store.head().seq - seq) * 1000
    store.close()
    assert 930 * 0.5 < each < 930 * 1.5
    assert 296_000 * 0.5 < events < 296_000 * 1.5
