"""What is stored of alerts: alerts, suspicions, and how many there are. Types, keys, reading and writing.

A suspicion becomes an alert, or is dropped. Both have facts; which ones depends on the kind, and each kind has its own
types of them. An alert that waits to be delivered has an entry in the first index. Nothing is decided here. All times
are on the store's clock, in milliseconds.
"""

from __future__ import annotations

from dibs.operations.core.call import due
from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Generic, NotRequired, TypedDict, TypeVar

    from typing_extensions import ReadOnly, TypeIs

    from dibs.operations.alerts.answers import CycleStep
    from dibs.operations.claims.resources import Resource
    from dibs.stores.seam import Json, Transaction

    Evidence = list[Json]  # the number of a commit, and the subject of the event in it that shows the cause

    # --- facts: of a suspicion, and of the alert that it becomes

    class Facts(TypedDict):
        """What is known of a cause; other kinds add to it."""

        reporter: NotRequired[str]  # the far caller by whose word alone it is known; "" for none

    class DelayFacts(Facts):
        """Of a suspicion that a claim or a wait takes too long."""

        expected: int  # duration
        resources: list[str]

    class WaitFacts(Facts):
        """Of an alert about a wait."""

        holders: list[str]  # agents that hold what is waited for

    class DeadlockFacts(Facts):
        """Of a deadlock."""

        cycle: list[CycleStep]  # the refused agent's first

    class ExpiryFacts(Facts):
        """Of an agent's claims that expired."""

        held: Sequence[Resource]
        claims: NotRequired[list[str]]  # their ids; absent in earlier versions: the alert's subject is the claim

    class ProcessFacts(Facts):
        """Of a process that is gone."""

        pid: int
        process: str

    class DeathFacts(ProcessFacts):
        """Of the suspicion that an agent is dead."""

        held: Sequence[Resource]  # released
        kept: NotRequired[Sequence[Resource]]  # held until the deadline: not tied to the process
        left: NotRequired[list[list[Json]]]  # the claims on these: token, names

    class DeadFacts(ProcessFacts):
        """Of the alert about a dead agent."""

        dead: str  # the agent

    class SilentFacts(Facts):
        """Of the alert about a silent agent."""

        pid: int

    class SilenceFacts(SilentFacts):
        """Of the suspicion that an agent is silent."""

        resources: list[str]  # that it holds, and others want
        wanted_by: list[str]  # these agents

    class UnfinishedFacts(Facts):
        """Of a turn that ended with unfinished work although its agent was told."""

        missing: list[str]  # in words
        sent: int  # how often it was told

    class PathFacts(Facts):
        """Of the alert about a changed file."""

        tree: str
        path: str

    class ViolationFacts(PathFacts):
        """Of the suspicion that a file was changed under its holder."""

        holder: str
        how: str  # `violated` if the actor is certain
        id: str  # the change
        blob: str  # what was overwritten, if that is kept
        text: str

    class CommitFacts(Facts):
        """Of a commit that bypassed the guards."""

        how: str
        paths: list[str]  # of it, that other agents held
        holders: list[str]  # these agents
        suspects: NotRequired[list[str]]  # agents, by name, that may have made it

    class Push(TypedDict):
        """A push that no guard saw."""

        remote: str
        branch: str
        by: str  # as git names it

    class PushFacts(Facts):
        """Of a push that bypassed the guards."""

        push: Push
        commit: str

    class RemainderFacts(Facts):
        """Of the alert about a removed working tree."""

        left: NotRequired[int]  # files that are not restored; absent in earlier versions

    class RemovalFacts(Facts):
        """Of the suspicion that a working tree was removed with unfinished work."""

        tree: str
        owners: list[str]  # names of agents
        paths: list[str]  # the first ones
        count: int  # all

    class DeployFacts(Facts):
        """Of a deploy."""

        commit: str
        how: str  # what is wrong with it

    class FailureFacts(Facts):
        """Of a task that failed too often."""

        failures: int

    class LastingFacts(Facts):
        """Of an alert about the store."""

        lasts: NotRequired[str]  # `fallback`, or the warning: gone when the store no longer says so

    class StoreFacts(LastingFacts):
        """Of trouble with the store; which of them, its subject tells."""

        claims: NotRequired[int]  # that ended with the lost commits
        left: NotRequired[str]  # the store that did not start
        warning: NotRequired[str]

    F = TypeVar("F", bound=Facts)

    # --- records

    class Cause(TypedDict, Generic[F]):
        """What a suspicion or an alert is about."""

        subject: str  # what it is about: a claim, an agent, a task, …
        agent: str  # whose doing or trouble it is; "" for none
        since: int
        commits: list[Evidence]
        told: list[str]  # agents that know of it
        facts: ReadOnly[F]

    class Suspicion(Cause[F]):
        """Something that may need an alert."""

        suspicion: str  # the kind of alert

    class Acknowledgement(TypedDict):
        """That somebody took note."""

        by: str
        at: int
        why: str

    class Clearance(TypedDict):
        """That the cause is gone."""

        at: int
        why: str

    class Delivery(TypedDict):
        """The delivery to the command or webhook of the config."""

        state: str  # pending, delivered, failed
        next: int  # when it is due, or may be taken again
        tries: int
        lease: str  # of the process that has it
        why: str  # the last attempt failed

    class Alert(Cause[F]):
        """An alert. Kind and subject together are its key until it is cleared."""

        alert: str  # its id
        kind: str
        severity: str
        state: str
        text: str
        remedy: str  # a command
        resources: list[str]
        expected: int | None  # duration
        actual: int | None  # duration, when it was raised
        raised: int
        last: int  # when its cause last came again
        repeats: int  # how often
        acknowledged: Acknowledgement | None
        cleared: Clearance | None
        delivery: Delivery | None  # None: it is not to be delivered
        until: NotRequired[int]  # then a cleared one is dropped

    class Finding(TypedDict, Generic[F]):
        """What an alert says: a suspicion that was confirmed. It is not stored."""

        severity: str
        text: str
        remedy: str
        facts: ReadOnly[F]
        tell: NotRequired[list[str]]  # agents concerned; "" for an unknown one
        resources: NotRequired[list[str]]
        expected: NotRequired[int]
        actual: NotRequired[int]

    class Counts(TypedDict):
        """How many alerts there are."""

        open: int  # or acknowledged
        cleared: int
        dropped: int  # for which there was no room, since one last had it


INFO, WARNING, ERROR = "info", "warning", "error"  # severities
OPEN, ACKNOWLEDGED, CLEARED = "open", "acknowledged", "cleared"  # states
PENDING, DELIVERED, FAILED = "pending", "delivered", "failed"  # of a delivery


# --- keys

ALERT_KEYS = "al\t"  # before kind and subject of every alert that is not cleared
CLEARED_KEYS = "ac\t"  # before time and id of every cleared alert
COUNTS_KEY = "an"  # the number of open and of cleared alerts, and of those for which there was no room
_DELIVERIES = "alertout\t"  # in the first index: alerts that are to be delivered, by time
_AT_ONCE = 0  # the due time of a suspicion: before everything else that is due


def alert_key(kind: str, subject: str) -> str:
    """An alert that is open or acknowledged."""
    return f"al\t{kind}\t{subject}"


def _cleared_key(time: int, alert: str) -> str:
    """A cleared alert, by the time of that."""
    return f"ac\t{time:015d}\t{alert}"


def suspicion_key(kind: str, subject: str) -> str:
    """A suspicion: something that may need an alert. Its id follows, unless there is one at a time."""
    return f"as\t{kind}\t{subject}"


def _delivery_entry(when: int, alert: str = "") -> str:
    """An alert whose delivery is due then."""
    return f"alertout\t{when:015d}\t{alert}" if alert else f"alertout\t{when:015d}"


# --- kinds

REMOVED, STORE = "removed", "store"


def is_suspicion(record: Json) -> TypeIs[Suspicion[Facts]]:
    """Is this record, among the due ones, a suspicion?"""
    return "suspicion" in record


def is_push(facts: CommitFacts | PushFacts) -> TypeIs[PushFacts]:
    """Is it a push that bypassed the guards, and not a commit?"""
    return "push" in facts


def is_removal(alert: Alert[Facts]) -> TypeIs[Alert[RemainderFacts]]:
    """Is it about a removed working tree?"""
    return alert["kind"] == REMOVED


def is_about_store(alert: Alert[Facts]) -> TypeIs[Alert[LastingFacts]]:
    """Is it about the store?"""
    return alert["kind"] == STORE


# --- alerts


def get_alert(tx: Transaction, kind: str, subject: str) -> Alert[Facts] | None:
    """The alert about a subject that is not cleared."""
    alert: Alert[Facts] | None = tx.get(alert_key(kind, subject))
    return alert


def get_alerts(tx: Transaction, limit: int) -> list[Alert[Facts]]:
    """The alerts that are not cleared, up to a limit."""
    return [alert for _, alert in tx.fetch([prefix_range(ALERT_KEYS)], limit).rows]


def put_alert(tx: Transaction, alert: Alert[Facts]) -> None:
    """Write an alert; one that waits to be delivered has its place in the queue of deliveries."""
    delivery, cleared = alert["delivery"], alert["cleared"]
    entry = None
    if delivery is not None and delivery["state"] == PENDING:
        entry = _delivery_entry(delivery["next"], alert["alert"])
    if cleared is not None:
        tx.put(_cleared_key(cleared["at"], alert["alert"]), alert, i1=entry, i2=due(alert["until"]))
    else:
        tx.put(alert_key(alert["kind"], alert["subject"]), alert, i1=entry)


def delete_alert(tx: Transaction, alert: Alert[Facts]) -> None:
    """Delete an alert that is not cleared."""
    tx.delete(alert_key(alert["kind"], alert["subject"]))


def delete_oldest_cleared(tx: Transaction) -> None:
    """Delete the alert that was cleared first."""
    for key, _ in tx.fetch([prefix_range(CLEARED_KEYS)], 1).rows:
        tx.delete(key)


def get_counts(tx: Transaction) -> Counts:
    """How many alerts there are."""
    counts: Counts | None = tx.get(COUNTS_KEY)
    return {"open": 0, "cleared": 0, "dropped": 0} if counts is None else counts


def put_counts(tx: Transaction, counts: Counts) -> None:
    """Write how many alerts there are."""
    tx.put(COUNTS_KEY, counts)


def due_deliveries(tx: Transaction, limit: int) -> list[Alert[Facts]]:
    """The alerts whose delivery is due now, the first ones."""
    return [alert for _, _, alert in tx.scan(1, _DELIVERIES, limit, before=_delivery_entry(tx.now + 1)).rows]


def pending_deliveries(tx: Transaction, limit: int) -> list[Alert[Facts]]:
    """The alerts that wait to be delivered, by time."""
    return [alert for _, _, alert in tx.scan(1, _DELIVERIES, limit).rows]


# --- suspicions


def put_suspicion(tx: Transaction, suspicion: Suspicion[Facts], later: int | None = None) -> None:
    """Write a suspicion to look into at once; or one of which there is one at a time, to look into later."""
    key = suspicion_key(suspicion["suspicion"], suspicion["subject"])
    if later is None:
        tx.put(f"{key}\t{tx.id()}", suspicion, i2=due(_AT_ONCE))
    else:
        tx.put(key, suspicion, i2=due(later))


def get_expired(tx: Transaction, agent: str) -> Suspicion[ExpiryFacts] | None:
    """The suspicion about an agent's expired claims that nobody has looked into yet."""
    suspicion: Suspicion[ExpiryFacts] | None = tx.get(suspicion_key("expired", agent))
    return suspicion


def put_expired(tx: Transaction, suspicion: Suspicion[ExpiryFacts]) -> None:
    """Write it, to look into at once."""
    tx.put(suspicion_key("expired", suspicion["subject"]), suspicion, i2=due(_AT_ONCE))


def suspicions_at_once(tx: Transaction, limit: int) -> list[tuple[str, Suspicion[Facts]]]:
    """The suspicions to look into at once, with their keys."""
    return [(key, suspicion) for _, key, suspicion in tx.scan(2, "due\t", limit, before=due(_AT_ONCE + 1)).rows]
