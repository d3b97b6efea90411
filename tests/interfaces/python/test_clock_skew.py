"""A caller whose time of day is not the store's keeps its claims as long as the store does, not longer or shorter."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from dibs.machine import clock
from tests.interfaces.http.web import Server
from tests.interfaces.local_server import Home, socket_url
from tests.server.far import Far
from tests.stores.redis_server import Proxy, opened, running
from tests.waiting import LIMIT_S, in_time

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.scratch import Shell

HALF_HOUR_MS = 31 * 60_000  # more than a claim lives
SKEWED = """
import sys
from dibs.machine import clock

real, skew = clock.wall, int(sys.argv.pop(1))
clock.wall = lambda: real() + skew
"""
CLAIM = """
import json, os
import dibs
from dibs.client.server_link import SocketLink

ws = dibs.open(agent="ann")
if os.path.exists(f"{ws.session.place.local}/serve.json"):
    ws.session.link = SocketLink(ws.session.place.local)
with ws.claim("a.py", ttl=20) as claim:
    granted, alive = claim.remaining, claim.live
    claim.renew()
    print(json.dumps([granted, alive, claim.remaining, claim.lost is None]))
"""
COMMAND = """
import runpy
sys.argv[0] = "dibs"
runpy.run_module("dibs", run_name="__main__")
"""


def skewed(shell: Shell, skew: int, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """The program on a machine whose clock is off by that many milliseconds."""
    return subprocess.run(
        [sys.executable, "-c", SKEWED + program, str(skew), *words],
        cwd=shell.folder, env=shell.environment, capture_output=True, text=True, check=False, timeout=LIMIT_S,
    )  # fmt: skip


@pytest.fixture(scope="module", params=["redis", "server", "far"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A store with a clock of its own: a Redis server, the same behind a server of dibs, and a server elsewhere."""
    folder = tmp_path_factory.mktemp("p")
    home = Home(folder / "repo", socket_url(folder) if request.param != "far" else "")
    home.json("up", exit=0)
    if request.param == "server":
        with Server(home.folder) as server:
            yield home
            server.process.terminate()
            server.process.wait()
    elif request.param == "far":
        far = Far(home, folder)
        yield far.away
        far.close()
    else:
        yield home
    home.clean()


@pytest.mark.parametrize("skew", [0, -30_000, HALF_HOUR_MS, -HALF_HOUR_MS])
def test_a_claim_lasts_as_long_as_the_store_says_whatever_the_time_of_day_is_here(place: Shell, skew: int) -> None:
    done = skewed(place, skew, CLAIM)
    assert done.returncode == 0, done.stderr
    granted, alive, renewed, kept = json.loads(done.stdout)
    assert (alive, kept) == (True, True)
    assert 15 < granted <= 20
    assert 15 < renewed <= 20


@pytest.mark.parametrize("skew", [HALF_HOUR_MS, -HALF_HOUR_MS])
def test_commands_under_a_claim_are_not_ended_by_the_time_of_day(place: Shell, skew: int) -> None:
    task: dict[str, Any] = place.json("task", "add", "t", "--as", "boss", exit=0)["task"]
    worked = skewed(place, skew, COMMAND, "worker", "--exec", "echo 42", "--limit", "1", "--as", f"w{skew}")
    assert worked.returncode == 0, worked.stderr
    shown = place.json("task", "show", task["id"], exit=0)["task"]
    assert (shown["state"], shown["result"]) == ("complete", 42)
    led = skewed(place, skew, COMMAND, "lead", "--as", f"l{skew}", "--", "echo", "led")
    assert (led.returncode, led.stdout) == (0, "led\n"), led.stderr


def test_people_read_how_long_a_claim_lasts_by_the_stores_clock(place: Shell) -> None:
    for skew in (HALF_HOUR_MS, -HALF_HOUR_MS):
        said = skewed(place, skew, COMMAND, "claim", f"{skew}.py", "--ttl", "10m", "--as", "ann").stdout
        assert "for 10m" in said
        row = next(one for one in skewed(place, skew, COMMAND, "status").stdout.splitlines() if f"{skew}.py" in one)
        assert "10m" in row


def test_a_deadline_is_measured_from_before_the_question(tmp_path: Path) -> None:
    with running() as server:
        proxy = Proxy(server.port, b"EVALSHA")
        store = opened(proxy.url, "w", memory=str(tmp_path / "m"))
        store.look(lambda tx: tx.get("k"))

        def play(seconds: float) -> None:
            proxy.fault, proxy.delay = "slow", seconds
            before = clock.since_boot()
            wall = store.look(lambda tx: tx.wall)
            assert wall - store.wall_ahead() <= before + 500 * seconds, "the deadline is the earlier for a late answer"

        in_time(play, life=0.3)
        store.close()
        proxy.close()
