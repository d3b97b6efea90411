"""A mixed fleet of real clients on one repository: nobody's work is lost, and nobody gives up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.clients.mixed_fleet import FIVE, play

if TYPE_CHECKING:
    from tests.e2e.clients.fleet import Fleet
    from tests.e2e.clients.mixed_fleet import Outcome

pytestmark = pytest.mark.clients


def nothing_is_lost(outcome: Outcome) -> None:
    assert (outcome.bumps_lost, outcome.lines_lost) == (0, []), outcome.told
    assert outcome.given_up == []


@pytest.mark.long
def test_three_claude_code_and_two_codex_lose_no_edit_and_no_bump(fleet: Fleet) -> None:
    nothing_is_lost(play(fleet, FIVE, think=0.3))
    assert fleet.held() == {}
    assert fleet.dibs("verify")["ok"] is True


@pytest.mark.long
def test_they_lose_nothing_when_they_think_for_longer_between_reading_and_writing(fleet: Fleet) -> None:
    nothing_is_lost(play(fleet, FIVE, think=3))


@pytest.mark.long
def test_they_lose_nothing_and_nobody_gives_up_when_nobody_gives_a_claim_back(fleet: Fleet) -> None:
    nothing_is_lost(play(fleet, FIVE, think=0.3, releases=False))
