"""A command that dibs advises runs nothing else, whatever other agents called their files, tasks and themselves.

Also what a report shows of such names, and who may write to the folder of a workspace.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

import dibs
from dibs.audit import html_text
from dibs.errors import Invalid, Killed, quoted
from dibs.guards import advised
from tests.interfaces.repository import Repository
from tests.scratch import Shell

NAMES = ("a;touch${IFS}PWN;b", "$(touch${IFS}PWN)", "`touch${IFS}PWN`", "it's;touch${IFS}PWN", "x'`;touch${IFS}PWN;`'")
COMMAND = re.compile(r"`((?:dibs|git|\.dibs/dibs) [^\n]*?)`(?=[\s.,;:)]|$)")


@pytest.fixture
def jail(tmp_path: Path) -> Path:
    """A folder in which an injected `touch` leaves a file; dibs and git are programs that do nothing."""
    for name in ("bin/dibs", "bin/git", ".dibs/dibs"):
        program = tmp_path / "jail" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    return tmp_path / "jail"


def injected(jail: Path, text: str) -> list[str]:
    """The advised commands of this text that ran a word of it as a command."""
    commands = COMMAND.findall(text)
    assert commands, text
    found = []
    for command in commands:
        env = {"PATH": f"{jail}/bin:{os.environ['PATH']}"}
        subprocess.run(["sh", "-c", command], cwd=jail, env=env, stderr=subprocess.DEVNULL, check=False)
        if (jail / "PWN").exists():
            (jail / "PWN").unlink()
            found.append(command)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_command_that_continues_the_work_another_agent_left_takes_its_file_as_one_word(
    repo: Repository, jail: Path, name: str
) -> None:
    ann = repo.agent("ann")
    ann.boot()
    ann.edit(f"{name}.py", "x\n")
    ann.end()
    assert injected(jail, repo.agent("ben").boot()) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_command_that_a_refusal_advises_takes_every_name_as_one_word(shell: Shell, jail: Path, name: str) -> None:
    shell.json("task", "add", "t", "--id", "t1", "--for", name, "--as", "ann", exit=0)
    shell.json("task", "add", "t", "--id", "t2", "--needs", name, "--as", "ann", exit=0)
    shell.json("boot", "--as", name, exit=0)
    killed = shell.run("kill", name, "--why", "x").stdout
    texts = [killed, *[shell.run("task", "claim", task, "--as", "bob").stderr for task in ("t1", "t2")]]
    assert [injected(jail, text) for text in texts] == [[], [], []]


def test_a_name_that_begins_with_a_dash_is_no_option_in_an_advised_command() -> None:
    assert quoted("-rf") == "./-rf"
    assert "`dibs revive ./--all`" in Killed(agent="--all", why="x").say()


@pytest.mark.parametrize(
    "words",
    [
        ["boot", "--as", "-x"], ["task", "add", "t", "--id=-x"], ["task", "add", "t", "--for=-x"],
        ["task", "add", "t", "--needs=-x"], ["state", "set", "--key=-x", "1"], ["vote", "open", "t", "--vote=-x"],
    ],
    ids=lambda words: " ".join(words[:3]),
)  # fmt: skip
def test_no_id_begins_with_a_dash(shell: Shell, words: list[str]) -> None:
    assert shell.run(*words).returncode == 64, shell.run(*words)


def test_a_usage_error_that_is_cut_ends_before_half_of_a_quoted_word() -> None:
    long = quoted("a" * 60 + "'" + "b" * 2_000) + " " + quoted(";touch PWN")
    assert str(Invalid(f"run `dibs renew {long}` now")).count("`") == 1  # so it is no command any more


def test_a_backtick_in_a_name_does_not_end_the_command_that_is_seen_from_a_folder(tmp_path: Path) -> None:
    text = f"Run `dibs claim {quoted('src/a`;b.py')} --wait 60s`, then go."
    found = advised.from_folder(text, str(tmp_path), str(tmp_path / "src"))
    assert found == f"Run `dibs claim {quoted('a`;b.py')} --wait 60s`, then go."


def test_a_report_shows_no_letter_that_cannot_be_seen() -> None:
    assert html_text.clean("a\u200bb\u202ec\u2060d\x1be") == "a\ufffdb\ufffdc\ufffdd\ufffde"


def test_the_folder_of_a_workspace_is_not_writable_for_all_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        dibs.init(str(tmp_path))
    finally:
        os.umask(before)
    assert (tmp_path / ".dibs").stat().st_mode & 0o002 == 0
