"""The whole demo: makes the scratch repository, plays the two rounds, counts the results, cleans up.

However it ends (Ctrl-C, SIGTERM, an error), no process and no folder is left behind, unless `--keep` keeps the folder.
"""

from __future__ import annotations

import os
import signal

from dibs.demo import referee
from dibs.demo.agent import WITH, WITHOUT
from dibs.demo.fleet import Round
from dibs.demo.scratch import Scratch
from dibs.errors import DibsError, Unavailable
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

    from dibs.demo.plan import Size
    from dibs.demo.results import DemoResult, GuardedResult, RoundResult
    from dibs.demo.screen import Screen
    from dibs.stores.seam import Json

KEPT_VARIABLE = "DIBS_TRACEBACK"  # for developers of dibs; it names no workspace
STOP_SIGNALS = (signal.SIGTERM, signal.SIGHUP)  # end the demo as Ctrl-C does


class Server:
    """A server that the agents of several machines coordinate through, instead of a file."""

    __slots__ = ("hosts", "url")

    def __init__(self, url: str, hosts: int) -> None:
        self.url, self.hosts = url, hosts


def play(size: Size, screen: Screen, *, keep: bool, server: Server | None = None) -> DemoResult:
    """Play both rounds; returns all results as plain values."""
    begun = clock.since_boot()
    set_aside = {
        name: value for name, value in os.environ.items() if name.startswith("DIBS_") and name != KEPT_VARIABLE
    }
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *STOP_SIGNALS)}
    for number in STOP_SIGNALS:
        signal.signal(number, stop)
    for name in set_aside:  # the caller's workspace is not the scratch one
        del os.environ[name]
    place = Scratch(hosts=server.hosts if server is not None else 0)
    if server is not None:
        os.environ["DIBS_STORE"] = server.url
    try:
        place.prepare()
        without: RoundResult = _round(place, WITHOUT, size, screen)
        guarded: GuardedResult = _round(place, WITH, size, screen)
    except DibsError as error:
        if not keep:
            raise
        message = f"{error.message} Kept: {place.folder}"  # kept for the search for the reason
        raise type(error)(message, **error.fields, scratch=place.folder) from None
    except BaseException as error:
        keep = False
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            message = f"the demo cannot play in {place.folder}: {error.strerror or error}"
            raise Unavailable(message, path=place.folder) from None
        raise
    finally:
        ignore_interrupts()
        screen.close()
        if not keep:
            place.remove()
        os.environ.pop("DIBS_STORE", None)
        os.environ.update(set_aside)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    failed = referee.failures(without, guarded)
    return {
        "ok": not failed,
        "failed": failed,
        "agents": size.agents,
        "edits_each": size.edits,
        "seed": size.seed,
        "seconds": (clock.since_boot() - begun) / 1000,
        "scratch": place.folder if keep else None,
        "hosts": place.hosts or 1,
        "without": without,
        "with": guarded,
    }


def _round(place: Scratch, which: str, size: Size, screen: Screen) -> Json:
    """One round: play it, count, and commit the files."""
    played = Round(place, which, size, screen)
    if played.guarded:
        place.init()
    screen.begin(played)
    played.play()
    counted: Json = referee.count(played)
    if played.guarded:
        counted |= referee.examine(played)
    message = f"The fleet {which} dibs: {counted['edits']} edits made, {counted['lost']} lost"
    return {**counted, "commit": place.commit(message)}


def stop(number: int, _frame: FrameType | None) -> None:
    """End as Ctrl-C does."""
    raise SystemExit(128 + number)


def ignore_interrupts() -> None:
    """Ignore a second Ctrl-C during the clean-up."""
    for number in (signal.SIGINT, *STOP_SIGNALS):
        signal.signal(number, signal.SIG_IGN)
