"""The fleet of most tests here; a file whose agents need more makes its own."""

from __future__ import annotations

import pytest

from tests.operations.fleet import Fleet


@pytest.fixture
def fleet() -> Fleet:
    return Fleet()
