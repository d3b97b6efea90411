"""Signals that end a command."""

from __future__ import annotations

import signal

import pytest

from dibs.deploy.course import Deploy
from dibs.machine.signals import Interrupted


def interrupted(deploy: Deploy) -> None:
    """A signal's handler below code that handles errors, as an engine does that tries again after any."""
    try:
        deploy._interrupt(signal.SIGTERM, None)
    except Exception:  # noqa: BLE001 - any
        pytest.fail("it was taken for an error")


def test_what_handles_errors_on_the_way_does_not_hold_up_the_end_of_a_deploy() -> None:
    deploy = Deploy.__new__(Deploy)
    deploy._command = None  # between two commands
    with pytest.raises(Interrupted):
        interrupted(deploy)
