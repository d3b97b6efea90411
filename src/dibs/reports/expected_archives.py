"""Which archives of the log there must be, for what checks them: `verify`, `check`, `doctor`."""

from __future__ import annotations

from dibs.facts import processes
from dibs.lookout.archives import Expected
from dibs.lookout.verify import LOST_ARCHIVE
from dibs.operations.oversight.settlements import SETTLED
from dibs.operations.upkeep.log_retention import ARCHIVES
from dibs.storage import log_archives

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.operations.core.call import Call
    from dibs.session.session import Session


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
    found = [(one, why) for one in expected(session, call)() if one.here and (why := one.problem())]
    if found:
        settled = session.run(SETTLED, call, {})["settled"]
        for one, _ in found:
            one.is_settled = f"{LOST_ARCHIVE}{one.last}" in settled
    return found
