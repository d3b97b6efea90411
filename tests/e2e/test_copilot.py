"""dibs with the real Copilot CLI: what its models were told, and what is in the files afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.clients import checks, stale
from tests.e2e.clients.kinds import CLAUDE, COPILOT

if TYPE_CHECKING:
    from tests.e2e.clients.fleet import Fleet

pytestmark = pytest.mark.clients


def test_a_hook_of_the_test_s_own_is_obeyed_and_its_reason_reaches_the_model(fleet: Fleet) -> None:
    checks.harness(fleet, COPILOT)


def test_of_two_agents_that_want_one_file_one_edits_and_the_other_is_told_who_holds_it(fleet: Fleet) -> None:
    checks.second_is_told(fleet, COPILOT, COPILOT)


def test_where_it_runs_the_hooks_of_claude_code_beside_its_own_it_is_told_as_well(fleet: Fleet) -> None:
    checks.second_is_told(fleet, CLAUDE, COPILOT)


def test_a_shell_command_that_would_write_a_held_file_is_refused(fleet: Fleet) -> None:
    checks.shell_writes_are_refused(fleet, COPILOT)


def test_a_killed_agent_s_claims_are_free_at_once(fleet: Fleet) -> None:
    checks.killed_one_holds_nothing(fleet, COPILOT)


def test_a_commit_from_an_agent_s_shell_leaves_out_what_others_hold(fleet: Fleet) -> None:
    checks.commits_are_guarded(fleet, COPILOT)


def test_nothing_is_written_past_a_guard_that_is_broken(fleet: Fleet) -> None:
    checks.broken_guard_refuses(fleet, COPILOT)


def test_after_uninstall_every_byte_is_as_it_was_before_init(fleet: Fleet) -> None:
    checks.uninstalled_is_as_before(fleet, COPILOT)


@pytest.mark.parametrize("way", stale.ways_of(COPILOT))
def test_a_whole_write_from_what_was_read_before_another_s_commit_is_refused(fleet: Fleet, way: str) -> None:
    stale.write_is_refused(fleet, way)
