"""`dibs` alone, help, options before the command, and commands that do not exist."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from dibs.client import catalogue
from dibs.interfaces.cli import help, parse, suggest
from dibs.interfaces.cli.command import find, names
from dibs.interfaces.cli.index import COMMANDS, HIDDEN
from dibs.operations.core import index as operations
from tests.scratch import Shell


def test_dibs_alone_shows_the_workspace_and_the_everyday_commands(shell: Shell) -> None:
    shell.json("claim", "src/api.py", "--as", "ann", "--reason", "new route", exit=0)
    for _ in range(3):
        shell.json("claim", "src/api.py", "--as", "bob", exit=1)
    done = shell.run()
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "repo · sqlite · 1 agent at work, 0 waiting"
    assert lines[2].split() == ["FILE", "HELD", "BY", "LEFT", "FOR", "WAITING"]
    assert lines[3].split() == ["src/api.py", "ann", "30m", "new", "route"]
    assert "! bob was refused 3 times on src/api.py: dibs ask src/api.py TEXT" in done.stdout
    assert all(command in done.stdout for command, _ in help.EVERYDAY)
    assert len(help.EVERYDAY) == 8


def test_dibs_alone_elsewhere_says_what_it_is_and_how_to_begin(tmp_path: Path) -> None:
    done = Shell(tmp_path).run()
    assert done.returncode == 0
    assert done.stdout.startswith("dibs keeps coding agents ")
    assert "dibs init" in done.stdout
    assert not list(tmp_path.iterdir())


def test_dibs_alone_with_json_is_status(shell: Shell) -> None:
    shell.json("claim", "a.py", "--as", "ann", exit=0)
    assert set(json.loads(shell.run("--json").stdout)) == set(shell.json("status", exit=0))


def test_the_status_has_waiters_and_tasks_beside_what_they_wait_for(shell: Shell) -> None:
    shell.json("task", "add", "test the parser", "--id", "T1", exit=0)
    shell.json("task", "next", "--as", "cy", exit=0)
    shell.json("task", "progress", "T1", "60", "--as", "cy", exit=0)
    row = next(line for line in shell.run("status").stdout.splitlines() if line.startswith("task T1"))
    assert row.split() == ["task", "T1", "cy", "30m", "test", "the", "parser", "60", "%"]


@pytest.mark.parametrize("before", [["--json"], ["--json", "--as", "ann"], ["--as=ann", "--json"]])
def test_common_options_may_stand_before_the_command(shell: Shell, before: list[str]) -> None:
    shell.json("claim", "a.py", "--as", "ann", exit=0)
    assert shell.run(*before, "status").stdout == shell.run("status", *before).stdout
    assert '"ok":true' in shell.run(*before, "task", "add", "x", "--id", "T").stdout
    elsewhere = shell.run("--workspace", str(shell.folder), "--json", "status", cwd=shell.folder.parent)
    assert '"a.py"' in elsewhere.stdout


def test_another_option_before_the_command_is_a_usage_error(shell: Shell) -> None:
    error = shell.json("--wait", "5s", "claim", "x", exit=64)["error"]
    assert error["message"].startswith("unknown option --wait before the command")
    assert shell.run("--version").stdout.startswith("dibs ")
    assert shell.run("-h").stdout == shell.run("help").stdout


def test_help_is_short_and_help_all_has_every_command_by_group(shell: Shell) -> None:
    short = shell.run("help").stdout
    assert len(short.splitlines()) <= 24
    every = shell.run("help", "--all").stdout
    for group, members in help.grouped().items():
        assert f"\n{help.GROUPS[group]}:\n" in every
        assert members, f"nothing is in {group}"
    assert shell.run("task").stdout == shell.run("help", "task").stdout
    assert shell.run("task").returncode == 0
    assert "64 usage error" in " ".join(every.split())


def test_every_command_says_its_group_and_its_examples_are_read_as_they_stand() -> None:
    for name in [*names(), *HIDDEN]:
        command = find(name)
        assert command.help, name
        if name in HIDDEN:
            continue
        assert command.group in help.GROUPS, name
        assert command.examples, name
        for line, text in command.examples:
            assert text, name
            words = shlex.split(re.split(r" [<>|] ", line)[0])
            if words[0] != "dibs":  # `eval "$(dibs …)"`
                continue
            count = len(name.split())
            assert words[1 : 1 + count] == name.split(), line
            read = parse.parse(name, command.fields, words[1 + count :], rest=command.rest, short=command.short)
            assert not command.rest or read.rest, line
            for field in command.fields:
                if field.kind == "choice" and field.name in read.fields:
                    field.check(read.fields[field.name])


def test_what_an_operations_command_adds_is_in_a_file_of_its_name() -> None:
    for name, file in COMMANDS.items():
        if name in operations.FILES:
            assert file == name.replace(" ", "_"), "dispatch.py finds it by its name"


def test_every_answer_that_is_rendered_is_that_of_an_operation_of_the_group() -> None:
    for group in {operation.group for operation in catalogue.every()}:
        module = __import__(f"dibs.interfaces.cli.render.{group}", fromlist=["RENDERERS"])
        for name in module.RENDERERS:
            assert catalogue.operation(name).group == group, name


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("list", "status"), ("ls", "status"), ("lock", "claim"), ("unlock", "release"), ("who", "agents"),
        ("watch", "status --watch"), ("metrics", "stats"), ("config", "doctor"), ("ps", "agents"),
        ("queue", "task list"),
        ("clam", "claim"), ("relase", "release"), ("statuss", "status"), ("agent", "agents"), ("doctr", "doctor"),
        ("task lst", "task list"), ("run strat", "run start"),
    ],
)  # fmt: skip
def test_a_command_that_does_not_exist_names_the_one_that_was_meant(shell: Shell, said: str, meant: str) -> None:
    error = shell.json(*said.split(), exit=64)["error"]
    assert f"`dibs {meant}`" in error["message"]


def test_what_is_near_to_nothing_is_not_guessed(shell: Shell) -> None:
    for said in ("blockchain", "xyzzy", "q"):
        assert "did you mean" not in shell.json(said, exit=64)["error"]["message"]


def test_every_synonym_names_commands_that_exist() -> None:
    known = names()
    for word, meant in suggest.SYNONYMS.items():
        assert word not in known, f"{word} exists now: it needs no hint"
        for command in meant:
            words = [one for one in command.split() if not one.startswith("-") and one.islower()]
            assert " ".join(words) in known, command


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [("", "", 0), ("a", "", 1), ("claim", "clam", 1), ("ab", "ba", 1), ("kitten", "sitting", 3)],
)
def test_the_distance_counts_edits_and_swaps(one: str, other: str, edits: int) -> None:
    assert suggest.distance(one, other) == suggest.distance(other, one) == edits
