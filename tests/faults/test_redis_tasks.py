"""Tasks on a server that several machines share: workers are killed, the server is killed, nothing is done twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import dibs
from dibs.stores.seam import read_event
from dibs.verify.checker import verify_store
from tests.faults.kit import DIBS, PATIENCE, ROOT, Dice, size
from tests.stores.redis_server import Server

pytestmark = pytest.mark.slow

FORGIVING = "\n[tasks]\nmax_attempts = 1000\nbreaker_failures = 1000\n"  # it is the test that kills, not the tasks


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path / "server", appendonly="yes", appendfsync="always").start()
    yield made
    made.kill()


class Fleet:
    """Workers on two machines: two folders with the same workspace id, each with its own memory."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.stop, self.effects = folder / "stop", folder / "effects.db"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DIBS_")}
        self.environment = {**kept, "DIBS_STORE": server.url, "PYTHONPATH": str(ROOT)}
        self.hosts = [folder / "one", folder / "two"]
        for host in self.hosts:
            host.mkdir()
        subprocess.run([DIBS, "init"], cwd=self.hosts[0], env=self.environment, check=True, capture_output=True)
        config = self.hosts[0] / ".dibs" / "config.toml"
        config.write_text(config.read_text() + FORGIVING)
        (self.hosts[1] / ".dibs").mkdir()
        (self.hosts[1] / ".dibs" / "config.toml").write_text(config.read_text())
        self.running: list[subprocess.Popen[bytes]] = []
        self.names = 0

    def start(self, *words: str) -> None:
        """One more, on one of the machines in turn."""
        self.names += 1
        host = str(self.hosts[self.names % 2])
        what = words or ("work", host, f"worker-{self.names}", str(self.effects), str(self.stop))
        command = [sys.executable, "-m", "tests.faults.task_worker", *what]
        self.running.append(subprocess.Popen(command, cwd=ROOT, env=self.environment, start_new_session=True))

    def had(self) -> int:
        """How many effects there are."""
        try:
            database = apsw.Connection(str(self.effects))
            found: int = database.execute("SELECT count(*) FROM effects").get
            database.close()
        except apsw.Error:
            return 0
        return found

    def close(self) -> None:
        """End what is left."""
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.wait(PATIENCE)


def test_every_task_is_finished_once_although_workers_and_the_server_are_killed(
    server: Server, tmp_path: Path, dice: Dice, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks, workers, kills, outages = size(150, 2_000), 4, size(8, 60), size(2, 12)
    fleet = Fleet(server, tmp_path)
    monkeypatch.setenv("DIBS_STORE", server.url)
    with dibs.open(str(fleet.hosts[0]), "boss", timeout=60) as boss:
        for number in range(tasks):
            boss.task_add(f"task {number}", id=f"t{number}", key=f"key-{number}")
        try:
            for _ in range(workers):
                fleet.start()
            fleet.start("sweep", str(fleet.hosts[0]), "sweeper", str(fleet.stop))
            sweeper = fleet.running.pop()
            killed = restarted = 0
            end, before = time.monotonic() + PATIENCE, 0
            while (had := fleet.had()) < tasks or killed < kills or restarted < outages:
                if had > before:  # it goes on, however slowly
                    end, before = time.monotonic() + PATIENCE, had
                assert time.monotonic() < end, f"only {had} of {tasks} are done"
                assert all(process.poll() is None for process in fleet.running), "nobody ends but by the test's hand"
                if killed < kills and had > tasks * killed / kills:
                    victim = dice.choice(fleet.running)
                    os.kill(victim.pid, signal.SIGKILL)
                    victim.wait(PATIENCE)
                    fleet.running.remove(victim)
                    killed += 1
                    fleet.start()
                if restarted < outages and had > tasks * (restarted + 0.5) / outages:
                    server.kill()
                    server.start()
                    restarted += 1
                time.sleep(0.02)
            fleet.stop.touch()
            for process in [*fleet.running, sweeper]:
                assert process.wait(PATIENCE) == 0
        finally:
            fleet.running.append(sweeper)
            fleet.close()
        events: list[Any] = []
        while page := boss.store.events(len(events)):
            events += [read_event(event) for event in page]
        done = Counter(e["subject"] for e in events if e["kind"] == "task.moved" and e["data"]["to"] == "complete")
        assert done == {f"t{number}": 1 for number in range(tasks)}
        assert fleet.had() == tasks
        assert not [e for e in events if e["kind"] == "store.epoch"], (
            "with every command on the disk nothing is given up"
        )
        report = verify_store(boss.store)
        assert report.ok, report.findings[:5]
