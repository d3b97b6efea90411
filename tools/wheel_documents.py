"""The wheel has the documents, for `dibs help TOPIC`, without the pictures; a clone has them anyway."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PARTS = ("start", "guides", "reference", "internals")


class WheelDocuments(BuildHookInterface[Any]):
    """Called by hatchling before it makes a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add them, unless it is an editable one: a folder `dibs` beside the linked sources would hide their types."""
        if version == "standard":
            build_data["force_include"].update({f"docs/{part}": f"dibs/docs/{part}" for part in PARTS})
