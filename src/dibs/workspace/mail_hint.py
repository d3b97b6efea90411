"""Is there mail? A hint that costs one look at a file, so that a hook need not open the store to hear of nothing.

Whoever puts a message into a mailbox leaves a mark after its commit (operations/messages/mailbox.py,
stores/sqlite/wakes.py). A hook that finds the mark takes it away first and asks the store then: what is posted in
between leaves a new one. It is a hint, never the truth: a server leaves no mark here, and one that is lost costs the
time until the agent's next call that opens the store anyway. Nothing is decided here.
"""

from __future__ import annotations

import os

from dibs.operations.agents.marks import FOLDER, mark_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.workspace.location import Place


def taken(place: Place, agent: str) -> bool:
    """Was there a mark that the agent has not been told everything? It is gone now.

    Call it right before the store is asked, never after.
    """
    try:
        os.unlink(_path(place, agent))
    except OSError:
        return False
    return True


def _path(place: Place, agent: str) -> str:
    return f"{place.local}/{FOLDER}/{mark_of(agent)}"
