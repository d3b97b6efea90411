"""A client's own files on this machine, read: for what they say about trust and switches.

Read-only; a file that is not there or cannot be read says nothing.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def home() -> str:
    """The user's home."""
    return os.path.expanduser("~")


def upward(folder: str) -> Iterator[str]:
    """A folder and all above it."""
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def json_object(path: str) -> dict[str, Any]:
    """A file of JSON, with comments or without."""
    from dibs.doors.install import jsonc

    try:
        with open(path, encoding="utf-8") as file:
            known = jsonc.read(file.read()).plain()
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def toml_table(path: str) -> dict[str, Any]:
    """A file of TOML."""
    import tomllib

    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError):
        return {}


def listed(value: Any) -> list[Any]:
    """A list, or none."""
    return value if isinstance(value, list) else []
