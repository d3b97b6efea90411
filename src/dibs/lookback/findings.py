"""The look itself: every moment of the files, in the order of time, and what came of it as plain values."""

from __future__ import annotations

from collections import Counter

from dibs.client import catalogue
from dibs.lookback import causes
from dibs.lookback.moments import COMMAND, EDIT, PROMPT
from dibs.lookback.past import Past
from dibs.lookback.session_files import Unread, find, merged
from dibs.lookback.shared_work import NEAR_MINUTES, SharedWork, Together
from dibs.lookback.trees import Trees
from dibs.machine import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypedDict

    from dibs.lookback.judged import Judged, Overwrite, Refusal, Sweep
    from dibs.lookback.moments import Moment
    from dibs.lookback.shared_work import NearEdit, SharedId, Stretch

    class Span(TypedDict):
        """A stretch of work of one session."""

        session: str
        client: str
        tree: str
        start: str
        end: str
        calls: int

    class RepositoryView(TypedDict):
        """One repository."""

        repository: str
        trees: int
        sessions: int
        at_once: int  # sessions at work at the same time, at most
        together_s: int  # how long there were two or more
        spans: list[Span]

    class NearView(TypedDict):
        """An edit shortly after another session's."""

        at: str
        path: str
        first: str
        by: str
        seconds: int
        place: str

    class SweepView(TypedDict):
        """A git command over others' uncommitted work."""

        at: str
        by: str
        command: str
        does: str
        files: list[str]
        of: list[str]

    class OverwriteView(TypedDict):
        """A whole file, written unread over another's edit."""

        at: str
        by: str
        path: str
        of: str
        seconds: int

    class IdView(TypedDict):
        """An issue that two sessions were given."""

        at: str
        id: str
        first: str
        by: str
        seconds: int
        together: bool
        repository: str

    class RefusalView(TypedDict):
        """A call that dibs would have refused."""

        at: str
        by: str
        what: str
        code: str
        cause: str
        message: str
        alone: bool
        repeated: int

    Lookback = TypedDict(
        "Lookback",
        {
            "folders": list[list[str]], "files": int, "lines": int, "bytes": int, "from": str, "to": str,
            "sessions": int, "clients": dict[str, int], "agents": dict[str, str],
            "calls": int, "edits": int, "commands": int, "prompts": int,
            "together": dict[str, int], "near": dict[str, int], "near_edits": list[NearView], "overwritten": int,
            "overwrites": list[OverwriteView], "swept": int, "sweeps": list[SweepView], "shared_ids": dict[str, int],
            "ids": list[IdView], "refused_alone": dict[str, int], "refused": dict[str, int], "causes": dict[str, int],
            "refusals": list[RefusalView], "repositories": list[RepositoryView], "failed": list[str],
            "unread": dict[str, dict[str, int]], "seconds": float,
        },
    )  # fmt: skip

MAX_KEPT = 5_000  # of each list; the counts are of all
MAX_COMMAND_LETTERS = 160
LIMIT = 10  # of each list, if nothing is said
MAX_FAILED = 20


class Look:
    """One look over folders of sessions."""

    def __init__(self, home: str, *, since: int = 0, repository: str = "") -> None:
        for operation in ("claim", "release"):  # sets what operations of one room ask of another
            catalogue.operation(operation)
        self._home, self._since, self._repository = home, since, repository
        self._trees = Trees(home)
        self._pasts: dict[str, Past] = {}
        self.unread = Unread()
        self.work = SharedWork()
        self.sessions: dict[str, str] = {}
        self.counts: Counter[str] = Counter()
        self.first = self.last = 0
        self.sweeps: list[Sweep] = []
        self.overwrites: list[Overwrite] = []
        self.refusals: list[tuple[Refusal, str]] = []
        self.repeated: Counter[tuple[str, str, str]] = Counter()
        self.failed: list[str] = []

    def over(self, folders: Sequence[str], seen: Callable[[str, int], None]) -> int:
        """Look at all of it; returns how many files there are. `seen` is told how far it is."""
        files = find(folders, self.unread, lambda count: seen("files", count), since=self._since)
        for number, moment in enumerate(merged(files, self.unread)):
            seen("calls", number)
            if moment.at >= self._since:
                self._moment(moment)
        return len(files)

    def _moment(self, moment: Moment) -> None:
        if not moment.at:
            self.unread.lines[f"{moment.client}: without a time"] += 1
            return
        tree, repository = self._trees.of(moment.cwd)
        if self._repository and self._repository not in {repository, tree}:
            return
        self.first, self.last = self.first or moment.at, moment.at
        self.sessions.setdefault(moment.session, moment.client)
        self.counts["prompts" if moment.kind == PROMPT else "calls"] += 1
        self.counts[moment.kind] += 1
        self.work.saw(moment, tree, repository)
        if moment.kind not in {EDIT, COMMAND, "read"} or not repository:
            return
        past = self._pasts.get(repository)
        if past is None:
            past = self._pasts[repository] = Past(self._trees.of, repository, self._home)
        try:
            self._note(past.judge(moment), moment, repository)
        except Exception as error:  # noqa: BLE001 - one call never ends the look; it is counted and told
            self.counts["failed"] += 1
            if len(self.failed) < MAX_FAILED:
                self.failed.append(f"{type(error).__name__}: {error}"[:300])

    def _note(self, seen: Judged, moment: Moment, repository: str) -> None:
        for place, change in seen.changed:
            self.counts["changed"] += 1
            self.work.edited(moment, f"{place.tree}/{place.text}", change, repository)
        self.counts["sweeps"] += len(seen.sweeps)
        self.counts["overwrites"] += len(seen.overwrites)
        self.sweeps += seen.sweeps if len(self.sweeps) < MAX_KEPT else ()
        self.overwrites += seen.overwrites if len(self.overwrites) < MAX_KEPT else ()
        if seen.refusal is None:
            return
        cause = causes.of(seen.refusal.error)
        kind = "alone" if seen.refusal.alone else "shared"
        self.counts[f"{kind} {moment.kind}"] += 1
        self.counts[f"cause {cause}"] += 1
        key = moment.agent, cause, " ".join(seen.refusal.paths) or moment.command
        self.repeated[key] += 1
        if self.repeated[key] == 1:
            self.counts[f"first {kind}"] += 1
            if len(self.refusals) < MAX_KEPT:
                self.refusals.append((seen.refusal, cause))


def look(
    folders: Sequence[tuple[str, str]], home: str, seen: Callable[[str, int], None], *, since: int = 0,
    repository: str = "", limit: int = LIMIT,
) -> Lookback:  # fmt: skip
    """What is found in these folders, each with the client whose it is ("" for one that was named)."""
    began = clock.since_boot()
    one = Look(home, since=since, repository=repository)
    files = one.over([folder for _, folder in folders], seen)
    return _as_json(one, [list(pair) for pair in folders], files, limit, (clock.since_boot() - began) / 1000)


def _as_json(one: Look, folders: list[list[str]], files: int, limit: int, seconds: float) -> Lookback:
    counts, work = one.counts, one.work
    repositories: dict[str, list[Stretch]] = {}
    for stretch in work.stretches:
        repositories.setdefault(stretch.repository, []).append(stretch)
    views = [_repository(name, stretches) for name, stretches in repositories.items()]
    hits = Counter(edit.repository for edit in work.near)
    views.sort(key=lambda view: (-hits[view["repository"]], -view["together_s"], -view["sessions"], view["repository"]))
    counted = [Together(stretches) for stretches in repositories.values()]
    trees: dict[str, list[Stretch]] = {}
    for stretch in work.stretches:
        trees.setdefault(stretch.tree, []).append(stretch)
    in_tree = [Together(stretches) for stretches in trees.values()]
    near = {str(minutes): sum(edit.after_ms <= minutes * 60_000 for edit in work.near) for minutes in NEAR_MINUTES}
    near["files"] = len({edit.path for edit in work.near})
    near |= Counter(edit.place for edit in work.near)
    clients = Counter(one.sessions.values())
    found: Lookback = {
        "folders": folders, "files": files, "lines": one.unread.read, "bytes": one.unread.size,
        "from": _time(one.first), "to": _time(one.last), "sessions": len(one.sessions),
        "clients": dict(clients), "agents": {},
        "calls": counts["calls"], "edits": counts["changed"], "commands": counts[COMMAND], "prompts": counts["prompts"],
        "together": {
            "sessions": len(set().union(*[two.sessions for two in counted])),
            "pairs": sum(len(two.pairs) for two in counted), "at_once": max([two.most for two in counted], default=0),
            "seconds": sum(two.ms for two in counted) // 1000,
            "same_tree": len(set().union(*[two.sessions for two in in_tree])),
        },
        "near": near, "near_edits": [_near(edit) for edit in _nearest(work.near)[:limit]],
        "overwritten": counts["overwrites"], "overwrites": [_overwrite(item) for item in one.overwrites[:limit]],
        "swept": counts["sweeps"], "sweeps": [_sweep(item) for item in one.sweeps[:limit]],
        "shared_ids": {"all": len(work.ids), "together": sum(item.together for item in work.ids)},
        "ids": [_id(item) for item in sorted(work.ids, key=lambda item: not item.together)[:limit]],
        "refused_alone": {"commands": counts["alone command"], "edits": counts["alone edit"]},
        "refused": {
            "commands": counts["shared command"], "edits": counts["shared edit"], "first": counts["first shared"]
        },
        "causes": {name[6:]: count for name, count in counts.most_common() if name.startswith("cause ")},
        "refusals": [
            _refusal(item, cause, one)
            for item, cause in sorted(one.refusals, key=lambda pair: not pair[0].alone)[:limit]
        ],
        "repositories": views[:limit], "failed": one.failed, "unread": one.unread.as_json(),
        "seconds": round(seconds, 1),
    }  # fmt: skip
    found["agents"] = {name: one.sessions[name] for name in _named(found)}
    return found


def _named(found: Lookback) -> list[str]:
    """The sessions that the lists name: for people, each goes by its client."""
    agents = [one["by"] for rows in (found["refusals"], found["overwrites"], found["sweeps"]) for one in rows]
    agents += [name for near in found["near_edits"] for name in (near["by"], near["first"])]
    agents += [name for given in found["ids"] for name in (given["by"], given["first"])]
    agents += [one["of"] for one in found["overwrites"]] + [owner for one in found["sweeps"] for owner in one["of"]]
    agents += [span["session"] for view in found["repositories"] for span in view["spans"]]
    return list(dict.fromkeys([agent.partition("/")[0] for agent in agents]))


def _time(ms: int) -> str:
    return clock.iso(ms) if ms else ""


def _nearest(edits: list[NearEdit]) -> list[NearEdit]:
    """The shortest gaps first; each file once for two agents."""
    first: dict[tuple[str, str, str], NearEdit] = {}
    for edit in sorted(edits, key=lambda edit: edit.after_ms):
        first.setdefault((edit.path, *sorted((edit.by, edit.first))[:2]), edit)  # type: ignore[arg-type] # two agents
    return list(first.values())


def _repository(name: str, stretches: list[Stretch]) -> RepositoryView:
    two = Together(stretches)
    spans: list[Span] = [
        {"session": one.session, "client": one.client, "tree": one.tree, "start": _time(one.start),
         "end": _time(one.end), "calls": one.calls} for one in stretches[:MAX_KEPT]
    ]  # fmt: skip
    return {
        "repository": name, "trees": len({one.tree for one in stretches}),
        "sessions": len({one.session for one in stretches}), "at_once": two.most, "together_s": two.ms // 1000,
        "spans": spans,
    }  # fmt: skip


def _near(edit: NearEdit) -> NearView:
    return {
        "at": _time(edit.at), "path": edit.path, "first": edit.first, "by": edit.by, "seconds": edit.after_ms // 1000,
        "place": edit.place,
    }  # fmt: skip


def _sweep(sweep: Sweep) -> SweepView:
    return {
        "at": _time(sweep.moment.at), "by": sweep.moment.agent, "command": causes.shown(sweep.what),
        "does": sweep.does, "files": sweep.paths[:MAX_FAILED], "of": sweep.owners,
    }  # fmt: skip


def _overwrite(one: Overwrite) -> OverwriteView:
    return {
        "at": _time(one.moment.at), "by": one.moment.agent, "path": one.path, "of": one.author,
        "seconds": (one.moment.at - one.at) // 1000,
    }  # fmt: skip


def _id(one: SharedId) -> IdView:
    return {
        "at": _time(one.at), "id": one.id, "first": one.first, "by": one.by, "seconds": (one.at - one.since) // 1000,
        "together": one.together, "repository": one.repository,
    }  # fmt: skip


def _refusal(one: Refusal, cause: str, found: Look) -> RefusalView:
    moment = one.moment
    what = causes.shown(moment.command) if moment.command else f"edit {', '.join(one.paths[:3])}"
    repeated = found.repeated[moment.agent, cause, " ".join(one.paths) or moment.command]
    return {
        "at": _time(moment.at), "by": moment.agent, "what": what, "code": one.error.code, "cause": cause,
        "message": causes.shown(one.error.message, causes.MAX_MESSAGE_LETTERS), "alone": one.alone,
        "repeated": repeated,
    }  # fmt: skip
