"""What the receiver of a hand-over and the first holder are told, and the event that says it."""

from __future__ import annotations

from dibs.errors import counted, quoted
from dibs.operations.agents import names
from dibs.operations.claims import resources
from dibs.operations.handovers.work import HANDED
from dibs.operations.messages import mailbox
from dibs.operations.tasks.records import get_task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.operations.agents.records import Agent
    from dibs.operations.core.call import Call
    from dibs.operations.handovers.work import Passed, Work
    from dibs.stores.seam import Transaction

    class Terms(TypedDict):
        """Of one hand-over."""

        handover: str  # its id
        by: str  # who decided it
        note: str
        own: bool  # the first holder did


SHOWN = 6  # files, claims
MESSAGES, ALERTS = 3, 2  # of those to the first holder
QUOTED = 160  # letters of each


def tell(tx: Transaction, call: Call, work: Work, to: Agent, passed: Passed, terms: Terms) -> None:
    """Brief the receiver, tell the first holder, and write the event."""
    agent, identifier, note, by = work.agent, terms["handover"], terms["note"], terms["by"]
    mailbox.post(tx, to["agent"], by, HANDED, _briefing(tx, work, passed, by, note), handover=identifier,
                 about=agent["agent"])  # fmt: skip
    if not terms["own"]:
        first = [name for claim in work.claims for name in resources.shown(claim["resources"])]
        text = (
            f"{names.name_of(tx, by)} handed your work over to {names.name_of(tx, to['agent'], to)}"
            f"{f': {listed(first)}' if first else ''}. Your tokens are no longer live: stop working on it."
        )
        mailbox.post(tx, agent["agent"], by, HANDED, text, handover=identifier)
    event = {
        "handover": identifier, "to": to["agent"], "claims": [claim["claim"] for claim in passed.claims],
        "tasks": passed.tasks, "files": len(passed.files), **({"note": note} if note else {}),
        **({"request": [call.operation, call.request]} if call.request and call.operation == HANDED else {}),
    }  # fmt: skip
    tx.append("handover.made", by, agent["agent"], event)


def listed(texts: list[str]) -> str:
    """The first ones, and how many more."""
    more = f" and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
    return ", ".join(texts[:SHOWN]) + more


def _briefing(tx: Transaction, work: Work, passed: Passed, by: str, note: str) -> str:
    """Whose work it is, the task with its last note, the files, how to see them, and what the first holder was told."""
    agent = work.agent["agent"]
    name = names.name_of(tx, agent, work.agent)
    lines = [f"{names.name_of(tx, by)} handed the work of {name} over to you{f': {note}' if note else '.'}"]
    for identifier in passed.tasks:
        task = get_task(tx, identifier)
        if task is not None:
            last = f" Its last note: {_short(task['note'])}" if task["note"] else ""
            lines.append(f"You work on task {identifier} now: {_short(task['title'])}.{last}")
    held = {text for claim in passed.claims if claim["by"] != "task" for text in resources.shown(claim["resources"])}
    if held:
        lines.append(f"You hold {listed(sorted(held))}.")
    if passed.files:
        paths = [path for _, path in passed.files]
        lines.append(
            f"{counted(len(paths), 'file')} with uncommitted work: {listed(paths)}. `dibs diff {quoted(name)}` shows "
            "it. Read each before you change it."
        )
    lines += [f"Not passed: {one['resource']} ({one['why']})." for one in passed.left[:SHOWN]]
    lines += _told(tx, agent, name)
    return "\n".join(lines)


def _told(tx: Transaction, agent: str, name: str) -> list[str]:
    """The last messages to the first holder that it has not acknowledged, and the alerts about its work."""
    from dibs.operations.alerts import views

    unread, _ = mailbox.unread(tx, agent)
    lines = [
        f"Message to {name} from {names.name_of(tx, message['from'])}: {_short(message['text'])}"
        for _, message in [row for row in unread if row[1]["type"] != HANDED][-MESSAGES:]
    ]
    alerts = [alert for alert in views.concerning(tx, agent, ALERTS) if alert["kind"] != "dead"]
    return lines + [f"Alert: {_short(alert['text'])}" for alert in alerts]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= QUOTED else f"{line[:QUOTED]}…"
