"""What a file, an agent's files or a working tree were at a time: `restore WHAT --at TIME`, `diff --at TIME`.

A file or an agent's files go back by the rules of `undo`: the changes since then are taken out, in the working tree in
use, and no commit is made. Each such restore is a change itself, with an id that `dibs undo` takes.

- success: the files are as they were; what was there is kept, the ledger and the log know who did it.
- refusal: another agent has built on it (`conflict`, with the files and agents; `--merge` keeps that work by a
  three-way merge), holds the file and the caller is no person (`held`), nothing changed since (`not_found`).
- of a file, what its author of then, the caller and (a person's restore) no agent changed since is taken out.
- crash: undo.py says what becomes of it.
"""

from __future__ import annotations

import os

from dibs.errors import Conflict, Invalid, NotFound
from dibs.ledger import contents, working_tree
from dibs.ledger.state import LIKELY, SURE
from dibs.machine import clock, moments, relative_times
from dibs.operations.agents.lookups import FOUND, NAMES
from dibs.operations.core.call import within
from dibs.operations.guards import undo as rules
from dibs.states import anchor, at_time
from dibs.states.store import Store
from dibs.undo import differences, plan
from dibs.undo import scope as undo_scope
from dibs.undo.undo import Undo
from dibs.workspace import location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import DiffAnswer, DiffFileView, RestoreAnswer
    from dibs.client.session import Session
    from dibs.ledger.state import Change
    from dibs.operations.core.call import Call
    from dibs.operations.guards.undo import Version
    from dibs.states.at_time import Entry, Past
    from dibs.undo.requests import DiffRequest, RestoreRequest
    from dibs.undo.scope import Scope

MS_NS = at_time.MS_NS
MAX_LISTED = 1_000
SHOWN = 5
CONTEXT = 3


def path_of(session: Session, word: str) -> str:
    """The path in the working tree in use that a word means; "" if it is not in it."""
    return plan.literal(session, word) or ""


def agent_of(session: Session, call: Call, word: str) -> str:
    """The known agent that a word means; "" if none."""
    try:
        found: str = session.run(FOUND, call, {"word": word.removeprefix("agent:"), "known": True})["id"]
    except NotFound:
        return ""
    return found


def is_file(session: Session, word: str) -> bool:
    """Does this word mean a file that is there, or that the ledger knows?"""
    path = path_of(session, word)
    if not path or word.startswith("agent:"):
        return False
    if os.path.lexists(f"{session.place.top}/{path}"):
        return True
    tree = working_tree.of(session.place)
    return path in tree.state.heads or any(one.path == path for one in at_time.changes(tree.folder))


# --- restore


def restore(session: Session, call: Call, asked: RestoreRequest) -> RestoreAnswer:
    """A file or an agent's files as they were."""
    at = moments.parse(asked["at"], "at")
    word = asked["what"]
    if not word:
        raise Invalid("restore: --at wants a file, an agent, or --tree NAME", field="what")
    if is_file(session, word):
        path = path_of(session, word)
        scope = _scope_of_file(session, call, path, at, merge=asked["merge"])
        paths = [word]
    else:
        agent = agent_of(session, call, word)
        if not agent:
            raise NotFound(f"{word} is neither a file that dibs has seen here, nor an agent", what=word)
        scope, _ = undo_scope.find(session, call, f"{undo_scope.AGENT}:{agent}", at * MS_NS)
        paths = []
    scope.reverts = False
    scope.undone = []
    done = Undo(session, call).taken_back(lambda: (scope, []), paths, theirs=asked["merge"])
    files = done["restored"]
    notes = [f"{path} changed meanwhile, and is left alone" for path in done["left"]]
    notes += [f"{one['path']}: {one['problem']}" for one in done["files"] if one["problem"]]
    notes += [f"{one['path']} has conflict marks" for one in done["files"] if one["conflicts"]]
    return {
        "at": clock.iso(at), "files": files[:MAX_LISTED], "count": len(files), "undo": done["undo"], "notes": notes,
    }  # fmt: skip


def _scope_of_file(session: Session, call: Call, path: str, at: int, *, merge: bool) -> Scope:
    """The changes of a file since then. Raises Conflict if other agents than its author of then have built on it."""
    tree = working_tree.of(session.place)
    if session.place.common:
        tree.look_at_all()
    tree.look([path])
    tree.write()
    known = [one for one in at_time.changes(tree.folder) if one.path == path]
    before = [one for one in known if rules.changed_at(one) <= at * MS_NS]
    since = [one for one in known if rules.changed_at(one) > at * MS_NS]
    if not since:
        raise NotFound(f"{path} has not changed since then, as far as dibs has seen", what=path)
    mine = {call.agent, *[one.actor for one in before[-1:] if one.grade in {SURE, LIKELY}]}
    others = [one for one in since if not any(within(one.actor, agent) for agent in mine) and _is_agents(one)]
    if others and not merge:
        raise _built_on(session, call, path, others)
    scope = undo_scope.Scope(undo_scope.FILE, path)
    scope.since = at * MS_NS
    scope.is_whole = not others
    actors = mine if others else {one.actor for one in since if _is_agents(one)} | {call.agent}
    scope.spans = [rules.Span(agent, scope.since, undo_scope.FOREVER) for agent in sorted(actors)]
    return scope


def _is_agents(change: Change) -> bool:
    """Is it an agent's? A person's change, or nobody's, is nobody's that could be asked."""
    return change.grade in {SURE, LIKELY}


def _built_on(session: Session, call: Call, path: str, others: list[Change]) -> Conflict:
    agents = list(dict.fromkeys(one.actor for one in others))
    names = session.run(NAMES, call, {"agents": agents})["names"]
    last = {one.actor: clock.iso(rules.changed_at(one) // MS_NS) for one in others}
    told = [f"{names.get(agent, agent)} changed it {relative_times.ago(last[agent])} ago" for agent in agents[:SHOWN]]
    return Conflict(
        f"others have built on {path} since then: {', '.join(told)}. `--merge` keeps their work and takes out only the "
        "rest, by a three-way merge.",
        path=path, agent=agents[0], paths=[path],
    )  # fmt: skip


# --- diff


def difference(session: Session, call: Call, asked: DiffRequest) -> DiffAnswer:
    """What became of it since then."""
    at = moments.parse(asked["at"], "at")
    word = asked["agent"]
    place = session.place
    only = [*asked["paths"]]
    top, agent, name = place.top, "", ""
    if word and is_file(session, word):
        only += plan.resources_of(session, [word])
        name = path_of(session, word)
    elif word and (agent := agent_of(session, call, word)):
        return _of_agent(session, call, agent, asked, at)
    elif word:
        top = at_time.named(place, session.cwd, word)
    kept = Store(place)
    past = at_time.Past(kept, at_time.ledger_of(place, top, at), top, at)
    if not past.is_known:
        raise NotFound(f"no state of {top} at {asked['at']} is known; `dibs timeline` says which are", tree=top)
    _look_now(session, top)
    now = at_time.Past(kept, at_time.ledger_of(place, top, None), top, None)
    files = []
    for path in sorted({*past.entries, *now.entries, *past.head}):
        before, after = past.entries.get(path), now.entries.get(path)
        if path not in past.entries and past.record is None:
            continue  # nothing is known of it then
        if _same(before, after) or (only and not rules.covered(path, only)):
            continue
        files.append(_shown(path, top, (past, before), (now, after), stat=asked["stat"]))
    return {"agent": "", "name": name or os.path.basename(top), "files": files, "at": clock.iso(at)}


def _look_now(session: Session, top: str) -> None:
    """The present state of the tree, if it is there."""
    if not os.path.isdir(top):
        return
    tree = working_tree.at(top, session.place)
    if session.place.common:
        tree.look_at_all()
        anchor.take_safely(location.find(top, None))
    else:
        tree.survey()
        tree.write()


def _of_agent(session: Session, call: Call, agent: str, asked: DiffRequest, at: int) -> DiffAnswer:
    """What the agent changed since then, as a restore would take it out."""
    from dibs.undo import diff

    names = session.run(NAMES, call, {"agents": [agent]})["names"]
    scope, _ = undo_scope.find(session, call, f"{undo_scope.AGENT}:{agent}", at * MS_NS)
    scope.reverts = False
    planner = plan.Planner(session, scope, asked["paths"], merge=True)
    files = [diff.shown(planner, one, stat=asked["stat"]) for one in planner.made().files]
    return {"agent": agent, "name": names.get(agent) or agent, "files": files, "at": clock.iso(at)}


def _same(before: Entry | None, after: Entry | None) -> bool:
    if before is None or after is None:
        return before is after
    return (before[0], before[1].removeprefix(contents.LINK)) == (after[0], after[1].removeprefix(contents.LINK))


def _shown(
    path: str, top: str, old: tuple[Past, Entry | None], new: tuple[Past, Entry | None], *, stat: bool
) -> DiffFileView:
    """One file, from then to now."""
    sides: dict[str, tuple[Past, Entry]] = {}
    versions: list[Version] = []
    for past, entry in (old, new):
        if entry is None:
            versions.append(rules.GONE)
            continue
        sides[entry[1]] = (past, entry)
        versions.append((entry[1], at_time.KINDS[entry[0]]))

    def content(blob: str) -> bytes | None:
        past, entry = sides[blob]
        return past.content(entry)

    before, after = versions
    names = ("/dev/null" if before == rules.GONE else f"a/{path}", "/dev/null" if after == rules.GONE else f"b/{path}")
    made = differences.lines(before, after, content, names, context=CONTEXT)
    return differences.view(path, top, (before, after), made, stat=stat)
