"""The scratch workspace of tests/scratch.py."""

from __future__ import annotations

from tests.scratch import repo, shell

__all__ = ["repo", "shell"]
