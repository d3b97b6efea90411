"""`undo`, from a word to files that are as they were: for the command and for Python alike.

scope.py finds what is meant, plan.py what is to be done, apply.py does it, operations/guards/undo.py has
the rules. It needs the caller's machine: its files and its repository. So no server offers it.

- success: the answer has each file with its difference, and the undo's id, which undoes it.
- refusal: others built on it (`conflict`, with the files), another agent holds a file and the caller is no person
  (`held`), the caller may not (`forbidden`), nothing of it is left (`not_found`), another undo runs here (`busy`).
  Nothing is changed then.
- crash: the next call finishes what was begun, and says so (`continued`).
"""

from __future__ import annotations

from dibs.errors import Conflict, Forbidden, Held, Invalid, NotFound, asking, named
from dibs.machine import clock, durations, relative_times
from dibs.operations.core.declare import Field
from dibs.undo import apply, differences
from dibs.undo import plan as undo_plan
from dibs.undo import scope as undo_scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.audit.answers import UndoAnswer, UndoneView
    from dibs.client.session import Session
    from dibs.operations.core.call import Call
    from dibs.operations.guards.person_acts import AtWorkAnswer
    from dibs.undo.apply import Journal
    from dibs.undo.plan import FilePlan, Plan, Planner
    from dibs.undo.scope import Scope

MS_NS = 1_000_000
SHOWN = 5  # blockers that a refusal names
NOBODY = {"outside": "a person or a program", "?": "an unknown agent", "unknown": "an unknown agent"}
WHAT = Field("what", "text", "the claim, task, agent or earlier undo", required=True)
PATHS = Field("paths", "raws", "only these files, folders or globs", default=())
FLAGS = tuple([Field(name, "flag", "", default=False) for name in ("theirs", "dry_run")])


class Undo:
    """One caller's. `agreed` is shown what would be done, and says whether it is to be done.

    `told` hears at once of each interrupted undo that was finished: what comes after may be refused.
    """

    def __init__(
        self,
        session: Session,
        call: Call,
        agreed: Callable[[UndoAnswer], bool] | None = None,
        told: Callable[[UndoneView], None] | None = None,
    ) -> None:
        self.session, self.call, self.agreed, self.told = session, call, agreed, told

    def run(
        self,
        what: str,
        paths: Sequence[str] = (),
        since: str | float = "",
        *,
        theirs: bool = False,
        dry_run: bool = False,
    ) -> UndoAnswer:
        """Take back what `what` changed: the answer."""
        for field, value in zip((WHAT, PATHS, *FLAGS), (what, paths, theirs, dry_run), strict=True):
            field.check(value)
        if not what.strip():
            raise Invalid("what: a claim, a task, an agent or an earlier undo", field="what")
        start = _since(since)
        return self.taken_back(
            lambda: undo_scope.find(self.session, self.call, what, start), paths, theirs=theirs, dry_run=dry_run
        )

    def taken_back(
        self, find: Callable[[], tuple[Scope, list[str]]], paths: Sequence[str], *, theirs: bool, dry_run: bool = False
    ) -> UndoAnswer:
        """Take back what is in the scope that `find` has found, once what was interrupted is done."""
        session, call = self.session, self.call
        worker = apply.Worker(session, call)
        lock = apply.Lock(worker.folder)
        try:
            continued, waiting = ([], []) if dry_run else self._continued(worker)
            scope, others = find()
            planner = undo_plan.Planner(session, scope, undo_plan.resources_of(session, paths), merge=theirs)
            plan = planner.made()
            at_work = self._at_work(worker, plan)
            plan.left += [f"Undo {made['undo']} was interrupted and is not finished: {why}" for made, why in waiting]
            shown = _shown(session, call, planner, plan, others)
            shown["continued"], shown["holders"] = continued, at_work["holders"]
            asked: UndoAnswer = {**shown, "notes": [*plan.left, *_who_is_at_work(at_work)]}
            if not plan.files:
                raise NotFound(_nothing(plan, shown), what=scope.id)
            if dry_run:
                return asked
            for made, why in waiting:
                if common := sorted({one.path for one in plan.files}.intersection(made["paths"])):
                    raise Conflict(f"undo {made['undo']} of {common[0]} was interrupted: {why}", path=common[0])
            if plan.blocked and not theirs:
                raise _built_on(plan.blocked, shown)
            if all(one.problem for one in plan.files):
                raise NotFound(f"nothing of {scope.title()} can be undone: {plan.files[0].problem}", what=scope.id)
            if self.agreed is not None and not self.agreed(asked):
                return asked
            return {**shown, **worker.begin(plan), "done": True}
        finally:
            lock.close()

    def _at_work(self, worker: apply.Worker, plan: Plan) -> AtWorkAnswer:
        """The agents that hold files of the plan now, and what each of them loses."""
        from dibs.operations.guards.person_acts import AT_WORK

        wanted = worker.resources([one.path for one in plan.files if not one.problem])
        fields = {"resources": wanted, "tree": worker.tree.top, "of": plan.scope.agents}
        answer: AtWorkAnswer = self.session.run(AT_WORK, self.call, fields)
        return answer

    def _continued(self, worker: apply.Worker) -> tuple[list[UndoneView], list[tuple[Journal, str]]]:
        """What killed runs began, done to its end; and what this caller may not finish, or not now, with the reason."""
        continued: list[UndoneView] = []
        waiting: list[tuple[Journal, str]] = []
        for made in worker.unfinished():
            try:
                continued.append(worker.proceed(made))
            except (Forbidden, Held) as error:
                waiting.append((made, error.message))
                continue
            if self.told is not None:
                self.told(continued[-1])
        return continued, waiting


def _who_is_at_work(found: AtWorkAnswer) -> list[str]:
    """Who holds files of the plan, and what comes of it: a person acts for it, another caller is refused."""
    lines = []
    for one in found["holders"]:
        who, files = named(one), ", ".join(one["files"][:SHOWN])
        it = "it" if len(one["files"]) == 1 else "them"
        more = f" and {len(one['files']) - SHOWN} more" if len(one["files"]) > SHOWN else ""
        if not found["decides"]:
            ask = f"Ask for it (`{asking(one['files'][0])}`), or let a person undo it."
            lines.append(f"{who} holds {files}{more}: as long as it does, this is refused. {ask}")
        elif one["loses"]:
            rest = [held for held in one["holds"] if held not in one["files"]]
            also = f" (and {', '.join(rest[:SHOWN])})" if rest else ""
            lines.append(f"{who} is still at work on {files}{more}: it loses {it}{also}, and is notified why.")
        else:
            lines.append(f"{who} is at work on {files}{more}: it keeps {it}, and is told to read {it} again.")
    return lines


def _since(since: str | float) -> int:
    """A time in ns, from how long ago it was; 0 for nothing."""
    if since == "":
        return 0
    ago = durations.read(since, "since")
    if not ago:
        raise Invalid("since: how long ago, such as 10m or 2h; without it, all that is kept is undone", field="since")
    return (clock.wall() - ago) * MS_NS


def _nothing(plan: Plan, shown: UndoAnswer) -> str:
    what = shown["what"]
    return " ".join([f"nothing that {what['kind']} {what['id']} changed is left to undo here.", *plan.left])


def _built_on(files: list[FilePlan], shown: UndoAnswer) -> Conflict:
    """Who built on which file, since when."""
    names = {one["path"]: one["others"] for one in shown["files"]}
    lines = []
    for one in files[:SHOWN]:
        found = names[one.path][0]
        lines.append(f"  {one.path}: {found['name']} changed it {relative_times.ago(found['since'])} ago")
    if len(files) > SHOWN:
        lines.append(f"  and {len(files) - SHOWN} more")
    what = shown["what"]
    text = "\n".join(
        [
            f"others have built on what {what['kind']} {what['id']} changed:",
            *lines,
            "`--theirs` keeps their work and takes out only the rest, by a three-way merge; or name the other files.",
        ]
    )
    first = names[files[0].path][0]
    return Conflict(text, path=files[0].path, agent=first["agent"], paths=[one.path for one in files])


# --- what is shown


def _shown(session: Session, call: Call, planner: Planner, plan: Plan, others: list[str]) -> UndoAnswer:
    """What would be done."""
    from dibs.operations.agents.lookups import NAMES

    built = {one.path: [(planner.builder(one.path, run), run.since) for run in one.blockers] for one in plan.files}
    agents = {agent for found in built.values() for agent, _ in found} | set(plan.scope.agents)
    names = session.run(NAMES, call, {"agents": sorted(agents)})["names"]
    return {
        "what": {
            "kind": plan.scope.kind, "id": plan.scope.id, "agents": plan.scope.agents,
            "agents_name": [names.get(agent, agent) for agent in plan.scope.agents],
        },
        "others": others,
        "commits": plan.commits,
        "notes": plan.left,
        "files": [
            {
                "path": one.path, "action": _action(one), "likely": one.is_likely, "conflicts": one.conflicts,
                "reverts": one.head != one.head_to, "problem": one.problem or None, "diff": _diff(planner, one),
                "others": [
                    {"agent": agent, "name": NOBODY.get(agent) or names.get(agent) or agent,
                     "since": clock.iso(since // MS_NS)}
                    for agent, since in built[one.path]
                ],
            }
            for one in plan.files
        ],
        "holders": [],
        "continued": [],
        "done": False,
    }  # fmt: skip


def _action(one: FilePlan) -> str:
    if one.problem:
        return "none"
    if one.to == one.now:
        return "commit" if one.head != one.head_to else "unstage" if one.staged is not None else "none"
    if one.to[0] == "-":
        return "remove"
    if one.now[0] == "-":
        return "bring back"
    return "mode" if one.to[0] == one.now[0] else "merge" if one.blockers else "restore"


def _diff(planner: Planner, one: FilePlan) -> str:
    """The difference that undoing makes."""
    if one.problem or one.to == one.now:
        return ""
    names = ("now", "after the undo")
    return differences.shortened(differences.lines(one.now, one.to, planner.content, names, context=2))
