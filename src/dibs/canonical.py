"""The one form of a resource, as a class: what operations believe, and what only workspace/paths.py makes.

A list that came from outside could name a file in a second way, which nobody would find to overlap with the first. So
an operation takes a `Canonical` and nothing else for a resource (`Field.check`), and `tests/test_floors.py` holds
that no other file makes one.
"""

from __future__ import annotations


class Canonical(list[str]):
    """A resource in its one form: kind, text and, for a multiply linked file, alias."""

    __slots__ = ()
