"""Coming conflicts: pairs of working trees and branches that git could not merge now, as the last look found them.

A look (land/radar.py) merges the pairs and reports all conflicts of one machine's repository at once; what it does
not report any more is gone. The record says since when; the agents of both sides are told once, when a pair begins to
conflict, and not again while it does.

- retry: the same report again changes nothing.
- race: two looks at once report one after the other; each is a whole picture, and the later one counts.
- crash: a look that died told nobody anything; the next one does.
- expiry: a conflict that no look has seen for a week is dropped: the machine or the repository is gone.
"""

from __future__ import annotations

from dibs.operations.agents.records import get_agents
from dibs.operations.core import paging
from dibs.operations.core.call import iso
from dibs.operations.core.declare import HOSTS, PAGED, Field, Operation
from dibs.operations.core.policy import DAY, HOUR
from dibs.operations.landing import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NotRequired, TypedDict

    from dibs.operations.core.call import Call
    from dibs.operations.landing.answers import ComingConflictView, ConflictFileView, RadarAnswer, SideView
    from dibs.operations.landing.records import ComingConflict, ConflictFacts, ConflictFile, Hunk, Look, Side
    from dibs.operations.landing.requests import RadarReportRequest, RadarRequest
    from dibs.stores.seam import Transaction

    class Pair(TypedDict):
        """Two sides that conflict, as a look reports them; the fields of REPORT say what each is."""

        one: str
        other: str
        branches: NotRequired[list[str] | None]
        trees: NotRequired[list[str] | None]
        commits: NotRequired[list[str] | None]
        agents: NotRequired[list[str] | None]
        other_agents: NotRequired[list[str] | None]
        files: NotRequired[list[tuple[str, str, list[Hunk]]] | None]
        count: NotRequired[int | None]


MAX_PAIRS = 200  # in one report; the look says how many more there are
MAX_FILES_KEPT = 20  # of one pair
MAX_FILES_TOLD = 3  # in a message
MAX_AGENTS_TOLD = 5  # of one side
UNSEEN_LIFE_MS = 7 * DAY
TOUCHED_EVERY_MS = HOUR  # a conflict that stays is written again this often, for its expiry
MAX_LISTED = 100


def _report(tx: Transaction, call: Call, request: RadarReportRequest) -> dict[str, list[str]]:
    """All conflicts of a place: new ones are told, those that are gone are dropped."""
    where = records.place_id(call.place, request["place"])
    known = records.get_conflicts(tx, where)
    reported = {records.conflict_id(pair["one"], pair["other"]): pair for pair in request["pairs"][:MAX_PAIRS]}
    began, ended = [], []
    for identifier, pair in reported.items():
        conflict = known.get(identifier)
        facts = _facts(pair, identifier)
        if conflict is None:
            conflict = {**facts, "since": tx.now, "seen": tx.now}
            _begin(tx, call, conflict)
            began.append(identifier)
        elif {**conflict, **facts} != conflict or tx.now - conflict["seen"] >= TOUCHED_EVERY_MS:
            conflict = {**facts, "since": conflict["since"], "seen": tx.now}
        else:
            continue
        records.put_conflict(tx, where, conflict, conflict["seen"] + UNSEEN_LIFE_MS)
    for identifier, conflict in known.items():
        if identifier not in reported:
            clear(tx, where, conflict)
            ended.append(identifier)
    look: Look = {
        "at": tx.now, "looked": request["looked"], "left_off": request["left_off"], "conflicts": len(reported),
    }  # fmt: skip
    records.put_look(tx, where, look, tx.now + UNSEEN_LIFE_MS)
    return {"began": began, "ended": ended}


def _facts(pair: Pair, identifier: str) -> ConflictFacts:
    files: list[ConflictFile] = [
        {"path": path, "kind": kind, "hunks": hunks} for path, kind, hunks in (pair.get("files") or ())[:MAX_FILES_KEPT]
    ]
    sides = [
        _side(pair, 0, pair["one"], pair.get("agents") or ()),
        _side(pair, 1, pair["other"], pair.get("other_agents") or ()),
    ]
    return {"conflict": identifier, "sides": sides, "files": files, "count": pair.get("count") or len(files)}


def _side(pair: Pair, place: int, side: str, agents: Sequence[str]) -> Side:
    return {
        "side": side, "branch": _nth(pair.get("branches"), place), "tree": _nth(pair.get("trees"), place),
        "commit": _nth(pair.get("commits"), place), "agents": sorted(set(agents))[:MAX_AGENTS_TOLD],
    }  # fmt: skip


def _nth(values: Sequence[str] | None, place: int) -> str:
    return values[place] if values and len(values) > place else ""


def _begin(tx: Transaction, call: Call, conflict: ComingConflict) -> None:
    """A pair begins to conflict: the log has it, and the agents of both sides are told."""
    from dibs.operations.messages import mailbox

    one, other = conflict["sides"]
    files = [file["path"] for file in conflict["files"]]
    names = _called([conflict])
    data = {"sides": [names[side["side"]] for side in conflict["sides"]], "files": files}
    tx.append("radar.found", call.agent, conflict["conflict"], data)
    for mine, theirs in ((one, other), (other, one)):
        whose = f" of {' and '.join(_names(tx, theirs['agents']))}" if theirs["agents"] else ""
        text = (
            f"your work in {names[mine['side']]} and the work{whose} in {names[theirs['side']]} would conflict if "
            f"merged now: {_places(conflict, mine is other)}. Agree on one of you now (`dibs send`), or merge the "
            f"other's commits; `dibs radar` shows it."
        )
        for agent in mine["agents"]:
            if agent not in theirs["agents"]:
                mailbox.post(tx, agent, call.voice, "radar", text, conflict=conflict["conflict"], files=files)


def _names(tx: Transaction, agents: Sequence[str]) -> list[str]:
    known = get_agents(tx, agents)
    return [record["name"] if (record := known[agent]) is not None else agent for agent in agents]


def _places(conflict: ComingConflict, second: bool) -> str:
    """The files, with the lines in the reader's own version."""
    places = []
    for file in conflict["files"][:MAX_FILES_TOLD]:
        lines = [hunk[2:4] if second else hunk[0:2] for hunk in file["hunks"]]
        spans = ", ".join(f"{first}" if count <= 1 else f"{first}-{first + count - 1}" for first, count in lines[:3])
        what = f"line {spans}" if spans else file["kind"]
        places.append(f"{file['path']} ({what})")
    more = conflict["count"] - len(places)
    return ", ".join(places) + (f" and {more} more" if more > 0 else "")


def _called(conflicts: Sequence[ComingConflict]) -> dict[str, str]:
    """What each side of these conflicts is called: its branch, else its folder; both, if two sides have one branch."""
    sides = {side["side"]: side for conflict in conflicts for side in conflict["sides"]}
    names = {key: side["branch"] or side["tree"].rpartition("/")[2] or key for key, side in sides.items()}
    often = [*names.values()]
    return {
        key: name if often.count(name) == 1 else f"{name} ({sides[key]['tree'] or 'the branch'})"
        for key, name in names.items()
    }


def clear(tx: Transaction, place: str, conflict: ComingConflict) -> None:
    """A conflict is gone, or nobody looks any more."""
    records.delete_conflict(tx, place, conflict["conflict"])
    tx.append("radar.cleared", "dibs", conflict["conflict"], {"sides": list(_called([conflict]).values())})


# --- looking


def _radar(tx: Transaction, call: Call, request: RadarRequest) -> RadarAnswer:
    limit = paging.check_limit(request["limit"], MAX_LISTED)
    page = paging.read(tx, [(paging.INDEX, records.CONFLICTS, None)], limit, request["after"])
    looks = records.get_looks(tx)
    names = _called(page.records)
    return {
        "conflicts": [_shown(tx, conflict, names) for conflict in page.records],
        "looked_at": iso(tx, max(look["at"] for look in looks)) if looks else None,
        "looked": sum(look["looked"] for look in looks),
        "more": page.more,
        "cursor": page.cursor,
    }


def _shown(tx: Transaction, conflict: ComingConflict, names: dict[str, str]) -> ComingConflictView:
    sides: list[SideView] = [
        {**side, "name": names[side["side"]], "agents_name": _names(tx, side["agents"])} for side in conflict["sides"]
    ]
    files: list[ConflictFileView] = [
        {**file, "hunks": [{"one": hunk[0:2], "other": hunk[2:4]} for hunk in file["hunks"]]}
        for file in conflict["files"]
    ]
    return {
        "id": conflict["conflict"], "since": iso(tx, conflict["since"]), "sides": sides, "files": files,
        "count": conflict["count"],
    }  # fmt: skip


OPERATIONS = (
    Operation(
        "radar",
        _radar,
        "Show which worktrees and branches would conflict if they were merged now.",
        group="worktrees",
        fields=PAGED,
        answer="RadarAnswer",
        writes=False,
        refuses="conflicts",
    ),
)

REPORT = Operation(
    "radar-report", _report, "A look has found these conflicts, and no others.", sent_by=HOSTS,
    fields=(
        Field("place", "raw", "the machine and the repository", required=True),
        Field("pairs", "json", "the conflicts", default=(),
              items=(
                  Field("one", "raw", "a side: a working tree's top, or a branch", required=True),
                  Field("other", "raw", "the other side", required=True),
                  Field("branches", "raws", "both branches"),
                  Field("trees", "raws", "both tops"),
                  Field("commits", "raws", "both commits, with the uncommitted work"),
                  Field("agents", "words", "whose work the one side is"),
                  Field("other_agents", "words", "whose work the other side is"),
                  Field("files", "rows", "the files",
                        items=(
                            Field("path", "raw", "its path", required=True),
                            Field("kind", "raw", "what kind of conflict", required=True),
                            Field("hunks", "rows", "first line and number of lines, of both sides", required=True,
                                  items=tuple([Field(name, "integer", "a line, or a number", required=True)
                                               for name in ("at", "lines", "other_at", "other_lines")])),
                        )),
                  Field("count", "integer", "how many files in all"),
              )),
        Field("looked", "integer", "how many sides were looked at", default=0),
        Field("left_off", "integer", "conflicts beyond those of the report", default=0),
    ),
    registers=False,  # a server that looks is no agent
)  # fmt: skip

INTERNAL = (REPORT,)
