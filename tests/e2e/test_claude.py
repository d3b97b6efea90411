"""dibs with the real Claude Code: what its models were told, and what is in the files afterwards."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import pytest

from tests.e2e.clients import checks, stale
from tests.e2e.clients.checks import SHARED, edits, guard, says_who_holds
from tests.e2e.clients.install import program
from tests.e2e.clients.kinds import CLAUDE, ClaudeCode
from tests.e2e.clients.scripts import Use, marked
from tests.e2e.clients.tmux import Pane
from tests.e2e.clients.worker import HOW, Worker
from tests.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.clients.fleet import Agent, Fleet
    from tests.e2e.clients.kinds import Start

pytestmark = pytest.mark.clients

MANY = 8  # processes at once


def test_a_hook_of_the_test_s_own_is_obeyed_and_its_reason_reaches_the_model(fleet: Fleet) -> None:
    checks.harness(fleet, CLAUDE)


def test_of_two_agents_that_want_one_file_one_edits_and_the_other_is_told_who_holds_it(fleet: Fleet) -> None:
    checks.second_is_told(fleet, CLAUDE, CLAUDE)


def test_a_shell_command_that_would_write_a_held_file_is_refused(fleet: Fleet) -> None:
    checks.shell_writes_are_refused(fleet, CLAUDE)


def test_a_killed_agent_s_claims_are_free_at_once(fleet: Fleet) -> None:
    checks.killed_one_holds_nothing(fleet, CLAUDE)


def test_a_resumed_agent_is_told_what_it_lost_and_may_not_go_on_with_it(fleet: Fleet) -> None:
    checks.resumed_is_briefed(fleet, CLAUDE)


def test_a_commit_from_an_agent_s_shell_leaves_out_what_others_hold(fleet: Fleet) -> None:
    checks.commits_are_guarded(fleet, CLAUDE)


def test_a_deploy_from_an_agent_s_shell_is_refused_while_commits_are_missing(fleet: Fleet) -> None:
    checks.deploys_are_guarded(fleet, CLAUDE)


def test_a_teammate_without_dibs_works_as_ever_and_hears_how_to_get_it(fleet: Fleet) -> None:
    checks.teammate_without_dibs_can_work(fleet, CLAUDE)


def test_nothing_is_written_past_a_guard_that_is_broken(fleet: Fleet) -> None:
    checks.broken_guard_refuses(fleet, CLAUDE)


def test_a_trial_of_one_person_guards_and_nobody_else_sees_it(fleet: Fleet) -> None:
    checks.trial_is_private(fleet, CLAUDE)


def test_after_uninstall_every_byte_is_as_it_was_before_init(fleet: Fleet) -> None:
    checks.uninstalled_is_as_before(fleet, CLAUDE)


# --- what the person is asked


class Asking(ClaudeCode):
    """As a person starts it: whatever no setting allows is asked; in print mode there is nobody to say yes."""

    def settle(self, home: Path, repo: Path, url: str) -> None:
        super().settle(home, repo, url)
        known = home / ".claude.json"
        settings = json.loads(known.read_text()) if known.exists() else {}
        settings.setdefault("projects", {})[str(repo)] = {"hasTrustDialogAccepted": True}
        known.write_text(json.dumps(settings))

    def command(self, start: Start) -> list[str]:
        words = super().command(start)
        place = words.index("--permission-mode")
        return words[:place] + words[place + 4 :]


def test_nobody_is_asked_before_a_model_runs_what_dibs_advises(fleet: Fleet) -> None:
    asking = Asking()
    guard(fleet, asking)
    script = fleet.script("ada")
    for command in ("dibs claim shared.txt --wait 60s", ".dibs/dibs status", "touch other.txt"):
        script.turn(asking.shell(command))
    ada = fleet.start(asking, script)
    fleet.wait(ada)
    claimed, status, other = ada.results()[-3:]
    assert "claimed shared.txt" in claimed
    assert "shared.txt" in status
    assert "approval" in other, "else this test proves nothing"
    assert not (fleet.repo / "other.txt").exists()


def test_a_person_is_asked_before_a_model_runs_a_program_or_stops_an_agent_through_dibs(fleet: Fleet) -> None:
    asking = Asking()
    guard(fleet, asking)
    script = fleet.script("ada")
    commands = (
        "dibs lead --name m --wait 5s -- touch pwn", "dibs worker --exec 'touch pwn' --drain",
        "dibs deploy x --unverified --unsynced --dirty -- touch pwn", ".dibs/dibs deploy x -- touch pwn",
        "dibs task done t1 --verify 'touch pwn'", "dibs kill bob --why x",
    )  # fmt: skip
    for command in commands:
        script.turn(asking.shell(command))
    ada = fleet.start(asking, script)
    fleet.wait(ada)
    *answers, last = ada.results()[-len(commands) :]
    assert all("requires approval" in answer for answer in answers), answers
    assert "an orchestrator (root), or a person at a terminal can do it" in last
    assert not (fleet.repo / "pwn").exists()


def test_an_agent_waits_for_a_person_from_the_question_on_the_screen_until_its_answer(
    fleet: Fleet, tmp_path: Path
) -> None:
    asking = Asking()
    guard(fleet, asking)
    fleet.script("ada").turn(asking.shell("touch other.txt"))
    asking.settle(fleet.home, fleet.repo, fleet.stub.url)
    known = fleet.home / ".claude.json"
    seen = {"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": {"approved": ["scripted"]}}
    known.write_text(json.dumps({**json.loads(known.read_text()), **seen}))
    given = " ".join([f"{name}={shlex.quote(value)}" for name, value in fleet.environment(asking).items()])
    words = shlex.join([str(program("claude")), "--permission-mode", "default", "--", marked("ada")])
    command = f"env -i TERM=xterm-256color {given} {words}"

    def activity() -> str:
        return next((one["activity"] for one in fleet.dibs("agents")["agents"] if one["kind"] == "agent"), "")

    with Pane(tmp_path / "socket", fleet.repo, command, (120, 40)) as pane:
        pane.see("touch other.txt", "Yes")
        until(lambda: activity() == "waits for a person", "its question")
        pane.press("Enter")
        until((fleet.repo / "other.txt").exists, "the answer")
        until(lambda: activity() == "idle", "the end of its turn")


def test_every_tool_of_a_killed_agent_is_refused_until_it_is_revived(fleet: Fleet) -> None:
    shared = guard(fleet, CLAUDE)
    script = fleet.file("mk.py", "open('shared.txt', 'w').write('from a killed agent')")
    ada = fleet.open(CLAUDE, "ada")
    ada.play(fleet.script("first").turn(CLAUDE.shell("ls")))
    fleet.dibs("kill", ada.session, "--why", "it runs in circles")
    told = fleet.script("second")
    for use in (CLAUDE.shell(f"python3 {script.name}"), CLAUDE.shell("ls"), CLAUDE.read(shared),
                Use("WebFetch", {"url": "https://localhost/", "prompt": "read it"})):  # fmt: skip
        told.turn(use)
    ada.play(told)
    killed = [answer for answer in fleet.stub.results("second") if "was killed (it runs in circles)" in answer]
    assert len(killed) == len(told.turns), fleet.stub.results("second")
    assert shared.read_text() == SHARED
    fleet.dibs("revive", ada.session)
    ada.play(fleet.script("third").turn(CLAUDE.shell("echo it works")))
    assert "it works" in fleet.stub.results("third")[-1]
    ada.wait()


# --- one session, several processes, several contexts


def at_work(fleet: Fleet, shared: Path) -> Agent:
    """Ada, who holds the file, is there, and waits for a word."""
    ada = fleet.open(CLAUDE, "ada")
    ada.play(edits(fleet.script("first"), CLAUDE, shared, "one\n", "ONE\n"))
    assert shared.read_text() == "ONE\ntwo\nthree\n"
    assert fleet.held() == {"shared.txt": ada.session}
    return ada


def test_an_idle_agent_keeps_its_unfinished_file_past_the_deadline_until_its_process_is_gone(fleet: Fleet) -> None:
    shared = guard(fleet, CLAUDE)
    config = fleet.repo / ".dibs" / "config.toml"
    config.write_text(config.read_text().replace("[claims]\n", '[claims]\nttl = "2s"\n'))
    ada = at_work(fleet, shared)

    def renewed() -> int:
        fleet.dibs("sweep")
        return len([event for event in fleet.dibs("log", "--limit", "0")["events"] if event["kind"] == "claim.renewed"])

    until(lambda: renewed() >= 2, "two renewals")
    assert fleet.held() == {"shared.txt": ada.session}
    status = fleet.dibs("status")
    assert not [group for group in status["alert_groups"] if group["needs_you"]]
    (shown,) = [one for one in status["agents"] if one["agent"] == ada.session]
    assert (shown["activity"], shown["doing"].startswith("[[scenario")) == ("idle", True), "the words of its prompt"
    ada.kill()
    until(lambda: fleet.held() == {}, "the end of its claim")


def test_a_compacted_agent_is_told_what_it_holds_and_goes_on(fleet: Fleet) -> None:
    shared = guard(fleet, CLAUDE)
    ada = at_work(fleet, shared)
    token = fleet.dibs("status")["claims"][0]["token"]
    ada.say("/compact")
    ada.play(edits(fleet.script("second"), CLAUDE, shared, "two\n", "TWO\n"))
    claims = fleet.dibs("status")["claims"]
    ada.wait()

    assert shared.read_text() == "ONE\nTWO\nthree\n"
    assert "as the scripted model remembers it" in fleet.stub.saw("second")  # what was said before is gone
    told = [text for text in fleet.stub.briefings("second") if ada.called in text and "shared.txt" in text]
    assert any("hook additional context" in text for text in told)
    assert [claim["token"] for claim in claims] == [token]  # the same process: nothing has changed hands


def test_a_compacted_agent_is_told_what_it_lost_and_may_not_go_on_with_it(fleet: Fleet) -> None:
    shared = guard(fleet, CLAUDE)
    ada = at_work(fleet, shared)
    fleet.dibs("kill", ada.session, "--why", "it was stuck")
    fleet.dibs("revive", ada.session)
    script = edits(fleet.script("ben"), CLAUDE, shared, "two\n", "TWO\n", then="ben wrote")
    ben = fleet.start(CLAUDE, script.turn(CLAUDE.shell("true"), after="ada tried"))
    fleet.stub.wait("ben wrote")
    ada.say("/compact")
    ada.play(edits(fleet.script("second"), CLAUDE, shared, "three\n", "THREE\n", then="ada tried"))
    fleet.wait(ben, ada)

    assert shared.read_text() == "ONE\nTWO\nthree\n"
    assert any(ben.called in text and "shared.txt" in text for text in fleet.stub.briefings("second"))
    assert says_who_holds(fleet.stub.results("second")[1], ben)


def test_a_fork_of_a_session_holds_nothing(fleet: Fleet) -> None:
    shared = guard(fleet, CLAUDE)
    ada = at_work(fleet, shared)
    fork = fleet.resume(ada, edits(fleet.script("fork"), CLAUDE, shared, "two\n", "TWO\n"), fork=True)
    fork.wait()
    held = fleet.held()
    ada.play(edits(fleet.script("second"), CLAUDE, shared, "three\n", "THREE\n"))
    ada.wait()

    assert fork.session != ada.session
    assert says_who_holds(fork.results()[1], ada)
    assert held == {"shared.txt": ada.session}
    assert shared.read_text() == "ONE\ntwo\nTHREE\n"


def test_a_second_process_of_a_session_takes_over_and_the_first_one_is_fenced(fleet: Fleet) -> None:
    shared = guard(fleet, CLAUDE)
    ada = at_work(fleet, shared)
    token = fleet.dibs("status")["claims"][0]["token"]
    second = fleet.reopen(ada, "ada-2")
    second.play(edits(fleet.script("second"), CLAUDE, shared, "two\n", "TWO\n"))
    claim = fleet.dibs("status")["claims"][0]
    ada.play(edits(fleet.script("late"), CLAUDE, shared, "three\n", "THREE\n"))
    ada.play(fleet.script("later").turn(CLAUDE.shell("echo no > shared.txt")))
    ada.wait()
    second.play(edits(fleet.script("third"), CLAUDE, shared, "TWO\n", "2\n"))
    second.wait()

    assert second.session == ada.session == claim["agent"]
    assert claim["token"] > token
    assert shared.read_text() == "ONE\n2\nthree\n"
    assert "no longer current" in fleet.stub.results("late")[1]
    assert "no longer current" in fleet.stub.results("later")[0]


# --- families and fleets


def test_subagents_of_one_parent_block_each_other_and_not_their_parent(fleet: Fleet) -> None:
    shared = guard(fleet, CLAUDE)
    script = edits(fleet.script("one"), CLAUDE, shared, "one\n", "ONE\n", then="one wrote")
    script.turn(CLAUDE.shell("true"), after="two refused")
    edits(fleet.script("two"), CLAUDE, shared, "two\n", "TWO\n", after="one wrote", then="two refused")
    parent = fleet.script("ada").turn(CLAUDE.delegate(marked("one")), CLAUDE.delegate(marked("two")))
    ada = fleet.start(CLAUDE, edits(parent, CLAUDE, shared, "three\n", "THREE\n"))
    fleet.wait(ada)

    assert shared.read_text() == "ONE\ntwo\nTHREE\n"
    refused = fleet.stub.results("two")[1]
    granted = [event for event in fleet.log("claim.granted") if event["agent"].startswith(f"{ada.session}/")]
    assert len(granted) == 1
    assert granted[0]["name"] in refused
    assert "holds shared.txt" in refused


@pytest.mark.long
def test_eight_agents_with_overlapping_work_lose_no_edit(fleet: Fleet) -> None:
    files = [fleet.file(name, f"{name} begins\n") for name in ("a.txt", "b.txt")]
    guard(fleet, CLAUDE)
    workers = []
    for number in range(MANY):
        first, second = (files[(number + other) % 2] for other in (0, 1))
        workers.append(Worker(f"agent-{number}", CLAUDE, [first, second, first], HOW[number % 3]))
    together = tuple(f"{worker.name} is here" for worker in workers)
    for worker in workers:
        script = fleet.script(worker.name, rest=worker)
        script.turn(CLAUDE.shell("true"), then=f"{worker.name} is here")
        script.turn(CLAUDE.shell("true"), after=together)
        fleet.start(CLAUDE, script)
    fleet.wait(seconds=300)

    for file in files:
        meant = [line for worker in workers for path, line in worker.lines if path == file]
        assert sorted(file.read_text().splitlines()) == sorted([*meant, f"{file.name} begins"])
    refused = [event for event in fleet.log() if event["kind"] == "claim.refused"]
    assert refused
    assert len(refused) <= sum(worker.refused for worker in workers)  # nobody was refused without being told
    assert fleet.held() == {}
    assert fleet.dibs("verify")["ok"] is True


# --- what cannot be prevented


def test_a_write_that_no_guard_could_foresee_is_told_to_both_and_can_be_undone(fleet: Fleet) -> None:
    shared = guard(fleet, CLAUDE)
    ada = at_work(fleet, shared)
    fleet.file("tool.py", "open('shared.txt', 'w').write('overwritten\\n')\n")
    ben = fleet.start(CLAUDE, fleet.script("ben").turn(CLAUDE.shell("python3 tool.py")))
    ben.wait()
    overwritten = shared.read_text()
    ada.play(fleet.script("second").turn(CLAUDE.shell("dibs restore shared.txt")))
    ada.wait()

    assert overwritten == "overwritten\n"
    assert ada.called in ben.saw()
    assert ben.called in fleet.stub.saw("second")
    assert shared.read_text() == "ONE\ntwo\nthree\n"


def test_agents_in_two_working_trees_edit_the_same_path_and_hear_of_the_conflict_to_come(fleet: Fleet) -> None:
    shared = guard(fleet, CLAUDE)
    ada = at_work(fleet, shared)
    tree = fleet.folder / "tree"
    fleet.git("worktree", "add", "-q", str(tree))
    script = edits(fleet.script("ben"), CLAUDE, tree / "shared.txt", "two\n", "TWO\n")
    script.turn(CLAUDE.shell("true"))
    ben = fleet.start(CLAUDE, script, cwd=tree)
    ben.wait()
    ada.play(fleet.script("second").turn(CLAUDE.shell("true")))
    ada.wait()

    assert shared.read_text() == "ONE\ntwo\nthree\n"
    assert (tree / "shared.txt").read_text() == "one\nTWO\nthree\n"
    assert ada.called in ben.saw()
    assert ben.called in fleet.stub.saw("second")


@pytest.mark.parametrize("way", stale.ways_of(CLAUDE))
def test_a_whole_write_from_what_was_read_before_another_s_commit_is_refused(fleet: Fleet, way: str) -> None:
    stale.write_is_refused(fleet, way)
