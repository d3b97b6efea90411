"""Repositories before `dibs init`: one that has everything in the way, and an empty one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interfaces.installation import git, rich, shell_in
from tests.scratch import Shell


@pytest.fixture
def repository(tmp_path: Path) -> Shell:
    """A repository with settings of clients and hooks of its own."""
    return shell_in(rich(tmp_path / "a repo"))


@pytest.fixture
def plain(tmp_path: Path) -> Shell:
    """A new repository."""
    folder = tmp_path / "plain"
    folder.mkdir()
    git("init", "-q", "-b", "main", cwd=folder)
    return shell_in(folder)
