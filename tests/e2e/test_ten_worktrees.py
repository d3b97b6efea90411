"""Ten worktrees, fifty landings: main is green at every commit, nothing is lost, each author is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.ten_worktrees import Run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.torture
def test_ten_agents_land_fifty_changes_of_which_ten_conflict_and_five_break_the_check(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.play()
    run.settle()
