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
from dibs.operations.core.call import due, iso
from dibs.operations.core.declare import HOSTS, PAGED, Field, Operation
from dibs.operations.core.policy import DAY, HOUR
from dibs.stores.seam import digest_of, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.operations.landing.requests import RadarReportRequest, RadarRequest
    from dibs.stores.seam import Transaction

MAX_PAIRS = 200  # in one report; the look says how many more there are
MAX_FILES_KEPT = 20  # of one pair
MAX_FILES_TOLD = 3  # in a message
MAX_AGENTS_TOLD = 5  # of one side
UNSEEN_LIFE_MS = 7 * DAY
TOUCHED_EVERY_MS = HOUR  # a conflict that stays is written again this often, for its expiry
MAX_LISTED = 100


def _report(tx: Transaction, call: Call, request: RadarReportRequest) -> dict[str, Any]:
    """All conflicts of a place: new ones are told, those that are gone are dropped."""
    where = digest_of(f"{call.place}\t{request['place']}" if call.place else request["place"])[
        :12
    ]  # a far caller reports of its own
    known = dict(walk(tx, f"rp\t{where}\t"))
    found = {f"rp\t{where}\t{_id(pair)}": pair for pair in request["pairs"][:MAX_PAIRS]}
    began, ended = [], []
    for key, pair in found.items():
        record = known.get(key)
        fresh = _record(pair, key.rpartition("\t")[2])
        if record is None:
            record = {**fresh, "since": tx.now, "seen": tx.now}
            _begin(tx, call, record)
            began.append(record["conflict"])
        elif {**record, **fresh} != record or tx.now - record["seen"] >= TOUCHED_EVERY_MS:
            record = {**record, **fresh, "seen": tx.now}
        else:
            continue
        _put(tx, key, record)
    for key, record in known.items():
        if key not in found:
            clear(tx, key, record)
            ended.append(record["conflict"])
    last = {"at": tx.now, "looked": request["looked"], "left_off": request["left_off"], "conflicts": len(found)}
    tx.put(f"rl\t{where}", last, i2=due(tx.now + UNSEEN_LIFE_MS))
    return {"began": began, "ended": ended}


def _id(pair: dict[str, Any]) -> str:
    return digest_of("\t".join(sorted([pair["one"], pair["other"]])))[:12]


def _record(pair: dict[str, Any], identifier: str) -> Record:
    sides = [
        {"side": pair[side], "branch": _nth(pair.get("branches"), place), "tree": _nth(pair.get("trees"), place),
         "commit": _nth(pair.get("commits"), place), "agents": sorted(set(pair.get(agents) or ()))[:MAX_AGENTS_TOLD]}
        for place, (side, agents) in enumerate((("one", "agents"), ("other", "other_agents")))
    ]  # fmt: skip
    files = [
        {"path": path, "kind": kind, "hunks": hunks} for path, kind, hunks in (pair.get("files") or ())[:MAX_FILES_KEPT]
    ]
    return {"conflict": identifier, "sides": sides, "files": files, "count": pair.get("count") or len(files)}


def _nth(values: Any, place: int) -> str:
    return values[place] if values and len(values) > place else ""


def _put(tx: Transaction, key: str, record: Record) -> None:
    entry = f"radar\t{record['since']:015d}\t{record['conflict']}"
    tx.put(key, record, entry, due(record["seen"] + UNSEEN_LIFE_MS))


def _begin(tx: Transaction, call: Call, record: Record) -> None:
    """A pair begins to conflict: the log has it, and the agents of both sides are told."""
    from dibs.operations.messages import mailbox

    one, other = record["sides"]
    files = [file["path"] for file in record["files"]]
    names = _called([record])
    data = {"sides": [names[side["side"]] for side in record["sides"]], "files": files}
    tx.append("radar.found", call.agent, record["conflict"], data)
    for mine, theirs in ((one, other), (other, one)):
        whose = f" of {' and '.join(_names(tx, theirs['agents']))}" if theirs["agents"] else ""
        text = (
            f"your work in {names[mine['side']]} and the work{whose} in {names[theirs['side']]} would conflict if "
            f"merged now: {_places(record, mine is other)}. Agree on one of you now (`dibs send`), or merge the "
            f"other's commits; `dibs radar` shows it."
        )
        for agent in mine["agents"]:
            if agent not in theirs["agents"]:
                mailbox.post(tx, agent, call.voice, "radar", text, conflict=record["conflict"], files=files)


def _names(tx: Transaction, agents: Sequence[str]) -> list[str]:
    known = get_agents(tx, agents)
    return [record["name"] if (record := known[agent]) is not None else agent for agent in agents]


def _places(record: Record, second: bool) -> str:
    """The files, with the lines in the reader's own version."""
    said = []
    for file in record["files"][:MAX_FILES_TOLD]:
        lines = [hunk[2:4] if second else hunk[0:2] for hunk in file["hunks"]]
        spans = ", ".join(f"{first}" if count <= 1 else f"{first}-{first + count - 1}" for first, count in lines[:3])
        what = f"line {spans}" if spans else file["kind"]
        said.append(f"{file['path']} ({what})")
    more = record["count"] - len(said)
    return ", ".join(said) + (f" and {more} more" if more > 0 else "")


def _called(records: Sequence[Record]) -> dict[str, str]:
    """What each side of these conflicts is called: its branch, else its folder; both, if two sides have one branch."""
    sides = {side["side"]: side for record in records for side in record["sides"]}
    names = {key: side["branch"] or side["tree"].rpartition("/")[2] or key for key, side in sides.items()}
    often = [*names.values()]
    return {
        key: name if often.count(name) == 1 else f"{name} ({sides[key]['tree'] or 'the branch'})"
        for key, name in names.items()
    }


def clear(tx: Transaction, key: str, record: Record) -> None:
    """A conflict is gone, or nobody looks any more."""
    tx.delete(key)
    tx.append("radar.cleared", "dibs", record["conflict"], {"sides": list(_called([record]).values())})


# --- looking


def _radar(tx: Transaction, call: Call, request: RadarRequest) -> dict[str, Any]:
    page = paging.read(
        tx, [(paging.INDEX, "radar\t", None)], paging.check_limit(request["limit"], MAX_LISTED), request["after"]
    )
    looks = [record for _, record in walk(tx, "rl\t")]
    last = max(looks, key=lambda look: look["at"]) if looks else None
    names = _called(page.records)
    return {
        "conflicts": [_shown(tx, record, names) for record in page.records],
        "looked_at": iso(tx, last["at"]) if last is not None else None,
        "looked": sum(look["looked"] for look in looks),
        **page.answer(),
    }


def _shown(tx: Transaction, record: Record, names: dict[str, str]) -> dict[str, Any]:
    sides = [{**side, "name": names[side["side"]]} for side in record["sides"]]
    files = [
        {**file, "hunks": [{"one": hunk[0:2], "other": hunk[2:4]} for hunk in file["hunks"]]}
        for file in record["files"]
    ]
    return {
        "id": record["conflict"], "since": iso(tx, record["since"]), "sides": sides, "files": files,
        "count": record["count"],
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
