"""A Python program in an agent's shell speaks for that agent and its subagents, as a command there does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dibs

if TYPE_CHECKING:
    from tests.interfaces.repository import Agent, Answer, Repository

OPENED = "import dibs; ws = dibs.open(%s); print(ws.claim('mine.py').token)"


@pytest.fixture
def ben(repo: Repository) -> Agent:
    ann, made = repo.agent("ann"), repo.agent("ben")
    for agent in (ann, made):
        agent.boot()
    ann.dibs("claim", "zz.py")
    return made


def python(agent: Agent, code: str, **env: str) -> Answer:
    """A program that this agent's client runs in its shell."""
    source = str(Path(dibs.__file__).parent.parent)
    given: Any = {"PYTHONPATH": source, "CLAUDE_CODE_SESSION_ID": agent.session, **env}
    return agent.client.run(sys.executable, "-c", code, cwd=agent.cwd, **given)


@pytest.mark.parametrize("name", ["ann", "ann/helper", "nobody"])
def test_it_cannot_open_a_workspace_as_another_agent(repo: Repository, ben: Agent, name: str) -> None:
    for found in (python(ben, OPENED % f"agent={name!r}"), python(ben, OPENED % "", DIBS_AGENT=name)):
        assert found.code == 1
        assert "this is the shell of ben" in found.err
    assert repo.claims() == {"ann": ["zz.py"]}
    assert {agent["agent"] for agent in repo.terminal("agents")["agents"]} >= {"ann", "ben"}
    assert repo.terminal("agents")["agents"][0]["incarnation"] == 1


@pytest.mark.parametrize("name", ["ben", "ben/helper"])
def test_as_its_own_agent_it_takes_nobody_s_place(repo: Repository, ben: Agent, name: str) -> None:
    found = python(ben, OPENED % f"agent={name!r}")
    assert (found.code, found.err) == (0, "")
    assert {agent["incarnation"] for agent in repo.terminal("agents")["agents"]} == {1}
    assert ben.dibs("claim", "next.py")["ok"], "its client is still the current one"
    assert ben.may_edit("more.py").allowed


def test_an_agent_of_another_workspace_binds_nobody_here(repo: Repository) -> None:
    stranger = repo.agent("from-elsewhere")  # its session variable is set; no hook of this workspace knows it
    assert python(stranger, OPENED % "agent='carl'").code == 0
