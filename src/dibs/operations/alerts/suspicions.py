"""Suspicions: how an operation says that something may need an alert, at the price of one write.

An operation that notices trouble often has neither the policy nor the facts about processes at hand. It leaves a
suspicion in its own transaction; the next sweep or look for trouble judges it (kinds.py) and raises an alert,
or drops it. `FOLLOW_UPS.suspicions` does so at once where there is a call.

The commit that caused it is part of the suspicion: the store fills in its number, so the evidence is exact.
"""

from __future__ import annotations

from dibs.operations.core.call import due
from dibs.stores.seam import COMMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from dibs.stores.seam import Transaction

FAMILY = "as"
AT_ONCE = 0  # the due time of a suspicion: before everything else that is due


def put(
    tx: Transaction,
    kind: str,
    subject: str,
    agent: str,
    *,
    since: int | None = None,
    commits: Sequence[Sequence[Any]] = (),
    event: str | None = None,
    told: Iterable[str] = (),
    **facts: Any,
) -> None:
    """Leave a suspicion.

    `event`: the subject of the event in this commit that shows it ("": there is none; not given: `subject`). `commits`:
    other commits that show it, each with the subject of its event. `told`: agents that learn of it anyway, by an answer
    or a message.
    """
    shows = subject if event is None else event
    record = {
        "suspicion": kind, "subject": subject, "agent": agent, "since": tx.now if since is None else since,
        "commits": [*commits, *([[COMMIT, shows]] if shows else [])], "told": sorted(set(told)), "facts": facts,
    }  # fmt: skip
    tx.put(f"{FAMILY}\t{kind}\t{subject}\t{tx.id()}", record, i2=due(AT_ONCE))
