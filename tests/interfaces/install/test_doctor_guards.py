"""`dibs doctor` proves the guards: it runs the very command of each client's settings, from every working tree."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dibs.interfaces import agents as clients
from dibs.interfaces.agents.adapter import HOOK_TIMEOUT_S
from dibs.workspace import launcher
from dibs.workspace.known_clients import NAMES
from tests.interfaces.installation import StandIn, everything, git, rich, shell_in, write
from tests.scratch import DIBS, Shell

pytestmark = pytest.mark.slow

Checks = dict[str, list[dict[str, Any]]]
ASKING = ("claude", "codex", "copilot", "gemini")  # clients that run no hooks before a person has agreed


@pytest.fixture
def repository(tmp_path: Path) -> Shell:
    shell = shell_in(rich(tmp_path / "a repo"))
    shell.json("init", "--no-mcp", "--clients", "all", exit=0)
    return shell


def commit(shell: Shell) -> None:
    git("add", "-A", cwd=shell.folder)
    git("-c", "core.hooksPath=/dev/null", "commit", "-qm", "two", cwd=shell.folder)


def doctor(shell: Shell, **more: Any) -> Checks:
    """Its checks by name."""
    found: Checks = {}
    for check in shell.json("doctor", **more)["checks"]:
        assert {"check", "ok", "message", "severity"} <= set(check) <= {"check", "ok", "message", "severity", "command"}
        found.setdefault(check["check"], []).append(check)
    return found


def test_every_client_refuses_the_forbidden_write_and_doctor_says_so(repository: Shell) -> None:
    commit(repository)
    checks = doctor(repository, exit=0)
    for client in NAMES:
        (proof,) = checks[f"{client} guard"]
        assert proof["ok"], proof
        assert str(repository.folder) in proof["message"]
    assert checks["launcher"][0]["ok"]
    assert checks["committed"][0]["ok"]
    assert checks["git hooks"][0]["ok"]
    assert "--bare" in checks["bare"][0]["message"]
    assert not (repository.folder / "dibs-doctor-probe").exists()


def test_the_trial_leaves_nothing_behind_in_the_record_and_nothing_on_the_disk(
    repository: Shell, tmp_path: Path
) -> None:
    commit(repository)
    repository.json("claim", "a.py", "--as", "ann", exit=0)
    events = repository.json("log", exit=0)["events"]
    agents = repository.json("agents", exit=0)["agents"]
    files = everything(repository.folder)
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    assert doctor(repository, exit=0, TMPDIR=str(scratch))["claude guard"][0]["ok"]
    assert list(scratch.iterdir()) == []
    assert repository.json("log", exit=0)["events"] == events
    assert [one["agent"] for one in repository.json("agents", exit=0)["agents"]] == [one["agent"] for one in agents]
    assert set(everything(repository.folder)) == set(files)
    repository.json("verify", exit=0)


def test_the_trial_is_made_where_the_store_is_a_server_or_named_by_the_environment(repository: Shell) -> None:
    """What is proved is the hook, its launcher and its interpreter; the store has its own checks."""
    checks = doctor(repository, DIBS_STORE="redis://127.0.0.1:1", exit=1)
    assert checks["claude guard"][0]["ok"], checks["claude guard"]


def test_doctor_run_by_an_agent_does_not_take_its_identity(repository: Shell, tmp_path: Path) -> None:
    """The probe must not be registered for the client's process, which stands above doctor too."""
    client = tmp_path / "claude"  # a shell that looks like a client from below
    shutil.copy(os.path.realpath("/bin/sh"), client)
    script = (
        f"'{DIBS}' boot --as real --pid $$ --json >/dev/null && '{DIBS}' doctor --all >&2; '{DIBS}' claim x.py --json"
    )
    done = subprocess.run(
        [str(client), "-c", script], cwd=repository.folder, env=repository.environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert "a forbidden write, and every call of a killed agent, is refused" in done.stderr
    assert json.loads(done.stdout)["agent"] == "real", done


@pytest.mark.parametrize(("code", "said"), [(0, "let through"), (1, "fails open"), (2, "own form")])
def test_a_guard_that_does_not_refuse_is_called_open(repository: Shell, tmp_path: Path, code: int, said: str) -> None:
    stand_in = StandIn(tmp_path / "stand-in", repository.folder / ".dibs" / "local")
    (tmp_path / "stand-in" / "code").write_text(str(code))
    if code == 1:  # with `exit 2` at the end of the settings' command no failure is open; so somebody changed that
        path = repository.folder / ".claude" / "settings.json"
        path.write_bytes(path.read_bytes().replace(b"|| exit 2", b"|| exit 1"))
    checks = doctor(repository, exit=1)
    assert said in checks["claude guard"][0]["message"]
    assert checks["claude guard"][0]["severity"] == "error"
    words, given, folder = stand_in.calls()[0]
    assert words == ["claude"]
    assert json.loads(given)["tool_name"] == "Write"
    assert folder == str(repository.folder)


def test_a_hook_that_lets_a_killed_agent_pass_is_an_error(tmp_path: Path) -> None:
    git("init", "-q", cwd=tmp_path)
    shell = shell_in(tmp_path)
    shell.json("init", "--clients", "claude", "--no-mcp", exit=0)
    path = tmp_path / ".claude" / "settings.json"
    settings = json.loads(path.read_text())
    (handler,) = settings["hooks"]["PreToolUse"][0]["hooks"]
    spares = "said=$(cat); case $said in *Agent*) exit 0;; esac; "
    handler["command"] = f'{spares}printf %s "$said" | sh -c {shlex.quote(handler["command"])}'
    path.write_text(json.dumps(settings))
    (check,) = doctor(shell, exit=1)["claude guard"]
    assert "a harmless call of a killed agent was let through" in check["message"]


def test_a_dibs_that_was_moved_is_found_again_by_the_next_call_and_doctor_says_so(repository: Shell) -> None:
    run = repository.folder / ".dibs" / "local" / "run"
    was = run.read_text()
    run.write_text("python='/nowhere/python'\nentry='/nowhere/entry.py'\n")
    (check,) = doctor(repository, exit=0, PATH="/usr/bin:/bin")["launcher"]
    assert check["ok"]
    assert "(it named /nowhere/python; it was rewritten just now)" in check["message"]
    assert run.read_text() == was
    assert "/nowhere" not in doctor(repository, exit=0)["launcher"][0]["message"]


def test_a_dibs_that_was_moved_is_said_where_this_one_may_not_take_its_place(repository: Shell, tmp_path: Path) -> None:
    """The one that looks lies in a runner's cache, and would be gone as well in a while."""
    environment = tmp_path / ".cache" / "uv" / "archive-v0" / "x1"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    run = repository.folder / ".dibs" / "local" / "run"
    run.write_text("python='/nowhere/python'\nentry='/nowhere/entry.py'\n")
    paths = {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(path for path in sys.path if path)}
    done = subprocess.run(
        [str(environment / "bin" / "python"), "-m", "dibs", "doctor", "--json"], cwd=repository.folder, check=False,
        capture_output=True, text=True, env={**repository.environment, **paths},
    )  # fmt: skip
    assert done.returncode == 1
    checks = {check["check"]: check for check in json.loads(done.stdout)["checks"]}
    assert "/nowhere/python, which is not there" in checks["launcher"]["message"]
    assert "moved or removed" in checks["codex guard"]["message"]
    assert "/nowhere/python" in run.read_text()
    repository.json("init", "--no-mcp", "--clients", "all", exit=0)
    assert doctor(repository, exit=0)["launcher"][0]["ok"]


def test_a_launcher_of_another_version_is_a_warning_until_init_writes_it(repository: Shell) -> None:
    path = repository.folder / ".dibs" / "hook"
    path.write_text(path.read_text().replace("An upgrade may have moved the file.", ""))
    answer = repository.json("doctor", exit=0)
    said = [check for check in answer["checks"] if check["check"] == "launcher" and not check["ok"]]
    assert [check["severity"] for check in said] == ["warning"]
    assert f"{path} is missing, changed, or another version's" in said[0]["message"]
    assert "run `dibs init`" in answer["todo"]
    repository.json("init", "--no-mcp", exit=0)
    assert all(check["ok"] for check in doctor(repository, exit=0)["launcher"])


def test_every_linked_worktree_is_tried_and_one_without_settings_is_found(repository: Shell, tmp_path: Path) -> None:
    git("worktree", "add", "-q", "-b", "old", str(tmp_path / "old"), cwd=repository.folder)
    commit(repository)
    git("worktree", "add", "-q", "-b", "new", str(tmp_path / "new tree"), cwd=repository.folder)
    proofs = {check["message"]: check["ok"] for check in doctor(repository, exit=1)["claude guard"]}
    assert [ok for message, ok in proofs.items() if message.endswith(str(repository.folder))] == [True]
    assert [ok for message, ok in proofs.items() if message.endswith(str(tmp_path / "new tree"))] == [True]
    (old,) = [message for message, ok in proofs.items() if not ok]
    assert str(tmp_path / "old") in old
    assert "Commit it" in old
    git("worktree", "remove", "--force", str(tmp_path / "old"), cwd=repository.folder)
    doctor(repository, exit=0)
    doctor(repository, exit=0, cwd=tmp_path / "new tree")


def test_settings_that_are_not_committed_are_a_warning(repository: Shell) -> None:
    (repository.folder / ".gitignore").write_text(".claude/\n")
    (check,) = doctor(repository, exit=0)["committed"]
    assert not check["ok"]
    assert check["severity"] == "warning"
    assert ".dibs/hook" in check["message"]
    commit(repository)
    git("rm", "-q", "--cached", ".claude/settings.json", cwd=repository.folder)
    git("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qnm", "x", cwd=repository.folder)
    (check,) = doctor(repository, exit=0)["committed"]
    assert "git ignores .claude/settings.json" in check["message"]


def test_following_doctors_order_commits_everything_that_init_wrote(tmp_path: Path) -> None:
    """Settings and a page that were there before: their new parts count, and a person's own changes do not."""
    folder = tmp_path / "r"
    folder.mkdir()
    git("init", "-q", cwd=folder)
    write(folder / ".claude" / "settings.json", '{"model": "x"}\n')
    write(folder / "AGENTS.md", "# Ours\n")
    git("add", "-A", cwd=folder)
    git("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "before", cwd=folder)
    git("worktree", "add", "-q", str(tmp_path / "side"), "-b", "side", cwd=folder)
    branch = git("branch", "--show-current", cwd=folder).stdout.strip()
    shell = shell_in(folder)
    shell.json("init", "--clients", "claude,codex", exit=0)
    found = shell.json("doctor")
    (guard,) = [one["message"] for one in found["checks"] if one["check"] == "claude guard" and not one["ok"]]
    assert f"{tmp_path}/side/.claude/settings.json has no hooks of dibs" in guard
    (order,) = [one for one in found["todo"] if "git add" in one]
    for name in (".claude/settings.json", "AGENTS.md", ".dibs", ".codex/rules/dibs.rules"):
        assert f" {name} " in order
    command = order.partition("`git add")[2].rpartition("`")[0]
    (section,) = [one for one in found["sections"] if one["section"] == "guards"]
    assert section["findings"][0]["command"] == f"git add{command} && git -C {tmp_path}/side merge {branch}"
    subprocess.run(
        ["sh", "-c", section["findings"][0]["command"]], cwd=folder, check=True,
        env={**shell.environment, "GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x@x", "GIT_COMMITTER_NAME": "x",
             "GIT_COMMITTER_EMAIL": "x@x"},
    )  # fmt: skip
    assert git("status", "--porcelain", cwd=folder).stdout == ""
    assert [one["ok"] for one in shell.json("doctor")["checks"] if one["check"] == "committed"] == [True]
    with (folder / "AGENTS.md").open("a") as page:
        page.write("More of ours.\n")
    assert [one["ok"] for one in shell.json("doctor")["checks"] if one["check"] == "committed"] == [True]
    assert not [one for one in shell.json("doctor")["checks"] if one["check"] == "claude guard" and not one["ok"]]


def test_a_set_up_that_is_half_committed_is_not_committed_and_what_else_is_staged_stays_out(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    git("init", "-q", cwd=folder)
    write(folder / "mine.py", "x\n")
    shell = shell_in(folder)
    shell.json("init", "--no-mcp", "--clients", "claude", exit=0)
    git("add", ".dibs/hook", ".dibs/config.toml", cwd=folder)
    git("-c", "core.hooksPath=/dev/null", "commit", "-qm", "half", cwd=folder)
    git("add", "mine.py", cwd=folder)
    (folder / "sub").mkdir()
    found = shell.json("doctor", exit=0, cwd=folder / "sub")["checks"]
    (check,) = [one for one in found if one["check"] == "committed"]
    assert not check["ok"]
    assert ".dibs/hook" not in check["message"], "that one is"
    assert check["command"].startswith(f"cd {folder} && git add .dibs .claude/settings.json ")
    done = subprocess.run(["sh", "-c", check["command"]], cwd=folder / "sub", env=shell.environment, check=False)
    assert done.returncode == 0
    assert git("status", "--porcelain", cwd=folder).stdout == "A  mine.py\n"
    (check,) = [one for one in shell.json("doctor", exit=0)["checks"] if one["check"] == "committed"]
    assert check["ok"]


def test_hooks_that_are_switched_off_are_an_error(repository: Shell) -> None:
    write(repository.folder / ".claude" / "settings.local.json", '{"disableAllHooks": true}')
    home = Path(repository.environment["HOME"])
    write(home / ".gemini" / "settings.json", '{"hooksConfig": {"disabled": ["dibs"]}}')
    checks = doctor(repository, exit=1)
    assert [c for c in checks["claude trust"] if c["severity"] == "error" and "disableAllHooks" in c["message"]]
    assert [c for c in checks["gemini trust"] if c["severity"] == "error" and "hooksConfig.disabled" in c["message"]]


def test_what_each_client_trusts_is_read_from_its_own_files(repository: Shell) -> None:
    untrusted = doctor(repository, exit=0)
    assert "cursor trust" not in untrusted, "that cannot be seen from here"
    assert untrusted["opencode trust"][0]["ok"], "it asks nobody"
    for client in ASKING:
        assert not untrusted[f"{client} trust"][0]["ok"]
        assert untrusted[f"{client} trust"][0]["severity"] == "warning"
    assert "/hooks" in untrusted["codex trust"][0]["message"]
    home, folder = Path(repository.environment["HOME"]), repository.folder
    write(home / ".claude.json", json.dumps({"projects": {str(folder.parent): {"hasTrustDialogAccepted": True}}}))
    key = f"{folder}/.codex/hooks.json:pre_tool_use:0:0"
    write(home / ".codex" / "config.toml", f'[hooks.state."{key}"]\ntrusted_hash = "sha256:0"\n')
    write(home / ".gemini" / "trustedFolders.json", json.dumps({str(folder): "TRUST_FOLDER"}))
    write(home / ".copilot" / "config.json", f'// made by copilot\n{{"trustedFolders": ["{folder}"]}}')
    trusted = doctor(repository, exit=0)
    for client in ASKING:
        assert trusted[f"{client} trust"][0]["ok"], trusted[f"{client} trust"]


def test_a_workspace_without_guards_is_told_how_to_get_them(repository: Shell) -> None:
    repository.json("init", "--uninstall", "--yes", exit=0)
    repository.json("init", "--clients", "none", exit=0)
    checks = doctor(repository, exit=0)
    assert not checks["clients"][0]["ok"]
    assert "dibs init --clients" in checks["clients"][0]["message"]
    (repository.folder / ".dibs" / "hook").unlink()
    assert "dibs init" in doctor(repository, exit=0)["launcher"][0]["message"]


def test_a_hook_of_git_that_another_tool_wrote_over_is_noticed(repository: Shell) -> None:
    write(repository.folder / ".git" / "hooks" / "pre-push", "#!/bin/sh\nother tool\n", 0o755)
    (check,) = doctor(repository, exit=1)["git hooks"]
    assert not check["ok"]
    assert "pre-push" in check["message"]
    assert "pre-commit" not in check["message"].replace("pre-merge-commit", "")


def test_people_see_errors_warnings_and_advice_apart(repository: Shell) -> None:
    every, shown = repository.run("doctor", "--all").stdout, repository.run("doctor").stdout
    assert "\n  ok    claude guard: " in every
    assert "claude guard" not in shown, "what is well is not listed"
    assert "\n  WARN  codex trust: " in shown
    assert "\n        → type /hooks in Codex" in shown
    assert "\n  -     bare: " in every, "what cannot be seen from here is nobody's task"
    assert "bare" not in shown
    assert "\nall is well: opencode guarded; 5 warnings\n" in shown, "the others do not run the hooks yet"
    repository.json("init", "--uninstall", "--yes", exit=0)
    repository.json("init", "--clients", ",".join(ASKING), exit=0)
    shown = repository.run("doctor").stdout
    assert "all is well" not in shown, "no client would run the hooks yet"
    assert f"\n{', '.join(ASKING)}: the guards are proven; these clients do not run the hooks yet; " in shown


def trust_claude(shell: Shell) -> None:
    home = Path(shell.environment["HOME"])
    write(home / ".claude.json", json.dumps({"projects": {str(shell.folder): {"hasTrustDialogAccepted": True}}}))


def test_all_is_well_only_when_a_client_is_guarded_and_would_run_the_hooks(repository: Shell) -> None:
    trust_claude(repository)
    answer = repository.json("doctor", exit=0)
    assert answer["guarded"] == ["claude", "opencode"]
    assert [order.split()[0] for order in answer["todo"]] == ["type", "start", "start", "commit"]
    shown = repository.run("doctor").stdout
    assert "\nall is well: claude, opencode guarded; 4 warnings\n" in shown
    assert "\n        → git add .dibs " in shown


def test_when_nothing_is_left_to_do_that_is_the_last_word(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    git("init", "-q", cwd=folder)
    shell = shell_in(folder)
    shell.json("init", "--no-mcp", "--clients", "claude", exit=0)
    commit(shell)
    trust_claude(shell)
    assert "\nall is well: claude guarded\n" in shell.run("doctor").stdout
    (folder / ".dibs" / "local" / "dibs.db").unlink()
    shown = shell.run("doctor").stdout
    assert "all is well" not in shown
    assert shown.startswith("set-up\n  FAIL  database: "), "the worst first"
    assert "\n        → dibs doctor --recover\n" in shown
    assert "\n-     log: not looked at: the store cannot be read\n" in shown
    assert "\n1 thing to fix" in shown


def test_settings_of_an_older_dibs_are_a_warning_whatever_their_timeout_was(repository: Shell) -> None:
    assert "claude settings" not in doctor(repository, exit=0)
    path = repository.folder / ".claude" / "settings.json"
    path.write_bytes(path.read_bytes().replace(b'"timeout": %d' % HOOK_TIMEOUT_S, b'"timeout": 7'))
    (check,) = doctor(repository, exit=0)["claude settings"]
    assert (check["ok"], check["severity"]) == (False, "warning")
    repository.json("init", "--no-mcp", "--clients", "claude", exit=0)
    assert "claude settings" not in doctor(repository, exit=0)


def test_roles_that_keep_agents_from_writing_do_not_spoil_the_proof(repository: Shell) -> None:
    config = repository.folder / ".dibs" / "config.toml"
    config.write_text(config.read_text().split("\n[")[0] + '\n[roles]\ndefault = "worker"\n')
    assert doctor(repository, exit=0)["claude guard"][0]["ok"]


def test_a_guard_that_refuses_everything_proves_nothing(repository: Shell, tmp_path: Path) -> None:
    deny = '{"hookSpecificOutput": {"permissionDecision": "deny"}}'
    entry = tmp_path / "entry.py"
    entry.write_text(f"import sys\nsys.stdin.read()\nprint({deny!r})\nsys.exit(2)\n")
    run = f"python={launcher.quoted(sys.executable)}\nentry={launcher.quoted(str(entry))}\n"
    (repository.folder / ".dibs" / "local" / "run").write_text(run)
    assert "not because of the claim" in doctor(repository, exit=1)["claude guard"][0]["message"]


def test_a_config_that_frees_every_path_is_an_open_guard(repository: Shell) -> None:
    config = repository.folder / ".dibs" / "config.toml"
    config.write_text(config.read_text().split("\n[")[0] + '\n[guards]\nfree = ["**"]\n')
    assert "let through" in doctor(repository, exit=1)["claude guard"][0]["message"]


def test_the_payloads_are_those_of_the_clients() -> None:
    arguments: Any = clients.of("copilot").probe("ann", "/t", "p")["toolArgs"]
    assert arguments["path"] == "/t/p"
    patch: Any = clients.of("codex").probe("ann", "/t", "p")["tool_input"]
    assert "*** Add File: p\n" in patch["command"]
    assert clients.of("gemini").probe("ann", "/t", "p")["hook_event_name"] == "BeforeTool"
