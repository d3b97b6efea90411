"""Which archives of the log there must be, for what checks them: `verify`, `check`, `doctor`."""

from __future__ import annotations

from dibs.client.log_reader import ELSEWHERE
from dibs.client.upkeep import log_archives
from dibs.machine import processes
from dibs.operations.oversight.settlements import SETTLED
from dibs.operations.upkeep.log_retention import ARCHIVES
from dibs.verify.archives import Expected
from dibs.verify.checker import LOST_ARCHIVE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypedDict

    from dibs.audit.answers import MissingView
    from dibs.client.log_reader import LogReader
    from dibs.client.session import Session
    from dibs.operations.core.call import Call

    class Gaps(TypedDict):
        """What a reader of the log did not get; both keys as in `LogAnswer`."""

        missing: list[MissingView]
        lost: int


def expected(session: Session, call: Call) -> Callable[[], list[Expected]]:
    """Gives the archives that there must be, the oldest first."""
    folder, host = log_archives.folder_of(session.place.local), processes.host()

    def asked() -> list[Expected]:
        return [Expected(one, folder, host) for one in session.run(ARCHIVES, call, {})["archives"]]

    return asked


def lost(session: Session, call: Call) -> list[tuple[Expected, str]]:
    """The archives of this machine that are missing or changed, and why. A server's are the server's to look at."""
    if session.is_far:
        return []
    archives = [(one, why) for one in expected(session, call)() if one.here and (why := one.problem())]
    if archives:
        settled = session.run(SETTLED, call, {})["settled"]
        for archive, _ in archives:
            archive.is_settled = f"{LOST_ARCHIVE}{archive.last}" in settled
    return archives


def passed_over(session: Session, call: Call, log: LogReader, after: int, through: int) -> Gaps:
    """The events that a reader of the log did not get, and how many of them are lost.

    Nothing is wrong with what a person settled, and with what another machine has.
    """
    gaps = log.missing(after, through)
    settled = session.run(SETTLED, call, {})["settled"] if gaps else {}
    missing: list[MissingView] = []
    lost = 0
    for first, last, why in gaps:
        fine = why == ELSEWHERE or f"{LOST_ARCHIVE}{last}" in settled
        missing.append({"first": first, "last": last, "why": why, "settled": fine})
        lost += 0 if fine else min(last, through) - max(first - 1, after)
    return {"missing": missing, "lost": lost}
