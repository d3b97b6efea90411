"""The scratch workspace of tests/shell.py."""

from __future__ import annotations

from tests.shell import repo, shell

__all__ = ["repo", "shell"]
