"""Prose fits the terminal, commands stay whole, and a pipe gets every line as it is."""

from __future__ import annotations

import io

import pytest

from dibs.interfaces.cli import terminal, wrap
from tests.interfaces.cli.screen import Screen, bare
from tests.scratch import Shell

LONG = "the importer is rewritten so that it reads the files of all the customers of the last ten years again"


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("one two three four five six", ["one two three four", "five six"]),
        ("  - one two three four five", ["  - one two three", "    four five"]),
        ("1  5m  ann claimed src/a.py", ["1  5m  ann claimed", "       src/a.py"]),
        ("wait: `dibs claim src/a.py --wait 60s` or not", ["wait:", "`dibs claim src/a.py --wait 60s`", "or not"]),
        ("an odd ` is no command at all", ["an odd ` is no", "command at all"]),
        ("\033[33mone two three four five\033[0m", ["\033[33mone two three four", "five\033[0m"]),
        ("日本 日本 日本 日本 日本", ["日本 日本 日本 日本", "日本"]),
    ],
)
def test_a_line_is_broken_at_blanks_and_never_inside_a_command(line: str, lines: list[str]) -> None:
    assert wrap.wrapped(line, 20) == lines


@pytest.mark.parametrize(
    "text",
    [
        "  dibs release src/api.py --force --why stuck\n", "$ git commit -m 'a message of some words'\n",
        "@@ -1,2 +1,2 @@\n-a line of a diff that is long\n a line of a diff that is long\n",
        "\r\033[K| ann holds src/api.py, 12m left\r\033[K",
    ],
)  # fmt: skip
def test_a_command_a_diff_and_what_moves_the_cursor_stay_as_they_are(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    stream = io.StringIO()
    wrap.Wrapping(stream).write(text)
    assert stream.getvalue() == text


def test_a_question_is_not_broken_by_its_answer_s_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    stream = io.StringIO()
    wrapping = wrap.Wrapping(stream)
    wrapping.write("continue? [y/N] ")
    wrapping.write("and the rest of that line is longer\nthis line is new and it is wrapped\n")
    assert stream.getvalue().split("\n")[1:] == ["this line is new and it is", "wrapped", ""]


@pytest.fixture
def told(shell: Shell) -> Shell:
    shell.json("claim", "src/api.py", "--as", "ann", "--reason", LONG, exit=0)
    shell.json("claim", "src/api.py", "--as", "bob", exit=1)
    shell.json("claim", "src/db.py", "--as", "bob", "--reason", LONG, exit=0)
    return shell


@pytest.mark.parametrize("columns", [50, 80])
@pytest.mark.parametrize(
    "line",
    ["status", "log", "explain src/api.py", "claim src/api.py --as bob", "undo nosuch", "stauts", "alerts", "doctor",
     "init --dry-run", "release src/db.py --as ann", "init"],
)  # fmt: skip
def test_no_text_is_broken_in_a_word_and_a_pipe_gets_it_whole(told: Shell, line: str, columns: int) -> None:
    _, text = Screen(told.folder, *line.split(), columns=columns).end()
    for one in bare(text).splitlines():
        whole = "`" in one or "/" in one or one.startswith("  ")  # a command, or a path
        assert terminal.cells(one) <= columns or (whole and " " not in one.strip().partition("`")[0]), one


def test_a_pipe_and_json_are_not_wrapped(told: Shell) -> None:
    assert any(LONG in one for one in told.run("explain", "src/api.py").stdout.splitlines())
    code, text = Screen(told.folder, "explain", "src/api.py", "--json").end()
    assert (code, len(text.splitlines())) == (0, 1)
