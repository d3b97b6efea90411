"""Answers about the log and its upkeep as text for people."""

from __future__ import annotations

from dibs.doors.cli.render import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.doors.cli.render import Items


def _sweep(result: dict[str, Any]) -> Items:
    done = ", ".join(f"{count} {name}" for name, count in result["swept"].items() if count)
    return [f"swept: {done or 'nothing was due'}" + ("; there is more" if result["more"] else "")]


def _seal(result: dict[str, Any]) -> Items:
    return [f"sealed the log through event {result['seq']}, with {count(result['claims'], 'live claim')}"]


def _prune(result: dict[str, Any]) -> Items:
    return [f"dropped the events through {result['through']}" if result["through"] else "nothing to drop"]


RENDERERS = {"sweep": _sweep, "seal": _seal, "prune": _prune}
