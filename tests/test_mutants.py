"""Each check that keeps a promise has a test that fails without it (FAULTS row 13): the table in tests/mutants.py."""

from __future__ import annotations

import pytest

from tests.mutants import MUTANTS, Mutant, survives


@pytest.mark.parametrize(
    "mutant", MUTANTS, ids=lambda mutant: f"{mutant.file}:{mutant.text.strip().splitlines()[0][:40]}"
)
def test_without_this_line_a_test_fails(mutant: Mutant) -> None:
    assert not survives(mutant), survives(mutant)
