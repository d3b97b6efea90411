"""How a test waits: for a condition, never for a time. The limit is for a machine that has other work as well."""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import DibsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Without the line that a mutant lacks, a condition may never hold, and each such row would wait for all of it.
LIMIT_S = 5.0 if os.environ.get("DIBS_HYPOTHESIS") == "mutants" else 90.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.002, 0.05


def until(condition: Callable[[], Any], what: str = "it", *, limit_s: float = LIMIT_S) -> Any:
    """Wait until the condition gives something, and give that."""
    for pause in _pauses(what, limit_s):
        found = condition()
        if found:
            return found
        time.sleep(pause)
    raise AssertionError


def in_time(play: Callable[[float], None], *, life: float) -> None:
    """Play something that has to be done within so many seconds; should the machine take longer, again with more."""
    for longer in (1, 4, 16):
        began = time.monotonic()
        try:
            play(life * longer)
        except (AssertionError, pytest.fail.Exception, DibsError):
            if time.monotonic() - began < life * longer or longer == 16:
                raise
        else:
            return


async def until_async(condition: Callable[[], Any], what: str = "it") -> Any:
    """The same in an event loop; the condition may be a coroutine function."""
    for pause in _pauses(what, LIMIT_S):
        found = condition()
        if inspect.isawaitable(found):
            found = await found
        if found:
            return found
        await asyncio.sleep(pause)
    raise AssertionError


def _pauses(what: str, limit_s: float) -> Iterator[float]:
    end = time.monotonic() + limit_s
    pause = FIRST_PAUSE_S
    while time.monotonic() < end:
        yield pause
        pause = min(pause * 1.5, LONGEST_PAUSE_S)
    message = f"{what} did not come about within {limit_s:.0f} s"
    raise AssertionError(message)
