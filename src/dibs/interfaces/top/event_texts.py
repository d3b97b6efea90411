"""An event in `dibs top`: its sentence, which the log has from `explain`, and its colour."""

from __future__ import annotations

from dibs.interfaces.top.words import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import EventView


def says(event: EventView) -> str:
    """The sentence of an event."""
    return plain(event.get("text") or f"{event.get('name') or event['agent']}: {event['kind']} {event['subject']}.")


_STYLES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("edit.violated", "commit.unverified", "push.unverified", "tree.removed", "agent.killed"), "bad"),
    (("alert.raised", "wait.", "radar.found"), "wait"),
    (("claim.ended",), "dead"), (("claim.",), "held"),
)  # fmt: skip


def tone(event: EventView) -> str:
    """The style of an event's kind; most have none."""
    kind = event["kind"]
    if kind == "claim.refused" and event["data"].get("code") == "deadlock":
        return "bad"
    if kind.endswith("refused"):
        return "wait"
    return next((style for starts, style in _STYLES if kind.startswith(starts)), "")
