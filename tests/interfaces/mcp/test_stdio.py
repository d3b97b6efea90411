"""`dibs mcp` as a client starts it: a process of its own, lines of JSON on its stdin and stdout."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.subscriptions import ResourceUpdated

import dibs
from tests.interfaces.mcp.sdk_clients import DIBS, ERAS, NEW, OLD, PATIENCE, as_codex, ask, parameters, play
from tests.waiting import until, until_async

pytestmark = pytest.mark.slow

FLEET = 4
META = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "toy", "version": "1"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    dibs.init(str(tmp_path))
    return tmp_path


CLIENT = """\
import json, os, subprocess, sys
server = subprocess.Popen([sys.argv[1], "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for number, (method, params) in enumerate(json.loads(sys.argv[2])):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\\n")
    server.stdin.flush()
    answer = server.stdout.readline()
print(answer, flush=True)
if sys.argv[3] == "in order":
    server.stdin.close()
    server.wait()
else:
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("end", ["in order", "killed"])
def test_only_a_client_that_does_not_end_in_order_is_an_alert(end: str, folder: Path) -> None:
    begin = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "toy", "version": "1"}}
    calls = [["initialize", begin], ["tools/call", {"name": "claim", "arguments": {"resources": ["x.py"]}}]]
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, DIBS, json.dumps(calls), end], cwd=folder, text=True, capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)}, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert '"ok":true' in done.stdout.replace(" ", ""), done
    with dibs.open(str(folder), agent="looker") as ws:
        until(lambda: "gone" in [agent["state"] for agent in ws.agents(all=True)["agents"]])
        ws.sweep()
        kinds = [alert["kind"] for alert in ws.alerts()["alerts"]]
        assert kinds == ([] if end == "in order" else ["dead"])
        assert not ws.status()["claims"]


class Raw:
    """A server, spoken to line by line."""

    def __init__(self, folder: Path, *words: str, **variables: str) -> None:
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **variables}
        self.process = subprocess.Popen(
            [DIBS, "mcp", *words], cwd=folder, env=environment, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self._number = 0

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """One request; its answer."""
        self._number += 1
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params or {}})
        return self.read(self._number)

    def send(self, message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
        self.process.stdin.flush()

    def read(self, number: int) -> dict[str, Any]:
        assert self.process.stdout is not None
        while True:
            found: dict[str, Any] = json.loads(self.process.stdout.readline())
            if found.get("id") == number:
                return found

    def close(self) -> tuple[int, str]:
        """Close its stdin; its exit code, and what it wrote to stderr."""
        _, errors = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, errors


def test_a_client_of_2025_06_18_is_served_and_the_server_ends_with_its_stdin(folder: Path) -> None:
    raw = Raw(folder)
    info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "toy", "version": "1"}}
    begun = raw.ask("initialize", info)["result"]
    assert begun["protocolVersion"] == "2025-06-18"
    assert begun["serverInfo"]["name"] == "dibs"
    assert "`ok: false` is a refusal" in begun["instructions"]
    raw.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    tools = raw.ask("tools/list")["result"]["tools"]
    assert {"claim", "release", "task_next"} <= {tool["name"] for tool in tools}
    granted = raw.ask("tools/call", {"name": "claim", "arguments": {"resources": ["a"]}})["result"]
    assert granted["structuredContent"]["ok"] is True
    assert granted["isError"] is False
    assert raw.close() == (0, "")


def test_a_client_of_2026_07_28_is_served_without_a_handshake(folder: Path) -> None:
    raw = Raw(folder)
    granted = raw.ask("tools/call", {"name": "claim", "arguments": {"resources": ["a"]}, "_meta": META})["result"]
    assert granted["structuredContent"]["ok"] is True
    assert raw.close() == (0, "")


def test_noise_on_stdin_ends_nothing_and_leaves_no_traceback(folder: Path) -> None:
    raw = Raw(folder)
    assert raw.ask("tools/list", {"_meta": META})["result"]["tools"]
    for noise in ("", "{", "[]", '{"jsonrpc":"2.0"}', "\u0000", '{"jsonrpc":"2.0","id":99,"method":"steal"}'):
        raw.send(noise)
    wrong = raw.ask("tools/call", {"name": 5, "_meta": META})
    assert "error" in wrong
    assert raw.ask("tools/list", {"_meta": META})["result"]["tools"]
    code, errors = raw.close()
    assert (code, "Traceback" in errors) == (0, False)


def test_a_request_that_cannot_be_read_is_answered(folder: Path) -> None:
    raw = Raw(folder)
    half = (
        '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"claim","arguments":{"resources":["\\ud83d"]}}}'
    )
    raw.send(half)
    assert raw.read(7)["error"] == {"code": -32700, "message": "a text in this message is not valid Unicode"}
    raw.send('{"jsonrpc":"2.0","id":8,"method":"tools/call","params":[1]}')
    assert raw.read(8)["error"]["code"] == -32600
    assert raw.close() == (0, "")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_although_its_stdin_is_open_and_a_call_that_waits_leaves_the_queue(
    folder: Path, number: int, code: int
) -> None:
    with dibs.open(str(folder), agent="ann") as ws, ws.claim("a"):
        raw = Raw(folder, DIBS_AGENT="bob")
        wait = {"name": "claim", "arguments": {"resources": ["a"], "wait": "45s"}, "_meta": META}
        raw.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": wait})
        until(lambda: ws.status()["waiting"])
        raw.process.send_signal(number)
        assert raw.process.wait(timeout=PATIENCE) == code
        assert ws.status()["waiting"] == []
    assert raw.close() == (code, "")


def test_outside_a_workspace_each_call_says_so_until_there_is_one(tmp_path: Path) -> None:
    async def story() -> None:
        async with Client(parameters(tmp_path), mode=NEW, cache=None) as client:
            assert (await client.list_tools()).tools
            found = await ask(client, "claim", resources=["a"])
            assert found["error"]["code"] == "invalid"
            assert "dibs init" in found["message"]
            assert "Tell your user" in found["next"], "it is no fault of the arguments"
            await asyncio.to_thread(dibs.init, str(tmp_path))
            assert (await ask(client, "claim", resources=["a"]))["ok"]

    play(story())


def test_of_four_clients_of_both_eras_that_contend_for_one_file_one_holds_it_at_a_time(folder: Path) -> None:
    async def story() -> None:
        inside: list[str] = []
        tokens: list[int] = []

        async def one(name: str, era: str) -> None:
            async with Client(parameters(folder, DIBS_AGENT=name), mode=era, cache=None) as client:
                for _ in range(3):
                    granted = await ask(client, "claim", resources=["shared.txt"], wait="45s")
                    assert granted["ok"], granted
                    inside.append(name)
                    assert inside == [name]
                    tokens.append(granted["token"])
                    await asyncio.sleep(0)
                    inside.remove(name)
                    assert (await ask(client, "release", resources=["shared.txt"], token=granted["token"]))["ok"]

        await asyncio.gather(*[one(f"agent-{number}", ERAS[number % 2]) for number in range(FLEET)])
        assert tokens == sorted(set(tokens))
        assert len(tokens) == 3 * FLEET
        with dibs.open(str(folder), agent="judge") as ws:
            assert ws.status()["claims"] == []
            assert ws.verify()["found"] == 0

    play(story())


def test_a_cancelled_wait_leaves_the_queue(folder: Path) -> None:
    async def story() -> None:
        with dibs.open(str(folder), agent="ann") as ws:
            async with Client(parameters(folder, DIBS_AGENT="bob"), mode=OLD, cache=None) as client:
                with ws.claim("a"):
                    waiting = asyncio.create_task(ask(client, "claim", resources=["a"], wait="45s"))
                    await until_async(lambda: ws.status()["waiting"])
                    waiting.cancel()
                    await until_async(lambda: not ws.status()["waiting"])
            assert ws.status()["claims"] == []

    play(story())


def test_the_claims_of_a_client_end_with_its_process_not_with_the_server(folder: Path) -> None:
    raw = Raw(folder)
    asked = {"name": "claim", "arguments": {"resources": ["a"]}, "_meta": META}
    mine = raw.ask("tools/call", asked)["result"]["structuredContent"]
    assert mine["ok"]
    assert raw.close()[0] == 0
    done = subprocess.run([DIBS, "status", "--json"], cwd=folder, stdout=subprocess.PIPE, check=True)
    held = json.loads(done.stdout)["claims"]  # this process started the server, and is the client
    assert [claim["agent"] for claim in held] == [mine["agent"]]


# --- subscriptions

OLDER = pytest.mark.filterwarnings("ignore:resources/:mcp.shared.exceptions.MCPDeprecationWarning")  # an old client's


@OLDER
@pytest.mark.parametrize("era", ERAS)
def test_a_subscriber_hears_of_mail_claims_tasks_and_rules(folder: Path, era: str) -> None:
    uris = ["dibs://inbox", "dibs://status", "dibs://task/t1", "dibs://rules"]

    async def story() -> None:
        heard: set[str] = set()

        async def told(message: Any) -> None:
            uri = getattr(getattr(message, "params", None), "uri", None)
            heard.add(str(uri))

        async with Client(parameters(folder, DIBS_AGENT="bob"), mode=era, cache=None, message_handler=told) as client:
            await ask(client, "claim", resources=["x"])
            listening = None
            if era == NEW:

                async def listen() -> None:
                    async with client.listen(resource_subscriptions=uris) as events:
                        ready.set()
                        async for event in events:
                            assert isinstance(event, ResourceUpdated)
                            heard.add(event.uri)

                ready = asyncio.Event()
                listening = asyncio.create_task(listen())
                await asyncio.wait_for(ready.wait(), PATIENCE)
            else:
                for uri in uris:
                    await client.subscribe_resource(uri)
            with dibs.open(str(folder), agent="ann") as ws:
                ws.task_add("one", id="t1")
                ws.send("bob", "hello")
            (folder / ".dibs" / "rules.md").write_text("1. Be kind.\n")
            await until_async(lambda: set(uris) <= heard)
            if listening is not None:
                listening.cancel()
                await asyncio.wait([listening])
            else:
                await client.unsubscribe_resource("dibs://inbox")
                heard.clear()
                with dibs.open(str(folder), agent="ann") as ws:
                    ws.send("bob", "again")
                    ws.claim("z", auto_renew=False)
                await until_async(lambda: "dibs://status" in heard)
                assert "dibs://inbox" not in heard

    play(story())


@OLDER
def test_one_subscribes_only_to_what_is_there(folder: Path) -> None:
    async def story() -> None:
        async with Client(parameters(folder), mode=OLD, cache=None) as client:
            with pytest.raises(Exception, match="there is no resource"):
                await client.subscribe_resource("file:///etc/passwd")

    play(story())


# --- identity


@pytest.mark.parametrize("variable", ["CLAUDE_CODE_SESSION_ID", "DIBS_AGENT"])
def test_a_client_s_session_variable_names_the_caller(folder: Path, variable: str) -> None:
    raw = Raw(folder, **{variable: "session-7"})
    mine = raw.ask("tools/call", {"name": "whoami", "arguments": {}, "_meta": META})["result"]["structuredContent"]
    assert (mine["agent"], mine["by"]) == ("session-7", variable)
    raw.close()


def test_what_the_client_s_hook_noted_of_a_call_comes_before_the_session(folder: Path) -> None:
    from dibs.workspace import call_notes

    local = str(folder / ".dibs" / "local")
    call_notes.put(local, "toolu_1", "session-7/helper")
    raw = Raw(folder, CLAUDE_CODE_SESSION_ID="session-7")

    def whoami(**meta: Any) -> Any:
        asked = {"name": "whoami", "arguments": {}, "_meta": {**META, **meta}}
        return raw.ask("tools/call", asked)["result"]["structuredContent"]["agent"]

    assert whoami(**{"claudecode/toolUseId": "toolu_1"}) == "session-7/helper"
    assert whoami(callId="toolu_1") == "session-7/helper"
    assert whoami(**{"claudecode/toolUseId": "toolu_2"}) == "session-7"
    assert whoami(**{"claudecode/toolUseId": "../../../etc/passwd"}) == "session-7"
    call_notes.drop(local, "toolu_1")
    assert whoami(**{"claudecode/toolUseId": "toolu_1"}) == "session-7"
    assert whoami(**as_codex("thread-1")) == "thread-1"
    raw.close()


def test_a_client_without_hooks_has_one_id_as_long_as_its_process(folder: Path) -> None:
    def whoami(raw: Raw) -> Any:
        return raw.ask("tools/call", {"name": "whoami", "arguments": {}, "_meta": META})["result"]["structuredContent"]

    first, second = Raw(folder), Raw(folder)
    one, other = whoami(first), whoami(second)
    assert one["agent"] == other["agent"]
    assert one["agent"].startswith("mcp-")
    first.close()
    second.close()


def test_an_agent_that_calls_is_never_a_person(folder: Path) -> None:
    with (folder / ".dibs" / "config.toml").open("a") as config:
        config.write('\n[roles]\ndefault = "viewer"\n')
    raw = Raw(folder)
    asked = {"name": "claim", "arguments": {"resources": ["a"]}, "_meta": META}
    found = raw.ask("tools/call", asked)["result"]["structuredContent"]
    assert found["error"]["code"] == "forbidden"
    raw.close()


def test_what_was_asked_before_stdin_ends_is_answered(folder: Path) -> None:
    asked = {"name": "claim", "arguments": {"resources": ["a"]}, "_meta": META}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}) + "\n"
    done = subprocess.run(
        [DIBS, "mcp"], cwd=folder, input=line, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert json.loads(done.stdout)["result"]["structuredContent"]["ok"] is True
    assert (done.returncode, done.stderr) == (0, "")
