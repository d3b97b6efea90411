"""Each check that keeps a promise has a test that fails without it (FAULTS row 13): tests/mutants/table.py.

That each row names one place of the source, and that its test is there, is part of every run. To make the changes one by
one and run their tests takes minutes: `make mutants`, which CI runs as well.
"""

from __future__ import annotations

import ast
import functools

import pytest

from tests.mutants import syntax
from tests.mutants.mutant import TOP, Mutant, survives
from tests.mutants.syntax import StaleRowError
from tests.mutants.table import MUTANTS

# One test of each folder that the table names. With all lines in place it passes, run as the others are.
SOUND = {mutant.test.split("/")[1]: mutant for mutant in MUTANTS if "::" in mutant.test}


def test_every_row_of_the_table_changes_one_place_of_the_source_and_has_its_test() -> None:
    stale = [fault for mutant in MUTANTS if (fault := _fault(mutant))]
    assert not stale, "\n".join([f"{len(stale)} rows of tests/mutants are to be mended (syntax.py says how):", *stale])


def _fault(mutant: Mutant) -> str:
    """What is wrong with a row, and what to write; empty if nothing is."""
    file, _, test = mutant.test.partition("::")
    if not (TOP / file).exists() or (test and f"def {test.partition('[')[0].split('::')[-1]}(" not in _text(file)):
        return f"({mutant}) there is no test {mutant.test}"
    try:
        scope = syntax.scope(mutant.where)
        edits = syntax.edits(scope, mutant.change)
    except StaleRowError as error:
        return f"({mutant}) {error}"
    return "" if all(ast.dump(node) != ast.dump(new) for node, new in edits) else f"({mutant}) changes nothing"


@functools.cache
def _text(file: str) -> str:
    return (TOP / file).read_text()


@pytest.mark.mutants
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_without_this_line_a_test_fails(mutant: Mutant) -> None:
    said = survives(mutant)
    assert not said, said


@pytest.mark.mutants
@pytest.mark.parametrize("folder", sorted(SOUND))
def test_with_the_line_in_place_the_test_passes(folder: str) -> None:
    said = survives(SOUND[folder]._replace(change=""))
    assert said.startswith("exit 0: "), said or "the test failed"
