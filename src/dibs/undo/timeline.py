"""`timeline WHAT`: the states of a file, of an agent's files or of a working tree, the newest first, with who and why.

Of a file and an agent they are the ledger's changes, in all working trees of this machine, also removed ones; of a tree
the states that were anchored, each with what differs from the one before it. `restore … --at` brings any of them back,
`diff --at` shows what changed since. The reason is that of the claim under which a change was made. It changes nothing.

A run's timeline (audit/timeline.py) is a drawing of its agents' work; this is a list of contents.
"""

from __future__ import annotations

import os

from dibs.audit import log_walk
from dibs.client.log_reader import LogReader
from dibs.errors import Invalid, NotFound
from dibs.ledger.state import LIKELY, MISSING, SURE
from dibs.machine import clock
from dibs.operations.agents.lookups import NAMES
from dibs.operations.core.call import within
from dibs.operations.core.declare import Field, Operation
from dibs.operations.core.query import HERE
from dibs.operations.guards import undo as rules
from dibs.states import at_time, store
from dibs.undo import time_machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    from dibs.audit.answers import StateView, TimelineAnswer
    from dibs.client.session import Session
    from dibs.ledger.state import Change
    from dibs.operations.core.call import Call
    from dibs.states.store import StateRecord, Store
    from dibs.undo.requests import TimelineRequest

FILE, AGENT, TREE = "file", "agent", "tree"  # how a word may begin, to say what it means
LISTED, MOST = 50, 1_000
MAX_PATHS = 8  # of one state of a tree
MS_NS = at_time.MS_NS
CLAIM_KINDS = frozenset({"claim.granted"})


def _timeline(session: Session, call: Call, request: TimelineRequest) -> TimelineAnswer:
    """List them."""
    word, limit = request["what"], request["limit"]
    if not word.strip():
        raise Invalid("timeline: a file, an agent or a working tree", field="what")
    kind, _, rest = word.partition(":")
    only, word = (kind, rest) if kind in {FILE, AGENT, TREE} and rest else ("", word)
    if only in {"", FILE} and time_machine.is_file(session, word):
        path = time_machine.path_of(session, word)
        found = _changes(session, limit, path=path)
        return _answer(session, call, "file", path, found)
    agent = time_machine.agent_of(session, call, word) if only in {"", AGENT} else ""
    if agent:
        found = _changes(session, limit, agent=agent)
        return _answer(session, call, "agent", agent, found)
    if only in {"", TREE} and session.place.common and (only or at_time.is_tree(session.place, session.cwd, word)):
        return _of_tree(session, call, word, limit)
    raise NotFound(f"{word} is neither a file that dibs has seen here, nor an agent, nor a working tree", what=word)


def _changes(session: Session, limit: int, *, path: str = "", agent: str = "") -> tuple[list[tuple[str, Change]], bool]:
    """The newest changes of a path or of an agent, each with its tree; and whether there are more."""
    found = [
        (top, one)
        for folder, top in at_time.trees(session.place)
        for one in at_time.changes(folder)
        if (one.path == path if path else _is_sure(one) and within(one.actor, agent))
    ]
    found.sort(key=lambda pair: rules.changed_at(pair[1]), reverse=True)
    return found[:limit], len(found) > limit


def _is_sure(change: Change) -> bool:
    return change.grade in {SURE, LIKELY}


def _answer(
    session: Session,
    call: Call,
    kind: Literal["file", "agent"],
    name: str,
    found: tuple[list[tuple[str, Change]], bool],
) -> TimelineAnswer:
    """The states of a file or an agent."""
    rows, more = found
    actors = sorted({one.actor for _, one in rows if _is_sure(one)} | ({name} if kind == AGENT else set()))
    names = session.run(NAMES, call, {"agents": actors})["names"]
    reasons = _Reasons(session, call)
    states: list[StateView] = []
    for top, one in rows:
        when = rules.changed_at(one)
        agent = one.actor if _is_sure(one) else ""
        states.append({
            "at": clock.iso(when // MS_NS), "tree": top, "id": one.after, "paths": [one.path], "count": 1,
            "change": "added" if one.before == MISSING else "deleted" if one.after == MISSING else "modified",
            "agents": [agent] if agent else [], "names": [names.get(agent) or agent] if agent else [],
            "likely": one.grade == LIKELY, "why": reasons.of(agent, one.path, when),
        })  # fmt: skip
    return {"kind": kind, "name": names.get(name, name), "states": states, "more": more}


# --- a tree


def _of_tree(session: Session, call: Call, word: str, limit: int) -> TimelineAnswer:
    place = session.place
    top = at_time.named(place, session.cwd, word)
    kept = store.Store(place)
    folders = at_time.ledgers_of(place, top)
    rows = sorted([row for folder in folders for row in store.records(folder)], key=lambda row: row["at"])
    shown = rows[-limit:]
    before = rows[len(rows) - len(shown) - 1] if len(rows) > len(shown) else None
    changed = _between(kept, shown, before)
    changes = [one for folder in folders for one in at_time.changes(folder) if _is_sure(one)]
    names = session.run(NAMES, call, {"agents": sorted({one.actor for one in changes})})["names"]
    reasons = _Reasons(session, call)
    states: list[StateView] = []
    last = before["at"] if before else 0
    for row, paths in zip(shown, changed, strict=True):
        mine = [one for one in changes if last * MS_NS < one.looked <= row["at"] * MS_NS]
        agents = list(dict.fromkeys(one.actor for one in mine))
        why = next((text for one in mine if (text := reasons.of(one.actor, one.path, one.looked))), "")
        states.append({
            "at": clock.iso(row["at"]), "tree": top, "id": row["id"], "paths": paths[:MAX_PATHS], "count": len(paths),
            "change": "anchored", "agents": agents, "names": [names.get(agent, agent) for agent in agents],
            "likely": False, "why": why, "head": row["head"], "branch": row["branch"], "notes": row["notes"],
        })  # fmt: skip
        last = row["at"]
    return {"kind": "tree", "name": top, "states": states[::-1], "more": before is not None}


def _between(kept: Store, rows: list[StateRecord], before: StateRecord | None) -> list[list[str]]:
    """What differs between each state and the one before it; of the first, from HEAD."""
    olds = [before["tree"] if before else rows[0]["head"] if rows else "", *[row["tree"] for row in rows[:-1]]]
    found: list[list[str]] = []
    for old, row in zip(olds, rows, strict=False):
        words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, row["tree"])
        out = kept.ask(*words) if old and old != row["tree"] else b""
        found.append([os.fsdecode(name) for name in out.split(b"\0") if name])
    return found


class _Reasons:
    """Why an agent held what it changed, by the log."""

    def __init__(self, session: Session, call: Call) -> None:
        self._claims: list[tuple[str, int, list[list[str]], str]] = []
        head = session.store.head().seq
        for event in log_walk.events(session, CLAIM_KINDS, head, 0, LogReader(session, call)):
            data = event["data"]
            why = data.get("reason") or ""
            if why and data.get("resources"):
                self._claims.append((event["agent"], event["wall"] * MS_NS, data["resources"], why))

    def of(self, agent: str, path: str, when: int) -> str:
        """The reason of the last claim on it before that time; "" if none was given."""
        lag = rules.CLOCK_LAG_NS
        fits: Iterable[str] = (
            why for by, at, held, why in reversed(self._claims)
            if agent and by == agent and at <= when + lag and rules.covered(path, held)
        )  # fmt: skip
        return next(iter(fits), "")


TIMELINE = Operation(
    "timeline",
    _timeline,
    "List the states of a file, an agent's files or a working tree: when, who and why.",
    fields=(
        Field("what", "text", "the file, the agent or the working tree (`file:`, `agent:`, `tree:` says which)",
              positional=True, required=True, metavar="FILE|AGENT|TREE"),
        Field("limit", "integer", "at most N states, the last ones", default=LISTED, least=1, most=MOST, metavar="N"),
    ),
    errors=(NotFound, Invalid),
    answer="TimelineAnswer",
    group="guards",
    rank="worker",  # it names files, also to a caller from afar
    idempotent=True,
    wants=(HERE,),
    is_query=True,
)  # fmt: skip

QUERIES = (TIMELINE,)
