"""Reports of pushes that bypassed git's hook, which has the deploy guard: an event, and an alert for a person.

- success: one event and one alert for each commit and branch; who pushed is whom git names, which is not certain.
- retry: the same push once more is counted with its alert, and has one more event.
"""

from __future__ import annotations

from dibs.operations.core.call import FOLLOW_UPS
from dibs.operations.core.declare import ANYWHERE, Field, Operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.core.call import Call
    from dibs.stores.seam import Fetched, Transaction


def _pushed(
    tx: Transaction, call: Call, got: Fetched, remote: str, branch: str, commit: str, by: str = ""
) -> dict[str, Any]:
    from dibs.operations.alerts import suspicions

    data = {"remote": remote, "branch": branch, "by": by}
    tx.append("push.unverified", call.voice, commit, data)
    suspicions.put(
        tx, "bypass", f"{remote}/{branch} {commit}", "", event=commit, push=data, commit=commit, paths=[], holders=[],
        reporter=call.reporter,
    )  # fmt: skip
    FOLLOW_UPS["suspicions"](tx, call)
    return {"commit": commit}


PUSHED = Operation(
    "push-bypassed", _pushed, "Report a push that bypassed git's hook.", sent_by=ANYWHERE,
    fields=(
        Field("remote", "ref", "the remote", required=True),
        Field("branch", "ref", "the branch there", required=True),
        Field("commit", "ref", "the commit that it has now", required=True),
        Field("by", "text", "whom git names", default="", longest=200),
    ),
    registers=False,
)  # fmt: skip

INTERNAL = (PUSHED,)
