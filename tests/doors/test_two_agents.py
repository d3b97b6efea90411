"""Two agents with random real commands on real files: what tests/doors/two_agents.py asks for holds in every order."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.doors.quick import QuickClient, Scratch
from tests.doors.two_agents import FILES, World, play

if TYPE_CHECKING:
    from collections.abc import Iterator

TORTURE = bool(os.environ.get("DIBS_TORTURE"))
EXAMPLES, STEPS = (250, 40) if TORTURE else (60, 15)

Stage = tuple[Scratch, list[QuickClient]]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    scratch = Scratch(tmp_path_factory.mktemp("two"), FILES)
    processes = [scratch.process(), scratch.process()]
    scratch.keep()
    yield scratch, processes
    scratch.close()


def world(stage: Stage) -> World:
    stage[0].put_back()
    return World(*stage)


@settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
)
@given(
    steps=st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 191), st.integers(0, 2), st.integers(1, 2)),
        min_size=STEPS, max_size=STEPS,
    )
)  # fmt: skip
def test_nothing_of_an_agent_s_is_lost_or_taken_or_overwritten_unseen(
    stage: Stage, steps: list[tuple[int, int, int, int]]
) -> None:
    play(world(stage), steps)
