"""What the tests of hooks through a server share: its process, and the launcher as a client's settings run it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import dibs
from tests.interfaces.repository import PATIENCE
from tests.waiting import until

if TYPE_CHECKING:
    from tests.interfaces.repository import Answer, Client

SOURCE = str(Path(dibs.__file__).parents[1])
SERVING = str(Path(__file__).parents[1] / "server/hook_port/hook_process.py")
# As the clients' settings have it: every end but the launcher's own is a refusal.
COMMAND = "dibs_tree=$1; shift; dibs_hook=$dibs_tree/.dibs/hook; . $dibs_hook; echo no answer >&2; exit 2"


class Server:
    """A process that answers the hooks of one workspace."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.script = folder / ".dibs" / "local" / "serve.bash"
        self.process = subprocess.Popen(
            [sys.executable, SERVING, str(folder), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": SOURCE},
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"ready\n"
        self.decided = self.declined = -1

    def end(self) -> None:
        """Let it end gracefully; how much it decided is known then."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        if not self.process.stdin.closed:
            self.process.stdin.close()
            said = self.process.stdout.read()
            self.process.stdout.close()
            self.process.wait(PATIENCE)
            self.decided, self.declined = (int(word) for word in said.split() or (-1, -1))

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.wait(PATIENCE)
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()

    def signal(self, number: int) -> None:
        """Send it a signal; of SIGSTOP and SIGCONT, wait for the effect."""
        self.process.send_signal(number)
        if number == signal.SIGSTOP:
            until(self.is_stopped)

    def is_stopped(self) -> bool:
        """Does it stand still?"""
        return Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


def through(client: Client, tree: Path, *words: str, given: bytes, cwd: Path | None = None, sh: str = "sh",
            seconds: float = PATIENCE, **env: str) -> Answer:  # fmt: skip
    """One hook as a client runs it: by the launcher of that tree."""
    words = (sh, "-c", COMMAND, "sh", str(tree), *words)
    return client.run(*words, cwd=cwd or tree, given=given, seconds=seconds, **env)


def is_alone(path: Path) -> bool:
    """Can only its owner read and write it?"""
    return os.stat(path).st_mode & 0o7777 == 0o600
