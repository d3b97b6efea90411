"""Many processes, and several machines, on one server."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.errors import Busy, Fenced, Held, Unavailable
from dibs.machine import clock
from dibs.workspace import config
from tests.faults.kit import PATIENCE, ROOT, Dice, World, size
from tests.stores.redis_server import ALWAYS, EVERYSEC, Machine, Server, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow

PATHS = 8


@pytest.fixture
def server() -> Iterator[Server]:
    with running(**ALWAYS) as started:
        yield started


@pytest.fixture
def shared(worlds: Callable[[], World], server: Server) -> Callable[[], World]:
    """Workspaces of one id on that server, each as if on a machine of its own."""
    identity: list[str] = []

    def another() -> World:
        world = worlds()
        path = world.folder / ".dibs" / "config.toml"
        text = path.read_text()
        mine = text.partition('id = "')[2].partition('"')[0]
        identity.append(mine)
        path.write_text(f'store = "{server.url}"\n' + text.replace(mine, identity[0]))
        for name in ("store", "dibs.db"):
            (world.local / name).unlink(missing_ok=True)
        return world

    return another


def judge(world: World, server: Server) -> Machine:
    """One who looks at the same workspace."""
    found = config.load(str(world.folder / ".dibs" / "config.toml"), str(world.local), str(world.folder))
    return Machine(server.url, workspace=found.id)


# --- what the processes do


class Trial:
    """Takes paths, one after the other. While one is held a file says so that nobody else may make."""

    def __init__(self, folder: str, agent: str) -> None:
        self.folder, self.agent = folder, agent
        self.wins = 0
        self.waited = [0]

    def hold(self, path: str, token: int) -> None:
        """It is mine: nobody else thinks so, and all who had it before had a lower token."""
        marker = f"{self.folder}/{path}"
        os.close(os.open(f"{marker}.held", os.O_CREAT | os.O_EXCL))
        with open(f"{marker}.tokens", "a+", encoding="ascii") as file:
            file.seek(0)
            before = file.read().split()
            assert not before or int(before[-1]) < token, (before[-1], token)
            file.write(f"{token}\n")
        os.unlink(f"{marker}.held")
        self.wins += 1
        with open(f"{self.folder}/{self.agent}.wins", "a", encoding="ascii") as file:
            file.write("+")


def contend(workspace: str, agent: str, folder: str, stop: str) -> Trial:
    """With the interface that agents use, waiting for one's turn; from when all are there until it is enough."""
    trial = Trial(folder, agent)
    with contextlib.closing(dibs.open(workspace, agent, timeout=PATIENCE)) as opened:
        Path(f"{stop}.{agent}").touch()
        while not os.path.exists(f"{stop}.go"):
            time.sleep(0.002)
        while not os.path.exists(stop):
            began = clock.since_boot()
            path = f"p{began % PATHS}.py"
            with opened.claim(path, wait=2 * PATIENCE, ttl=4 * PATIENCE) as claim:
                trial.waited.append(clock.since_boot() - began)
                trial.hold(path, claim.token)
    return trial


def endure(url: str, agent: str, folder: str, stop: str, weak: bool) -> Trial:
    """On a machine of its own, whatever becomes of the server; without waiting."""
    trial, number = Trial(folder, agent), 0
    machine = Machine(url, f"{folder}/memory-{agent}", timeout=0.5)
    while not os.path.exists(stop):
        number += 1
        path, request = f"p{number % 3}.py", f"{agent}-{number}"
        with contextlib.suppress(Held, Fenced) if weak else contextlib.suppress(Held):
            token = _stubbornly(machine.claim, agent, path, request)
            trial.hold(path, token)
            Path(f"{stop}.{agent}").touch()
            _stubbornly(machine.call, agent, "release", f"{request}-", resources=[["file", path]], token=token)
    machine.store.close()
    return trial


def _stubbornly(ask: Callable[..., Any], *given: Any, **named: Any) -> Any:
    while True:
        try:
            return ask(*given, **named)
        except (Busy, Unavailable):  # the server is down, or this process got no turn in time
            time.sleep(0.02)


def start(job: str, *given: Any) -> subprocess.Popen[str]:
    """One of these in a process of its own."""
    code = f"from tests.faults import test_redis_processes as t; t.report(t.{job}(*{list(given)!r}))"
    hidden = ("DIBS_", "CLAUDE", "CODEX", "COPILOT", "GEMINI")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    environment["PYTHONPATH"] = str(ROOT)
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def report(trial: Trial) -> None:
    """Tell the test."""
    print(json.dumps([trial.wins, sorted(trial.waited)]))


def tokens_in(folder: Path) -> list[int]:
    """Every token under which one of them held something."""
    return [int(token) for path in folder.glob("*.tokens") for token in path.read_text().split()]


def wins_of(folder: Path, agent: str) -> int:
    """How often one of them has held something."""
    try:
        return (folder / f"{agent}.wins").stat().st_size
    except FileNotFoundError:
        return 0


def come_about(condition: Callable[[], bool], started: list[subprocess.Popen[str]]) -> None:
    """Wait for it while all of them are at work."""
    end = time.monotonic() + 4 * PATIENCE
    while not condition():
        assert time.monotonic() < end, "it does not come about"
        assert all(process.poll() is None for process in started), reports(started)
        time.sleep(0.01)


def reports(started: list[subprocess.Popen[str]]) -> list[Any]:
    """What they say when they are done."""
    found = []
    for process in started:
        out, err = process.communicate(timeout=PATIENCE * 2)
        assert process.returncode == 0, err
        found.append(json.loads(out))
    return found


# --- and what must come of it


def test_eight_processes_on_eight_paths_never_hold_one_twice_and_nobody_starves(
    shared: Callable[[], World], server: Server, tmp_path: Path
) -> None:
    hosts = [shared() for _ in range(2)]
    judge(hosts[0], server).begin().store.close()
    stop, names = tmp_path / "stop", [f"agent-{number}" for number in range(8)]
    started = [
        start("contend", str(hosts[number % 2].folder), name, str(tmp_path), str(stop))
        for number, name in enumerate(names)
    ]
    come_about(lambda: all(Path(f"{stop}.{name}").exists() for name in names), started)
    Path(f"{stop}.go").touch()
    share = size(40, 750)  # that each of them gets in the end; how soon is a matter of the machine's load
    come_about(lambda: all(wins_of(tmp_path, name) >= share for name in names), started)
    stop.touch()
    found = reports(started)
    wins = [won for won, _ in found]
    waited = sorted(ms for _, each in found for ms in each)
    mean = sum(wins) / len(wins)
    print(
        f"wins {wins}, slowest {min(wins) / mean:.2f} of the mean, waits: median {waited[len(waited) // 2]} ms, ",
        end="",
    )
    print(f"99% {waited[len(waited) * 99 // 100]} ms, longest {waited[-1]} ms")
    tokens = tokens_in(tmp_path)
    assert len(tokens) == len(set(tokens)) == sum(wins)
    assert min(wins) >= share
    one = judge(hosts[0], server)
    one.check()
    one.store.close()


def test_a_hundred_retries_of_one_request_have_one_effect(
    shared: Callable[[], World], server: Server, dice: Dice
) -> None:
    hosts = [shared() for _ in range(2)]
    callers = [host.blank() for host in hosts for _ in range(2)]
    rounds = size(3, 30)
    for number in range(rounds):
        answers = []
        for _ in range(25):
            for place, caller in enumerate(callers):
                asked = {"resources": [["file", f"f{number}.py"]]}
                hosts[place // 2].start_floor(caller, "ann", "claim", f"r{number}", **asked)
            answers += [caller.receive() for caller in dice.sample(callers, len(callers))]
        assert len(answers) == 100
        assert all(answer == answers[0] for answer in answers)
    one = judge(hosts[0], server)
    assert len(one.events("claim.granted")) == rounds
    one.check()
    one.store.close()


@pytest.mark.parametrize("how", ["always", "everysec"])
def test_three_machines_survive_the_death_of_the_server_in_the_middle(how: str, tmp_path: Path, dice: Dice) -> None:
    """Where nothing can be lost nobody notices; elsewhere claims are void, and what is still held is held by one."""
    with running(**(ALWAYS if how == "always" else EVERYSEC)) as mortal:
        one = Machine(mortal.url, tmp_path / "judge").begin()
        stop = tmp_path / "stop"
        folders = [tmp_path / (f"seen-by-{name}" if how == "everysec" else "seen") for name in "abc"]
        for folder in folders:
            folder.mkdir(exist_ok=True)
        started = [
            start("endure", mortal.url, name, str(folder), str(stop), how != "always")
            for name, folder in zip("abc", folders, strict=True)
        ]
        seen = 0
        come_about(lambda: all(Path(f"{stop}.{name}").exists() for name in "abc"), started)
        for _ in range(deaths := size(3, 40)):
            come_about(lambda before=seen: sum(map(len, map(tokens_in, set(folders)))) > before, started)  # type: ignore[misc]
            time.sleep(dice.uniform(0.1, 0.6))  # how long it lives, not a wait for anything
            seen = sum(map(len, map(tokens_in, set(folders))))
            mortal.restart()
        stop.touch()
        wins = [won for won, _ in reports(started)]
        granted = [event["data"]["token"] for event in one.events("claim.granted")]
        print(f"appendfsync {how}: {deaths} deaths, wins {wins}, {len(granted)} claims granted in the log")
        assert min(wins) > 0
        assert granted == sorted(set(granted))
        if how == "always":
            assert len(granted) >= sum(wins), "nothing answered is missing"
            assert one.events("store.epoch") == []
        else:
            assert len(one.events("store.epoch")) >= deaths - 1
        one.check()
        one.store.close()
