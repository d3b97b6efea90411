"""`dibs mcp` where the store is a server's, elsewhere: the same tools and answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

import dibs
from tests.interfaces.mcp.sdk_clients import NEW, OLD, ask, inside, parameters, play
from tests.scratch import Shell
from tests.server.far import Far, far
from tests.waiting import until_async

pytestmark = pytest.mark.slow


@pytest.fixture
def apart(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Far]:
    with far(shell, tmp_path) as made:
        made.away.json("claim", "chosen", "--as", "person", exit=0)  # this machine chooses the server once
        made.away.json("release", "chosen", "--as", "person", exit=0)
        config = made.away.folder / ".dibs" / "config.toml"  # no variable: the server is in this process
        config.write_text(f'store = "{made.server.url}"\n' + config.read_text())
        monkeypatch.setenv("DIBS_TOKEN", made.away.environment["DIBS_TOKEN"])
        yield made


@pytest.fixture
def ann(apart: Far) -> Iterator[dibs.Workspace]:
    with dibs.open(str(apart.home.folder), agent="ann") as ws:
        yield ws


def test_a_client_elsewhere_claims_is_refused_and_hears_of_its_mail(apart: Far, ann: dibs.Workspace) -> None:
    below = apart.away.folder / "src"
    below.mkdir()
    ann.claim("held.txt", auto_renew=False)

    async def story() -> None:
        server = parameters(below, DIBS_AGENT="far", DIBS_TOKEN=apart.away.environment["DIBS_TOKEN"])
        async with Client(server, mode=NEW, cache=None) as client:
            mine = await ask(client, "claim", resources=["a.py", "../b.txt"], reason="the parser")
            assert (mine["ok"], mine["agent"]) == (True, "far")
            assert sorted(mine["resources"]) == ["b.txt", "src/a.py"]  # paths begin in the client's own folder
            refused = await ask(client, "claim", resources=["../held.txt"])
            assert refused["error"]["code"] == "held"
            assert "ann" in refused["message"]
            with pytest.raises(dibs.Held, match="the parser"):
                ann.claim("src/a.py")
            ann.send("far", "hello there")
            told = await ask(client, "status")
            assert any("hello there" in line for line in told["notice"])
            read = await client.read_resource("dibs://map")
            assert "src/a.py" in json.loads(read.contents[0].text)["resources"]  # type: ignore[union-attr]
            assert (await ask(client, "release", all=True))["count"] == 2

    play(story())
    assert ann.verify()["found"] == 0


def test_a_cancelled_wait_leaves_the_queue_of_the_server_at_once(apart: Far, ann: dibs.Workspace) -> None:
    ann.claim("db:x", auto_renew=False)

    async def story() -> None:
        async with inside(apart.away.folder, OLD) as client:
            call = asyncio.create_task(ask(client, "claim", "far", resources=["db:x"], wait="45s"))
            await until_async(lambda: ann.status()["waiting"])
            await until_async(lambda: apart.server.http.half._waiting)  # type: ignore[attr-defined]
            call.cancel()
            await until_async(lambda: not ann.status()["waiting"])
            await until_async(lambda: not apart.server.http.half._waiting)  # type: ignore[attr-defined]

    play(story())


def test_a_subscriber_elsewhere_hears_of_what_others_do(apart: Far, ann: dibs.Workspace) -> None:
    async def story() -> None:
        heard: set[str] = set()
        async with inside(apart.away.folder, NEW) as client:

            async def listen() -> None:
                async with client.listen(resource_subscriptions=["dibs://status"]) as events:
                    ready.set()
                    async for event in events:
                        heard.add(getattr(event, "uri", ""))

            ready = asyncio.Event()
            listening = asyncio.create_task(listen())
            await ready.wait()
            ann.claim("db:x", auto_renew=False)
            await until_async(lambda: "dibs://status" in heard)
            listening.cancel()
            await asyncio.wait([listening])

    play(story())


@pytest.mark.parametrize("owner", [("--agent", "ci"), ("--person", "kim")])
def test_the_credential_says_whose_a_call_is_that_names_nobody(
    apart: Far, owner: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIBS_TOKEN", apart.token(*owner))

    async def story() -> str:
        async with inside(apart.away.folder) as client:
            return str((await ask(client, "claim", resources=["a"]))["agent"])

    agent = play(story())
    if owner[0] == "--agent":
        assert agent == "ci"
    else:
        assert agent.startswith("mcp-")  # a model is never the person whose credential it has


def test_a_server_that_is_away_is_said_and_asked_again_at_the_next_call(
    apart: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dibs.interfaces.mcp.near.FAR_TIMEOUT_S", 2.0)
    cut: list[bool] = []

    def fate(*_: Any) -> None:
        if cut:
            raise ConnectionAbortedError

    async def story() -> None:
        apart.server.http.fate = fate  # type: ignore[attr-defined]
        async with inside(apart.away.folder) as client:
            assert (await ask(client, "claim", "far", resources=["a"]))["ok"]
            cut.append(True)
            found = await ask(client, "claim", "far", resources=["b"])
            assert found["error"]["code"] == "unavailable"
            assert "dibs serve" in found["message"]
            cut.clear()
            assert (await ask(client, "claim", "far", resources=["b"]))["ok"]

    play(story())
