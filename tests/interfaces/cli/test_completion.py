"""Completion: what the workspace knows is proposed, by `dibs __complete` and through bash itself."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from dibs.interfaces.cli.audiences import is_plumbing
from dibs.interfaces.cli.command import family_of, names
from tests.scratch import Shell

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def busy(shell: Shell) -> Shell:
    shell.json("claim", "src/api.py", "db:users", "--as", "ann", exit=0)
    shell.json("claim", "lib/*.py", "--as", "ann", exit=0)
    (shell.folder / "lib").mkdir()
    (shell.folder / "lib" / "x.py").write_text("")
    shell.json("task", "add", "test the parser", "--id", "T1", exit=0)
    shell.json("run", "start", "big", "--id", "big-1", "--as", "bob", exit=0)
    shell.json("vote", "open", "which?", "--electorate", "ann,bob", "--id", "V1", "--as", "bob", exit=0)
    shell.json("state", "set", "release", "1", "--as", "bob", exit=0)
    return shell


def proposed(shell: Shell, *words: str) -> list[str]:
    done = shell.run("__complete", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return [line.partition("\t")[0] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["cl"], ["claim"]), (["--json", "cl"], ["claim"]), (["task", "ad"], ["add"]), (["claim", "--mo"], ["--mode"]),
        (["claim", "--mode", ""], ["write", "read", "watch"]),
        (["release", ""], ["src/api.py", "db:users", "lib/*.py"]),
        (["release", "src"], ["src/api.py"]), (["ask", "db:"], ["db:users"]), (["kill", "b"], ["bob"]),
        (["kill", "al"], ["all"]), (["diff", "a"], ["ann"]), (["handover", "ann", "--to", "N"], ["NEXT"]),
        (["status", "--as", "a"], ["ann"]), (["task", "show", ""], ["T1"]),
        (["task", "add", "x", "--after", "T"], ["T1"]),
        (["task", "list", "--run", ""], ["big-1"]), (["run", "show", ""], ["big-1"]), (["vote", "show", ""], ["V1"]),
        (["state", "get", ""], ["release"]), (["completion", ""], ["bash", "zsh", "fish"]),
        (["help", "task", "sp"], ["split"]), (["log", "--agent", "b"], ["bob"]), (["log", "src"], ["src/api.py"]),
        (["claim", "src"], []),
        (["claim", "--color", "n"], ["never"]), (["ask", "src/api.py", ""], []), (["nonsense", ""], []),
        (["deploy", "prod", "--", "m"], []), (["send", "a"], ["ann"]),
    ],
)  # fmt: skip
def test_values_that_the_workspace_knows_are_proposed(busy: Shell, words: list[str], wanted: list[str]) -> None:
    assert proposed(busy, *words) == wanted


def test_every_command_and_every_family_is_proposed(shell: Shell) -> None:
    first = proposed(shell, "")
    listed = [name for name in names() if not is_plumbing(name)]
    assert set(first) == {name.partition(" ")[0] for name in listed}
    for word in first:
        family = [name.partition(" ")[2] for name in family_of(word) if name in listed]
        if family:
            assert proposed(shell, word, "") == family


def test_plumbing_is_proposed_to_who_begins_it_and_old_spellings_to_nobody(shell: Shell) -> None:
    assert "sweep" not in proposed(shell, "")
    assert proposed(shell, "swe") == ["sweep"]
    assert proposed(shell, "landi") == []
    assert proposed(shell, "restore", "--l") == ["--limit"]


def test_where_there_is_no_workspace_nothing_is_proposed_and_nothing_said(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    assert proposed(shell, "release", "") == []
    assert proposed(shell, "cl") == ["claim"]


def test_asking_changes_nothing(busy: Shell) -> None:
    before = busy.json("verify", exit=0)["last"]
    for words in (["release", ""], ["kill", ""], ["task", "show", ""], ["--as", "nobody", "inbox", "--thread", ""]):
        busy.run("__complete", *words)
    assert busy.json("verify", exit=0)["last"] == before


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("dibs cl", ["claim"]), ("dibs release s", ["src/api.py"]), ("dibs release db:u", ["users"]),
        ("dibs task show ", ["T1"]), ("dibs release --as ann lib", ["lib/*.py"]), ("dibs release * s", ["src/api.py"]),
        ("dibs ask 'src/a b' ", []), ("dibs kill b", ["bob"]),
    ],
)  # fmt: skip
def test_bash_completes_values(busy: Shell, line: str, wanted: list[str]) -> None:
    script = (
        'eval "$(dibs completion bash)"; COMP_LINE="$1"; COMP_POINT=${#1}; _dibs; '
        '[ ${#COMPREPLY[@]} -eq 0 ] || printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script, "bash", line], cwd=busy.folder, env=busy.environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.splitlines() == wanted
