"""`map`: which agent reads and writes which resource, learned from the log, the live claims and the configuration.

A claim to write is a write, a claim to read or to watch is a read; so are a document that is set or subscribed to
(`state:KEY`) and an event that is emitted or subscribed to (`event:KIND`). A change that the guards attributed counts
as a write, also where there was no claim. What an agent merely looks at is not in the log. Tasks are left out: each has
one agent at a time.

Resources are listed by name, always in the same order. With `depth`, or where there are more than `rows`, paths are
folded into their directories.
"""

from __future__ import annotations

from dibs.facts import clock
from dibs.operations.core import paging
from dibs.operations.core.declare import PAGED, Field
from dibs.operations.core.query import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.core.call import Call
    from dibs.session.session import Session

    Event = dict[str, Any]

MAX_RESOURCES = 50_000  # that are kept in memory; further ones are only counted
MAX_DEPTH = 50
READ, WRITE, REFUSED = "read", "write", "refused"
STATE, EVENT = "state:", "event:"
PATHS = frozenset(("file", "tree", "glob"))
KINDS = frozenset(
    (
        "claim.granted", "claim.moved", "claim.released", "claim.ended", "claim.refused", "edit.violated", "edit.taken",
        "edit.restored", "state.set", "event.emitted", "event.subscribed",
    )
)  # fmt: skip


class Use:
    """What one agent did with one resource."""

    __slots__ = ("reads", "refused", "seq", "wall", "writes")

    def __init__(self) -> None:
        self.reads = self.writes = self.refused = self.seq = self.wall = 0


class Row:
    """One resource, with the agents that use it."""

    __slots__ = ("agents", "folded", "kind", "name")

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind = name, kind
        self.agents: dict[str, Use] = {}
        self.folded = 0  # resources in this one, if it is a folded directory

    def writers(self) -> list[str]:
        """The agents that write it."""
        return [agent for agent, use in self.agents.items() if use.writes]


class Learned:
    """Reads events, in their order."""

    def __init__(self, since_wall: int = 0) -> None:
        self._since = since_wall
        self.rows: dict[str, Row] = {}
        self.left_out = 0
        self._live: dict[str, tuple[list[Any], str]] = {}  # claim → resources, mode

    def read(self, event: Event) -> None:
        """Add one event."""
        kind, data, agent = event["kind"], event["data"], event["agent"]
        if kind == "claim.granted":
            self._live[event["subject"]] = (data["resources"], data["mode"])
            self._claimed(event, agent, data["resources"], data["mode"])
        elif kind == "claim.refused":
            self._claimed(event, agent, data.get("contested") or data["resources"], REFUSED)
        elif kind == "claim.moved":
            found = self._live.get(event["subject"])
            if found is not None and data.get("why") != "boot":
                self._claimed(event, data["to"], *found)
        elif kind == "claim.ended" or (kind == "claim.released" and not data.get("left")):
            self._live.pop(event["subject"], None)
        elif kind in {"edit.violated", "edit.taken", "edit.restored"}:
            self._add(event, agent, event["subject"], "file", WRITE)
        elif kind == "state.set":
            self._add(event, agent, f"{STATE}{event['subject']}", "state", WRITE)
        elif kind == "event.emitted":
            self._add(event, agent, f"{EVENT}{event['subject']}", "event", WRITE)
        elif kind == "event.subscribed":
            what = event["subject"]
            name, sort = (what, "state") if what.startswith(STATE) else (f"{EVENT}{what}", "event")
            self._add(event, agent, name, sort, READ)

    def _claimed(self, event: Event, agent: str, resources: list[Any], mode: str) -> None:
        how = mode if mode in {WRITE, REFUSED} else READ
        for kind, text, *_ in resources:
            if kind != "inode" and not (kind == "name" and text.startswith("task:")):
                self._add(event, agent, text or ".", kind, how)

    def _add(self, event: Event, agent: str, name: str, kind: str, how: str) -> None:
        if event["wall"] < self._since or not agent:
            return
        row = self.rows.get(name)
        if row is None:
            if len(self.rows) >= MAX_RESOURCES:
                self.left_out += 1
                return
            row = self.rows[name] = Row(name, kind)
        use = row.agents.get(agent)
        if use is None:
            use = row.agents[agent] = Use()
        if how == WRITE:
            use.writes += 1
        elif how == READ:
            use.reads += 1
        else:
            use.refused += 1
        use.seq, use.wall = event["seq"], event["wall"]


def fold(rows: dict[str, Row], depth: int) -> dict[str, Row]:
    """The same with paths folded into the directories at this depth; names are not folded."""
    found: dict[str, Row] = {}
    for row in rows.values():
        parts = row.name.split("/")
        deep = row.kind in PATHS and len(parts) > depth
        name = "/".join(parts[:depth]) + "/" if deep else row.name
        into = found.get(name)
        if into is None:
            into = found[name] = Row(name, "tree" if deep else row.kind)
        into.folded += 1 if deep else 0
        for agent, use in row.agents.items():
            mine = into.agents.setdefault(agent, Use())
            mine.reads, mine.writes = mine.reads + use.reads, mine.writes + use.writes
            mine.refused = mine.refused + use.refused
            mine.seq, mine.wall = max(mine.seq, use.seq), max(mine.wall, use.wall)
    return found


def fitted(rows: dict[str, Row], depth: int, most: int) -> tuple[dict[str, Row], int]:
    """Folded to `depth`, or as little as needed to have at most so many rows; and the depth."""
    if depth:
        return fold(rows, depth), depth
    if not most or len(rows) <= most:
        return rows, 0
    deepest = max(name.count("/") for name in rows)
    for level in range(min(deepest, MAX_DEPTH), 0, -1):
        folded = fold(rows, level)
        if len(folded) <= most or level == 1:
            return folded, level
    return rows, 0


# --- the query


def _map(session: Session, call: Call, **fields: Any) -> dict[str, Any]:
    """The map: learned in one pass through the log, with what is held now."""
    from dibs.operations.claims import resources as overlap
    from dibs.operations.oversight.snapshot import READ as SNAPSHOT
    from dibs.reports import events, log_walk
    from dibs.session.log_reader import LogReader

    limit = paging.check_limit(fields["limit"])
    since_seq, since_wall = events.since_of(fields["since"])
    facts = session.run(SNAPSHOT, call, {})
    learned = Learned(since_wall)
    log = LogReader(session, call) if since_seq or since_wall else None  # a time that is asked for may be in archives
    start = since_seq or (log_walk.first_since(session, since_wall, facts["events"], log) if since_wall else 0)
    for event in log_walk.events(session, KINDS, facts["events"], start, log):
        learned.read(event)
    rows = learned.rows
    if fields["path"]:
        wanted = overlap.normal(fields["path"])
        texts = set(overlap.shown(wanted))
        rows = {
            name: row
            for name, row in rows.items()
            if name in texts
            or (row.kind not in {"state", "event"} and overlap.any_overlap([(row.kind, _text(name), "")], wanted))
        }
    rows, depth = fitted(rows, fields["depth"], fields["rows"])
    held = _held(facts["claims"], depth)
    names = _names(session, call, rows, facts)
    page = paging.listed([rows[name] for name in sorted(rows)], lambda row: str(row.name), limit, fields["after"])
    return {
        "resources": [_shown(session, row, held, names) for row in page.records],
        "agents": _agents(rows, names),
        "totals": {
            "resources": len(rows), "agents": len({agent for row in rows.values() for agent in row.agents}),
            "writers": len({agent for row in rows.values() for agent in row.writers()}),
            "left_out": learned.left_out,
        },
        "roles": _roles(session),
        "depth": depth,
        **page.answer(),
    }  # fmt: skip


def _text(name: str) -> str:
    return "" if name == "." else name


def _held(claims: list[dict[str, Any]], depth: int) -> dict[str, set[str]]:
    """Resource, or its folded directory → the agents that hold it now."""
    found: dict[str, set[str]] = {}
    for claim in claims:
        for name in () if claim["gone"] else claim["resources"]:
            parts = name.split("/")
            at = "/".join(parts[:depth]) + "/" if depth and len(parts) > depth else name
            found.setdefault(at, set()).add(claim["agent"])
    return found


def _names(session: Session, call: Call, rows: dict[str, Row], facts: dict[str, Any]) -> dict[str, str]:
    known = {agent["agent"]: agent["name"] for agent in facts["agents"]}
    missing = sorted({agent for row in rows.values() for agent in row.agents} - set(known))
    if missing:
        from dibs.operations.agents.lookups import NAMES

        known.update(session.run(NAMES, call, {"agents": missing})["names"])
    return known


def _shown(session: Session, row: Row, held: dict[str, set[str]], names: dict[str, str]) -> dict[str, Any]:
    here = held.get(row.name, set())
    agents = []
    for agent in sorted(row.agents):
        use = row.agents[agent]
        access = [word for word, count in ((READ, use.reads), (WRITE, use.writes)) if count] or [REFUSED]
        agents.append(
            {
                "agent": agent, "name": names.get(agent) or agent, "access": "+".join(access), "writes": use.writes,
                "reads": use.reads, "refused": use.refused, "holds": agent in here, "event": use.seq,
                "at": clock.iso(use.wall),
            }
        )  # fmt: skip
    found = {
        "resource": row.name, "kind": row.kind, "level": _level(session, row), "agents": agents,
        "writers": len(row.writers()),
    }  # fmt: skip
    return {**found, "folded": row.folded} if row.folded else found


def _level(session: Session, row: Row) -> str:
    """What the guards ask of a path: free, guarded, strict; "" for what is no path."""
    if row.kind not in PATHS:
        return ""
    from dibs.operations.guards.edit_guard import guard_level

    return guard_level(
        session.config.policy.guards, [row.kind, _text(row.name).rstrip("/") if row.folded else _text(row.name)],
        ignored=False,
    )  # fmt: skip


def _agents(rows: dict[str, Row], names: dict[str, str]) -> list[dict[str, Any]]:
    """The agents on the map, those that write most first."""
    counts: dict[str, list[int]] = {}
    for row in rows.values():
        for agent, use in row.agents.items():
            one = counts.setdefault(agent, [0, 0, 0])
            one[0] += use.writes > 0
            one[1] += use.reads > 0
            one[2] += use.refused
    order = sorted(counts, key=lambda agent: (-counts[agent][0], -counts[agent][1], agent))
    return [
        {"agent": agent, "name": names.get(agent) or agent, "writes": counts[agent][0], "reads": counts[agent][1],
         "refused": counts[agent][2]}
        for agent in order
    ]  # fmt: skip


def _roles(session: Session) -> list[dict[str, Any]]:
    """Who may write what, by the configuration."""
    roles = session.config.policy.guards["roles"]
    given = [*roles["assign"], *([("*", roles["default"])] if roles["default"] else [])]
    return [
        {"who": who, "role": role, "write": list(roles["named"].get(role, {}).get("write", ()))} for who, role in given
    ]


MAP = Query(
    "map",
    _map,
    "Show which agent reads and writes which resource.",
    fields=(
        Field("path", "resources", "only resources that overlap these", positional=True, default=(), metavar="PATH"),
        Field("since", "text", "only what happened in the last 2h, 7d …, or after this event number", default="",
              metavar="D|SEQ"),
        Field("depth", "integer", "fold paths into their directories at this depth (0: no)", default=0, most=MAX_DEPTH,
              metavar="N"),
        Field("rows", "integer", "fold as little as needed for at most N rows (0: do not fold)", default=0,
              metavar="N"),
        *PAGED,
    ),
    answer="MapAnswer",
    group="record",
)  # fmt: skip

QUERIES = (MAP,)
