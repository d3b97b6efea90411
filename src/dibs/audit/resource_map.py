"""`map`: which agent reads and writes which resource, learned from the log, the live claims and the configuration.

A claim to write is a write, a claim to read or to watch is a read; so are a document that is set or subscribed to
(`state:KEY`) and an event that is emitted or subscribed to (`event:KIND`). A change that the guards attributed counts
as a write, also where there was no claim. What an agent merely looks at is not in the log. Tasks are left out: each has
one agent at a time.

Resources are listed by name, always in the same order. With `depth`, or where there are more than `rows`, paths are
folded into their directories.
"""

from __future__ import annotations

from dibs.audit.fold import CLAIMS, Fold, Listener, contested, is_task
from dibs.machine import clock
from dibs.operations.core import paging
from dibs.operations.core.declare import PAGED, Field
from dibs.operations.core.query import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from dibs.audit.answers import (
        Access,
        Level,
        MapAgentView,
        MapAnswer,
        MapResourceView,
        MapRoleView,
        MapUseView,
    )
    from dibs.audit.fold import ClaimSpan, Resource
    from dibs.audit.requests import MapRequest
    from dibs.client.session import Session
    from dibs.operations.core.call import Call
    from dibs.operations.oversight.snapshot import ClaimFacts, Snapshot
    from dibs.stores.seam import LogEvent

MAX_RESOURCES = 50_000  # that are kept in memory; further ones are only counted
MAX_DEPTH = 50
READ: Final = "read"
WRITE: Final = "write"
REFUSED: Final = "refused"
STATE, EVENT = "state:", "event:"
PATHS = frozenset(("file", "tree", "glob"))
WRITES = frozenset({"edit.violated", "edit.taken", "edit.restored"})  # a path that an agent wrote


class Use:
    """What one agent did with one resource."""

    __slots__ = ("reads", "refused", "seq", "wall", "writes")

    def __init__(self) -> None:
        self.reads = self.writes = self.refused = self.seq = self.wall = 0

    @property
    def access(self) -> Access:
        """What it did in one word."""
        if self.writes:
            return "read+write" if self.reads else WRITE
        return READ if self.reads else REFUSED


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


class Uses(Listener):
    """Which agents used which resources since a time."""

    kinds = CLAIMS | WRITES | {"claim.refused", "state.set", "event.emitted", "event.subscribed"}

    def __init__(self, since_wall: int = 0) -> None:
        self._since = since_wall
        self.rows: dict[str, Row] = {}
        self.left_out = 0

    def claim_began(self, span: ClaimSpan) -> None:
        """An agent holds something: it reads or writes it."""
        how = WRITE if span.mode == WRITE else READ
        self._add_all(span.start_seq, span.start_wall, span.agent, span.resources, how)

    claim_passed = claim_began

    def claim_refused(self, event: LogEvent) -> None:
        """An agent would have used it."""
        self._add_all(event["seq"], event["wall"], event["agent"], contested(event["data"]), REFUSED)

    def noted(self, event: LogEvent) -> None:
        """A file that was changed, a document, a channel."""
        kind, name = event["kind"], event["subject"]
        if kind in WRITES:
            self._add(event, name, "file", WRITE)
        elif kind == "state.set":
            self._add(event, f"{STATE}{name}", "state", WRITE)
        elif kind == "event.emitted":
            self._add(event, f"{EVENT}{name}", "event", WRITE)
        elif kind == "event.subscribed":
            is_state = name.startswith(STATE)
            self._add(event, name if is_state else f"{EVENT}{name}", "state" if is_state else "event", READ)

    def _add_all(self, seq: int, wall: int, agent: str, held: Sequence[Resource], how: str) -> None:
        for resource in held:
            if resource[0] != "inode" and not is_task(resource):
                self._use(seq, wall, agent, resource[1] or ".", resource[0], how)

    def _add(self, event: LogEvent, name: str, kind: str, how: str) -> None:
        self._use(event["seq"], event["wall"], event["agent"], name, kind, how)

    def _use(self, seq: int, wall: int, agent: str, name: str, kind: str, how: str) -> None:
        if wall < self._since or not agent:
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
        use.seq, use.wall = seq, wall


def folded(rows: dict[str, Row], depth: int) -> dict[str, Row]:
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
        return folded(rows, depth), depth
    if not most or len(rows) <= most:
        return rows, 0
    deepest = max(name.count("/") for name in rows)
    for level in range(min(deepest, MAX_DEPTH), 0, -1):
        fewer = folded(rows, level)
        if len(fewer) <= most or level == 1:
            return fewer, level
    return rows, 0


# --- the query


def _map(session: Session, call: Call, request: MapRequest) -> MapAnswer:
    """The map: learned in one pass through the log, with what is held now."""
    from dibs.audit import events, log_walk
    from dibs.client.log_reader import LogReader
    from dibs.operations.claims import resources as overlap
    from dibs.operations.oversight.snapshot import READ as SNAPSHOT

    limit = paging.check_limit(request["limit"])
    since_seq, since_wall = events.since_of(request["since"])
    facts: Snapshot = session.run(SNAPSHOT, call, {})
    uses = Uses(since_wall)
    log = LogReader(session, call) if since_seq or since_wall else None  # a time that is asked for may be in archives
    start = since_seq or (log_walk.first_since(session, since_wall, facts["events"], log) if since_wall else 0)
    Fold(uses).read_all(log_walk.events(session, uses.kinds, facts["events"], start, log))
    rows = uses.rows
    if request["path"]:
        wanted = overlap.normal(request["path"])
        texts = set(overlap.shown(wanted))
        rows = {
            name: row
            for name, row in rows.items()
            if name in texts
            or (row.kind not in {"state", "event"} and overlap.any_overlap([(row.kind, _text(name), "")], wanted))
        }
    rows, depth = fitted(rows, request["depth"], request["rows"])
    held = _held(facts["claims"], depth)
    names = _names(session, call, rows, facts)
    page = paging.listed([rows[name] for name in sorted(rows)], lambda row: str(row.name), limit, request["after"])
    return {
        "resources": [_shown(session, row, held, names) for row in page.records],
        "agents": _agents(rows, names),
        "totals": {
            "resources": len(rows), "agents": len({agent for row in rows.values() for agent in row.agents}),
            "writers": len({agent for row in rows.values() for agent in row.writers()}),
            "left_out": uses.left_out,
        },
        "roles": _roles(session),
        "depth": depth,
        **page.answer(),
    }  # fmt: skip


def _text(name: str) -> str:
    return "" if name == "." else name


def _held(claims: list[ClaimFacts], depth: int) -> dict[str, set[str]]:
    """Resource, or its folded directory → the agents that hold it now."""
    found: dict[str, set[str]] = {}
    for claim in claims:
        for name in () if claim["gone"] else claim["resources"]:
            parts = name.split("/")
            at = "/".join(parts[:depth]) + "/" if depth and len(parts) > depth else name
            found.setdefault(at, set()).add(claim["agent"])
    return found


def _names(session: Session, call: Call, rows: dict[str, Row], facts: Snapshot) -> dict[str, str]:
    known = {agent["agent"]: agent["name"] for agent in facts["agents"]}
    missing = sorted({agent for row in rows.values() for agent in row.agents} - set(known))
    if missing:
        from dibs.operations.agents.lookups import NAMES

        known.update(session.run(NAMES, call, {"agents": missing})["names"])
    return known


def _shown(session: Session, row: Row, held: dict[str, set[str]], names: dict[str, str]) -> MapResourceView:
    here = held.get(row.name, set())
    agents: list[MapUseView] = []
    for agent in sorted(row.agents):
        use = row.agents[agent]
        agents.append(
            {
                "agent": agent, "name": names.get(agent) or agent, "access": use.access, "writes": use.writes,
                "reads": use.reads, "refused": use.refused, "holds": agent in here, "event": use.seq,
                "at": clock.iso(use.wall),
            }
        )  # fmt: skip
    view: MapResourceView = {
        "resource": row.name, "kind": row.kind, "level": _level(session, row), "agents": agents,
        "writers": len(row.writers()),
    }  # fmt: skip
    if row.folded:
        view["folded"] = row.folded
    return view


def _level(session: Session, row: Row) -> Level:
    """What the guards ask of a path: free, guarded, strict; "" for what is no path."""
    if row.kind not in PATHS:
        return ""
    from dibs.operations.guards.edit_guard import guard_level

    return guard_level(
        session.config.policy, [row.kind, _text(row.name).rstrip("/") if row.folded else _text(row.name)],
        ignored=False,
    )  # fmt: skip


def _agents(rows: dict[str, Row], names: dict[str, str]) -> list[MapAgentView]:
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


def _roles(session: Session) -> list[MapRoleView]:
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
        Field("path", "resources", "only what overlaps these", positional=True, default=(), metavar="RESOURCE"),
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
