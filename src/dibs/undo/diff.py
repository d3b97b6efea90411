"""`diff AGENT`: the work of an agent that no commit has, in all working trees of this machine, as a diff.

The same scope, ledger and rules as `undo` (scope.py, plan.py): what is shown is what `undo` would take out. It changes
nothing. An agent without such work has an empty answer, which says where else it may be.
"""

from __future__ import annotations

from dibs.client.unfinished import tops_of
from dibs.errors import Forbidden, NotFound
from dibs.operations.agents.lookups import NAMES
from dibs.operations.core.declare import Field, Operation
from dibs.operations.core.query import HERE
from dibs.operations.guards.undo import GONE
from dibs.undo import differences
from dibs.undo import plan as undo_plan
from dibs.undo import scope as undo_scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import DiffAnswer, DiffFileView
    from dibs.client.session import Session
    from dibs.operations.core.call import Call
    from dibs.undo.plan import FilePlan, Planner
    from dibs.undo.requests import DiffRequest

CONTEXT = 3  # lines, as git has it


def _diff(session: Session, call: Call, request: DiffRequest) -> DiffAnswer:
    """What the agent changed and no commit has."""
    scope, _ = undo_scope.find(session, call, f"{undo_scope.AGENT}:{request['agent']}", 0)
    agent = scope.agents[0]
    names = session.run(NAMES, call, {"agents": [agent]})["names"]
    files: list[DiffFileView] = []
    for top in tops_of(session):
        planner = undo_plan.Planner(session, scope, request["paths"], merge=True, top=top)
        files += [_shown(planner, one, stat=request["stat"]) for one in planner.unfinished()]
    return {"agent": agent, "name": names.get(agent) or agent, "files": files}


def _shown(planner: Planner, one: FilePlan, *, stat: bool) -> DiffFileView:
    """One file. Without the agent's work it would be `to`; it is `now`."""
    path, before, after = one.path, one.to, one.now
    names = ("/dev/null" if before == GONE else f"a/{path}", "/dev/null" if after == GONE else f"b/{path}")
    made = [] if one.problem else differences.lines(before, after, planner.content, names, context=CONTEXT)
    hunks = made[2:] if made and made[0].startswith("--- ") else made
    view: DiffFileView = {
        "path": path,
        "tree": planner.tree.top,
        "change": "added" if before == GONE else "deleted" if after == GONE else "modified",
        "added": len([line for line in hunks if line.startswith("+")]),
        "removed": len([line for line in hunks if line.startswith("-")]),
        "likely": one.is_likely,
        "shared": bool(one.blockers),
        "problem": one.problem or None,
    }
    if not stat:
        view["diff"] = differences.shortened(made)
    return view


DIFF = Operation(
    "diff",
    _diff,
    "Show the work of an agent that no commit has, as a diff.",
    fields=(
        Field("agent", "agent", "the agent's id or name", positional=True, required=True, metavar="AGENT"),
        Field("paths", "resources", "only these files, folders or globs", positional=True, default=(), metavar="PATH"),
        Field("stat", "flag", "only the files, and how many lines of each", default=False),
    ),
    errors=(NotFound, Forbidden),
    answer="DiffAnswer",
    group="guards",
    rank="worker",  # it shows what is in files, also to a caller from afar
    idempotent=True,
    wants=(HERE,),
    is_query=True,
)

QUERIES = (DIFF,)
