"""Which operations a caller may call, by its rank: for doors that show what cannot be done from here as switched off.

It is a forecast from the declarations. Each call is decided anew by its operation (operations/core/entry.py).
"""

from __future__ import annotations

from dibs.client import catalogue
from dibs.operations.agents import roles
from dibs.operations.core.declare import RANKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.call import Call


def may(call: Call, role: str) -> dict[str, bool]:
    """Operation → whether a caller of this role (of `whoami`) may call it."""
    rank = role if role in RANKS else roles.rank_of(call, role)
    every = [*catalogue.every(), *catalogue.queries()]
    return {one.name: RANKS[rank] >= RANKS[one.rank] for one in every if one.rank}
