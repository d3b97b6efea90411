"""The kinds of alert: what each is called, when it is raised, when its cause is gone, what its holders can do.

One row for each kind. From it come the choices of `dibs alerts --kind`, the words of `dibs top` and the table of
docs/guides/alerts.md (`make generate`). A new kind also needs a suspicion where its cause is noticed (suspicions.py),
its name in `AlertKind` (core/answers.py), and its shape on the page (interfaces/page/alerts.js).
"""

from __future__ import annotations

from dibs.operations.alerts import agent_causes, claim_causes, work_causes
from dibs.operations.alerts.records import REMOVED, STORE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.operations.alerts.records import Alert, Facts, Finding
    from dibs.operations.claims.answers import AlertAction

    Judge = Callable[
        ..., Finding[Facts] | None
    ]  # transaction, call and suspicion → what the alert says; None: no alert
    Gone = Callable[..., str]  # transaction, call and alert → why its cause is gone; "" while it stands
    Releasable = Callable[..., list[str]]  # alert and agent → what this agent can release to end it
    Told = Callable[..., str]  # transaction and alert → its text now
    Acts = Callable[..., list[AlertAction]]  # transaction and alert → what a person can do about it


def _nothing(alert: Alert[Facts], agent: str) -> list[str]:
    return []


class Kind:
    """A kind of alert. `observed`: something says for certain when its cause is gone."""

    __slots__ = ("cause", "end", "gone", "judge", "label", "observed", "releasable", "severity")

    def __init__(
        self, label: str, judge: Judge, gone: Gone, releasable: Releasable = _nothing, *, cause: str, severity: str,
        end: str, observed: bool = True,
    ) -> None:  # fmt: skip
        self.label = label  # what people call it
        self.judge = judge
        self.gone = gone
        self.releasable = releasable
        self.cause = cause  # it is raised when …
        self.severity = severity
        self.end = end  # it is cleared when …
        self.observed = observed

    def is_observed(self, alert: Alert[Facts]) -> bool:
        """Does something say when the cause of this alert is gone? If not, it ends a day after the acknowledgement."""
        return self.observed or "lasts" in alert["facts"]


TABLE = {
    "hold": Kind(
        "Long hold", claim_causes.hold, claim_causes.hold_gone, claim_causes.hold_releasable,
        cause="a claim with `--expect` is held for more than twice that time",
        severity="info",
        end="the claim ended",
    ),
    "wait": Kind(
        "Long wait", claim_causes.wait, claim_causes.wait_gone, claim_causes.wait_releasable,
        cause="an agent waits for more than twice the expected time",
        severity="warning",
        end="the wait ended",
    ),
    "deadlock": Kind(
        "Deadlock", claim_causes.deadlock, claim_causes.deadlock_gone, claim_causes.deadlock_releasable,
        cause="a request was refused because it would have closed a cycle; the alert has the cycle",
        severity="error",
        end="one of the other waits ended, or the wanted resource was released",
    ),
    "expired": Kind(
        "Expired", claim_causes.expired, claim_causes.expired_gone,
        cause="claims of an agent expired while it was alive: one alert for each agent, whatever their number",
        severity="info",
        end="the holder has them again, settled the losses, or is gone",
    ),
    "dead": Kind(
        "Dead", agent_causes.dead, agent_causes.dead_gone, observed=False,
        cause="an agent's process exited without signing off, and it held something, or another agent "
        "coordinates it. The alert says what "
        "was released, which task is back in the queue, what stays until its deadline because it was not tied to that "
        "process, and how many files have uncommitted work of it; with what can be done: `dibs diff`, `dibs handover`, "
        "`dibs undo`, `dibs alerts ack`. A client that closed "
        "its connection to `dibs mcp` in order is not reported",
        severity="error; warning if it held nothing",
        end="it booted again, left, was killed or forgotten, or its work was handed over; or a day after the "
        "acknowledgement",
    ),
    "asks": Kind(
        "Waits for you", agent_causes.asks, agent_causes.asks_gone,
        cause="an agent waits for a person (a permission, a question) and holds what others wait for",
        severity="error",
        end="it was answered, or nobody waits for it any more",
    ),
    "silent": Kind(
        "Silent", agent_causes.silent, agent_causes.silent_gone,
        cause="an agent is alive, gave no sign for 10 minutes, and holds what others wait for",
        severity="error",
        end="it gave a sign, or nobody waits for it any more",
    ),
    "unfinished": Kind(
        "Unfinished", agent_causes.unfinished, agent_causes.unfinished_gone,
        cause="an agent's turn ended with work that is not committed, landed or verified, as `[gates] stop` asks, "
        "although it was sent back twice",
        severity="info",
        end="its next turn began",
    ),
    "violation": Kind(
        "Violation", work_causes.violation, work_causes.violation_gone,
        cause="a file was changed although another agent held it",
        severity="error; warning if the actor is not certain",
        end="the path is settled: restored, accepted, edited",
    ),
    "bypass": Kind(
        "Bypassed", work_causes.bypass, work_causes.never_gone, observed=False,
        cause="a commit bypassed the guards (`--no-verify`); or a push to a protected branch did, as git's own log of "
        "the remote's branches shows",
        severity="error; warning for a commit without files that others held",
        end="a day after the acknowledgement",
    ),
    REMOVED: Kind(
        "Removed", work_causes.removed, work_causes.removed_gone, observed=False,
        cause="a working tree was removed (`git worktree remove --force`, `rm -rf`) with unfinished work of agents in "
        "it; the alert names them",
        severity="error",
        end="all of it was restored; else a day after the acknowledgement",
    ),
    "deploy_stale": Kind(
        "Stale deploy", work_causes.deploy, work_causes.deploy_gone,
        cause="a deploy was not compared with the remote (`--unsynced`)",
        severity="warning",
        end="a later deploy was, and is good",
    ),
    "deploy_unverified": Kind(
        "Unverified deploy", work_causes.deploy, work_causes.deploy_gone,
        cause="a deploy failed its verification, had none, was interrupted, or lost its claim",
        severity="error; warning if it had none",
        end="a later deploy is good",
    ),
    "poison": Kind(
        "Poison task", work_causes.poison, work_causes.poison_gone,
        cause="a task failed too often and is quarantined",
        severity="error",
        end="the task was moved, or is gone",
    ),
    "breaker": Kind(
        "Breaker open", agent_causes.breaker, agent_causes.breaker_gone,
        cause="an agent failed several tasks in a row and gets no work",
        severity="warning",
        end="it finished a task",
    ),
    STORE: Kind(
        "Store", work_causes.store, work_causes.never_gone, observed=False,
        cause="the store lost commits, was replaced, fell back to SQLite, or warns",
        severity="error; warning if it warns",
        end="the fallback or the warning ended; else a day after the acknowledgement",
    ),
    "rules": Kind(
        "Old rules", agent_causes.rules, agent_causes.rules_gone,
        cause="an agent was active for 10 minutes after the rules changed, and was not told",
        severity="info",
        end="it was told, or is gone",
    ),
}  # fmt: skip
COLLECTING = ("expired",)  # kinds of which the same cause again adds to what the alert says

# Kinds whose text has more to say at each look than when it was raised, and those about which a person can do several
# things.
TEXTS: dict[str, Told] = {"dead": agent_causes.dead_text}
ACTIONS: dict[str, Acts] = {"dead": agent_causes.dead_actions}
