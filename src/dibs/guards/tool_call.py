"""Around a tool call: may the tool do that, and what did it change? Facts are gathered here; operations decide.

Each function gets the event and the workspace's place, raises a DibsError to refuse, and returns what the model should
be told ("" for nothing). Files go to edit_call.py, commands to shell_call.py.
"""

from __future__ import annotations

import os

from dibs.errors import DibsError
from dibs.guards.caller import Queued, begin, identify, open_session
from dibs.interfaces.agents import EDIT, OTHER, PATCH, SHELL
from dibs.ledger import ledger_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.client.session import Session
    from dibs.guards.payload import Event
    from dibs.ledger.working_tree import Tree
    from dibs.operations.core.call import Call
    from dibs.workspace.location import Place

# The tools of `dibs mcp`, as clients name them: of a server, of a plugin's, Gemini's, OpenCode's. None writes a file.
OWN_TOOLS = ("mcp__dibs__", "mcp__plugin_dibs_dibs__", "mcp_dibs_", "dibs_")


# --- before a call


def before(event: Event, place: Place) -> str:
    """May the tool do that? Raises the refusal. A call that waits in line begins again once its turn has come."""
    if event.kind == OTHER:
        return _before_other(event, place)
    while True:
        try:
            return _decide(event, place)
        except Queued as queued:
            from dibs.guards import waiting

            _give_back(event, place)
            waiting.wait(event, place, queued)
        except BaseException:
            _give_back(event, place)
            raise


def _give_back(event: Event, place: Place) -> None:
    """The command does not run now: its units of pools go back."""
    if event.units:
        from dibs.operations.guards.audits import GIVE_BACK

        session = open_session(place)
        session.run(GIVE_BACK, identify(session, event), {"release": event.units})
    event.units = None


def _decide(event: Event, place: Place) -> str:
    """May the files be written, or the command run?"""
    if event.kind == SHELL:
        from dibs.guards import shell_call

        return shell_call.before(event, place)
    from dibs.guards import audit, edit_call
    from dibs.ledger import working_tree

    writes = edit_call.writes_of(event)
    tree = working_tree.of(place)
    tree.survey()
    tree.settle()
    session = open_session(place)
    call = identify(session, event)
    known = {place.top: tree}
    audit.tell(session, call, [tree])
    for top in edit_call.allow(session, call, event, writes, known):
        begin(known[top], event, is_open=False)
    ledger_files.heard(place.local, call.agent, call.client)
    return ""


def refuse_killed(event: Event, place: Place) -> None:
    """Was the agent killed, or one above it? A mark says that it may have been; the store knows. Raises the refusal."""
    from dibs.errors import Unavailable
    from dibs.operations.agents.stops import STOPPED
    from dibs.workspace import stop_marks

    is_marked = stop_marks.is_left(place.local, event.agent)
    session = open_session(place)
    call = identify(session, event)
    try:
        session.run(STOPPED, call, {})
    except Unavailable:
        if is_marked:
            raise
        return  # as long as nothing speaks for a kill, a store that is away stops no harmless call
    if is_marked:
        stop_marks.remove(place.local, event.agent)
        session.run(STOPPED, call, {})  # a kill in the meantime had its mark taken away


def use(event: Event, place: Place) -> None:
    """May the agent use this tool at all? Raises the refusal."""
    from dibs.operations.agents import roles

    session = open_session(place)
    call = identify(session, event)
    if roles.any_bans(call, event.tool):
        session.run(roles.USE, call, {"tool": event.tool, "client": event.client})


def _before_other(event: Event, place: Place) -> str:
    """A tool whose writes are not known beforehand: allowed, and audited afterwards."""
    if event.tool.startswith(OWN_TOOLS):
        from dibs.workspace import call_notes

        call_notes.put(place.local, event.call, event.agent)  # dibs itself will ask who makes this call
        return ""
    if event.tool not in event.dialect.HARMLESS:
        from dibs.ledger import working_tree

        tree = working_tree.of(place)
        tree.survey()
        begin(tree, event, is_open=True)
    return ""


# --- after a call


def after(event: Event, place: Place) -> str:
    """Record what the agent changed in its files, and look at all others; then the news, and the states."""
    written: list[Tree] = []
    try:
        return _after(event, place, written)
    finally:
        for tree in written:
            from dibs.states import request

            request.wanted(tree.folder, tree.top)


def _after(event: Event, place: Place, written: list[Tree]) -> str:
    """The same; `written`: the working trees that the call may have written to."""
    if event.kind == OTHER and event.tool.startswith(OWN_TOOLS):  # its result has brought the news
        from dibs.workspace import call_notes

        call_notes.drop(place.local, event.call)
        return ""
    from dibs.guards import audit
    from dibs.ledger import working_tree
    from dibs.ledger.state import call_end_line, stamp

    known = [working_tree.of(place)]
    if event.kind in {EDIT, PATCH}:
        known += [working_tree.at(top, place) for top in _others(event, place)]
    elif event.cwd and not os.path.realpath(event.cwd).startswith(f"{place.top}/"):
        known += [working_tree.at(top, place) for top in _tops(place, [event.cwd])]
    reached = known[0].state.calls.get(event.key)
    if reached is not None:
        known += [working_tree.at(top, place) for top in reached.trees if all(top != tree.top for tree in known)]
    claims: list[str] = []
    unmade: list[tuple[str, str]] = []
    diary = -1
    for tree in known:
        call = tree.state.calls.get(event.key)
        if event.kind == SHELL and ("git" in event.command or (call is not None and call.is_open)):
            _finish_inside(event, place, tree)
        if call is None or call.closed:
            continue
        if place.common:
            written.append(tree)
        over = ledger_files.now()
        tree.ending = event.key
        claims += call.claims
        diary = max(diary, call.diary) if tree.top == place.top else diary
        (tree.look if event.kind == EDIT else tree.survey)([path for path in call.named if path[-1:] != "/"])
        left = call.left or event.background or _yielded(event, over[0] - call.opened)
        if call.units and tree.top == place.top:
            from dibs.guards import pool_turn

            claims += pool_turn.ended(event, place, call, over[0], left=left)
        tree.add(call_end_line(stamp(*over), event.key, left=left))
        tree.write()
        accompanied = call.is_open and tree.is_accompanied(event.agent)
        if place.common and tree.state.owes(call, over[0], accompanied=accompanied):
            tree.look_at_all()
        if event.kind == SHELL:
            unmade += [(tree.top, path) for path in call.named if tree.state.is_unmade(call, path)]
        tree.cut()

    def missed(session: Session, call: Call, commits: Sequence[tuple[str, str]]) -> None:
        from dibs.guards import missed_commits

        missed_commits.tell(session, call, event, known, commits)

    merging = None
    if claims and place.common:
        from dibs.guards import merging as merges

        merging = merges.reported(event, place)
    return audit.report(event, place, known, missed, release=claims, diary=diary, merging=merging, unmade=unmade)


def _finish_inside(event: Event, place: Place, tree: Tree) -> None:
    """What the agent committed in a repository inside the working tree is no longer unfinished work."""
    inside = tree.inside(tree.state.owned())
    if inside:
        from dibs.guards import inner_commits

        committed = inner_commits.find(tree, event.agent, inside)
        if committed:
            session = open_session(place)
            inner_commits.tell(session, identify(session, event), tree, committed)


def _yielded(event: Event, ns: int) -> bool:
    """Does the client report the end of a command that may still run?"""
    return 0 < event.dialect.YIELDS_AFTER_NS < ns


def _others(event: Event, place: Place) -> list[str]:
    """Further working trees in which an edit names files."""
    paths = event.paths
    if event.kind == PATCH:
        from dibs.shell import patches

        try:
            paths = [path for _, path in patches.paths(event.command)]
        except ValueError:
            return []
    outside = [real for path in paths if not (real := event.real(path)).startswith(f"{place.top}/")]
    return _tops(place, outside) if outside else []


def _tops(place: Place, paths: list[str]) -> list[str]:
    from dibs.workspace import location

    found = {location.tree_of(place, f"{os.path.realpath(path)}/.") for path in paths}
    return [top for top in found if top and top != place.top]


# --- in doubt


def allowed_in_doubt(event: Event, place: Place, why: str) -> bool:
    """Does the config let an unchecked call pass? Then the log has it, if the store can be opened."""
    session = open_session(place)
    if session.config.policy.guards["on_doubt"] != "allow":
        return False
    from dibs.operations.guards.audits import DOUBT

    try:
        session.run(DOUBT, identify(session, event), {"why": why, "tool": event.tool})
    except DibsError:
        pass
    return True
