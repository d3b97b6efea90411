"""Real clients for the tests that are marked `clients`; see tests/e2e/clients/fleet.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.register_assert_rewrite("tests.e2e.clients")  # so that an assertion there shows what it saw

from tests.e2e.clients.fleet import Fleet  # noqa: E402 - rewritten only if it comes after

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    """A scratch repository without dibs, and clients to be started in it."""
    made = Fleet(tmp_path)
    yield made
    made.close()
