"""The simulation, in the ordinary test run and, with DIBS_TORTURE=1, at its full size. DIBS_SEED replays one run."""

from __future__ import annotations

import os

import pytest

from tests.simulation.world import World

TORTURE = bool(os.environ.get("DIBS_TORTURE"))
OPERATIONS = 10_000  # in one run
INTERRUPTED = 10_000 if TORTURE else 600
RUNS = 100 if TORTURE else 4
MORE = (
    0 if TORTURE or "DIBS_SEED" in os.environ else 12
)  # runs of `make slow`: with the other worlds, 200,000 operations
SEEDS = [int(os.environ["DIBS_SEED"])] if "DIBS_SEED" in os.environ else list(range(1, RUNS + 1))


@pytest.mark.long
@pytest.mark.parametrize(
    "seed", [*SEEDS, *[pytest.param(RUNS + more, marks=pytest.mark.slow) for more in range(1, MORE + 1)]]
)
def test_a_fleet_with_crashes_pauses_and_aborts_never_has_two_holders_and_leaves_nothing(seed: int) -> None:
    world = World(seed)
    step = 0
    try:
        for step in range(OPERATIONS):  # noqa: B007 - the note below says how far it came
            world.step()
        world.check()
    except BaseException as error:
        error.add_note(f"replay with: DIBS_SEED={seed} pytest {__file__} (step {step}, at {world.now})")
        raise


@pytest.mark.parametrize("seed", SEEDS[: max(2, len(SEEDS) // 10)])
def test_a_fleet_whose_calls_are_interrupted_at_any_bytecode_never_has_two_holders_and_leaves_nothing(
    seed: int,
) -> None:
    world = World(seed, aborts=0.0, interrupts=0.5)
    for _ in range(INTERRUPTED):
        world.step()
    world.check()
    assert world.interrupted > INTERRUPTED // 20
