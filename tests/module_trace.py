"""Which modules of dibs one call loads, and which it enters. A program of its own: `module_trace.py FILE WALK [WORDS]`.

A module is loaded if `sys.modules` has it when the call ends. It is entered if one of its functions ran after it was
imported, in any thread. Modules come by plain imports: the bundle of the hooks loads some that a call does not need.

    hook CLIENT          one hook of a client; its payload is on stdin
    cli WORDS            one command
    http FOLDER PATH     a claim by a request to a server's application

The result is written to FILE as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

PACKAGE = "dibs"
# One claim in so many milliseconds sweeps, too. Whether this one would is luck; so none does.
SWEEP_ONE_IN, NEVER = "SWEEP_ONE_IN", 1 << 62


class Trace:
    """The profile function, and what it saw. While it is `paused` nothing counts as entered."""

    def __init__(self) -> None:
        self.paused = False
        self._importing: set[str] = set()
        self._entered: set[str] = set()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """One call or return, as `sys.setprofile` reports it."""
        module = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] != PACKAGE:
            return
        if frame.f_code.co_name != "<module>":
            if event == "call" and not self.paused and module not in self._importing:
                self._entered.add(module)
        elif event == "call":
            self._importing.add(module)
        elif event == "return":
            self._importing.discard(module)
            if SWEEP_ONE_IN in frame.f_globals:
                frame.f_globals[SWEEP_ONE_IN] = NEVER

    def write(self, file: str) -> None:
        """Write the result."""
        sys.setprofile(None)
        threading.setprofile(None)
        loaded = sorted(name for name in sys.modules if name.partition(".")[0] == PACKAGE)
        Path(file).write_text(json.dumps({"loaded": loaded, "entered": sorted(self._entered)}), encoding="utf-8")


def hook(_: Trace, words: list[str]) -> int:
    """One hook of a client."""
    from dibs.guards.hook import main

    return main(words)


def cli(_: Trace, words: list[str]) -> int:
    """One command."""
    from dibs.interfaces.cli import main

    return main(words)


def http(trace: Trace, words: list[str]) -> int:
    """The second of two claims: the first one finds a server that has just begun."""
    folder, path = words
    trace.paused = True
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from tests.interfaces.http.web import Web

    web = Web(Path(folder))
    token = web.token(agent="bob")
    assert web.post("claim", {"resources": ["first.py"]}, token=token).json["ok"]
    trace.paused = False
    reply = web.post("claim", {"resources": [path]}, token=token)
    trace.paused = True
    sys.stdout.write(reply.body.decode())
    web.close()
    return 0


WALKS: dict[str, Callable[[Trace, list[str]], int]] = {"hook": hook, "cli": cli, "http": http}


def main(file: str, walk: str, *words: str) -> NoReturn:
    """One walk. Its process ends as a hook's does: without closing the store, which would leave another state."""
    trace = Trace()
    threading.setprofile(trace)
    sys.setprofile(trace)
    code = WALKS[walk](trace, list(words))
    trace.write(file)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
