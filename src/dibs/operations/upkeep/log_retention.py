"""How long the log stays in the store: seals, pruning, and the archives that pruned events are in.

The story. A seal is written each day, and after every SEAL_EVENTS events: the live claims at that point. When the
oldest seal is older than the config's `[log] keep`, or the store has more than `[log] events`, the events before it
leave the store, one seal at a time. Before that, the caller's machine has written them to an archive, a file next to
the store (client/upkeep/log_archives.py), and here only its facts arrive: numbers, links, digest. The transaction
checks that the archive ends with the very event of the seal and begins where the store does. So a crash before it
leaves the events in the store and a file too many; after it, both the record and the file are there. It drops the first
PRUNE_EVENTS; where nobody sealed for long there are more, and transactions of their own drop the rest, as many each.
Until then the seal's record says how far they are (`dropped`), and any caller that prunes continues there.

Archives have a limit too (`[log] archives`, in bytes): the oldest go, with an event. `verify` knows from the record and
from the log which archives there must be.
"""

from __future__ import annotations

from dibs import jsontext
from dibs.errors import Conflict, Invalid, NotFound
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import span
from dibs.operations.core.declare import ANYWHERE, NEAR, Field, Operation
from dibs.operations.core.policy import MAX_DURATION_MS
from dibs.operations.upkeep import records
from dibs.stores.seam import GENESIS, digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NotRequired, TypedDict

    from dibs.operations.core.answers import NoAnswer
    from dibs.operations.core.call import Call
    from dibs.operations.upkeep.answers import PruneAnswer, SealAnswer
    from dibs.operations.upkeep.records import Archive, LastSeal, Link, SealPlace
    from dibs.operations.upkeep.requests import ArchiveDropRequest, LogPruneRequest, PrunePlanRequest, PruneRequest
    from dibs.stores.seam import Transaction

    class PrunePlan(TypedDict):
        """Which events may leave the store next."""

        through: int  # the last of them; 0 if none may
        link: str  # its link
        before: Link  # the last event that has left the store
        begun: bool  # an archive has them, and some have left
        dropped: NotRequired[int]  # through which they have; not if none may

    class Archives(TypedDict):
        """The archives that there must be, and the files of those that were dropped last."""

        archives: list[Archive]
        dropped: list[str]


LOG_LIFE_MS = 30 * 86_400_000  # the log keeps at least a month where the config is silent
SEAL_INTERVAL_MS = 86_400_000  # the oldest events are at most a day too old
SEAL_EVENTS = 10_000  # events between two seals, where somebody sweeps
PRUNE_EVENTS = 20_000  # that one transaction drops, in some hundredths of a second: all between two seals, as a rule
MAX_DROPPED = 256  # archives that one transaction drops


# --- what is due


def due(tx: Transaction, call: Call) -> str:
    """What the config asks for: a seal (`sealed`), or the end of events older than `keep` (`pruned`)."""
    keep: int = call.policy.work["log"]["keep"]
    last = records.get_last_seal(tx)
    if last is None:  # none yet, or an older dibs made them
        known = records.get_seals(tx)
        if not known:
            seq = tx.tail().seq
            return "sealed" if seq >= SEAL_EVENTS or (seq and keep < LOG_LIFE_MS) else ""
        last = _summary(known)
    since = tx.tail().seq - last["seq"]
    if since >= SEAL_EVENTS or (since > last["own"] and tx.now - last["at"] >= min(SEAL_INTERVAL_MS, keep)):
        return "sealed"
    return "pruned" if _is_old(tx, call, last) else ""


def is_prune_due(tx: Transaction, call: Call) -> bool:
    """The same after a seal."""
    last = records.get_last_seal(tx)
    return last is not None and _is_old(tx, call, last)


def _is_old(tx: Transaction, call: Call, last: LastSeal) -> bool:
    keep: int = call.policy.work["log"]["keep"]
    if last["oldest"] is None:
        return False
    return bool(last.get("begun")) or last["oldest"] <= tx.now - keep or _is_full(tx, call, last["before"])


def _is_full(tx: Transaction, call: Call, before: int) -> bool:
    """Has the store more events than the config allows? `before`: the last one that left it."""
    most: int = call.policy.work["log"]["events"]
    return tx.tail().seq - before > most


def _summary(seals: list[SealPlace], own: int = 1) -> LastSeal:
    """What every look asks; `own`: events since the newest seal that only say how the log was kept."""
    left = [seal for seal in seals if not seal.get("pruned")]
    before = max((seal["seq"] for seal in seals if seal.get("pruned")), default=0)
    begun = any("dropped" in seal for seal in left)
    return {
        "seq": seals[-1]["seq"], "at": seals[-1]["at"], "own": own, "oldest": left[0]["at"] if left else None,
        "before": before, "begun": begun,
    }  # fmt: skip


# --- seals


def seal(tx: Transaction, call: Call) -> SealAnswer:
    """Write the live claims next to the log, so that everything before this point may be pruned later."""
    live, _ = claim_records.all_claims(tx, 1_000_000)
    claims = [
        {
            "claim": claim["claim"], "agent": claim["agent"], "resources": claim["resources"], "mode": claim["mode"],
            "tree": claim["tree"], "until": claim["until"], "token": claim["token"],
        }
        for claim in live
    ]  # fmt: skip
    tail = tx.tail()
    seq, link = tail.seq, tail.link
    body = jsontext.encode({"claims": claims, "token": tail.commit})
    tx.seal(body)
    newest: SealPlace = {"seq": seq, "link": link, "at": tx.now}
    records.put_seal(tx, newest)
    before = [place for place in records.get_seals(tx) if place["seq"] != seq]
    records.put_last_seal(tx, _summary([*before, newest]))
    tx.append("log.sealed", call.agent, "", {"through": seq, "link": link, "digest": digest_of(body)})
    return {"seq": seq, "link": link, "claims": len(claims)}


# --- pruning


def _plan(tx: Transaction, call: Call, request: PrunePlanRequest) -> PrunePlan:
    return _planned(tx, call, request["keep"])


def _planned(tx: Transaction, call: Call, keep: int | None) -> PrunePlan:
    """The events that may leave the store next: up to the oldest seal that is old enough; `through` 0 if none is.

    `begun`: an archive has them, and those up to `dropped` have left already.
    Events younger than the config's `[log] keep` (default: a month) stay, unless there are more than `[log] events`.
    """
    least: int = call.policy.work["log"]["keep"]
    keep = least if keep is None else keep
    if keep < least:
        text = f"the log of the last {span(least)} is kept ([log] keep in the config, 30d by default)."
        raise Invalid(f"keep: {text}", field="keep", least=least)
    seals = records.get_seals(tx)
    pruned = [seal for seal in seals if seal.get("pruned")]
    before: Link = {"seq": 0, "link": GENESIS}
    if pruned:
        before = {"seq": pruned[-1]["seq"], "link": pruned[-1]["link"]}
    # one before event 1 is none
    left = [seal for seal in seals if not seal.get("pruned") and seal["seq"] > before["seq"]]
    old = [seal for seal in left if "dropped" in seal or seal["at"] <= tx.now - keep]
    old = old or left[: int(_is_full(tx, call, before["seq"]))]
    if not old:
        return {"through": 0, "link": "", "before": before, "begun": False}
    begun, dropped = "dropped" in old[0], old[0].get("dropped", before["seq"])
    return {"through": old[0]["seq"], "link": old[0]["link"], "before": before, "begun": begun, "dropped": dropped}


def _prune(tx: Transaction, call: Call, request: PruneRequest) -> PruneAnswer:
    return _pruned(tx, call, request["archive"], request["keep"])


def _prune_by_config(tx: Transaction, call: Call, request: LogPruneRequest) -> PruneAnswer:
    return _pruned(tx, call, request["archive"], None)


def _pruned(tx: Transaction, call: Call, archive: Archive | None, keep: int | None) -> PruneAnswer:
    """Drop the events that the archive has, up to the oldest seal older than `keep`, or the first piece of them."""
    plan = _planned(tx, call, keep)
    if not plan["through"]:
        raise NotFound("no seal is that old: `dibs seal` makes one, and events before a seal can be pruned.")
    through = plan["through"]
    if archive is None:
        raise Invalid("archive: events leave the store after they were written to an archive", field="archive")
    is_other = (archive["last"], archive["link"]) != (through, plan["link"])
    if plan["begun"] or is_other or archive["first"] != plan["before"]["seq"] + 1:
        raise Conflict("another process pruned the log meanwhile; nothing was dropped.")
    records.put_archive(tx, archive)
    tx.append("log.pruned", call.agent, "", {"through": through, "archive": archive})
    _drop_piece(tx, plan, 1)
    return {"through": through, "archives": [archive["file"]]}


def _prune_rest(tx: Transaction, call: Call) -> NoAnswer:
    """Drop the next piece of the events that the last archive has, if any are left."""
    plan = _planned(tx, call, None)
    if plan["begun"]:
        _drop_piece(tx, plan, 0)
    return {}


def _drop_piece(tx: Transaction, plan: PrunePlan, events: int) -> None:
    """Drop up to PRUNE_EVENTS events, the oldest first; `events`: how many this transaction appends."""
    through = plan["through"]
    dropped = min(through, plan["dropped"] + PRUNE_EVENTS)
    for place in records.get_seals(tx):
        if place["seq"] < through:
            records.delete_seal(tx, place)
        elif place["seq"] == through:
            place["dropped"], place["pruned"] = dropped, dropped == through
            records.put_seal(tx, place)
    last = records.get_last_seal(tx)
    records.put_last_seal(tx, _summary(records.get_seals(tx), (1 if last is None else last["own"]) + events))
    tx.prune(through, dropped)


# --- archives


def _archives(tx: Transaction, call: Call) -> Archives:
    """The archives that there must be, the oldest first, and those that were dropped last."""
    archives, dropped = records.get_archives(tx)
    return {"archives": archives, "dropped": dropped}


def _drop(tx: Transaction, call: Call, request: ArchiveDropRequest) -> dict[str, list[str]]:
    """Forget the archives of one machine up to an event; the caller removes the files."""
    archives, _ = records.get_archives(tx)
    old = [
        archive for archive in archives if archive["last"] <= request["through"] and archive["host"] == request["host"]
    ][:MAX_DROPPED]
    for archive in old:
        records.delete_archive(tx, archive)
        tx.append(
            "log.dropped", call.agent, "", {"first": archive["first"], "last": archive["last"], "why": request["why"]}
        )
    files = [archive["file"] for archive in old]
    if files:
        records.put_dropped(tx, files)
    return {"files": files}


_KEEP = Field(
    "keep",
    "duration",
    "keep that much of the log (default, and least: [log] keep in the config, or 30d)",
    most=MAX_DURATION_MS,
    metavar="D",
)
ARCHIVE_FIELDS = (
    Field("file", "text", "its name in the folder of archives", required=True),
    Field("first", "integer", "the number of its first event", required=True),
    Field("last", "integer", "of its last one", required=True),
    Field("link", "text", "the last event's link", required=True),
    Field("sha256", "text", "of the file", required=True),
    Field("size", "integer", "of the file, in bytes", required=True),
    Field("host", "text", "the machine that has it", required=True),
)
PLAN = Operation(
    "prune plan",
    _plan,
    "Which events may leave the store next?",
    sent_by=NEAR,
    fields=(_KEEP,),
    errors=(Invalid,),
    writes=False,
)
ARCHIVES = Operation("archives", _archives, "Which archives must there be?", sent_by=ANYWHERE, writes=False)
DROP = Operation(
    "archive drop", _drop, "Forget the oldest archives of a machine.", sent_by=NEAR,
    fields=(
        Field("through", "integer", "up to this event", required=True),
        Field("host", "text", "the machine", required=True),
        Field("why", "text", "the reason", required=True),
    ),
    registers=False,
)  # fmt: skip
PRUNED = Operation(
    "log prune", _prune_by_config, "Drop archived events as the config says.", sent_by=NEAR,
    fields=(Field("archive", "object", "the archive", items=ARCHIVE_FIELDS, required=True),),
    errors=(NotFound, Invalid, Conflict), registers=False,
)  # fmt: skip
REST = Operation(
    "log prune rest", _prune_rest, "Drop the next of the events that the last archive has.", sent_by=NEAR,
    registers=False,
)  # fmt: skip
INTERNAL = (PLAN, ARCHIVES, DROP, PRUNED, REST)

OPERATIONS = (
    Operation(
        "seal",
        seal,
        "Write a seal (the live claims at this point), up to which the log can be pruned.",
        group="record",
        rank="orchestrator",
        registers=False,
        answer="SealAnswer",
    ),
    Operation(
        "prune",
        _prune,
        "Move the events before the newest seal older than --keep into archives, which `verify` and `log` read.",
        group="record",
        fields=(_KEEP, Field("archive", "object", "the archive", items=ARCHIVE_FIELDS, internal=True, sent_by=NEAR)),
        errors=(NotFound, Invalid, Conflict),
        rank="person",
        registers=False,
        answer="PruneAnswer",
        destructive=True,
        around="prune",
    ),
)
