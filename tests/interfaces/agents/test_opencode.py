"""OpenCode's plugin, as `dibs init` writes it and takes it out. tests/e2e/test_opencode.py runs it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from dibs.errors import Invalid
from dibs.interfaces.agents.opencode.install import CLIENT
from dibs.interfaces.install import mcp_entries
from tests.interfaces.installation import everything, git, shell_in, write

if TYPE_CHECKING:
    from pathlib import Path


def test_the_plugin_carries_the_commands_and_names_no_machine() -> None:
    made = CLIENT.settings_merged(None, "x")
    assert made.startswith("// made by `dibs init`")
    assert "const COMMANDS = {}" not in made
    commands = CLIENT.settings_commands(made, "x")
    assert set(commands) == set(CLIENT.hook.EVENTS)
    assert commands["tool.execute.before"].endswith("exit 2")
    assert commands["session.idle"].endswith("exit 0")
    assert CLIENT.settings_merged(made, "x") == made
    assert "/home/" not in made + CLIENT.settings_file


def test_a_plugin_of_that_name_that_is_somebody_else_s_stops_init_before_anything_is_changed(tmp_path: Path) -> None:
    write(tmp_path / "repo" / ".opencode" / "plugins" / "dibs.js", "export default {}\n")
    shell = shell_in(tmp_path / "repo")
    before = everything(shell.folder)
    refused = shell.json("init", "--clients", "opencode", exit=64)
    assert "not dibs' plugin" in refused["error"]["message"]
    assert everything(shell.folder) == before
    with pytest.raises(Invalid):
        CLIENT.settings_merged("// mine", "x")
    assert CLIENT.settings_commands("// mine", "x") == {}
    assert CLIENT.settings_cleaned("// mine", "x") == "// mine"


def test_it_is_found_proven_and_taken_out_byte_for_byte(tmp_path: Path) -> None:
    write(tmp_path / "repo" / "opencode.jsonc", "{\n  // mine\n}\n")
    write(tmp_path / "repo" / ".opencode" / "plugins" / "mine.js", "export const Mine = async () => ({})\n")
    shell = shell_in(tmp_path / "repo")
    git("init", "-q", cwd=shell.folder)
    before = everything(shell.folder)
    assert shell.json("init", "--no-mcp", exit=0)["clients"] == ["opencode"]
    plugin = shell.folder / ".opencode" / "plugins" / "dibs.js"
    made = plugin.read_text()
    plugin.write_text(made.replace("TIMEOUT_MS = 20_000", "TIMEOUT_MS = 1"))
    checks = {one["check"]: one for one in shell.json("doctor", exit=None)["checks"]}
    assert checks["opencode guard"]["ok"], checks["opencode guard"]
    assert not checks["opencode settings"]["ok"], "a plugin that was changed"
    shell.json("init", exit=0)
    assert plugin.read_text() == made
    assert shell.json("init", exit=0)["changes"] == []
    shell.json("init", "--uninstall", exit=0)
    assert everything(shell.folder) == before


def test_the_entry_for_tools_goes_where_the_file_of_either_version_has_its_servers() -> None:
    new = CLIENT.mcp_merged(None, "x")
    assert new is not None
    assert json.loads(new)["mcp"]["dibs"]["command"] == list(mcp_entries.COMMAND)
    assert CLIENT.mcp_cleaned(new, "x") is None, "nothing but the name of the schema is left"
    theirs = '{"mcp": {"servers": {"other": {"command": ["x"]}}}}'
    second = CLIENT.mcp_merged(theirs, "x")
    assert second is not None
    assert set(json.loads(second)["mcp"]["servers"]) == {"other", "dibs"}
    assert CLIENT.mcp_command(second, "x") == list(mcp_entries.COMMAND)
    assert CLIENT.mcp_cleaned(second, "x") == theirs
