"""Lines that begin or end with a backslash, and commands as long as a file: each line is read as the shell reads it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dibs import shell
from tests.shell.test_shell_oracle import foretold


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A directory with some files."""
    top = Path(os.path.realpath(tmp_path_factory.mktemp("here")))
    for name in ("a", "b.txt", "x"):
        (top / name).write_text("one\n")
    return str(top)


def written(here: str, command: str) -> list[str]:
    """The files that a command writes, all of them known."""
    reading = shell.read(command, here, home=here, strictly=True)
    assert not reading.unresolved, command
    assert not reading.broken, command
    return sorted({os.path.relpath(target.path, here) for target in reading.writes})


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("true\n\\\nsed -i s/o/0/ a", ["a"]), ("true\n\\\nrm -rf a", ["a"]), ("true\n\\rm a", ["a"]),
        ("true\n\\\n\\\n\\\nrm a", ["a"]), ("true\n\n\\\nrm a", ["a"]), ("true\n  \\\nrm a", ["a"]),
        ("x=1\n\\rm a", ["a"]), ("true # no end \\\n\\rm a", ["a"]), ("{ true\n\\\nrm a\n\\\n}", ["a"]),
        ("$(true\n\\rm a)", ["a"]), ("if true\n\\\nthen\n\\rm a\nfi", ["a"]), ("cat <<E | \\\n\\rm a\nx\nE\n", ["a"]),
        ("bash -c 'true\n\\rm a'", ["a"]), ("for i in 1\n\\\ndo \\rm a\ndone", ["a"]), ("true &&\n\\\n\\rm a", ["a"]),
        ("\\\nrm a", ["a"]), ("\\\n\\\n  rm a", ["a"]), ("\\rm a", ["a"]), ("\\\nmkdir -p /tmp/z && rm -rf /tmp/z", []),
        ("rm a \\\n", ["a"]), ("rm a\n\\\n", ["a"]), ("rm a && \\\n", ["a"]), ("echo y\\\n\\\nz > n", ["n"]),
        ("ec\\\n\\\nho y > n", ["n"]), ("cat > n <<'E'\n\\\nE\n\\rm a", ["a", "n"]),
        ("cat > n <<E\nx\n\\rm b.txt\nE\n\\rm a", ["a", "n"]), ("echo 'x\n\\rm b.txt' > n", ["n"]),
    ],
)  # fmt: skip
def test_a_line_that_begins_with_a_backslash_is_a_line_of_its_own(here: str, command: str, names: list[str]) -> None:
    assert written(here, command) == names
    foretold(command)


def test_a_command_that_the_grammar_takes_over_the_end_of_its_line_is_not_trusted(
    here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dibs.shell import parser

    parse = parser.parse
    monkeypatch.setattr(parser, "parse", lambda source: parse(source.replace("\n", " ")))
    assert shell.read("true; echo\nrm a", here).broken


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("cat > n <<'E'\n\\x\n\\\n\\y\nE", "\\x\n\\\n\\y\n"), ("echo 'x\n\\y' | cat > n", "x\n\\y\n"),
        ('printf %s "x\n\\\ny" > n', "x\ny"), ("cat <<'E' > n\n\n\\\nE", "\n\\\n"),
    ],
)  # fmt: skip
def test_a_text_keeps_its_lines_with_backslashes(here: str, command: str, text: str) -> None:
    reading = shell.read(command, here, home=here, strictly=True)
    assert [target.text for target in reading.writes] in ([text], [None])
    foretold(command)


LINE = 'The quick fox\'s "brown" $HOME \\ jumps (over) {it}; done | x > y && z\n'


@pytest.mark.parametrize(
    "command",
    [
        f"cat > n <<'E'\n{LINE * 12_000}E\n", f"cat > n <<E\n{LINE * 12_000}E\n",
        "echo '" + LINE.replace("'", "") * 12_000 + "' > n", 'echo "' + LINE.replace('"', "") * 12_000 + '" > n',
        f"echo {'QUJD' * 50_000} | base64 -d > n", f"python3 - <<'E'\nopen('n', 'w')\n{LINE * 12_000}E\n",
    ],
)  # fmt: skip
def test_a_long_text_is_no_reason_not_to_read_a_command(here: str, command: str) -> None:
    assert written(here, command) == ["n"]
