"""The Claude Code plugin in the real client: validated, installed from its marketplace, and at work."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.clients.checks import SHARED, edits, events_of, holder, says_who_holds
from tests.e2e.clients.install import program
from tests.e2e.clients.kinds import ClaudeCode
from tests.e2e.clients.scripts import Use

if TYPE_CHECKING:
    from tests.e2e.clients.fleet import Fleet
    from tests.e2e.clients.kinds import Start

pytestmark = pytest.mark.clients

TOP = Path(__file__).resolve().parents[2]
PLUGIN = TOP / "plugins" / "claude"
TOOLS = "mcp__plugin_dibs_dibs__"


class WithPlugin(ClaudeCode):
    """Claude Code with the plugin of this repository."""

    def command(self, start: Start) -> list[str]:
        words = super().command(start)
        return [words[0], "--plugin-dir", str(PLUGIN), *words[1:]]


CLAUDE = WithPlugin()


def run(fleet: Fleet, *words: str) -> str:
    """The client's own command; what it printed."""
    done = subprocess.run(
        [str(program("claude")), *words], cwd=fleet.repo, env=fleet.environment(CLAUDE), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def offered(fleet: Fleet, name: str) -> list[str]:
    """The tools of dibs that the model was offered in a scenario."""
    requests = [request for request in fleet.stub.requests if request.scenario == name]
    return [tool["name"] for tool in requests[-1].body["tools"] if "dibs" in tool["name"]]


def test_the_plugin_and_the_marketplace_are_valid_and_it_is_installed_from_there(fleet: Fleet) -> None:
    for folder in (PLUGIN, TOP):
        said = run(fleet, "plugin", "validate", str(folder))
        assert "Validation passed" in said
        assert "warning" not in said, said
    run(fleet, "plugin", "marketplace", "add", str(TOP))
    run(fleet, "plugin", "install", "dibs@dibs")
    fleet.dibs("init", "--no-mcp", "--clients", "none")
    checks = {one["check"]: one for one in fleet.dibs("doctor")["checks"]}
    assert checks["claude guard"]["ok"], checks["claude guard"]


def test_of_two_agents_in_a_workspace_without_settings_one_edits_and_the_other_is_told(fleet: Fleet) -> None:
    shared = fleet.file("shared.txt", SHARED)
    fleet.dibs("init", "--no-mcp", "--clients", "none")
    fleet.commit()
    ada = holder(fleet, CLAUDE, shared, until="ben refused")
    ben = fleet.start(CLAUDE, edits(fleet.script("ben"), CLAUDE, shared, "two\n", "TWO\n", then="ben refused"))
    fleet.wait(ada, ben)
    assert shared.read_text() == "ONE\ntwo\nthree\n"
    assert says_who_holds(ben.results()[1], ada)
    assert any("You are" in text for text in fleet.stub.briefings("ada")), "briefed at its start"
    asked = json.dumps([request.body for request in fleet.stub.requests if request.scenario == "ada"])
    assert "dibs:dibs" in asked, "the skill is listed"


def test_its_tools_know_which_session_calls(fleet: Fleet) -> None:
    fleet.file("shared.txt", SHARED)
    fleet.dibs("init", "--no-mcp", "--clients", "none")
    fleet.commit()
    script = fleet.script("ada").turn(Use(f"{TOOLS}claim", {"resources": ["shared.txt"]}))
    ada = fleet.start(AllowedTools(), script)
    fleet.wait(ada)
    assert ada.session in ada.results()[0]
    assert [event["agent"] for event in fleet.log("claim.granted")] == [ada.session]


class AllowedTools(WithPlugin):
    """With its tools allowed."""

    def command(self, start: Start) -> list[str]:
        words = super().command(start)
        place = words.index("--allowedTools")
        return [*words[: place + 1], f"Bash,{TOOLS}claim", *words[place + 2 :]]


def test_where_the_project_s_own_settings_guard_a_call_is_guarded_once(fleet: Fleet) -> None:
    shared = fleet.file("shared.txt", SHARED)
    fleet.dibs("init", "--clients", "claude")
    fleet.commit()
    ada = holder(fleet, CLAUDE, shared, until="ben refused")
    ben = fleet.start(CLAUDE, edits(fleet.script("ben"), CLAUDE, shared, "two\n", "TWO\n", then="ben refused"))
    fleet.wait(ada, ben)
    assert says_who_holds(ben.results()[1], ada)
    assert len(events_of(fleet.log(), "claim.refused", ben)) == 1
    assert [name for name in offered(fleet, "ada") if name.startswith(TOOLS)] == [], "nor are its tools there twice"


def test_outside_of_a_workspace_it_does_nothing(fleet: Fleet) -> None:
    shared = fleet.file("shared.txt", SHARED)
    fleet.commit()
    ada = fleet.start(CLAUDE, edits(fleet.script("ada"), CLAUDE, shared, "one\n", "ONE\n"))
    fleet.wait(ada)
    assert shared.read_text() == "ONE\ntwo\nthree\n"
    assert offered(fleet, "ada") == []
    assert "dibs:" not in "".join(ada.results())
    assert sorted(path.name for path in fleet.repo.iterdir()) == [".git", "shared.txt"]
