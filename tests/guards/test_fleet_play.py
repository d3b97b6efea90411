"""A fleet of three to five agents with random real commands on real files: what tests/guards/fleet.py asks for holds.

`python -m tests.guards.test_fleet_play SEED…` plays single seeds and prints their stories.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.guards.fleet import World, put_back, stage
from tests.guards.fleet_moves import FILES, NEW, play

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.guards.fleet_moves import Step
    from tests.interfaces.quick import QuickClient, Scratch

pytestmark = pytest.mark.slow

TORTURE = bool(os.environ.get("DIBS_TORTURE"))
PLAYS, STEPS = (150, 50) if TORTURE else (3, 30)
SEEDS = [*range(PLAYS), *((210, 340, 354) if TORTURE else ())]  # those beyond failed once
MOST = 5  # agents

Stage = tuple["Scratch", list[Path], list[tuple["QuickClient", str]]]


def staged(folder: Path) -> Stage:
    scratch, trees = stage(folder, FILES, worktrees=1)
    clients = ["claude", "claude", "codex", "claude", "codex"]
    return scratch, trees, [(scratch.process(client), client) for client in clients[:MOST]]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = staged(tmp_path_factory.mktemp("fleet"))
    yield made
    made[0].close()


def played(table: Stage, seed: int) -> tuple[World, list[str]]:
    """One seed is one play: how many agents, in how many working trees, which files, by which way their hooks go."""
    drawn = random.Random(seed)
    scratch, trees, processes = table
    put_back(scratch, trees)
    agents = drawn.randint(1, MOST)
    world = World(scratch, trees[: drawn.randint(1, len(trees))], processes[:agents], real=drawn.random() < 0.3)
    names = [*drawn.sample(list(FILES), drawn.randint(1, 3)), drawn.choice(NEW)]
    steps: list[Step] = [
        (drawn.randrange(agents), drawn.randrange(1_000_000), drawn.randrange(1000), drawn.randrange(1000))
        for _ in range(STEPS)
    ]
    try:
        return world, play(world, steps, names)
    finally:
        if world.server is not None:
            world.server.kill()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_fleet_loses_nothing_without_a_word_and_a_copy(table: Stage, seed: int) -> None:
    world, wrongs = played(table, seed)
    assert not wrongs, "\n".join([*wrongs, "", *world.trace])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as base:
        found = staged(Path(base))
        for number in map(int, sys.argv[1:]):
            told, failed = played(found, number)
            print("\n".join([f"--- {number}", *told.trace, *failed]))
        found[0].close()
