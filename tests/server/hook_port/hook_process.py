"""A process that answers hooks and nothing else, for tests: `python hook_process.py FOLDER [WORD…]`.

It prints `ready` when its port is open. It ends gracefully when its stdin does; then it prints how many requests were
decided here and how many declined. Words: `old-bash` writes the script as for a bash before 4.1; `kill-before` and
`kill-after` end it by SIGKILL when a request came, or after it was decided; `stop-at` stops it (SIGSTOP) with the first
request in its hands; `slow` takes a second and a half for each; `full=N` decides none until N were declined.

A hook gives a silent server up after half a second, which a machine with other work may take for an answer. So here it
waits longer, unless a word says `limit=SECONDS`.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time

from dibs.guards import hook
from dibs.server.hook_port import bash_script
from dibs.server.hook_port import port as hook_port
from dibs.server.host import Host
from dibs.workspace import location

SLOW_S = 1.5
PATIENCE_S = 60.0
LIMITS = ("limit=0.5 ", "limit=1 ")  # of a new bash, of an old one
decided: list[str] = []
ports: list[hook_port.HookPort] = []


def _spoil(words: list[str]) -> None:
    real, peek, stops = hook.answer, hook_port._is_gone, ["stop-at"]
    values = dict(word.split("=") for word in words[1:] if "=" in word)
    for text in LIMITS:
        assert text in bash_script._ASK
        bash_script._ASK = bash_script._ASK.replace(text, f"limit={values.get('limit', '20')}{text[-1]}")
    full, end = int(values.get("full", 0)), time.monotonic() + PATIENCE_S

    def answer(client: str, name: str, sent: bytes) -> hook.Answer:
        if "kill-before" in words:
            os.kill(os.getpid(), signal.SIGKILL)
        if "slow" in words:
            time.sleep(SLOW_S)
        while ports[0].declined < full and time.monotonic() < end:
            time.sleep(0.01)
        said = real(client, name, sent)
        decided.append(name)
        if "kill-after" in words:
            os.kill(os.getpid(), signal.SIGKILL)
        return said

    def is_gone(connected: socket.socket) -> bool:
        if stops and stops.pop() in words:
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)  # before the next step of this thread
        return peek(connected)

    hook.answer, hook_port._is_gone = answer, is_gone


def main(words: list[str]) -> None:
    """Serve until stdin ends."""
    _spoil(words)
    host = Host(location.find(words[0], None))
    port = hook_port.HookPort(host, old_bash="old-bash" in words)
    ports.append(port)
    port.start()
    over = threading.Event()

    def listen() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=listen, daemon=True).start()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    over.wait()
    port.stop()
    host.close()
    sys.stdout.write(f"{len(decided)} {port.declined}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
