"""A workspace with a home-made `.agent` folder, and its scripts as an agent runs them."""

from __future__ import annotations

import calendar
import subprocess
import time
from pathlib import Path

from tests.scratch import Shell

TOOLS = ("claim_task.sh", "release_task.sh", "check_stale.sh", "boot.sh")
OWN = "#!/bin/bash\n# somebody's own\nexit 3\n"
OWN_BOOT = "#!/bin/bash\n# somebody's own\n"  # its steps still run


class Agents:
    """A workspace with an `.agent` folder, and its scripts as an agent runs them."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.folder = shell.folder / ".agent"
        for state in ("scoped", "claimed"):
            (self.folder / "registry" / state).mkdir(parents=True)
        (self.folder / "tools").mkdir()
        for name in TOOLS:
            (self.folder / "tools" / name).write_text((OWN_BOOT if name == "boot.sh" else OWN) + f"# {name}\n")

    def scoped(self, task: str, text: str = "") -> Path:
        path = self.folder / "registry" / "scoped" / task
        path.write_text(text)
        return path

    def claimed(self, task: str, text: str | None = None) -> Path:
        path = self.folder / "registry" / "claimed" / task
        if text is not None:
            path.write_text(text)
        return path

    def start(self, name: str, *words: str, cwd: Path | None = None, **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.folder / "tools" / name, *words],
            cwd=cwd or self.shell.folder,
            env={**self.shell.environment, **more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def run(self, name: str, *words: str, cwd: Path | None = None, **more: str) -> tuple[int, str]:
        """The exit code and what was printed on stdout; `more` goes into the environment."""
        process = self.start(name, *words, cwd=cwd, **more)
        out, said = process.communicate(timeout=60)
        assert "Traceback" not in said, said
        return process.returncode, out

    def holders(self) -> dict[str, str]:
        """Who holds which task, by the live record."""
        return {claim["resources"][0]: claim["agent"] for claim in self.shell.json("status", exit=0)["claims"]}

    def files(self) -> dict[str, tuple[bytes, int]]:
        found = [path for path in self.folder.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.folder)): (path.read_bytes(), path.stat().st_mode) for path in found}


def seconds_left(expires_at: str) -> float:
    return calendar.timegm(time.strptime(expires_at[:19], "%Y-%m-%dT%H:%M:%S")) - time.time()


def ago(seconds: int) -> int:
    return int(time.time()) - seconds
