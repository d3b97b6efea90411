"""This dibs as another process: its command line, and a start in the background that no caller waits for.

On the path of hooks: no import of subprocess. A shell starts the process, so that no caller has a child to wait for.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CODE = "import sys; sys.path.insert(0, sys.argv.pop(1)); from dibs.interfaces.cli.main import entry; entry()"
SCRIPT = '"$@" </dev/null >/dev/null 2>&1 &'  # the shell ends at once
CALLER_VARIABLES = frozenset(("DIBS_AGENT", "DIBS_RUN"))  # the process acts for no agent


def command(*words: str, code: str = CODE) -> list[str]:
    """The command line of `dibs WORD…`, by this interpreter and from this source; `code`: another program of dibs."""
    return [sys.executable, "-c", code, __file__[: -len("/dibs/machine/background.py")], *words]


def start(*words: str, variables: Mapping[str, str] | None = None, code: str = CODE) -> None:
    """Start `dibs WORD…` in a session of its own. Raises OSError if it cannot be started."""
    line = ["sh", "-c", SCRIPT, "sh", *command(*words, code=code)]
    environment = {name: value for name, value in os.environ.items() if name not in CALLER_VARIABLES}
    environment.update(variables or {})
    try:
        pid = os.posix_spawn("/bin/sh", line, environment, setsid=True)
    except NotImplementedError:  # a C library without it
        pid = os.posix_spawn("/bin/sh", line, environment, setpgroup=0)
    os.waitpid(pid, 0)
