"""A path without its symbolic links, whatever it leads to.

`os.path.realpath` raises where a link itself may not be read (`/proc/1/root`, as some Pythons have it), and for a name
that no filesystem can have. A path from an agent's words may be either.
"""

from __future__ import annotations

import os


def real(path: str) -> str:
    """The path without links; as far as they can be read."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return os.path.normpath(path)
