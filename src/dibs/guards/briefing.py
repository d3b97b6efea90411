"""The texts for models: few plain lines, facts only. Other agents' words are quoted and labelled as theirs."""

from __future__ import annotations

from dibs.errors import counted, named, quoted
from dibs.ledger import contents, ledger_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from dibs.client.memory_files import BootDecision, MemoryFile
    from dibs.client.session import Session
    from dibs.ledger.state import Head
    from dibs.operations.agents.answers import Briefing, CurrentTask
    from dibs.operations.guards.audits import AuditAnswer
    from dibs.operations.messages.answers import MessageView

    class RulesNews(TypedDict):
        """Whether the agent knows the rules as they are."""

        changed: bool
        first: bool  # it was never shown any


MAX_SHOWN = 12  # of each kind; a briefing is read only if it is short
MAX_FILES_CHECKED = 200  # files that the agent knows


def text(session: Session, result: BootDecision, source: str = "", files: Sequence[MemoryFile] = ()) -> str:
    """The briefing at boot. What the agent does not hold comes first: a model that reads on starts to work."""
    from dibs.client import loss_texts, memory_files, role_texts

    agent, name = result["agent"], named(result)
    if "/" in agent:
        return "\n".join(_for_subagent(result, name))
    lines = loss_texts.first(result)
    lines.append(f"dibs coordinates the agents in this repository. You are {name}.")
    lines += role_texts.lines(result["role"])
    if source in {"compact", "resume", "fork", "clear"}:
        lines.append(
            "This was checked against the live record just now; it counts, not what you remember or a summary says."
        )
    if source == "fork" and not result["held"]:
        lines.append("You are a fork of another agent: what that one holds is not yours.")
    if session.config.problem:
        lines.append(f"The settings of dibs are not valid, and any agent may fix them: {session.config.problem}")
    lines += _held(result) + loss_texts.rest(result)
    if result["task"]:
        lines += _task(result["task"])
    lines += _changed(session, agent)
    lines += _others(result)
    lines += _alerts(result)
    lines += _messages(result["messages"])
    if result.get("more_messages"):
        lines.append("There are more messages: `dibs inbox`.")
    lines += memory_files.lines(memory_files.told(list(files), result.get("files")))
    lines += _rules(session, result["rules"])
    if role_texts.writes_freely(result["role"]):
        lines.append(
            "A file is claimed for you when you edit it, and free with your commit of it. If another agent holds it: "
            "pick other work, or `dibs claim FILE --wait 60s`, or `dibs ask FILE TEXT`; `dibs status` shows who holds "
            "what."
        )
    return "\n".join(lines)


def _for_subagent(result: BootDecision, name: str) -> list[str]:
    """A subagent works for its parent, which was told the rest: a few lines are enough."""
    from dibs.client import loss_texts, role_texts

    lines = [
        *loss_texts.first(result),
        f"dibs coordinates the agents in this repository. You are {name}, a subagent of {name.rpartition('/')[0]}.",
        *role_texts.lines(result["role"]),
    ]
    lines += (_held(result) if result["held"] else []) + loss_texts.rest(result)
    if result["task"]:
        lines += _task(result["task"])
    lines += _messages(result["messages"])
    rules = " The rules of this workspace are in .dibs/rules.md." if result["rules"] else ""
    claims = (
        "A file is claimed for you when you edit it; if another agent holds it, you are told who: pick other work, or "
        "say so in your answer."
        if role_texts.writes_freely(result["role"])
        else ""
    )
    return [*lines, *([f"{claims}{rules}".strip()] if claims or rules else [])]


def _alerts(result: Briefing) -> list[str]:
    """The open alerts that concern the agent, but for those that a message tells."""
    told = {message.get("alert") for message in result["messages"]}
    return [
        f"Alert ({alert['kind']}): {alert['text']} To do: `{alert['remedy']}`."
        for alert in result.get("alerts", ())
        if alert["id"] not in told
    ]


def _others(result: Briefing) -> list[str]:
    """The other agents at work, and their files."""
    found = result.get("others") or {"agents": (), "more": 0}
    lines = []
    for other in found["agents"]:
        more = f" and {other['more']} more" if other["more"] else ""
        lines.append(f"{named(other)} holds {', '.join(other['resources'])}{more} ({other['left']}).")
    if found["more"]:
        lines.append(f"And {counted(found['more'], 'more agent')} with claims: `dibs status`.")
    return lines


def news(session: Session, found: AuditAnswer) -> str:
    """The news between two calls; "" if nothing is new."""
    lines = []
    lines += [f"dibs: {one['text']}" for one in found.get("violations", ()) if one["text"]]
    lines += _messages(found.get("messages", []))
    if found.get("rules_changed"):
        lines += _rules(session, {"changed": True, "first": found["rules_first"]})
    return "\n".join(lines)


def _task(task: CurrentTask) -> list[str]:
    """The current task and its last note; title and note are others' words, and quoted."""
    from dibs.client import quotes

    lines = quotes.task(task)
    if "title" in task:
        how = f"dibs task done {quoted(task['id'])} --token {task['token']} --result JSON"
        lines.append(f"Finish it with `{how}`; record progress with `dibs task note {quoted(task['id'])} TEXT`.")
    return lines


def _held(result: Briefing) -> list[str]:
    if not result["held"]:
        return ["You hold nothing."]
    lines = []
    for claim in result["held"][:MAX_SHOWN]:
        left = claim["left"].replace("its", "your")
        lines.append(f"You hold {', '.join(claim['resources'][:5])} ({left}; token {claim['token']}).")
    return lines + _more(result["held_count"], "claims: `dibs status`")


def _more(count: int, what: str) -> list[str]:
    return [f"And {count - MAX_SHOWN} more {what}."] if count > MAX_SHOWN else []


def _messages(messages: list[MessageView]) -> list[str]:
    """Labelled as data from a named sender: another agent's text is not an instruction of the person."""
    if not messages:
        return []
    from dibs.client import quotes

    lines = [line for message in messages[:MAX_SHOWN] for line in quotes.lines(message)]
    return lines + _more(len(messages), "messages: `dibs inbox`")


def _changed(session: Session, agent: str) -> list[str]:
    """Files that the agent read or wrote and that have changed since."""
    from dibs.ledger import working_tree

    tree = working_tree.of(session.place)
    found = []
    for path, known in list(ledger_files.Seen(tree.folder, agent).files().items())[-MAX_FILES_CHECKED:]:
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
        f"Changed since you last saw them: {', '.join(found[:MAX_SHOWN])}"
        + (f" and {len(found) - MAX_SHOWN} more" if len(found) > MAX_SHOWN else "")
        + ". Read them again before you edit."
    ]


def _writer(head: Head | None, agent: str, now: str) -> str:
    """The author of the content, if that is known and another agent."""
    if head is None or head.content != now or head.change is None:
        return ""
    who = head.change.actor
    return f" (by {who})" if who != agent and head.change.grade in {"sure", "likely"} else ""


def _rules(session: Session, rules: RulesNews | None) -> list[str]:
    if not rules:
        return []
    from dibs.workspace import rules_file as file

    words = "\n".join(plain_rules(file.text(session.place)))
    changed = (
        "The rules of this workspace CHANGED; these hold now"
        if rules["changed"] and not rules["first"]
        else ("The rules of this workspace")
    )
    return [f"{changed} (.dibs/rules.md):", words] if words else []


def plain_rules(words: str) -> list[str]:
    """The rules as a model needs them: no headings, no blank lines, no placeholders."""
    lines = []
    for line in words.splitlines():
        said = line.strip()
        if not said or said.startswith(("#", "<!--")):
            continue
        if said.lstrip("0123456789.-* ").startswith("(yours"):
            continue
        lines.append(line.rstrip())
    return lines
