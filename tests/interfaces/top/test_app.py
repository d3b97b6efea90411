"""Keys become choices and actions: what is asked first, what is done, what is refused. Operations decide."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.interfaces.top import actions, panes
from dibs.interfaces.top.model import Model
from tests.interfaces.overwritten_file import BEFORE
from tests.interfaces.top.looking import Look, opened


def kinds(space: Any, kind: str) -> list[Any]:
    return [event for event in space.log(limit=200)["events"] if event["kind"] == kind]


@pytest.fixture
def held(look: Look, ada: Any) -> Look:
    ada.claim("src/a.py", reason="new route")
    look.again()
    return look


def test_a_kill_says_what_happens_asks_why_and_is_done_when_the_log_has_it(held: Look, ada: Any) -> None:
    held.press("x")
    shown = held.shown()
    assert "Kill ada?" in shown
    assert "Voids 1 claim: src/a.py" in shown
    held.type("no")
    held.press("enter")  # too short: nothing happens
    held.press("tab", "tab")
    assert not kinds(ada, "agent.killed")
    held.press("shift+tab", "shift+tab")
    held.type("t this test")
    assert "dibs kill ada --why 'not this test'" in held.shown()
    held.press("enter")  # moves to the button
    assert "[Kill ada]" in held.shown()
    assert not kinds(ada, "agent.killed")
    held.press("enter")
    (event,) = kinds(ada, "agent.killed")
    assert event["data"]["why"] == "not this test"
    assert f"Killed ada, event {event['seq']}" in held.shown()
    held.again()
    assert "x killed" in held.shown()
    held.press("v")
    assert "[Cancel]" in held.shown()  # what can be taken back: the focus is on keeping
    held.press("enter")
    assert not kinds(ada, "agent.revived")
    held.press("v", "tab", "enter")
    assert kinds(ada, "agent.revived")


def test_escape_keeps_all_as_it_is(held: Look, ada: Any) -> None:
    for key in "xXrM":
        held.press("2", key)
        held.type("some words")
        held.press("escape")
        assert held.dialog is None
    assert not kinds(ada, "agent.killed")
    assert not kinds(ada, "message.posted")


def test_facts_that_changed_are_shown_and_nothing_is_done(held: Look, ada: Any) -> None:
    held.press("x")
    held.type("it is over")
    ada.claim("src/b.py")
    held.press("enter", "enter")
    shown = held.shown()
    assert "The facts changed meanwhile; nothing was done." in shown
    assert "now: src/b.py" in shown
    assert not kinds(ada, "agent.killed")
    held.press("enter", "enter")
    assert kinds(ada, "agent.killed")


def test_what_is_typed_in_one_go_is_done_in_its_order(held: Look, ada: Any) -> None:
    """Letters that come faster than a picture are the text that was asked for before them, never keys."""
    held.burst("slash", *"xyz", "backspace", "home", "delete", *"aa", "enter", "enter")
    assert held.app.view.query[0] == "aay"
    held.burst("escape", *"xno", "backspace", "backspace", *"a reason", "enter", "enter")
    assert kinds(ada, "agent.killed")[0]["data"]["why"] == "a reason"
    assert not kinds(ada, "agent.revived")
    held.burst("question_mark")
    assert held.dialog
    held.burst("alt+2")  # what a terminal makes of an escape and a letter in one packet
    assert not held.dialog
    assert held.app.view.pane == 1


def test_an_action_is_done_once_and_told_also_if_its_dialog_is_closed_meanwhile(held: Look, ada: Any) -> None:
    held.press("x")
    held.type("over now")
    with held.busy_desk():
        held.burst("enter", "enter", "enter", "enter", settle=False)
        assert "…" in held.shown()
        held.burst("escape", settle=False)
        assert held.dialog is None
        assert not kinds(ada, "agent.killed")
    (event,) = kinds(ada, "agent.killed")
    assert f"Killed ada, event {event['seq']}" in held.shown()


def test_a_paste_is_one_line_and_no_longer_than_its_field(held: Look) -> None:
    held.press("x")
    held.type("p\x1bq\nr" + "s" * 1_000)
    assert held.dialog.text("Why") == "p q r" + "s" * 495


def test_a_subject_that_is_gone_is_said(held: Look, ada: Any) -> None:
    held.press("2", "r")
    held.type("needed elsewhere")
    ada.release("src/a.py")
    held.press("enter", "enter")
    assert "it changed meanwhile. Nothing was done." in held.shown()


def test_a_claim_is_released_by_force_with_a_reason(held: Look, ada: Any) -> None:
    held.press("2", "r")
    shown = held.shown()
    assert "Release src/a.py, held by ada?" in shown
    assert "Nobody waits for it" in shown
    held.type("needed elsewhere")
    held.press("enter", "enter")
    (event,) = kinds(ada, "claim.ended")
    assert (event["data"]["why"], event["data"]["reason"]) == ("forced", "needed elsewhere")
    assert "Released src/a.py, event" in held.shown()


def test_kill_all_wants_the_name_of_the_workspace(held: Look, ada: Any, ben: Any) -> None:
    ben.claim("src/b.py")
    held.again()
    held.press("X")
    assert "Kill all agents?" in held.shown()
    held.type("wrong branch")
    held.press("enter")
    held.type("another name")
    held.press("enter", "enter")
    assert not kinds(ada, "agent.killed")
    held.press("ctrl+u")
    held.type(held.state.workspace)
    held.press("enter", "enter")
    assert {event["subject"] for event in kinds(ada, "agent.killed")} == {"ada", "ben"}
    with pytest.raises(dibs.Killed):
        ben.claim("src/c.py")


def test_a_message_an_ask_and_an_acknowledgement_ask_nothing(held: Look, ada: Any) -> None:
    held.press("m")
    held.type("freeze at three")
    held.press("enter")
    held.press("2", "A", "enter")
    held.press("M")
    held.type("to everybody")
    held.press("enter")
    texts = [one["text"] for one in ada.inbox()["messages"]]
    assert "freeze at three" in texts
    assert "to everybody" in texts
    assert any("Could you release it soon?" in text for text in texts)
    with opened(held.folder, "lead") as lead:
        lead.task_add("Fails", id="bad", attempts=1)
        lead.task_claim("bad")
        lead.task_fail("bad", class_="transient", why="no such table")
    held.again()
    assert "1 NEEDS YOU" in held.shown()
    held.press("a")
    held.again()
    assert "ALL WELL" in held.shown()
    assert kinds(ada, "alert.acknowledged")
    held.press("a")
    assert "no alert is open" in held.shown()


def test_tasks_are_planned_again_and_cancelled(held: Look, ada: Any) -> None:
    ada.task_add("Fails", id="bad", attempts=1)
    ada.task_claim("bad")
    ada.task_fail("bad", class_="permanent", why="no such table")
    held.again()
    held.press("4")
    assert "bad  Fails: no such table" in held.shown()
    held.press("enter")
    assert "Why         no such table" in held.shown()
    held.press("escape", "p")
    assert "Requeue bad?" in held.shown()
    held.press("tab", "enter")
    assert ada.task_show("bad")["task"]["state"] == "planned"
    held.again()
    held.press("c")
    held.type("not needed")
    held.press("enter", "enter")
    assert ada.task_show("bad")["task"]["state"] == "cancelled"


def test_an_alerts_own_remedy_is_one_key_away(look: Look, ada: Any) -> None:
    ada.task_add("Fails", id="bad", attempts=1)
    ada.task_claim("bad")
    ada.task_fail("bad", class_="transient", why="no such table")
    look.again()
    look.press("exclamation_mark")
    assert ">1 Poison task" in look.shown()
    look.press("p")
    assert "Requeue bad?" in look.shown()


def test_a_viewer_sees_all_and_may_do_nothing(ada: Any, tmp_path: Path) -> None:
    ada.claim("src/a.py")
    config = tmp_path / ".dibs" / "config.toml"
    config.write_text(config.read_text() + '\n[roles.assign]\neyes = "viewer"\n')
    look = Look(tmp_path, "eyes")
    assert "eyes, viewer: may look" in look.shown()
    for key in ("x", "X", "m", "M"):
        look.press(key)
        assert "viewer: may look, not do this" in look.shown(), key
        assert look.dialog is None
    look.close()


def test_stories_lead_from_one_thing_to_the_next_and_back(held: Look, ada: Any) -> None:
    ada.task_add("Do it", id="t1")
    ada.task_claim("t1")
    held.again()
    held.press("enter")
    shown = held.shown()
    assert "─ agent ada" in shown
    assert "ada claimed src/a.py" in shown
    held.open("file:src/a.py")
    assert "new route" in held.shown()
    held.open("task:t1")
    assert "Do it" in held.shown()
    held.press("escape", "escape")
    assert "─ agent ada" in held.shown()
    held.press("escape", "5", "enter")
    shown = held.shown()
    assert "─ event" in shown
    assert shown.index("began task t1") < shown.index("Kind  ") < shown.index("Fields")


def test_a_filter_is_kept_by_enter_and_cleared_by_escape(held: Look, ada: Any) -> None:
    ada.claim("docs/b.md")
    held.again()
    held.press("2", "slash")
    held.type("docs")
    shown = held.shown()
    assert "docs/b.md" in shown
    assert "src/a.py" not in shown.split("LEFT")[1].split("─")[0]
    held.press("enter")
    assert "[2 Held /docs]" in held.shown()
    held.press("escape")
    assert "[2 Held]" in held.shown()


def test_the_whole_log_is_searched_by_pages(look: Look, ada: Any) -> None:
    ada.emit("needle", data={"text": "first"})
    for number in range(20):
        ada.emit("hay", data={"n": number})
    look.again()
    with look.state.mutex:  # as if all of it were long ago
        look.state.events = look.state.events[-3:]
        look.state.is_older = True
        look.state.version += 1
    look.press("5", "slash")
    look.type("needle")
    assert "nothing matches" in look.shown()
    look.press("enter")
    assert "ada emitted needle." in look.shown()
    assert "1 earlier event in the log" in look.shown()
    look.press("escape", "G", "G")
    assert len(look.state.events) > 20  # what is before is read at the end of the list
    assert not look.state.is_older


def test_orders_change_and_the_log_stands_still(held: Look, ada: Any) -> None:
    held.press("s")
    assert "by name" in held.shown()
    held.press("5")
    held.shown()
    held.press("space")
    before = held.app.view.rows(4)[0].id
    ada.claim("src/z.py")
    held.hear()
    assert held.app.view.rows(4)[0].id == before
    assert "stopped" in held.shown()
    held.press("space")
    assert held.app.view.rows(4)[0].id != before


def test_it_is_left_by_q_and_by_ctrl_c_even_while_something_is_asked(held: Look) -> None:
    held.press("x", "q")
    assert held.app.return_code is None  # a letter of the reason
    assert held.dialog.text("Why") == "q"
    held.press("ctrl+c")
    assert held.app.return_code == 130
    for keys, code in ((("x", "escape", "q"), 0), (("g", "q", "g", "ctrl+c"), 130)):
        other = Look(held.folder)
        other.press(*keys)
        assert other.app.return_code == code
        other.close()


def test_a_person_restores_an_overwritten_file_whose_holder_keeps_it(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    dibs.init(str(tmp_path))
    code = f"from tests.interfaces.overwritten_file import *; print(*overwritten(Path({str(tmp_path)!r}), 'a.py'))"
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True)
    path, identifier = tmp_path / "a.py", done.stdout.split()[1]
    look = Look(tmp_path, None)  # this process is nobody's there
    assert "Violation" in look.shown()
    look.press("R")
    shown = look.shown()
    assert "Restore a.py?" in shown
    assert "ann holds it now" in shown
    assert f"dibs restore {identifier}" in shown
    assert "it keeps it and is told to read it again" in shown
    look.press("tab", "enter")
    assert "Restored a.py, event" in look.shown(), look.dialog.refusal
    assert path.read_bytes() == BEFORE
    look.again()
    assert "Violation" not in look.shown()
    look.close()
    with opened(tmp_path, "ann") as ann:
        assert [claim["resources"] for claim in ann.status()["claims"]] == [["a.py"]]


def test_each_action_needs_an_operation_that_is_declared() -> None:
    from dibs.client import catalogue

    for operation in actions.NEEDS.values():
        assert catalogue.operation(operation).name == operation


def test_the_story_of_an_alert_has_its_evidence_and_remedy_and_what_is_done_there_concerns_that_alert(
    look: Look, ada: Any, ben: Any
) -> None:
    for agent, task in ((ada, "first"), (ben, "second")):
        agent.task_add("x", id=task, attempts=1)
        agent.task_fail(task, token=agent.task_claim(task)["token"], class_="transient", why="no")
    look.again()
    first, second = look.app.view.model.open
    look.press("exclamation_mark", "j", "enter")
    shown = look.shown(80, 40)
    assert "error, open" in shown
    assert f"To do       {second['remedy']}" in shown
    for number in second["evidence"]:
        assert f" {number} " in shown.partition("Story: ")[2]
    look.press("a")
    look.again()
    states = {alert["id"]: alert["state"] for alert in look.state.alerts}
    assert (states[first["id"]], states[second["id"]]) == ("open", "acknowledged")
    assert "Seen by     root" in look.shown(80, 40)
    ada.task_move(second["subject"], "planned")
    look.again()
    assert "cleared: its cause is gone" in look.shown(80, 40)


# --- an agent's work


def test_the_work_of_an_agent_is_shown_handed_over_and_undone_by_a_key_each(held: Look, ada: Any) -> None:
    with opened(held.folder, "ben") as ben:
        ben.claim("src/z.py")
        held.again()
        held.open("agent:ada")
        held.press("d")
        assert "Uncommitted work of ada: 0 files" in held.shown()
        held.press("escape", "H")
        shown = held.shown()
        assert "Hand over the work of ada?" in shown
        assert "1 claim: src/a.py, under new tokens" in shown
        assert "ben" in shown
        held.press("ctrl+u")
        held.type("ben")
        held.press("enter")
        held.type("go on")
        assert "$ dibs handover ada --to ben --note 'go on'" in held.shown()
        held.press("enter", "enter")
        (event,) = kinds(ada, "handover.made")
        assert (event["subject"], event["data"]["to"], event["data"]["note"]) == ("ada", "ben", "go on")
        assert "Handed the work of ada to ben" in held.shown()
        held.press("u")
        assert "nothing that agent ada changed is left" in held.shown()


def test_a_dead_agent_is_not_killed_and_its_alert_offers_what_helps(held: Look) -> None:
    acts = [{"act": act, "label": act, "command": "x"} for act in ("diff", "handover", "undo", "dismiss")]
    alert: Any = {"kind": "dead", "agent": "ada", "subject": "ada", "actions": acts}
    with held.state.mutex:
        held.state.agents["ada"]["health"] = "dead"
        held.state.version += 1
    found = panes.remedies(Model(held.state), alert)
    assert found == [("d diff", "diff:ada"), ("H hand over", "handover:ada"), ("u undo", "undo:ada")]
    held.open("agent:ada")
    held.press("x")
    assert held.dialog is None
    assert "ada is dead already: d shows its work" in held.shown()
