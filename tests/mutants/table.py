"""All mutants: each file beside this one holds the rows of its room."""

from __future__ import annotations

from tests.mutants import (
    agents,
    claims,
    clients,
    core,
    doors,
    facts,
    git,
    guards,
    hooks,
    install,
    lookout,
    messages,
    running,
    runs,
    session,
    shared,
    shell,
    storage,
    stores,
    tasks,
    upkeep,
)
from tests.mutants.mutant import Mutant

ROOMS = (
    agents,
    claims,
    clients,
    core,
    doors,
    facts,
    git,
    guards,
    hooks,
    install,
    lookout,
    messages,
    running,
    runs,
    session,
    shared,
    shell,
    storage,
    stores,
    tasks,
    upkeep,
)
MUTANTS = tuple([Mutant(*row) for room in ROOMS for row in room.ROWS])
