"""What people see: colours and tables that fit on a terminal, plain text in pipes, nothing that agents smuggle in."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dibs.interfaces.cli import terminal
from tests.interfaces.cli.screen import ESCAPE, bare, shown
from tests.scratch import DIBS, Shell


@pytest.fixture
def busy(shell: Shell) -> Shell:
    shell.json("claim", "src/api.py", "--as", "ann", "--reason", "new route", exit=0)
    shell.json("claim", "docs/日本語.md", "--as", "山田", "--reason", "ドキュメント 🎉 fertig", exit=0)
    shell.json("claim", "z.py", "--as", "bob", "--reason", "x" * 300, exit=0)
    return shell


def test_a_terminal_gets_colours_and_a_pipe_none(busy: Shell) -> None:
    assert ESCAPE.search(shown(busy.folder, "status"))
    assert not ESCAPE.search(busy.run("status").stdout)
    assert not ESCAPE.search(shown(busy.folder, "status", NO_COLOR="1"))
    assert not ESCAPE.search(shown(busy.folder, "status", "--color", "never"))
    assert ESCAPE.search(shown(busy.folder, "--color=always", "status", NO_COLOR="1"))
    assert ESCAPE.search(busy.run("status", "--color=always").stdout)
    assert "one of auto, always, never" in busy.json("status", "--color", "loud", exit=64)["error"]["message"]


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_tables_fit_the_terminal_and_long_cells_end_in_an_ellipsis(busy: Shell, columns: int) -> None:
    lines = bare(shown(busy.folder, "status", columns=columns)).splitlines()
    assert all(terminal.cells(line) <= columns for line in lines)
    (row,) = [line for line in lines if line.startswith("z.py")]
    assert row.rstrip().endswith("…")
    assert "x" * 300 in busy.run("status").stdout, "a pipe gets all of it"


def test_a_long_path_is_cut_in_the_middle_and_keeps_its_file_name(shell: Shell) -> None:
    shell.json("claim", f"{'deep/' * 20}api.py", "packages/web/f1.py", "--as", "ann", exit=0)
    rows = bare(shown(shell.folder, "status", columns=60)).splitlines()[3:5]
    assert rows[0].startswith("deep/deep/")
    assert "…/api.py " in rows[0]
    assert rows[1].startswith("packages/web/f1.py ")


def test_on_a_narrow_terminal_the_widest_cells_give_way_and_none_vanishes(shell: Shell) -> None:
    shell.json("task", "add", "a title that says what is to be done", "--id", "t" * 60, exit=0)
    head, row = bare(shown(shell.folder, "task", "list", columns=60)).splitlines()[:2]
    assert head.split() == ["TASK", "STATE", "PRIORITY", "AGENT", "TITLE"]
    assert "planned" in row
    assert "a title tha…" in row


def test_wide_characters_are_aligned(busy: Shell) -> None:
    for text in (busy.run("status").stdout, bare(shown(busy.folder, "status", columns=120))):
        lines = text.splitlines()
        head = next(line for line in lines if line.startswith("FILE"))
        rows = {line[:4]: line for line in lines if line.startswith(("src/", "docs"))}
        for title, plain, wide in (("HELD BY", "ann", "山田"), ("FOR", "new route", "ドキュメント")):
            at = head.index(title)
            assert rows["src/"].index(plain) == at
            assert terminal.cells(rows["docs"][: rows["docs"].index(wide)]) == at


@pytest.mark.parametrize("evil", ["[bold red]x[/]", ":warning:", "a\u202eb", "\x9b31m", "\u2028b"])
def test_what_an_agent_wrote_is_neither_markup_nor_an_escape(shell: Shell, evil: str) -> None:
    shell.json("claim", "x.py", "--as", "ann", "--reason", f"<{evil}>", exit=0)
    shell.json("task", "add", f"<{evil}>", "--id", "T", exit=0)
    for words in (["status"], ["task", "list"], ["task", "show", "T"], ["log"]):
        for text in (shell.run(*words).stdout, bare(shown(shell.folder, *words, columns=200))):
            assert all(line.isprintable() for line in text.splitlines()), (words, text)
            if evil.isprintable() and words != ["log"]:
                assert f"<{evil}>" in text


def test_colours_are_only_our_own(shell: Shell) -> None:
    """With an escape in a reason, a terminal gets the same sequences as without."""
    shell.json("claim", "x.py", "--as", "ann", "--reason", "harmless", exit=0)
    before = ESCAPE.findall(shown(shell.folder, "status"))
    shell.json("release", "x.py", "--as", "ann", exit=0)
    shell.json("claim", "x.py", "--as", "ann", "--reason", "\x9b5m!", exit=0)
    assert ESCAPE.findall(shown(shell.folder, "status")) == before


def test_a_refusal_cannot_move_the_cursor(shell: Shell) -> None:
    shell.json("claim", "x.py", "--as", "ann", "--reason", "\x9b2Jgone", exit=0)
    for words in (["claim", "x.py"], ["claim", "\x1b[2J"], ["task", "show", "\x9b2J"], ["\x1b[2J"]):
        said = shell.run(*words, "--as", "bob").stderr
        assert said
        assert all(line.isprintable() for line in said.splitlines()), said


def test_rich_is_not_loaded_where_nobody_looks(shell: Shell) -> None:
    script = (
        "import sys; from dibs.interfaces.cli import main; code = main(sys.argv[1:]); "
        "assert not [name for name in sys.modules if name.partition('.')[0] == 'rich'], 'rich'; sys.exit(code)"
    )
    for words in (["claim", "a.py", "--as", "ann"], ["status"], ["help", "--all"], ["log"], ["agents"], []):
        done = subprocess.run(
            [sys.executable, "-c", script, *words], cwd=shell.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (words, done.stderr)


def test_times_are_relative_for_people_and_iso_in_json(busy: Shell) -> None:
    busy.json("task", "add", "do it", "--id", "t1", exit=0)
    for words in (["status"], ["log"], ["agents"], ["task", "list"], ["task", "show", "t1"]):
        text = busy.run(*words).stdout
        assert text
        assert not re.search(r"\d\dT\d\d:", text), text
    assert busy.json("status")["claims"][0]["expires_at"].endswith("Z")


def test_letters_are_measured_and_cut_as_terminals_show_them() -> None:
    assert [terminal.cells(text) for text in ("abc", "日本", "e\u0301", "🎉")] == [3, 4, 1, 2]
    assert terminal.cut("日本語", 5) == "日本…"
    assert terminal.cut("abc", 3) == "abc"
    assert (terminal.cut_path("lib/src/日本.py", 12), terminal.cut_path("abc", 3)) == ("lib…/日本.py", "abc")
    assert terminal.clean("a\tb\u00a0c\x07\u200d") == "a b c\\x07"


def test_help_is_wrapped_to_the_terminal(tmp_path: Path) -> None:
    for columns in (50, 80, 120):
        for words in (["help"], ["help", "--all"], ["help", "task", "add"], ["deploy", "--help"]):
            text = bare(shown(tmp_path, *words, columns=columns))
            commands = ("  dibs ", "  # ")  # an example is never broken
            assert all(len(line) <= columns or line.startswith(commands) for line in text.splitlines()), (
                columns,
                words,
            )


@pytest.mark.parametrize("unbuffered", ["", "1"])  # a full output is met by the first line, or at the end
def test_an_output_that_is_closed_or_full_is_no_traceback(busy: Shell, unbuffered: str) -> None:
    def ended(words: str) -> tuple[int, str]:
        done = subprocess.run(
            ["sh", "-c", f"{DIBS} {words}"], cwd=busy.folder, capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
        return done.returncode, done.stderr

    assert ended("check --check 3 >&-") == (0, "")
    assert ended("check --check 3 >&- 2>&-") == (0, "")
    assert ended("undo nosuch >&-")[1].startswith("dibs: there is no claim, undo, task or agent nosuch")
    assert ended("check --check 3 >/dev/full") == (2, "dibs: the output cannot be written: No space left on device\n")
