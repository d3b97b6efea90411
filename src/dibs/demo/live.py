"""`dibs demo --serve`: a fleet at work in a scratch workspace that is served, to be watched on the page.

Unlike the two rounds of `dibs demo`, nothing is counted and nothing is proved here. The agents work at the pace of
people who watch: each takes tasks, claims files, waits for others, is refused now and then; a coordinator adds tasks,
and stops one agent for a while. However it ends (Ctrl-C, SIGTERM, an error, a timeout), no process and no
folder is left behind.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from random import Random

import dibs
from dibs.demo import play, scratch
from dibs.errors import DibsError, Unavailable
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

READY_S = 30.0  # for the server
SECONDS = 900  # a quarter of an hour: who watches longer starts it again
MAX_SECONDS = 24 * 3600
ADDRESS_S = 50.0  # between two addresses: each signs in once and for a minute
READY_TASKS = 8  # that the coordinator keeps in the queue
KILL_EVERY_S, KILLED_S = 45.0, 12.0
LEAD = "lead"
FOLDERS = {
    "src/api": ("auth.py", "routes.py", "session.py"), "src/billing": ("invoice.py", "refund.py", "tax.py"),
    "src/web": ("cart.tsx", "form.css"), "docs": ("PLAN.md", "API.md"), "migrations": ("0042_orders.sql",),
}  # fmt: skip
FILES = [f"{folder}/{name}" for folder, names in FOLDERS.items() for name in names]
VERBS = ("test", "rewrite", "describe", "speed up", "split", "review")


def play_live(agents: int, seed: int, seconds: int, ready: Callable[[dict[str, Any]], None]) -> None:
    """Play until the time limit or a signal. `ready` is called with the address whenever there is a new one."""
    handlers = {number: signal.getsignal(number) for number in play.STOP_SIGNALS}
    for number in play.STOP_SIGNALS:
        signal.signal(number, play.stop)
    set_aside = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("DIBS_")}
    place = scratch.Scratch()
    started: list[subprocess.Popen[bytes]] = []
    try:
        place.prepare()
        place.init()
        started.append(_server(place))
        about = _about(started[0])
        words = ["-m", "dibs.demo.live", place.repo]
        started += [_process(place, [*words, str(index), str(seed)]) for index in range(agents)]
        _lead(place.repo, seed, agents, seconds, lambda: ready(_with_address(about)), started[0])
    finally:
        play.ignore_interrupts()
        for child in reversed(started):
            child.kill() if child is not started[0] else child.terminate()
        for child in started:
            try:
                child.wait(READY_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        place.remove()
        os.environ.update(set_aside)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _process(place: scratch.Scratch, words: list[str], output: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*scratch.python(), *words], cwd=place.repo, env=scratch.environment(), stdin=subprocess.DEVNULL, stdout=output,
        stderr=subprocess.DEVNULL, process_group=0,
    )  # fmt: skip


def _server(place: scratch.Scratch) -> subprocess.Popen[bytes]:
    return _process(place, ["-m", "dibs", "serve", "--json"], subprocess.PIPE)


def _about(server: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Where the server is, once it answers."""
    assert server.stdout is not None
    found, _, _ = select.select([server.stdout], [], [], READY_S)
    line = server.stdout.readline() if found else b""
    try:
        about = json.loads(line)
    except ValueError:
        about = {}
    if not about.get("ok"):
        why = about.get("error", {}).get("message", "no output")
        raise Unavailable(f"the server of the demo did not start: {why}", command="dibs serve")
    return dict(about)


def _with_address(about: dict[str, Any]) -> dict[str, Any]:
    from dibs.interfaces.page import sign_in

    return {**about, "address": sign_in.address(about["url"], about["token_file"])}


def _lead(
    repo: str, seed: int, agents: int, seconds: int, tell: Callable[[], None], server: subprocess.Popen[bytes]
) -> None:
    """The coordinator: keeps the queue filled, stops an agent now and then, and says where the page is."""
    dice = Random(f"{seed}:lead")  # noqa: S311 - a plan that can be repeated
    end = clock.since_boot() + seconds * 1000
    told = 0
    killed, kill_at = "", clock.since_boot() + int(KILL_EVERY_S * 1000)
    number = 0
    with dibs.open(repo, agent=LEAD, timeout=10) as workspace:
        workspace.boot(type="orchestrator")
        run = workspace.run_start("demo", id="demo", phase="execution")["run"]["id"]
        while clock.since_boot() < end:
            now = clock.since_boot()
            if not told or now - told > ADDRESS_S * 1000:
                told = now
                tell()
            if server.poll() is not None:
                raise Unavailable("the server of the demo ended", command="dibs serve")
            try:
                queue = workspace.task_list(state="planned", limit=READY_TASKS * 2)["tasks"]
                while len(queue) < READY_TASKS:
                    number += 1
                    after = [f"task-{number - 1}"] if number % 4 == 0 else []
                    title = f"{dice.choice(VERBS)} {dice.choice(FILES)}"
                    name = f"task-{number}"
                    queue.append(workspace.task_add(title, id=name, key=name, after=after, run=run,
                                                    priority=dice.randint(1, 9))["task"])  # fmt: skip
                if now > kill_at:
                    if killed:
                        workspace.revive(killed)
                        killed = ""
                    else:
                        killed = name_of(dice.randrange(agents))
                        workspace.kill(killed, why="loops on one test")
                    kill_at = now + int((KILLED_S if killed else KILL_EVERY_S) * 1000)
            except DibsError:
                pass  # busy, or a person on the page was faster
            clock.sleep(0.5)


def name_of(index: int) -> str:
    """An agent's id."""
    names = ("ada", "ben", "cleo", "dov", "eve", "finn", "gus", "hana", "ivo", "jo", "kim", "lea")
    return names[index] if index < len(names) else f"agent-{index + 1:02d}"


# --- one agent, a process of its own


class Agent:
    """Works for as long as its parent lives."""

    def __init__(self, repo: str, index: int, seed: int) -> None:
        self.dice = Random(f"{seed}:{index}")  # noqa: S311 - a plan that can be repeated
        self.workspace = dibs.open(repo, agent=name_of(index), timeout=10)
        self._parent = os.getppid()

    def run(self) -> None:
        """One task after the other."""
        self.workspace.boot(type="coder")
        while os.getppid() == self._parent:
            try:
                self.work()
            except DibsError:  # refused, killed, or taken away: that is what the page shows
                self.think(2.0, 4.0)

    def think(self, least: float, most: float) -> None:
        """Take time."""
        clock.sleep(self.dice.uniform(least, most))

    def mode(self) -> Literal["read", "write"]:
        """Some only read."""
        return "read" if self.dice.random() < 0.15 else "write"  # noqa: PLR2004 - one in seven

    def work(self) -> None:
        """Take a task, hold a file or two for it, and finish."""
        taken = self.workspace.task_next()
        task = taken.get("task")
        if not task:
            self.think(1.0, 3.0)
            return
        token = taken["token"]
        files = self.dice.sample(FILES, 2 if self.dice.random() < 0.4 else 1)  # noqa: PLR2004 - some need two
        held = []
        try:
            for number, file in enumerate(files):
                wait = 0.0 if self.dice.random() < 0.3 else 20.0  # noqa: PLR2004 - some do not wait
                held.append(self.workspace.claim(file, mode=self.mode(), wait=wait, reason=task["title"], ttl=90))
                self.think(1.0, 3.0)
                self.workspace.task_progress(task["id"], 30 * (number + 1), token=token)
            self.think(1.0, 5.0)
            self.workspace.task_done(task["id"], token=token, result={"files": files})
        except (dibs.Held, dibs.Deadlock):
            self.workspace.task_release(task["id"], token=token)
            raise
        finally:
            for claim in held:
                claim.release()


def main(words: list[str]) -> int:
    """Play one agent."""
    try:
        Agent(words[0], int(words[1]), int(words[2])).run()
    except (DibsError, OSError, KeyboardInterrupt):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
