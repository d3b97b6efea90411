"""Readers of a client's own files on this machine, for its trust settings and switches.

Read-only; a missing or unreadable file counts as empty.
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
    """A folder and all its parents."""
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def json_object(path: str) -> dict[str, object]:
    """A JSON file, with comments or without."""
    from dibs.interfaces.install import jsonc

    try:
        with open(path, encoding="utf-8") as file:
            known = jsonc.read(file.read()).plain()
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def toml_table(path: str) -> dict[str, object]:
    """A TOML file."""
    import tomllib

    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError):
        return {}


def listed(value: object) -> list[Any]:
    """A list, or an empty one."""
    return value if isinstance(value, list) else []
