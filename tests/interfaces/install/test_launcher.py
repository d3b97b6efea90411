"""The launcher `.dibs/hook`: with dibs, with dibs moved away, without dibs, from every place a client may start it in.

A stand-in answers instead of dibs and says what it was given, so that the launcher alone is under test.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dibs.interfaces import agents
from dibs.interfaces.install import githooks, hook_command
from dibs.workspace import launcher, location
from dibs.workspace.known_clients import NAMES
from tests.interfaces.installation import write
from tests.plain_git import git
from tests.waiting import LIMIT_S

SHELLS = [shell for shell in ("dash", "bash") if shutil.which(shell)]
ENTRY = """\
import os, sys
flags = sys.flags.isolated, sys.flags.no_site, sys.flags.utf8_mode
print(sys.argv[1:], *flags, os.getcwd(), os.environ.get("DIBS_TREE"))
print(sys.stdin.read())
sys.exit(7)
"""
BEFORE = '{"hook_event_name":"PreToolUse","tool_name":"Write"}'
START = '{"hook_event_name":"SessionStart","source":"startup"}'
STOP = '{"hook_event_name": "Stop"}'


def before(client: str) -> str:
    """A client's own command before a tool call."""
    adapter = agents.of(client)
    return hook_command.command(adapter, adapter.event_of(agents.BEFORE))


class Folder:
    """A repository with a launcher in it."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.shell = "sh"
        (top / ".dibs").mkdir(parents=True)
        self.hook = top / ".dibs" / "hook"
        self.hook.write_text(launcher.hook_text())
        self.hook.chmod(0o755)

    def installed(self, python: str = sys.executable) -> None:
        """As `dibs init` leaves it, but with the stand-in."""
        entry = self.top.parent / "it's here" / "entry.py"
        entry.parent.mkdir(exist_ok=True)
        entry.write_text(ENTRY)
        local = self.top / ".dibs" / "local"
        local.mkdir(exist_ok=True)
        (local / "run").write_text(f"python={launcher.quoted(python)}\nentry={launcher.quoted(str(entry))}\n")

    def run(
        self,
        *words: str,
        given: str = BEFORE,
        cwd: Path | None = None,
        path: str = "/usr/bin:/bin",
        hook: Path | None = None,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.shell, str(hook or self.hook), *words], input=given, capture_output=True, text=True, check=False,
            cwd=cwd or self.top, env={"PATH": path, "HOME": str(self.top)}, timeout=30,
        )  # fmt: skip


@pytest.fixture(params=SHELLS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    made = Folder(tmp_path / "a repository")
    made.shell = request.param
    return made


def test_it_starts_the_interpreter_that_this_machine_named(folder: Folder) -> None:
    folder.installed()
    done = folder.run("claude", given=BEFORE)
    first, second = done.stdout.strip().split("\n")
    assert first == f"['claude'] 1 1 1 {folder.top} {folder.top}/.dibs/.."
    assert second == BEFORE
    assert done.returncode == 7


def test_git_hooks_reach_it_with_all_their_words_and_name_no_tree(folder: Folder) -> None:
    folder.installed()
    done = folder.run("git", "pre-push", "origin", "a url", given="refs\n")
    assert "['git', 'pre-push', 'origin', 'a url'] 1 1 1" in done.stdout
    assert done.stdout.split("\n")[0].endswith(" None")
    assert "refs\n" in done.stdout


def test_a_linked_worktree_finds_what_stands_in_the_main_one(folder: Folder, tmp_path: Path) -> None:
    git(folder.top, "init", "-q")
    git(folder.top, "add", ".dibs/hook")
    git(folder.top, "commit", "-qm", "one")
    tree = tmp_path / "linked tree"
    git(folder.top, "worktree", "add", "-q", "-b", "other", str(tree))
    folder.installed()
    assert not (tree / ".dibs" / "local").exists()
    done = folder.run("claude", cwd=tree, hook=tree / ".dibs" / "hook")
    assert done.returncode == 7, done.stderr
    assert f"{tree}/.dibs/.." in done.stdout


def test_a_linked_worktree_with_relative_paths_and_one_of_a_bare_repository_find_it_too(tmp_path: Path) -> None:
    main = Folder(tmp_path / "main")
    git(main.top, "init", "-q")
    git(main.top, "add", ".dibs/hook")
    git(main.top, "commit", "-qm", "one")
    git(main.top, "worktree", "add", "-q", str(tmp_path / "linked"))
    (tmp_path / "linked" / ".git").write_text("gitdir: ../main/.git/worktrees/linked\n")
    main.installed()
    assert main.run("codex", hook=tmp_path / "linked" / ".dibs" / "hook").returncode == 7
    git(tmp_path, "clone", "-q", "--bare", str(main.top), str(tmp_path / "bare.git"))
    git(tmp_path / "bare.git", "worktree", "add", "-q", "-b", "other", str(tmp_path / "of bare"))
    hook = tmp_path / "of bare" / ".dibs" / "hook"
    assert main.run("codex", hook=hook).returncode == 0
    (tmp_path / "bare.git" / ".dibs").mkdir()
    shutil.copytree(main.top / ".dibs" / "local", tmp_path / "bare.git" / ".dibs" / "local")
    assert main.run("codex", hook=hook).returncode == 7


def test_an_interpreter_that_is_gone_is_a_refusal_with_one_line(folder: Folder) -> None:
    folder.installed(python="/nowhere/python")
    for words, given in ((("claude",), BEFORE), (("gemini",), '{"hook_event_name": "BeforeTool"}'),
                         (("copilot", "preToolUse"), "{}"), (("claude",), "garbage"),
                         (("git", "pre-commit"), "")):  # fmt: skip
        done = folder.run(*words, given=given)
        assert done.returncode == 2, (words, done)
        assert done.stderr.count("\n") == 1
        assert "dibs was moved or removed" in done.stderr
        if words[0] == "git":
            assert not done.stdout
        else:  # in the client's own dialect, as hook.py would say it
            said = json.loads(done.stdout)
            answer = agents.dialect(words[0]).deny("preToolUse" if words[0] == "copilot" else "PreToolUse", "")
            assert list(said) == list(answer)
            assert "dibs was moved or removed" in done.stdout


def test_an_entry_that_is_gone_is_a_refusal_too(folder: Folder) -> None:
    folder.installed()
    (folder.top.parent / "it's here" / "entry.py").unlink()
    assert folder.run("codex").returncode == 2


def test_a_dibs_that_is_gone_does_not_keep_a_session_from_ending(folder: Folder) -> None:
    """Exit 2 at a stop would send the model back to work, for ever."""
    folder.installed(python="/nowhere/python")
    assert folder.run("claude", given=STOP).returncode == 0
    assert folder.run("copilot", "agentStop", given="{}").returncode == 0
    started = folder.run("claude", given=START)
    assert started.returncode == 0
    assert "dibs init" in json.loads(started.stdout)["systemMessage"]


def test_the_event_of_a_forbidden_write_cannot_be_hidden_in_its_input(folder: Folder) -> None:
    folder.installed(python="/nowhere/python")
    inside = '{"hook_event_name":"Stop","content":"\\"hook_event_name\\":\\"Stop\\""}'
    hidden = f'{{"hook_event_name":"PreToolUse","tool_input":{inside}}}'
    assert folder.run("claude", given=hidden).returncode == 2
    assert folder.run("claude", given='{"content":"x:y:z","tool":"Write"}').returncode == 2


def test_without_a_run_file_the_dibs_on_the_path_is_asked(folder: Folder, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "dibs"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$@"\ncat\nexit 5\n')
    program.chmod(0o755)
    path = f"{program.parent}:/usr/bin:/bin"
    done = folder.run("codex", given="sent", path=path)
    assert (done.stdout, done.returncode) == ("hook codex\nsent", 5)
    done = folder.run("git", "pre-commit", "a b", given="", path=path)
    assert (done.stdout, done.returncode) == ("git-hook pre-commit a b\n", 5)


@pytest.mark.parametrize("client", ["claude", "codex", "gemini"])
def test_a_teammate_without_dibs_is_told_once_how_to_get_it(folder: Folder, client: str) -> None:
    done = folder.run(client, given=START)
    assert done.returncode == 0
    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert "uv tool install FOLDER (a clone of dibs), then: dibs init" in told["systemMessage"]
    if client == "gemini":
        assert list(told) == ["systemMessage"]
    else:  # Codex shows nobody the system's message, but its model hears the context
        heard = told["hookSpecificOutput"]
        assert heard == {"hookEventName": "SessionStart", "additionalContext": told["systemMessage"]}


def test_a_teammate_without_dibs_is_never_in_the_way_of_anything(folder: Folder) -> None:
    for words, given in ((("claude",), BEFORE), (("claude",), STOP), (("codex",), "garbage"),
                         (("copilot", "sessionStart"), "{}"), (("copilot", "preToolUse"), "{}"),
                         (("git", "pre-commit"), ""), (("git", "pre-push", "o", "u"), "refs")):  # fmt: skip
        done = folder.run(*words, given=given)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), (words, done)


@pytest.mark.parametrize("words", [("claude",), ("copilot", "preToolUse"), ("git", "pre-push")])
def test_stdin_is_read_to_its_end_even_if_nobody_answers(folder: Folder, words: tuple[str, ...]) -> None:
    """More than a pipe holds: whoever writes would otherwise be killed by the broken pipe."""
    read, write = os.pipe()
    started = subprocess.Popen(
        ["sh", str(folder.hook), *words], stdin=read, cwd=folder.top, env={"PATH": "/usr/bin:/bin"}
    )
    os.close(read)
    with os.fdopen(write, "wb") as stream:
        stream.write(b'{"hook_event_name":"Stop"' + b" " * 1_000_000 + b"}")
    assert started.wait(LIMIT_S) == 0


@pytest.mark.parametrize("client", ["codex", "gemini", "copilot", "cursor"])
def test_the_command_of_the_other_clients_walks_up_to_the_launcher(folder: Folder, client: str) -> None:
    folder.installed()
    below = folder.top / "src" / "deep folder"
    below.mkdir(parents=True)
    command = before(client)
    done = subprocess.run(
        [folder.shell, "-c", command], input=BEFORE, cwd=below, capture_output=True, text=True, check=False
    )
    assert f"['{client}'" in done.stdout
    assert done.returncode == 2, "whatever fails is a refusal"
    assert str(below) in done.stdout


def test_claudes_command_goes_by_the_project_folder_wherever_the_agent_is(folder: Folder, tmp_path: Path) -> None:
    folder.installed()
    environment = {**os.environ, "CLAUDE_PROJECT_DIR": str(folder.top)}
    done = subprocess.run(
        [folder.shell, "-c", before("claude")], input=BEFORE, cwd=tmp_path,
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "['claude']" in done.stdout
    assert done.stdout.split("\n")[0].endswith(f"{folder.top}/.dibs/..")


def test_the_run_file_names_this_interpreter_and_is_written_whole(tmp_path: Path) -> None:
    place = location.find(str(tmp_path), str(tmp_path))
    local = Path(place.local)
    assert launcher.read_run(place.local) is None
    assert not launcher.is_current(place.local)
    launcher.put(place)  # the folder is not there: a hook goes on all the same
    local.mkdir(parents=True)
    launcher.put(place)
    assert launcher.is_current(place.local)
    assert launcher.is_put(place)
    assert sorted(path.name for path in local.iterdir()) == [".gitignore", "run"]
    read = launcher.read_run(place.local)
    assert read is not None
    python, entry = read
    assert python == os.path.abspath(sys.executable), "a venv's link must not be resolved: it would leave the venv"
    assert Path(entry).parts[-4:] == ("dibs", "guards", "start", "entry.py")


# --- what git takes away: a branch from before dibs, a sparse checkout, `git clean -x`


class Swept:
    """A repository and a linked worktree of it; the copies below git's directory are there, with the stand-in."""

    def __init__(self, tmp_path: Path) -> None:
        self.main, self.linked = tmp_path / "a repository", tmp_path / "linked tree"
        self.main.mkdir()
        git(self.main, "init", "-q", "-b", "main")
        git(self.main, "commit", "-q", "--allow-empty", "-m", "x")
        git(self.main, "worktree", "add", "-q", "-b", "linked", str(self.linked))
        entry = tmp_path / "entry.py"
        entry.write_text(ENTRY.replace("sys.exit(7)", "sys.exit(2)"))
        shared = self.main / ".git" / "dibs"
        shared.mkdir()
        (shared / "run").write_text(f"python={launcher.quoted(sys.executable)}\nentry={launcher.quoted(str(entry))}\n")
        (shared / "hook").write_text(launcher.hook_text())
        (shared / "hook").chmod(0o700)

    def client(
        self, client: str, top: Path, given: str = BEFORE, below: str = "", event: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """A client's own command for an event, or before a tool call, run in a working tree."""
        (top / below).mkdir(exist_ok=True)
        command = hook_command.command(agents.of(client), event) if event else before(client)
        return subprocess.run(
            ["sh", "-c", command], input=given, cwd=top / below, capture_output=True, text=True, check=False,
            env={"PATH": "/usr/bin:/bin", "CLAUDE_PROJECT_DIR": str(top), "OPENCODE_PROJECT_DIR": str(top)}, timeout=30,
        )  # fmt: skip


@pytest.fixture
def swept(tmp_path: Path) -> Swept:
    return Swept(tmp_path)


@pytest.mark.parametrize("client", NAMES)
def test_without_a_launcher_in_the_tree_the_copy_below_gits_directory_is_asked(swept: Swept, client: str) -> None:
    for top in (swept.main, swept.linked):
        for below in ("", "deep"):
            done = swept.client(client, top, below=below)
            assert done.returncode == 2, done
            assert f"['{client}'" in done.stdout
            tree = top if client in {"claude", "opencode"} else top / below
            assert done.stdout.split("\n")[0].endswith(f" {tree}"), "the agent's own working tree, not git's directory"
            assert done.stdout.split("\n")[1] == BEFORE


def test_a_launcher_whose_run_file_was_cleaned_away_takes_the_one_below_gits_directory(swept: Swept) -> None:
    for top in (swept.main, swept.linked):
        (top / ".dibs").mkdir()
        (top / ".dibs" / "hook").write_text(launcher.hook_text())
        done = swept.client("claude", top)
        assert (done.returncode, done.stdout.startswith("['claude']")) == (2, True), done
        assert done.stdout.split("\n")[0].endswith(f"{top}/.dibs/..")


def test_a_git_directory_that_is_kept_elsewhere_has_the_run_file_too(swept: Swept, tmp_path: Path) -> None:
    top = tmp_path / "separate"
    git(tmp_path, "init", "-q", f"--separate-git-dir={tmp_path}/apart", str(top))
    shutil.copytree(swept.main / ".git" / "dibs", tmp_path / "apart" / "dibs")
    assert swept.client("codex", top).stdout.startswith("['codex']"), "by the copy of the launcher"
    (top / ".dibs").mkdir()
    (top / ".dibs" / "hook").write_text(launcher.hook_text())
    assert swept.client("codex", top).stdout.startswith("['codex']"), "and by its own"


@pytest.mark.parametrize("client", NAMES)
def test_without_any_launcher_every_call_is_refused_and_no_session_is_kept_from_ending(
    swept: Swept, client: str
) -> None:
    (swept.main / ".git" / "dibs" / "hook").unlink()
    adapter = agents.of(client)
    for event in adapter.entries():
        for top in (swept.main, swept.linked):
            done = swept.client(client, top, event=event)
            assert done.returncode == (2 if adapter.hook.EVENTS[event] == agents.BEFORE else 0), (event, done)
            assert "dibs/hook" in done.stderr, "Codex takes exit 2 for a refusal only with a word on stderr"


@pytest.mark.parametrize("shell", [["dash"], ["bash"], ["bash", "--posix"]])
@pytest.mark.parametrize("text", ["", "<<<<<<< HEAD\nif x\n", "return 1\n", "false\n", "exit_ 3\n"])
def test_a_launcher_that_is_broken_or_missing_is_a_refusal_in_every_shell(
    tmp_path: Path, shell: list[str], text: str
) -> None:
    if text:
        write(tmp_path / ".dibs" / "hook", text)
    environment = {**os.environ, "CLAUDE_PROJECT_DIR": str(tmp_path), "OPENCODE_PROJECT_DIR": str(tmp_path)}
    for client in NAMES:
        words = [*shell, "-c", before(client)]
        done = subprocess.run(
            words, input=BEFORE, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 2, (client, done)


@pytest.mark.parametrize("client", NAMES)
def test_a_teammate_without_dibs_is_not_in_the_way_on_a_branch_without_it_either(swept: Swept, client: str) -> None:
    """The launcher of the session's start leaves a copy, as dibs would."""
    shutil.rmtree(swept.main / ".git" / "dibs")
    (swept.main / ".dibs").mkdir()
    (swept.main / ".dibs" / "hook").write_text(launcher.hook_text())
    adapter = agents.of(client)
    start = adapter.event_of(agents.BOOT)
    assert swept.client(client, swept.main, f'{{"hook_event_name":"{start}"}}', event=start).returncode == 0
    shutil.rmtree(swept.main / ".dibs")
    for top in (swept.main, swept.linked):
        done = swept.client(client, top)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("shell", [["dash"], ["bash"], ["bash", "--posix"]])
def test_a_colleague_who_never_had_dibs_is_not_locked_out_where_the_launcher_is_nowhere(
    tmp_path: Path, shell: list[str]
) -> None:
    """A sparse checkout, or a commit without `.dibs/`, of a repository whose clients' settings have the hooks."""
    clone, linked = tmp_path / "clone", tmp_path / "linked"
    git(tmp_path, "init", "-q", str(clone))
    git(clone, "commit", "-q", "--allow-empty", "-m", "x")
    git(clone, "worktree", "add", "-q", str(linked))
    for top in (clone, linked):
        for client in NAMES:
            adapter = agents.of(client)
            for event in adapter.entries():
                words = [*shell, "-c", hook_command.command(adapter, event)]
                done = subprocess.run(words, input=BEFORE, cwd=top, capture_output=True, text=True, check=False, env={
                    "PATH": "/usr/bin:/bin", "CLAUDE_PROJECT_DIR": str(top), "OPENCODE_PROJECT_DIR": str(top),
                })  # fmt: skip
                assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), (client, event)
    (clone / ".git" / "dibs").mkdir()  # a dibs was at work here: its folder says so, whatever became of the rest
    done = subprocess.run(
        [*shell, "-c", before("claude")], input=BEFORE, cwd=linked, capture_output=True, text=True, check=False,
        env={"PATH": "/usr/bin:/bin", "CLAUDE_PROJECT_DIR": str(linked)},
    )  # fmt: skip
    assert done.returncode == 2, done


def test_a_command_in_settings_is_one_line_that_a_reviewer_can_read() -> None:
    for adapter in agents.every():
        for event in adapter.entries():
            command = hook_command.command(adapter, event)
            assert len(command) < 280, "the logic is in .dibs/hook"
            assert "\n" not in command
    assert len(before("claude")) < 220


@pytest.mark.parametrize("client", NAMES)
def test_a_launcher_of_another_version_finds_itself_by_the_name_that_all_versions_use(
    swept: Swept, client: str
) -> None:
    """A session goes on with the commands it began with, on a branch whose launcher is older."""
    text = (
        'case ${dibs_hook:-$0} in */*) home=${dibs_hook%/*} ;; *) home=nowhere ;; esac; ls "$home"; echo "$1"; exit 2\n'
    )
    write(swept.main / ".dibs" / "hook", text)
    assert swept.client(client, swept.main).stdout == f"hook\n{client}\n"
    (swept.main / ".git" / "dibs" / "hook").write_text(text)
    assert swept.client(client, swept.linked).stdout == f"hook\nrun\n{client}\n"


def test_a_file_of_the_project_that_happens_to_be_called_dibs_hook_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "dibs").mkdir()
    (tmp_path / "dibs" / "hook").write_text("echo pwned; exit 0\n")
    for client in ("claude", "codex"):
        done = subprocess.run(
            ["sh", "-c", before(client)], input=BEFORE, cwd=tmp_path, capture_output=True, text=True, check=False,
            env={"PATH": "/usr/bin:/bin", "CLAUDE_PROJECT_DIR": str(tmp_path)},
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (2, "")


def test_git_hooks_find_the_copy_below_gits_directory(swept: Swept) -> None:
    for name in ("pre-commit", "post-commit"):
        path = swept.main / ".git" / "hooks" / name
        path.write_text(githooks.whole(name, "../.."))
        path.chmod(0o755)
    for top in (swept.main, swept.linked):
        words = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--allow-empty", "-m", "y"]
        done = subprocess.run(words, cwd=top, capture_output=True, text=True, check=False)
        assert done.returncode == 1, "the stand-in refuses"
        assert "['git', 'pre-commit']" in done.stdout + done.stderr


# --- an interpreter that is gone, and the command beside the launcher


def test_with_its_interpreter_gone_the_launcher_asks_the_dibs_on_the_path(folder: Folder, tmp_path: Path) -> None:
    folder.installed(python="/nowhere/python")
    program = tmp_path / "bin" / "dibs"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$@"\ncat\nexit 2\n')
    program.chmod(0o755)
    path = f"{program.parent}:/usr/bin:/bin"
    assert folder.run("codex", given="sent", path=path).stdout == "hook codex\nsent"
    environment = {"PATH": path, "CLAUDE_PROJECT_DIR": str(folder.top)}
    words = [folder.shell, "-c", before("claude")]

    def call() -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, input="sent", env=environment, capture_output=True, text=True, check=False)

    assert (call().stdout, call().returncode) == ("hook claude\nsent", 2)
    program.write_text("#!/bin/sh\nexit 1\n")
    assert call().returncode == 2, "one that fails must not let the write through"


def test_the_command_beside_the_launcher_is_dibs_by_the_same_interpreter(folder: Folder, tmp_path: Path) -> None:
    (folder.top / ".dibs" / "dibs").write_text(launcher.COMMAND)
    (folder.top / ".dibs" / "dibs").chmod(0o755)
    environment = {"PATH": "/usr/bin:/bin"}

    def call(cwd: Path) -> subprocess.CompletedProcess[str]:
        command = [f"{folder.top}/.dibs/dibs", "version", "--json"]
        return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)

    assert call(tmp_path).returncode == 127
    assert "uv tool install" in call(tmp_path).stderr
    folder.installed()
    (tmp_path / "dibs").mkdir()  # a folder of that name in the project must not take the package's place
    (tmp_path / "dibs" / "__init__.py").write_text("raise SystemExit(9)")
    assert json.loads(call(tmp_path).stdout)["ok"] is True
    assert call(folder.top).returncode == 0


def test_models_are_told_the_name_by_which_dibs_can_be_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = Path(os.path.realpath(tmp_path)) / "a repo"
    (top / ".dibs").mkdir(parents=True)
    (top / ".dibs" / "dibs").write_text(launcher.COMMAND)
    place = location.find(str(top), None)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert launcher.command_name(place) == launcher.command_name(place, str(top)) == ".dibs/dibs"
    assert launcher.command_name(place, f"{top}/src") == f"'{top}/.dibs/dibs'"
    (tmp_path / "dibs").mkdir()
    monkeypatch.setenv("PATH", f"/usr/bin::{tmp_path}")
    assert launcher.command_name(place) == ".dibs/dibs", "a folder of that name is no command"
    (tmp_path / "dibs").rmdir()
    (tmp_path / "dibs").write_text("")
    (tmp_path / "dibs").chmod(0o755)
    assert launcher.command_name(place, "/anywhere") == "dibs"
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (top / ".dibs" / "dibs").unlink()
    assert launcher.command_name(place) == "dibs", "nothing better is known"
