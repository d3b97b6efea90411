"""A fleet of real clients that run one suite, with a pool of one unit: hooks wait, and no unit is given out twice.

`E2E_SUITE_S=110` lets them wait for nearly as long as a client lets a command run; CI plays a shorter wait.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from dibs.machine import processes
from tests.e2e.clients.kinds import CLAUDE, CODEX
from tests.waiting import until

if TYPE_CHECKING:
    from tests.e2e.clients.fleet import Agent, Fleet
    from tests.e2e.clients.kinds import Client

pytestmark = pytest.mark.clients

SUITE_S = float(os.environ.get("E2E_SUITE_S", "20"))  # of the suite that the others wait for
SHORT_S = 2
TWICE_S = 12  # longer than a unit is kept for a command that has not begun
LONG_S = 1_000  # of a suite that does not come to its end
# Each run notes its begin and its end, with the process of its shell. Stopped (SIGTERM), it leaves nothing running.
SUITE = """#!/bin/sh
echo "begin $1 $$" >>"$HOME/runs"
sleep "${2:-1}" &
trap 'kill $!; exit 1' TERM
wait
echo "end $1 $$" >>"$HOME/runs"
"""
POOL = """
[pools]
build = { size = 1, wait = "20m" }
[[pools.use]]
match = ["suite.sh"]
pool = "build"
"""


def set_up(fleet: Fleet, *clients: Client) -> None:
    names = ",".join(dict.fromkeys(client.name for client in clients))
    fleet.file("suite.sh", SUITE).chmod(0o755)
    fleet.dibs("init", "--no-mcp", "--clients", names)
    with (fleet.repo / ".dibs" / "config.toml").open("a") as file:
        file.write(POOL)
    fleet.dibs("init", "--no-mcp", "--clients", names)
    fleet.commit("dibs")


def runs_suite(fleet: Fleet, client: Client, name: str, seconds: float = SHORT_S) -> Agent:
    """A client whose model runs the suite once."""
    return fleet.start(client, fleet.script(name).turn(client.shell(f"./suite.sh {name} {seconds:g}")))


def lines(fleet: Fleet) -> list[list[str]]:
    """What the suites noted: begin or end, whose, which process."""
    path = fleet.home / "runs"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def begun(fleet: Fleet, name: str) -> int:
    """Wait until somebody's suite runs; the process of its shell."""
    return int(until(lambda: [pid for what, who, pid in lines(fleet) if (what, who) == ("begin", name)], name)[0])


def waits(fleet: Fleet, agent: Agent) -> None:
    until(lambda: agent.session in [one["agent"] for one in fleet.dibs("status")["waiting"]], f"{agent.name} waits")


def in_line(fleet: Fleet, count: int) -> None:
    until(lambda: len(fleet.dibs("status")["waiting"]) == count, f"{count} in line")


def one_after_the_other(fleet: Fleet) -> list[str]:
    """No suite began while another one ran; whose they were, in order."""
    noted = lines(fleet)
    for first, second in zip(noted[::2], noted[1::2], strict=True):
        assert (first[0], second[0]) == ("begin", "end"), noted
        assert first[1:] == second[1:], noted
    return [who for what, who, _ in noted if what == "begin"]


def nothing_is_left(fleet: Fleet) -> None:
    status = fleet.dibs("status")
    assert status["waiting"] == []
    assert [name for claim in status["claims"] for name in claim["resources"] if name.startswith("pool:")] == []
    assert fleet.dibs("verify")["ok"] is True


@pytest.mark.long
def test_claude_code_and_codex_run_one_suite_after_the_other(fleet: Fleet) -> None:
    set_up(fleet, CLAUDE, CODEX)
    ada = runs_suite(fleet, CLAUDE, "ada", SUITE_S)
    begun(fleet, "ada")
    names = {"ben": CODEX, "cid": CLAUDE, "dan": CODEX, "eve": CLAUDE}
    agents = [runs_suite(fleet, client, name) for name, client in names.items()]
    in_line(fleet, len(agents))
    fleet.wait(ada, *agents, seconds=120 + 2 * SUITE_S)
    order = one_after_the_other(fleet)
    assert order[0] == "ada"
    assert sorted(order[1:]) == sorted(names)
    for agent in [ada, *agents]:
        assert "dibs" not in "".join(agent.results()), "the model need not know"
    nothing_is_left(fleet)


@pytest.mark.long
@pytest.mark.parametrize("client", [CLAUDE, CODEX], ids=["claude", "codex"])
def test_two_calls_of_one_turn_run_one_after_the_other(fleet: Fleet, client: Client) -> None:
    set_up(fleet, CLAUDE, CODEX)
    both = (client.shell(f"./suite.sh first {TWICE_S}"), client.shell(f"./suite.sh second {TWICE_S}"))
    fleet.wait(fleet.start(client, fleet.script("ada").turn(*both)))
    assert sorted(one_after_the_other(fleet)) == ["first", "second"]
    nothing_is_left(fleet)


@pytest.mark.long
@pytest.mark.parametrize("client", [CLAUDE, CODEX], ids=["claude", "codex"])
def test_a_client_that_is_killed_in_line_gets_no_unit(fleet: Fleet, client: Client) -> None:
    set_up(fleet, CLAUDE, CODEX)
    ada = runs_suite(fleet, CLAUDE, "ada", LONG_S)
    shell = begun(fleet, "ada")
    ben = runs_suite(fleet, client, "ben")
    in_line(fleet, 1)
    waits(fleet, ben)
    cid = runs_suite(fleet, CODEX, "cid")
    in_line(fleet, 2)
    ben.kill()
    in_line(fleet, 1)
    os.kill(shell, signal.SIGTERM)
    fleet.wait(ada, cid)
    assert [who for what, who, _ in lines(fleet) if what == "begin"] == ["ada", "cid"]
    nothing_is_left(fleet)


@pytest.mark.long
@pytest.mark.parametrize("client", [CLAUDE, CODEX], ids=["claude", "codex"])
def test_the_unit_of_a_client_that_is_killed_goes_to_the_next(fleet: Fleet, client: Client) -> None:
    set_up(fleet, CLAUDE, CODEX)
    ada = runs_suite(fleet, client, "ada", LONG_S)
    shell = begun(fleet, "ada")
    ben = runs_suite(fleet, CLAUDE, "ben")
    in_line(fleet, 1)
    ada.kill()
    fleet.wait(ben)
    if processes.name_of(shell):  # Claude Code's commands outlive it
        os.kill(shell, signal.SIGTERM)
    assert [who for what, who, _ in lines(fleet) if what == "end"] == ["ben"]
    nothing_is_left(fleet)


@pytest.mark.long
@pytest.mark.parametrize("client", [CLAUDE, CODEX], ids=["claude", "codex"])
@pytest.mark.parametrize("when", ["in line", "while it runs"])
def test_an_interrupted_client_keeps_no_unit(fleet: Fleet, client: Client, when: str) -> None:
    set_up(fleet, CLAUDE, CODEX)
    ada = runs_suite(fleet, CLAUDE, "ada", LONG_S)
    shell = begun(fleet, "ada")
    ben = runs_suite(fleet, client, "ben", LONG_S)
    in_line(fleet, 1)
    cid = runs_suite(fleet, CODEX, "cid")
    in_line(fleet, 2)
    if when == "while it runs":
        os.kill(shell, signal.SIGTERM)
        begun(fleet, "ben")
    ben.process.send_signal(signal.SIGINT)
    ben.process.wait(60)
    if when == "in line":
        in_line(fleet, 1)
        os.kill(shell, signal.SIGTERM)
    fleet.wait(ada, cid)
    assert [who for what, who, _ in lines(fleet) if what == "end"] == ["cid"]
    nothing_is_left(fleet)
