"""The methods of the Python API, bound at run time. Type checkers and editors read methods.pyi instead of this file."""

from __future__ import annotations

from dibs.interfaces.python.binder import methods


@methods("Claim")
class Methods:
    """One method for each declared operation; durations are seconds or texts such as "30m"."""
