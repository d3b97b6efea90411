"""Watching: what `dibs top` costs where there is much to see, in processor time.

One reading of each topic, one picture, the same picture written to a terminal, and half a minute live in which a fleet
makes a hundred events a second: 200 agents with 1,000 claims, 5,000 tasks of which every third waits for another. The
fleet that makes the events is a process of its own and does not count; the reader and the app are those of `dibs top`,
on a terminal that only counts what is written to it.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

from textual.drivers.headless_driver import HeadlessDriver

import dibs
from benchmarks.figures import AT_MOST, Row, Target, median
from dibs.client.session import Session
from dibs.interfaces.session_doors import ProgramDoor
from dibs.interfaces.top.action_thread import ActionThread
from dibs.interfaces.top.app import Changed, Top
from dibs.interfaces.top.picture import frame
from dibs.interfaces.top.reader import Asker, FeedReader
from dibs.interfaces.top.state import FleetState
from dibs.interfaces.top.view import View

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.place import Bench

GROUP = "top"
AGENTS, CLAIMS_EACH, TASKS = 200, 5, 5_000
EVENTS_A_SECOND = 100
SIZES = ((80, 24), (200, 60))
TOPICS = ("status", "agents", "usage", "tasks", "alerts")
PAINT = Target(AT_MOST, 50, of="value")  # ms: five a second are a quarter of a core
LIVE = Target(AT_MOST, 50, of="value")  # percent of one core
FLEET = """
import sys, time, dibs
agents = [dibs.open(sys.argv[1], agent=f"busy-{number}") for number in range(10)]
began, made = time.monotonic(), 0
while True:
    one = agents[made // 2 % 10]
    one.claim(f"busy/{made // 2 % 10}/{made % 97}.py", auto_renew=False).release()
    made += 2
    time.sleep(max(0, began + made / int(sys.argv[2]) - time.monotonic()))
"""


def measure(bench: Bench) -> list[Row]:
    """The rows of this group."""
    agents, tasks = (20, 500) if bench.quick else (AGENTS, TASKS)
    bench.say(f"top: {agents} agents, {agents * CLAIMS_EACH:,} claims, {tasks:,} tasks")
    folder = bench.workspace("watching")
    crew = fill(folder, agents, tasks)
    try:
        state = FleetState()
        reader = FeedReader(asker(folder), state)
        reader.snapshot()
        reader.whole()
        rows = [_row(f"reading {topic}", partial(reader.read, topic), 5) for topic in TOPICS]
        view = View(state)
        for columns, lines in SIZES:
            rows.append(_row(f"a picture of {columns}x{lines}", partial(_draw, state, view, columns, lines), 20, PAINT))
            rows.append(asyncio.run(_painted(state, folder, (columns, lines))))
        rows.append(_live(bench, folder))
    finally:
        for one in crew:
            one.close()
    return rows


def fill(folder: str, agents: int, tasks: int) -> list[dibs.Workspace]:
    """The fleet. Its agents are alive as long as this process is."""
    crew = []
    for number in range(agents):
        one = dibs.open(folder, agent=f"agent-{number:03}")
        for file in range(CLAIMS_EACH):
            one.claim(f"src/part-{number % 40}/mod-{number}/file-{file}.py", ttl="8h", auto_renew=False, reason="work")
        crew.append(one)
    for number in range(tasks):
        after = [f"t{number - 1}"] if number and number % 3 == 0 else None
        crew[0].task_add(f"task number {number}", id=f"t{number}", priority=number % 5, after=after)
    return crew


def busy(folder: str) -> subprocess.Popen[bytes]:
    """A process whose agents claim and release, EVENTS_A_SECOND events in each second, until it is killed."""
    return subprocess.Popen([sys.executable, "-c", FLEET, folder, str(EVENTS_A_SECOND)])


def _row(name: str, do: Callable[[], object], times: int, target: Target | None = None) -> Row:
    spent = []
    for _ in range(times):
        began = time.process_time()
        do()
        spent.append((time.process_time() - began) * 1000)
    return Row(GROUP, name, median(spent), "ms", target=target, more={"max": max(spent)}, note="processor time")


def _draw(state: FleetState, view: View, columns: int, rows: int) -> None:
    state.version += 1  # something changed, nobody knows what
    frame(view, columns, rows)


class Terminal(HeadlessDriver):
    """A terminal that only counts what is written to it."""

    written = 0

    @property
    def is_headless(self) -> bool:
        """The app renders for it as for any terminal."""
        return False

    def write(self, data: str) -> None:
        """Count it."""
        Terminal.written += len(data.encode())


def asker(folder: str) -> Asker:
    """A way to the store of its own."""
    return Asker(lambda: Session(folder, None, door=ProgramDoor()), None)


def _app(state: FleetState, folder: str) -> Top:
    app = Top(state, ActionThread(asker(folder)), lambda *_: None)
    app.driver_class = Terminal
    return app


async def _painted(state: FleetState, folder: str, size: tuple[int, int]) -> Row:
    """A picture that is written to a terminal as a whole, as after a change of its size."""
    app = _app(state, folder)
    spent = []
    async with app.run_test(headless=False, size=size) as pilot:
        for _ in range(10):
            state.version += 1
            before, began = Terminal.written, time.process_time()
            app.refresh(layout=True)
            app.paint()
            await pilot.pause()
            spent.append((time.process_time() - began) * 1000)
        written = Terminal.written - before
    note = f"processor time; {written:,} bytes"
    more = {"max": max(spent)}
    return Row(GROUP, f"writing one of {size[0]}x{size[1]}", median(spent), "ms", target=PAINT, more=more, note=note)


def _live(bench: Bench, folder: str) -> Row:
    """The share of a core that reading and painting take while the fleet is busy."""
    seconds = 3 if bench.quick else 30
    bench.say(f"top: {EVENTS_A_SECOND} events a second, for {seconds} s")
    state = FleetState()
    reader = FeedReader(asker(folder), state)
    reader.snapshot()
    fleet = busy(folder)
    try:
        passed, used, rate, written = asyncio.run(_watched(state, reader, folder, seconds))
    finally:
        fleet.kill()
        fleet.wait()
        reader.stop()
        reader.join()
    note = f"{rate:.0f} events a second came, {written / 1024:.0f} KiB a second were written to {SIZES[-1]}"
    return Row(GROUP, "reading and painting, live", 100 * used / passed, "% of a core", target=LIVE, note=note)


async def _watched(
    state: FleetState, reader: FeedReader, folder: str, seconds: float
) -> tuple[float, float, float, float]:
    """Seconds that passed and that were used, events and bytes a second."""
    app = _app(state, folder)
    async with app.run_test(headless=False, size=SIZES[-1]):
        reader.changed = lambda: app.post_message(Changed())
        reader.start()
        while not any(claim["resources"][0].startswith("busy/") for claim in list(state.claims.values())):  # noqa: ASYNC110 - by a thread
            await asyncio.sleep(0.01)
        first, began, cpu, written = state.seq, time.monotonic(), time.process_time(), Terminal.written
        await asyncio.sleep(seconds)
        passed, used = time.monotonic() - began, time.process_time() - cpu
        return passed, used, (state.seq - first) / passed, (Terminal.written - written) / passed
