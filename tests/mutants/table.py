"""All mutants: each file next to this one that has `ROWS` holds the checks of its room."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tests.mutants.mutant import Mutant

OTHERS = ("mutant", "table", "test_mutants", "warm_pytest", "syntax", "propose")  # files that hold no rows
ROOMS = [path.stem for path in sorted(Path(__file__).parent.glob("*.py")) if path.stem not in OTHERS]
MUTANTS = tuple([Mutant(*row) for room in ROOMS for row in import_module(f"tests.mutants.{room}").ROWS])
