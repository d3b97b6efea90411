"""Each check that keeps a promise has a test that fails without it (FAULTS row 13): tests/mutants/table.py.

That each line still stands once where the table says, and that its test is there, is part of every run. To take the
lines out one by one and run their tests takes minutes: `make mutants`, which CI runs as well.
"""

from __future__ import annotations

import pytest

from tests.mutants.mutant import TOP, Mutant, survives
from tests.mutants.table import MUTANTS

# One test of each folder that the table names. With all lines in place it passes, run as the others are.
SOUND = {mutant.test.split("/")[1]: mutant for mutant in MUTANTS if "::" in mutant.test}


def _name(mutant: Mutant) -> str:
    return f"{mutant.file}:{mutant.text.strip().splitlines()[0][:40]}"


def test_every_line_of_the_table_stands_once_in_its_file_and_has_its_test() -> None:
    for mutant in MUTANTS:
        source = (TOP / "src" / "dibs" / mutant.file).read_text()
        assert source.count(mutant.text) == 1, _name(mutant)
        file, _, test = mutant.test.partition("::")
        assert (TOP / file).exists(), mutant.test
        assert not test or f"def {test.partition('[')[0].split('::')[-1]}(" in (TOP / file).read_text(), mutant.test


@pytest.mark.mutants
@pytest.mark.parametrize("mutant", MUTANTS, ids=_name)
def test_without_this_line_a_test_fails(mutant: Mutant) -> None:
    said = survives(mutant)
    assert not said, said


@pytest.mark.mutants
@pytest.mark.parametrize("folder", sorted(SOUND))
def test_with_the_line_in_place_the_test_passes(folder: str) -> None:
    whole = SOUND[folder]._replace(instead=SOUND[folder].text)
    said = survives(whole)
    assert said.startswith("exit 0: "), said or "the test failed"
