"""A killed agent is refused every call of every tool, at every client, and works again as soon as it is revived."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.guards.hook import is_stop_marked
from dibs.interfaces import agents as clients
from dibs.interfaces.agents import BEFORE, EDIT, PATCH
from dibs.ledger import ledger_files
from dibs.operations.agents.marks import stop_mark_of
from dibs.workspace import stop_marks
from dibs.workspace.known_clients import NAMES
from tests.interfaces.repository import DIBS, PATIENCE, Repository
from tests.server.hook_server import Server, through
from tests.stores.redis_server import NOTHING, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interfaces.repository import Agent, Answer

HARMLESS = ("ls", "echo hello", "python3 mk.py", "make", "npm test", "curl -X POST https://x", "git fetch", "true")


def everything(agent: Agent) -> list[Answer]:
    """The answers to calls that need no decision but this one."""
    return [
        *[agent.may_run(command) for command in HARMLESS],
        agent.read("b.py"),
        agent.may("Grep", pattern="x"),
        agent.may("WebFetch", url="https://x"),
        agent.may("mcp__other__tool", text="x"),
        agent.may("mcp__dibs__status"),
        agent.may("Task", prompt="x"),
    ]


def is_refused(agent: Agent, name: str = "ada") -> bool:
    answers = everything(agent)
    assert len({answer.code for answer in answers}) == 1, answers
    return all(f"{name} was killed (it went astray)" in answer.refusal for answer in answers)


def kill(repo: Repository, name: str = "ada") -> None:
    assert repo.terminal("kill", name, "--why", "it went astray")["ok"]


def test_every_call_of_a_killed_agent_is_refused_and_passes_once_it_is_revived(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.boot()
    bob.boot()
    kill(repo)
    assert is_refused(ada)
    assert all(answer.allowed for answer in everything(bob))
    assert repo.terminal("revive", "ada")["ok"]
    assert all(answer.allowed for answer in everything(ada))
    assert not stop_marks.is_left(str(repo.local), "ada")
    kill(repo)
    assert is_refused(ada)


def test_the_subagents_of_a_killed_agent_are_refused_too(repo: Repository) -> None:
    ada = repo.agent("ada")
    ada.boot()
    child = ada.born("child")
    kill(repo)
    assert is_refused(child)
    assert repo.terminal("revive", "ada")["ok"]
    assert all(answer.allowed for answer in everything(child))
    kill(repo, "ada/child")
    assert is_refused(child, "ada/child")
    assert all(answer.allowed for answer in everything(ada))


def test_kill_all_stops_every_call_of_every_agent(repo: Repository) -> None:
    agents = [repo.agent(name) for name in ("ada", "bob")]
    for agent in agents:
        agent.boot()
    kill(repo, "all")
    assert is_refused(agents[0])
    assert is_refused(agents[1], "bob")
    assert repo.terminal("revive", "all")["ok"]
    assert all(answer.allowed for agent in agents for answer in everything(agent))


def test_an_agent_that_is_killed_under_its_name_or_another_id_is_refused_by_its_own_id(repo: Repository) -> None:
    session = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
    ada = repo.agent(session)
    ada.boot()
    name = repo.terminal("agents")["agents"]
    with dibs.open(str(repo.folder), agent="pat") as ws:
        ws.kill(next(one["name"] for one in name if one["agent"] == session), why="it went astray")
    assert "was killed" in ada.may_run("ls").refusal
    other = json.dumps(
        {"session_id": "another", "cwd": str(repo.folder), "hook_event_name": "PreToolUse", "tool_name": "Grep",
         "tool_input": {"pattern": "x"}}
    ).encode()  # fmt: skip
    assert ada.entry("claude", given=other).allowed
    known = next(one["name"] for one in name if one["agent"] == session)
    assert "was killed" in ada.entry("claude", given=other, DIBS_AGENT=known).refusal


def test_in_every_working_tree_the_killed_agent_is_refused(repo: Repository) -> None:
    ada = repo.agent("ada", cwd=repo.worktree("side"))
    ada.boot()
    kill(repo)
    assert is_refused(ada)


def _calls(client: str, repo: Repository) -> Iterator[tuple[str, dict[str, Any]]]:
    """A call of each tool that a client's dialect names, and of one that it does not name."""
    spoken = clients.dialect(client)
    event = next(name for name, moment in spoken.EVENTS.items() if moment == BEFORE)
    for tool in [*spoken.TOOLS, *spoken.HARMLESS, "mcp__other__tool", "a_tool_of_tomorrow"]:
        kind = spoken.TOOLS.get(tool, "")
        given: dict[str, Any] = {"command": "ls", "file_path": str(repo.folder / "new.py")}
        if kind == EDIT:
            given |= {"content": "x\n"}
        if kind == PATCH:
            given = {"command": "*** Begin Patch\n*** Add File: new.py\n+x\n*** End Patch\n"}
        yield event, {"session_id": "ada", "cwd": str(repo.folder), "tool_name": tool, "tool_input": given}


@pytest.mark.parametrize("client", NAMES)
def test_each_tool_of_each_client_is_refused_in_its_own_dialect(client: str, repo: Repository) -> None:
    ada = repo.agent("ada")
    ada.boot()
    kill(repo)
    adapter = clients.of(client)
    for event, fields in _calls(client, repo):
        given = json.dumps({**fields, **({} if adapter.names_event else {"hook_event_name": event})}).encode()
        answer = ada.entry(client, *([event] if adapter.names_event else []), given=given)
        assert answer.code == 2, (fields, answer)
        assert "ada was killed (it went astray)" in answer.err, (fields, answer)
        assert adapter.denies(answer.json), (fields, answer)


def test_through_a_server_a_killed_agent_is_refused_and_revived_in_the_same_way(repo: Repository) -> None:
    ada = repo.agent("ada")
    ada.boot()
    server = Server(repo.folder)

    def asked(tool: str, given: dict[str, Any]) -> int:
        payload = {"session_id": "ada", "cwd": str(repo.folder), "hook_event_name": "PreToolUse", "tool_name": tool}
        sent = json.dumps({**payload, "tool_input": given}).encode()
        return through(ada.client, repo.folder, "claude", given=sent).code

    def codes() -> set[int]:
        return {asked("Bash", {"command": "ls"}), asked("Read", {"file_path": str(repo.folder / "a.py")}),
                asked("Grep", {"pattern": "x"}), asked("mcp__x__y", {})}  # fmt: skip

    try:
        assert codes() == {0}
        kill(repo)
        assert codes() == {2}
        assert repo.terminal("revive", "ada")["ok"]
        assert codes() == {0}
    finally:
        server.end()
    assert server.declined == 0


DIES_AFTER_THE_COMMIT = """\
import os, signal, sys
from dibs.stores.sqlite import wakes
wakes.Wakes.wake = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
import dibs
dibs.open(sys.argv[1], agent="pat").kill("ada", why="it went astray")
"""


def test_a_kill_whose_process_dies_right_after_the_commit_counts_at_every_hook(repo: Repository) -> None:
    ada = repo.agent("ada")
    ada.boot()
    done = subprocess.run(
        [sys.executable, "-c", DIES_AFTER_THE_COMMIT, str(repo.folder)], check=False, timeout=PATIENCE,
        env={**repo.env, "PYTHONPATH": str(Path(dibs.__file__).parent.parent)}, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL
    assert [agent["state"] for agent in repo.terminal("agents")["agents"] if agent["agent"] == "ada"] == ["killed"]
    assert is_refused(ada)


def test_a_mark_without_a_kill_costs_one_question_and_is_gone(repo: Repository) -> None:
    ada = repo.agent("ada")
    ada.boot()
    stop_marks.put(str(repo.local), "ada")
    assert ada.may_run("ls").allowed
    assert not stop_marks.is_left(str(repo.local), "ada")


@pytest.mark.parametrize("agent", ["ada", "a" * 130, "ada/child", "ann@host", "zoë", "a.b", "x" * 100, "y" * 101])
def test_the_quick_look_finds_the_mark_that_is_left_for_any_id(agent: str, tmp_path: Path) -> None:
    local = str(tmp_path)
    assert not is_stop_marked(local, agent)
    stop_marks.put(local, agent)
    assert os.listdir(f"{local}/wakes") == [stop_mark_of(agent)]
    assert is_stop_marked(local, agent)
    assert is_stop_marked(local, f"{agent}/below")
    stop_marks.remove(local, f"{agent}/below")
    assert not is_stop_marked(local, agent)


@pytest.mark.parametrize("first", ["Read", "Grep"])
def test_a_kill_by_another_machine_counts_here_after_ten_seconds_at_most(
    first: str, repo: Repository, tmp_path: Path
) -> None:
    """Two clones on one Redis server: nothing that the killing one does is seen in the other's folder."""
    with running(**NOTHING) as redis:
        moved = repo.terminal("store", "move", redis.url)
        assert moved["ok"], moved
        config = repo.folder / ".dibs" / "config.toml"
        config.write_text(f'store = "{redis.url}"\n{config.read_text()}')
        repo.git("add", "-A")
        repo.git("commit", "-q", "-m", "store")
        other = tmp_path / "other"
        repo.git("clone", "-q", str(repo.folder), str(other))
        ada = repo.agent("ada", cwd=repo.folder)
        ada.boot()
        done = subprocess.run(
            [DIBS, "kill", "ada", "--why", "it went astray", "--json"], cwd=other, env=repo.env, capture_output=True,
            text=True, check=False, timeout=PATIENCE, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert json.loads(done.stdout)["ok"], done
        assert not stop_marks.is_left(str(repo.local), "ada")
        earlier = time.time() - ledger_files.FAR_HEARTBEAT_S - 1
        os.utime(repo.local / "alive" / "ada", (earlier, earlier))
        assert "was killed" in ada.may(first, file_path=str(repo.folder / "a.py")).refusal
        os.utime(repo.local / "alive" / "ada")  # from now on the mark that this hook left is enough
        assert is_refused(ada)
        assert repo.terminal("revive", "ada")["ok"]
        assert all(answer.allowed for answer in everything(ada))


def test_what_a_killed_agents_client_still_runs_is_named_to_the_one_who_kills(repo: Repository) -> None:
    ada = repo.agent("ada")
    ada.boot()
    command = ("sh", "-c", "sleep 300 >/dev/null 2>&1 & echo $!")
    left = int(ada.client.run(*command, cwd=repo.folder, CLAUDE_CODE_SESSION_ID="ada").out)
    try:
        answer = repo.terminal("kill", "ada", "--why", "it went astray")
        assert {"agent": "ada", "name": "ada", "pid": left, "command": "sleep 300"} in answer["running"]
    finally:
        os.kill(left, signal.SIGKILL)
