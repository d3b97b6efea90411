"""The entry of `dibs mcp` in each client's list of servers: written, left alone, taken out, started."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dibs.interfaces import agents
from dibs.interfaces.install import mcp_entries, mcp_probe
from dibs.workspace import launcher
from tests.interfaces.installation import everything, write
from tests.scratch import DIBS

if TYPE_CHECKING:
    from tests.scratch import Shell

JSON = {
    "claude": ".mcp.json", "copilot": ".mcp.json", "cursor": ".cursor/mcp.json", "gemini": ".gemini/settings.json",
    "opencode": "opencode.json",
}  # fmt: skip
KEYS = {"codex": "mcp_servers", "opencode": "mcp"}  # of the list of servers
FILES = {**JSON, "codex": ".codex/config.toml"}


def entry(folder: Path, client: str) -> Any:
    """The entry called dibs, as the client reads it."""
    text = (folder / FILES[client]).read_text()
    found = tomllib.loads(text) if client == "codex" else json.loads(text)
    return found[KEYS.get(client, "mcpServers")]["dibs"]


@pytest.mark.parametrize("client", sorted(FILES))
def test_init_writes_an_entry_that_names_no_machine_and_no_variable(plain: Shell, client: str) -> None:
    plain.json("init", "--clients", client, exit=0)
    made = entry(plain.folder, client)
    command = " ".join([made["command"], *made["args"]] if client != "opencode" else made["command"])
    assert ".dibs/dibs" in command
    assert "$" not in command, "clients put variables of their own in its place"
    assert str(plain.folder) not in command
    assert str(Path(DIBS).parent) not in command
    if client == "codex":
        assert (made["required"], made["default_tools_approval_mode"]) == (True, "approve")
    if client == "gemini":
        assert made["trust"] is True


@pytest.mark.parametrize("client", sorted(FILES))
def test_what_others_wrote_stays_and_every_byte_comes_back(plain: Shell, client: str) -> None:
    theirs = (
        'model = "x" # mine\n\n[mcp_servers.other]\ncommand = "other"'
        if client == "codex"
        else '{\n    // mine\n    "mcpServers": {"other": {"command": "other"}},\n    "theme": "dark"\n}'
    ).replace("mcpServers", KEYS.get(client, "mcpServers"))
    write(plain.folder / FILES[client], theirs)
    before = everything(plain.folder)
    plain.json("init", "--clients", client, exit=0)
    assert plain.json("init", "--clients", client, exit=0)["changes"] == []
    text = (plain.folder / FILES[client]).read_text()
    assert "mine" in text
    assert agents.of(client).mcp_command(text, "x") == list(mcp_entries.COMMAND)
    plain.json("init", "--uninstall", exit=0)
    assert everything(plain.folder) == before


@pytest.mark.parametrize("client", sorted(FILES))
def test_a_file_that_was_changed_since_loses_only_our_entry(plain: Shell, client: str) -> None:
    plain.json("init", "--clients", client, exit=0)
    path = plain.folder / FILES[client]
    if client == "codex":
        path.write_text('model = "x"\n' + path.read_text() + '\n[mcp_servers.other]\ncommand = "other"\n')
    else:
        found = json.loads(path.read_text())
        found[KEYS.get(client, "mcpServers")]["other"] = {"command": "other"}
        path.write_text(json.dumps(found, indent=2))
    plain.json("init", "--uninstall", exit=0)
    left = path.read_text()
    assert "other" in left
    assert "dibs" not in left


@pytest.mark.parametrize("client", sorted(FILES))
def test_a_file_that_git_checked_out_with_other_line_ends_is_known_as_ours(plain: Shell, client: str) -> None:
    first = b'model = "x"\n' if client == "codex" else b'{\n  "x": 1\n}\n'
    path = plain.folder / FILES[client]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(first)
    notes = plain.json("init", "--clients", client, exit=0).get("notes", [])
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    then = path.read_bytes()
    again = plain.json("init", "--clients", client, exit=0).get("notes", [])
    assert set(again) <= set(notes), "there is one where the interpreter is temporary"
    assert path.read_bytes() == then
    plain.json("init", "--uninstall", exit=0)
    assert path.read_bytes() == first.replace(b"\n", b"\r\n")


@pytest.mark.parametrize("client", sorted(FILES))
def test_a_server_of_our_name_that_is_somebody_else_s_is_left_alone(plain: Shell, client: str) -> None:
    theirs = (
        '[mcp_servers.dibs]\ncommand = "mine"\n'
        if client == "codex"
        else '{"mcpServers": {"dibs": {"command": "mine"}}}\n'
    ).replace("mcpServers", KEYS.get(client, "mcpServers"))
    write(plain.folder / FILES[client], theirs)
    notes = plain.json("init", "--clients", client, exit=0)["notes"]
    assert any("an MCP server called dibs that is not ours" in note for note in notes)
    assert entry(plain.folder, client)["command"] == "mine"
    plain.json("init", "--uninstall", exit=0)
    assert (plain.folder / FILES[client]).read_text() == theirs


def test_without_mcp_no_entry_and_no_permission_is_written(plain: Shell) -> None:
    plain.json("init", "--no-mcp", "--clients", "all", exit=0)
    assert not (plain.folder / ".mcp.json").exists()
    assert not (plain.folder / ".codex" / "config.toml").exists()
    for path in (".claude/settings.json", ".gemini/settings.json"):
        assert 'mcp__dibs"' not in (plain.folder / path).read_text()
        assert "mcpServers" not in (plain.folder / path).read_text()


@pytest.mark.parametrize(("client", "text"), [
    ("claude", "{"), ("codex", "[x"), ("claude", '{"mcpServers": []}'),
    ("codex", 'mcp_servers = { a = { command = "b" } }\n'), ("codex", "mcp_servers = 5\n"),
])  # fmt: skip
def test_a_file_that_cannot_be_read_stops_init_before_anything_is_changed(plain: Shell, client: str, text: str) -> None:
    write(plain.folder / FILES[client], text)
    before = everything(plain.folder)
    refused = plain.json("init", "--clients", client, exit=64)
    assert "othing was changed" in refused["error"]["message"]
    assert everything(plain.folder) == before


def test_the_entry_starts_from_any_folder_of_the_project_and_lists_tools(plain: Shell) -> None:
    plain.json("init", "--clients", "claude", exit=0)
    below = plain.folder / "a b" / "c"
    below.mkdir(parents=True)
    made = entry(plain.folder, "claude")
    tools, wrong = mcp_probe.attempt([made["command"], *made["args"]], str(below))
    assert (tools >= 15, wrong) == (True, "")
    tools, wrong = mcp_probe.attempt([made["command"], *made["args"]], "/")
    assert tools == 0
    assert "not found" in wrong


def test_doctor_says_whether_the_entry_works(plain: Shell) -> None:
    plain.json("init", "--clients", "claude", exit=0)
    well = [one for one in plain.json("doctor")["checks"] if one["check"] == "claude tools"]
    assert [one["ok"] for one in well] == [True]
    path = plain.folder / ".mcp.json"
    path.write_text(path.read_text().replace(" mcp", " mcpp"))
    ill = [one for one in plain.json("doctor")["checks"] if one["check"] == "claude tools"]
    assert [one["ok"] for one in ill] == [False]


ASKED = (
    '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}\n'
    '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    '{"jsonrpc":"2.0","id":"b","method":"tools/list"}\n'
    '{"jsonrpc":"2.0","id":3,"method":"steal"}\n'
)


def test_where_dibs_is_not_installed_a_server_without_tools_says_how_to_get_it(tmp_path: Path) -> None:
    write(tmp_path / ".dibs" / "hook", launcher.hook_text())
    (tmp_path / ".dibs" / "hook").chmod(0o755)
    done = subprocess.run(
        [".dibs/hook", "cli", "mcp"], cwd=tmp_path, input=ASKED, capture_output=True, text=True, check=True,
        env={"PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    begun, listed, unknown = map(json.loads, done.stdout.splitlines())
    assert "uv tool install" in begun["result"]["instructions"]
    assert (begun["id"], listed["id"], unknown["id"]) == (0, "b", 3)
    assert listed["result"]["tools"] == []
    assert unknown["error"]["code"] == -32601


def test_where_the_sdk_is_not_installed_the_same(tmp_path: Path) -> None:
    code = "import sys; sys.modules['mcp'] = None\nfrom dibs.interfaces.mcp import absent\nabsent.serve('why')"
    done = subprocess.run(
        [str(Path(DIBS).parent / "python"), "-c", code], cwd=tmp_path, input=f"noise\n[]\n{ASKED}",
        capture_output=True, text=True, check=True, env=dict(os.environ),
    )  # fmt: skip
    begun, listed, unknown = map(json.loads, done.stdout.splitlines())
    assert (begun["result"]["instructions"], listed["result"]["tools"]) == ("why", [])
    assert unknown["error"]["message"] == "why"
