"""How a signal ends what a process is doing."""

from __future__ import annotations


class Interrupted(BaseException):
    """A signal's handler ends the command with this, wherever it is.

    It is no Exception: those are handled on the way. The Redis engine, for one, runs a decision on cached records
    again after any error.
    """
