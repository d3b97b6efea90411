"""The record cannot be swept away, whatever takes its files: nobody goes on as if nothing had ever been claimed.

`git clean -x`, `git stash -a`, a sparse checkout, a branch from before dibs, `rm -r .dibs`; real git, hooks and CLI.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dibs.interfaces import agents
from dibs.interfaces.install import hook_command, probe
from dibs.stores.redis import epoch
from tests.interfaces.installation import git, shell_in, write
from tests.scratch import Shell

BARE_PATH = "/usr/bin:/bin"  # dibs is not on it


class Swept:
    """A repository with a first commit from before dibs and a second one with it, in which ann holds src/x.py."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        git("init", "-q", "-b", "main", cwd=folder)
        write(folder / "src" / "x.py", "x = 1\n")
        write(folder / "lib" / "y.py", "y = 1\n")
        self.commit(folder, "before dibs")
        git("branch", "old", cwd=folder)
        self.shell = shell_in(folder)
        self.shell.json("init", "--clients", "claude,codex", exit=0)
        self.commit(folder, "with dibs")
        self.token = self.shell.json("claim", "src/x.py", "--as", "ann", exit=0)["token"]

    @staticmethod
    def commit(folder: Path, message: str) -> None:
        git("add", "-A", cwd=folder)
        git("-c", "core.hooksPath=/dev/null", "commit", "-qm", message, cwd=folder)

    @property
    def folder(self) -> Path:
        return self.shell.folder

    def sweep(self, *words: str) -> None:
        git("-c", "core.hooksPath=/dev/null", *words, cwd=self.folder)

    def old_and_clean(self) -> None:
        self.sweep("switch", "-q", "old")
        self.sweep("clean", "-fdxq")

    def hook(self, tool: str, agent: str = "bob", top: Path | None = None, **given: Any) -> tuple[int, str]:
        """Claude's command before a tool call, with dibs nowhere on the PATH."""
        top = top or self.folder
        sent = {"session_id": agent, "cwd": str(top), "hook_event_name": "PreToolUse", "tool_name": tool}
        ended = self.folder.parent / "exit"  # on its own: whatever runs the tests is not this agent's client
        done = subprocess.run(
            ["sh", "-c", probe.DETACHED, "sh", hook_command.command(agents.of("claude"), "PreToolUse"), str(ended)],
            input=json.dumps({**sent, "tool_input": given}), timeout=60, check=False, cwd=top, capture_output=True,
            text=True, env={"PATH": BARE_PATH, "HOME": self.shell.environment["HOME"], "CLAUDE_PROJECT_DIR": str(top)},
        )  # fmt: skip
        return int(ended.read_text()), done.stdout + done.stderr


@pytest.fixture
def swept(tmp_path: Path) -> Swept:
    return Swept(tmp_path / "a repo")


SWEEPS: dict[str, Callable[[Swept], None]] = {
    "clean": lambda swept: swept.sweep("clean", "-fdxq"),
    "clean X": lambda swept: swept.sweep("clean", "-fdXq"),
    "stash": lambda swept: swept.sweep("stash", "-aq"),
    "sparse": lambda swept: swept.sweep("sparse-checkout", "set", "lib"),
    "rm": lambda swept: shutil.rmtree(swept.folder / ".dibs"),
    "rm local": lambda swept: shutil.rmtree(swept.folder / ".dibs" / "local"),
    "old branch, then clean": lambda swept: swept.old_and_clean(),
}


@pytest.mark.parametrize("how", SWEEPS)
def test_a_record_that_was_swept_away_is_missed_and_never_begun_anew_by_itself(swept: Swept, how: str) -> None:
    SWEEPS[how](swept)
    assert not (swept.folder / ".dibs/local/dibs.db").exists(), "else this test proves nothing"
    for _ in range(2):
        code, said = swept.hook("Write", file_path=f"{swept.folder}/src/x.py", content="x")
        assert code == 2
        assert "dibs doctor --recover" in said
        assert swept.hook("Read", file_path=f"{swept.folder}/src/x.py")[0] == 0
        for words in (["status"], ["claim", "src/x.py", "--as", "bob"], ["release", "--all", "--as", "ann"]):
            error = swept.shell.json(*words, exit=2)["error"]
            assert (error["code"], error["missing"]) == ("unavailable", True)
        assert swept.shell.json("init", "--clients", "none", exit=2)["error"]["missing"] is True
    assert not (swept.folder / ".dibs/local/dibs.db").exists()


@pytest.mark.parametrize("how", SWEEPS)
def test_one_command_goes_on_above_every_token_that_was_given(swept: Swept, how: str) -> None:
    SWEEPS[how](swept)
    refused = swept.shell.json("doctor", "--recover", exit=2)["error"]
    assert "--yes" in refused["message"]
    done = swept.shell.json("doctor", "--recover", "--yes", exit=0)
    assert done["commit"] > swept.token
    assert done["aside"] == ""
    taken = swept.shell.json("claim", "src/x.py", "--as", "bob", exit=0)
    assert taken["token"] > done["commit"]
    stale = swept.shell.json("confirm", "src/x.py", "--token", str(swept.token), "--as", "ann", exit=1)["error"]
    assert stale["code"] == "fenced"
    log = swept.shell.json("log", exit=0)["events"]
    assert "store.recovered" in [event["kind"] for event in log[:2]]
    swept.shell.json("verify", exit=0)
    code, said = swept.hook("Write", "ann", file_path=f"{swept.folder}/src/x.py", content="x")
    assert (code, "bob" in said) == (2, True)
    assert "sound" in swept.shell.json("doctor", "--recover", "--yes", exit=64)["error"]["message"]


def test_what_was_stashed_away_comes_back_with_the_stash(swept: Swept) -> None:
    swept.sweep("stash", "-aq")
    swept.shell.json("status", exit=2)
    shutil.rmtree(swept.folder / ".dibs" / "local")  # what the calls meanwhile left there
    swept.sweep("stash", "pop", "-q")
    (claim,) = swept.shell.json("status", exit=0)["claims"]
    assert (claim["agent"], claim["token"]) == ("ann", swept.token)


def test_a_second_sweep_after_a_recovery_is_noticed_too(swept: Swept) -> None:
    swept.sweep("clean", "-fdxq")
    swept.shell.json("doctor", "--recover", "--yes", exit=0)
    token = swept.shell.json("claim", "src/x.py", "--as", "bob", exit=0)["token"]
    swept.sweep("clean", "-fdxq")
    swept.shell.json("claim", "src/x.py", "--as", "ann", exit=2)
    assert swept.shell.json("doctor", "--recover", "--yes", exit=0)["commit"] > token


def test_which_store_was_coordinated_through_is_remembered_too(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    git("init", "-q", cwd=folder)
    shell, named = shell_in(folder), f"sqlite:{tmp_path}/elsewhere.db"
    shell.json("init", "--clients", "none", exit=0, DIBS_STORE=named)
    shell.json("claim", "a", "--as", "ann", exit=0, DIBS_STORE=named)
    shutil.rmtree(folder / ".dibs" / "local")
    error = shell.json("claim", "a", "--as", "bob", exit=2)["error"]
    assert error["pinned"] == named, "agents on two stores would not see each other"
    assert shell.json("status", exit=0, DIBS_STORE=named)["claims"][0]["agent"] == "ann"


def test_without_its_pin_a_database_that_answered_is_still_missed(swept: Swept) -> None:
    (swept.folder / ".git" / "dibs" / "store").unlink()
    swept.sweep("clean", "-fdxq")
    assert swept.shell.json("claim", "src/x.py", "--as", "bob", exit=2)["error"]["missing"] is True
    assert swept.shell.json("doctor", "--recover", "--yes", exit=0)["commit"] > swept.token


def test_an_older_copy_of_all_that_lies_in_the_workspaces_folder_is_noticed(swept: Swept, tmp_path: Path) -> None:
    shutil.copytree(swept.folder / ".dibs", tmp_path / "copy")
    swept.shell.json("claim", "lib/y.py", "--as", "ann", exit=0)
    shutil.rmtree(swept.folder / ".dibs")
    shutil.copytree(tmp_path / "copy", swept.folder / ".dibs")
    error = swept.shell.json("claim", "lib/y.py", "--as", "bob", exit=2)["error"]
    assert error["answered"] > error["commit"]


def test_a_workspace_that_was_only_just_made_has_nothing_to_lose(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    git("init", "-q", cwd=folder)
    shell = shell_in(folder)
    for _ in range(2):
        shell.json("init", "--clients", "none", exit=0)
        git("clean", "-fdxq", cwd=folder)
    shell.json("init", "--clients", "none", exit=0)
    assert shell.json("claim", "a", "--as", "ann", exit=0)["token"] < 10


@pytest.mark.parametrize("noise", [b"", b"\0" * 48, b"x" * 48, b"9" * 60, b"\xff" * 300])
def test_a_damaged_memory_locks_nobody_out(swept: Swept, noise: bytes) -> None:
    shared = swept.folder / ".git" / "dibs"
    for name in ("store", "answered"):
        (shared / name).write_bytes(noise)
    (claim,) = swept.shell.json("status", exit=0)["claims"]
    assert claim["agent"] == "ann"
    swept.shell.json("claim", "lib/y.py", "--as", "ann", exit=0)
    assert (shared / "store").read_text() == "sqlite:\n", "it is mended by the next call"
    for name in ("store", "answered"):
        (shared / name).write_bytes(noise)
    swept.sweep("clean", "-fdxq")
    swept.shell.json("claim", "lib/y.py", "--as", "bob", exit=0)


def test_a_workspace_of_an_older_dibs_gets_its_copies_with_the_next_call(swept: Swept) -> None:
    shared = swept.folder / ".git" / "dibs"
    shutil.rmtree(shared)
    entry = swept.folder.parent / "entry.py"
    entry.write_text("# another dibs's")
    (swept.folder / ".dibs" / "local" / "run").write_text(f"python=/bin/sh\nentry={entry}\n")
    swept.shell.json("status", exit=0)
    assert {"hook", "dibs", "run", "store"} <= {path.name for path in shared.iterdir()}
    assert (shared / "run").read_text().startswith("python=/bin/sh\n"), "which one runs is somebody's choice"


def named(python: str, entry: str) -> str:
    return f"# made by dibs: what .dibs/hook starts on this machine\npython='{python}'\nentry='{entry}'\n"


def test_a_file_that_an_upgrade_moved_is_named_anew_by_the_next_call(swept: Swept, tmp_path: Path) -> None:
    run, copy = swept.folder / ".dibs/local/run", swept.folder / ".git/dibs/run"
    is_current = run.read_text()
    left = tmp_path / "clone" / "src" / "dibs" / "doors" / "hooks" / "entry.py"  # the dibs it had before, still there
    left.parent.mkdir(parents=True)
    left.write_text("")
    for entry in ("/nowhere/dibs/guards/entry.py", str(left)):
        run.write_text(named(sys.executable, entry))
        copy.write_text(named(sys.executable, entry))
        swept.shell.json("status", exit=0)
        assert run.read_text() == copy.read_text() == is_current, entry


def test_a_hook_finds_a_dibs_that_an_upgrade_moved_by_its_interpreter_and_names_it_anew(swept: Swept) -> None:
    run = swept.folder / ".dibs/local/run"
    was = run.read_text()
    run.write_text(named(sys.executable, "/nowhere/dibs/guards/entry.py"))
    path = str(swept.folder / "lib" / "y.py")
    assert swept.hook("Write", file_path=path, content="x") == (0, "")
    assert run.read_text() == was
    assert "lib/y.py" in str(swept.shell.json("status", exit=0)["claims"])


def test_memory_that_cannot_be_written_is_no_hindrance(swept: Swept) -> None:
    """A client's sandbox may let its shell write in the working tree and not in git's directory."""
    shared = swept.folder / ".git" / "dibs"
    shutil.rmtree(shared)
    shared.write_text("not a folder")
    swept.shell.json("claim", "lib/y.py", "--as", "ann", exit=0)
    assert len(swept.shell.json("status", exit=0)["claims"]) == 2
    assert shared.read_text() == "not a folder"


def test_a_repository_that_is_renamed_or_copied_keeps_its_record(swept: Swept, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    os.rename(swept.folder, moved)
    shell = shell_in(moved)
    assert shell.json("status", exit=0)["claims"][0]["token"] == swept.token
    shutil.copytree(moved, tmp_path / "copy", symlinks=True)
    assert shell_in(tmp_path / "copy").json("claim", "lib/y.py", "--as", "ann", exit=0)["token"] > swept.token
    git("clean", "-fdxq", cwd=moved)
    shell.json("status", exit=2)


def test_on_a_branch_from_before_dibs_the_guards_go_on_as_they_were(swept: Swept) -> None:
    config = swept.folder / ".dibs/config.toml"
    config.write_text(config.read_text().split("\n[")[0] + '\n[guards]\nstrict = ["lib/"]\n')
    swept.shell.json("status", exit=0)
    swept.commit(swept.folder, "strict")
    swept.sweep("switch", "-q", "old")
    assert not (swept.folder / ".dibs" / "hook").exists()
    code, said = swept.hook("Write", file_path=f"{swept.folder}/src/x.py", content="x")
    assert (code, "ann" in said) == (2, True)
    code, said = swept.hook("Edit", file_path=f"{swept.folder}/lib/y.py", old_string="1", new_string="2")
    assert (code, "strict" in said or "claim lib/y.py" in said) == (2, True), said
    assert swept.hook("Read", file_path=f"{swept.folder}/src/x.py")[0] == 0
    assert swept.hook("Bash", command="git status")[0] == 0
    assert git("status", "--porcelain", cwd=swept.folder).stdout == "", "nor is the record there to be committed"
    swept.sweep("clean", "-fdq")
    assert swept.shell.json("status", exit=0)["claims"][0]["agent"] == "ann"
    swept.shell.json("release", "--all", "--as", "ann", exit=0)
    code, said = swept.hook("Bash", command="git switch main")
    assert code == 0, said


def test_a_linked_worktree_on_an_old_branch_is_guarded_by_its_own_tree(swept: Swept, tmp_path: Path) -> None:
    linked = tmp_path / "linked tree"
    git("worktree", "add", "-q", str(linked), "old", cwd=swept.folder)
    assert swept.hook("Write", top=linked, file_path=f"{linked}/lib/y.py", content="y")[0] == 0
    held = {claim["agent"]: claim for claim in swept.shell.json("status", exit=0)["claims"]}
    assert "bob" in held
    code, said = swept.hook("Write", "carl", top=linked, file_path=f"{linked}/lib/y.py", content="y")
    assert (code, "bob" in said) == (2, True)
    assert swept.hook("Write", "carl", file_path=f"{swept.folder}/lib/y.py", content="y")[0] == 0, "another tree"


def test_without_git_a_folder_that_was_deleted_is_a_new_one(tmp_path: Path) -> None:
    shell = shell_in(tmp_path)
    shell.json("init", "--clients", "none", exit=0)
    shell.json("claim", "a", "--as", "ann", exit=0)
    shutil.rmtree(tmp_path / ".dibs")
    shell.json("init", "--clients", "none", exit=0)
    assert shell.json("status", exit=0)["claims"] == []


def test_uninstalling_takes_what_is_kept_below_gits_directories_too(swept: Swept, tmp_path: Path) -> None:
    git("worktree", "add", "-q", "-b", "other", str(tmp_path / "w"), cwd=swept.folder)
    private = swept.folder / ".git" / "worktrees" / "w" / "dibs"
    private.mkdir()
    swept.shell.json("init", "--uninstall", "--yes", exit=0)
    assert not private.exists()
    assert not (swept.folder / ".git" / "dibs").exists()
    swept.shell.json("init", "--clients", "none", exit=0)
    assert swept.shell.json("claim", "src/x.py", "--as", "bob", exit=0)["token"] <= swept.token


def test_a_workspace_that_was_swept_away_can_be_taken_out_byte_for_byte(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    git("init", "-q", cwd=folder)
    pages = {"CLAUDE.md": "# Notes\n\n", "AGENTS.md": "No newline", ".claude/settings.json": '{"a": 1}'}
    for name, text in pages.items():
        write(folder / name, text)
    shell: Shell = shell_in(folder)
    shell.json("init", "--clients", "all", exit=0)
    shell.json("claim", "a", "--as", "ann", exit=0)
    shutil.rmtree(folder / ".dibs")
    shell.json("init", "--uninstall", "--yes", exit=0)
    assert {name: (folder / name).read_text() for name in pages} == pages
    assert sorted(path.name for path in folder.iterdir()) == [".claude", ".git", "AGENTS.md", "CLAUDE.md"]


def test_the_highest_commit_of_a_server_is_remembered_where_nothing_sweeps_it_away(tmp_path: Path) -> None:
    local, kept = tmp_path / "local", tmp_path / "kept"
    first = epoch.Remembered(str(local), str(kept))
    for number in (5, 900, 17):
        first.rise(number)
    first.close()
    local.unlink()
    again = epoch.Remembered(str(local), str(kept))
    assert again.number == 900
    again.close()
    assert epoch.Remembered(str(tmp_path / "no" / "folder"), str(kept)).number == 900
    assert epoch.Remembered("").number == 0
