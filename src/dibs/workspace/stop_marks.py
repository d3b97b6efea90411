"""Was this agent killed? A mark next to the store says that it may have been, so that a harmless hook need not ask.

The store leaves the mark with the kill (operations/agents/stops.py), before the commit and after it; a hook leaves it
where it hears of a kill that was made on another machine. The hook that is told by the store that the agent may act
again takes it away. On the hook path: the look is one `stat` for the agent, and one for each agent above it.
"""

from __future__ import annotations

import os

from dibs.operations.agents.marks import FOLDER, stop_mark_of
from dibs.operations.core.call import MAX_ID


def is_left(local: str, agent: str) -> bool:
    """Is there a mark for this agent, or for one above it? No agent has an id that is too long to be registered."""
    while agent and len(agent) <= MAX_ID:
        try:
            os.stat(f"{local}/{FOLDER}/{stop_mark_of(agent)}")
        except OSError:
            agent = agent.rpartition("/")[0]
        else:
            return True
    return False


def put(local: str, agent: str) -> None:
    """Leave the mark. Where that fails, the agent's next call that opens the store is refused all the same."""
    try:
        os.makedirs(f"{local}/{FOLDER}", 0o700, exist_ok=True)
        path = f"{local}/{FOLDER}/{stop_mark_of(agent)}"
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        os.utime(path)  # old marks are deleted
    except OSError:
        pass


def remove(local: str, agent: str) -> None:
    """Take away the marks of this agent and of those above it. Ask the store once more afterwards."""
    while agent and len(agent) <= MAX_ID:
        try:
            os.unlink(f"{local}/{FOLDER}/{stop_mark_of(agent)}")
        except OSError:
            pass
        agent = agent.rpartition("/")[0]
