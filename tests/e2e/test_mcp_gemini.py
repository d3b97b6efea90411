"""The tools of `dibs mcp` with the real Gemini CLI, whose model is shown the text of a result alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.clients.kinds import GEMINI
from tests.e2e.clients.scripts import Use

if TYPE_CHECKING:
    from tests.e2e.clients.fleet import Fleet

pytestmark = pytest.mark.clients


def test_gemini_s_model_hears_in_words_who_holds_a_file_and_what_to_do(fleet: Fleet) -> None:
    fleet.file("shared.txt", "one\n")
    fleet.dibs("init", "--clients", "gemini")
    fleet.commit()
    fleet.dibs("claim", "held.txt", "--as", "ann", "--reason", "the index")
    script = fleet.script("gem").turn(Use("mcp_dibs_claim", {"resources": ["shared.txt"]}))
    script.turn(Use("mcp_dibs_claim", {"resources": ["held.txt"]}))
    gem = fleet.start(GEMINI, script)
    fleet.wait()

    granted, refused = gem.results()
    assert gem.session in granted
    assert "ann holds held.txt" in refused
    assert "Next: " in refused
