"""`dibs top` on a real terminal and in a pipe: it takes the terminal and gives it back as it was."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import struct
import subprocess
import sys
import termios

import psutil
import pytest

from tests.interfaces.cli.screen import CTRL_C, Screen, bare
from tests.scratch import DIBS, Shell
from tests.waiting import until

ON, OFF = "\x1b[?1049h", "\x1b[?1049l"  # the terminal's other screen
CTRL_Z = "\x1a"
MOUSE = "\x1b[?1000h"


def test_it_follows_is_resized_and_q_gives_the_terminal_back(shell: Shell) -> None:
    shell.json("claim", "src/api.py", "--as", "ann", exit=0)
    screen = Screen(shell.folder, "top")
    before = termios.tcgetattr(screen.master)
    screen.until("[1 Agents]")
    screen.until("src/api.py")
    shell.json("claim", "docs/later.md", "--as", "ben", exit=0)
    screen.until("docs/later.md")  # by itself
    screen.raw = ""
    fcntl.ioctl(screen.master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
    os.kill(screen.process.pid, signal.SIGWINCH)
    screen.until("[1 Agents 2]")
    screen.until("┴")
    screen.press("q")
    code, text = screen.end()
    assert code == 0
    assert text.rindex(OFF) > 0
    assert "\x1b[?25h" in text
    assert "Traceback" not in text
    assert before[3] & termios.ICANON


def test_ctrl_c_and_a_signal_leave_as_well_without_colours_where_none_are_wanted(shell: Shell) -> None:
    shell.json("claim", "src/api.py", "--as", "ann", exit=0)
    screen = Screen(shell.folder, "top", NO_COLOR="1")
    screen.until(">ann")
    assert "\x1b[31m" not in screen.raw
    assert "\x1b[1m" not in screen.raw
    screen.press(CTRL_C)
    code, text = screen.end()
    assert code == 130
    assert text.index(ON) < text.rindex(OFF)
    assert "Traceback" not in bare(text)


@pytest.mark.parametrize(("words", "colored"), [((), True), (("--color", "never"), False)])
def test_a_signal_gives_the_terminal_back_and_colours_are_as_wanted(
    shell: Shell, words: tuple[str, ...], colored: bool
) -> None:
    shell.json("claim", "src/api.py", "--as", "ann", exit=0)
    screen = Screen(shell.folder, "top", *words)
    screen.until("ALL WELL")
    screen.until("ann")
    assert ("\x1b[1;32m" in screen.raw) is colored
    assert ("\x1b[7m" in screen.raw) is colored, "the selected row; its mark is there in any case"
    assert MOUSE in screen.raw
    screen.process.send_signal(signal.SIGTERM)
    code, text = screen.end()
    assert code == 128 + signal.SIGTERM
    assert text.index(ON) < text.rindex(OFF)
    assert "Traceback" not in bare(text)


def test_ctrl_z_gives_the_terminal_back_and_the_whole_picture_is_shown_again_afterwards(shell: Shell) -> None:
    shell.json("claim", "src/api.py", "--as", "ann", exit=0)
    screen = Screen(shell.folder, "top")
    screen.until(">ann")
    screen.press(CTRL_Z)
    screen.until(OFF)
    until(lambda: psutil.Process(screen.process.pid).status() == psutil.STATUS_STOPPED)
    screen.raw = ""
    screen.process.send_signal(signal.SIGCONT)
    for text in (ON, "[1 Agents]", ">ann", "j/k move"):
        screen.until(text)
    screen.press("q")
    assert screen.end()[0] == 0


def test_without_textual_it_says_what_to_install_and_one_picture_is_shown_all_the_same(shell: Shell) -> None:
    code = "import sys; sys.modules['textual'] = None; from dibs.interfaces.cli.main import entry; entry()"
    program = (sys.executable, "-c", code)
    ended, text = Screen(shell.folder, "top", program=program).end()
    assert ended == 2
    assert bare(text).count("dibs: ") == 1
    assert "FOLDER[all]'` (a clone of dibs)" in " ".join(bare(text).split()), "those that are there are kept"
    assert "dibs top --once" in text
    for words in (("--once",), ("--json",)):
        ended, text = Screen(shell.folder, "top", *words, program=program).end()
        assert ended == 0, text
        assert "nobody here yet" in text.lower()


def test_textual_is_loaded_only_to_show_it_live(shell: Shell) -> None:
    script = (
        "import sys; from dibs.interfaces.cli import main; code = main(sys.argv[1:]); "
        "assert not {'textual', 'rich', 'asyncio'} & set(sys.modules); sys.exit(code)"
    )
    for words in (["top", "--once"], ["top", "--json"], ["status"], ["help", "top"]):
        command = [sys.executable, "-c", script, *words]
        done = subprocess.run(command, cwd=shell.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (words, done.stderr)


def test_a_pipe_gets_one_picture_and_json_the_figures(shell: Shell) -> None:
    shell.json("claim", "src/api.py", "--as", "ann", exit=0)
    found = shell.run("top", "--size", "160x50")
    assert found.returncode == 0
    lines = found.stdout.split("\n")
    assert len(lines) == 51
    assert "┴" in found.stdout
    assert lines[0].startswith(" ALL WELL")
    assert "\x1b" not in found.stdout
    small = shell.run("top", "--once", "--size", "80x24").stdout.split("\n")
    assert len(small) == 25
    assert max(map(len, small)) <= 80
    figures = json.loads(shell.run("top", "--json").stdout)
    assert figures["ok"] is True
    assert (figures["verdict"], figures["held"], figures["agents"]) == ("all well", 1, {"working": 1})


def test_what_cannot_be_shown_is_said_plainly(shell: Shell) -> None:
    for size in ("80", "80x", "9x9", "x", "80x24x2", "1000000x5"):
        refused = shell.run("top", "--once", "--size", size)
        assert refused.returncode == 64, size
        assert "size" in refused.stderr
    elsewhere = subprocess.run(
        [DIBS, "top"], cwd="/", capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert elsewhere.returncode == 64
    assert "not in a workspace" in elsewhere.stderr
