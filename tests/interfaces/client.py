"""A stand-in for an agent's client: a process that lives as long as its session and starts its hooks as children.

It detaches itself from whoever started it, so that no client above the test run is among the hooks' ancestors, and then
does what each line of JSON on its stdin says: start a program with these words, this environment and this input, and
answer with what came of it. It runs under the name by which it was called, so a link named `claude` makes a `claude`.
Without dibs, and with the standard library alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

IN_FILE = "\u2192"  # no sign of Latin-1; before the name of a file


def started(words: list[str], cwd: str, env: dict[str, str], given: str, seconds: float) -> dict[str, Any]:
    """Run a program to its end; `given` and what it printed are bytes as Latin-1."""
    bytes_given = bytes_of(given)
    began = time.monotonic()
    try:
        done = subprocess.run(
            words, cwd=cwd, env=env, input=bytes_given, capture_output=True, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return {"late": seconds}
    took = time.monotonic() - began
    return {
        "code": done.returncode, "out": done.stdout.decode("latin-1"), "err": done.stderr.decode("latin-1"),
        "took": took,
    }  # fmt: skip


def bytes_of(given: str) -> bytes:
    """What a program gets on its stdin. Much of it lies in a file: as JSON it would take seconds."""
    if not given.startswith(IN_FILE):
        return given.encode("latin-1")
    with open(given.removeprefix(IN_FILE), "rb") as file:
        return file.read()


def main() -> None:
    """Detach, say the process's id, and work until nobody is there any more to ask."""
    if os.fork():
        os._exit(0)
    os.setsid()
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(started(**json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
