"""The scratch workspace of tests/scratch.py, and a Redis server for each file that asks for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.scratch import repo, shell
from tests.stores.redis_server import ALWAYS, Server, running

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["repo", "shell"]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """It writes what it confirms to the disk first."""
    with running(**ALWAYS) as started:
        yield started
