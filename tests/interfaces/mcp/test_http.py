"""`/mcp` over HTTP: credentials, who speaks for whom, both eras, limits, and the end of the server."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.shared.subscriptions import ResourceUpdated

import dibs
from dibs.interfaces.mcp import server
from dibs.workspace import call_notes
from tests.interfaces.mcp.sdk_clients import (
    ERAS,
    NEW,
    OLD,
    PATIENCE,
    as_claude,
    as_codex,
    ask,
    connected,
    play,
    serving,
    token_of,
)
from tests.waiting import until_async

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    dibs.init(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("era", ERAS)
def test_an_agent_s_credential_speaks_for_that_agent(folder: Path, era: str) -> None:
    async def story() -> None:
        with serving(folder) as (url, host):
            token = token_of(host, agent="ann")
            async with connected(url, token, era) as client:
                assert len((await client.list_tools()).tools) >= 15
                granted = await ask(client, "claim", resources=["a.txt"])
                assert (granted["ok"], granted["agent"]) == (True, "ann")
                mine = await ask(client, "whoami")
                assert (mine["agent"], mine["by"]) == ("ann", "credential")
                assert (await ask(client, "whoami", "bob"))["agent"] == "ann"  # a call's own word does not count

    play(story())


SHARED = ({"person": "tess"}, {"machine": "laptop"})  # credentials that speak for several agents


@pytest.mark.parametrize("whose", SHARED, ids=lambda one: next(iter(one)))
def test_a_credential_of_several_agents_speaks_for_the_one_that_the_client_s_ids_name(
    folder: Path, whose: dict[str, str]
) -> None:
    async def story() -> None:
        with serving(folder) as (url, host):
            call_notes.put(host.place.local, "toolu_1", "session-1/helper")
            async with connected(url, token_of(host, **whose)) as client:
                assert (await ask(client, "whoami", "thread-1"))["agent"] == "thread-1"
                noted = await client.call_tool("whoami", {}, meta=as_claude("toolu_1"))
                assert noted.structured_content["agent"] == "session-1/helper"
                assert (await ask(client, "claim", "thread-1", resources=["a"]))["ok"]
                refused = await ask(client, "claim", "thread-2", resources=["a"])
                assert (refused["error"]["code"], refused["error"]["blockers"][0]["agent"]) == ("held", "thread-1")

    play(story())


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("whose", SHARED, ids=lambda one: next(iter(one)))
def test_two_clients_with_one_credential_that_name_no_session_are_two_agents(
    folder: Path, whose: dict[str, str], era: str
) -> None:
    async def story() -> None:
        with serving(folder) as (url, host):
            token = token_of(host, **whose)
            async with connected(url, token, era) as one, connected(url, token, era) as two:
                granted = await ask(one, "claim", resources=["a"])
                assert granted["agent"].startswith("mcp-")
                assert (await ask(two, "claim", resources=["a"]))["error"]["code"] == "held"
                assert (await ask(one, "whoami"))["agent"] == granted["agent"]
                assert (await ask(one, "release", resources=["a"]))["released"] == ["a"]
                assert (await ask(two, "claim", resources=["a"]))["ok"]
                told = any("by this connection alone" in line for line in granted["notice"])
                assert told is (era == NEW), "who has no session is told how to have one"

    play(story())


@pytest.mark.parametrize("named", ["", "thread-1", "tess"])
def test_no_model_has_a_person_s_rank_whatever_its_credential(folder: Path, named: str) -> None:
    async def story() -> None:
        with serving(folder) as (url, host):
            for whose in ({"person": "tess"}, {"agent": "ann", "role": "person"}):
                async with (
                    connected(url, token_of(host, **whose)) as client,
                    connected(url, token_of(host, agent="bob")) as bob,
                ):
                    assert (await ask(bob, "claim", resources=["a"]))["ok"]
                    mine = await ask(client, "whoami", named)
                    assert (mine["agent"] != "tess", mine["role"]) == (True, "")
                    taken = await ask(client, "release", named, resources=["a"], force=True, why="I want it")
                    assert taken["error"]["code"] == "forbidden"

    play(story())


def test_a_role_below_a_person_s_is_that_of_the_model(folder: Path) -> None:
    async def story() -> None:
        with serving(folder) as (url, host):
            async with connected(url, token_of(host, person="tess", role="viewer")) as client:
                assert (await ask(client, "claim", resources=["a"]))["error"]["code"] == "forbidden"
            async with connected(url, token_of(host, agent="lead", role="orchestrator")) as client:
                assert (await ask(client, "whoami"))["role"] == "orchestrator"

    play(story())


def test_a_subagent_is_told_from_the_agent_whose_credential_it_uses(folder: Path) -> None:
    async def story() -> None:
        with serving(folder) as (url, host):
            call_notes.put(host.place.local, "toolu_1", "ann/helper")
            call_notes.put(host.place.local, "toolu_2", "annabel")
            async with connected(url, token_of(host, agent="ann")) as client:
                for call, agent in (("toolu_1", "ann/helper"), ("toolu_2", "ann")):
                    found = await client.call_tool("whoami", {}, meta=as_claude(call))
                    assert found.structured_content["agent"] == agent

    play(story())


def test_without_a_valid_credential_nothing_is_told(folder: Path) -> None:
    with serving(folder) as (url, host):
        revoked = token_of(host, agent="ann")
        for token, why in (("", "missing"), ("x", "unknown"), (f"{revoked}0", "unknown")):
            headers = {**ACCEPT, **({"Authorization": f"Bearer {token}"} if token else {})}
            answer = httpx2.post(url, json=LIST, headers=headers)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
            assert answer.json()["error"]["code"] == "unauthorized"
            assert answer.json()["error"]["why"] == why


def test_a_session_belongs_to_the_credential_that_opened_it(folder: Path) -> None:
    with serving(folder) as (url, host):
        ann, bob = ({**ACCEPT, "Authorization": f"Bearer {token_of(host, agent=name)}"} for name in ("ann", "bob"))
        info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        begun = httpx2.post(url, json={**LIST, "method": "initialize", "params": info}, headers=ann)
        session = {"mcp-session-id": begun.headers["mcp-session-id"]}
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert httpx2.post(url, json=ready, headers={**ann, **session}).status_code == 202
        assert httpx2.post(url, json=LIST, headers={**ann, **session}).status_code == 200
        assert httpx2.post(url, json=LIST, headers={**bob, **session}).status_code == 404


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Host": "evil.example"}, LIST, 421),
        ({"Origin": "http://evil.example"}, LIST, 403),
        ({"Content-Type": "text/plain"}, LIST, 400),
        ({}, "{", 400),
        ({}, {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"x": "y" * (2 << 20)}}, 413),
        ({"mcp-session-id": "nobody's"}, LIST, 404),
        ({"Mcp-Protocol-Version": "1999-01-01"}, LIST, 400),
    ],
)
def test_what_is_not_the_protocol_s_is_refused(folder: Path, headers: dict[str, str], body: Any, status: int) -> None:
    with serving(folder) as (url, host):
        mine = {**ACCEPT, "Content-Type": "application/json", "Authorization": f"Bearer {token_of(host, agent='a')}"}
        data = body if isinstance(body, str) else json.dumps(body)
        answer = httpx2.post(url, content=data, headers={**mine, **headers})
        assert answer.status_code == status, answer.text
        assert "Traceback" not in answer.text


@pytest.mark.parametrize("era", ERAS)
def test_a_wait_that_is_cancelled_or_whose_client_goes_leaves_the_queue(folder: Path, era: str) -> None:
    async def story() -> None:
        with serving(folder) as (url, host), dibs.open(str(folder), agent="ann") as ws, ws.claim("a"):
            token = token_of(host, agent="bob")
            async with connected(url, token, era) as client:
                waiting = asyncio.create_task(ask(client, "claim", resources=["a"], wait="40s"))
                await until_async(lambda: ws.status()["waiting"])
                waiting.cancel()
                await until_async(lambda: not ws.status()["waiting"])

    play(story())


def test_however_many_wait_the_call_that_they_wait_for_is_answered(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "THREADS", 1)

    async def story() -> None:
        with serving(folder) as (url, host), dibs.open(str(folder), agent="see") as ws:
            async with connected(url, token_of(host, agent="ann"), NEW) as ann:
                await ask(ann, "claim", resources=["a"])
                async with connected(url, token_of(host, agent="bob"), NEW) as bob:
                    waiting = asyncio.create_task(ask(bob, "claim", resources=["a"], wait="45s"))
                    await until_async(lambda: ws.status()["waiting"])
                    assert (await ask(ann, "release", resources=["a"]))["ok"]
                    assert (await waiting)["ok"]  # while it waited

    play(story())


OLDER = pytest.mark.filterwarnings("ignore:resources/:mcp.shared.exceptions.MCPDeprecationWarning")  # an old client's


@OLDER
@pytest.mark.parametrize("era", ERAS)
def test_a_subscriber_over_http_hears_of_changes(folder: Path, era: str) -> None:
    async def story() -> None:
        heard: set[str] = set()

        async def told(message: Any) -> None:
            heard.add(str(getattr(getattr(message, "params", None), "uri", "")))

        with serving(folder) as (url, host), dibs.open(str(folder), agent="ann") as ws:
            async with connected(url, token_of(host, agent="bob"), era, message_handler=told) as client:
                if era == OLD:
                    await client.subscribe_resource("dibs://status")
                    number = 0
                    end = time.monotonic() + PATIENCE
                    while "dibs://status" not in heard:  # its stream may begin after the first change
                        number += 1
                        ws.claim(f"x{number}", auto_renew=False)
                        await asyncio.sleep(0.1)
                        assert time.monotonic() < end
                    return
                async with client.listen(resource_subscriptions=["dibs://status"]) as events:
                    ws.claim("x", auto_renew=False)
                    async for event in events:
                        assert event == ResourceUpdated(uri="dibs://status")
                        break

    play(story())


def test_the_server_ends_while_a_stream_is_open_and_a_call_waits(folder: Path) -> None:
    async def story() -> None:
        with dibs.open(str(folder), agent="ann") as ws, ws.claim("a"):
            with serving(folder) as (url, host):  # its end is asserted there
                async with httpx2.AsyncClient(timeout=PATIENCE) as web:
                    headers = {**ACCEPT, "Authorization": f"Bearer {token_of(host, agent='bob')}"}
                    names = {"Mcp-Protocol-Version": NEW, "Mcp-Method": "tools/call", "Mcp-Name": "claim"}
                    meta = {
                        "io.modelcontextprotocol/protocolVersion": NEW,
                        "io.modelcontextprotocol/clientCapabilities": {},
                    }
                    params = {"name": "claim", "arguments": {"resources": ["a"], "wait": "40s"}, "_meta": meta}
                    body = {**LIST, "method": "tools/call", "params": params}
                    waiting = asyncio.create_task(web.post(url, json=body, headers={**headers, **names}))
                    await until_async(lambda: ws.status()["waiting"])
                    waiting.cancel()
                    await asyncio.wait([waiting])
            await until_async(lambda: not ws.status()["waiting"])

    play(story())


def test_a_codex_over_http_with_an_agent_s_credential_stays_that_agent(folder: Path) -> None:
    async def story() -> None:
        with serving(folder) as (url, host):
            async with connected(url, token_of(host, agent="ann")) as client:
                found = await client.call_tool("whoami", {}, meta=as_codex("thread-9"))
                assert found.structured_content["agent"] == "ann"

    play(story())
