"""Ordinary work passes: what coding agents really type, before the shell guard, with somebody else there and alone.

The commands are in tests/corpora. The guard is asked in this process, because there are some hundreds of them; that a
hook's own process answers the same is proved elsewhere (test_hooks_shell.py).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dibs.doors.hooks import clients, moments
from dibs.errors import DibsError
from dibs.facts import workspace
from tests.doors.hooking import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator

CORPORA = Path(__file__).resolve().parent.parent / "corpora"
MOST = 0.02  # of the commands may be refused while somebody else is at work; none where nobody is
FILES = (
    "src/held_a.py", "src/app.py", "src/util.py", "docs/held_b.md", "docs/guide.md", "lib/core.py", "lib/other.py",
    "lib/util.py", "tests/test_app.py", "data/rows.csv", "data/rows.json", "data/conf.yml", "web/main.ts", "README.md",
    "VERSION", "package.json", "package-lock.json", "pyproject.toml", "scripts/check.sh", "scripts/gen.py",
    "templates/a.html", "packages/one/index.ts", "cmd/main.go", "requirements.txt",
)  # fmt: skip


def commands(name: str) -> list[str]:
    """The commands of one file, new lines and backslashes put in."""
    lines = [line for line in (CORPORA / name).read_text().splitlines() if line and not line.startswith("#")]
    return ["\\".join([part.replace("\\n", "\n") for part in line.split("\\\\")]) for line in lines]


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """A repository with a remote, a branch that is ahead, and ignored folders."""
    made = Repository(Path(os.path.realpath(tmp_path_factory.mktemp("ordinary"))))
    for name in FILES:
        made.write(name, "{}\n" if name.endswith(".json") else f"{name} foo\n")
    made.write(".gitignore", "build/\ndist/\nnode_modules/\n__pycache__/\n*.pyc\n.venv/\n")
    made.git("add", "-A")
    made.git("commit", "-q", "-m", "files")
    made.git("clone", "-q", "--bare", ".", str(made.scratch / "origin.git"))
    made.git("remote", "add", "origin", str(made.scratch / "origin.git"))
    made.git("switch", "-q", "-c", "feature")
    made.write("lib/feature.py", "x = 1\n")
    made.git("add", "lib/feature.py")
    made.git("commit", "-q", "-m", "a feature")
    made.git("push", "-q", "origin", "feature")
    made.git("switch", "-q", "main")
    made.git("push", "-q", "-u", "origin", "main")
    for name in ("build/old.txt", "node_modules/left/index.js", "packages/one/dist/x.js", "src/__pycache__/app.pyc"):
        made.write(name, "")
    yield made
    made.close()


def refused(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that one agent is refused, with the reasons."""
    monkeypatch.setenv("HOME", str(repo.scratch / "home"))
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(repo.folder))
    monkeypatch.delenv("TMPDIR", raising=False)
    place = workspace.find(str(repo.folder), None)
    found = []
    for number, command in enumerate([*commands("ordinary.txt"), *commands("ordinary_git.txt")]):
        event = clients.read("claude", "PreToolUse", {
            "session_id": "bob", "cwd": str(repo.folder), "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": {"command": command}, "tool_use_id": f"call-{number}",
        })  # fmt: skip
        assert event is not None
        try:
            moments.before(event, place)
        except DibsError as error:
            found.append(f"{command!r}: {error.message}")
    return found


def test_ordinary_commands_pass_where_nobody_else_is_at_work(repo: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused(repo, monkeypatch) == []


def test_ordinary_commands_pass_while_another_holds_two_files(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = repo.agent("ada")
    ada.edit("src/held_a.py", "ada's\n")
    ada.edit("docs/held_b.md", "ada's\n")
    repo.write("lib/core.py", "bob's\n")
    found = refused(repo, monkeypatch)
    asked = len(commands("ordinary.txt")) + len(commands("ordinary_git.txt"))
    print("\n".join(found))
    assert len(found) <= asked * MOST, "\n".join(found)


def test_the_corpora_are_large_enough_to_say_something() -> None:
    assert len(commands("ordinary.txt")) >= 330
    assert len(set(commands("ordinary.txt"))) == len(commands("ordinary.txt"))
