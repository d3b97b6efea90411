"""What `dibs top` says about an event besides its agent and subject: the facts of its data, in a few words.

The page says the same in interfaces/page/words.js; tests/interfaces/top/test_words.py holds the two to one wording.
"""

from __future__ import annotations

from dibs import jsontext
from dibs.interfaces.top.words import count, listed, resource_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from dibs.audit.answers import EventView

    Data = dict[str, Any]

PROCESS_PID = 3  # where a process has its pid
MAX_UNKNOWN_CHARS = 160  # of the data of a kind that has no text here
COMMIT_CHARS, SHORT_COMMIT_CHARS = 12, 7
CLAIM_WHY = {
    "expired": "it expired", "gone": "its process is gone", "killed": "its agent was killed",
    "forced": "taken away",
}  # fmt: skip


def says(event: EventView) -> str:
    """The text of an event; of an unknown kind, its data."""
    data: Data = event["data"] if isinstance(event.get("data"), dict) else {}
    return _TEXTS.get(event["kind"], _unknown)(data)


def _unknown(data: Data) -> str:
    fields = [f"{key} {_plain_value(value)}" for key, value in data.items() if value not in (None, "")]
    return ", ".join(fields)[:MAX_UNKNOWN_CHARS]


def _plain_value(value: object) -> str:
    return jsontext.encode(value) if isinstance(value, (dict, list)) else str(value)


def _texts(values: Iterable[object] | None) -> list[str]:
    return [str(value) for value in values or []]


def _why(data: Data) -> str:
    return str(data.get("why") or "")


def _commit(data: Data, field: str = "commit") -> str:
    return str(data.get(field))[:COMMIT_CHARS]


def _granted(data: Data) -> str:
    via = {"queue": ", from the queue", "handover": ", handed over"}.get(str(data.get("via")), "")
    return f"{data.get('mode')}, token {data.get('token')}{via}"


def _released(data: Data) -> str:
    commit = f" {str(data.get('commit'))[:SHORT_COMMIT_CHARS]}" if data.get("commit") else ""
    still_held = [resource_text(resource) for resource in data.get("left") or []]
    return f"{data.get('why')}{commit}{f', still held: {listed(still_held)}' if still_held else ''}"


def _ended(data: Data) -> str:
    by = f" by {data.get('by')}" if data.get("by") else ""
    reason = f": {data.get('reason')}" if data.get("reason") else ""
    return f"{CLAIM_WHY.get(str(data.get('why')), data.get('why'))}{by}{reason}"


def _refused(data: Data) -> str:
    blockers = [blocker for blocker in data.get("blockers") or [] if isinstance(blocker, dict)]
    agents = [str(blocker.get("name") or blocker.get("agent") or blocker.get("holder") or "") for blocker in blockers]
    if data.get("code") == "deadlock":
        return f"deadlock: {' → '.join([*agents, *agents[:1]])}"
    return f"{data.get('code')}{f': of {listed(agents)}' if agents else ''}"


def _task_added(data: Data) -> str:
    after = listed(_texts(data.get("after")))
    return f"{data.get('title') or ''}{f', after {after}' if after else ''}"


def _task_moved(data: Data) -> str:
    kind = f", {data.get('class')}" if data.get("class") else ""
    why = f": {data.get('why')}" if data.get("why") else ""
    return f"{data.get('from')} → {data.get('to')}{kind}{why}"


def _registered(data: Data) -> str:
    process = data.get("process")
    return f"process {process[PROCESS_PID]}" if isinstance(process, list) and len(process) > PROCESS_PID else ""


def _booted(data: Data) -> str:
    process = _registered(data)
    return f"incarnation {data.get('incarnation')}{f', {process}' if process else ''}"


def _commit_checked(data: Data) -> str:
    paths = data.get("paths")
    return count(paths if isinstance(paths, int) else len(paths or []), "path")


def _landing_queued(data: Data) -> str:
    priority = f", priority {data.get('priority')}" if data.get("priority") else ""
    return f"for {data.get('target')}{priority}"


_TEXTS: dict[str, Callable[[Data], str]] = {
    "claim.granted": _granted,
    "claim.renewed": lambda _: "",
    "claim.released": _released,
    "claim.ended": _ended,
    "claim.refused": _refused,
    "claim.asked": lambda data: f"“{data.get('text') or ''}” about {data.get('resource')}",
    "edit.refused": _refused,
    "edit.violated": lambda data: f"held by {data.get('holder')}",
    "wait.queued": lambda data: f"{data.get('mode')}, waits",
    "wait.ended": _why,
    "token.made": lambda data: f"for {data.get('who')}, {data.get('role') or data.get('kind')}",
    "token.revoked": lambda data: f"of {data.get('who')}",
    "task.added": _task_added,
    "task.moved": _task_moved,
    "task.noted": lambda data: f"“{data.get('text') or ''}”",
    "run.phased": lambda data: f"{data.get('from')} → {data.get('to')}",
    "run.noted": lambda data: f"{data.get('what')} {data.get('number')}: {data.get('text')}",
    "agent.killed": _why,
    "agent.revived": _why,
    "agent.registered": _registered,
    "agent.booted": _booted,
    "rules.acknowledged": lambda data: f"version {data.get('digest')}",
    "commit.checked": _commit_checked,
    "commit.refused": lambda data: f"{data.get('code') or ''}: {listed(_texts(data.get('paths')))}",
    "alert.raised": lambda data: ", ".join(
        [str(data[name]) for name in ("what", "severity", "text") if data.get(name)]
    ),
    "message.posted": lambda data: str(data.get("type") or ""),
    "radar.found": lambda data: f"would conflict: {listed(_texts(data.get('files')))}",
    "radar.cleared": lambda _: "would no longer conflict",
    "landing.queued": _landing_queued,
    "landing.landed": lambda data: f"on {data.get('target')} as {_commit(data)}",
    "landing.refused": lambda data: str(data.get("why") or data.get("code") or ""),
    "landing.cancelled": lambda data: f"out of the queue for {data.get('target')}",
    "landing.moving": lambda data: f"{_commit(data, 'base')} → {_commit(data)}",
    "state.set": lambda data: f"version {data.get('version')}",
}


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
