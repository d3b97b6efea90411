"""`python -m benchmarks.month`: a fleet of 50 agents at work for a month, and what is left of it on the disk.

The fleet is simulated, the store is not: a clock that jumps from one call to the next, every operation as a door calls
it, the SQLite engine, archives as files. Agents come and go (a session lasts half a day, every tenth dies instead of
leaving), take tasks, claim files, are refused, send messages, write documents, use request ids; every ten minutes
somebody sweeps, as a lasting process does. After each day it is looked at how large everything is and what a claim, a
`status` and a boot cost: the instructions of SQLite's machine that each takes and the rows that it reads, which no
other process disturbs, and the least time of some.

The folder is made in memory where there is one (/dev/shm), since the disk's speed is not the question here.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any, Self

from dibs.audit import expected_archives
from dibs.canonical import Canonical
from dibs.client import catalogue
from dibs.client.session import Session
from dibs.client.upkeep import log_archives
from dibs.errors import DibsError
from dibs.interfaces import session_doors
from dibs.machine import clock
from dibs.operations.core.call import Call
from dibs.stores.sqlite import store as sqlite_store
from dibs.verify.checker import verify_store
from dibs.workspace import location

if TYPE_CHECKING:
    from collections.abc import Callable

DAY = 86_400_000
SWEEP_EVERY_MS = 600_000
SESSION_MS = DAY // 2  # of one agent
MEMORY = "/dev/shm"  # noqa: S108 - mkdtemp makes a folder of its own in it
FILES, DOCUMENTS = 2_000, 200
PROBES = 9  # of each call that is measured
EVENTS_PER_ROUND = 10  # that one agent's round of work leaves, as counted
LIMIT_BYTES = 200_000_000  # of the store and its archives together, after a month
FLAT = 1.5  # a call at the end costs at most this much more than after the first quarter
SLACK = 20  # and a few: of rows, and of SQLite's instructions


class Month:
    """The workspace, its clock, and the agents that are there."""

    def __init__(self, folder: str, agents: int, *, log: dict[str, int] | None = None, seed: int = 1) -> None:
        self.now = 1_000_000
        self.chance = random.Random(seed)  # noqa: S311 - the same fleet each time
        self.started = clock.wall()
        self._clocks = clock.since_boot, clock.wall
        clock.since_boot, clock.wall = lambda: self.now, lambda: self.started + self.now
        os.makedirs(f"{folder}/.dibs")
        with open(f"{folder}/.dibs/config.toml", "w", encoding="utf-8") as file:
            file.write('id = "month"\n[log]\n' + "".join(f"{name} = {value}\n" for name, value in (log or {}).items()))
        self.session = Session(folder, folder, place=location.find(folder, None), door=session_doors.ProgramDoor())
        self.agents = [self._new(number) for number in range(agents)]
        self.born = [self.now - self.chance.randrange(SESSION_MS) for _ in self.agents]
        self.sessions = agents
        self._swept = self.calls = self.refused = 0
        for agent in self.agents:
            self.call(agent, "boot", type="coder")

    def close(self) -> None:
        """Give the clock back."""
        self.session.close()
        clock.since_boot, clock.wall = self._clocks

    def _new(self, number: int) -> str:
        self.sessions = getattr(self, "sessions", 0) + 1
        return f"agent-{number:02d}-{self.sessions:05d}"

    def call(self, agent: str, name: str, /, request: str = "", **fields: Any) -> Any:
        """One call of an agent; a refusal is an answer as well."""
        self.calls += 1
        call = Call(self.session.config.policy, agent=agent, fallback="person@month", request=request)
        try:
            return self.session.answer(catalogue.operation(name), call, fields)
        except DibsError as error:
            self.refused += 1
            return error

    def day(self, rounds: int) -> None:
        """So many rounds of work, spread over a day."""
        step = DAY // (rounds * len(self.agents))
        for _ in range(rounds):
            for number in range(len(self.agents)):
                self.now += step
                self._round(number)
                if self.now - self._swept >= SWEEP_EVERY_MS:
                    self._swept = self.now
                    self.sweep()

    def sweep(self) -> None:
        """All that is due, as a lasting process does it."""
        while self.call("person@month", "sweep")["more"]:
            pass

    def _round(self, number: int) -> None:
        """One agent: a task with its files, a message, a document now and then."""
        chance, agent = self.chance, self.agents[number]
        if self.now - self.born[number] > SESSION_MS:
            if chance.random() > 0.1:  # noqa: PLR2004 - else it died
                self.call(agent, "leave")
            agent = self.agents[number] = self._new(number)
            self.born[number] = self.now
            self.call(agent, "boot", type="coder")
        self.call(agent, "task add", title="change a file", request=f"add-{self.calls}")
        taken = self.call(agent, "task next")
        files = [Canonical(("file", f"src/m{chance.randrange(FILES)}.py")) for _ in range(2)]
        claim = self.call(agent, "claim", resources=files, request=f"claim-{self.calls}")
        self.now += chance.randrange(1, 50)
        other = self.agents[chance.randrange(len(self.agents))]
        self.call(agent, "send", to=other, text="I changed it", ack=False)
        if not isinstance(claim, DibsError) and chance.random() > 0.02:  # noqa: PLR2004 - else it is forgotten
            self.call(agent, "release", resources=files)
        if not isinstance(taken, DibsError):
            done = self.call(agent, "task done", id=taken["task"]["id"], token=taken["token"], result={"lines": 12})
            assert not isinstance(done, DibsError), done
        if chance.random() < 0.2:  # noqa: PLR2004
            self.call(agent, "state set", key=f"doc-{chance.randrange(DOCUMENTS)}", value={"by": agent})
        for message in self.call(agent, "inbox")["messages"][:5]:
            self.call(agent, "ack", message=message["message"])

    # --- what is measured

    def sizes(self) -> dict[str, int]:
        """Bytes on the disk, and records."""
        local = self.session.place.local
        archives = _size_of(log_archives.folder_of(local))
        store: Any = self.session.store
        rows = store.look(lambda tx: tx.sql("SELECT count(*) FROM kv").fetchone()[0])
        events = store.look(lambda tx: tx.sql("SELECT count(*) FROM log").fetchone()[0])
        whole = _size_of(local)
        return {"bytes": whole, "archive_bytes": archives, "records": rows, "live_events": events}

    def costs(self) -> dict[str, tuple[int, int, float]]:
        """Of a claim, a status and a boot: SQLite's instructions, the rows read, the least milliseconds of some."""
        probe = "agent-probe"
        self.call(probe, "boot")

        def claim() -> None:
            self.call(probe, "claim", resources=[Canonical(("file", "probe.py"))])

        acts: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
            "claim": (claim, lambda: self.call(probe, "release", resources=[Canonical(("file", "probe.py"))])),
            "status": (lambda: self.call(probe, "status"), lambda: None),
            "boot": (lambda: self.call(probe, "boot"), lambda: None),
        }
        found = {}
        for name, (act, after) in acts.items():
            times = []
            for _ in range(PROBES):
                began = time.perf_counter()
                act()
                times.append(1000 * (time.perf_counter() - began))
                after()
            with Counter(self.session.store) as counter:
                act()
            after()
            found[name] = (counter.instructions, counter.rows, min(times))
        self.call(probe, "leave")
        return found


class Counter:
    """Counts the rows that transactions read, and the instructions of SQLite's machine."""

    def __init__(self, store: Any) -> None:
        self.rows = self.instructions = 0
        self._connection = store._connection  # noqa: SLF001 - the engine itself is measured

    def _step(self) -> bool:
        self.instructions += 1
        return False

    def __enter__(self) -> Self:
        self._connection.set_progress_handler(self._step, 1)
        kind: Any = sqlite_store._Transaction  # noqa: SLF001
        self._whole = kind._select, kind.scan  # noqa: SLF001
        select, scan = self._whole

        def selected(tx: Any, *words: Any, **named: Any) -> Any:
            texts, page = select(tx, *words, **named)
            self.rows += len(texts) + len(page[1])
            return texts, page

        def scanned(tx: Any, *words: Any, **named: Any) -> Any:
            found = scan(tx, *words, **named)
            self.rows += len(found.rows)
            return found

        kind._select, kind.scan = selected, scanned  # noqa: SLF001
        return self

    def __exit__(self, *_: object) -> None:
        kind: Any = sqlite_store._Transaction  # noqa: SLF001
        kind._select, kind.scan = self._whole  # noqa: SLF001
        self._connection.set_progress_handler(None)


def run(
    folder: str, days: int, agents: int, events: int, told: Callable[[dict[str, Any]], None], **more: Any
) -> dict[str, Any]:
    """The whole month; `told` gets a line a day."""
    month = Month(folder, agents, **more)
    try:
        rounds = max(1, round(events / EVENTS_PER_ROUND / agents / days))
        lines = []
        for day in range(1, days + 1):
            month.day(rounds)
            costs = month.costs()
            line: dict[str, Any] = {"day": day, "events": month.session.store.head().seq, **month.sizes()}
            for name, (steps, rows, least) in costs.items():
                line.update({f"{name}_steps": steps, f"{name}_rows": rows, f"{name}_ms": round(least, 3)})
            lines.append(line)
            told(line)
        call = Call(month.session.config.policy, fallback="person@month")
        began = time.perf_counter()
        report = verify_store(month.session.store, archives=expected_archives.expected(month.session, call))
        verified: dict[str, Any] = {"findings": report.found, "events": report.events, "archives": report.archives}
        verified["seconds"] = round(time.perf_counter() - began, 1)
        return {
            "agents": agents, "sessions": month.sessions, "calls": month.calls, "refused": month.refused,
            "days": lines, "verify": verified,
        }  # fmt: skip
    finally:
        month.close()


def _size_of(folder: str) -> int:
    """The bytes of all files below a folder."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(where, name)).st_size
            except OSError:
                continue
    return total


def judged(found: dict[str, Any], limit: int = LIMIT_BYTES) -> list[str]:
    """What is not as promised."""
    lines = found["days"]
    wrong = [f"verify has {found['verify']['findings']} findings"] if found["verify"]["findings"] else []
    first, last = lines[min(len(lines) - 1, len(lines) // 4)], lines[-1]
    if last["bytes"] > limit:
        wrong.append(f"{last['bytes']} bytes are left, more than {limit}")
    for name in ("claim", "status", "boot"):
        for what in ("rows", "steps"):
            before, after = first[f"{name}_{what}"], last[f"{name}_{what}"]
            if after > FLAT * before + SLACK:
                wrong.append(f"a {name} takes {after} {what} at the end, {before} after a quarter")
    return wrong


HEAD = ("day", "events", "in the store", "records", "MB", "of these archives", "claim", "status", "boot")


def shown(line: dict[str, Any]) -> str:
    """A line of the table."""
    cells = [line["day"], line["events"], line["live_events"], line["records"], f"{line['bytes'] / 1e6:.1f}",
             f"{line['archive_bytes'] / 1e6:.1f}"]  # fmt: skip
    cells += [
        f"{line[f'{name}_steps']} · {line[f'{name}_rows']} · {line[f'{name}_ms']:.2f} ms"
        for name in ("claim", "status", "boot")
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def main(arguments: list[str]) -> int:
    """Run it, and say what came out. Exit code 1 if it is not as promised."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.month", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--agents", type=int, default=50)
    parser.add_argument("--events", type=int, default=1_000_000, help="in all, about")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    words = parser.parse_args(arguments)
    folder = tempfile.mkdtemp(prefix="dibs-month-", dir=MEMORY if os.path.isdir(MEMORY) else None)

    def told(line: dict[str, Any]) -> None:
        if not words.json:
            print(shown(line), flush=True)

    try:
        if not words.json:
            print("| " + " | ".join(HEAD) + " |\n" + "|" + " --- |" * len(HEAD))
        found = run(f"{folder}/place", words.days, words.agents, words.events, told)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    wrong = judged(found)
    if words.json:
        print(json.dumps({**found, "wrong": wrong}))
    else:
        verified = found["verify"]
        print(f"\n{found['sessions']} agents, {found['calls']} calls, {found['refused']} of them refused.")
        print(f"verify: {verified['events']} events, {verified['archives']} archives, {verified['findings']} findings, "
              f"{verified['seconds']} s")  # fmt: skip
        print("as promised" if not wrong else "NOT as promised: " + "; ".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
