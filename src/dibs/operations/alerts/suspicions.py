"""Suspicions: how an operation says that something may need an alert, at the price of one write.

An operation that notices trouble often has neither the policy nor the facts about processes at hand. It leaves a
suspicion in its own transaction; the next sweep or look for trouble judges it (lifecycle.py) and raises an alert,
or drops it. `FOLLOW_UPS.suspicions` does so at once where there is a call.

The commit that caused it is part of the suspicion: the store fills in its number, so the evidence is exact.
"""

from __future__ import annotations

from dibs.operations.alerts.records import get_expired, put_expired, put_suspicion
from dibs.stores.seam import COMMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.operations.alerts.records import Evidence, ExpiryFacts
    from dibs.operations.claims.records import Claim
    from dibs.stores.seam import Json, Transaction


def add_expired(tx: Transaction, claim: Claim) -> None:
    """A claim expired. Those of one agent are one suspicion until it is looked into: one alert, and one message."""
    known = get_expired(tx, claim["agent"])
    facts: ExpiryFacts = {"held": [*claim["resources"]], "claims": [claim["claim"]]}
    commits: list[Evidence] = [[claim["token"], claim["claim"]], [COMMIT, claim["claim"]]]
    if known is not None:
        facts = {
            "held": [*known["facts"]["held"], *facts["held"]], "claims": [*known["facts"]["claims"], *facts["claims"]],
        }  # fmt: skip
        commits = known["commits"]
    put_expired(tx, {
        "suspicion": "expired", "subject": claim["agent"], "agent": claim["agent"], "since": tx.now,
        "commits": commits, "told": [], "facts": facts,
    })  # fmt: skip


def put(
    tx: Transaction,
    kind: str,
    subject: str,
    agent: str,
    *,
    since: int | None = None,
    commits: Iterable[Evidence] = (),
    event: str | None = None,
    told: Iterable[str] = (),
    **facts: Json,
) -> None:
    """Leave a suspicion; `facts` are those of its kind.

    `event`: the subject of the event in this commit that shows it ("": there is none; not given: `subject`). `commits`:
    other commits that show it, each with the subject of its event. `told`: agents that learn of it anyway, by an answer
    or a message.
    """
    shows = subject if event is None else event
    known: Json = facts
    put_suspicion(
        tx,
        {
            "suspicion": kind, "subject": subject, "agent": agent, "since": tx.now if since is None else since,
            "commits": [*commits, *([[COMMIT, shows]] if shows else [])], "told": sorted(set(told)), "facts": known,
        },
    )  # fmt: skip
