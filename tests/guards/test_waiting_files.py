"""`[guards] wait`: an edit of a held file waits in line inside its hook. Cut short, it leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from dibs.machine import processes
from tests.interfaces.repository import PATIENCE, Repository
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

    from tests.interfaces.repository import Agent, Answer

WAIT = '[guards]\nwait = "60s"\n'


@pytest.fixture
def waiting(repo: Repository) -> Repository:
    """A workspace whose guards wait, with the settings that `dibs init` writes for it."""
    repo.config(WAIT)
    assert repo.terminal("init", "--clients", "claude,codex,gemini")["ok"]
    return repo


@pytest.fixture
def beside() -> Iterator[ThreadPoolExecutor]:
    """Threads for hooks that wait."""
    with ThreadPoolExecutor(8) as threads:
        yield threads


def waiters(repo: Repository) -> list[str]:
    """Who waits, in order."""
    return [waiter["agent"] for waiter in repo.person.dibs("status")["waiting"]]


def in_line(repo: Repository, *names: str) -> None:
    until(lambda: waiters(repo) == list(names), f"in line: {', '.join(names) or 'nobody'}")


def hook_below(agent: Agent) -> int:
    """The process of the hook that runs for an agent's client."""
    leaves = processes.started_by(agent.client.pid, (), "")
    return next(pid for pid, _ in leaves)


def holder(repo: Repository) -> Agent:
    """An agent that has written to a.py and has not committed it."""
    ada = repo.agent("ada")
    ada.boot()
    ada.edit("a.py", "ada's\n")
    return ada


def late(repo: Repository, name: str, beside: ThreadPoolExecutor) -> tuple[Agent, Future[Answer]]:
    """Another agent whose edit of a.py waits."""
    agent = repo.agent(name)
    agent.boot()
    found = beside.submit(agent.may_edit, "a.py")
    return agent, found


def test_an_edit_waits_for_the_holder_and_goes_on_when_it_is_through(
    waiting: Repository, beside: ThreadPoolExecutor
) -> None:
    ada = holder(waiting)
    _, answer = late(waiting, "bob", beside)
    in_line(waiting, "bob")
    assert ada.dibs("release", "a.py")["ok"]
    found = answer.result(PATIENCE)
    assert found.allowed, found
    assert waiting.claims() == {"bob": ["a.py"]}
    assert waiters(waiting) == []


def test_edits_are_let_through_in_the_order_in_which_they_came(waiting: Repository, beside: ThreadPoolExecutor) -> None:
    ada = holder(waiting)
    bob, first = late(waiting, "bob", beside)
    in_line(waiting, "bob")
    _, second = late(waiting, "eve", beside)
    in_line(waiting, "bob", "eve")
    ada.dibs("release", "a.py")
    assert first.result(PATIENCE).allowed
    assert not second.done()
    bob.dibs("release", "a.py")
    assert second.result(PATIENCE).allowed


def test_a_whole_write_is_judged_by_what_is_there_after_the_wait(
    waiting: Repository, beside: ThreadPoolExecutor
) -> None:
    ada = holder(waiting)
    bob = waiting.agent("bob")
    bob.boot()
    bob.read("a.py")
    answer = beside.submit(bob.may_write, "a.py")
    in_line(waiting, "bob")
    ada.edit("a.py", "ada's second\n")
    ada.dibs("release", "a.py")
    found = answer.result(PATIENCE)
    assert "since you last read" in found.refusal
    assert "You hold it now" in found.refusal


def test_after_its_time_the_edit_is_refused_as_without_waiting(repo: Repository) -> None:
    repo.config('[guards]\nwait = "1s"\n')
    repo.terminal("init", "--clients", "claude")
    holder(repo)
    bob = repo.agent("bob")
    bob.boot()
    found = bob.may_edit("a.py")
    assert "ada holds a.py" in found.refusal, found
    assert found.took >= 1
    assert waiters(repo) == []
    assert [event["kind"] for event in repo.events("wait.queued", "interest.left")] == ["wait.queued", "interest.left"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_hook_that_its_client_ends_leaves_no_place(
    waiting: Repository, beside: ThreadPoolExecutor, number: signal.Signals
) -> None:
    holder(waiting)
    bob, answer = late(waiting, "bob", beside)
    in_line(waiting, "bob")
    since = time.monotonic()
    os.kill(hook_below(bob), number)
    found = answer.result(PATIENCE)
    assert "ended by the client" in found.refusal
    assert time.monotonic() - since < 1.5, "after that, Claude Code kills it"
    assert waiters(waiting) == []


@pytest.mark.slow
def test_a_hook_that_is_killed_leaves_a_place_that_lapses(waiting: Repository, beside: ThreadPoolExecutor) -> None:
    ada = holder(waiting)
    bob, first = late(waiting, "bob", beside)
    in_line(waiting, "bob")
    _, second = late(waiting, "eve", beside)
    in_line(waiting, "bob", "eve")
    os.kill(hook_below(bob), signal.SIGKILL)
    assert first.result(PATIENCE).code == -signal.SIGKILL
    ada.dibs("release", "a.py")
    assert second.result(PATIENCE).allowed, "what was handed to a dead waiter passes on"
    assert waiting.claims() == {"eve": ["a.py"]}


def test_a_hook_whose_client_was_killed_leaves_the_line(waiting: Repository, beside: ThreadPoolExecutor) -> None:
    holder(waiting)
    bob, answer = late(waiting, "bob", beside)
    in_line(waiting, "bob")
    hook = hook_below(bob)
    bob.client.kill()
    until(lambda: not processes.name_of(hook), "the hook ends by itself")
    assert waiters(waiting) == []
    with pytest.raises(json.JSONDecodeError):
        answer.result(PATIENCE)


def test_a_killed_agent_is_refused_while_it_waits(waiting: Repository, beside: ThreadPoolExecutor) -> None:
    holder(waiting)
    _, answer = late(waiting, "bob", beside)
    in_line(waiting, "bob")
    assert waiting.terminal("kill", "bob", "--why", "it went astray")["ok"]
    assert "was killed" in answer.result(PATIENCE).refusal
    assert waiters(waiting) == []


def test_a_deadlock_is_refused_at_once(waiting: Repository, beside: ThreadPoolExecutor) -> None:
    ada = holder(waiting)
    bob = waiting.agent("bob")
    bob.boot()
    bob.edit("b.py", "bob's\n")
    answer = beside.submit(bob.may_edit, "a.py")
    in_line(waiting, "bob")
    found = ada.may_edit("b.py")
    assert "deadlock" in found.refusal, found
    ada.dibs("release", "a.py")
    assert answer.result(PATIENCE).allowed


def test_a_hook_without_the_time_for_it_refuses_at_once(repo: Repository) -> None:
    repo.terminal("init", "--clients", "claude")
    repo.config('[guards]\nwait = "30m"\n')  # longer than this test
    holder(repo)
    bob = repo.agent("bob")
    bob.boot()
    assert "ada holds a.py" in bob.may_edit("a.py").refusal
    assert waiters(repo) == []
    message = next(one["message"] for one in repo.terminal("doctor")["checks"] if one["check"] == "claude settings")
    assert "gives them no time for it" in message
    assert "`dibs init --clients claude`" in message


def test_a_command_that_writes_the_file_waits_and_holds_nothing_meanwhile(
    waiting: Repository, beside: ThreadPoolExecutor
) -> None:
    ada = holder(waiting)
    bob = waiting.agent("bob")
    bob.boot()
    answer = beside.submit(bob.may_run, "git add b.py && sed -i s/a/b/ a.py")
    in_line(waiting, "bob")
    assert waiting.claims() == {"ada": ["a.py"]}, "git's index is free"
    ada.dibs("release", "a.py")
    assert answer.result(PATIENCE).allowed
    assert waiting.claims()["bob"] == ["a.py", "git:index"]


def test_a_patch_over_two_working_trees_holds_nothing_while_it_waits(
    waiting: Repository, beside: ThreadPoolExecutor
) -> None:
    other = waiting.worktree("other")
    ada = waiting.agent("ada", cwd=other)
    ada.boot()
    ada.edit("a.py", "ada's\n")
    bob = waiting.agent("bob")
    bob.boot()
    patch = "\n".join(
        f"*** Update File: {tree}/{name}\n@@\n-{name} at first\n+x"
        for tree, name in ((bob.cwd, "b.py"), (other, "a.py"))
    )
    answer = beside.submit(bob.patch, f"*** Begin Patch\n{patch}\n*** End Patch\n")
    in_line(waiting, "bob")
    assert waiting.claims() == {"ada": ["a.py"]}
    ada.dibs("release", "a.py")
    answer.result(PATIENCE)
    assert "bob" in waiting.claims()
