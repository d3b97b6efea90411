"""Hooks that take units of a pool, or wait for one, are killed at any moment: no unit is given twice, none is lost."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

import pytest

from dibs.machine import processes
from tests.faults.kit import Dice, size
from tests.guards.test_pool_turns import born, done, units, with_pools
from tests.interfaces.repository import PATIENCE

if TYPE_CHECKING:
    from tests.interfaces.repository import Agent, Answer, Repository

SIZE, AGENTS = 2, 4
ROUNDS = size(30, 1_000)
LONGEST_S = 0.3  # from the start of a hook to its end by us; a hook that need not wait takes a tenth of that
POOLS = f"""
[pools]
build = {{ size = {SIZE}, wait = "5m" }}
[[pools.use]]
match = ["suite"]
pool = "build"
[[pools.use]]
match = ["all"]
pool = "build"
units = {SIZE}
"""


def strike(agent: Agent, number: signal.Signals) -> None:
    """End what runs below the client of an agent: its hook, wherever that is."""
    for pid, _ in processes.started_by(agent.client.pid, (), ""):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


@pytest.mark.long
@pytest.mark.slow
def test_kill_9_of_hooks_and_clients_loses_no_unit(repo: Repository) -> None:
    with_pools(repo, POOLS)
    dice = Dice()
    agents = [born(repo, f"a{number}") for number in range(AGENTS)]
    with ThreadPoolExecutor(AGENTS) as threads:
        for number in range(ROUNDS):
            place = dice.randrange(AGENTS)
            agent = agents[place]
            answer: Future[Answer] = threads.submit(agent.may_run, "suite", f"call-{number}")
            time.sleep(dice.random() * LONGEST_S)
            act = dice.choice(["hook", "hook", "term", "client"])
            if act == "client":
                agent.client.kill()
                wait([answer], PATIENCE)
                agents[place] = born(repo, f"a{AGENTS + number}")
                continue
            while not answer.done():  # on a busy machine, it may not even have begun
                strike(agent, signal.SIGTERM if act == "term" else signal.SIGKILL)
                wait([answer], 0.05)
            if answer.result(PATIENCE).silent and dice.random() < 0.5:
                done(agent, "suite", f"call-{number}")
            if number % 5 == 0:
                assert sum(map(len, units(repo).values())) <= SIZE
        # all clients that are left live on; of what they were let through to, nothing runs
        last = born(repo, "last")
        assert last.may_run("all", "last").silent
    assert units(repo) == {"last": [f"pool:build:{number}" for number in range(SIZE)]}
    assert repo.terminal("verify")["ok"] is True
