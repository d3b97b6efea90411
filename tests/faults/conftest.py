from __future__ import annotations

import itertools
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
def make_world(nursery: Nursery) -> Iterator[Callable[[Path], World]]:
    made: list[World] = []

    def another(folder: Path) -> World:
        made.append(World(folder, nursery))
        return made[-1]

    yield another
    for world in made:
        world.close()


@pytest.fixture
def worlds(tmp_path: Path, make_world: Callable[[Path], World]) -> Callable[[], World]:
    numbers = itertools.count()
    return lambda: make_world(tmp_path / f"w{next(numbers)}")


@pytest.fixture
def world(worlds: Callable[[], World]) -> World:
    return worlds()


@pytest.fixture
def dice() -> Dice:
    return Dice()
