"""The events of the shared documents, as types of their data. operations/core/events.py says how to add one."""

from __future__ import annotations

from typing import NotRequired

from dibs.operations.core.events import Json, Requested


class StateSet(Requested):
    """state.set: A document of the shared state was written or deleted. Subject: key."""

    version: int  # one above the last of this key; a new key begins at 1, or above all deleted and forgotten ones
    value: NotRequired[Json]  # if it is short
    digest: NotRequired[str]  # else: SHA-256 of its JSON text
    deleted: NotRequired[bool]
