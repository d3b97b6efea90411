"""Whatever is typed, reading it ends, within a bound of work and without failing; and what loading the reader costs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dibs import shell
from dibs.shell import findings as shell_reading
from dibs.shell import scripts as shell_scripts
from dibs.shell import writers as shell_writers

SRC = Path(__file__).resolve().parents[2] / "src"

PIECES = (
    "rm", "x", " ", "\n", ";", "&&", "||", "|", "&", "(", ")", "{", "}", "$(", "`", "'", '"', "\\", "$", "${", ">",
    ">>", "<", "<<E", "E", "$X", "*", "[", "]", "[[", "]]", "if", "then", "fi", "for f in", "do", "done", "while",
    "case", "esac", "in", "((", "))", "=", "#", "!", "~", "cd", "bash -c", "eval", "find . -exec", "xargs", "{a,b}",
    "\x00", "\ud800", "é", "𝄞", "\t", "sed -i", "git", "%", "f()", "<(", "2>&1", ":-", "@", "+", "-", "..", "/", "a=",
    "\r", "\\\n", "\n\\", "python -m", "-mjson.tool", "/proc/1/root", "tar x", "ls", "sed s/a/b/", "rename",
    "vim -c 'e x'",
)  # fmt: skip


CORPORA = Path(__file__).resolve().parents[1] / "corpora"
REAL = [
    line.replace("\\n", "\n")
    for name in ("bypasses.txt", "bypasses_git.txt", "ordinary.txt", "ordinary_git.txt")
    for line in (CORPORA / name).read_text().splitlines()
    if line and not line.startswith("#")
]


def sane(command: str) -> None:
    reading = shell.read(command, "/nowhere", strictly=True)
    assert reading._steps <= shell_reading.MAX_STEPS + 1
    assert all(target.path.startswith("/") for target in reading.writes)
    assert all(doubt.words for doubt in reading.unresolved)


@given(st.text(st.characters(codec=None), max_size=200))
@example("\ud800 > \udc80")
@example("{\U00031860")  # what crashes the grammar, if it sees it
@example("{" + "".join(map(chr, range(0xE000, 0x110000, 997))))
def test_no_text_makes_the_reading_fail(command: str) -> None:
    sane(command)


@given(st.randoms(use_true_random=False))
def test_no_real_command_taken_apart_makes_the_reading_fail(random: Random) -> None:
    command = random.choice(REAL)
    for _ in range(random.randint(1, 6)):
        words = command.split(" ")
        place, cut = random.randrange(len(words)), random.randint(0, len(command))
        other = random.choice(REAL)
        command = random.choice((
            " ".join([*words[:place], random.choice(PIECES), *words[place + 1 :]]),
            command[:cut] + random.choice(PIECES) + command[cut:],
            command[:cut] + command[cut + random.randint(0, 9) :],
            command[:cut] + other[random.randint(0, len(other)) :],
        ))  # fmt: skip
    sane(command)


@pytest.mark.parametrize(
    "command",
    ["find /proc/1 -exec rm {} +", "echo > /proc/1/root/x; sh /proc/1/root/x", "rmdir /proc/1/root",
     "cd -P /proc/1/root; readlink -f /proc/1/cwd", "find / -maxdepth 2 -name x -delete"],
)  # fmt: skip
def test_what_may_not_be_looked_at_makes_nothing_fail(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(path: str) -> str:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os.path, "realpath", closed)
    sane(command)


def test_an_error_of_the_reader_itself_is_a_doubt_and_not_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(shell_writers, "operands", fails)
    assert shell.read("rm a", "/nowhere").unresolved
    with pytest.raises(KeyError):
        shell.read("rm a", "/nowhere", strictly=True)


@pytest.mark.parametrize(
    "command", ["echo x > \ud800; cat \ud800", "echo x > a; cp a \ud800", "echo > $'\\ud800'; cat a"]
)
def test_a_character_that_no_file_can_have_makes_nothing_fail(command: str) -> None:
    sane(command)
    reading = shell.read(command, "/nowhere")
    assert reading.unresolved
    "".join([target.path for target in reading.writes] + [doubt.words for doubt in reading.unresolved]).encode()


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_no_pieces_of_shell_make_the_reading_fail(command: str) -> None:
    sane(command)


@given(st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join))
def test_no_words_of_shell_make_the_reading_fail(command: str) -> None:
    sane(command)


@pytest.mark.parametrize(
    "command",
    [
        "(" * 50_000, "(" * 50_000 + ")" * 50_000, "$(" * 30_000, "{ " * 50_000, '"$(' * 20_000, "if " * 30_000,
        "<<a " * 5_000, "a" * 100_000, "a " * 50_000,
        "\\" * 100_000, "`" * 100_000, "\0" * 100_000, "rm x; " * 20_000, "case x in " * 9_000, "[[" * 20_000,
        "${a:-" * 20_000, "{a,b}" * 300, "{" * 90_000,
        "rm {1..999999999}", "rm " + "{a," * 40 + "}" * 40, "f(){ f; }; f", "f(){ f|f; }; f",
        "for i in {1..900}; do for j in {1..900}; do rm $i$j; done; done",
        "cd a; " * 50 + "rm x", "eval " * 300 + "rm", "é" * 30_000 + "$(rm x)", "A=aa; " + "A=$A$A; " * 40 + "rm $A",
        "rm " + "*" * 500, "x" * 300_000 + ">f",
    ],
    ids=lambda command: command[:12].replace("\0", "NUL"),
)  # fmt: skip
def test_depth_and_length_have_a_bound(command: str) -> None:
    sane(command)


@pytest.mark.parametrize(
    "program",
    [
        "a = 'x'\n" + "b = a / a\na = b / b\n" * 10 + "open(a, 'w')\n",
        "for a in ['x', 'y']:\n" + " b = a / a\n a = b / b\n" * 2 + " open(a, 'w')\n",
        "for a in [" + ", ".join(f"'{n}'" for n in range(5000)) + "]:\n  open(a, 'w')\n",
    ],
)
def test_the_names_in_a_program_have_a_bound(program: str) -> None:
    reading = shell.read(f'python3 - <<"E"\n{program}E\n', "/nowhere")
    assert len(reading.writes) <= shell_scripts.MAX_NAMES
    assert all(len(target.path) < 3 * shell_scripts.MAX_NAME_LETTERS for target in reading.writes)


def test_a_variable_is_searched_in_the_command_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    found = shell_reading.Env._only_uses

    def counted(env: shell_reading.Env, name: str) -> bool:
        searched.append(name)
        return found(env, name)

    monkeypatch.setattr(shell_reading.Env, "_only_uses", counted)
    shell.read("; ".join(["(echo x > $OUT)"] * 300), "/nowhere")
    assert searched == ["OUT"]


def test_the_beginning_of_an_unknown_path_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    found = shell_reading._resolved

    def counted(way: str) -> str:
        searched.append(way)
        return found(way)

    monkeypatch.setattr(shell_reading, "_resolved", counted)
    shell.read("echo > lib/$X; " + "; ".join([f"echo {n} > {n}" for n in range(300)]), "/nowhere")
    assert searched == ["/nowhere/lib/"]


def test_a_doubt_that_is_repeated_is_one_with_each_of_its_files_once(tmp_path: Path) -> None:
    (tmp_path / "package-lock.json").write_text("")
    reading = shell.read("for i in 1 2 3; do npm install; done; for i in 1 2 3; do echo > $X; done", str(tmp_path))
    assert [doubt.below for doubt in reading.unresolved] == [[f"{tmp_path}/package-lock.json"], None]


# ------------------------------------------------------------------------------------------------------------------
# What it costs


def fresh(code: str) -> str:
    """The output of a new interpreter that has loaded nothing, as a hook's is."""
    packages = str(Path(sys.modules["tree_sitter"].__file__ or "").parent.parent)
    start = (
        f"import sys\nsys.path[:0] = [{str(SRC)!r}, {packages!r}]\n"
        "from dibs import shell\nfrom dibs.shell import parser as shell_parser\n"
    )
    run = [sys.executable, "-I", "-S", "-c", start + code]
    done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_parser_is_loaded_without_anything_dear() -> None:
    shell.read("echo > $X", "/")  # so that this process has loaded it the plain way
    code = (
        "print(shell.read('cd /a && echo > \"b c\"', '/').writes[0].path)\n"
        "dear = ('re', 'enum', 'typing', 'functools', 'tree_sitter')\n"
        "print([name for name in dear if name in sys.modules], 'modules' in shell_parser._kept)"
    )
    assert fresh(code).splitlines() == ["/a/b c", "[] True"]


def test_the_tools_of_development_are_loaded_only_for_a_name_that_no_system_has() -> None:
    names = ("tools", "harmless", "writers", "builtin")
    code = f"print([name for name in {names} if f'dibs.shell.{{name}}' in sys.modules])"
    assert fresh(f"shell.read('ls -la src', '/')\n{code}") == "[]"
    assert fresh(f"shell.read('git status', '/')\n{code}") == "[]"
    assert fresh(f"shell.read('sed -i s/a/b/ f', '/')\n{code}") == "['writers']"
    assert fresh(f"shell.read('npm test', '/')\n{code}") == "['tools', 'harmless']"


def test_a_plain_command_needs_no_parser() -> None:
    code = "print(shell.read('touch a', '/').writes[0].path, 'dibs.shell.walk' in sys.modules, shell_parser._kept)"
    assert fresh(code) == "/a False {}"


def test_the_parser_s_own_package_is_whole_for_whoever_imports_it_later() -> None:
    code = (
        "shell.read('echo > $X', '/')\n"
        "import re, enum, tree_sitter, tree_sitter_bash\n"
        "language = tree_sitter.Language(tree_sitter_bash.language())\n"
        "tree = tree_sitter.Parser(language).parse(b'rm a')\n"
        "query = tree_sitter.Query(language, '((word) @w (#match? @w \"^r\"))')\n"
        "print(len(tree_sitter.QueryCursor(query).captures(tree.root_node)['w']))\n"
        "print(isinstance(tree_sitter.LogType.PARSE, enum.IntEnum))\n"
        "print([doubt.words for doubt in shell.read('echo > $X', '/').unresolved])"
    )
    assert fresh(code).splitlines() == ["1", "True", "['> $X']"]


def test_where_the_short_way_to_the_parser_fails_the_long_way_is_taken() -> None:
    code = (
        "def fail(name): raise ImportError(name)\n"
        "shell_parser._bare = fail\n"
        "print(shell.read('echo > \"b c\"', '/').writes[0].path)\n"
        "print('tree_sitter' in sys.modules, 'modules' in shell_parser._kept)"
    )
    assert fresh(code).splitlines() == ["/b c", "True False"]
