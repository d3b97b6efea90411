"""A workspace with two agents, and somebody who looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dibs
from tests.interfaces.top.looking import Look, opened


@pytest.fixture
def ada(tmp_path: Path) -> Iterator[Any]:
    dibs.init(str(tmp_path))
    with opened(tmp_path, "ada") as made:
        yield made


@pytest.fixture
def ben(ada: Any, tmp_path: Path) -> Iterator[Any]:  # noqa: ARG001 - the workspace first
    with opened(tmp_path, "ben") as made:
        yield made


@pytest.fixture
def look(ada: Any, tmp_path: Path) -> Iterator[Look]:  # noqa: ARG001 - the same
    made = Look(tmp_path)
    yield made
    made.close()
