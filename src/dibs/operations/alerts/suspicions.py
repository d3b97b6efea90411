"""Suspicions: how an operation says that something may need an alert, at the price of one write.

An operation that notices trouble often has neither the policy nor the facts about processes at hand. It leaves a
suspicion in its own transaction; the next sweep or look for trouble judges it (lifecycle.py) and raises an alert,
or drops it. `FOLLOW_UPS.suspicions` does so at once where there is a call.

The commit that caused it is part of the suspicion: the store fills in its number, so the evidence is exact.
"""

from __future__ import annotations

from dibs.operations.alerts.records import put_suspicion
from dibs.stores.seam import COMMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.operations.alerts.records import Evidence
    from dibs.stores.seam import Json, Transaction


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
