"""What a model is told: few plain lines, facts only. Other people's words are quoted and labelled as theirs."""

from __future__ import annotations

import os

from dibs.facts import contents, ledgers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.doors.session import Session
    from dibs.operations.ledger import Head

SHOWN = 12  # of each kind; a briefing is read only if it is short
CHANGED = 200  # files that the agent knows which are looked at
WHY = {
    "expired": "its time was over", "gone": "its process was gone", "killed": "the agent was stopped",
    "unclaimed": "it was handed over and not picked up", "not held": "you do not hold it",
    "cancelled": "it was called off", "preempted": "more urgent work came",
}  # fmt: skip


def text(session: Session, result: dict[str, Any], source: str = "") -> str:
    """The briefing at boot."""
    agent = result["agent"]
    lines = [f"dibs coordinates the agents in this repository. You are {agent}."]
    if source in {"compact", "resume", "fork", "clear"}:
        lines.append(
            "This was checked against the live record just now; it counts, not what you remember or a summary says."
        )
    if source == "fork" and not result["held"]:
        lines.append("You are a fork of another agent: what that one holds is not yours.")
    lines += _held(result) + _lost(result)
    if result["task"]:
        lines += _task(result["task"])
    lines += _changed(session, agent)
    lines += _messages(result["messages"])
    if result.get("more_messages"):
        lines.append("There are more messages: `dibs inbox`.")
    lines += _files(session)
    lines += _rules(session, result["rules"])
    lines.append(
        "Files are claimed for you when you edit them. A refusal names who holds a file: pick other work, or `dibs ask "
        "FILE TEXT`. `dibs status` shows all claims, `dibs claim FILE` takes one, `dibs release FILE` gives it back."
    )
    return "\n".join(lines)


def news(session: Session, found: dict[str, Any]) -> str:
    """What the agent should hear between two calls; "" if nothing is new."""
    lines = []
    lines += [f"dibs: {one['text']}" for one in found.get("violations", ()) if one["text"]]
    lines += _messages(found.get("messages", []))
    if found.get("rules_changed"):
        lines += _rules(session, {"changed": True, "first": found["rules_first"]})
    return "\n".join(lines)


def _task(task: dict[str, Any]) -> list[str]:
    """The task at hand, and where it stood; title and note are somebody's words, and quoted."""
    from dibs.doors import quoting

    lines = quoting.task(task)
    if "title" in task:
        how = f"dibs task done {task['id']} --token {task['token']} --result JSON"
        lines.append(f"Finish it with `{how}`; keep where it stands with `dibs task note {task['id']} TEXT`.")
    return lines


def _held(result: dict[str, Any]) -> list[str]:
    if not result["held"]:
        return ["You hold nothing."]
    lines = [
        f"You hold {', '.join(claim['resources'][:5])} until {claim['expires_at']} (token {claim['token']})."
        for claim in result["held"][:SHOWN]
    ]
    return lines + _more(result["held"], "claims: `dibs status`")


def _lost(result: dict[str, Any]) -> list[str]:
    lines = []
    for loss in result["lost"][:SHOWN]:
        holder = f"{loss['holder']} holds it since {loss['since']}" if loss["holder"] else "nobody holds it now"
        lines.append(
            f"You LOST {', '.join(loss['resources'][:5])} at {loss['at']} ({WHY.get(loss['why'], loss['why'])}); "
            f"{holder}. Stop working on it."
        )
    return lines + _more(result["lost"], "losses")


def _more(found: list[Any], what: str) -> list[str]:
    return [f"And {len(found) - SHOWN} more {what}."] if len(found) > SHOWN else []


def _messages(messages: list[dict[str, Any]]) -> list[str]:
    """Labelled as data from a named sender: what another agent writes is not an instruction of the person's."""
    if not messages:
        return []
    from dibs.doors import quoting

    lines = [line for message in messages[:SHOWN] for line in quoting.lines(message)]
    return lines + _more(messages, "messages: `dibs inbox`")


def _changed(session: Session, agent: str) -> list[str]:
    """Files that the agent read or wrote and that are not as it knows them."""
    from dibs.doors.hooks import trees

    tree = trees.of(session.place)
    found = []
    for path, known in list(ledgers.Seen(tree.folder, agent).files().items())[-CHANGED:]:
        head = tree.state.heads.get(path)
        full = f"{tree.top}/{path}"
        signature = contents.signature(full)
        now = head.content if head is not None and head.signature == signature else contents.read(full)[0]
        if now == known:
            continue
        gone = " (deleted)" if now == contents.MISSING else ""
        found.append(f"{path}{gone}{_writer(head, agent, now)}")
    if not found:
        return []
    return [
        f"Changed since you last saw them: {', '.join(found[:SHOWN])}"
        + (f" and {len(found) - SHOWN} more" if len(found) > SHOWN else "")
        + ". Read them again before you edit."
    ]


def _writer(head: Head | None, agent: str, now: str) -> str:
    """Who put the content there, if that is known and another agent."""
    if head is None or head.content != now or head.change is None:
        return ""
    who = head.change.actor
    return f" (by {who})" if who != agent and head.change.grade in {"sure", "likely"} else ""


def _files(session: Session) -> list[str]:
    named = session.config.policy.guards["files"]
    there = [f"{name}: {path}" for name, path in named.items() if os.path.exists(f"{session.place.top}/{path}")]
    return [f"Read before you act: {', '.join(there)}."] if there else []


def _rules(session: Session, rules: dict[str, Any] | None) -> list[str]:
    if not rules:
        return []
    from dibs.doors import rules as file

    words = file.text(session.place).strip()
    changed = (
        "The rules of this workspace CHANGED; these hold now"
        if rules["changed"] and not rules["first"]
        else ("The rules of this workspace")
    )
    return [f"{changed} (.dibs/rules.md):", words] if words else []
