"""Commands that run until a signal comes: the signal ends them wherever it finds them."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING

import pytest

from dibs.interfaces.cli import long_running

if TYPE_CHECKING:
    from collections.abc import Iterator

PAUSE_S = 3_600.0  # a loop that missed the signal would sleep, and fail by the test's own alarm
ALARM_S = 20


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """The handlers of this process as they were; a loop that does not end fails."""

    def fail(_: int, __: object) -> None:
        pytest.fail("the loop missed the signal")

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
    before = {number: signal.getsignal(number) for number in numbers}
    signal.signal(signal.SIGALRM, fail)
    signal.alarm(ALARM_S)
    yield
    signal.alarm(0)
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("handled", [Exception, BaseException])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_loop_whatever_the_step_handles(handled: type[BaseException], number: signal.Signals) -> None:
    steps = []

    def step() -> None:
        steps.append(1)
        with contextlib.suppress(handled):
            os.kill(os.getpid(), number)
            sum(range(1_000))  # the handler runs between two bytecodes

    assert long_running.until_signalled(step, PAUSE_S) == long_running.SIGNALLED + number
    assert len(steps) == 1


def test_a_signal_ends_a_pause() -> None:
    def step() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGTERM))

    assert long_running.until_signalled(step, PAUSE_S) == long_running.SIGNALLED + signal.SIGTERM


def test_a_signal_that_was_to_be_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    steps = []

    def step() -> None:
        steps.append(1)
        os.kill(os.getpid(), signal.SIGHUP if len(steps) < 3 else signal.SIGTERM)

    assert long_running.until_signalled(step, 0) == long_running.SIGNALLED + signal.SIGTERM
    assert len(steps) == 3
