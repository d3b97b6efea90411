"""`dibs init` and `--uninstall` on real repositories: what is written, what is left alone, what comes back."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dibs.errors import Invalid
from dibs.interfaces import agents
from dibs.interfaces.agents.claude.install import ALLOWED
from dibs.interfaces.install import detection, jsonc, pointers, rules, settings
from dibs.machine import extras
from dibs.workspace import launcher, rules_file
from dibs.workspace.known_clients import NAMES
from tests.interfaces.installation import GEMINI, SETTINGS, everything, git, rich, shell_in, write
from tests.scratch import DIBS, Shell

ALL = ("--clients", "all")
LAUNCHER = ".dibs/hook"


def names(folder: Path) -> set[str]:
    """The files that git would commit."""
    listed = git("ls-files", "--cached", "--others", "--exclude-standard", cwd=folder).stdout
    return set(listed.split("\n")) - {""}


# --- in and out again


def test_after_uninstall_every_byte_and_mode_is_what_it_was(repository: Shell) -> None:
    before = everything(repository.folder)
    changed = repository.json("init", *ALL, exit=0)["changes"]
    assert {".claude/settings.json", ".codex/hooks.json", "AGENTS.md", ".git/hooks/pre-push", LAUNCHER} <= set(changed)
    between = everything(repository.folder)
    assert repository.json("init", *ALL, exit=0)["changes"] == []
    assert everything(repository.folder) == between
    taken = repository.json("init", "--uninstall", exit=0)["changes"]
    assert ".claude/settings.json" in taken
    assert everything(repository.folder) == before


def test_a_new_repository_and_a_folder_without_git_come_back_too(plain: Shell, tmp_path: Path) -> None:
    bare = tmp_path / "no git"
    bare.mkdir()
    for shell in (plain, shell_in(bare)):
        before = everything(shell.folder)
        shell.json("init", *ALL, exit=0)
        assert (shell.folder / ".github" / "hooks" / "dibs.json").exists()
        shell.json("init", "--uninstall", exit=0)
        assert everything(shell.folder) == before


def test_a_diff_of_every_file_and_a_table_of_all_are_shown_and_nothing_is_changed(repository: Shell) -> None:
    before = everything(repository.folder)
    shown = repository.run("init", *ALL, "--diff").stdout
    for name in (
        ".claude/settings.json",
        ".dibs/hook",
        "CLAUDE.md",
        ".git/hooks/pre-commit",
        ".git/hooks/dibs-kept/pre-push",
    ):
        assert f"+++ b/{name}" in shown
    assert '-\t\t"Stop": [],' in shown
    table = repository.run("init", *ALL, "--dry-run").stdout
    assert re.search(r"^change +\.claude/settings\.json +hooks for Claude Code$", table, re.MULTILINE)
    assert re.search(r"^create +\.dibs/hook +what all hooks run$", table, re.MULTILINE)
    planned = repository.json("init", *ALL, "--dry-run", exit=0)["changes"]
    assert everything(repository.folder) == before
    assert repository.json("init", *ALL, exit=0)["changes"] == planned
    between = everything(repository.folder)
    shown = repository.run("init", "--uninstall", "--diff").stdout
    assert "--- a/.claude/settings.json" in shown
    table = repository.run("init", "--uninstall", "--dry-run").stdout
    assert re.search(r"^restore +\.claude/settings\.json ", table, re.MULTILINE)
    assert re.search(r"^remove +\.dibs/ ", table, re.MULTILINE)
    assert everything(repository.folder) == between


def test_what_others_wrote_stays_where_and_as_it_was(repository: Shell) -> None:
    repository.json("init", *ALL, exit=0)
    text = (repository.folder / ".claude" / "settings.json").read_bytes().decode()
    assert "\n" not in text.replace("\r\n", ""), "line ends are theirs"
    left = settings.cleaned(text, "claude", "x")
    assert left is not None
    theirs: Any = jsonc.read(left).members()
    assert theirs == jsonc.read(SETTINGS).members() | {"hooks": {"PreToolUse": theirs["hooks"]["PreToolUse"]}}
    for kept in ("// ours", "/* keep */", '{"allow": ["Bash(ls:*)", "Bash(dibs ack:*)", ', '"deny": []', '"./lint.sh"'):
        assert kept in text
    assert (repository.folder / ".claude" / "settings.json").stat().st_mode & 0o777 == 0o600
    whole: Any = jsonc.read(text).plain()
    assert whole["hooks"]["PreToolUse"][0]["hooks"][0]["command"] == "./lint.sh"
    page = (repository.folder / "CLAUDE.md").read_bytes().decode()
    assert page.startswith("# Notes\r\n\r\nNo newline at the end\r\n\r\n<!-- dibs:begin -->\r\n")


def test_settings_that_were_changed_since_lose_only_our_entries(repository: Shell) -> None:
    repository.json("init", *ALL, exit=0)
    path = repository.folder / ".gemini" / "settings.json"
    path.write_text(path.read_text().replace('"Über"', '"Dark", "vim": true'))
    page = repository.folder / "AGENTS.md"
    page.write_text(page.read_text() + "\nMore, later.\n")
    hook = repository.folder / ".git" / "hooks" / "pre-commit"
    hook.write_text(hook.read_text() + "echo later\n")
    repository.json("init", "--uninstall", exit=0)
    assert json.loads(path.read_text()) == {"theme": "Dark", "vim": True}
    assert page.read_text() == "Read the tests.\n\n\nMore, later.\n"
    assert hook.read_text() == "#!/usr/bin/env bash\nset -euo pipefail\necho theirs\nexit 0\necho later\n"
    assert not (repository.folder / ".dibs").exists()


def test_in_a_teammates_clone_our_entries_are_recognised_without_a_record(repository: Shell, tmp_path: Path) -> None:
    repository.json("init", *ALL, exit=0)
    git("add", "-A", cwd=repository.folder)
    git("-c", "core.hooksPath=/dev/null", "commit", "-qm", "two", cwd=repository.folder)
    clone = tmp_path / "clone"
    git("clone", "-q", str(repository.folder), str(clone), cwd=tmp_path)
    theirs = shell_in(clone)
    theirs.json("init", "--uninstall", exit=0)
    assert (
        json.loads((clone / ".codex" / "hooks.json").read_text())["hooks"]["Stop"][0]["hooks"][0]["command"]
        == "say done"
    )
    assert json.loads((clone / ".gemini" / "settings.json").read_text())["theme"] == json.loads(GEMINI)["theme"]
    assert not (clone / ".github").exists()
    assert not (clone / ".dibs").exists()
    assert not [
        path
        for path in clone.rglob("*")
        if path.is_file() and ".git" not in path.parts and b"dibs" in path.read_bytes()
    ]


def test_what_is_committed_names_nothing_of_this_machine(repository: Shell) -> None:
    repository.json("init", *ALL, exit=0)
    committed = names(repository.folder)
    assert {LAUNCHER, ".dibs/config.toml", ".dibs/rules.md", ".dibs/.gitignore", ".github/hooks/dibs.json"} <= committed
    assert not [name for name in committed if name.startswith(".dibs/local")]
    ours = [str(Path(DIBS).parent), str(repository.folder), str(Path.home()), str(Path(jsonc.__file__).parents[3])]
    for name in committed - {"run.py"}:
        text = (repository.folder / name).read_text()
        assert not [path for path in ours if path in text], name
    assert os.access(repository.folder / LAUNCHER, os.X_OK)


# --- clients


def test_each_client_gets_the_events_it_has(plain: Shell) -> None:
    plain.json("init", *ALL, exit=0)
    listed = [one for one in agents.every() if one.settings_file.endswith(".json")]  # OpenCode has a plugin instead
    read = {one.name: json.loads((plain.folder / one.settings_file).read_text())["hooks"] for one in listed}
    assert set(read["claude"]) == {
        "SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop",
        "SubagentStart", "SubagentStop", "PermissionRequest", "Notification", "StopFailure",
    }  # fmt: skip
    assert {"SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"} <= set(read["codex"])
    assert {"SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent"} <= set(read["gemini"])
    asking = {"codex": "PermissionRequest", "gemini": "Notification", "copilot": "permissionRequest"}
    assert [client for client, event in asking.items() if event not in read[client]] == []
    assert read["gemini"]["BeforeTool"][0]["hooks"][0]["timeout"] == 20_000, "milliseconds there"
    assert read["copilot"]["preToolUse"][0]["bash"].endswith(" sh copilot preToolUse || exit 2")
    (guard,) = read["cursor"]["preToolUse"]
    assert (guard["failClosed"], guard["command"].endswith(" sh cursor || exit 2")) == (True, True)
    for name in (".github/hooks/dibs.json", ".cursor/hooks.json"):
        assert json.loads((plain.folder / name).read_text())["version"] == 1
    for client in ("claude", "codex", "gemini"):
        for event, (group,) in read[client].items():
            (handler,) = group["hooks"]
            before = event in {"PreToolUse", "BeforeTool"}  # only there is exit 2 a refusal and nothing else
            assert handler["command"].endswith("exit 2" if before else "exit 0"), (client, event)
    assert read["claude"]["PreToolUse"][0]["hooks"][0]["onFailure"] == "block"


@pytest.mark.parametrize(("tool", "met"), [
    ("Write", True), ("Edit", True), ("MultiEdit", True), ("NotebookEdit", True), ("Bash", True), ("BashNew", True),
    ("mcp__files__write", True), ("ReadAndWrite", True), ("Read", False), ("TodoWrite", False), ("BashOutput", False),
    ("Glob", False),
])  # fmt: skip
def test_claude_code_asks_before_every_tool_and_tells_of_each_that_may_write(tool: str, met: bool) -> None:
    entries = agents.of("claude").entries()
    assert "matcher" not in entries["PreToolUse"]
    for event in ("PostToolUse", "PostToolUseFailure"):
        for way in (re.search, re.fullmatch):  # Claude Code's, and that of Copilot, which runs these hooks as well
            assert bool(way(entries[event]["matcher"], tool)) is met


def test_clients_are_found_in_the_repository_at_home_and_on_the_path(plain: Shell, tmp_path: Path) -> None:
    assert plain.json("init", "--dry-run", exit=0)["clients"] == []
    assert "no coding client detected" in plain.run("init", "--dry-run").stdout
    write(plain.folder / ".codex" / "config.toml", "")
    home = tmp_path / "somebody"
    (home / ".gemini").mkdir(parents=True)
    write(tmp_path / "bin" / "copilot", "#!/bin/sh\n", 0o755)
    path = f"{plain.environment['PATH']}:{tmp_path / 'bin'}"
    found = plain.json("init", "--dry-run", exit=0, HOME=str(home), PATH=path)["clients"]
    assert found == ["codex", "copilot", "gemini"]
    write(plain.folder / "CLAUDE.md", "x\n")
    assert plain.json("init", "--dry-run", exit=0)["clients"] == ["claude", "codex"]
    assert plain.json("init", "--dry-run", "--clients", "gemini", exit=0)["clients"] == ["gemini"]


def test_none_and_all_are_words_for_clients_and_others_are_refused(plain: Shell) -> None:
    write(plain.folder / "CLAUDE.md", "x\n")
    changed = plain.json("init", "--clients", "none", "--dry-run", exit=0)["changes"]
    assert not [name for name in changed if "settings" in name or name.endswith("CLAUDE.md")]
    assert plain.json("init", *ALL, "--dry-run", exit=0)["clients"] == list(NAMES)
    assert "emacs" in plain.json("init", "--clients", "claude,emacs", exit=64)["error"]["message"]
    assert not (plain.folder / ".dibs").exists()


# --- pages and rules


@pytest.mark.parametrize(("there", "used", "written"), [
    ({}, "claude", {"CLAUDE.md"}),
    ({}, "claude,codex", {"AGENTS.md"}),
    ({}, "all", {"AGENTS.md", "GEMINI.md"}),
    ({}, "copilot", {"AGENTS.md"}),
    ({"AGENTS.md": "x\n"}, "claude", {"AGENTS.md"}),
    ({"CLAUDE.md": "x\n"}, "codex", {"CLAUDE.md", "AGENTS.md"}),
    ({"CLAUDE.md": "@AGENTS.md\n", "AGENTS.md": "x\n"}, "claude", {"AGENTS.md"}),
    ({"GEMINI.md": "x\n"}, "claude", {"GEMINI.md", "CLAUDE.md"}),
    ({"CLAUDE.md": "x\n"}, "none", set()),
])  # fmt: skip
def test_the_pages_that_models_read_point_to_dibs(
    plain: Shell, there: dict[str, str], used: str, written: set[str]
) -> None:
    for name, text in there.items():
        write(plain.folder / name, text)
    plain.json("init", "--clients", used, exit=0)
    pages = {
        name
        for name in pointers.names()
        if "dibs:begin" in ((plain.folder / name).read_text() if (plain.folder / name).exists() else "")
    }
    assert pages == written
    assert not {name for name in pointers.names() if (plain.folder / name).exists()} - set(there) - written


def test_a_page_that_is_a_link_to_another_is_written_once_and_stays_a_link(plain: Shell) -> None:
    write(plain.folder / "AGENTS.md", "x\n")
    (plain.folder / "CLAUDE.md").symlink_to("AGENTS.md")
    before = everything(plain.folder)
    plain.json("init", "--clients", "claude,codex", exit=0)
    assert (plain.folder / "CLAUDE.md").is_symlink()
    assert (plain.folder / "AGENTS.md").read_text().count("dibs:begin") == 1
    plain.json("init", "--uninstall", exit=0)
    assert everything(plain.folder) == before


def test_the_block_is_short_and_brought_up_to_date(plain: Shell) -> None:
    assert pointers.TEXT.count("\n") <= 8
    assert all(word in pointers.TEXT for word in ("dibs boot", "dibs claim", "dibs status", ".dibs/rules.md"))
    write(plain.folder / "AGENTS.md", "above\n<!-- dibs:begin -->\nold words\n<!-- dibs:end -->\nbelow\n")
    plain.json("init", "--clients", "codex", exit=0)
    text = (plain.folder / "AGENTS.md").read_text()
    assert text == f"above\n{pointers.TEXT}below\n"


def test_the_rules_are_made_once_and_the_teams_from_then_on(plain: Shell) -> None:
    plain.json("init", "--clients", "none", exit=0)
    path = plain.folder / ".dibs" / "rules.md"
    assert path.read_text() == rules.TEXT
    assert rules_file.told(rules.TEXT).count("**:") == 2, "about coordination; how to work is the team's"
    plain.json("init", "--clients", "none", "--rules", "full", exit=0)
    assert path.read_text() == rules.FULL, "nobody had changed them"
    assert rules_file.told(rules.FULL).count("**:") == 7
    assert plain.json("init", "--clients", "none", exit=0)["changes"] == []
    path.write_text("Our own.\n")
    assert plain.json("init", "--rules", "ful", exit=64)["error"]["field"] == "rules"
    refused = plain.json("init", "--clients", "none", "--rules", "full", exit=0)
    assert any("left as it is" in note for note in refused["notes"])
    assert plain.json("init", "--clients", "none", exit=0)["changes"] == []
    assert path.read_text() == "Our own.\n"


def test_places_that_are_hardly_meant_are_said(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    [note] = [one for one in shell_in(home, home).json("init", "--dry-run", exit=0)["notes"] if "home folder" in one]
    assert "dibs init --uninstall" in note
    git("init", "-q", "--bare", str(tmp_path / "bare.git"), cwd=tmp_path)
    bare = shell_in(tmp_path / "bare.git").json("init", "--dry-run", exit=0)
    assert any("is a bare repository" in note for note in bare["notes"])
    assert bare["commit"] == []


def test_files_to_commit_that_git_ignores_are_said(plain: Shell) -> None:
    write(plain.folder / ".gitignore", ".claude/\n")
    made = plain.json("init", "--clients", "claude", "--no-mcp", exit=0)
    assert ".claude/settings.json" not in made["commit"]
    assert any("git ignores .claude/settings.json" in note for note in made["notes"])


@pytest.mark.parametrize(("there", "wanted", "names"), [
    ({"mcp"}, "server", "mcp,server"), ({"mcp", "redis"}, "valkey", "mcp,valkey"), (set(), "top", "top"),
    ({"mcp", "redis", "server", "valkey"}, "top", "all"), ({"mcp"}, "mcp", "mcp"),
])  # fmt: skip
def test_advice_about_an_extra_keeps_those_that_are_there(
    monkeypatch: pytest.MonkeyPatch, there: set[str], wanted: str, names: str
) -> None:
    monkeypatch.setattr(extras, "installed", lambda: there)
    assert f"[{names}]'`" in extras.advice(wanted)


# --- what is refused, and before anything is changed


@pytest.mark.parametrize(
    "broken", ['{"hooks": ', "[]", '{"hooks": 5}', '{"hooks": {"PreToolUse": {}}}', "{'a': 1}", '{"a": NaN}', "\xff"]
)
def test_settings_that_cannot_be_read_are_left_and_nothing_else_is_done(plain: Shell, broken: str) -> None:
    path = plain.folder / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(broken.encode("latin-1"))
    before = everything(plain.folder)
    refused = plain.json("init", *ALL, exit=64)
    assert str(path) in refused["error"]["message"]
    assert everything(plain.folder) == before


def test_a_read_only_file_and_a_link_out_of_the_repository_are_refused_first(plain: Shell, tmp_path: Path) -> None:
    write(plain.folder / ".codex" / "hooks.json", "{}", 0o444)
    before = everything(plain.folder)
    assert "read-only" in plain.json("init", "--clients", "codex", exit=64)["error"]["message"]
    (tmp_path / "dotfiles").mkdir()
    (plain.folder / ".claude").symlink_to(tmp_path / "dotfiles")
    assert "outside the repository" in plain.json("init", "--clients", "claude", exit=64)["error"]["message"]
    (plain.folder / ".claude").unlink()
    write(plain.folder / ".gemini", "a file, not a folder")
    assert plain.json("init", "--clients", "gemini", exit=64)["error"]["code"] == "invalid"
    (plain.folder / ".gemini").unlink()
    assert everything(plain.folder) == before
    assert list((tmp_path / "dotfiles").iterdir()) == []


def test_settings_behind_a_link_inside_the_repository_are_written_where_they_are(plain: Shell) -> None:
    write(plain.folder / "config" / "claude.json", "{}\n")
    (plain.folder / ".claude").mkdir()
    (plain.folder / ".claude" / "settings.json").symlink_to("../config/claude.json")
    before = everything(plain.folder)
    plain.json("init", "--clients", "claude", exit=0)
    assert (plain.folder / ".claude" / "settings.json").is_symlink()
    assert "PreToolUse" in (plain.folder / "config" / "claude.json").read_text()
    plain.json("init", "--uninstall", exit=0)
    assert everything(plain.folder) == before


# An interruption at the n-th step: Python tells an audit hook before each rename, and there Ctrl-C comes.
INTERRUPTED = """
import sys
left = int(sys.argv.pop(1))
def hook(event, arguments):
    global left
    if event == "os.rename":
        left -= 1
        if left == 0:
            raise KeyboardInterrupt
sys.addaudithook(hook)
from dibs.interfaces.cli import main
code = main(sys.argv[1:])
sys.exit(3 if left > 0 else code)
"""


@pytest.mark.long
@pytest.mark.slow
def test_ctrl_c_at_any_step_leaves_every_file_old_or_new_and_init_can_go_on(tmp_path: Path) -> None:
    original = rich(tmp_path / "original")
    before = everything(original)
    steps = 0
    while True:
        steps += 1
        shell = shell_in(shutil.copytree(original, tmp_path / f"repo{steps}", symlinks=True))
        done = subprocess.run(
            [sys.executable, "-c", INTERRUPTED, str(steps), "init", *ALL], cwd=shell.folder, env=shell.environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode == 3:
            break
        assert done.returncode == 130, done.stderr
        assert not [path for path in shell.folder.rglob("*") if ".dibs-" in path.name], "nothing half-written is left"
        for name in [one.settings_file for one in agents.every()]:
            path = shell.folder / name
            if path.exists() and "dibs" in path.read_text():
                if path.suffix == ".json":
                    jsonc.read(path.read_text())
                assert (shell.folder / LAUNCHER).exists(), "who calls the launcher comes after it"
        shell.json("init", *ALL, exit=0)
        shell.json("init", "--uninstall", exit=0)
        assert everything(shell.folder) == before, steps
    assert steps > 12


# --- leave to run dibs without asking, and what people call their clients


def test_what_dibs_advises_runs_without_asking_and_init_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    git("init", "-q", cwd=folder)
    shell = shell_in(folder)
    said = shell.run("init", "--clients", "all").stdout
    allowed = json.loads((folder / ".claude" / "settings.json").read_text())["permissions"]["allow"]
    assert allowed == [*ALLOWED, "mcp__dibs"]
    rules = (folder / ".codex" / "rules" / "dibs.rules").read_text()
    assert '["dibs", ".dibs/dibs"]' in rules
    assert '"claim", ' in rules
    assert "deploy" not in rules.split("match")[0], "outside the sandbox, no program of anybody's"
    for client in ("Claude Code", "Codex", "Gemini", "Copilot"):
        assert f"note: {client} " in said
    assert "allowed" not in (folder / ".gemini" / "settings.json").read_text()
    shell.json("init", "--uninstall", "--yes", exit=0)
    assert sorted(path.name for path in folder.iterdir()) == [".git"]


def test_rules_of_codex_that_are_somebodys_own_are_left_alone(tmp_path: Path) -> None:
    git("init", "-q", cwd=tmp_path)
    write(tmp_path / ".codex" / "rules" / "dibs.rules", "# mine\n")
    shell = shell_in(tmp_path)
    shell.json("init", "--clients", "codex", exit=0)
    shell.json("init", "--uninstall", "--yes", exit=0)
    assert (tmp_path / ".codex" / "rules" / "dibs.rules").read_text() == "# mine\n"


@pytest.mark.parametrize(("said", "meant"), [
    ("claude-code", ["claude"]), ("Claude_Code", ["claude"]), ("claudecode", ["claude"]), ("openai-codex", ["codex"]),
    ("gemini-cli,copilot-cli", ["copilot", "gemini"]), ("github-copilot", ["copilot"]),
    ("claude,claude-code", ["claude"]),
])  # fmt: skip
def test_clients_go_by_the_names_that_people_use(said: str, meant: list[str]) -> None:
    assert detection.named(said) == meant


def test_a_client_that_is_not_known_is_a_wrong_word() -> None:
    for wrong in ("cluade", "claude,emacs", "", "all,none"):
        with pytest.raises(Invalid) as refused:
            detection.named(wrong)
        assert ("did you mean 'claude'?" in refused.value.message) is (wrong == "cluade")


# --- an interpreter that may soon be gone


@pytest.mark.parametrize(("python", "why"), [
    ("/home/a/.cache/uv/archive-v0/x1/bin/python", "cache"),
    ("/data/uv/environments-v2/dibs-0a/bin/python3", "cache"),
    ("/home/a/.local/pipx/.cache/9f/bin/python", "cache"),
    ("/tmp/venv/bin/python", "temporary"),
    ("/home/a/.local/share/uv/tools/dibs/bin/python", ""),
    ("/home/a/.local/pipx/venvs/dibs/bin/python", ""),
    ("/home/a/project/.venv/bin/python", ""),
    ("/usr/bin/python3", ""),
])  # fmt: skip
def test_interpreters_that_runners_throw_away_are_told_from_those_that_stay(python: str, why: str) -> None:
    assert launcher.why_temporary(python) == why


def test_a_dibs_in_a_runners_cache_is_not_put_into_hooks_unless_somebody_says_so(tmp_path: Path) -> None:
    """The interpreter is a link into a folder laid out as uvx does it; what it is called by is what counts."""
    environment = tmp_path / ".cache" / "uv" / "archive-v0" / "x1"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    folder = tmp_path / "r"
    folder.mkdir()
    git("init", "-q", cwd=folder)
    paths = ":".join(path for path in sys.path if path)
    words = [str(environment / "bin" / "python"), "-m", "dibs", "init", "--clients", "claude", "--json"]

    def init(*more: str) -> tuple[int, Any]:
        done = subprocess.run(
            [*words, *more], cwd=folder, capture_output=True, text=True, check=False,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": paths},
        )  # fmt: skip
        return done.returncode, json.loads(done.stdout)

    code, answer = init()
    assert (code, answer["error"]["code"]) == (1, "forbidden")
    assert "uv tool install FOLDER" in answer["error"]["message"]
    assert sorted(path.name for path in folder.iterdir()) == [".git"], "nothing was changed"
    code, answer = init("--temporary")
    assert code == 0
    assert "may soon be gone" in answer["notes"][0]
