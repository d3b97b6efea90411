"""Is there mail for an agent? Asked by hooks before they open the store."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.facts.workspace import Place


def waiting(_place: Place, _agent: str) -> bool:
    """Whether the store has to be asked."""
    return True
