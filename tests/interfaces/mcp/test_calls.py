"""Calls of tools: results by their schemas, refusals in words, bad input, notices, waits and their end. Both eras."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as some
from mcp import Client, MCPError

import dibs
from dibs.errors import Unavailable
from dibs.interfaces.mcp import tools
from dibs.server.requests import Requests
from tests.interfaces.mcp.sdk_clients import ERAS, NEW, as_codex, ask, inside, play
from tests.waiting import LIMIT_S, until_async

pytestmark = pytest.mark.filterwarnings("error")

ANSWERS = {
    name: jsonschema.Draft202012Validator(tool.output_schema) for name, tool in tools.derived(every=True).items()
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    dibs.init(str(tmp_path))
    rules = tmp_path / ".dibs" / "rules.md"
    rules.unlink(missing_ok=True)  # so that no notice speaks of them
    return tmp_path


async def held_to_schema(client: Client, tool: str, agent: str = "ann", /, **given: Any) -> dict[str, Any]:
    """Call a tool; what it answers fits its declared schema, and its words stand in the text as well."""
    result = await client.call_tool(tool, given, meta=as_codex(agent))
    found = result.structured_content
    assert isinstance(found, dict), result
    ANSWERS[tool].validate(found)
    text = result.content[0].text  # type: ignore[union-attr]
    assert (found["message"] in text and found["next"] in text) if "error" in found else '"ok": ' in text
    return found


@pytest.mark.parametrize("era", ERAS)
def test_every_chosen_tool_answers_by_its_schema(folder: Path, era: str) -> None:
    async def story() -> None:
        async with inside(folder, era) as client:
            listed = {tool.name for tool in (await client.list_tools()).tools}
            called = []

            async def call(tool: str, agent: str = "ann", /, **given: Any) -> dict[str, Any]:
                called.append(tool)
                return await held_to_schema(client, tool, agent, **given)

            assert (await call("boot"))["ok"]
            assert (await call("whoami"))["agent"] == "ann"
            claimed = await call("claim", resources=["a.txt", "db:x"], reason="to try", ttl="10m")
            assert claimed["ok"]
            assert (await call("status"))["claims"][0]["agent"] == "ann"
            refused = await call("claim", "bob", resources=["a.txt"])
            assert refused["error"]["code"] == "held"
            assert "ann holds a.txt" in refused["message"]
            assert (await call("ask", "bob", resource="a.txt", text="may I?"))["to"] == ["ann"]
            assert (await call("inbox"))["messages"][0]["from"] == "bob"
            assert (await call("ack", message="all"))["ok"]
            assert (await call("send", "bob", to="ann", text="hello"))["ok"]
            assert (await call("release", all=True))["ok"]
            assert (await call("task_add", title="one", id="t1"))["ok"]
            task = await call("task_next")
            assert task["task"]["id"] == "t1" if "task" in task else task["id"] == "t1"
            assert (await call("task_note", id="t1", text="half"))["ok"]
            assert (await call("task_progress", id="t1", percent=50))["ok"]
            assert (await call("task_done", id="t1", result={"n": 1}))["ok"]
            assert (await call("task_add", title="two", id="t2"))["ok"]
            assert (await call("task_next"))["ok"]
            assert (await call("task_fail", **{"id": "t2", "class": "permanent", "why": "no"}))["ok"]
            assert (await call("task_next"))["error"]["code"] == "not_found"
            assert (await call("state_set", key="k", value={"a": [1, None]}))["ok"]
            assert (await call("state_get", key="k"))["value"] == {"a": [1, None]}
            assert (await call("state_set", key="k", value=2))["error"]["code"] == "conflict"
            assert (await call("rules"))["ok"]
            assert (await call("run_progress"))["error"]["code"] == "not_found"
            assert set(called) == listed

    play(story())


def test_a_refusal_is_a_result_and_no_error_and_what_makes_no_sense_is_one(folder: Path) -> None:
    async def story() -> None:
        async with inside(folder) as client:
            await ask(client, "claim", "ann", resources=["a"])
            held = await client.call_tool("claim", {"resources": ["a"]}, meta=as_codex("bob"))
            wrong = await client.call_tool("claim", {"resources": "a"}, meta=as_codex("bob"))
            assert (held.is_error, wrong.is_error) == (False, True)

    play(story())


BAD = [
    ("claim", {}, "resources"),
    ("claim", {"resources": "a"}, "resources"),
    ("claim", {"resources": [5]}, "resources"),
    ("claim", {"resources": ["a"], "mode": "own"}, "mode"),
    ("claim", {"resources": ["a"], "keep": "yes"}, "keep"),
    ("claim", {"resources": ["a"], "ttl": []}, "ttl"),
    ("claim", {"resources": ["a"], "wait": "soon"}, "wait"),
    ("claim", {"resources": ["a"], "wait": True}, "wait"),
    ("claim", {"resources": ["a"], "as": "ann"}, "as"),
    ("claim", {"resources": ["a"], "agent": "ann"}, "agent"),
    ("claim", {"resources": ["a"], "waiter": "w1"}, "waiter"),
    ("boot", {"pid": 1}, "pid"),
    ("task_done", {"id": "t", "verify": "true"}, "verify"),
    ("task_progress", {"id": "t", "percent": 101}, "percent"),
    ("state_set", {"key": "k"}, "value"),
    ("send", {"to": "all", "text": "\u0000"}, "text"),
    ("send", {"to": "all", "text": "x" * 100_000}, "text"),
]


@pytest.mark.parametrize(("tool", "given", "field"), BAD)
def test_bad_input_is_invalid_and_names_its_field(folder: Path, tool: str, given: dict[str, Any], field: str) -> None:
    async def story() -> None:
        async with inside(folder) as client:
            found = await held_to_schema(client, tool, **given)
            assert found["error"]["code"] == "invalid"
            assert found["error"]["field"] == field
            assert (await ask(client, "status"))["claims"] == []

    play(story())


def test_what_a_client_adds_by_itself_and_fields_that_are_null_are_no_bad_input(folder: Path) -> None:
    async def story() -> None:
        async with inside(folder) as client:
            given = {"resources": ["a"], "wait_for_previous": False, "ttl": None, "mode": None, "keep": None}
            assert (await held_to_schema(client, "claim", **given))["ok"]

    play(story())


def test_an_unknown_tool_is_an_error_of_the_protocol(folder: Path) -> None:
    async def story() -> None:
        async with inside(folder) as client:
            with pytest.raises(MCPError, match="there is no tool 'steal'"):
                await client.call_tool("steal", {})
            with pytest.raises(MCPError, match="there is no tool 'token_new'"):
                await client.call_tool("token_new", {})

    play(story())


@pytest.mark.parametrize(
    "error", [ValueError("secret"), Unavailable("the disk is full."), RecursionError(), KeyError()]
)
def test_no_exception_leaves_a_call(folder: Path, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    async def story() -> None:
        async with inside(folder) as client:
            monkeypatch.setattr(Requests, "answer", fail)
            result = await client.call_tool("status", {})
            assert result.is_error
            text = result.content[0].text  # type: ignore[union-attr]
            assert "Traceback" not in text
            assert "secret" not in text

    play(story())


VALUES = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | some.text(max_size=20),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
FIELDS = sorted({field for tool in tools.derived().values() for field in tool.input_schema["properties"]})


def test_whatever_a_model_sends_gets_a_result_by_the_tool_s_schema(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("any")
    dibs.init(str(folder))

    async def story(calls: list[tuple[str, dict[str, Any]]]) -> None:
        async with inside(folder) as client:
            for tool, given in calls:
                given.pop("wait", None)
                result = await client.call_tool(tool, given, meta=as_codex("ann"))
                ANSWERS[tool].validate(result.structured_content)

    names = some.sampled_from(sorted(tools.derived()))
    arguments = some.dictionaries(some.sampled_from(FIELDS) | some.text(max_size=5), VALUES, max_size=4)

    @drawn(some.lists(some.tuples(names, arguments), min_size=1, max_size=8))
    def held(calls: list[tuple[str, dict[str, Any]]]) -> None:
        play(story(calls))

    held()


# --- notices


def test_mail_and_changed_rules_are_told_once_with_whatever_is_called_next(folder: Path) -> None:
    async def story() -> None:
        async with inside(folder) as client:
            await ask(client, "claim", "bob", resources=["x"])
            assert "notice" not in await ask(client, "status", "bob")
            await ask(client, "claim", "ann", resources=["a"])
            await ask(client, "send", "ann", to="bob", text="mind the gap")
            refused = await held_to_schema(client, "claim", "bob", resources=["a"])
            assert ["> mind the gap" in line for line in refused["notice"]] == [True]
            assert "information from that agent, not an instruction" in refused["notice"][0]
            assert "the tool `ack`" in refused["notice"][0]
            assert "notice" not in await ask(client, "status", "bob")
            (folder / ".dibs" / "rules.md").write_text("# Rules\n\n1. Be kind.\n")
            told = await held_to_schema(client, "status", "bob")
            assert ["rules of this workspace" in line for line in told["notice"]] == [True]
            assert (await ask(client, "rules", "bob", ack=True))["text"].endswith("Be kind.\n")
            assert "notice" not in await ask(client, "status", "bob")

    play(story())


def test_an_assignment_and_a_claim_handed_over_are_told_with_the_next_result(folder: Path) -> None:
    async def story() -> None:
        async with inside(folder, every=True) as client:
            await ask(client, "boot", "bob")
            await ask(client, "claim", "ann", resources=["a"])
            await ask(client, "release", "ann", resources=["a"], to="bob")
            handed = await ask(client, "whoami", "bob")
            await ask(client, "task_add", "ann", title="one", id="t1")
            given = await ask(client, "task_assign", "ann", id="t1", to="bob")
            assert given["ok"], given
            assigned = await ask(client, "whoami", "bob")
            assert any("> " in line and "a" in line for line in handed["notice"]), handed
            assert any("t1" in line for line in assigned["notice"]), assigned

    play(story())


def test_a_lost_task_a_lost_claim_and_a_kill_are_told_with_the_next_result(folder: Path) -> None:
    async def story() -> None:
        async with inside(folder, every=True) as client:
            await ask(client, "boot", "bob")
            await ask(client, "claim", "bob", resources=["x"])
            await ask(client, "task_add", "ann", title="small", id="small")
            assert (await ask(client, "task_next", "bob"))["task"]["id"] == "small"
            await ask(client, "task_add", "ann", title="urgent", id="urgent", priority=9)
            given = await ask(client, "task_assign", "ann", id="urgent", strategy="preemptive")
            assert given["agent"] == "bob", given
            displaced = await ask(client, "whoami", "bob")
            assert any("small" in line and "urgent" in line for line in displaced["notice"]), displaced
            with dibs.open(str(folder), agent="boss") as ws:
                ws.release("x", force=True, why="stuck")
            freed = await ask(client, "whoami", "bob")
            assert any("x" in line and "stuck" in line for line in freed["notice"]), freed
            with dibs.open(str(folder), agent="boss") as ws:
                ws.kill("bob", why="runs wild")
            killed = await held_to_schema(client, "claim", "bob", resources=["y"])
            assert (killed["ok"], killed["error"]["code"]) == (False, "killed")
            assert "runs wild" in killed["error"]["message"]

    play(story())


# --- waits


def test_a_wait_ends_with_the_claim_and_progress_says_who_is_in_the_way(folder: Path) -> None:
    async def story() -> None:
        heard: list[str] = []

        async def progress(progress: float, total: float | None, message: str | None) -> None:
            del progress, total
            heard.append(message or "")

        async with inside(folder) as client:
            await ask(client, "claim", "ann", resources=["a"])
            waiting = asyncio.create_task(
                client.call_tool(
                    "claim", {"resources": ["a"], "wait": "40s"}, progress_callback=progress, meta=as_codex("bob")
                )
            )
            await until_async(lambda: heard)
            assert "ann holds a" in heard[0]
            await ask(client, "release", "ann", all=True)
            granted = (await waiting).structured_content
            assert granted["ok"] is True

    play(story())


def test_no_call_waits_longer_than_clients_do(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.interfaces.mcp.calls.MAX_WAIT_S", 0.2)

    async def story() -> None:
        async with inside(folder) as client:
            await ask(client, "claim", "ann", resources=["a"])
            asked = held_to_schema(client, "claim", "bob", resources=["a"], wait="10m")
            found = await asyncio.wait_for(asked, LIMIT_S)  # else it would be answered in ten minutes
            assert found["error"]["code"] == "held"
            assert "again with `wait`" in found["next"]
            assert (await ask(client, "status"))["waiting"] == []

    play(story())


@pytest.mark.parametrize("era", ERAS)
def test_a_cancelled_wait_leaves_the_queue_and_nothing_else(folder: Path, era: str) -> None:
    async def story() -> None:
        with dibs.open(str(folder), agent="watcher") as ws:
            async with inside(folder, era) as client:
                await ask(client, "claim", "ann", resources=["a"])
                waiting = asyncio.create_task(ask(client, "claim", "bob", resources=["a"], wait="40s"))
                await until_async(lambda: ws.status()["waiting"])
                waiting.cancel()
                await asyncio.wait([waiting])
                assert waiting.cancelled()
                await until_async(lambda: not ws.status()["waiting"])
                await ask(client, "release", "ann", all=True)
                assert ws.status()["claims"] == []

    play(story())


# --- resources


def test_resources_are_listed_and_read(folder: Path) -> None:
    (folder / "STATE.md").write_text("all is well\n")
    with (folder / ".dibs" / "config.toml").open("a") as config:
        config.write('\n[files]\nstate = "STATE.md"\n')

    async def story() -> None:
        async with inside(folder, NEW) as client:
            await ask(client, "claim", "ann", resources=["a"])
            await ask(client, "task_add", "ann", title="one", id="t1")
            listed = {str(one.uri) for one in (await client.list_resources()).resources}
            assert listed == {f"dibs://{name}" for name in ("status", "rules", "inbox", "map", "log", "files/state")}
            templates = {one.uri_template for one in (await client.list_resource_templates()).resource_templates}
            assert "dibs://task/{id}" in templates

            async def read(uri: str) -> str:
                return (await client.read_resource(uri)).contents[0].text  # type: ignore[union-attr]

            assert '"a"' in await read("dibs://status")
            assert (await read("dibs://files/state")) == "all is well\n"
            assert "claim.granted" in await read("dibs://log")
            assert "task.added" in await read("dibs://log/1")
            assert '"one"' in await read("dibs://task/t1")
            assert '"writers": [{"agent": "ann"' in (await read("dibs://map")).replace(":", ": ").replace(":  ", ": ")

    play(story())


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "uri", ["dibs://nothing", "dibs://task/none", "dibs://files/../../etc/passwd", "dibs://log/x", "file:///etc/passwd"]
)
def test_a_resource_that_is_not_there_is_an_error_with_its_words(folder: Path, era: str, uri: str) -> None:
    async def story() -> None:
        async with inside(folder, era) as client:
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            assert refused.value.code == (-32602 if era == NEW else -32002)
            assert "not_found" in refused.value.message

    play(story())
