"""Done means done, with real clients and scripted models: sent back at the end of a turn, limited, and the baton."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.e2e.clients.checks import edits, guard
from tests.e2e.clients.kinds import CLAUDE, CODEX
from tests.e2e.clients.scripts import Say, Turn
from tests.waiting import until

if TYPE_CHECKING:
    from tests.e2e.clients.fleet import Fleet
    from tests.e2e.clients.kinds import Client
    from tests.e2e.clients.scripts import Conversation

pytestmark = pytest.mark.clients

STEPS = 20
COMMIT = '\n[gates]\nstop = "commit"\n'


@pytest.mark.parametrize("client", [CLAUDE, CODEX], ids=lambda client: client.name)
def test_a_model_that_says_done_too_early_is_sent_back_and_commits(fleet: Fleet, client: Client) -> None:
    shared = guard(fleet, client, config=COMMIT)
    script = edits(fleet.script("ada"), client, shared, "one\n", "ONE\n")
    script.turn(Say("All done.")).turn(client.shell("git commit -qam work")).turn(Say("Committed."))
    ada = fleet.start(client, script)
    ada.wait()
    assert fleet.git("log", "-1", "--format=%s").strip() == "work", ada
    assert fleet.git("status", "--porcelain").strip() == ""
    assert "dibs: this turn is not done: 1 file not committed: shared.txt" in ada.saw(), ada


@pytest.mark.parametrize("client", [CLAUDE, CODEX], ids=lambda client: client.name)
def test_a_model_that_will_not_be_moved_ends_after_two_reminders(fleet: Fleet, client: Client) -> None:
    shared = guard(fleet, client, config=COMMIT)
    ada = fleet.start(client, edits(fleet.script("ada"), client, shared, "one\n", "ONE\n"))
    ada.wait()
    refused = [event for event in fleet.log("call.refused") if event["subject"] == "stop"]
    assert len(refused) == 2
    fleet.dibs("sweep")
    (alert,) = fleet.dibs("alerts")["alerts"]
    assert (alert["kind"], alert["severity"]) == ("unfinished", "info")


@pytest.mark.parametrize("client", [CLAUDE, CODEX], ids=lambda client: client.name)
def test_a_model_that_asks_its_person_is_left_in_peace(fleet: Fleet, client: Client) -> None:
    shared = guard(fleet, client, config=COMMIT)
    script = edits(fleet.script("ada"), client, shared, "one\n", "ONE\n").turn(Say("Shall I commit this?"))
    ada = fleet.start(client, script)
    ada.wait()
    assert "this turn is not done" not in ada.saw()


def goes_on(client: Client) -> object:
    """A model that goes by the file: each of its calls adds the step after the last one that it saw."""

    def rest(heard: Conversation) -> Turn:
        results = heard.results()
        found = [int(number) for number in re.findall(r"step (\d+)", results[-1])] if results else []
        last = max(found, default=0)
        if not results:
            return Turn((client.shell("cat steps.txt"),))
        if last < STEPS:
            return Turn((client.shell(f"echo step {last + 1} >> steps.txt; cat steps.txt"),))
        if "committed" in results[-1]:
            return Turn((Say("done"),))
        return Turn((client.shell("git add -A; git commit -qm steps; cat steps.txt; echo committed"),))

    return rest


def test_a_job_whose_agent_is_killed_is_finished_by_a_client_of_another_kind(fleet: Fleet) -> None:
    guard(fleet, CLAUDE, CODEX)
    steps = fleet.file("steps.txt", "")
    fleet.commit("no step")
    fleet.dibs("task", "add", "write twenty steps into steps.txt", "--id", "job")
    ada = fleet.start(CLAUDE, fleet.script("ada", goes_on(CLAUDE)))  # type: ignore[arg-type]
    until(lambda: len(steps.read_text().splitlines()) >= 7, "seven steps")
    ada.kill()
    fleet.dibs("handover", ada.session, "--to", "NEXT", "--note", "go on after the last step", "--yes")
    before = steps.read_text().splitlines()
    bob = fleet.start(CODEX, fleet.script("bob", goes_on(CODEX)))  # type: ignore[arg-type]
    bob.wait()
    assert 7 <= len(before) < STEPS
    assert steps.read_text() == "".join(f"step {number + 1}\n" for number in range(STEPS)), bob
    assert "go on after the last step" in bob.saw()
    assert "steps.txt" in bob.saw()
    assert fleet.git("status", "--porcelain").strip() == ""
