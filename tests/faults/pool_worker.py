"""One agent that takes units of a pool and gives them back, in a process of its own: FOLDER AGENT TURNS.

It writes what it has to a file that all of them append to: `+UNIT` while it surely has it, `-UNIT` before it gives it
back. A killed one writes no `-UNIT`.
"""

from __future__ import annotations

import os
import sys
import time

import dibs
from tests.waiting import LIMIT_S


def main(folder: str, agent: str, turns: int) -> None:
    """Take a unit so many times."""
    log = os.open(f"{folder}/units.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with dibs.open(folder, agent=agent) as ws:
        for _ in range(turns):
            with ws.claim("pool:build", wait=LIMIT_S) as claim:
                os.write(log, f"+{claim.unit} {agent}\n".encode())
                time.sleep(0.002)
                claim.check()
                os.write(log, f"-{claim.unit} {agent}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
