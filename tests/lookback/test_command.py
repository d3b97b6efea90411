"""`dibs lookback` as a person types it, who has never heard of a workspace."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from dibs.lookback import causes
from tests.lookback.recorded import HOME, Claude
from tests.lookback.test_figures import play

SECRET = "sk-" + "a1B2" * 12


def lookback(home: Path, *words: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
    """The command, in an empty folder of a home with these sessions."""
    folder = home / "elsewhere"
    folder.mkdir(exist_ok=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    command = [sys.executable, "-m", "dibs", "lookback", *words]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == expect, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    return done


def test_without_sessions_it_says_where_it_looked(tmp_path: Path) -> None:
    out = lookback(tmp_path).stdout
    assert "No sessions of coding agents found. Looked in:" in out
    for folder in (".claude/projects", ".codex/sessions", ".copilot/session-state", ".gemini/tmp"):
        assert f"{tmp_path}/{folder}" in out


def test_the_page_and_the_json_have_the_same_figures_and_nothing_is_written(tmp_path: Path) -> None:
    play(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    out = lookback(tmp_path).stdout
    found = json.loads(lookback(tmp_path, "--json").stdout)
    assert found["ok"] is True
    assert "3  of 4 sessions worked in a repository at the same time" in out
    assert "4  edits of a file that another session had edited in the 30 minutes before: 2 within 1 minute, 3" in out
    assert "TASK-103: gemini bob 30s after claude ann, which was at work" in out
    assert "█" in out
    assert found["refused"]["first"] == 5
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "elsewhere"])


def test_a_folder_of_sessions_can_be_named_and_limited(tmp_path: Path) -> None:
    play(tmp_path)
    found = json.loads(lookback(tmp_path, str(tmp_path / ".codex"), "--json").stdout)
    assert found["clients"] == {"codex": 1}
    assert len(json.loads(lookback(tmp_path, "--json", "--limit", "1").stdout)["refusals"]) == 1
    assert json.loads(lookback(tmp_path, "--json", "--repo", HOME).stdout)["calls"] == 9
    assert json.loads(lookback(tmp_path, "--json", "--since", "2026-05-02").stdout)["calls"] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("no/such/folder",), "there is no"), (("--since", "tomorrow"), "no age"), (("--limit", "0"), "limit"),
        (("--limit", "many"), "limit"), (("--html", "no/such/folder/x.html"), "No such file"),
    ],
)  # fmt: skip
def test_wrong_words_are_a_usage_error(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    assert said in lookback(tmp_path, *words, expect=64).stderr


def test_neither_prompts_nor_secrets_are_shown_and_markup_is_text(tmp_path: Path) -> None:
    ann, bob = Claude(tmp_path, "ann"), Claude(tmp_path, "bob")
    name = "<script>alert(1)</script>.py"
    ann.prompt(0, "the launch codes for TASK-7 are swordfish")
    bob.prompt(1, "TASK-7 needs swordfish")
    ann.call(2, "Edit", file_path=f"{HOME}/{name}", old_string="x", new_string="y")
    bob.call(3, "Edit", file_path=f"{HOME}/{name}", old_string="swordfish", new_string="y")
    bob.call(
        4, "Bash", command=f"API_TOKEN={SECRET} curl -H 'Authorization: Bearer {SECRET}' x://u:{SECRET}@h > '{name}'"
    )
    page = tmp_path / "page.html"
    out = lookback(tmp_path, "--html", str(page)).stdout
    html = page.read_text()
    told = lookback(tmp_path, "--json").stdout
    for text in (out, html, told):
        assert "swordfish" not in text
        assert SECRET not in text
        assert "TASK-7" in text
    assert "<script" not in html
    assert "http" not in html.replace("http-equiv", "")
    root = ET.fromstring(html.removeprefix("<!DOCTYPE html>"))  # noqa: S314 - our own page; well-formed
    assert root.tag == "html"
    assert name in "".join(root.itertext())


def test_on_a_terminal_it_shows_how_far_it_is_and_ctrl_c_ends_it_cleanly(tmp_path: Path) -> None:
    ann = Claude(tmp_path, "ann")
    ann.call(0, "Bash", command="for f in a b c; do sed -i s/x/y/ $f.txt; done; git add -A; git commit -m x")
    text = ann.path.read_text()
    with ann.path.open("w") as file:
        for number in range(40_000):  # a minute of work: it never comes to its end
            file.write(text.replace("ann-1", f"call-{number}").replace(".txt", f"-{number}.txt"))
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "dibs", "lookback"]
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "xterm"}
    running = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=theirs, cwd=tmp_path)
    os.close(theirs)
    said = b""
    while b"looking at" not in said:
        said += os.read(ours, 1024)
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=60)
    while True:
        try:
            said += os.read(ours, 4096)
        except OSError:
            break
    os.close(ours)
    assert running.returncode == 130
    assert out == b""
    assert b"Traceback" not in said


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("git clone https://ann:hunter2@example.org/x", "git clone https://…@example.org/x"),
        ("export API_TOKEN=abcdef && make", "export API_TOKEN=… && make"),
        ("curl -H 'Authorization: Bearer abc.def.ghi' x", "curl -H 'Authorization: Bearer …' x"),
        (f"echo {SECRET}", "echo …"),
        ("pytest tests/test_token.py -q", "pytest tests/test_token.py -q"),
        ("git show 8c1f6a2", "git show 8c1f6a2"),
    ],
)  # fmt: skip
def test_what_looks_like_a_secret_is_left_out(text: str, shown: str) -> None:
    assert causes.shown(text) == shown
