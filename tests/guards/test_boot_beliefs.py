"""A session starts, by its client's hook: whoever believes to have a task hears first of all whose it is."""

from __future__ import annotations

import json

import pytest

from tests.interfaces.repository import Agent, Repository


def started(agent: Agent, client: str = "claude", **environment: str) -> str:
    """What the model is told at a start of this session, in this environment."""
    payload = {"session_id": agent.session, "cwd": str(agent.cwd), "hook_event_name": "SessionStart",
               "source": "compact"}  # fmt: skip
    answer = agent.entry(client, given=json.dumps(payload).encode(), seconds=60, **environment)
    assert answer.code == 0, answer
    told = answer.json if client == "copilot" else answer.json["hookSpecificOutput"]
    return str(told["additionalContext"])


@pytest.mark.parametrize("client", ["claude", "codex", "gemini", "copilot"])
def test_the_second_agent_hears_first_of_all_that_task_103_is_the_others(repo: Repository, client: str) -> None:
    repo.terminal("task", "add", "the work", "--id", "TASK-103")
    one, two = repo.agent("one"), repo.agent("two", client=repo.client(client))
    one.boot()
    assert one.dibs("task", "claim", "TASK-103")["ok"]
    first, second, *_ = started(two, client, CURRENT_TASK_ID="TASK-103").splitlines()
    assert first == "one took TASK-103 under a minute ago: do not work on it."
    assert second == "dibs coordinates the agents in this repository. You are two."
    assert started(two, client, DIBS_TASK="TASK-103").startswith("one took TASK-103 ")
    mine = started(one, CURRENT_TASK_ID="TASK-103")
    assert "do not work on it" not in mine
    assert "Your task is TASK-103" in mine


def test_a_task_that_nobody_has_must_be_claimed_again_first(repo: Repository) -> None:
    repo.terminal("task", "add", "the work", "--id", "TASK-103")
    two = repo.agent("two")
    told = started(two, CURRENT_TASK_ID="TASK-103")
    assert told.startswith("TASK-103 is nobody's: claim it again before you work on it (`")
    assert "dibs task claim TASK-103`).\n" in told
    assert "LOST" not in told, "it never had it"


def test_a_lost_task_comes_first_at_each_start_until_it_is_acknowledged(repo: Repository) -> None:
    repo.terminal("task", "add", "the work", "--id", "TASK-103")
    one, two = repo.agent("one"), repo.agent("two")
    one.boot()
    assert one.dibs("task", "claim", "TASK-103")["ok"]
    one.client.kill()
    two.boot()
    assert two.dibs("task", "claim", "TASK-103")["ok"]
    again = repo.agent("one")
    for _ in range(2):
        line = started(again).splitlines()[0]
        assert line.startswith("You LOST TASK-103 under a minute ago (its process was gone). two took TASK-103 ")
    claim = line.partition("dibs ack ")[2].partition("`")[0]
    assert again.dibs("ack", claim)["ok"]
    assert "TASK-103" not in started(again).splitlines()[0]


def test_agent_id_and_the_session_are_one_agent_and_a_second_session_of_that_id_is_told(repo: Repository) -> None:
    repo.terminal("task", "add", "the work", "--id", "T")
    assert repo.terminal("task", "claim", "T", "--as", "agent-77")["ok"]
    one, two = repo.agent("sess-1"), repo.agent("sess-2")
    told = started(one, AGENT_ID="agent-77", CURRENT_TASK_ID="T")
    assert "Your task is T " in told
    assert "LOST" not in told
    told = started(two, AGENT_ID="agent-77", CURRENT_TASK_ID="T")
    first, second, *_ = told.splitlines()
    assert first == "sess-1 took T under a minute ago: do not work on it."
    assert second.startswith("Your environment calls you agent-77, but that is sess-1, another session")
    shell = one.dibs("claim", "a.py", "--as", "agent-77")
    assert (shell["ok"], shell["agent"]) == (True, "sess-1"), "its other id is no other agent"


def test_an_environment_that_makes_no_sense_is_no_belief(repo: Repository) -> None:
    told = started(repo.agent("one"), CURRENT_TASK_ID="two words", DIBS_TASK="x" * 500, AGENT_ID="a\tb")
    assert told.startswith("dibs coordinates the agents in this repository. You are one.")


def test_dibs_boot_reads_the_same_environment_and_exits_1(repo: Repository) -> None:
    repo.terminal("task", "add", "the work", "--id", "T")
    one = repo.agent("one")
    one.boot()
    one.dibs("task", "claim", "T")
    two = repo.agent("two")
    two.boot()
    words = ("bash", "-c", "dibs boot --json; echo $?")
    done = two.client.run(
        *words, cwd=two.cwd, CLAUDE_CODE_SESSION_ID="two", PATH=repo.path, CURRENT_TASK_ID="T", AGENT_ID="agent-2"
    )
    answer, code = done.out.splitlines()
    assert code == "1"
    told = json.loads(answer)
    assert [(loss["resources"], loss["holder"], loss["had"]) for loss in told["lost"]] == [(["task:T"], "one", False)]
    plain = repo.person.client.run("bash", "-c", "dibs boot --json", cwd=repo.folder, PATH=repo.path, AGENT_ID="ann")
    assert json.loads(plain.out)["agent"] == "ann"
