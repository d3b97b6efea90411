from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.faults.kit import Dice, Nursery, World, size
from tests.interfaces.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """In memory where there is room: a SIGKILL does not tell a disk from a tmpfs, and the disk is shared with others.

    The full run (DIBS_TORTURE=1) is on the disk.
    """
    memory = Path("/dev/shm")
    if size(0, 1) or not memory.is_dir() or shutil.disk_usage(memory).free < 1 << 28:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="dibs-", dir=memory) as folder:
        yield Path(folder)


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
def repo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    made = Repository(tmp_path_factory.mktemp("hooks"))
    yield made
    made.close()


@pytest.fixture
def dice() -> Dice:
    return Dice()
