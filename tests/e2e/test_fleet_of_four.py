"""The mixed fleet with all four kinds of clients: Claude Code, Codex, Gemini, Copilot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.clients.mixed_fleet import SEVEN, play
from tests.e2e.test_fleet import nothing_is_lost

if TYPE_CHECKING:
    from tests.e2e.clients.fleet import Fleet

pytestmark = pytest.mark.clients


@pytest.mark.parametrize("think", [0.3, 3])
@pytest.mark.parametrize("releases", [True, False], ids=["gives back", "forgetful"])
def test_four_kinds_of_clients_lose_no_edit_and_no_bump(fleet: Fleet, think: float, releases: bool) -> None:
    nothing_is_lost(play(fleet, SEVEN, think=think, releases=releases))
