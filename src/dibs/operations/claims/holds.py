"""The records of claims, waiters and interests, read and written. Nothing is decided here.

The three kinds of record share one family of keys, so one trip finds everything that a request can meet. A record has
a row for each of its resources. The first row has the record and the index entries: by agent, and by the time at which
a sweep should look at it. The others say where the first one is, so that N paths cost N rows and not N times N paths,
and a new deadline one row. (Records of version 0.2 and earlier stand whole in each row; reading takes both.)
"""

from __future__ import annotations

from dibs.errors import Quota
from dibs.operations.agents.records import get_agent
from dibs.operations.claims import resources
from dibs.operations.core.call import due, in_words, iso, process_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from dibs.operations.core.call import Record
    from dibs.stores.seam import Range, Transaction

ROWS_PER_TRIP = 512  # rows in one trip
MAX_ROWS_PER_TRIP = 4_096  # of a long way: each trip takes twice as many as the last
MAX_COST = 40_000  # of a request: 40,000 rows without a record, or 10,000 records; 200 ms on SQLite
RECORD_COST = 4  # of a row with its record
MAX_RECORDS = 1_000_000  # of one agent: more than any agent holds

CLAIM, WAITER, INTEREST = "claim", "waiter", "interest"
# The fields that a claim takes over from its wish, or from its waiter.
WISH_FIELDS = ("agent", "mode", "tree", "resources", "reason", "task", "expect", "ttl", "fixed", "by", "tied")
# What ends a claim before its deadline, by what made it (`by`) or by its own field `ends`.
EARLY_ENDS = {
    "edit": "ends with its commit", "commit": "ends with its commit", "shell": "ends with its command",
    "task": "ends with its task",
}  # fmt: skip
WANTED = 5  # names that an advised command has room for
FIRST = "first"  # in a row without the record: the resource under which the record is
_LETTER = {CLAIM: "h", WAITER: "w", INTEREST: "i"}
_INDEX = {CLAIM: "claims", WAITER: "waits", INTEREST: "interests"}
TASK_WAITS = "task-waits"  # in the second index: an agent's waits for tasks (pulls.py), which deadlocks.py follows


def kind_of(record: Record) -> str:
    """Is it a claim, a waiter or an interest?"""
    return CLAIM if CLAIM in record else WAITER if WAITER in record else INTEREST


def new_claim(tx: Transaction, wish: Record, *, until: int, pending: bool, alert_at: int) -> Record:
    """A claim's record, made from a wish; its token comes with the grant."""
    claim = {key: wish[key] for key in WISH_FIELDS}
    if wish.get("base"):
        claim["base"] = wish["base"]
    if wish.get("ends"):
        claim["ends"] = wish["ends"]
    life = tx.now + wish["life"]
    claim.update(claim=f"c{tx.id()}", since=tx.now, until=until, life=life, pending=pending, alert_at=alert_at)
    claim["renewed"] = tx.now
    return claim


def put(tx: Transaction, record: Record, dropped: Iterable[Sequence[str]] = ()) -> None:
    """Write a record; delete its rows under the resources that it no longer has."""
    kind = kind_of(record)
    suffix = f"{_LETTER[kind]}{record['agent']}\t{record[kind]}"
    for resource in dropped:
        tx.delete(resources.key_of(resource, suffix))
    first, *others = record["resources"]
    rows = f"{record[kind]} {len(others)}"
    if others and (dropped or record.get("rows") != rows):  # else the other rows are there already
        record["rows"] = rows
        for resource in others:
            tx.put(resources.key_of(resource, suffix), {kind: record[kind], "agent": record["agent"], FIRST: first})
    entry = f"{_INDEX[kind]}\t{record['agent']}\t{record[kind]}"
    tx.put(resources.key_of(first, suffix), record, entry, due(look_at(record)))


def remove(tx: Transaction, record: Record) -> None:
    """Delete a record altogether."""
    kind = kind_of(record)
    suffix = f"{_LETTER[kind]}{record['agent']}\t{record[kind]}"
    for resource in record["resources"]:
        tx.delete(resources.key_of(resource, suffix))
    record.pop("rows", None)


def key_of_claim(resource: Sequence[str], record: Record) -> str:
    """The row of a claim that a record (`agent`, `claim`) names."""
    return _key_of(resource, record)


def _key_of(resource: Sequence[str], record: Record) -> str:
    kind = kind_of(record)
    return resources.key_of(resource, f"{_LETTER[kind]}{record['agent']}\t{record[kind]}")


def whole(tx: Transaction, found: Sequence[Record]) -> list[Record]:
    """The records that these rows have or point to, each once and in their order."""
    known = {_identifier(row): row for row in found if FIRST not in row}
    away = {_identifier(row): _key_of(row[FIRST], row) for row in found if _identifier(row) not in known}
    if away:
        kept = tx.get_many(list(away.values()))
        known.update({identifier: kept[key] for identifier, key in away.items()})
    return [known[identifier] for identifier in dict.fromkeys(map(_identifier, found))]


def _identifier(row: Record) -> str:
    identifier: str = row[kind_of(row)]
    return identifier


def look_at(record: Record) -> int:
    """When a sweep should look at this record: at its deadline, or earlier for an alert."""
    until: int = record["until"]
    alert: int = record.get("alert_at") or 0
    return min(until, alert) if alert else until


def meeting(tx: Transaction, wanted: Sequence[Sequence[str]], tree: str, most: int = 0) -> Iterator[Record]:
    """Every record that overlaps the wanted resources in this working tree, each once.

    Expired records are included: the caller decides. `most`: what it may cost; beyond that `Quota` is raised.
    """
    for record in rows(tx, resources.ranges_of(wanted), most):
        if resources.same_tree(tree, record["tree"]) and resources.any_overlap(record["resources"], wanted) is not None:
            yield record


def rows(tx: Transaction, ranges: Sequence[Range], most: int = 0) -> Iterator[Record]:
    """All records in these ranges, each once, page by page."""
    remaining = ranges
    seen: set[str] = set()
    limit, cost = ROWS_PER_TRIP, 0
    while True:
        page = tx.fetch(remaining, limit)
        limit = min(2 * limit, MAX_ROWS_PER_TRIP)
        if not page.rows:
            return
        cost += sum([1 if FIRST in row else RECORD_COST for _, row in page.rows])
        if most and cost > most:
            raise Quota(
                what="claims and waiters below one directory or glob that is claimed", limit=most // RECORD_COST
            )
        new = [row for _, row in page.rows if not seen or _identifier(row) not in seen]
        yield from whole(tx, new)
        if not page.truncated:
            return
        seen.update(map(_identifier, new))
        last = page.rows[-1][0]
        remaining = [(max(low, last + "\x01"), high) for low, high in remaining if high > last]


def of_agent(tx: Transaction, kind: str, agent: str, *, family: bool = False, limit: int = MAX_RECORDS) -> list[Record]:
    """The records of one kind that belong to an agent, and with `family` to its descendants."""
    found: list[Record] = []
    prefixes = [f"{_INDEX[kind]}\t{agent}\t"]
    if family:
        prefixes.append(f"{_INDEX[kind]}\t{agent}/")
    for prefix in prefixes:
        after = ""
        while True:
            page = tx.scan(1, prefix, ROWS_PER_TRIP, after)
            found += [record for _, _, record in page.rows]
            if not page.truncated or len(found) >= limit:
                break
            after = page.rows[-1][0]
    return found


def every(tx: Transaction, kind: str, limit: int) -> tuple[list[Record], bool]:
    """All records of one kind, up to a limit; and whether there are more."""
    found: list[Record] = []
    after = ""
    while True:
        page = tx.scan(1, f"{_INDEX[kind]}\t", min(ROWS_PER_TRIP, limit - len(found)), after)
        found += [record for _, _, record in page.rows]
        if not page.truncated:
            return found, False
        if len(found) >= limit:
            return found, True
        after = page.rows[-1][0]


def with_aliases(held: Sequence[Sequence[str]], chosen: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """The chosen resources of a claim, with the inode of each multiply linked file."""
    found: list[Sequence[str]] = []
    for place, resource in enumerate(held):
        if resource in chosen:
            found.append(resource)
            found += [one for one in held[place + 1 : place + 2] if one[0] == "inode"]
    return found


def left(tx: Transaction, record: Record) -> str:
    """For how much longer a claim is held, and what ends it earlier: "29 min left; ends with its commit"."""
    ends = EARLY_ENDS.get(record.get("ends") or record["by"], "")
    return f"{in_words(record['until'] - tx.now)} left" + (f"; {ends}" if ends else "")


def blocker(tx: Transaction, record: Record, wanted: Sequence[Sequence[str]], asking: str = "") -> dict[str, Any]:
    """One record in the way, as a refusal shows it. `asking`: the agent that is refused."""
    resource = resources.any_overlap(record["resources"], wanted)
    shown = {
        "agent": record["agent"],
        "resource": resources.show(resource if resource is not None else record["resources"][0]),
        "mode": record["mode"],
        "since": iso(tx, record["since"]),
        "until": iso(tx, record["until"]),
        "reason": record["reason"],
    }
    if resource is not None and resource[0] == "inode":  # a hard link: name the path that holds it
        shown["resource"] = resources.shown(record["resources"])[0]
    if WAITER in record:
        shown["waiting"] = True
        shown["until"] = iso(tx, record["deadline"])
    else:
        shown["left"] = left(tx, record)
        if _is_dead(tx, record["agent"]):
            shown["dead"] = True
    if asking and record["agent"].startswith(f"{asking}/"):
        shown["subagent"] = True
    if record.get("task"):
        shown["task"] = record["task"]
        task = tx.get(f"t\t{record['task']}")
        if task is not None:
            shown["title"] = task["title"]
    return shown


def _is_dead(tx: Transaction, agent: str) -> bool:
    """Was it noticed that the agent's process is gone? A claim that is not tied to it lasts until its deadline."""
    known = get_agent(tx, agent)
    if known is None or known["process"] is None:
        return False
    return known.get("mourned") == process_name(known["process"])


def contested(in_the_way: Sequence[Record], asked: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """What these are in the way of, of what was asked for."""
    return [one for one in asked if any(resources.overlap(one, held) for held in _resources_of(in_the_way))]


def wanted(met: Sequence[Sequence[str]], asked: Sequence[Sequence[str]]) -> list[str]:
    """What was asked for, as a refusal names it: what is contested first, and the rest if that is little."""
    folders = [one for one in asked if one[0] == "tree"]
    named = [
        one
        for one in [*met, *[one for one in asked if one not in met]]
        if not any(one != folder and resources.all_covered([one], [folder]) for folder in folders)  # the folder has it
    ]
    names = resources.shown([one for one in named if one in met][:WANTED] if len(asked) > WANTED else named)
    return list(dict.fromkeys(names))


def _resources_of(records: Sequence[Record]) -> list[Any]:
    return [resource for record in records for resource in record["resources"]]


def held(tx: Transaction, record: Record) -> dict[str, Any]:
    """One claim, as status and boot show it."""
    shown = {
        "claim": record["claim"],
        "agent": record["agent"],
        "resources": resources.shown(record["resources"]),
        "mode": record["mode"],
        "token": record["token"],
        "since": iso(tx, record["since"]),
        "expires_at": iso(tx, record["until"]),
        "left": left(tx, record),
        "reason": record["reason"],
        "task": record["task"],
        "ttl": record["ttl"] / 1000,
        "renewed_at": iso(tx, record["renewed"] if "renewed" in record else record["since"]),
    }
    if record["expect"]:
        shown["expected"] = record["expect"] / 1000
    if record["tree"]:
        shown["tree"] = record["tree"]
    return shown


def granted(tx: Transaction, claim: Record, **more: Any) -> dict[str, Any]:
    """One claim, as the answer to the agent that took or renewed it shows it."""
    answer = {
        "claim": claim["claim"],
        "token": claim["token"],
        "resources": resources.shown(claim["resources"]),
        "mode": claim["mode"],
        "expires_at": iso(tx, claim["until"]),
        "agent": claim["agent"],
    }
    if claim.get("ends"):
        answer["ends"] = claim["ends"]
    answer.update(more)
    return answer
