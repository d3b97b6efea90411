"""`diff AGENT`: the work of an agent that no commit has, in all working trees of this machine, as a diff.

The same scope, ledger and rules as `undo` (scope.py, plan.py): what is shown is what `undo` would take out. It changes
nothing. An agent without such work has an empty answer, which says where else it may be.
"""

from __future__ import annotations

from dibs.client.unfinished import tops_of
from dibs.errors import Forbidden, Invalid, NotFound
from dibs.operations.agents.lookups import NAMES
from dibs.operations.core.declare import NEAR, Field, Operation
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
    """What the agent changed and no commit has; with `at`, what became of anything since then."""
    if request["at"]:
        from dibs.undo import time_machine

        return time_machine.difference(session, call, request)
    if not request["agent"]:
        raise Invalid("diff: an agent, or `--at TIME` for what changed since then", field="agent")
    scope, _ = undo_scope.find(session, call, f"{undo_scope.AGENT}:{request['agent']}", 0)
    agent = scope.agents[0]
    names = session.run(NAMES, call, {"agents": [agent]})["names"]
    files: list[DiffFileView] = []
    for top in tops_of(session):
        planner = undo_plan.Planner(session, scope, request["paths"], merge=True, top=top)
        files += [shown(planner, one, stat=request["stat"]) for one in planner.unfinished()]
    return {"agent": agent, "name": names.get(agent) or agent, "files": files}


def shown(planner: Planner, one: FilePlan, *, stat: bool) -> DiffFileView:
    """One file. Without the agent's work it would be `to`; it is `now`."""
    path, before, after = one.path, one.to, one.now
    names = ("/dev/null" if before == GONE else f"a/{path}", "/dev/null" if after == GONE else f"b/{path}")
    made = [] if one.problem else differences.lines(before, after, planner.content, names, context=CONTEXT)
    view = differences.view(path, planner.tree.top, (before, after), made, stat=stat)
    return {**view, "likely": one.is_likely, "shared": bool(one.blockers), "problem": one.problem or None}


DIFF = Operation(
    "diff",
    _diff,
    "Show the work of an agent that no commit has, as a diff.",
    fields=(
        Field(
            "agent",
            "text",
            "the agent's id or name; since a time also a file or a working tree (none: the one in use)",
            positional=True,
            default="",
            metavar="AGENT",
        ),
        Field("paths", "resources", "only these files, folders or globs", positional=True, default=(), metavar="PATH"),
        Field(
            "at",
            "text",
            "what changed since then: 14:32, an ISO time, or how long ago (20m)",
            default="",
            sent_by=NEAR,
            metavar="TIME",
        ),
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
