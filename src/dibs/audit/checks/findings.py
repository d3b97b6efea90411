"""What a check of `dibs check` gets and gives: the evidence, findings, and one line.

The rule, for all of them:
- fail: something is wrong now, or a protection is missing that this workspace needs by what its record shows. Severity:
  high (work was or will be lost, or the record cannot be trusted), medium (it can be), low (time is lost, or a proof is
  missing).
- warn: worth knowing, or advice; nothing is lost by it.
- n/a: it presupposes what this workspace does not have: a second agent, a client, a deploy.
- unknown: the check could not look.

A failed check lists findings, each with the events that show it and a remedy. What is fixed is found no more. What a
person settled is listed as settled, and fails nothing.
"""

from __future__ import annotations

from dibs.machine import relative_times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Final

    from dibs.audit.answers import CheckStatus, FindingSeverity
    from dibs.audit.checks.history import History
    from dibs.client.session import Session
    from dibs.operations.alerts.answers import AlertView, Looker
    from dibs.operations.core.call import Call
    from dibs.operations.oversight.snapshot import Snapshot

    Figures = Mapping[str, object]  # of each check its own

NONE: Final = "none"
LOW: Final = "low"
MEDIUM: Final = "medium"
HIGH: Final = "high"
RANK = {NONE: 0, LOW: 1, MEDIUM: 2, HIGH: 3}
GRAVE = frozenset({"violation", "bypass", "removed", "store", "deploy_unverified"})  # alerts of a loss
OK: Final = "ok"
FAIL: Final = "fail"
WARN: Final = "warn"
ABSENT: Final = "n/a"
UNKNOWN: Final = "unknown"
FEW = 3  # findings, names or events in one line
MAX_FINDINGS = 200  # of one check in an answer
ENDED = frozenset({"gone", "left", "killed"})  # states of agents that act no more


class Finding:
    """One thing that is wrong, or `advice`, which fails nothing. `code` names it where no event does."""

    __slots__ = ("advice", "agent", "code", "events", "remedy", "severity", "text")

    def __init__(
        self,
        text: str,
        severity: FindingSeverity,
        *,
        code: str = "",
        events: Iterable[int] = (),
        remedy: str = "",
        agent: str = "",
        advice: bool = False,
    ) -> None:
        self.advice = advice
        self.text, self.severity, self.code = text, severity, code
        self.events = sorted({event for event in events if event})
        self.remedy, self.agent = remedy, agent


class Line:
    """What one check says."""

    __slots__ = ("figures", "findings", "message", "remedy", "status")

    def __init__(self, status: CheckStatus, message: str, *, remedy: str = "", figures: Figures | None = None) -> None:
        self.status, self.message, self.remedy = status, message, remedy
        self.figures: Figures = figures or {}
        self.findings: list[Finding] = []


class Evidence:
    """The evidence: the workspace's configuration, one snapshot of the store, one pass through the log."""

    def __init__(self, session: Session, call: Call, facts: Snapshot, history: History) -> None:
        self.session, self.call, self.facts, self.history = session, call, facts, history
        self.policy = session.config.policy
        self.looker: Looker | None = None  # who looked for trouble before this check did
        self._names = {agent["agent"]: agent["name"] for agent in facts["agents"]}
        self.agents = {agent["agent"]: agent for agent in facts["agents"]}

    @property
    def is_fleet(self) -> bool:
        """Did two agents or more work here lately? Subagents count as their parent, people not at all."""
        return len(self.fleet) > 1

    @property
    def fleet(self) -> list[str]:
        """The agents that worked here lately."""
        return sorted(
            agent
            for agent in self.history.at_work
            if agent not in self.agents or self.agents[agent]["kind"] != "person"
        )

    @property
    def person(self) -> str:
        """The person that asks, by the operating system's user; "" for an agent, or a program that a client runs."""
        return self.call.fallback if not self.call.agent and self.call.client is None else ""

    @property
    def present(self) -> list[str]:
        """The agents that are alive now; subagents count as their parent."""
        there = [one["agent"] for one in self.agents.values() if one["kind"] != "person" and one["state"] == "alive"]
        return sorted({agent.partition("/")[0] for agent in there})

    def state(self, agent: str) -> str:
        """The state of an agent; `unknown` without a record of it."""
        return self.agents[agent]["state"] if agent in self.agents else "unknown"

    def name(self, agent: str) -> str:
        """The name of an agent."""
        if agent and agent not in self._names:
            from dibs.operations.agents.lookups import NAMES

            asked = {"agents": [agent]}
            self._names.update(self.session.run(NAMES, self.session.identify(None), asked)["names"])
        return self._names.get(agent) or agent or "an unknown agent"

    def _now(self, alert: AlertView) -> str:
        """The text of an alert. How long a hold or a wait takes is told as of now, not as of when it was raised."""
        verb = {"hold": "has held", "wait": "has waited for"}.get(alert["kind"])
        if verb is None or "actual" not in alert or not alert["resources"]:
            return str(alert["text"]).rstrip(".")
        took, expected = (relative_times.short(int(alert[key] * 1000)) for key in ("actual", "expected"))
        return f"{self.name(alert['agent'])} {verb} {few(alert['resources'])} for {took}, expected {expected}"

    def alerts(self, *kinds: str) -> list[Finding]:
        """The alerts of these kinds that are not cleared, as findings."""
        severe: dict[str, FindingSeverity] = {"error": HIGH, "warning": MEDIUM, "info": LOW}
        found = []
        for alert in self.facts["alerts"]:
            if alert["kind"] in kinds:
                taken = alert.get("acknowledged")
                noted = f" (acknowledged by {self.name(taken['agent'])}: {taken['why']})" if taken else ""
                severity = severe[alert["severity"]] if alert["kind"] in GRAVE else MEDIUM
                found.append(
                    Finding(
                        f"{self._now(alert)}{noted}", severity,
                        events=alert.get("evidence", ()), code=f"alert-{alert['id']}",
                        remedy=alert["remedy"], agent=alert["agent"],
                    )
                )  # fmt: skip
        return found


def few(names: Iterable[str], most: int = FEW) -> str:
    """A few of these; the rest is a number."""
    found = list(names)
    more = len(found) - most
    return ", ".join(found[:most]) + (f" and {more} more" if more > 0 else "")


def slug(text: str) -> str:
    """A text as a part of a finding's name."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text.lower())[:60]


def at(events: Iterable[int]) -> str:
    """Event numbers, in brackets."""
    found = [str(event) for event in events]
    return f" (event{'s' if found[1:] else ''} {few(found)})" if found else ""
