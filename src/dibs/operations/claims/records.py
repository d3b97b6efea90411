"""What the room of claims stores: claims, waiters, interests and losses. Their types, keys, reading and writing.

Claims, waiters and interests share one family of keys, so that one trip finds everything that a request can meet. A
record has a row for each of its resources. The first row has the record and the index entries: by agent, and by the
time at which a sweep should look at it. The others say where the first one is (`PointerRow`), so that N paths cost N
rows and not N times N paths, and a new deadline one row. (Records of version 0.2 and earlier stand whole in each row;
reading takes both.)

Their keys are `r/PATH⇥LAST⇥…`: PATH is the literal path or a glob's literal prefix, LAST a glob's last component if
that is literal. Everything that can overlap a path lies at one of its ancestors or below it.

Nothing is decided here. All times are on the store's clock, in milliseconds.
"""

from __future__ import annotations

from dibs.errors import Quota
from dibs.operations.claims.resources import (
    LITERAL_KINDS,
    any_overlap,
    glob_prefix,
    is_pool,
    normal,
    pool_of,
    same_tree,
)
from dibs.operations.core.call import TOKEN, due
from dibs.stores.seam import AFTER_KEY, prefix_range, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import NotRequired, TypedDict

    from typing_extensions import TypeIs

    from dibs.operations.claims.resources import Mode, Resource
    from dibs.operations.pools.shapes import Shape
    from dibs.operations.tasks.records import Task
    from dibs.stores.seam import Json, Range, Transaction

    class Wish(TypedDict):
        """What a request wants of one pool, with the pool as the caller's config has it."""

        count: int  # units, in addition to those that it names
        shape: Shape
        unusable: NotRequired[list[str]]  # units that something else on the caller's machine uses
        polls: NotRequired[bool]  # it takes them at its own look: its pool has a rate, or minds the machine's pressure

    class Want(TypedDict):
        """What an agent holds or asks for: enough to tell whether two of them are in each other's way."""

        agent: str
        mode: Mode
        tree: str  # the working tree that it is confined to; "": all of them
        resources: Sequence[Resource]  # each alias right after its file; of a claim never a pool, but its units
        units: NotRequired[int]  # of a request that names pools: how many of each that it names without a unit
        pools: NotRequired[dict[str, Wish]]  # of the same: by the pool's name

    class Holding(Want):
        """What can be in the way of a request, as a refusal shows it: a claim, a waiter, or what the guards add."""

        reason: str
        by: str
        since: int
        until: int

    class InterestRequest(Want):
        """What a refused agent wants to be told of."""

        reason: str  # why it wants it, in its own words

    class Terms(Want):
        """On which terms a claim is asked for; it is granted on the same."""

        reason: str  # what it is for, in the agent's words
        task: str  # the task that it serves, or ""
        expect: int  # how long the agent expects to need it, in ms; 0: unsaid
        ttl: int  # how long it lasts without a renewal, in ms
        fixed: bool  # the ttl was given: activity does not renew it
        by: str  # what made it: hand, edit, shell, task, deploy, …
        tied: bool  # it ends with the agent's process
        life: int  # of a request: how long it may be renewed, in ms; of a claim: the time up to which

    class ClaimTerms(Terms):
        """The terms of one request: those of the claim, and what it needs while it waits."""

        deadline: int  # until then it waits
        request: list[str] | None  # operation and request id
        keep: bool  # the claim stays after the commit of its file
        ends: str  # what ends the claim before its deadline: `commit`, or ""
        wake: str  # the name to wake while it waits
        base: dict[str, str]  # path → content, when an edit asked for it

    class OfTree(TypedDict):
        """What a working tree has units of pools for (environments/tree_claims.py)."""

        tree: str  # where it was when it asked last
        vars: dict[str, dict[str, list[str]]]  # variable → pool → own names of units

    class Claim(Terms):
        """A granted claim."""

        claim: str  # its id
        token: int  # the number of the commit that granted it
        since: int
        until: int  # its deadline
        pending: bool  # handed over to a waiter that has not picked it up yet
        alert_at: int  # when an alert is due because it lasts too long; 0: never, or raised already
        renewed: NotRequired[int]  # the last renewal; absent: there was none (version 0.2 and earlier)
        ends: NotRequired[str]  # as in its request
        base: NotRequired[dict[str, str]]  # as in its request
        place: NotRequired[str]  # the waiter that it was handed over to
        upgrade: NotRequired[bool]  # it replaced a weaker claim of its agent
        commit: NotRequired[str]  # the last commit that has work on it
        undo: NotRequired[str]  # the undo that it was taken for
        undo_of: NotRequired[list[str]]  # the agents whose changes that undo reverts
        undo_took: NotRequired[list[Claim]]  # the claims that it took away from them
        rows: NotRequired[str]  # id and number of its pointer rows, if it has any
        env: NotRequired[OfTree]  # its holder is a working tree

    class Waiter(ClaimTerms):
        """A place in the queue: the terms of the request, and its turn."""

        waiter: str  # its id
        ticket: int  # the number of the commit that queued it: its turn
        since: int
        until: int  # it counts as present until then
        alert_at: int  # when an alert is due because it waits too long; 0: raised already
        expected: int  # how long the holders expected to need it, in ms
        rows: NotRequired[str]  # as in a claim

    class Interest(InterestRequest):
        """What a refused agent is told of when it is free. It blocks nobody."""

        interest: str  # its id
        since: int
        until: int
        rows: NotRequired[str]  # as in a claim

    class PointerRow(TypedDict):
        """The row of a further resource. It has the id of its claim, waiter or interest under that kind's name."""

        claim: NotRequired[str]
        waiter: NotRequired[str]
        interest: NotRequired[str]
        agent: str
        first: Resource  # under this one is the record

    class Loss(TypedDict):
        """A claim that an agent lost; it is told at its next boot."""

        claim: str
        agent: str
        resources: Sequence[Resource]
        mode: Mode
        token: int
        tree: str
        task: str
        why: str  # expired, unclaimed, gone, killed, forced, …
        at: int
        until: int  # then it is forgotten
        told: NotRequired[bool]  # in a message already
        settled: NotRequired[bool]  # it no longer refuses the agent's commits

    class Place(Want):
        """A place in any queue, one for a task included: what the search for deadlocks follows."""

        waiter: str
        ticket: int
        until: int

    Stored = Claim | Waiter | Interest

ROWS_PER_TRIP = 512  # rows in one trip
MAX_ROWS_PER_TRIP = 4_096  # of a long way: each trip takes twice as many as the last
MAX_COST = 40_000  # of a request: 40,000 rows without a record, or 10,000 records; 200 ms on SQLite
RECORD_COST = 4  # of a row with its record
MAX_RECORDS = 1_000_000  # of one agent: more than any agent holds

CLAIM, WAITER, INTEREST = "claim", "waiter", "interest"  # the kinds; a record has its id under its kind's name
BY_HAND = "hand"  # the `by` of a claim that an agent asked for
FIRST = "first"  # only a pointer row has it
_LETTER = {CLAIM: "h", WAITER: "w", INTEREST: "i"}
_INDEX = {CLAIM: "claims", WAITER: "waits", INTEREST: "interests"}


# --- kinds


def kind_of(record: Stored | PointerRow) -> str:
    """A claim, a waiter or an interest."""
    return CLAIM if CLAIM in record else WAITER if WAITER in record else INTEREST


def is_claim(record: Want) -> TypeIs[Claim]:
    """Is it a claim?"""
    return CLAIM in record


def is_waiter(record: Want) -> TypeIs[Waiter]:
    """Is it a waiter?"""
    return WAITER in record


def is_interest(record: Want) -> TypeIs[Interest]:
    """Is it an interest?"""
    return INTEREST in record


def kind_at(key: str, record: Stored) -> str:
    """The kind of what any key has; "" if that is neither claim, waiter nor interest, but another room's or a loss."""
    on_path = key.startswith(("r/", "r\t"))
    return kind_of(record) if on_path or (key[0] in "ni" and ":" in key.partition("\t")[0]) else ""


def id_of(record: Stored | PointerRow) -> str:
    """The id of a claim, a waiter or an interest."""
    return str(record.get(CLAIM) or record.get(WAITER) or record.get(INTEREST))


def waiter_of(place: Want) -> str:
    """The id of a place in a queue; "" for a request that has none yet."""
    return str(place.get(WAITER, ""))


# --- keys


def key_of(resource: Resource, suffix: str) -> str:
    """The key of a claim, waiter or interest on one resource.

    - `r/PATH⇥LAST⇥hAGENT⇥ID`: a claim (`Claim`) on a path, directory or glob, whose text follows after another TAB
    - `r/PATH⇥LAST⇥wAGENT⇥ID`: a waiter (`Waiter`)
    - `r/PATH⇥LAST⇥iAGENT⇥ID`: an interest (`Interest`)
    - `nNAME⇥⇥…`: the same three for a name such as `deploy:prod` or a unit, `pool:NAME:UNIT`; a pool has no claims
    - `iDEVICE:INODE⇥⇥…`: the same three for a multiply linked file
    """
    kind, text = resource[0], resource[1]
    if kind in LITERAL_KINDS:
        return f"r/{text}\t\t{suffix}" if text else f"r\t\t{suffix}"
    if kind == "glob":
        from dibs.operations.claims import globs

        prefix = globs.literal_prefix(text)
        # with the whole glob at the end: one claim may have several with the same prefix and last component
        return f"r{'/' if prefix else ''}{prefix}\t{globs.literal_last(text)}\t{suffix}\t{text}"
    return f"{kind[0]}{text}\t\t{suffix}"


def claim_key(resource: Resource, agent: str, claim: str) -> str:
    """A claim's row on one of its resources."""
    return key_of(resource, _suffix(CLAIM, agent, claim))


def _suffix(kind: str, agent: str, identifier: str) -> str:
    return f"{_LETTER[kind]}{agent}\t{identifier}"


def index_prefix(kind: str) -> str:
    """The entries of the first index that list all records of one kind, by agent."""
    return f"{_INDEX[kind]}\t"


def index_entry(kind: str, agent: str, identifier: str = "") -> str:
    """The entry of one record in the first index; without an id, what those of one agent begin with."""
    return f"{_INDEX[kind]}\t{agent}\t{identifier}"


def index_entries(kind: str, agent: str, *, family: bool) -> list[str]:
    """What the entries of an agent's records of one kind begin with, and with `family` those of its descendants."""
    return [index_entry(kind, agent), *([f"{_INDEX[kind]}\t{agent}/"] if family else ())]


def task_line(task: str, turn: str = "", waiter: str = "") -> str:
    """The entry of a wait for a task in the first index, by turn; without a turn, what all for the task begin with."""
    return f"line\t{task}\t{turn}\t{waiter}" if turn else f"line\t{task}\t"


def task_wait(agent: str, waiter: str = "") -> str:
    """The entry of an agent's wait for a task in the second index; without a waiter, what all of it begin with."""
    return f"task-waits\t{agent}\t{waiter}"


def loss_key(agent: str, claim: str) -> str:
    """A claim that an agent lost, which was not told of it yet."""
    return f"l\t{agent}\t{claim}"


def losses_prefix(agent: str, *, family: bool = False) -> str:
    """What the keys of an agent's losses begin with; with `family`, those of its descendants."""
    return f"l\t{agent}/" if family else f"l\t{agent}\t"


def loss_ranges(agent: str) -> list[Range]:
    """The keys of the losses of an agent and of its descendants."""
    return [prefix_range(losses_prefix(agent)), prefix_range(losses_prefix(agent, family=True))]


def is_loss_key(key: str) -> bool:
    """Is a loss stored there?"""
    return key.startswith("l\t")


_last_ranges: tuple[list[list[str]], list[Range]] = ([], [])


def ranges_of(resources: Sequence[Resource]) -> list[Range]:
    """The ranges of keys that hold everything that can overlap these resources; disjoint and sorted.

    The last answer is cached: what is prefetched for an operation is what it reads. Do not change the list.
    """
    global _last_ranges  # noqa: PLW0603 - a cache of one entry
    last = _last_ranges  # read once: another thread may replace it
    if last[0] != resources:
        last = _last_ranges = (
            [[*resource] for resource in resources],
            _ranges_of(resources),
        )  # a copy: callers change theirs
    return last[1]


def _ranges_of(resources: Sequence[Resource]) -> list[Range]:
    """The end of a prefix is the prefix with its last character raised by one: TAB becomes newline, `/` becomes `0`."""
    ranges: list[Range] = []
    for resource in resources:
        kind, text = resource[0], resource[1]
        if kind in LITERAL_KINDS or kind == "glob":
            base = text if kind in LITERAL_KINDS else glob_prefix(text)
            last = base.rpartition("/")[2] if kind == "file" else ""
            for ancestor in _lineage(base):
                if last:  # a glob whose last component is another name cannot match this file
                    ranges.append((f"{ancestor}\t\t", f"{ancestor}\t\n"))
                    ranges.append((f"{ancestor}\t{last}\t", f"{ancestor}\t{last}\n"))
                else:
                    ranges.append((f"{ancestor}\t", f"{ancestor}\n"))
            ranges.append((f"r/{base}/", f"r/{base}0") if base else ("r/", "r0"))
        else:
            ranges += _ranges_of_name(resource)
    return ranges if len(resources) == 1 else _merged(sorted(ranges))  # those of one resource are in order already


def _ranges_of_name(resource: Resource) -> list[Range]:
    """The rows of a name; those of a pool are also those of its units, and those of a unit also of its pool's."""
    name, pool = f"{resource[0][0]}{resource[1]}", pool_of(resource)
    if not pool:
        return [(f"{name}\t", f"{name}\n")]
    if pool == resource[1]:
        return [(f"{name}\t", f"{name}\n"), (f"{name}:", f"{name};"), (f"{name}@", f"{name}A")]
    return [(f"n{pool}\t", f"n{pool}\n"), (f"{name}\t", f"{name}\n")]


def ranges_for(wanted: Sequence[Resource]) -> list[Range]:
    """`ranges_of`, for resources as the caller wrote them."""
    return ranges_of(normal(wanted))


def places_of(resources: Sequence[Resource]) -> list[Range]:
    """The ranges of keys that hold everything that is on these very resources, and not on what is below them."""
    keys = set()
    units = [one for resource in resources if is_pool(resource) for one in _ranges_of_name(resource)[1:]]
    for resource in resources:
        literal = resource[0] != "glob"
        keys.add(key_of(resource, "").rstrip("\t") if literal else _lineage(glob_prefix(resource[1]))[-1])
    return _merged(sorted([*[(f"{key}\t", f"{key}\n") for key in keys], *units]))


def root_range() -> Range:
    """The keys of what is on the root: the whole directory, and the globs that begin with a wildcard."""
    return prefix_range("r\t")


def _lineage(path: str) -> list[str]:
    """What the keys of the root, of each directory above a path, and of the path itself begin with."""
    lineage = ["r"]
    place = path.find("/")
    while place >= 0:
        lineage.append(f"r/{path[:place]}")
        place = path.find("/", place + 1)
    if path:
        lineage.append(f"r/{path}")
    return lineage


def _merged(ranges: list[Range]) -> list[Range]:
    merged: list[Range] = []
    for low, high in ranges:
        if merged and low < merged[-1][1]:
            if high > merged[-1][1]:
                merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return merged


# --- writing


def new_claim(
    tx: Transaction, terms: Terms, *, until: int, pending: bool, alert_at: int, base: dict[str, str], ends: str
) -> Claim:
    """A claim on the terms of its request, not written yet."""
    claim: Claim = {
        "claim": f"c{tx.id()}", "agent": terms["agent"], "mode": terms["mode"], "tree": terms["tree"],
        "resources": terms["resources"], "reason": terms["reason"], "task": terms["task"], "expect": terms["expect"],
        "ttl": terms["ttl"], "fixed": terms["fixed"], "by": terms["by"], "tied": terms["tied"], "token": TOKEN,
        "since": tx.now, "until": until, "life": tx.now + terms["life"], "pending": pending, "alert_at": alert_at,
        "renewed": tx.now,
    }  # fmt: skip
    if base:
        claim["base"] = base
    if ends:
        claim["ends"] = ends
    return claim


def new_waiter(tx: Transaction, terms: ClaimTerms, *, ticket: int, since: int, alert_at: int, expected: int) -> Waiter:
    """A place in the queue for a request, not written yet. It is present from the first poll on."""
    turn = {"ticket": ticket, "since": since, "until": since, "alert_at": alert_at, "expected": expected}
    waiter: Json = {**terms, "waiter": f"w{tx.id()}", **turn}
    typed: Waiter = waiter
    return typed


def put(tx: Transaction, record: Stored, dropped: Iterable[Resource] = ()) -> None:
    """Write a record; delete its rows under the resources that it no longer has."""
    kind, identifier = kind_of(record), id_of(record)
    suffix = _suffix(kind, record["agent"], identifier)
    for resource in dropped:
        tx.delete(key_of(resource, suffix))
    first, *others = record["resources"]
    rows = f"{identifier} {len(others)}"
    if others and (dropped or record.get("rows") != rows):  # else the other rows are there already
        record["rows"] = rows
        for resource in others:
            tx.put(key_of(resource, suffix), {kind: identifier, "agent": record["agent"], FIRST: first})
    tx.put(key_of(first, suffix), record, index_entry(kind, record["agent"], identifier), due(_look_at(record)))


def _look_at(record: Stored) -> int:
    """When a sweep should look at a record: at its deadline, or earlier for an alert."""
    alert = 0 if is_interest(record) else record["alert_at"]
    return min(record["until"], alert) if alert else record["until"]


def remove(tx: Transaction, record: Stored) -> None:
    """Delete a record altogether."""
    suffix = _suffix(kind_of(record), record["agent"], id_of(record))
    for resource in record["resources"]:
        tx.delete(key_of(resource, suffix))
    record.pop("rows", None)


def put_loss(tx: Transaction, loss: Loss) -> None:
    """Write a loss."""
    tx.put(loss_key(loss["agent"], loss["claim"]), loss, i2=due(loss["until"]))


# --- reading


def whole(tx: Transaction, rows: Sequence[Stored | PointerRow]) -> list[Stored]:
    """The records that these rows have or point to, each once and in their order."""
    known: dict[str, Json] = {id_of(row): row for row in rows if FIRST not in row}
    away = {id_of(row): _key_of_first(row) for row in rows if id_of(row) not in known}
    if away:
        records = tx.get_many(list(away.values()))
        known.update({identifier: records[key] for identifier, key in away.items()})
    return [known[identifier] for identifier in dict.fromkeys(map(id_of, rows))]


def _key_of_first(row: Json) -> str:
    return key_of(row[FIRST], _suffix(kind_of(row), row["agent"], id_of(row)))


def overlapping(tx: Transaction, wanted: Sequence[Resource], tree: str, most: int = 0) -> Iterator[Stored]:
    """Every record that overlaps the wanted resources in this working tree, each once.

    Expired records are included: the caller decides. `most`: what it may cost; beyond that `Quota` is raised.
    """
    for record in within_ranges(tx, ranges_of(wanted), most):
        if same_tree(tree, record["tree"]) and any_overlap(record["resources"], wanted) is not None:
            yield record


def overlapping_claims(tx: Transaction, wanted: Sequence[Resource], tree: str, most: int = 0) -> Iterator[Claim]:
    """The claims among them, live or expired."""
    for record in overlapping(tx, wanted, tree, most):
        if is_claim(record):
            yield record


def within_ranges(tx: Transaction, ranges: Sequence[Range], most: int = 0) -> Iterator[Stored]:
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
        new = [row for _, row in page.rows if not seen or id_of(row) not in seen]
        yield from whole(tx, new)
        if not page.truncated:
            return
        seen.update(map(id_of, new))
        last = page.rows[-1][0]
        remaining = [(max(low, last + AFTER_KEY), high) for low, high in remaining if high > last]


def claims_of(tx: Transaction, agent: str, *, family: bool = False, limit: int = MAX_RECORDS) -> list[Claim]:
    """The claims of an agent, and with `family` of its descendants. `limit`: after so many no further page is read."""
    return [claim for entry in index_entries(CLAIM, agent, family=family) for claim in _pages(tx, entry, limit)]


def waiters_of(tx: Transaction, agent: str, limit: int = MAX_RECORDS) -> list[Waiter]:
    """The places of an agent in queues; `limit` as above."""
    return _pages(tx, index_entry(WAITER, agent), limit)


def interests_of(tx: Transaction, agent: str, limit: int = MAX_RECORDS) -> list[Interest]:
    """The interests of an agent; `limit` as above."""
    return _pages(tx, index_entry(INTEREST, agent), limit)


def _pages(tx: Transaction, prefix: str, limit: int) -> list[Json]:
    """The records whose entry in the first index begins so, in whole pages until there are `limit`."""
    records: list[Json] = []
    after = ""
    while True:
        page = tx.scan(1, prefix, ROWS_PER_TRIP, after)
        records += [record for _, _, record in page.rows]
        if not page.truncated or len(records) >= limit:
            return records
        after = page.rows[-1][0]


def all_claims(tx: Transaction, limit: int) -> tuple[list[Claim], bool]:
    """All claims, up to a limit; and whether there are more."""
    return _up_to(tx, CLAIM, limit)


def all_waiters(tx: Transaction, limit: int) -> tuple[list[Waiter], bool]:
    """All waiters, up to a limit; and whether there are more."""
    return _up_to(tx, WAITER, limit)


def all_interests(tx: Transaction, limit: int) -> tuple[list[Interest], bool]:
    """All interests, up to a limit; and whether there are more."""
    return _up_to(tx, INTEREST, limit)


def _up_to(tx: Transaction, kind: str, limit: int) -> tuple[list[Json], bool]:
    records: list[Json] = []
    after = ""
    while True:
        page = tx.scan(1, index_prefix(kind), min(ROWS_PER_TRIP, limit - len(records)), after)
        records += [record for _, _, record in page.rows]
        if not page.truncated or len(records) >= limit:
            return records, page.truncated
        after = page.rows[-1][0]


def get_claim(tx: Transaction, agent: str, claim: str) -> Claim | None:
    """A claim by its holder and id."""
    return next((record for _, _, record in tx.scan(1, index_entry(CLAIM, agent, claim), 1).rows), None)


def get_waiter(tx: Transaction, agent: str, waiter: str) -> Waiter | None:
    """A waiter by its agent and id."""
    return next((record for _, _, record in tx.scan(1, index_entry(WAITER, agent, waiter), 1).rows), None)


def get_loss(tx: Transaction, agent: str, claim: str) -> Loss | None:
    """A loss by its agent and claim."""
    loss: Loss | None = tx.get(loss_key(agent, claim))
    return loss


def losses_of(tx: Transaction, agent: str, *, family: bool = False) -> Iterator[tuple[str, Loss]]:
    """The losses of an agent, and with `family` of its descendants, with their keys. They may be deleted on the way."""
    yield from walk(tx, losses_prefix(agent))
    if family:
        yield from walk(tx, losses_prefix(agent, family=True))


def places_for_task(tx: Transaction, task: str, limit: int) -> list[Place]:
    """The waits for one task, by turn."""
    return [place for _, _, place in tx.scan(1, task_line(task), limit).rows]


def task_places_of(tx: Transaction, agent: str, limit: int) -> list[Place]:
    """The waits of an agent for tasks."""
    return [place for _, _, place in tx.scan(2, task_wait(agent), limit).rows]


# --- of tasks, which stand above claims: the key is that of tasks/records.py


def title_of_task(tx: Transaction, task: str) -> str | None:
    """The title of a task; None if there is no task of that id."""
    record: Task | None = tx.get(f"t\t{task}")
    return None if record is None else record["title"]
