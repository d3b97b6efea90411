"""dibs with the real Gemini CLI: what its models were told, and what is in the files afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.clients import checks, stale
from tests.e2e.clients.checks import guard, holder
from tests.e2e.clients.kinds import GEMINI

if TYPE_CHECKING:
    from tests.e2e.clients.fleet import Fleet

pytestmark = pytest.mark.clients


def test_a_hook_of_the_test_s_own_is_obeyed_and_its_reason_reaches_the_model(fleet: Fleet) -> None:
    checks.harness(fleet, GEMINI)


def test_of_two_agents_that_want_one_file_one_edits_and_the_other_is_told_who_holds_it(fleet: Fleet) -> None:
    checks.second_is_told(fleet, GEMINI, GEMINI)


def test_a_shell_command_that_would_write_a_held_file_is_refused(fleet: Fleet) -> None:
    checks.shell_writes_are_refused(fleet, GEMINI)


def test_a_killed_agent_s_claims_are_free_at_once(fleet: Fleet) -> None:
    checks.killed_one_holds_nothing(fleet, GEMINI)


def test_a_commit_that_would_take_in_what_others_hold_is_refused_although_git_runs_no_hooks(fleet: Fleet) -> None:
    shared = guard(fleet, GEMINI)
    ada = holder(fleet, GEMINI, shared, until="ben tried")
    head = fleet.git("rev-parse", "HEAD")
    script = fleet.script("ben").turn(GEMINI.shell("git config core.hooksPath || echo not set"))
    script.turn(GEMINI.shell("git commit -q -a -m sweep")).turn(GEMINI.shell("git commit -q -m sweep shared.txt"))
    ben = fleet.start(GEMINI, script.turn(GEMINI.shell("true"), then="ben tried"))
    fleet.wait(ben, ada)

    hooks, everything, by_name, _ = ben.results()
    assert "not set" not in hooks  # Gemini sets it to nothing for its shell: git's own guard is not asked there
    assert ada.called in everything
    assert ada.called in by_name
    assert fleet.git("rev-parse", "HEAD") == head


def test_nothing_is_written_past_a_guard_that_is_broken(fleet: Fleet) -> None:
    checks.broken_guard_refuses(fleet, GEMINI)


def test_after_uninstall_every_byte_is_as_it_was_before_init(fleet: Fleet) -> None:
    checks.uninstalled_is_as_before(fleet, GEMINI)


@pytest.mark.parametrize("way", stale.ways_of(GEMINI))
def test_a_whole_write_from_what_was_read_before_another_s_commit_is_refused(fleet: Fleet, way: str) -> None:
    stale.write_is_refused(fleet, way)
