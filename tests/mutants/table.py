"""All mutants: each file beside this one holds the rows of its subject."""

from __future__ import annotations

from tests.mutants.agents import BOOT
from tests.mutants.authority import AUTHORITY
from tests.mutants.corners import CORNERS
from tests.mutants.deploys import DEPLOYS
from tests.mutants.ledger import LEDGER
from tests.mutants.long_jobs import BOUNDED
from tests.mutants.mutant import Mutant
from tests.mutants.promises import PROMISES
from tests.mutants.stores import STORES

MUTANTS = (
    *PROMISES,
    *(Mutant(*row) for row in (*LEDGER, *AUTHORITY, *BOOT, *BOUNDED, *CORNERS, *DEPLOYS, *STORES)),
)
