"""All mutants: each file next to this one that has `ROWS` holds the checks of its room."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tests.mutants.mutant import Mutant

FILES = sorted(Path(__file__).parent.glob("*.py"))
ROOMS = [path.stem for path in FILES if "\nROWS = (" in path.read_text()]
MUTANTS = tuple([Mutant(*row) for room in ROOMS for row in import_module(f"tests.mutants.{room}").ROWS])
