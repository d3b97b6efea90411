"""The repositories that the tests of states work in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.interfaces.repository import Repository
from tests.states.trees import Trees

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def trees(tmp_path: Path) -> Trees:
    return Trees(tmp_path)


@pytest.fixture
def anchored(tmp_path: Path) -> Iterator[Repository]:
    """A workspace whose hooks have their states anchored."""
    made = Repository(tmp_path)
    del made.env["DIBS_STATES"]
    yield made
    made.close()
