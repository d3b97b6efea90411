"""`[server] start = "auto"`: the first session of a workspace starts its server, and does not wait for it.

Default off. The server ends itself when no request comes (interfaces/serve/near.py). If two start at once, the server's
lock decides: one serves.
"""

from __future__ import annotations

import os
from fcntl import LOCK_NB, LOCK_SH, flock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.workspace.location import Place

VARIABLE = "DIBS_SERVE_AUTO"  # tells the server that dibs started it
LOCK_FILE = "serve.lock"


def start(place: Place) -> None:
    """Start the server of this workspace, unless one lives. Nothing is said if that fails: all works without."""
    if is_served(place.local):
        return
    from dibs.machine import background

    try:
        background.start("serve", "--json", "--workspace", place.root, variables={VARIABLE: "1"})
    except OSError:
        pass


def is_served(local: str) -> bool:
    """Does a server live? Its lock says so."""
    try:
        fd = os.open(f"{local}/{LOCK_FILE}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        flock(fd, LOCK_SH | LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
    return False
