"""Whatever stands in the sessions, the look comes to its end, and what it shows can be printed."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from hypothesis import given, settings
from hypothesis import strategies as st

from dibs import jsontext
from dibs.interfaces.cli import terminal
from dibs.lookback import findings, html, text
from tests.lookback.recorded import at

ODD = (
    "",
    "a.py",
    "/home/nobody/app/a.py",
    "/home/nobody/app",
    "~",
    "\ud800.py",
    "a\nb",
    "\x1b[31m",
    "../../x",
    "-rf",
    "*",
)
TEXTS = st.sampled_from(ODD) | st.text(max_size=12)
COMMANDS = st.sampled_from([
    "git add -A", "git stash", "git reset --hard", "git commit -am x", "git clean -fdx", "git checkout x", "rm -rf *",
    "echo x > a.py", "cd /; git add .", "git -C /home/nobody/app add a.py", "npm publish", "> $F", "git mv a b",
    "git switch -", "git restore --source=HEAD~3 .", "git rm -r .", "dibs claim x", "git worktree remove ../x",
    "git submodule update --force", "git init x", "git apply <<< x", "git update-index --chmod=+x a.py", "black .",
]) | TEXTS  # fmt: skip
CALLS = st.tuples(
    st.sampled_from(["ann", "bob", "b/c", "-x", "é" * 300]),
    st.sampled_from(["Edit", "Write", "Bash", "Read"]),
    TEXTS, COMMANDS, st.integers(0, 4_000),
    st.sampled_from(["/home/nobody/app", "/", "", "relative", "\ud800", "/proc/1"]),
)  # fmt: skip


def line(call: tuple[str, str, str, str, int, str], number: int) -> dict[str, Any]:
    """The call as Claude Code writes it."""
    session, tool, path, command, seconds, cwd = call
    given = {"command": command, "file_path": path, "content": command, "old_string": "a", "new_string": command}
    use = {"type": "tool_use", "id": str(number), "name": tool, "input": given}
    return {
        "type": "assistant", "sessionId": session, "cwd": cwd, "timestamp": at(seconds), "gitBranch": path,
        "message": {"content": [use, {"type": "text", "text": command}]},
    }  # fmt: skip


@settings(max_examples=60)
@given(st.lists(CALLS, max_size=14))
def test_any_session_is_looked_at_to_its_end(calls: list[tuple[str, str, str, str, int, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines = [json.dumps(line(call, number)) + "\n" for number, call in enumerate(calls)]
        Path(folder, "a.jsonl").write_text("".join(lines))
        found = findings.look([("", folder)], folder, lambda _what, _count: None)
    assert found["failed"] == []
    assert found["refused_alone"]["commands"] <= found["commands"]
    printed = [terminal.clean(row) for row in text.page(found, 80)]
    "\n".join(printed).encode()
    jsontext.encode(found).encode()
    ET.fromstring(html.render(found).removeprefix("<!DOCTYPE html>"))  # noqa: S314 - our own page; well-formed
