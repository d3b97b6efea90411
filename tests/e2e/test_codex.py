"""dibs with the real Codex: what its models were told, and what is in the files afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.clients import checks, stale
from tests.e2e.clients.checks import edits, guard, holder, says_who_holds
from tests.e2e.clients.kinds import CLAUDE, CODEX

if TYPE_CHECKING:
    from tests.e2e.clients.fleet import Fleet

pytestmark = pytest.mark.clients

FULL = 1_000_000  # tokens; more than the model's window


def test_a_hook_of_the_test_s_own_is_obeyed_and_its_reason_reaches_the_model(fleet: Fleet) -> None:
    checks.harness(fleet, CODEX)


def test_of_two_agents_that_want_one_file_one_edits_and_the_other_is_told_who_holds_it(fleet: Fleet) -> None:
    checks.second_is_told(fleet, CODEX, CODEX)


def test_codex_and_claude_code_keep_out_of_each_other_s_files(fleet: Fleet) -> None:
    checks.second_is_told(fleet, CLAUDE, CODEX)


def test_a_shell_command_that_would_write_a_held_file_is_refused(fleet: Fleet) -> None:
    checks.shell_writes_are_refused(fleet, CODEX)


def test_a_killed_agent_s_claims_are_free_at_once(fleet: Fleet) -> None:
    checks.killed_one_holds_nothing(fleet, CODEX)


def test_a_resumed_agent_is_told_what_it_lost_and_may_not_go_on_with_it(fleet: Fleet) -> None:
    checks.resumed_is_briefed(fleet, CODEX)


def test_a_commit_from_an_agent_s_shell_leaves_out_what_others_hold(fleet: Fleet) -> None:
    checks.commits_are_guarded(fleet, CODEX)


def test_a_deploy_from_an_agent_s_shell_is_refused_while_commits_are_missing(fleet: Fleet) -> None:
    checks.deploys_are_guarded(fleet, CODEX)


def test_a_teammate_without_dibs_works_as_ever_and_hears_how_to_get_it(fleet: Fleet) -> None:
    checks.teammate_without_dibs_can_work(fleet, CODEX)


def test_nothing_is_written_past_a_guard_that_is_broken(fleet: Fleet) -> None:
    checks.broken_guard_refuses(fleet, CODEX)


def test_a_trial_of_one_person_guards_and_nobody_else_sees_it(fleet: Fleet) -> None:
    checks.trial_is_private(fleet, CODEX)


def test_after_uninstall_every_byte_is_as_it_was_before_init(fleet: Fleet) -> None:
    checks.uninstalled_is_as_before(fleet, CODEX)


def test_a_compacted_agent_is_told_what_it_holds_and_goes_on(fleet: Fleet) -> None:
    shared = guard(fleet, CODEX)
    script = fleet.script("ada").turn(CODEX.read(shared))
    script.turn(CODEX.edit(shared, "one\n", "ONE\n"), tokens=FULL)
    edits(fleet.script("ada-compacted"), CODEX, shared, "two\n", "TWO\n")
    ada = fleet.start(CODEX, script)
    fleet.wait(ada)

    assert shared.read_text() == "ONE\nTWO\nthree\n"
    assert fleet.stub.results("ada-compacted")[1:] != []
    briefings = fleet.stub.briefings("ada-compacted")
    assert any(ada.called in text and "shared.txt" in text for text in briefings)
    granted = [event["subject"] for event in fleet.log("claim.granted")]
    assert len(granted) == 1  # the same claim throughout


def test_a_fork_of_a_session_holds_nothing(fleet: Fleet) -> None:
    shared = guard(fleet, CODEX)
    ada = holder(fleet, CODEX, shared, until="fork refused")
    script = edits(fleet.script("fork"), CODEX, shared, "two\n", "TWO\n", then="fork refused")
    fork = fleet.resume(ada, script, fork=True)
    fleet.wait(fork, ada)

    assert fork.session != ada.session
    assert says_who_holds(fork.results()[1], ada)
    assert shared.read_text() == "ONE\ntwo\nthree\n"


def test_a_patch_of_several_files_is_refused_as_a_whole_when_one_of_them_is_held(fleet: Fleet) -> None:
    shared = guard(fleet, CODEX)
    ada = holder(fleet, CODEX, shared, until="ben refused")
    hunks = "*** Add File: new.txt\n+new\n*** Update File: shared.txt\n*** Move to: moved.txt\n@@\n-two\n+TWO\n"
    ben = fleet.start(CODEX, fleet.script("ben").turn(CODEX.patch(hunks), then="ben refused"))
    fleet.wait(ben, ada)

    assert says_who_holds(ben.results()[0], ada)
    assert shared.read_text() == "ONE\ntwo\nthree\n"
    assert not (fleet.repo / "new.txt").exists()
    assert not (fleet.repo / "moved.txt").exists()


@pytest.mark.parametrize("way", stale.ways_of(CODEX))
def test_a_whole_write_from_what_was_read_before_another_s_commit_is_refused(fleet: Fleet, way: str) -> None:
    stale.write_is_refused(fleet, way)
