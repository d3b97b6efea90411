"""The tools of `dibs mcp` with the real Claude Code and Codex: what `dibs init` writes, what their models are told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.clients.kinds import CLAUDE, CODEX, ClaudeCode
from tests.e2e.clients.scripts import Use, marked

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.clients.fleet import Fleet
    from tests.e2e.clients.kinds import Client, Start

pytestmark = pytest.mark.clients


class Trusting(ClaudeCode):
    """Claude Code in a folder that a person has trusted: what the project's settings allow runs without asking."""

    def settle(self, home: Path, repo: Path, url: str) -> None:
        super().settle(home, repo, url)
        trusted = {"hasTrustDialogAccepted": True}
        (home / ".claude.json").write_text(json.dumps({"projects": {str(repo): trusted}}))

    def command(self, start: Start) -> list[str]:
        words = super().command(start)
        place = words.index("--allowedTools")
        return words[:place] + words[place + 2 :]


class Allowing(ClaudeCode):
    """Claude Code that was told on its command line to allow the tools; below the top it reads no project settings."""

    def command(self, start: Start) -> list[str]:
        words = super().command(start)
        place = words.index("Bash") + 1
        return [*words[:place], "mcp__dibs", *words[place:]]


TRUSTING, ALLOWING = Trusting(), Allowing()


def tool(name: str, **given: Any) -> Use:
    """A call of one of dibs' tools."""
    return Use(f"mcp__dibs__{name}", given)


def structured(result: str) -> dict[str, Any]:
    """What a model was told of a call, as the object that it is."""
    found: dict[str, Any] = json.loads(result[result.index("{") : result.rindex("}") + 1])
    return found


def prepared(fleet: Fleet, *clients: Client) -> Path:
    """A repository with one committed file, and `dibs init` with tools for these clients."""
    shared = fleet.file("shared.txt", "one\n")
    fleet.file("below/x.txt", "x\n")
    fleet.dibs("init", "--clients", ",".join(client.name for client in clients))
    fleet.commit()
    return shared


def test_two_claude_codes_coordinate_through_the_tools_alone(fleet: Fleet) -> None:
    prepared(fleet, CLAUDE)
    ada = fleet.script("ada")
    ada.turn(tool("claim", resources=["shared.txt"], reason="the title"), then="ada claimed")
    ada.turn(tool("status"), after="ben asked").turn(tool("release", all=True), then="ada released")
    ben = fleet.script("ben")
    ben.turn(tool("whoami"), after="ada claimed")
    ben.turn(tool("claim", resources=["shared.txt"])).turn(
        tool("ask", resource="shared.txt", text="may I have it?"), then="ben asked"
    )
    ben.turn(tool("claim", resources=["shared.txt"], wait="45s"))
    one, other = fleet.start(TRUSTING, ada), fleet.start(TRUSTING, ben)
    fleet.wait()

    claimed, status, released = map(structured, one.results())
    whoami, refused, asked, granted = map(structured, other.results())
    assert (claimed["agent"], whoami["agent"]) == (one.session, other.session)
    assert refused["ok"] is False
    assert f"{claimed['name']} holds shared.txt" in refused["message"]
    assert "the title" in refused["message"]
    assert "`wait`" in refused["next"]
    assert asked["to"] == [one.session]
    assert any("may I have it?" in line for line in status["notice"])
    assert released["released"] == ["shared.txt"]
    assert granted["ok"] is True
    assert granted["token"] > claimed["token"]
    assert fleet.dibs("verify")["ok"] is True


def test_a_subagent_s_calls_are_its_own(fleet: Fleet) -> None:
    prepared(fleet, CLAUDE)
    fleet.script("helper").turn(tool("claim", resources=["x.txt"]))
    script = fleet.script("ada").turn(tool("claim", resources=["y.txt"])).turn(CLAUDE.delegate(marked("helper")))
    ada = fleet.start(TRUSTING, script)
    fleet.wait()

    assert structured(ada.results()[0])["agent"] == ada.session
    assert structured(fleet.stub.results("helper")[0])["agent"].startswith(f"{ada.session}/")
    assert list((fleet.repo / ".dibs" / "local" / "calls").iterdir()) == []  # no note is left


def test_a_client_in_a_folder_below_the_top_finds_the_server_and_means_its_own_paths(fleet: Fleet) -> None:
    prepared(fleet, CLAUDE)
    ada = fleet.start(ALLOWING, fleet.script("ada").turn(tool("claim", resources=["x.txt"])), cwd=fleet.repo / "below")
    fleet.wait()

    claimed = structured(ada.results()[0])
    assert (claimed["agent"], claimed["resources"]) == (ada.session, ["below/x.txt"])


def test_codex_calls_the_tools_from_its_first_turn_and_hears_a_refusal_in_words(fleet: Fleet) -> None:
    prepared(fleet, CODEX)
    fleet.dibs("claim", "held.txt", "--as", "ann", "--reason", "the index")
    script = fleet.script("cody").turn(tool("claim", resources=["shared.txt"]))
    script.turn(tool("claim", resources=["held.txt"])).turn(tool("inbox"))
    cody = fleet.start(CODEX, script)
    fleet.wait()

    claimed, refused, inbox = map(structured, cody.results())
    assert claimed["agent"] == cody.session
    assert refused["error"]["code"] == "held"
    assert "ann holds held.txt" in refused["message"]
    assert refused["next"]
    assert inbox["messages"] == []
    offered = fleet.stub.saw("cody")
    assert "dibs decides which agent may change what" in offered or claimed["ok"]


def test_both_clients_use_the_tools_of_a_server_over_http_each_as_itself(fleet: Fleet) -> None:
    prepared(fleet, CLAUDE, CODEX)
    about = fleet.dibs("serve", "--detach")
    try:
        with open(about["token_file"], encoding="utf-8") as file:
            headers = {"Authorization": f"Bearer {file.read().strip()}"}
        url = f"{about['url']}/mcp"
        fleet.file(".mcp.json", json.dumps({"mcpServers": {"dibs": {"type": "http", "url": url, "headers": headers}}}))
        lines = [f'url = "{url}"', f'http_headers = {{ Authorization = "{headers["Authorization"]}" }}']
        lines += ["required = true", 'default_tools_approval_mode = "approve"']
        fleet.file(".codex/config.toml", "\n".join(["[mcp_servers.dibs]", *lines, ""]))
        ada = fleet.script("ada").turn(tool("claim", resources=["shared.txt"]), then="ada claimed")
        ada.turn(tool("whoami"), after="cody tried")
        cody = fleet.script("cody").turn(tool("whoami"), after="ada claimed")
        cody.turn(tool("claim", resources=["shared.txt"]), then="cody tried")
        one, other = fleet.start(TRUSTING, ada), fleet.start(CODEX, cody)
        fleet.wait()
    finally:
        fleet.dibs("serve", "--stop")

    claimed, mine = map(structured, one.results())
    theirs, refused = map(structured, other.results())
    assert (claimed["agent"], mine["agent"], theirs["agent"]) == (one.session, one.session, other.session)
    assert refused["error"]["code"] == "held"
    assert f"{claimed['name']} holds shared.txt" in refused["message"]


def test_codex_starts_where_dibs_is_not_installed(fleet: Fleet) -> None:
    prepared(fleet, CODEX)
    fleet.bin.joinpath("dibs").unlink()
    for run in (fleet.repo / ".dibs" / "local" / "run", fleet.repo / ".git" / "dibs" / "run"):
        run.unlink()
    cody = fleet.start(CODEX, fleet.script("cody").turn(CODEX.shell("echo at work")))
    fleet.wait()
    assert "at work" in cody.results()[0]
