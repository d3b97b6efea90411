"""`dibs kill --end`: the agent is killed, and its client's process on this machine is ended; nothing else ever is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import dibs
from dibs.machine import ending, processes
from tests.interfaces.repository import is_gone
from tests.interfaces.test_dead_agent import typed
from tests.scratch import repo as _repo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interfaces.repository import Agent, Repository

repo = _repo
WHY = ("--why", "hangs")


def at_work(repo: Repository) -> Agent:
    ada = repo.agent("ada-1")
    ada.boot()
    ada.edit("a.py", "hers\n")
    return ada


def test_a_client_is_ended_after_a_question_and_the_answer_says_how(repo: Repository) -> None:
    ada = at_work(repo)
    pid = ada.client.pid
    said = typed(repo, "kill", "ada-1", *WHY, "--end", answer="n")
    assert "nothing was done" in said
    assert f"claude (process {pid}), which runs ada-1, is ended" in said
    assert "nothing was done yet; the same with `--yes` does it" in typed(repo, "kill", "ada-1", *WHY, "--end")
    assert not is_gone(pid)
    assert repo.claims() == {"ada-1": ["a.py"]}
    said = typed(repo, "kill", "ada-1", *WHY, "--end", answer="y")
    assert is_gone(pid)
    assert f"its process {pid} was ended by SIGTERM" in said
    assert repo.claims() == {}
    assert "dibs kill" not in typed(repo, "alerts")


def test_without_it_the_answer_says_that_the_process_lives_on_and_what_ends_it(repo: Repository) -> None:
    ada = at_work(repo)
    said = typed(repo, "kill", "ada-1", *WHY)
    assert f"its process {ada.client.pid} lives on, and each of its calls is refused." in said
    assert "`dibs kill ada-1 --end --why TEXT`" in said
    assert not is_gone(ada.client.pid)
    answer = repo.terminal("kill", "ada-1", *WHY, "--end", "--yes")
    assert answer["ended"] == {"pid": ada.client.pid, "by": "SIGTERM"}
    assert is_gone(ada.client.pid)


def test_only_a_live_client_of_one_agent_is_ended_and_a_refusal_kills_nobody(repo: Repository) -> None:
    ada = at_work(repo)
    child = ada.born("c1")
    child.edit("b.py", "the child's\n")
    subagent = next(one["agent"] for one in repo.terminal("agents")["agents"] if "/" in one["agent"])
    for agent, why in (("all", "--end is for one agent"), (subagent, "a subagent"), ("nobody", "nobody")):
        error = repo.terminal("kill", agent, *WHY, "--end", "--yes")["error"]
        assert why in error["message"]
    with dibs.open(str(repo.folder), agent="script") as script:  # this very process
        script.claim("c.py")
        assert "not started by a client" in repo.terminal("kill", "script", *WHY, "--end", "--yes")["error"]["message"]
    ada.client.kill()
    assert "has exited" in repo.terminal("kill", "ada-1", *WHY, "--end", "--yes")["error"]["message"]
    assert repo.events("agent.killed") == []


def test_an_agent_ends_no_process_of_another(repo: Repository) -> None:
    ada, bob = at_work(repo), repo.agent("bob-1")
    bob.boot()
    assert bob.dibs("kill", "ada-1", *WHY, "--end", "--yes")["error"]["code"] == "forbidden"
    assert not is_gone(ada.client.pid)


def test_a_person_does_not_end_the_client_that_the_command_runs_below(repo: Repository) -> None:
    ada = at_work(repo)
    repo.config('[roles]\nassign = { "ada-1" = "orchestrator", "bob-1" = "orchestrator" }\n')
    bob = repo.agent("bob-1", client=ada.client)
    bob.boot()
    error = bob.dibs("kill", "ada-1", *WHY, "--end", "--yes")["error"]
    assert "this command runs below ada-1" in error["message"]
    assert not is_gone(ada.client.pid)


@pytest.fixture
def stubborn() -> Iterator[subprocess.Popen[bytes]]:
    """A process that does not end when it is asked to."""
    code = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(flush=True)\ntime.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_what_ignores_sigterm_is_killed(stubborn: subprocess.Popen[bytes]) -> None:
    found = processes.of(stubborn.pid)
    assert found is not None
    assert ending.end(found, timeout=0.05) == "SIGKILL"
    assert stubborn.wait() == -signal.SIGKILL


def test_a_pid_that_another_process_has_by_now_is_not_touched(stubborn: subprocess.Popen[bytes]) -> None:
    found = processes.of(stubborn.pid)
    assert found is not None
    for other in ([*found[:4], found[4] + 1], [*found[:1], "another boot", *found[2:]], ["another host", *found[1:]]):
        assert ending.end(other, timeout=0.05) == ""
    os.kill(stubborn.pid, 0)
    assert processes.alive(found)
