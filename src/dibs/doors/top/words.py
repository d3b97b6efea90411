"""Words and times of `dibs top`: how long, when, what an event says. No state, no terminal.

The page says the same in doors/page/words.js and frame.js; tests/doors/top/test_words.py holds the two to one wording.
All that agents wrote passes through `plain`: one line, no control character, no more of it than a screen can use.
"""

from __future__ import annotations

import time
from datetime import datetime

from dibs import jsontext
from dibs.doors.cli.terminal import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

MINUTE, HOUR, TWO_DAYS = 60, 3600, 48  # seconds, seconds, hours
FINE_MINUTES = 5  # below this many, seconds are told with the minutes
LONGEST = 400  # letters of one text: more than the widest terminal has columns

# Kind of an alert → what people call it.
ALERTS = {
    "violation": "Violation", "deadlock": "Deadlock", "silent": "Silent", "dead": "Dead", "hold": "Long hold",
    "wait": "Long wait", "expired": "Expired", "bypass": "Bypassed", "deploy_stale": "Stale deploy",
    "deploy_unverified": "Unverified deploy", "poison": "Poison task", "breaker": "Breaker open", "store": "Store",
    "rules": "Old rules",
}  # fmt: skip
CLAIM_WHY = {
    "expired": "it expired", "gone": "its process is gone", "killed": "its agent was killed",
    "forced": "taken away",
}  # fmt: skip


def plain(text: Any) -> str:
    """Somebody's text as one harmless line."""
    return clean(str(text)[:LONGEST])


def ms(at: str | float | None) -> int:
    """An ISO time as milliseconds since 1970; 0 for none."""
    if not at:
        return 0
    return int(datetime.fromisoformat(at).timestamp() * 1000) if isinstance(at, str) else int(at)


def length(milliseconds: float, *, fine: bool = False) -> str:
    """A length of time; `fine` keeps the seconds of long minutes."""
    seconds = max(0, round(milliseconds / 1000))
    if seconds < MINUTE:
        return f"{seconds}s"
    minutes = seconds // MINUTE
    if minutes < MINUTE:
        return f"{minutes}m{seconds % MINUTE:02d}s" if fine or minutes < FINE_MINUTES else f"{minutes}m"
    hours = minutes // MINUTE
    return f"{hours}h{minutes % MINUTE:02d}m" if hours < TWO_DAYS else f"{hours // 24}d{hours % 24}h"


def clock(milliseconds: float, *, seconds: bool = True) -> str:
    """The wall clock of the person who looks."""
    return time.strftime("%H:%M:%S" if seconds else "%H:%M", time.localtime(milliseconds / 1000))


def count(number: int, one: str, many: str = "") -> str:
    """`1 task`, `2 tasks`."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def listed(words: Sequence[str], most: int = 3) -> str:
    """The first few of a list, and how many more there are."""
    if len(words) > most:
        return f"{', '.join(words[:most])} and {len(words) - most} more"
    return ", ".join(words)


def resource_text(resource: Any) -> str:
    """A resource as events name it (`["tree", "src/a.py"]`), as `status` does."""
    return str((resource[-1] or ".") if isinstance(resource, list) and resource else resource)


def resources_of(data: dict[str, Any]) -> list[str]:
    """The resources that an event names; an inode belongs to a file in the list and is left out."""
    found = data.get("resources")
    if not isinstance(found, list):
        return []
    return [resource_text(one) for one in found if not (isinstance(one, list) and one[:1] == ["inode"])]


def is_name(resource: str) -> bool:
    """Is it a name (`deploy:prod`) rather than a path?"""
    head, colon, _ = resource.partition(":")
    return bool(colon and head) and head[0].isalpha() and head.replace("-", "").replace("_", "").isalnum() and (
        head.islower()
    )  # fmt: skip


def byte_count(number: float) -> str:
    """Bytes for people: `512M`, `1.2G`."""
    return f"{number / 2**30:.1f}G" if number >= 1e9 else f"{round(number / 2**20)}M"  # noqa: PLR2004 - a billion


def says(event: dict[str, Any]) -> str:  # noqa: C901, PLR0911, PLR0912 - one case for each kind of event
    """What an event says besides who and about what: facts of its data; of an unknown kind, its data."""
    data: dict[str, Any] = event["data"] if isinstance(event.get("data"), dict) else {}
    get = data.get
    match event["kind"]:
        case "claim.granted":
            via = {"queue": ", from the queue", "handover": ", handed over"}.get(str(get("via")), "")
            return f"{get('mode')}, token {get('token')}{via}"
        case "claim.renewed":
            return ""
        case "token.made":
            return f"for {get('who')}, {get('role') or get('kind')}"
        case "token.revoked":
            return f"of {get('who')}"
        case "claim.released":
            commit = f" {str(get('commit'))[:7]}" if get("commit") else ""
            left = [resource_text(one) for one in get("left") or []]
            return f"{get('why')}{commit}{f', still held: {listed(left)}' if left else ''}"
        case "claim.ended":
            by = f" by {get('by')}" if get("by") else ""
            reason = f": {get('reason')}" if get("reason") else ""
            return f"{CLAIM_WHY.get(str(get('why')), get('why'))}{by}{reason}"
        case "claim.refused" | "edit.refused":
            return _refusal(data)
        case "wait.queued":
            return f"{get('mode')}, waits"
        case "wait.ended":
            return str(get("why") or "")
        case "claim.asked":
            return f"“{get('text') or ''}” about {get('resource')}"
        case "task.added":
            after = listed([str(one) for one in get("after") or []])
            return f"{get('title') or ''}{f', after {after}' if after else ''}"
        case "task.moved":
            kind = f", {get('class')}" if get("class") else ""
            why = f": {get('why')}" if get("why") else ""
            return f"{get('from')} → {get('to')}{kind}{why}"
        case "task.noted":
            return f"“{get('text') or ''}”"
        case "run.phased":
            return f"{get('from')} → {get('to')}"
        case "run.noted":
            return f"{get('what')} {get('number')}: {get('text')}"
        case "agent.killed" | "agent.revived":
            return str(get("why") or "")
        case "agent.registered":
            return _process(get("process"))
        case "agent.booted":
            process = _process(get("process"))
            return f"incarnation {get('incarnation')}{f', {process}' if process else ''}"
        case "rules.acknowledged":
            return f"version {get('digest')}"
        case "commit.checked":
            paths = get("paths")
            return count(paths if isinstance(paths, int) else len(paths or []), "path")
        case "commit.refused":
            return f"{get('code') or ''}: {listed([str(one) for one in get('paths') or []])}"
        case "alert.raised":
            return ", ".join([str(one) for one in (get("what"), get("severity"), get("text")) if one])
        case "edit.violated":
            return f"held by {get('holder')}"
        case "message.posted":
            return str(get("type") or "")
        case "radar.found":
            return f"would conflict: {listed([str(one) for one in get('files') or []])}"
        case "radar.cleared":
            return "would no longer conflict"
        case "landing.queued":
            priority = f", priority {get('priority')}" if get("priority") else ""
            return f"for {get('target')}{priority}"
        case "landing.landed":
            return f"on {get('target')} as {str(get('commit'))[:12]}"
        case "landing.refused":
            return str(get("why") or get("code") or "")
        case "landing.cancelled":
            return f"out of the queue for {get('target')}"
        case "landing.moving":
            return f"{str(get('base'))[:12]} → {str(get('commit'))[:12]}"
        case "state.set":
            return f"version {get('version')}"
        case _:
            return ", ".join([f"{key} {_shown(value)}" for key, value in data.items() if value not in (None, "")])[:160]


def _process(found: Any) -> str:
    return f"process {found[3]}" if isinstance(found, list) and len(found) > 3 else ""  # noqa: PLR2004 - its pid


def _refusal(data: dict[str, Any]) -> str:
    blockers = [one for one in data.get("blockers") or [] if isinstance(one, dict)]
    agents = [str(one.get("name") or one.get("agent") or one.get("holder") or "") for one in blockers]
    if data.get("code") == "deadlock":
        return f"deadlock: {' → '.join([*agents, *agents[:1]])}"
    return f"{data.get('code')}{f': of {listed(agents)}' if agents else ''}"


def _shown(value: Any) -> str:
    return jsontext.encode(value) if isinstance(value, (dict, list)) else str(value)


_TONES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("edit.violated", "commit.unverified", "push.unverified", "agent.killed"), "bad"),
    (("alert.raised", "wait.", "radar.found"), "wait"),
    (("claim.ended",), "dead"), (("claim.",), "held"),
)  # fmt: skip


def tone(event: dict[str, Any]) -> str:
    """The style of an event's kind; most have none."""
    kind: str = event["kind"]
    if kind == "claim.refused" and event["data"].get("code") == "deadlock":
        return "bad"
    if kind.endswith("refused"):
        return "wait"
    return next((style for starts, style in _TONES if kind.startswith(starts)), "")


def joined(words: Iterable[str]) -> str:
    """Names after each other, without repeats."""
    return listed(list(dict.fromkeys(words)))
