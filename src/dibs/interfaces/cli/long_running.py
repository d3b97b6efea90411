"""What commands that run for long share: an agent of their own, signals that end them, the exit code of a signal."""

from __future__ import annotations

import os
import signal

from dibs.errors import DibsError
from dibs.interfaces.cli.dispatch import open_session
from dibs.machine import clock
from dibs.machine.signals import Interrupted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from dibs.interfaces.cli import parse
    from dibs.interfaces.python.workspace import Workspace

SIGNALLED = 128  # plus the signal's number is the exit code, as a shell has it


def open_workspace(words: parse.Words, kind: str) -> Workspace:
    """The workspace, opened by an agent whose process this is: --as, else DIBS_AGENT, else a name of its own.

    Where that agent is the one that started us, we are its subagent: as itself we would take its place.
    """
    from dibs.interfaces.python.workspace import Workspace

    name = words.common.get("as") or os.environ.get("DIBS_AGENT") or ""
    session = open_session(words)
    if name:
        above = {process[3] for process, _ in session.chain()}
        known = session.run(session.operation("agents"), session.identify(name), {"all": True})["agents"]
        if any(one["agent"] == name and one["state"] == "alive" and one["pid"] in above for one in known):
            name = f"{name}/{kind}-{os.getpid()}"
    else:
        host = "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in os.uname().nodename)
        name = f"{kind}-{host}-{os.getpid()}"
    os.environ["DIBS_WORKSPACE"] = session.place.root
    os.environ["DIBS_AGENT"] = name
    timeout = session.timeout
    session.close()

    class Program(Workspace):
        """One of dibs' own: an agent of its own, whoever started it."""

        named_by = "--as"

    return Program(os.getcwd(), name, timeout=timeout)


def on_signals(handler: Callable[[int, FrameType | None], None]) -> None:
    """Call `handler` when a signal asks this process to end; a signal ignored at the start (`nohup`) stays ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def until_signalled(step: Callable[[], None], pause_s: float) -> int:
    """Repeat `step` until a signal comes; returns the exit code. A step that is interrupted is done or not at all."""
    number = 0

    def interrupt(got: int, _: FrameType | None) -> None:
        nonlocal number
        number = got
        raise Interrupted

    try:
        on_signals(interrupt)
        while not number:  # a finalizer or a callback of C code may have swallowed it
            step()
            if not number:
                clock.sleep(pause_s)
    except Interrupted:
        pass
    return SIGNALLED + number


def leave(ws: Workspace) -> None:
    """Leave the workspace; if the store cannot be used, the claims end with this process."""
    try:
        ws.leave()
    except DibsError:
        pass
