"""A served workspace for each test, or one for a whole file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interfaces.http.web import Web


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    made = Web(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """For tests that leave nothing behind which another would notice."""
    made = Web(tmp_path_factory.mktemp("served"))
    yield made
    made.close()
