"""What happened while a model was busy: appended to the result of each call, since no client shows it notifications.

Messages (among them dibs' own: a grant after a wait, a preemption, a lost claim) are shown once, by the operation
`inbox` as every door has it. A mark in the file system says that there may be some, so that most calls ask nothing
(workspace/mail_hint.py); it is only a hint, so the store is also asked from time to time.
"""

from __future__ import annotations

import time

from dibs.client import quotes
from dibs.errors import DibsError
from dibs.interfaces.mcp import results
from dibs.ledger import ledger_files
from dibs.workspace import mail_hint, rules_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from dibs.interfaces.mcp.callers import Who
    from dibs.interfaces.mcp.calls import Asked

MAX_SHOWN = 12  # messages in one notice; the tool `inbox` has the rest
ASKED_EVERY_S = 30.0  # a mark may be lost, and what subscriptions bring leaves none
FLEETING = (
    "You are known here by this connection alone: after it closes you are another agent, and what you hold stays with "
    "the former one until its deadline. Tell your user: a credential of this client's own lasts, "
    "`dibs token new --agent NAME`."
)
KEPT = 1_000  # callers that are remembered; the oldest goes first


class Notices:
    """The notices of one server's callers."""

    def __init__(self, asked: Asked, tools: Collection[str]) -> None:
        self._asked = asked
        self._tools = tools
        self._known: dict[str, _Known] = {}

    def of(self, who: Who) -> list[str]:
        """The lines of a notice; none if nothing is new. Never raises: a notice must not spoil an answer."""
        try:
            return self._of(who)
        except (DibsError, OSError):
            return []

    def _of(self, who: Who) -> list[str]:
        known = self._remember(who)
        place, now = self._asked.host.place, time.monotonic()
        lines: list[str] = []
        if who.fleeting and not known.warned:
            known.warned = True
            lines.append(FLEETING)
        hinted = mail_hint.taken(place, known.agent) or ledger_files.is_elsewhere(place.local)
        if hinted or now - known.asked > ASKED_EVERY_S:
            known.asked = now
            lines += self._mail(who)
        digest = rules_file.digest(place)
        if digest != known.rules:
            known.rules = digest
            lines += self._rules(who)
        return lines

    def _mail(self, who: Who) -> list[str]:
        found = self._answer(who, "inbox", {"new": True, "limit": MAX_SHOWN})
        lines = [results.spoken("\n".join(quotes.lines(message)), self._tools) for message in found["messages"]]
        if found["more"]:
            lines.append("There are more messages: call the tool `inbox`.")
        return lines

    def _rules(self, who: Who) -> list[str]:
        found = self._answer(who, "rules", {})
        if found["current"] or not found["digest"]:
            return []
        changed = "changed since you were shown them" if found["acknowledged"] else "were not shown to you yet"
        return [f"The rules of this workspace {changed}: call the tool `rules` with `ack`, and follow them."]

    def _answer(self, who: Who, name: str, given: dict[str, object]) -> Any:
        return self._asked.requests.answer(who.identity, name, given, agent=who.agent)

    def _remember(self, who: Who) -> _Known:
        """What is known of a caller; its id is asked for again after a while, since two ids may become one."""
        key, now = who.key, time.monotonic()
        known = self._known.get(key)
        if known is not None and now - known.since <= ASKED_EVERY_S:
            return known
        agent = self._answer(who, "whoami", {})["agent"]
        if known is None:
            while len(self._known) >= KEPT:
                self._known.pop(next(iter(self._known)), None)
            known = self._known[key] = _Known(agent)
        known.agent, known.since = agent, now
        return known


class _Known:
    """One caller."""

    __slots__ = ("agent", "asked", "rules", "since", "warned")

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.since = time.monotonic()
        self.asked = float("-inf")
        self.rules = ""
        self.warned = False
