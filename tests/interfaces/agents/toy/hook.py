"""What a toy client's hooks tell, and how they are answered: a dialect that no real client has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.interfaces.agents import AFTER, BEFORE, BOOT, EDIT, READ

if TYPE_CHECKING:
    from typing import Any

EVENTS = {"wakes": BOOT, "will": BEFORE, "did": AFTER}
TOOLS = {"put": EDIT, "get": READ}
HARMLESS = ("think",)
PROJECT_VARIABLE = ""
YIELDS_AFTER_NS = 0
RUNS_GIT_HOOKS = True
HOLDS: dict[str, int] = {}
ENDS = ""
NAMELESS = ()


def deny(event: str, reason: str) -> dict[str, Any]:
    """A refusal."""
    return {"event": event, "verdict": "no", "because": reason}


def context(event: str, text: str) -> dict[str, Any]:
    """Something that the model should know."""
    return {"event": event, "hear": text}
