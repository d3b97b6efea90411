"""The radar: merges every two working trees and branches without touching any of them, and reports the conflicts.

`look` gathers the sides (git/sides.py), merges the pairs that it has not merged before (git/merges.py),
finds out whose work it is, and reports to operations/landing/conflicts.py, which decides who is told. It costs one `git
status` a working tree, and one git process for all merges that are new. What it knows is kept below git's common
directory, in `dibs/radar/`: results by the two commits, and objects that git itself never sees. No hook calls this.
"""

from __future__ import annotations

import os
import shutil
from fnmatch import fnmatchcase
from itertools import combinations
from time import monotonic

from dibs import jsontext
from dibs.client.landing_settings import target_of
from dibs.error_subtypes import NotTakenFromSender
from dibs.errors import DibsError, Invalid
from dibs.git import commits, merges, sides
from dibs.git import queries as git
from dibs.machine import atomic_write, clock, processes
from dibs.operations.landing import conflicts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.client.session import Session
    from dibs.git.sides import Side
    from dibs.operations.core.call import Call
    from dibs.operations.landing.answers import ComingConflictView, RadarAnswer
    from dibs.stores.seam import Json

    FileRow = list[str | list[list[int]]]  # path, kind, hunks

    class Conflicting(TypedDict):
        """What of a pair conflicts."""

        files: list[FileRow]  # the first ones
        count: int  # of all

    class ReportedPair(Conflicting):
        """Two sides that conflict, as `radar-report` takes them."""

        one: str
        other: str
        branches: list[str]
        trees: list[str]
        commits: list[str]
        agents: list[str]  # of the one side; known once it is to be reported
        other_agents: list[str]

    Results = dict[str, Conflicting | None]  # by the two commits; None: no conflict

    class Known(TypedDict):
        """What a look leaves for the next one."""

        trees: dict[str, Json]  # as git/sides.py left it
        pairs: Results


MAX_SIDES = 100  # of 100 there are 4,950 pairs
MAX_AUTHORED = 200  # commits that are searched for their agents
MAX_OBJECTS_A_FOLDER = 60  # of 256 folders; then the kept objects are thrown away and made anew
MAX_KEPT_PAIRS = 20_000  # results


class Survey:
    """What one look found, and what it cost."""

    __slots__ = ("conflicts", "left_off", "merged", "notes", "pairs", "seconds", "sides")

    def __init__(self) -> None:
        self.sides = 0
        self.pairs = 0
        self.merged = 0  # pairs that were merged now; the others were known
        self.conflicts: list[ReportedPair] = []  # as the operation takes them
        self.left_off = 0  # sides beyond the limit
        self.notes: list[str] = []
        self.seconds = 0.0


def look(session: Session, call: Call) -> Survey:
    """Look once, and report. Raises Unavailable if git is too old."""
    if not session.place.common:
        raise Invalid("this is not a git repository: there is nothing to merge", path=session.place.root)
    merges.require()
    begun = monotonic()
    found = Survey()
    folder = f"{session.place.shared}/radar"
    objects = _objects(session, folder)
    kept = _read(folder)
    chosen = _sides(session, found)
    learned = sides.look(chosen, objects, folder, kept["trees"])
    found.sides = len(chosen)
    found.notes += [f"{side.name}: {side.note}" for side in chosen if side.note]
    results = _merged(session.place.top, objects, chosen, kept["pairs"], found)
    if results != kept["pairs"] or learned != kept["trees"]:
        _write(folder, {"trees": learned, "pairs": results})
    _gather(chosen, results, found)
    _report(session, call, chosen, found)
    found.seconds = monotonic() - begun
    return found


def _sides(session: Session, found: Survey) -> list[Side]:
    """What is looked at: the working trees, the target, the young branches that are not part of it."""
    settings, place = session.config.policy.work["radar"], session.place
    target = target_of(session)
    tip = git.commit(place.top, f"refs/heads/{target}")
    trees = sides.worktrees(place.top)
    out = {side.branch for side in trees}
    chosen = list(trees)
    if tip and target not in out:
        chosen.append(sides.Side(target, tip))
    since = clock.wall() // 1000 - settings["recent"] // 1000
    limit = settings["branches"]
    young = sides.branches(place.top, tip, since, limit + len(out)) if limit else []
    chosen += [side for side in young if side.branch not in out and side.branch != target][:limit]
    chosen = [side for side in chosen if not any(fnmatchcase(side.branch, pattern) for pattern in settings["ignore"])]
    found.left_off = max(0, len(chosen) - MAX_SIDES)
    return chosen[:MAX_SIDES]


def _merged(top: str, objects: merges.Objects, chosen: list[Side], known: Results, found: Survey) -> Results:
    """The conflicting files of each pair, by its two commits; pairs without a conflict have none."""
    pairs = {_key(*pair): pair for pair in map(_ordered, combinations(chosen, 2)) if pair[0].commit != pair[1].commit}
    found.pairs = len(pairs)
    missing = [key for key in pairs if key not in known]
    found.merged = len(missing)
    results: Results = {}
    made = merges.merge_all(top, objects, [(pairs[key][0].commit, pairs[key][1].commit) for key in missing])
    hunks = merges.Hunks(top, objects)
    for key, merge in zip(missing, made, strict=True):
        results[key] = _files(hunks, merge)
    results.update({key: known[key] for key in pairs if key in known})
    if len(known) + len(missing) <= MAX_KEPT_PAIRS:  # a tree that is changed back is known still
        results = {**known, **results}
    return results


def _ordered(pair: tuple[Side, Side]) -> tuple[Side, Side]:
    one, other = pair
    return (one, other) if one.id <= other.id else (other, one)


def _key(one: Side, other: Side) -> str:
    return f"{one.commit} {other.commit}"


def _files(hunks: merges.Hunks, merge: merges.Merge) -> Conflicting | None:
    if merge.outcome != merges.CONFLICT:
        return None
    rows: list[FileRow] = []
    for file in merge.files[: conflicts.MAX_FILES_KEPT]:
        places = [[*hunk["ours"], *hunk["theirs"]] for hunk in hunks.of(file)]
        rows.append([file["path"], file["kind"], places])
    return {"files": rows, "count": max(1, len(merge.files))}


def _gather(chosen: list[Side], results: Results, found: Survey) -> None:
    for one, other in map(_ordered, combinations(chosen, 2)):
        files = results.get(_key(one, other)) if one.commit != other.commit else None
        if files is not None:
            found.conflicts.append({
                "one": one.id, "other": other.id, "branches": [one.branch, other.branch],
                "trees": [one.top, other.top], "commits": [one.commit, other.commit],
                "agents": [], "other_agents": [], "files": files["files"], "count": files["count"],
            })  # fmt: skip


# --- the report


def _report(session: Session, call: Call, chosen: list[Side], found: Survey) -> None:
    """Tell the store what changed; if nothing did, nothing is written."""
    stored: RadarAnswer = session.run(session.operation("radar"), call, {"limit": 1_000})
    before = {
        _pair(*[side["side"] for side in conflict["sides"]]): conflict for conflict in stored["conflicts"]
    }  # fmt: skip
    now = {_pair(pair["one"], pair["other"]): pair for pair in found.conflicts}
    looked = stored["looked_at"]
    same = before.keys() == now.keys() and all(_has_files(before[key], now[key]) for key in now)
    if same and looked is not None and stored["looked"] == found.sides and not _is_old(session, looked):
        return
    pairs = found.conflicts[: conflicts.MAX_PAIRS]
    left_off = len(found.conflicts) - len(pairs)
    authors = _Authors(session, call, chosen)
    for pair in pairs:
        known = before.get(_pair(pair["one"], pair["other"]))
        agents = {side["side"]: side["agents"] for side in known["sides"]} if known else {}
        one, other = pair["one"], pair["other"]
        pair["agents"] = agents[one] if one in agents else authors.of(one, _paths(pair))
        pair["other_agents"] = agents[other] if other in agents else authors.of(other, _paths(pair))
    place = f"{processes.host()}\t{session.place.common}"
    fields = {"place": place, "pairs": pairs, "looked": found.sides, "left_off": left_off}
    try:
        session.run(conflicts.REPORT, call, fields)
    except NotTakenFromSender as error:
        found.notes.append(f"not reported: {error.message}")


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)


def _has_files(stored: ComingConflictView, pair: ReportedPair) -> bool:
    """Does the store know these files of a conflict?"""
    return sorted(file["path"] for file in stored["files"]) == sorted(_paths(pair))


def _paths(pair: ReportedPair) -> list[str]:
    return [str(row[0]) for row in pair["files"]]


def _is_old(session: Session, looked_at: str) -> bool:
    """Is the last written look so old that its readers need a new one?"""
    return clock.since_boot() - session.deadline(looked_at) > conflicts.TOUCHED_EVERY_MS


class _Authors:
    """Whose work a side is: unfinished by the ledger, committed by the trailers; else who has claims there."""

    def __init__(self, session: Session, call: Call, chosen: list[Side]) -> None:
        self._session, self._call = session, call
        self._sides = {side.id: side for side in chosen}
        self._target = git.commit(session.place.top, f"refs/heads/{target_of(session)}")
        self._made: dict[str, list[str]] = {}  # side → the agents of its commits
        self._claims: dict[str, list[str]] | None = None  # working tree → the agents with claims there

    def of(self, identifier: str, paths: list[str]) -> list[str]:
        """The agents whose work these files of a side are."""
        from dibs.ledger import working_tree

        side = self._sides[identifier]
        found: dict[str, None] = {}
        if side.top:
            heads = working_tree.at(side.top, self._session.place).state.heads
            for path in paths:
                if path in heads:
                    found.update(dict.fromkeys(heads[path].owners))
        if identifier not in self._made:
            top = self._session.place.top
            made = commits.between(top, self._target, side.head)[:MAX_AUTHORED] if side.head != self._target else []
            self._made[identifier] = list(commits.makers(top, made))
        found.update(dict.fromkeys(self._made[identifier]))
        return list(found) or (self._with_claims(side.top) if side.top else [])

    def _with_claims(self, top: str) -> list[str]:
        if self._claims is None:
            self._claims = {}
            shown = self._session.run(self._session.operation("status"), self._call, {})
            for claim in shown["claims"]:
                self._claims.setdefault(claim.get("tree", ""), []).append(claim["agent"])
        return sorted(set(self._claims.get(top, ())))


# --- what is kept


def _objects(session: Session, folder: str) -> merges.Objects:
    own = f"{folder}/objects"
    try:
        crowded = len(os.listdir(f"{own}/00")) > MAX_OBJECTS_A_FOLDER
    except OSError:
        crowded = False
    if crowded:
        shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(own, 0o700, exist_ok=True)
    return merges.Objects(session.place.common, own)


def _read(folder: str) -> Known:
    nothing: Known = {"trees": {}, "pairs": {}}
    try:
        with open(f"{folder}/known.json", encoding="utf-8", errors="surrogateescape") as file:
            known = jsontext.decode(file.read())
    except (OSError, ValueError):
        return nothing
    is_sound = isinstance(known, dict) and all(isinstance(value, dict) for value in known.values())
    return {**nothing, **known} if is_sound else nothing


def _write(folder: str, what: Known) -> None:
    try:
        atomic_write.replace(f"{folder}/known.json", jsontext.encode(what))
    except (OSError, UnicodeError):
        pass  # a full disk, a sandbox: the next look merges again


# --- in a process that lasts


class Step:
    """Looks again and again for a server: at most as often as the config says, and a tenth of the time at most."""

    def __init__(self) -> None:
        self._next = 0.0
        self.trouble = ""  # why the last look failed

    def take(self, session: Session, call: Call) -> bool:
        """Look, if it is time and there is more than one working tree; returns whether it did."""
        every = session.config.policy.work["radar"]["every"] / 1000
        if not every or not session.place.common or monotonic() < self._next:
            return False
        begun = monotonic()
        try:
            look(session, call)
            self.trouble = ""
        except DibsError as error:
            self.trouble = error.message
        self._next = monotonic() + max(every, 10 * (monotonic() - begun))
        return True
