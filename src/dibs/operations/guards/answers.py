"""The answers of the room of guards, as types. operations/core/answers.py says how they are used."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class KeptView(TypedDict):
    """An overwritten content that can be restored."""

    id: str
    path: str
    tree: str
    holder: str
    holder_name: NotRequired[str]
    by: str | None
    by_name: NotRequired[str]
    at: str
    blob: str
    how: str
