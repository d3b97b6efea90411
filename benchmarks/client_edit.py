"""A real Claude Code's Edit, with the hooks of dibs and without: what an agent feels of them.

The client comes from npm (`python -m tests.e2e.clients.install claude`), its model is the scripted one of the tests of
clients: it reads a file, then edits it again and again. An Edit lasts from the model's answer that asks for it to the
client's next request, which tells what came of it; both hooks of the Edit lie in between. Sessions without hooks, with
hooks, and with hooks through a running server take turns.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.figures import AT_MOST, Comparison, Row, Target, median, not_measured, spread
from benchmarks.hooks import repository
from benchmarks.links import serving

if TYPE_CHECKING:
    from benchmarks.place import Bench
    from tests.e2e.clients.kinds import ClaudeCode
    from tests.e2e.clients.scripts import Conversation, Turn
    from tests.e2e.clients.stub import Stub

GROUP = "client"
PLAIN, DIRECT, SERVED = "Claude Code's Edit without hooks", "with hooks", "with hooks through a server"
TARGET = Target(AT_MOST, 1.6)
EDITS = 12  # in a session
SESSION_TIMEOUT_S = 180
# what the client needs of the environment; nothing of it names another agent
KEPT = ("PATH", "LANG", "TMPDIR")


class Script:
    """The model of one session: it reads the file, then changes its number, and notes how long each change took."""

    def __init__(self, client: ClaudeCode, file: Path, edits: int) -> None:
        self._client, self._file, self._edits = client, file, edits
        self.times: list[float] = []  # in µs
        self._asked = 0.0
        self._done = -1  # edits

    def __call__(self, heard: Conversation) -> Turn:
        """The next turn."""
        from tests.e2e.clients.scripts import Say, Turn

        now = time.perf_counter()
        if self._asked:
            assert "updated" in heard.results()[-1], f"the Edit failed: {heard.results()[-1][:300]}"
            self.times.append((now - self._asked) * 1e6)
        self._done += 1
        if self._done == 0:
            return Turn((self._client.read(self._file),))
        if self._done > self._edits:
            self._asked = 0.0
            return Turn((Say("done"),))
        turn = Turn((self._client.edit(self._file, f"number {self._done - 1}\n", f"number {self._done}\n"),))
        self._asked = time.perf_counter()
        return turn


def measure(bench: Bench) -> list[Row]:
    """The rows of this group."""
    try:
        from tests.e2e.clients.install import program
        from tests.e2e.clients.kinds import ClaudeCode
        from tests.e2e.clients.stub import Stub

        program("claude")
    except (ImportError, AssertionError):
        return [not_measured(GROUP, PLAIN, "not installed: python -m tests.e2e.clients.install claude")]
    rounds = bench.count(6, 1)
    bench.say(f"client: {rounds} sessions of {EDITS} Edits for each side")
    folders = {side: Path(repository(bench, f"client-{place}")) for place, side in enumerate((PLAIN, DIRECT, SERVED))}
    for path in (folders[PLAIN] / ".claude", folders[PLAIN] / ".dibs"):
        subprocess.run(["rm", "-rf", str(path)], check=True)
    home = Path(bench.sub("client-home"))
    taken: dict[str, list[float]] = {side: [] for side in folders}
    stub = Stub(home / "model.log")
    try:
        with serving(str(folders[SERVED])):
            for number in range(rounds + 1):  # the first fills caches
                for side, folder in folders.items():
                    times = _session(ClaudeCode(), stub, home, folder, f"{side.replace(' ', '-')}-{number}")
                    taken[side] += times if number else []
    finally:
        stub.close()
    assert not stub.faults, stub.faults
    return [
        Row(GROUP, side, median(times) / 1000, "ms", more=spread(times, 1000),
            beside=None if side == PLAIN else Comparison(times, taken[PLAIN], "without hooks"),
            target=TARGET if side == SERVED else None)
        for side, times in taken.items()
    ]  # fmt: skip


def _session(client: ClaudeCode, stub: Stub, home: Path, folder: Path, name: str) -> list[float]:
    """One session from its start to its end; the times of its Edits but the first, which starts what comes later."""
    from tests.e2e.clients import scripts
    from tests.e2e.clients.kinds import Start

    file = folder / "src" / f"{name}.txt"
    file.write_text("number 0\n")
    played = Script(client, file, EDITS)
    stub.play(scripts.Script(name, rest=played))
    environment = {key: value for key, value in os.environ.items() if key in KEPT}
    done = subprocess.run(
        client.command(Start(scripts.marked(name), client.new_session())), cwd=folder, stdin=subprocess.DEVNULL,
        env={**environment, "HOME": str(home), **client.environment(stub.url)},
        capture_output=True, text=True, check=False, timeout=SESSION_TIMEOUT_S,
    )  # fmt: skip
    told = (done.stdout[-2000:], done.stderr[-2000:], stub.faults)
    assert done.returncode == 0, told
    assert len(played.times) == EDITS, told
    return played.times[1:]
