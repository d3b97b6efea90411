"""The Claude Code plugin: derived from the settings that `dibs init` writes, silent where there is nothing to do.

tests/e2e/test_claude_plugin.py installs it into the real client.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.interfaces import agents
from dibs.interfaces.cli.index import COMMANDS
from dibs.interfaces.install.probe import DETACHED
from dibs.operations.core import index
from tests.interfaces.installation import git, shell_in, write
from tools import claude_plugin

if TYPE_CHECKING:
    from tests.scratch import Shell

TOP = Path(__file__).resolve().parents[3]
PLUGIN = TOP / "plugins" / "claude"
HOOKS: dict[str, Any] = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]


@pytest.fixture
def work(tmp_path: Path) -> Shell:
    folder = tmp_path / "a repo"
    folder.mkdir()
    git("init", "-q", "-b", "main", cwd=folder)
    return shell_in(folder)


def hook(folder: Path, session: str, name: str = "a.py", event: str = "PreToolUse") -> subprocess.CompletedProcess[str]:
    """The plugin's command before a write, as the client runs it, with no process of the test's above it."""
    command = HOOKS[event][0]["hooks"][0]["command"].replace("${CLAUDE_PLUGIN_ROOT}", str(PLUGIN))
    given = {"file_path": str(folder / name), "content": "x\n"}
    sent = {"session_id": session, "cwd": str(folder), "hook_event_name": event, "tool_name": "Write"}
    ended = folder.parent / "exit"
    done = subprocess.run(
        ["sh", "-c", DETACHED, "sh", command, str(ended)], input=json.dumps({**sent, "tool_input": given}), cwd=folder,
        capture_output=True, text=True, check=False, timeout=60,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder.parent), "CLAUDE_PROJECT_DIR": str(folder)},
    )  # fmt: skip
    done.returncode = int(ended.read_text())
    return done


def silent(done: subprocess.CompletedProcess[str]) -> bool:
    return (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_derived_files_are_as_they_would_be_made_now_with_the_version_of_the_package() -> None:
    for name, text in claude_plugin.files().items():
        assert (TOP / name).read_text() == text, f"{name} is out of date: make generate"
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    (listed,) = json.loads((TOP / ".claude-plugin" / "marketplace.json").read_text())["plugins"]
    assert manifest["version"] == listed["version"] == dibs.__version__
    assert (TOP / listed["source"]).resolve() == PLUGIN


def test_it_has_the_hooks_of_the_settings_with_the_same_matchers_and_limits() -> None:
    entries = agents.of("claude").entries()
    assert list(HOOKS) == list(entries)
    for event, entry in entries.items():
        (group,) = HOOKS[event]
        (ours,), (theirs,) = group["hooks"], entry["hooks"]
        assert {**group, "hooks": []} == {**entry, "hooks": []}
        assert {**ours, "command": ""} == {**theirs, "command": ""}


def test_outside_of_a_workspace_it_does_nothing_and_starts_no_interpreter(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    (folder / ".git").mkdir(parents=True)
    for event in HOOKS:
        assert silent(hook(folder, "ann", event=event)), event
    assert sorted(path.name for path in folder.iterdir()) == [".git"]


def test_in_a_workspace_it_guards_and_next_to_the_project_s_own_settings_it_is_silent(work: Shell) -> None:
    work.json("init", "--clients", "none", "--no-mcp", exit=0)
    write(work.folder / ".claude" / "settings.json", '{"permissions": {"deny": ["Edit(.dibs/hook)"]}}')
    assert silent(hook(work.folder, "ann"))
    refused = hook(work.folder, "bob")
    assert refused.returncode == 2
    answer = json.loads(refused.stdout)["hookSpecificOutput"]
    assert (answer["permissionDecision"], "holds a.py" in answer["permissionDecisionReason"]) == ("deny", True)
    below = work.folder / "src"
    below.mkdir()
    assert hook(below, "bob", "../a.py").returncode == 2, "a client that is started below the top is guarded as well"

    work.json("init", "--clients", "claude", "--no-mcp", exit=0)
    assert silent(hook(work.folder, "bob")), "the project's own hook refuses it"
    assert hook(below, "bob", "../a.py").returncode == 2, "below the top Claude Code reads no settings"


def test_without_the_launcher_in_the_tree_the_copy_below_git_s_directory_answers(work: Shell) -> None:
    work.json("init", "--clients", "none", "--no-mcp", exit=0)
    assert silent(hook(work.folder, "ann"))
    git("commit", "-q", "--no-verify", "--allow-empty", "-m", "before dibs", cwd=work.folder)
    git("worktree", "add", "-q", "../linked", cwd=work.folder)
    (work.folder / ".dibs" / "hook").unlink()
    assert hook(work.folder, "bob").returncode == 2
    linked = work.folder.parent / "linked"
    assert silent(hook(linked, "bob"))
    assert hook(linked, "cyd").returncode == 2


def test_a_guard_that_is_broken_refuses(work: Shell) -> None:
    work.json("init", "--clients", "none", "--no-mcp", exit=0)
    for run in (work.folder / ".dibs" / "local" / "run", work.folder / ".git" / "dibs" / "run"):
        run.write_text("python=/gone/python\nentry=/gone/entry.py\n")
    done = hook(work.folder, "ann")
    assert (done.returncode, "dibs init" in done.stderr) == (2, True)


def test_doctor_proves_the_guard_of_a_plugin_that_the_user_has_enabled(work: Shell) -> None:
    work.json("init", "--clients", "none", "--no-mcp", exit=0)
    own = work.folder.parent / "home" / ".claude"
    installed = {"plugins": {"dibs@mine": [{"scope": "user", "installPath": str(PLUGIN)}]}}
    write(own / "plugins" / "installed_plugins.json", json.dumps(installed))
    checks = {one["check"] for one in work.json("doctor", exit=None)["checks"]}
    assert "claude guard" not in checks, "it is not enabled"
    write(own / "settings.json", json.dumps({"enabledPlugins": {"dibs@mine": True}}))
    found = {one["check"]: one for one in work.json("doctor", exit=None)["checks"]}
    assert found["claude guard"]["ok"], found["claude guard"]
    assert ".claude/settings.json" not in found["committed"]["message"]


@pytest.mark.parametrize("given", ["", '{"mcpServers": {"dibs": {"args": ["exec x/.dibs/dibs mcp"]}}}\n'])
def test_its_server_has_no_tools_outside_of_a_workspace_and_where_the_project_s_list_has_them(
    tmp_path: Path, given: str
) -> None:
    if given:
        write(tmp_path / ".dibs" / "dibs", "#!/bin/sh\necho started\n", 0o755)
        write(tmp_path / ".mcp.json", given)
    asked = ["initialize", "tools/list"]
    lines = "".join(json.dumps({"jsonrpc": "2.0", "id": n, "method": name}) + "\n" for n, name in enumerate(asked))
    done = subprocess.run(
        ["sh", str(PLUGIN / "mcp.sh")],
        input=lines,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    first, second = (json.loads(line)["result"] for line in done.stdout.splitlines())
    assert ("mcp.json" if given else "no workspace") in first["instructions"]
    assert second == {"tools": []}


def test_every_command_that_the_skill_and_the_commands_advise_is_one() -> None:
    texts = [path.read_text() for path in PLUGIN.rglob("*.md")]
    assert len(texts) == 4
    advised = {words for text in texts for words in re.findall(r"`(?:\.dibs/)?dibs ([a-z]+(?: [a-z]+)?)", text)}
    assert len(advised) > 10
    known = {*index.FILES, *index.QUERIES, *COMMANDS}
    assert [words for words in advised if words not in known and words.partition(" ")[0] not in known] == []


def test_the_icon_is_a_square_of_at_least_512() -> None:
    data = (PLUGIN / "icon.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    width, height = (int.from_bytes(data[at : at + 4]) for at in (16, 20))
    assert width == height >= 512
    assert sys.getsizeof(data) < 100_000
