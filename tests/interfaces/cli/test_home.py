"""`dibs` alone, help, options before the command, and commands that do not exist."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from dibs.client import catalogue
from dibs.interfaces.cli import audiences, help, parse, suggest
from dibs.interfaces.cli.command import find, names
from dibs.interfaces.cli.index import COMMANDS, HIDDEN
from dibs.operations.core import index as operations
from tests.scratch import Shell

LATER = frozenset({"handover"})  # synonyms name it; where it is not there, it is passed over


def test_dibs_alone_shows_the_workspace_and_the_everyday_commands(shell: Shell) -> None:
    shell.json("claim", "src/api.py", "--as", "ann", "--reason", "new route", exit=0)
    for _ in range(3):
        shell.json("claim", "src/api.py", "--as", "bob", exit=1)
    done = shell.run()
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "repo · sqlite · 1 agent at work, 0 waiting"
    assert lines[1].startswith("! bob was refused 3 times on src/api.py: `dibs ask src/api.py TEXT`, or `dibs release ")
    assert lines[3].split() == ["FILE", "HELD", "BY", "LEFT", "FOR", "WAITING"]
    assert lines[4].split() == ["src/api.py", "ann", "30m", "new", "route"]
    assert all(command in done.stdout for command, _ in audiences.EVERYDAY)
    assert len(audiences.EVERYDAY) == 15


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


def test_help_is_short_and_help_all_groups_by_whom_a_command_is_for_and_hides_plumbing(shell: Shell) -> None:
    short = shell.run("help").stdout
    assert len(short.splitlines()) <= 24
    assert {line.split()[1] for line, _ in audiences.EVERYDAY} <= set(names())
    every, plumbing = shell.run("help", "--all").stdout, shell.run("help", "--plumbing").stdout
    listed = [line.split("  ")[1] for line in f"{every}{plumbing}".splitlines() if re.match(r"  [a-z]", line)]
    assert sorted(listed) == names(), "each command once"
    for heading, members in help.grouped().items():
        whom, title = audiences.HEADINGS[heading]
        assert members, f"nothing is in {heading}"
        assert (f"\n{title}:\n" in every) is (whom != audiences.PLUMBING)
        assert (f"\n{title}:\n" in plumbing) is (whom == audiences.PLUMBING)
    assert shell.run("task").stdout == shell.run("help", "task").stdout
    assert shell.run("task").returncode == 0


def test_what_all_commands_have_in_common_is_said_once(shell: Shell) -> None:
    page = shell.run("help", "claim").stdout
    assert "64 usage error" not in page
    assert "--request-id ID" not in page
    for topic in help.TOPICS:
        assert f"`dibs help {topic}`" in " ".join(page.split())
    assert "64 usage error" in shell.run("help", "exit-codes").stdout
    assert "--request-id ID" in shell.run("help", "options").stdout
    assert "exactly one JSON object" in shell.json("help", "json", exit=0)["text"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["landings"], ["land", "--status"]), (["landings", "--queue", "--limit", "1"],
                                               ["land", "--status", "--queue", "--limit", "1"]),
        (["landings", "cancel", "none"], ["land", "--cancel", "none"]), (["restore", "--list"], ["restore"]),
        (["check", "settle", "log:x", "--why", "y"], ["check", "--settle", "log:x", "--why", "y"]),
    ],
)  # fmt: skip
def test_an_old_spelling_still_works_and_says_the_new_one_on_stderr(
    shell: Shell, old: list[str], new: list[str]
) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", shell.folder], check=True)
    was, now = shell.run(*old, "--json"), shell.run(*new, "--json")
    assert (was.returncode, was.stdout.split('"at"')[0]) == (now.returncode, now.stdout.split('"at"')[0])
    line = " ".join(new[:2] if len(new) > 1 else new)
    assert f"is now `dibs {line}`" in was.stderr
    assert now.stderr == ""
    words = [word for word in old[:2] if not word.startswith("-")]
    assert " ".join(words) not in names() or "--list" not in shell.run("help", *words).stdout
    assert shell.run("help", *words).returncode == 0


def test_what_only_lists_the_queue_is_no_option_of_landing(shell: Shell) -> None:
    assert "--queue goes with --status" in shell.run("land", "--queue").stderr


def test_a_value_that_is_misspelt_gets_a_suggestion(shell: Shell) -> None:
    for words, meant in (
        (["init", "--clients", "cluade"], "claude"), (["claim", "x", "--mode", "wriet"], "write"),
        (["check", "--check", "orchestrater"], "orchestrator"), (["completion", "fsh"], "fish"),
    ):  # fmt: skip
        assert f"did you mean '{meant}'?" in shell.json(*words, exit=64)["error"]["message"]


def test_every_command_says_its_group_and_its_examples_are_read_as_they_stand() -> None:
    for name in [*names(), *HIDDEN]:
        command = find(name)
        assert command.help, name
        if name in HIDDEN:
            continue
        assert audiences.heading_of(name, command.group) in audiences.HEADINGS, name
        assert command.examples, name
        for line, text in command.examples:
            assert text, name
            words = shlex.split(re.split(r" [<>|] ", line)[0])
            if words[0] != "dibs":  # `eval "$(dibs …)"`
                continue
            count = len(name.split())
            assert words[1 : 1 + count] == name.split(), line
            if command.raw:  # it reads its words itself
                continue
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
        ("stauts", "status"), ("stat", "status"), ("pause", "kill"), ("resume", "revive"), ("ui", "serve --open"),
        ("dashboard", "serve --open"), ("dashbord", "serve --open"), ("web", "serve --open"), ("open", "serve --open"),
        ("docs", "help"), ("takeover", "release --to"), ("prun", "prune"), ("Status", "status"), ("expl", "explain"),
    ],
)  # fmt: skip
def test_a_command_that_does_not_exist_names_the_one_that_was_meant(shell: Shell, said: str, meant: str) -> None:
    error = shell.json(*said.split(), exit=64)["error"]
    assert f"`dibs {meant}`" in error["message"]
    assert said != "stauts" or "stats" not in error["message"], "the one that people use"


def test_what_is_near_to_nothing_is_not_guessed(shell: Shell) -> None:
    for said in ("blockchain", "xyzzy", "q"):
        assert "did you mean" not in shell.json(said, exit=64)["error"]["message"]


def test_every_synonym_names_commands_that_exist() -> None:
    known = names()
    for word, meant in suggest.SYNONYMS.items():
        assert word not in known, f"{word} exists now: it needs no hint"
        for command in set(meant) - LATER:
            words = [one for one in command.split() if not one.startswith("-") and one.islower()]
            assert " ".join(words) in known, command


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [("", "", 0), ("a", "", 1), ("claim", "clam", 1), ("ab", "ba", 1), ("kitten", "sitting", 3)],
)
def test_the_distance_counts_edits_and_swaps(one: str, other: str, edits: int) -> None:
    assert suggest.distance(one, other) == suggest.distance(other, one) == edits
