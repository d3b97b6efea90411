"""What doors ask of the store itself: can it be written, which files do its records name; and a wake for a waiter."""

from __future__ import annotations

from dibs import jsontext
from dibs.operations.core.declare import ANYWHERE, NEAR, Field, Operation
from dibs.operations.guards.records import get_kept_of
from dibs.operations.upkeep import records
from dibs.stores.seam import AFTER_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.operations.core.answers import NoAnswer
    from dibs.operations.core.call import Call
    from dibs.operations.upkeep.requests import KnownChangesRequest, NamedFilesRequest, WakeRequest
    from dibs.stores.seam import Transaction

    class MentionedFiles(TypedDict):
        """The files that a page of records mentions."""

        mentioned: list[str]
        low: str  # where the next page begins; "" after the last


PAGE_RECORDS = 512  # read at a time
AFTER_ALL_KEYS = "\U0010ffff"  # sorts after every key


def _writable(tx: Transaction, _: Call) -> dict[str, int]:
    return {"now": tx.now}


def _named_files(tx: Transaction, _: Call, request: NamedFilesRequest) -> MentionedFiles:
    """Those of these names that one page of records mentions, and where the next page begins ("" after the last)."""
    page = tx.fetch([(request["low"] or AFTER_KEY, AFTER_ALL_KEYS)], PAGE_RECORDS)
    mentioned: set[str] = set()
    for _key, value in page.rows:
        text = jsontext.encode(value)
        if request["folder"] in text:
            mentioned.update([name for name in request["names"] if name in text])
    return {"mentioned": sorted(mentioned), "low": page.rows[-1][0] + AFTER_KEY if page.truncated else ""}


def _known_changes(tx: Transaction, _: Call, request: KnownChangesRequest) -> dict[str, list[str]]:
    """Those of these reported changes that can still be restored."""
    kept = get_kept_of(tx, request["ids"])
    return {"known": [change for change in request["ids"] if kept[change] is not None]}


def _wake(tx: Transaction, _: Call, request: WakeRequest) -> NoAnswer:
    tx.wake(request["channel"])
    tx.delete(records.wake_key(request["channel"]))  # nothing is there; Redis sends wakes along with what is written
    return {}


WRITABLE = Operation("writable", _writable, "Can the store be written?", sent_by=ANYWHERE, registers=False)
NAMED_FILES = Operation(
    "named files", _named_files, "Which of these files do records name?", sent_by=NEAR,
    fields=(
        Field("names", "words", "the files", required=True),
        Field("folder", "text", "where they lie", required=True),
        Field("low", "raw", "where to begin", default=""),
    ),
    writes=False,
)  # fmt: skip
KNOWN_CHANGES = Operation(
    "known changes", _known_changes, "Which of these changes can still be restored?", sent_by=NEAR,
    fields=(Field("ids", "words", "the changes", required=True),), writes=False,
)  # fmt: skip
WAKE = Operation(
    "wake", _wake, "Let a call look up that waits under this name.", sent_by=ANYWHERE,
    fields=(Field("channel", "channel", "the name", required=True),), registers=False,
)  # fmt: skip

INTERNAL = (WRITABLE, NAMED_FILES, KNOWN_CHANGES, WAKE)
