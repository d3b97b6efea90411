"""Shared by the tests of `dibs init`: rich repositories, what every file of a folder is, a stand-in for dibs."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

from dibs.workspace import launcher
from tests.scratch import Shell

# Claude's settings as somebody keeps them: tabs, comments, hooks of their own, a trailing comma, Windows line ends.
SETTINGS = (
    '{\n\t// ours\n\t"permissions": {"allow": ["Bash(ls:*)"], "deny": []},\n\t"hooks": {\n'
    '\t\t"PreToolUse": [\n'
    '\t\t\t{"matcher": "Bash", "hooks": [{"type": "command", "command": "./lint.sh"}]} /* keep */\n'
    '\t\t],\n\t\t"Stop": [],\n\t},\n\t"model": "opus"\n}\n'
).replace("\n", "\r\n")
CODEX = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}'
GEMINI = '{\n   "theme": "Über",\n   "hooks": {}\n}'


def git(*words: str, cwd: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Git, as nobody in particular."""
    return subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false", *words],
        cwd=cwd, check=check, capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    path.chmod(mode)


def rich(folder: Path) -> Path:
    """A repository in which much is already there."""
    folder.mkdir()
    git("init", "-q", "-b", "main", cwd=folder)
    write(folder / ".claude" / "settings.json", SETTINGS, 0o600)
    write(folder / ".codex" / "hooks.json", CODEX)
    write(folder / ".gemini" / "settings.json", GEMINI)
    write(folder / "CLAUDE.md", "# Notes\r\n\r\nNo newline at the end")
    write(folder / "AGENTS.md", "Read the tests.\n", 0o664)
    write(folder / "run.py", "print()\n", 0o755)
    hooks = folder / ".git" / "hooks"
    write(hooks / "pre-commit", "#!/usr/bin/env bash\nset -euo pipefail\necho theirs\nexit 0\n", 0o755)
    write(hooks / "pre-push", f"#!{sys.executable}\nimport sys\nsys.stdout.write(sys.stdin.read())\n", 0o755)
    write(hooks / "post-commit", "#!/bin/sh\necho never\n", 0o644)
    write(folder / "scripts" / "message.sh", '#!/bin/sh\necho linked >>"$1"\n', 0o755)
    (hooks / "prepare-commit-msg").symlink_to("../../scripts/message.sh")
    git("add", "-A", cwd=folder)
    git("-c", "core.hooksPath=/dev/null", "commit", "-qm", "one", cwd=folder)
    return folder


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file, link and folder below one, with its mode and content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = b""
        if stat.S_ISLNK(status.st_mode):
            content = os.fsencode(os.readlink(path))
        elif stat.S_ISREG(status.st_mode):
            content = path.read_bytes()
        found[str(path.relative_to(folder))] = (status.st_mode, content)
    return found


def shell_in(folder: Path, home: Path | None = None) -> Shell:
    """The command, with a home folder that tells of no client."""
    made = Shell(folder)
    empty = home or folder.parent / "home"
    empty.mkdir(exist_ok=True)
    programs = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CLAUDE", "CODEX", "GEMINI", "COPILOT"))
    }
    made.environment = {**kept, "HOME": str(empty), "PATH": programs}
    return made


class StandIn:
    """Answers the hooks instead of dibs: notes how it was called, and refuses when told to."""

    def __init__(self, folder: Path, local: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._calls, self._code = folder / "calls", folder / "code"
        self._code.write_text("0")
        entry = folder / "entry.py"
        entry.write_text(
            "import os, sys\n"
            f"open({str(self._calls)!r}, 'a').write(repr((sys.argv[1:], sys.stdin.read(), os.getcwd())) + '\\n')\n"
            f"sys.exit(int(open({str(self._code)!r}).read()))\n"
        )
        (local / "run").write_text(f"python={launcher.quoted(sys.executable)}\nentry={launcher.quoted(str(entry))}\n")

    def refuse(self) -> None:
        self._code.write_text("2")

    def calls(self) -> list[tuple[list[str], str, str]]:
        """What it was called with since the last look: words, stdin, folder."""
        import ast

        lines = self._calls.read_text().splitlines() if self._calls.exists() else []
        self._calls.write_text("")
        return [ast.literal_eval(line) for line in lines]
