"""The rules of `dibs undo`: which changes belong to a claim, a task or an agent, and how they are taken out of a file.

Pure functions first, of values that undo/plan.py brings: the ledger's changes, the log's claims. A file's
changes are taken back from the newest to the oldest. Where the content is what the agent made, what was before
comes back exactly. Where it is not, another one has built on it: refused, or merged, if that is what was asked for.

Then the operations: the caller takes the files as an edit does, and tells when it is done. One's own work anybody may
undo, another agent's takes the rank of an orchestrator. A person acts for the agents that hold the files
(person_acts.py): nobody else takes them from a holder.
"""

from __future__ import annotations

from dibs.errors import Conflict, DibsError, Fenced, Forbidden, Held
from dibs.ledger.state import LIKELY, MISSING, OUTSIDE, SURE
from dibs.operations.agents import roles
from dibs.operations.agents.names import name_of
from dibs.operations.agents.records import get_agent
from dibs.operations.claims import endings, grants, resources
from dibs.operations.claims import records as claim_records
from dibs.operations.claims.records import ranges_for
from dibs.operations.core import authority
from dibs.operations.core.call import check_text, related, within
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.guards import changes, person_acts
from dibs.operations.guards.edit_guard import BY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from typing import TypedDict

    from dibs.ledger.state import Change
    from dibs.operations.claims.records import Claim
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.call import Call
    from dibs.operations.core.declare import Ahead
    from dibs.operations.guards.requests import UndoDoneRequest, UndoRequest
    from dibs.stores.seam import Transaction

    Version = tuple[str, str]  # a content's id and the kind of file: "" plain, "x" executable, "l" a link
    # current, base, other → the merged version, and whether it has conflicts; None if it cannot be merged
    Merge = Callable[[Version, Version, Version], tuple[Version, bool] | None]

    class UndoTaken(TypedDict):
        """Of `undo`."""

        claim: str
        token: int
        new: bool  # the undo alone holds it

    class UndoDone(TypedDict):
        """Of `undo-done`."""

        undo: str


CLOCK_LAG_NS = 50_000_000  # an inode's time and the store's wall clock may differ by so much
SHOWN = 16  # paths in an event
MAX_TOLD = 200  # paths of an undo whose other holders are notified
LINKED = "l"  # the kind of a symbolic link
GONE: Version = (MISSING, "")


# --- whose changes


def covered(path: str, held: Sequence[Resource]) -> bool:
    """Is this path of the ledger one of these resources, or below one?"""
    if not path.isascii():
        from unicodedata import normalize

        path = normalize("NFC", path)  # as resources are
    return any(resources.covers(one, ("file", path)) for one in held if one[0] != "inode")


class Span:
    """A time in which what an agent changed is meant: in `held` if it is not None, by the wall clock in ns."""

    __slots__ = ("agent", "end", "held", "start")

    def __init__(self, agent: str, start: int, end: int, held: Sequence[Resource] | None = None) -> None:
        self.agent, self.start, self.end, self.held = agent, start, end, held

    def gap(self, path: str, when: int) -> int | None:
        """How far this time is from it, 0 within; None if the path is not in it, or the time too far away.

        An empty path is in all: a link, which no claim names, since a claim goes to what a link leads to.
        """
        away = max(self.start - when, when - self.end, 0)
        if away > CLOCK_LAG_NS or (path and self.held is not None and not covered(path, self.held)):
            return None
        return away


def changed_at(change: Change) -> int:
    """When a change was made: by the file's ctime; a deletion, when it was found."""
    parts = change.signature.split(":")
    return int(parts[2]) if len(parts) > 2 else change.looked  # noqa: PLR2004 - size, mtime, ctime, inode


def is_meant(change: Change, spans: Sequence[Span], holds: Sequence[Span], heard: Collection[str]) -> bool:
    """Is it one of the changes to be undone?

    By its actor, if that is at least likely. A change that came from no agent's call is its holder's, if the holder is
    one whose calls are not reported (a script, a person): `heard` has the agents whose calls are, `holds` all
    claims. Of two claims of one agent, the one that is nearer in time has it.
    """
    when, path = changed_at(change), change.path
    if change.grade in {SURE, LIKELY}:
        mine = [span for span in spans if within(change.actor, span.agent)]
        path = "" if LINKED in change.kinds else path
    elif change.grade == OUTSIDE:
        holder = holder_at(path, when, holds, heard)
        mine = [span for span in spans if holder and span.agent == holder]
    else:
        return False
    best = _nearest(path, when, mine)
    if best is None or best.held is None:
        return best is not None
    others = [span for span in holds if span.agent == best.agent and (span.start, span.end) != (best.start, best.end)]
    return _nearest(path, when, [best, *others]) is best


def holder_at(path: str, when: int, holds: Iterable[Span], heard: Collection[str]) -> str:
    """Whose a change is that came from no agent's call: the holder's, if its calls are not reported; "" if nobody's."""
    span = _nearest(path, when, [one for one in holds if one.agent not in heard])
    return "" if span is None else span.agent


def _nearest(path: str, when: int, spans: Iterable[Span]) -> Span | None:
    """The span that is nearest to this time; of several, the one that began last."""
    best: tuple[int, int] | None = None
    nearest = None
    for span in spans:
        gap = span.gap(path, when)
        if gap is not None and (best is None or (gap, -span.start) < best):
            best, nearest = (gap, -span.start), span
    return nearest


# --- what becomes of a file


class Run:
    """Changes of one file, one after the other, all of them to be undone or none."""

    __slots__ = ("after", "before", "by", "is_likely", "is_unsure", "meant", "since")

    def __init__(self, before: Version, after: Version, by: str, since: int, *, meant: bool) -> None:
        self.before, self.after, self.by, self.since, self.meant = before, after, by, since, meant
        self.is_likely = False  # it is not certain that the agent made it
        self.is_unsure = False  # it is not certain that there was no file before


def runs_of(chain: Sequence[tuple[Change, bool]]) -> list[Run]:
    """The changes of one path in their order, each with whether it is meant, as runs."""
    runs: list[Run] = []
    last: Version | None = None
    for change, meant in chain:
        was, now = change.kinds
        before, after = (change.before, was), (change.after, now)
        if last is not None and last != before and change.before == MISSING:
            before = last  # the ledger had forgotten the path in between
        last = after
        run = Run(before, after, change.actor, changed_at(change), meant=meant)
        run.is_unsure = change.is_unsure and before == GONE
        run.is_likely = change.grade != SURE
        runs.append(run)
    return joined(runs)


def joined(runs: Sequence[Run]) -> list[Run]:
    """Runs that follow each other without a gap become one; those of others, if one agent made them."""
    merged: list[Run] = []
    for run in runs:
        last = merged[-1] if merged else None
        follows = last is not None and last.meant == run.meant and last.after == run.before
        if last is not None and follows and (run.meant or last.by == run.by):
            last.after, last.is_likely = run.after, last.is_likely or run.is_likely
        else:
            merged.append(run)
    return merged


class Outcome:
    """What undoing makes of one file."""

    __slots__ = ("blockers", "conflicts", "version")

    def __init__(self, version: Version) -> None:
        self.version = version
        self.blockers: list[Run] = []  # what others built on it; with a merge, what is kept
        self.conflicts = False  # the merge has marks, or could not be made


def undone(now: Version, runs: Sequence[Run], merge: Merge | None) -> Outcome:
    """Take the meant runs out of a file's present version, from the newest to the oldest."""
    outcome = Outcome(now)
    for place in range(len(runs) - 1, -1, -1):
        run = runs[place]
        if not run.meant or run.before == run.after:
            continue
        if outcome.version == run.after:
            outcome.version = run.before
        elif outcome.version != run.before:
            others = [one for one in runs[place + 1 :] if not one.meant]
            outcome.blockers += others or [Run(run.after, now, OUTSIDE, run.since, meant=False)]
            if merge is None:
                continue
            merged = merge(outcome.version, run.after, run.before)
            if merged is None:
                outcome.conflicts = True
                continue
            outcome.version, marked = merged
            outcome.conflicts = outcome.conflicts or marked
    return outcome


# --- the operations


def _take(tx: Transaction, call: Call, request: UndoRequest) -> UndoTaken | DibsError:
    """Claim all files, as an edit does, or none."""
    undo, of, paths = request["undo"], request["of"], request["paths"]
    agent = get_agent(tx, call.agent)
    for resource in paths:
        refusal = roles.refusal_of_write(call, agent, resource, local=request["local"])
        if refusal is not None:
            return _refuse(tx, call, undo, of, refusal)
    before = {claim["claim"] for claim in claim_records.claims_of(tx, call.agent)}
    reason = check_text(f"undoes {request['what']}", "what")
    person = authority.is_person(tx, call)
    taken: list[Claim] = []
    if person:
        paths, taken = _past_holders(tx, call, request, reason)
    wanted = grants.CLAIM.request(resources=paths, tree=request["tree"], by=BY, reason=reason)
    held = grants.claim_at_once(tx, call, wanted, is_first=person)
    if isinstance(held, DibsError):
        return _refuse(tx, call, undo, of, held)
    (claim,) = [one for one in claim_records.claims_of(tx, call.agent) if one["claim"] == held["claim"]]
    claim["undo"], claim["undo_of"] = undo, list(of)
    if taken:
        claim["undo_took"] = taken
    claim_records.put(tx, claim)
    data = {
        "of": list(of), "what": request["what"], "tree": request["tree"], "paths": resources.shown(paths[:SHOWN]),
        "count": request["count"],
    }  # fmt: skip
    tx.append("undo.started", call.agent, undo, {**data, "claim": held["claim"]})
    return {"claim": held["claim"], "token": held["token"], "new": claim["claim"] not in before}


def _past_holders(
    tx: Transaction, call: Call, request: UndoRequest, reason: str
) -> tuple[Sequence[Resource], list[Claim]]:
    """What a person claims for an undo, and the claims that it took away.

    Nobody else gets meanwhile what an agent lost. What another agent holds and keeps is not claimed: if that is all, a
    name for this undo is.
    """
    claims = person_acts.at_work(tx, call, request["paths"], request["tree"])
    keep = [resource for one in claims if not person_acts.loses(one, request["of"]) for resource in one["resources"]]
    lost = [one for one in claims if person_acts.loses(one, request["of"])]
    wanted = [*request["paths"], *[resource for one in lost for resource in one["resources"]]]
    free = [one for one in wanted if not keep or resources.any_overlap(resources.normal([one]), keep) is None]
    taken = person_acts.take_away(tx, call, lost, reason)
    return free or [("name", f"undo:{request['undo']}")], taken


def _refuse(tx: Transaction, call: Call, undo: str, of: Sequence[str], error: DibsError) -> DibsError:
    tx.append("undo.refused", call.agent, undo, {"code": error.code, "of": list(of)})
    return error


def _done(tx: Transaction, call: Call, request: UndoDoneRequest) -> UndoDone | DibsError:
    """The files are as they were: told to whom it concerns, settled, and released if only the undo held them."""
    undo, of, paths = request["undo"], request["of"], request["paths"]
    restored, commit, code = request["restored"], request["commit"], request["code"]
    mine = [one for one in claim_records.claims_of(tx, call.agent) if one["claim"] == request["claim"]]
    if not code and not any(one.get("undo") == undo and one["until"] > tx.now for one in mine):
        why = "the claim under which the undo began is no longer live: run the command again, it continues"
        return _refuse(tx, call, undo, of, Fenced(why=why))
    of = next((one["undo_of"] for one in mine if "undo_of" in one), of)  # as it was allowed, whatever is said now
    taken = [claim for one in mine for claim in one.get("undo_took", ())]
    _finish(tx, mine, taken if code else (), release=request["release"])
    if code:
        tx.append("undo.refused", call.agent, undo, {"code": code, "of": list(of)})
        return {"undo": undo}
    from dibs.operations.messages import mailbox

    changes.settle(tx, call, request["tree"], paths)
    data = {
        "of": list(of), "what": request["what"], "tree": request["tree"], "paths": list(paths[:SHOWN]),
        "restored": restored, "conflicts": request["conflicts"], "claim": request["claim"],
    }  # fmt: skip
    tx.append("undo.finished", call.agent, undo, {**data, "commit": commit} if commit else data)
    some = ", ".join(paths[:5]) + (f" and {restored - 5} more" if restored > 5 else "")  # noqa: PLR2004 - as many as named
    where = f" (commit {commit[:12]})" if commit else ""
    lost = {claim["agent"]: claim["token"] for claim in taken}
    for agent in dict.fromkeys([*of, *lost]):
        if not related(agent, call.agent) and get_agent(tx, agent) is not None:
            text = f"{name_of(tx, call.agent)} undid what you changed in {some}{where}."
            if agent in lost:
                text += f" Your claim ended with it: token {lost[agent]} is no longer live."
            mailbox.post(tx, agent, call.voice, "undo", f"{text} Read it again before you continue.", undo=undo)
    _tell_holders(tx, call, request, of)
    return {"undo": undo}


def _finish(tx: Transaction, mine: list[Claim], back: Sequence[Claim], *, release: bool) -> None:
    """The undo no longer holds its files. `back` are claims that it took away and gives back."""
    freed: list[Resource] = []
    for held in mine:
        for field in ("undo", "undo_of", "undo_took"):
            held.pop(field, None)  # type: ignore[misc]  # each of them may be missing
        if release:
            endings.give_back(tx, held, held["resources"], "released")
            freed += held["resources"]
        else:
            claim_records.put(tx, held)
    person_acts.give_back(tx, back)
    endings.serve(tx, freed)


def _tell_holders(tx: Transaction, call: Call, request: UndoDoneRequest, of: Sequence[str]) -> None:
    """Notify the agents that hold one of the files and keep it."""
    names = " and ".join([name_of(tx, agent) for agent in of[:2]])
    by_agent: dict[str, tuple[Claim, list[str]]] = {}
    for path in request["paths"][:MAX_TOLD]:
        for claim in person_acts.at_work(tx, call, [("file", path)], request["tree"]):
            by_agent.setdefault(claim["agent"], (claim, []))[1].append(path)
    for claim, paths in by_agent.values():
        some = ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")  # noqa: PLR2004 - as above
        text = f"{name_of(tx, call.agent)} undid what {names} changed in {some}."
        person_acts.tell(tx, call, [claim], text, "undo", undo=request["undo"])


def _asks(_: Transaction, call: Call, request: UndoRequest) -> tuple[str, list[str]]:
    """One's own work and that of one's subagents; an orchestrator undoes that of others."""
    return ("" if all(within(agent, call.agent) for agent in request["of"]) else "orchestrator"), []


def _ahead(call: Call, request: UndoRequest) -> Ahead:
    return (), ranges_for(request["paths"]) if request["paths"] else []


_COMMON = (
    Field("undo", "text", "its id", required=True),
    Field("of", "words", "the agents whose work it is", required=True),
    Field("what", "text", "what was asked for", required=True),
)
_TREE = Field("tree", "tree", "the top of the working tree", required=True)
TAKE = Operation(
    "undo", _take, "Take the files whose changes are to be undone.", sent_by=ANYWHERE,
    fields=(
        *_COMMON,
        Field("paths", "resources", "the files, or their folders", required=True),
        _TREE,
        Field("count", "integer", "how many files", required=True),
        Field("local", "flag", "this working tree has dibs' own record", default=True),
    ),
    errors=(Forbidden, Held, Conflict), rank="worker", max_rank="orchestrator", required_rank=_asks, takes=True,
    ahead=_ahead,
)  # fmt: skip
DONE = Operation(
    "undo-done", _done, "The changes are undone.", sent_by=ANYWHERE,
    fields=(
        *_COMMON,
        Field("paths", "words", "the files", required=True, longest=0),
        _TREE,
        Field("restored", "integer", "how many files", required=True),
        Field("conflicts", "integer", "how many of them have conflicts", default=0),
        Field("commit", "text", "the commit that reverts committed work", default=""),
        Field("claim", "text", "the claim under which it was done", default=""),
        Field("release", "flag", "the undo alone holds them", default=False),
        Field("code", "text", "why nothing was undone", default=""),
    ),
)  # fmt: skip

INTERNAL = (TAKE, DONE)
