"""The command line. It begins in `main.py`; `dispatch.py` finds the command."""

from __future__ import annotations

from dibs.interfaces.cli.main import entry, main

__all__ = ["entry", "main"]
