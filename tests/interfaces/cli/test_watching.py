"""`status --watch` and what a person sees while a command waits, on a real terminal and in a pipe."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import TYPE_CHECKING

from tests.interfaces.cli.screen import CTRL_C, Screen, bare
from tests.scratch import DIBS, Shell
from tests.waiting import LIMIT_S, until

if TYPE_CHECKING:
    pass

ON, OFF = "\x1b[?1049h", "\x1b[?1049l"  # the terminal's other screen


def test_a_watched_status_follows_and_ctrl_c_gives_the_terminal_back(shell: Shell) -> None:
    screen = Screen(shell.folder, "status", "--watch")
    screen.until("nothing is held")
    shell.json("claim", "src/api.py", "--as", "ann", exit=0)
    screen.until("src/api.py")
    screen.press(CTRL_C)
    code, text = screen.end()
    assert code == 130
    assert text.index(ON) < text.index(OFF)
    assert "Traceback" not in text
    assert "interrupted" not in text


def test_a_watched_status_in_a_pipe_is_an_object_for_each_change(shell: Shell) -> None:
    watching = subprocess.Popen(
        [DIBS, "status", "--watch", "--json"],
        cwd=shell.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert watching.stdout is not None
    assert json.loads(watching.stdout.readline())["claims"] == []
    shell.json("claim", "a.py", "--as", "ann", exit=0)
    assert json.loads(watching.stdout.readline())["claims"][0]["resources"] == ["a.py"]
    watching.send_signal(signal.SIGINT)
    out, said = watching.communicate(timeout=LIMIT_S)
    assert (watching.returncode, out, said) == (130, "", "")


def test_a_watched_check_follows_the_record_and_the_config_and_always_shows_the_result(shell: Shell) -> None:
    for agent in ("ann", "bob"):
        shell.json("claim", f"db:{agent}", "--as", agent, exit=0)
    screen = Screen(shell.folder, "check", "--watch", rows=12)
    first = bare(screen.until("Ctrl-C ends this."))
    assert "checks passed or do not apply" in first
    assert "Result: 1 issue — tell the agents the rules" in first
    assert "Severity: LOW" in first
    config = shell.folder / ".dibs" / "config.toml"
    config.write_text(f'{config.read_text()}\n[files]\nstate = "STATE.md"\n')
    screen.until("Result: 2 issues")
    for agent in ("ann", "bob"):
        shell.json("boot", "--as", agent, exit=0)
    screen.until("Result: 1 issue — write the memory files")
    screen.press(CTRL_C)
    code, text = screen.end()
    assert code == 130
    assert text.index(ON) < text.index(OFF)
    assert "Traceback" not in text


def test_a_watched_check_in_a_pipe_is_an_object_for_each_change(shell: Shell) -> None:
    words = [DIBS, "check", "--watch", "--json", "--check", "files", "--junit", "check.xml"]
    config = shell.folder / ".dibs" / "config.toml"
    config.write_text(f'{config.read_text()}\n[files]\nstate = "STATE.md"\n')
    watching = subprocess.Popen(words, cwd=shell.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert watching.stdout is not None
    assert json.loads(watching.stdout.readline())["failed"] == ["files"]
    (shell.folder / "STATE.md").write_text("here\n")
    assert json.loads(watching.stdout.readline())["failed"] == []
    assert 'failures="0"' in (shell.folder / "check.xml").read_text()
    watching.send_signal(signal.SIGINT)
    out, said = watching.communicate(timeout=LIMIT_S)
    assert (watching.returncode, out, said) == (130, "", "")


def test_a_spinner_shows_the_holder_and_ones_place_in_line(shell: Shell) -> None:
    shell.json("claim", "x.py", "--as", "ann", exit=0)
    first = subprocess.Popen([DIBS, "claim", "x.py", "--as", "bob", "--wait", "60s"], cwd=shell.folder,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        until(lambda: len(shell.json("status")["waiting"]) == 1)
        screen = Screen(shell.folder, "claim", "x.py", "--as", "cy", "--wait", "60s")
        screen.until("ann holds x.py, 30m left; place 2 of 2")
    finally:
        first.terminate()
        first.wait(timeout=LIMIT_S)
    shell.json("release", "x.py", "--as", "ann", exit=0)
    code, text = screen.end()
    assert code == 0
    last = bare(text).rpartition("\r")[2]
    assert last.startswith("claimed x.py (write)"), "the spinner's line is wiped"


def test_ctrl_c_ends_the_spinner_and_leaves_the_queue(shell: Shell) -> None:
    shell.json("claim", "x.py", "--as", "ann", exit=0)
    screen = Screen(shell.folder, "claim", "x.py", "--as", "bob", "--wait", "60s")
    screen.until("ann holds x.py")
    screen.press(CTRL_C)
    code, text = screen.end()
    assert code == 130
    assert bare(text).rstrip().endswith("dibs: interrupted")
    assert shell.json("status")["waiting"] == []


def test_waiting_for_a_task_or_a_message_has_a_spinner_too(shell: Shell) -> None:
    screen = Screen(shell.folder, "task", "next", "--as", "bob", "--wait", "60s")
    screen.until("waiting for a task")
    shell.json("task", "add", "do it", "--id", "T", exit=0)
    assert screen.end()[0] == 0
    screen = Screen(shell.folder, "inbox", "--as", "bob", "--wait", "60s")
    screen.until("waiting for a message")
    shell.json("send", "bob", "hello", "--as", "ann", exit=0)
    code, text = screen.end()
    assert code == 0
    assert "> hello" in text


def test_in_a_pipe_a_line_is_printed_only_when_something_changed(shell: Shell) -> None:
    shell.json("claim", "x.py", "--as", "ann", "--reason", "new route", exit=0)
    waiting = subprocess.Popen([DIBS, "claim", "x.py", "--as", "bob", "--wait", "60s"], cwd=shell.folder, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    until(lambda: len(shell.json("status")["waiting"]) == 1)
    others = [shell.json("claim", f"other{number}.py", "--as", "cy", exit=0) for number in range(3)]
    assert len(others) == 3
    shell.json("boot", "--as", "dora", exit=0)
    shell.json("release", "x.py", "--as", "ann", "--to", "dora", exit=0)
    shell.json("release", "x.py", "--as", "dora", exit=0)
    out, said = waiting.communicate(timeout=60)
    assert waiting.returncode == 0
    assert out.startswith("claimed x.py")
    lines = said.splitlines()
    assert lines[0].startswith("dibs: waiting: ann holds x.py (")
    assert len(lines) == len(set(lines)) <= 2
    assert "\x1b" not in said
