"""`make corpus`: the reader and the guards over recorded commands, of which none is run."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from dibs.lookback import causes
from tests.lookback.test_figures import play

TOP = Path(__file__).resolve().parents[2]


def corpus(*words: str) -> tuple[int, dict[str, Any]]:
    """The tool in a process of its own; its exit code and what it found."""
    command = [sys.executable, "-m", "tools.corpus", *words, "--json"]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, found


def test_the_projects_own_commands_are_all_read() -> None:
    code, found = corpus("--reader")
    assert code == 0
    assert found["commands"] >= 600
    assert found["exceptions"] == found["unreadable"] == []


def test_recorded_commands_are_judged_and_none_is_run(tmp_path: Path) -> None:
    recorded = tmp_path / "recorded"
    recorded.mkdir()
    mark = tmp_path / "mark"
    commands = [f"touch {mark}", "git add -A", "ls -la", "rm src/held_a.py", "cat /there/lib/x.py", "git add -A"]
    (recorded / "commands.jsonl").write_text("".join([json.dumps({"cmd": command}) + "\n" for command in commands]))
    calls = [
        {"cwd": "/there", "kind": "read", "text": "/there/lib/x.py"},
        {"cwd": "/there", "kind": "cmd", "text": "sed -i s/x/y/ /there/lib/x.py"},
        {"cwd": "/there", "kind": "cmd", "text": "echo x > /there/.dibs/config.toml"},
    ]
    with gzip.open(recorded / "calls.jsonl.gz", "wt") as file:
        file.write("".join([json.dumps(call) + "\n" for call in calls]))
    code, found = corpus(str(recorded))
    assert code == 0
    assert found["commands"] == 7
    assert not mark.exists()
    assert [one["command"].split()[0] for one in found["refused"]["alone"]] == ["echo"]  # a strict path
    shared = [one["command"] for one in found["refused"]["shared"]]
    assert "git add -A" in shared
    assert "rm src/held_a.py" in shared
    assert not any("lib/x.py" in command for command in shared)


def test_sessions_of_clients_are_a_corpus_and_are_looked_back_at(tmp_path: Path) -> None:
    play(tmp_path)
    code, found = corpus(str(tmp_path))
    assert code == 0
    assert found["commands"] == 1
    assert [one["group"] for one in found["refused"]["shared"]] == [causes.TAKEN_IN]
    assert found["refused"]["alone"] == []
    assert found["lookback"]["refused"] == {"commands": 1, "edits": 4, "first": 5}
    assert set(found["hook_ms"]) == {"median", "p95", "p99"}
