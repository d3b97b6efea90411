"""Stalls, measured on real processes: an open turn, no hook, no CPU time; and what does not count as one."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from dibs.client.upkeep import stalls
from dibs.machine import usage
from tests.waiting import until

if TYPE_CHECKING:
    from tests.interfaces.repository import Repository


def test_a_client_that_does_nothing_in_the_middle_of_a_turn_is_stalled_until_its_next_hook(repo: Repository) -> None:
    repo.config('[agents]\nstalled = "1s"\n')
    ada = repo.agent("ada")
    ada.boot()

    def look() -> str:
        repo.person.dibs("alerts")  # looks for trouble first
        (agent,) = [one for one in repo.person.dibs("agents")["agents"] if one["agent"] == "ada"]
        return str(agent["activity"])

    ada.hook("UserPromptSubmit", prompt="wait for the model")
    until(lambda: look() == "stalled", "a stall")
    ada.hook("PostToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="late")
    ada.stop()
    assert look() == "idle"


def test_cpu_time_another_process_and_a_restart_are_signs_of_life() -> None:
    known: list[Any] = [5.0, [7, 8], 100_000]
    later = 160_000
    assert stalls._is_quiet(known, 5.1, [7, 8], later), "a timer now and then"
    assert not stalls._is_quiet(known, 9.0, [7, 8], later), "it computes"
    assert not stalls._is_quiet(known, 5.1, [7, 8, 9], later), "it started something"
    assert not stalls._is_quiet(known, 4.0, [7, 8], later), "another process by now"
    assert not stalls._is_quiet(known, 5.1, [7, 8], 99_000), "the machine started again"


def test_the_cpu_time_of_a_process_includes_that_of_its_children() -> None:
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        before = usage.seconds_of_trees([os.getpid()])[os.getpid()]
        assert child.pid in before[1]
        until(lambda: usage.seconds_of_trees([os.getpid()])[os.getpid()][0] > before[0] + 0.05, "its CPU time")
    finally:
        child.kill()
        child.wait()
