"""`[[pools.use]]`: a matching command has units of a pool from before it runs to its end. Its hook waits for them."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from dibs.machine import processes
from dibs.operations.guards.pool_guard import START_MS
from tests.guards.test_waiting_files import hook_below, in_line, waiters
from tests.interfaces.repository import HOOK, PATIENCE, Repository
from tests.server.hook_server import Server, through
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interfaces.repository import Agent, Answer

POOLS = """
[pools]
build = { size = 1, wait = "60s" }
gpu = { units = ["a", "b"], wait = "60s" }
[[pools.use]]
match = ["suite", "npm test"]
pool = "build"
[[pools.use]]
match = ["train *"]
pool = "gpu"
units = 2
"""


def with_pools(repo: Repository, text: str = POOLS) -> Repository:
    repo.config(text)
    assert repo.terminal("init", "--clients", "claude")["ok"]
    return repo


@pytest.fixture
def pools(repo: Repository) -> Repository:
    """A workspace with pools that commands use, and with the settings that `dibs init` writes for it."""
    return with_pools(repo)


@pytest.fixture
def beside() -> Iterator[ThreadPoolExecutor]:
    """Threads for hooks that wait."""
    with ThreadPoolExecutor(8) as threads:
        yield threads


def begun(repo: Repository, name: str, command: str = "suite -q", *, real: bool = False) -> Agent:
    """An agent whose command was let through."""
    agent = born(repo, name, real=real)
    answer = agent.may_run(command, "first")
    assert answer.silent, answer
    return agent


def born(repo: Repository, name: str, *, real: bool = False) -> Agent:
    from tests.interfaces.repository import Client

    if real:
        client = Client(repo.scratch, "claude", repo.env, real=True)
        repo._clients.append(client)
        agent = repo.agent(name, client=client)
    else:
        agent = repo.agent(name)
    agent.boot()
    return agent


def units(repo: Repository) -> dict[str, list[str]]:
    return {
        agent: [name for name in held if name.startswith("pool:")]
        for agent, held in repo.claims().items()
        if any(name.startswith("pool:") for name in held)
    }


def done(agent: Agent, command: str = "suite -q", call: str = "first", **response: Any) -> Answer:
    """The command of an agent is over."""
    return agent.hook(
        "PostToolUse", tool_name="Bash", tool_input={"command": command}, tool_response=response, tool_use_id=call
    )


def started(agent: Agent) -> int:
    """A program that runs on in the background of an agent's shell."""
    command = "sleep 1000 >/dev/null 2>&1 & echo $!"
    return int(agent.client.run("bash", "-c", command, cwd=agent.cwd, CLAUDE_CODE_SESSION_ID=agent.session).out)


def ended(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    until(lambda: not processes.name_of(pid))


# --- a turn


def test_a_matching_command_has_a_unit_until_its_end(pools: Repository) -> None:
    ada = begun(pools, "ada")
    assert units(pools) == {"ada": ["pool:build:0"]}
    assert pools.person.dibs("status")["claims"][0]["reason"] == "suite -q"
    done(ada)
    assert units(pools) == {}


def test_a_failed_command_gives_its_unit_back(pools: Repository) -> None:
    ada = begun(pools, "ada")
    ada.hook(
        "PostToolUseFailure", tool_name="Bash", tool_input={"command": "suite -q"}, tool_use_id="first",
        error="Exit code 3",
    )  # fmt: skip
    assert units(pools) == {}


@pytest.mark.parametrize(
    "command",
    [
        "cd /tmp && suite", "time suite -x", "timeout 5 suite", "env A=1 suite", "uv run suite", "npx suite",
        "python -m suite", "bash -c 'suite'", "suite | tail -3", ".venv/bin/suite tests", "npm test", "npm run unit",
        "make check", "./run.sh", "npm --silent test", "for i in 1 2; do suite; done",
    ],
)  # fmt: skip
def test_commands_that_run_what_is_asked_for_take_a_unit(pools: Repository, command: str) -> None:
    pools.write("package.json", '{"scripts": {"unit": "suite --unit"}}')
    pools.write("Makefile", "check: lint\n\tsuite\nlint:\n\techo\n")
    pools.write("run.sh", "#!/bin/sh\nif true; then\n  suite\nfi\n").chmod(0o755)
    begun(pools, "ada", command)
    assert units(pools) == {"ada": ["pool:build:0"]}


@pytest.mark.parametrize("command", ["echo suite", "git commit -m suite --allow-empty", "npm install", "ls"])
def test_other_commands_take_none(pools: Repository, command: str) -> None:
    begun(pools, "ada", command)
    assert units(pools) == {}


def test_a_command_of_several_pools_takes_them_all_or_none(pools: Repository, beside: ThreadPoolExecutor) -> None:
    ada = begun(pools, "ada", "train x")
    assert units(pools) == {"ada": ["pool:gpu:a", "pool:gpu:b"]}
    bob = born(pools, "bob")
    answer = beside.submit(bob.may_run, "suite && train x")
    in_line(pools, "bob")
    assert units(pools) == {"ada": ["pool:gpu:a", "pool:gpu:b"]}, "the other pool's is not held meanwhile"
    done(ada, "train x")
    assert answer.result(PATIENCE).silent
    assert units(pools) == {"bob": ["pool:build:0", "pool:gpu:a", "pool:gpu:b"]}


def test_two_commands_at_once_of_one_agent_take_two_units(repo: Repository) -> None:
    with_pools(repo, POOLS.replace("size = 1", "size = 2"))
    ada = begun(repo, "ada")
    assert ada.may_run("suite --other", "second").silent
    assert units(repo) == {"ada": ["pool:build:0", "pool:build:1"]}
    done(ada)
    assert units(repo) == {"ada": ["pool:build:1"]}
    done(ada, "suite --other", "second")
    assert units(repo) == {}


def test_an_agent_that_holds_a_unit_by_hand_runs_under_it(pools: Repository) -> None:
    ada = born(pools, "ada")
    assert ada.dibs("claim", "pool:build")["ok"]
    assert ada.may_run("suite", "first").silent
    done(ada, "suite")
    assert units(pools) == {"ada": ["pool:build:0"]}, "it is not the command's to give back"
    assert ada.may_run("suite", "second").silent
    answer = ada.may_run("suite", "third")
    assert "deadlock" in answer.refusal, "the other command uses that one, and there is no other unit"
    done(ada, "suite", "second")
    assert ada.may_run("suite", "fourth").silent


# --- waiting


def test_commands_wait_in_line_for_a_unit(pools: Repository, beside: ThreadPoolExecutor) -> None:
    ada = begun(pools, "ada")
    bob, eve = born(pools, "bob"), born(pools, "eve")
    first = beside.submit(bob.may_run, "suite", "first")
    in_line(pools, "bob")
    second = beside.submit(eve.may_run, "suite", "first")
    in_line(pools, "bob", "eve")
    assert pools.person.dibs("status")["waiting"][0]["reason"] == "suite"
    done(ada)
    assert first.result(PATIENCE).silent
    assert units(pools) == {"bob": ["pool:build:0"]}
    assert not second.done()
    done(bob, "suite")
    assert second.result(PATIENCE).silent
    assert units(pools) == {"eve": ["pool:build:0"]}


@pytest.mark.parametrize(("on_timeout", "code"), [("refuse", 2), ("pass", 0)])
def test_after_the_pools_time_the_command_is_refused_or_passes(repo: Repository, on_timeout: str, code: int) -> None:
    with_pools(repo, POOLS.replace('size = 1, wait = "60s"', f'size = 1, wait = "1s", on_timeout = "{on_timeout}"'))
    begun(repo, "ada")
    bob = born(repo, "bob")
    answer = bob.may_run("suite")
    assert answer.code == code, answer
    assert answer.took >= 1
    assert units(repo) == {"ada": ["pool:build:0"]}
    assert waiters(repo) == []
    if code:
        assert "pool:build" in answer.refusal
        assert "dibs claim pool:build --wait" in answer.refusal


def test_a_hook_without_the_time_for_it_says_how_to_wait(repo: Repository) -> None:
    repo.terminal("init", "--clients", "claude")
    repo.config(POOLS)
    begun(repo, "ada")
    bob = born(repo, "bob")
    assert "dibs claim pool:build --wait" in bob.may_run("suite").refusal
    assert waiters(repo) == []


def test_a_wait_that_its_client_ends_leaves_nothing(pools: Repository, beside: ThreadPoolExecutor) -> None:
    begun(pools, "ada")
    bob = born(pools, "bob")
    answer = beside.submit(bob.may_run, "suite")
    in_line(pools, "bob")
    os.kill(hook_below(bob), signal.SIGTERM)
    assert "ended by the client" in answer.result(PATIENCE).refusal
    assert waiters(pools) == []
    assert units(pools) == {"ada": ["pool:build:0"]}


@pytest.mark.slow
def test_what_is_handed_to_a_killed_hook_passes_on(pools: Repository, beside: ThreadPoolExecutor) -> None:
    ada = begun(pools, "ada")
    bob, eve = born(pools, "bob"), born(pools, "eve")
    first = beside.submit(bob.may_run, "suite")
    in_line(pools, "bob")
    second = beside.submit(eve.may_run, "suite")
    in_line(pools, "bob", "eve")
    os.kill(hook_below(bob), signal.SIGKILL)
    done(ada)
    assert second.result(PATIENCE).silent
    assert first.result(PATIENCE).code == -signal.SIGKILL
    assert units(pools) == {"eve": ["pool:build:0"]}


def test_the_unit_of_a_client_that_was_killed_goes_to_who_waits(pools: Repository, beside: ThreadPoolExecutor) -> None:
    ada = begun(pools, "ada")
    bob = born(pools, "bob")
    answer = beside.submit(bob.may_run, "suite")
    in_line(pools, "bob")
    ada.client.kill()
    assert answer.result(PATIENCE).silent
    assert units(pools) == {"bob": ["pool:build:0"]}


def test_a_killed_client_that_waits_gets_no_unit(pools: Repository, beside: ThreadPoolExecutor) -> None:
    ada = begun(pools, "ada")
    bob = born(pools, "bob")
    beside.submit(bob.may_run, "suite")
    in_line(pools, "bob")
    hook = hook_below(bob)
    bob.client.kill()
    until(lambda: not processes.name_of(hook), "its hook ends")
    done(ada)
    assert units(pools) == {}
    assert waiters(pools) == []


def test_a_hook_that_has_outlived_its_client_from_the_start_gets_no_unit(pools: Repository) -> None:
    ada = born(pools, "ada")
    ada.client.kill()
    payload, out, code = (pools.scratch / name for name in ("payload", "out", "code"))
    payload.write_text(
        json.dumps({
            "session_id": "ada", "cwd": str(ada.cwd), "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": {"command": "suite"}, "tool_use_id": "first",
        })
    )  # fmt: skip
    command = f"({shlex.join(HOOK)} claude <{payload} >{out} 2>&1; echo $? >{code}) &"
    subprocess.run(["sh", "-c", command], cwd=ada.cwd, env=pools.env, check=True)  # nothing is above it but init
    until(lambda: code.exists() and code.read_text(), "the hook ends")
    assert code.read_text() == "2\n", out.read_text()
    assert units(pools) == {}


def test_a_refused_command_gives_its_unit_back(pools: Repository) -> None:
    ada = born(pools, "ada")
    ada.edit("a.py", "ada's\n")
    bob = born(pools, "bob")
    assert "ada holds a.py" in bob.may_run("suite && sed -i s/a/b/ a.py").refusal
    assert units(pools) == {}


def test_a_command_that_is_refused_after_its_wait_gives_its_unit_back(
    pools: Repository, beside: ThreadPoolExecutor
) -> None:
    ada = begun(pools, "ada")
    bob, eve = born(pools, "bob"), born(pools, "eve")
    answer = beside.submit(bob.may_run, "suite && git stash")
    in_line(pools, "bob")
    eve.edit("a.py", "eve's\n")  # by now the command would take that away
    done(ada)
    assert "a.py" in answer.result(PATIENCE).refusal
    assert units(pools) == {}


def test_a_git_command_leaves_the_unit_of_another_command(pools: Repository) -> None:
    ada = begun(pools, "ada")
    ada.bash("git commit -q -m x --allow-empty")
    assert units(pools) == {"ada": ["pool:build:0"]}


def test_a_command_of_a_rate_waits_for_its_token(repo: Repository) -> None:
    with_pools(repo, '\n[pools]\napi = { rate = "60/min" }\n[[pools.use]]\nmatch = ["call"]\npool = "api"\n')
    ada, bob = born(repo, "ada"), born(repo, "bob")
    assert ada.may_run("call").silent
    assert bob.may_run("call").silent
    assert [event["agent"] for event in repo.events("wait.queued")] == ["bob"]
    assert units(repo) == {}


def test_a_command_has_a_unit_of_its_machine(repo: Repository, beside: ThreadPoolExecutor) -> None:
    with_pools(repo, POOLS.replace("size = 1", 'size = 1, scope = "machine"'))
    ada = begun(repo, "ada")
    assert units(repo) == {"ada": [f"pool:build@{processes.host()}:0"]}
    bob = born(repo, "bob")
    answer = beside.submit(bob.may_run, "suite")
    in_line(repo, "bob")
    done(ada)
    assert answer.result(PATIENCE).silent


# --- ends that no client tells of


def test_a_command_in_the_background_keeps_its_unit_until_it_is_over(pools: Repository) -> None:
    ada = begun(pools, "ada")
    running = started(ada)
    done(ada, backgroundTaskId="b1")
    ada.stop()
    ada.hook("UserPromptSubmit", prompt="and now?")
    assert units(pools) == {"ada": ["pool:build:0"]}
    ended(running)
    said = "<task-notification>\n<task-id>b1</task-id>\n<tool-use-id>first</tool-use-id>\n<status>completed</status>"
    ada.hook("UserPromptSubmit", prompt=said)
    assert units(pools) == {}


def test_a_turn_that_is_over_leaves_no_unit_of_what_does_not_run(pools: Repository) -> None:
    ada = begun(pools, "ada")  # its permission was denied: no client tells of that
    ada.stop()
    assert units(pools) == {}


def test_a_turn_that_is_over_leaves_the_unit_to_what_runs_on(pools: Repository) -> None:
    ada = begun(pools, "ada", "suite &")
    running = started(ada)
    done(ada, "suite &")
    ada.stop()
    assert units(pools) == {"ada": ["pool:build:0"]}
    ended(running)
    ada.stop()
    assert units(pools) == {}


@pytest.mark.slow
def test_who_waits_gets_the_unit_of_a_command_that_was_interrupted(
    pools: Repository, beside: ThreadPoolExecutor
) -> None:
    begun(pools, "ada")
    bob = born(pools, "bob")
    answer = beside.submit(bob.may_run, "suite")
    in_line(pools, "bob")
    assert units(pools) == {"ada": ["pool:build:0"]}, "it may begin yet"
    found = answer.result(PATIENCE)
    assert found.silent
    assert found.took > START_MS / 1000 - 2
    assert units(pools) == {"bob": ["pool:build:0"]}


@pytest.mark.slow
def test_who_waits_does_not_get_the_unit_of_a_command_that_runs(pools: Repository, beside: ThreadPoolExecutor) -> None:
    ada = begun(pools, "ada")
    running = started(ada)
    bob = born(pools, "bob")
    answer = beside.submit(bob.may_run, "suite")
    in_line(pools, "bob")
    with pytest.raises(TimeoutError):
        answer.result(START_MS / 1000 + 3)
    assert units(pools) == {"ada": ["pool:build:0"]}
    ended(running)
    assert answer.result(PATIENCE).silent


@pytest.mark.slow
def test_while_a_person_is_asked_the_command_may_begin_yet(pools: Repository, beside: ThreadPoolExecutor) -> None:
    ada = begun(pools, "ada")
    ada.hook("PermissionRequest", tool_name="Bash", tool_input={"command": "suite -q"})
    bob = born(pools, "bob")
    answer = beside.submit(bob.may_run, "suite")
    in_line(pools, "bob")
    with pytest.raises(TimeoutError):
        answer.result(START_MS / 1000 + 3)
    assert units(pools) == {"ada": ["pool:build:0"]}
    ada.stop()  # the answer was no
    assert answer.result(PATIENCE).silent


def test_an_interrupt_of_codex_ends_the_unit_of_what_does_not_run(pools: Repository) -> None:
    ada = begun(pools, "ada")
    payload = {"session_id": "ada", "cwd": str(ada.cwd), "hook_event_name": "Interrupt"}
    assert ada.entry("codex", given=json.dumps(payload).encode()).code == 0
    assert units(pools) == {}


def test_a_server_leaves_the_waiting_to_the_hooks_own_process(pools: Repository, beside: ThreadPoolExecutor) -> None:
    server = Server(pools.folder)
    try:
        ada = begun(pools, "ada")
        bob = born(pools, "bob")
        sent = {
            "session_id": "bob", "cwd": str(bob.cwd), "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": {"command": "suite"}, "tool_use_id": "first",
        }  # fmt: skip
        given = json.dumps(sent).encode()
        answer = beside.submit(lambda: through(bob.client, pools.folder, "claude", given=given))
        in_line(pools, "bob")
        assert [event["data"]["why"] for event in pools.events("wait.ended")] == ["gave_up"], "the server's own place"
        done(ada)
        assert answer.result(PATIENCE).silent
        assert units(pools) == {"bob": ["pool:build:0"]}
        server.end()
        assert server.declined == 1
    finally:
        server.kill()
