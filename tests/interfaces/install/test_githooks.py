"""dibs in git's hooks beside those of others: both run, a refusal refuses, and theirs are as before afterwards."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dibs.interfaces.install import githooks
from tests.interfaces.installation import StandIn, everything, git, shell_in, write
from tests.scratch import Shell


class Repository:
    """A repository with a commit, a remote to push to, and the stand-in instead of dibs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        git("init", "-q", "-b", "main", cwd=folder)
        git("init", "-q", "--bare", str(folder.parent / "remote.git"), cwd=folder)
        git("remote", "add", "origin", str(folder.parent / "remote.git"), cwd=folder)
        self.hooks = folder / ".git" / "hooks"
        self.shell: Shell = shell_in(folder)
        self.theirs = folder.parent / "theirs"

    def install(self) -> StandIn:
        self.shell.json("init", "--clients", "none", exit=0)
        return StandIn(self.folder.parent / "stand-in", self.folder / ".dibs" / "local")

    def commit(self, cwd: Path | None = None, message: str = "x") -> subprocess.CompletedProcess[str]:
        return git("commit", "-q", "--allow-empty", "-m", message, cwd=cwd or self.folder, check=False)

    def push(self) -> subprocess.CompletedProcess[str]:
        return git("push", "-q", "origin", "HEAD:main", cwd=self.folder, check=False)

    def said(self) -> list[str]:
        """What their own hooks noted."""
        found = self.theirs.read_text().splitlines() if self.theirs.exists() else []
        self.theirs.write_text("")
        return found


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "a repo")


def names(calls: list[tuple[list[str], str, str]]) -> list[str]:
    return [words[1] for words, _, _ in calls]


def test_a_commit_and_a_push_call_dibs_at_each_hook(repository: Repository) -> None:
    stand_in = repository.install()
    assert repository.commit().returncode == 0
    calls = stand_in.calls()
    assert names(calls) == ["pre-commit", "prepare-commit-msg", "post-commit"]
    assert calls[1][0][2:] == [".git/COMMIT_EDITMSG", "message"]
    assert all(folder == str(repository.folder) for _, _, folder in calls)
    assert repository.push().returncode == 0
    ((words, given, _),) = stand_in.calls()
    assert words[:3] == ["git", "pre-push", "origin"]
    assert given.startswith("HEAD ")
    assert given.endswith("\n")
    git("checkout", "-qb", "side", cwd=repository.folder)
    repository.commit(message="another, or both would be one commit")
    git("checkout", "-q", "main", cwd=repository.folder)
    repository.commit()
    stand_in.calls()
    git("merge", "-q", "--no-edit", "side", cwd=repository.folder)
    assert "pre-merge-commit" in names(stand_in.calls())


def test_a_refusal_of_dibs_stops_the_commit_and_the_push(repository: Repository) -> None:
    stand_in = repository.install()
    repository.commit()
    stand_in.refuse()
    assert repository.commit().returncode != 0
    assert repository.push().returncode != 0
    assert git("rev-list", "--count", "HEAD", cwd=repository.folder).stdout == "1\n"


@pytest.mark.parametrize(
    "first_line", ["#!/bin/sh\n", "#!/usr/bin/env bash\nset -euo pipefail\n", "#! /bin/dash -e\n", ""]
)
def test_somebody_elses_shell_hook_runs_after_ours_even_if_it_ends_in_exec(
    repository: Repository, first_line: str
) -> None:
    write(repository.hooks / "pre-commit", f"{first_line}exec sh -c 'echo ran >> \"{repository.theirs}\"'\n", 0o755)
    before = everything(repository.folder)
    stand_in = repository.install()
    assert repository.commit().returncode == 0
    assert "pre-commit" in names(stand_in.calls())
    assert repository.said() == ["ran"]
    stand_in.refuse()
    assert repository.commit().returncode != 0
    assert repository.said() == [], "what we refuse, nobody else need look at"
    repository.shell.json("init", "--uninstall", exit=0)
    after = everything(repository.folder / ".git" / "hooks")
    assert after == {n.removeprefix(".git/hooks/"): w for n, w in before.items() if n.startswith(".git/hooks/")}


@pytest.mark.parametrize("interpreter", ["#!/bin/sh", "#!/usr/bin/env bash", f"#!{sys.executable}"])
def test_a_pre_push_of_somebody_else_gets_the_same_stdin(repository: Repository, interpreter: str) -> None:
    body = f'cat >> "{repository.theirs}"\n'
    if "python" in interpreter:
        body = f"import sys\nopen({str(repository.theirs)!r}, 'a').write(sys.stdin.read())\n"
    write(repository.hooks / "pre-push", f"{interpreter}\n{body}", 0o755)
    stand_in = repository.install()
    repository.commit()
    stand_in.calls()
    git("tag", "one", cwd=repository.folder)
    assert git("push", "-q", "origin", "HEAD:main", "one", cwd=repository.folder, check=False).returncode == 0
    ((_, given, _),) = stand_in.calls()
    assert given.count("\n") == 2
    assert repository.said() == given.splitlines()


def test_nothing_to_push_is_told_as_nothing(repository: Repository) -> None:
    write(
        repository.hooks / "pre-push",
        f'#!/bin/sh\nwhile read -r line; do echo "line $line" >> "{repository.theirs}"; done\n',
        0o755,
    )
    repository.install()
    repository.commit()
    hook = repository.hooks / "pre-push"
    done = subprocess.run([str(hook), "origin", "url"], cwd=repository.folder, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0
    assert repository.said() == []


def test_a_hook_in_another_language_is_kept_and_called_by_its_own_name(repository: Repository) -> None:
    text = (
        f"#!{sys.executable}\nimport os, sys\n"
        f"open({str(repository.theirs)!r}, 'a').write(os.path.basename(sys.argv[0]) + '\\n')\n"
    )
    write(repository.hooks / "pre-commit", text, 0o755)
    stand_in = repository.install()
    assert repository.commit().returncode == 0
    assert names(stand_in.calls())[0] == "pre-commit"
    assert repository.said() == ["pre-commit"]
    (repository.folder / ".dibs" / "local" / "installed.json").unlink()  # as in a clone: by recognition
    repository.shell.json("init", "--uninstall", exit=0)
    assert (repository.hooks / "pre-commit").read_text() == text
    assert not (repository.hooks / "dibs-kept").exists()


def test_a_hook_that_was_switched_off_stays_off(repository: Repository) -> None:
    write(repository.hooks / "post-commit", f'#!/bin/sh\necho ran >> "{repository.theirs}"\n', 0o644)
    stand_in = repository.install()
    repository.commit()
    assert "post-commit" in names(stand_in.calls())
    assert repository.said() == []


def test_from_a_linked_worktree_without_the_launcher_the_main_ones_is_called(
    repository: Repository, tmp_path: Path
) -> None:
    repository.commit()
    git("worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"), cwd=repository.folder)
    stand_in = repository.install()
    assert repository.commit(tmp_path / "linked").returncode == 0
    calls = stand_in.calls()
    assert names(calls)[0] == "pre-commit"
    assert calls[0][2] == str(tmp_path / "linked")


def test_a_branch_that_knows_no_dibs_can_still_be_committed_to(repository: Repository) -> None:
    repository.install()
    (repository.folder / ".dibs").rename(repository.folder.parent / "away")
    assert repository.commit().returncode == 0


# --- the tools that manage hooks; each as it leaves a repository


def husky(folder: Path) -> None:
    """Husky 9: core.hooksPath names a folder of wrappers, which run the committed files above it with `sh -e`."""
    wrapper = '#!/usr/bin/env sh\n. "$(dirname "$0")/h"'
    runner = (
        '#!/usr/bin/env sh\nn=$(basename "$0")\ns=$(dirname "$(dirname "$0")")/$n\n[ ! -f "$s" ] && exit 0\n'
        'sh -e "$s" "$@"\nc=$?\n[ $c != 0 ] && echo "husky - $n script failed (code $c)"\nexit $c\n'
    )
    for name in (*githooks.NAMES, "commit-msg"):
        write(folder / ".husky" / "_" / name, wrapper, 0o755)
    write(folder / ".husky" / "_" / "h", runner)
    write(folder / ".husky" / "_" / ".gitignore", "*")
    git("config", "core.hooksPath", ".husky/_", cwd=folder)


def test_with_husky_both_run_and_the_committed_file_has_our_lines(repository: Repository) -> None:
    husky(repository.folder)
    write(repository.folder / ".husky" / "pre-commit", f'echo ran >> "{repository.theirs}"\n')
    before = everything(repository.folder)
    stand_in = repository.install()
    assert "dibs:begin" in (repository.folder / ".husky" / "pre-commit").read_text()
    assert repository.commit().returncode == 0
    assert names(stand_in.calls()) == ["pre-commit", "prepare-commit-msg", "post-commit"]
    assert repository.said() == ["ran"]
    stand_in.refuse()
    assert repository.commit().returncode != 0
    repository.shell.json("init", "--uninstall", exit=0)
    after = {n: w for n, w in everything(repository.folder).items() if n.startswith(".husky")}
    assert after == {n: w for n, w in before.items() if n.startswith(".husky")}


def framework(repository: Repository) -> str:
    """What the pre-commit framework writes: bash, and it calls a `.legacy` that it found."""
    return (
        "#!/usr/bin/env bash\n# File generated by pre-commit: https://pre-commit.com\n"
        "# ID: 138fd403232d2ddd5efb44317e38bf03\n\n"
        'HERE="$(cd "$(dirname "$0")" && pwd)"\n'
        'if [ -x "$HERE/pre-commit.legacy" ]; then "$HERE/pre-commit.legacy" "$@" || exit 1; fi\n'
        f"exec sh -c 'echo framework >> \"{repository.theirs}\"'\n"
    )


def test_with_the_pre_commit_framework_both_run_whoever_came_first(repository: Repository) -> None:
    write(repository.hooks / "pre-commit", framework(repository), 0o755)
    stand_in = repository.install()
    assert repository.commit().returncode == 0
    assert names(stand_in.calls())[0] == "pre-commit"
    assert repository.said() == ["framework"]
    repository.shell.json("init", "--uninstall", exit=0)
    assert (repository.hooks / "pre-commit").read_text() == framework(repository)


def test_the_guard_survives_a_framework_that_is_installed_again(repository: Repository) -> None:
    """It knows its own file by its text, and writes it anew; the hook next to it stays, and it calls it."""
    write(repository.hooks / "pre-commit", framework(repository), 0o755)
    before = everything(repository.folder)
    stand_in = repository.install()
    write(repository.hooks / "pre-commit", framework(repository), 0o755)
    assert repository.commit().returncode == 0
    assert names(stand_in.calls())[0] == "pre-commit"
    stand_in.refuse()
    assert repository.commit().returncode != 0
    assert repository.shell.json("init", "--clients", "none", exit=0)["changes"] == [".dibs/local/run"]
    repository.shell.json("init", "--uninstall", exit=0)
    assert everything(repository.hooks) == {
        name.removeprefix(".git/hooks/"): what for name, what in before.items() if name.startswith(".git/hooks/")
    }


def test_ours_moved_aside_by_the_framework_still_runs_and_is_found_again(repository: Repository) -> None:
    stand_in = repository.install()
    (repository.hooks / "pre-commit").rename(repository.hooks / "pre-commit.legacy")
    write(repository.hooks / "pre-commit", framework(repository), 0o755)
    assert repository.commit().returncode == 0
    assert names(stand_in.calls()) == ["pre-commit", "prepare-commit-msg", "post-commit"]
    assert repository.said() == ["framework"]
    assert "pre-commit" not in str(repository.shell.json("init", "--clients", "none", exit=0)["changes"])
    repository.shell.json("init", "--uninstall", exit=0)
    assert (repository.hooks / "pre-commit").read_text() == framework(repository)
    assert not (repository.hooks / "pre-commit.legacy").exists()


def test_with_lefthook_both_run(repository: Repository) -> None:
    text = (
        '#!/bin/sh\n\nif [ "$LEFTHOOK" = "0" ]; then\n  exit 0\nfi\n\n'
        f'call_lefthook() {{ echo "lefthook $*" >> "{repository.theirs}"; }}\n\ncall_lefthook run "pre-commit" "$@"\n'
    )
    write(repository.hooks / "pre-commit", text, 0o755)
    stand_in = repository.install()
    assert repository.commit().returncode == 0
    assert names(stand_in.calls())[0] == "pre-commit"
    assert repository.said() == ["lefthook run pre-commit"]
    repository.shell.json("init", "--uninstall", exit=0)
    assert (repository.hooks / "pre-commit").read_text() == text


def test_hooks_in_the_repositorys_own_folder_are_used(repository: Repository) -> None:
    write(repository.folder / ".githooks" / "pre-commit", f'#!/bin/sh\necho ran >> "{repository.theirs}"\n', 0o755)
    git("config", "core.hooksPath", ".githooks", cwd=repository.folder)
    stand_in = repository.install()
    assert repository.commit().returncode == 0
    assert names(stand_in.calls())[0] == "pre-commit"
    assert repository.said() == ["ran"]
    assert not [path for path in repository.hooks.iterdir() if not path.name.endswith(".sample")]


def test_uninstall_also_cleans_the_folder_that_git_used_before(repository: Repository) -> None:
    write(repository.hooks / "pre-push", "#!/bin/sh\necho theirs\n", 0o755)
    before = everything(repository.hooks)
    repository.install()
    git("config", "core.hooksPath", ".githooks", cwd=repository.folder)
    repository.shell.json("init", "--clients", "none", exit=0)
    assert (repository.folder / ".githooks" / "pre-commit").exists()
    repository.shell.json("init", "--uninstall", exit=0)
    assert everything(repository.hooks) == before
    assert not (repository.folder / ".githooks").exists()


def test_a_folder_of_hooks_that_was_not_there_is_not_there_afterwards(repository: Repository) -> None:
    shutil.rmtree(repository.hooks)
    before = everything(repository.folder)
    repository.install()
    assert (repository.hooks / "pre-commit").exists()
    repository.shell.json("init", "--uninstall", exit=0)
    assert everything(repository.folder) == before


def test_a_folder_of_hooks_for_the_whole_machine_is_left_alone_and_that_is_said(
    repository: Repository, tmp_path: Path
) -> None:
    shared = tmp_path / "everybody"
    write(shared / "pre-commit", "#!/bin/sh\n", 0o755)
    git("config", "core.hooksPath", str(shared), cwd=repository.folder)
    before = everything(shared)
    notes = repository.shell.json("init", "--clients", "none", exit=0)["notes"]
    [note] = [note for note in notes if str(shared) in note]  # there is one more where the interpreter is temporary
    assert "not guarded" in note
    assert repository.shell.json("init", "--clients", "none", exit=0)["changes"] == []
    assert everything(shared) == before
    checks = {check["check"]: check for check in repository.shell.json("doctor")["checks"]}
    assert not checks["git hooks"]["ok"]
    assert str(shared) in checks["git hooks"]["message"]


def test_which_files_sh_can_read() -> None:
    assert all(
        githooks.is_sh(text)
        for text in (
            b"#!/bin/sh",
            b"#!/usr/bin/env -S bash -e\n",
            b"#!/usr/bin/env A=1 zsh\n",
            b"echo\n",
            b"",
            b"#! /bin/dash\r\n",
        )
    )
    assert not any(
        githooks.is_sh(text) for text in (b"#!/usr/bin/env python3\n", b"#!/usr/bin/node", b"\x7fELF\0\0", b"#!\n")
    )
