"""Ten worktrees, fifty landings: main is green at every commit, nothing is lost, each author is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.clients.landing_fleet import play
from tests.e2e.ten_worktrees import AGENTS, Run, changes

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.clients.fleet import Fleet


@pytest.mark.torture
def test_ten_agents_land_fifty_changes_of_which_ten_conflict_and_five_break_the_check(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.play()
    run.settle()


@pytest.mark.clients
def test_real_clients_land_fifty_changes_of_which_ten_conflict_and_five_break_the_check(fleet: Fleet) -> None:
    run, models = play(fleet)
    assert [model.refused for model in models] == [[]] * AGENTS
    run.settle()
    owners = {one["branch"]: one["agent"] for one in run.repo.json("landings", exit=0)["landings"]}
    said = {"landed": '"state":"landed"', "conflict": '"code":"conflict"', "check": '"code":"check"'}
    for number, model in enumerate(models):
        for change in changes(number):  # each heard it at once, from its own command
            assert said[change.outcome] in model.answers[change.branch], change
            assert owners[change.branch] == run.agents[number]
