from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faults.kit import Dice, Nursery, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


@pytest.fixture
def worlds(tmp_path: Path, nursery: Nursery) -> Iterator[Callable[[], World]]:
    made: list[World] = []

    def another() -> World:
        made.append(World(tmp_path / f"w{len(made)}", nursery))
        return made[-1]

    yield another
    for world in made:
        world.close()


@pytest.fixture
def world(worlds: Callable[[], World]) -> World:
    return worlds()


@pytest.fixture
def dice() -> Dice:
    return Dice()
