"""dibs with the real OpenCode: what its models were told, and what is in the files afterwards.

That is OpenCode 1.x. 2.x is not on npm: the plugin's second entry point is called here by a small host that does what
the documentation of 2.x says (opencode2_host.mjs), with the real dibs behind it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.clients import checks, stale
from tests.e2e.clients.checks import edits, guard, holder, says_who_holds
from tests.e2e.clients.kinds import CLAUDE, OPENCODE
from tests.e2e.clients.scripts import Use, marked

if TYPE_CHECKING:
    from tests.e2e.clients.fleet import Fleet

pytestmark = pytest.mark.clients

HOST = Path(__file__).with_name("opencode2_host.mjs")


def test_a_hook_of_the_test_s_own_is_obeyed_and_its_reason_reaches_the_model(fleet: Fleet) -> None:
    checks.harness(fleet, OPENCODE)


def test_of_two_agents_that_want_one_file_one_edits_and_the_other_is_told_who_holds_it(fleet: Fleet) -> None:
    checks.second_is_told(fleet, OPENCODE, OPENCODE)


def test_it_and_claude_code_keep_out_of_each_other_s_files(fleet: Fleet) -> None:
    checks.second_is_told(fleet, CLAUDE, OPENCODE)


def test_a_shell_command_that_would_write_a_held_file_is_refused(fleet: Fleet) -> None:
    checks.shell_writes_are_refused(fleet, OPENCODE)


def test_a_killed_agent_s_claims_are_free_at_once(fleet: Fleet) -> None:
    checks.killed_one_holds_nothing(fleet, OPENCODE)


def test_a_resumed_agent_is_told_what_it_lost_and_may_not_go_on_with_it(fleet: Fleet) -> None:
    checks.resumed_is_briefed(fleet, OPENCODE)


def test_a_commit_from_an_agent_s_shell_leaves_out_what_others_hold(fleet: Fleet) -> None:
    checks.commits_are_guarded(fleet, OPENCODE)


def test_a_teammate_without_dibs_works_as_ever_and_hears_how_to_get_it(fleet: Fleet) -> None:
    checks.teammate_without_dibs_can_work(fleet, OPENCODE)


def test_nothing_is_written_past_a_guard_that_is_broken(fleet: Fleet) -> None:
    checks.broken_guard_refuses(fleet, OPENCODE)


def test_after_uninstall_every_byte_is_as_it_was_before_init(fleet: Fleet) -> None:
    fleet.file(".opencode/.gitignore", "node_modules\n")  # it makes one wherever it finds its folder
    checks.uninstalled_is_as_before(fleet, OPENCODE)


@pytest.mark.parametrize("way", stale.ways_of(OPENCODE))
def test_a_whole_write_from_what_was_read_before_another_s_commit_is_refused(fleet: Fleet, way: str) -> None:
    stale.write_is_refused(fleet, way)


def test_subagents_of_one_parent_block_each_other_and_not_their_parent(fleet: Fleet) -> None:
    shared = guard(fleet, OPENCODE)
    script = edits(fleet.script("one"), OPENCODE, shared, "one\n", "ONE\n", then="one wrote")
    script.turn(OPENCODE.shell("dibs whoami"), after="two refused")
    edits(fleet.script("two"), OPENCODE, shared, "two\n", "TWO\n", after="one wrote", then="two refused")
    parent = fleet.script("ada").turn(OPENCODE.delegate(marked("one")), OPENCODE.delegate(marked("two")))
    ada = fleet.start(OPENCODE, edits(parent, OPENCODE, shared, "three\n", "THREE\n"))
    fleet.wait(ada)

    assert shared.read_text() == "ONE\ntwo\nTHREE\n"
    (granted,) = [event for event in fleet.log("claim.granted") if event["agent"].startswith(f"{ada.session}/")]
    refused = fleet.stub.results("two")[1]
    assert granted["name"] in refused
    assert "holds shared.txt" in refused
    assert granted["agent"] in fleet.stub.results("one")[2], "its shell knows which subagent it belongs to"
    moved = [event for event in fleet.log("claim.moved") if event["subject"] == granted["subject"]]
    assert [event["data"]["to"] for event in moved] == [ada.session], "what a subagent held is its parent's"


def test_the_tools_of_dibs_know_which_session_calls(fleet: Fleet) -> None:
    fleet.dibs("init", "--clients", "opencode")
    fleet.commit()
    fleet.dibs("claim", "held.txt", "--as", "ann", "--reason", "the index")
    script = fleet.script("ada").turn(Use("dibs_claim", {"resources": ["shared.txt"]}))
    script.turn(Use("dibs_claim", {"resources": ["held.txt"]}))
    ada = fleet.start(OPENCODE, script)
    fleet.wait(ada)
    granted, refused = ada.results()
    assert ada.session in granted
    assert "ann holds held.txt" in refused


# --- 2.x, by its documentation


def second(fleet: Fleet, *calls: dict[str, Any]) -> list[dict[str, Any]]:
    """What a host of the second version's plugins saw of these calls."""
    node = shutil.which("node")
    assert node, "npm comes with it"
    plugin = fleet.repo / ".opencode" / "plugins" / "dibs.js"
    done = subprocess.run(
        [node, str(HOST), str(plugin)], input=json.dumps(calls), cwd=fleet.repo, env=fleet.environment(),
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_same_plugin_guards_a_host_of_the_second_version(fleet: Fleet) -> None:
    shared = guard(fleet, OPENCODE)
    ada = holder(fleet, OPENCODE, shared, until="host is done")
    told, refused, shell, other, child = second(
        fleet,
        {"context": "ses_two"},
        {"tool": "edit", "session": "ses_two", "input": {"path": str(shared), "oldString": "two", "newString": "2"}},
        {"tool": "shell", "session": "ses_two", "input": {"command": "echo no > shared.txt"}},
        {"tool": "shell", "session": "ses_two", "input": {"command": "dibs claim other.txt && dibs whoami"}},
        {"tool": "write", "session": "ses_child", "input": {"path": str(fleet.repo / "new.txt"), "content": "x"}},
    )
    fleet.stub.signal("host is done")
    fleet.wait(ada)
    assert "You are" in told["system"]
    assert says_who_holds(refused["error"], ada)
    assert says_who_holds(shell["error"], ada)
    assert "ses_two" in other["output"], "its shell knows the session"
    assert "error" not in child
    agents = {event["agent"] for event in fleet.log("claim.granted")}
    assert {"ses_two", "ses_two/ses_child"} <= agents
    assert fleet.held() == {}, "the host has ended, and the plugin with it"


def test_nothing_passes_in_a_host_of_the_second_version_while_the_guard_is_broken(fleet: Fleet) -> None:
    shared = guard(fleet, OPENCODE)
    run = fleet.repo / ".dibs" / "local" / "run"
    run.write_text(f"python={fleet.folder}/gone/python\nentry={fleet.folder}/gone/entry.py\n")
    (fleet.bin / "dibs").unlink()
    call = {"tool": "write", "session": "ses_two", "input": {"path": str(shared), "content": "no"}}
    (moved,) = second(fleet, call)
    assert "dibs init" in moved["error"]
    (fleet.repo / ".dibs" / "hook").unlink()
    (fleet.repo / ".git" / "dibs" / "hook").unlink()
    (missing,) = second(fleet, call)
    assert "no .dibs/hook" in missing["error"]
