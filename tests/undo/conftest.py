"""The desk that the tests of `dibs undo` and `dibs diff` work at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.undo.undo_desk import Desk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "repo")
    yield made
    made.close()
