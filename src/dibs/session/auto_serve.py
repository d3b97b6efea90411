"""`[server] start = "auto"`: the first session of a workspace starts its server, and does not wait for it.

Default off. The server ends itself when nobody asks it (doors/serve/near.py). Two that start at once are sorted out by
the server's lock: one serves. On the path of hooks: no import of subprocess, and a shell starts it, so that no caller
has a child to wait for.
"""

from __future__ import annotations

import os
import sys
from fcntl import LOCK_NB, LOCK_SH, flock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.facts.workspace import Place

VARIABLE = "DIBS_SERVE_AUTO"  # tells the server that dibs started it
LOCK_FILE = "serve.lock"
CODE = "import sys; sys.path.insert(0, sys.argv.pop(1)); from dibs.doors.cli.main import entry; entry()"
SCRIPT = '"$@" </dev/null >/dev/null 2>&1 &'  # a child of nobody, in the background


def start(place: Place) -> None:
    """Start the server of this workspace, unless one lives. Nothing is said if that fails: all works without."""
    if is_served(place.local):
        return
    source = __file__[: -len("/dibs/session/auto_serve.py")]
    words = ["sh", "-c", SCRIPT, "sh", sys.executable, "-c", CODE, source, "serve", "--json", "--workspace", place.root]
    environment = {name: value for name, value in os.environ.items() if name not in {"DIBS_AGENT", "DIBS_RUN"}}
    environment[VARIABLE] = "1"
    try:
        try:
            pid = os.posix_spawn("/bin/sh", words, environment, setsid=True)
        except NotImplementedError:  # a C library without it
            pid = os.posix_spawn("/bin/sh", words, environment, setpgroup=0)
        os.waitpid(pid, 0)  # the shell ends at once
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
