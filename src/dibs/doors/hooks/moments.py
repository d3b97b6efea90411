"""What happens at each moment of an agent's life that a client's hook tells of: facts are gathered, operations run.

Each function gets the event and the workspace's place, raises a DibsError to refuse, and returns what the model should
be told ("" for nothing).
"""

from __future__ import annotations

import os

from dibs.doors.hooks import clients
from dibs.errors import DibsError
from dibs.facts import contents, ledger_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.doors.hooks.trees import Tree
    from dibs.facts.workspace import Place
    from dibs.operations.core.call import Call
    from dibs.session.session import Session

TIMEOUT = 3.0  # seconds for the store: well under the time limit that `init` gives the hooks
SHELLS = frozenset(
    {"sh", "dash", "bash", "zsh", "ksh", "fish", "busybox", "env", "timeout", "nice", "nohup", "uv", "direnv"}
)
AFTER_ALL = 300  # changed files that are looked at after a command; the rest is left to the next sweep
YIELD = 9_500_000_000  # ns: Codex tells of the end of a command that still runs after ten seconds


def open_session(place: Place) -> Session:
    """The workspace, for one hook call."""
    from dibs.session.session import Session

    return Session(place.top, place.root, timeout=TIMEOUT, short_lived=True, place=place, missing="refuse")


def identify(session: Session, event: clients.Event) -> Call:
    """Who calls, and from which client process: it started this hook, so it is the nearest one that is no shell."""
    client = next((process for process, name in session.chain() if name not in SHELLS), None)
    return session.identify(event.agent, client=client)


# --- before a call


def before(event: clients.Event, place: Place) -> str:
    """May the tool do that? Raises the refusal."""
    if event.kind == clients.OTHER:
        return _before_other(event, place)
    if event.kind == clients.SHELL:
        from dibs.doors.hooks import shells

        return shells.before(event, place)
    from dibs.doors.hooks import auditing, editing, trees

    writes = editing.writes_of(event)
    tree = trees.of(place)
    tree.survey()
    tree.settle()
    session = open_session(place)
    call = identify(session, event)
    known = {place.top: tree}
    auditing.tell(session, call, [tree])
    for top in editing.allow(session, call, event, writes, known):
        begin(known[top], event, is_open=False)
    ledger_files.heard(place.local, call.agent)
    return ""


def use(event: clients.Event, place: Place) -> None:
    """May the agent use this tool, whatever it does? Raises the refusal."""
    from dibs.operations.agents import roles

    session = open_session(place)
    call = identify(session, event)
    if roles.any_bans(call, event.tool):
        session.run(roles.USE, call, {"tool": event.tool, "client": event.client})


def begin(tree: Tree, event: clients.Event, *, is_open: bool, left: bool = False, diary: int = -1,
          claims: list[str] | None = None) -> None:  # fmt: skip
    """Note that the call begins, before the paths that it names."""
    tree.open_call(event.key, event.agent, is_open=is_open, left=left, diary=diary, claims=claims or [])
    tree.write()


def _before_other(event: clients.Event, place: Place) -> str:
    """A tool whose writes cannot be known beforehand: allowed, and audited afterwards."""
    if event.tool not in clients.HARMLESS:
        from dibs.doors.hooks import trees

        tree = trees.of(place)
        tree.survey()
        begin(tree, event, is_open=True)
    return ""


# --- after a call


def after(event: clients.Event, place: Place) -> str:
    """Note what the agent left in its files, and look at everybody else's; then the news."""
    from dibs.doors.hooks import auditing, trees

    known = [trees.of(place)]
    if event.kind in {clients.EDIT, clients.PATCH}:
        known += [trees.at(top, place) for top in _others(event, place)]
    elif event.cwd and not os.path.realpath(event.cwd).startswith(f"{place.top}/"):
        known += [trees.at(top, place) for top in _tops(place, [event.cwd])]
    claims: list[str] = []
    diary = -1
    for tree in known:
        call = tree.state.calls.get(event.key)
        if call is None or call.closed:
            continue
        over = ledger_files.now()
        claims += call.claims
        diary = max(diary, call.diary) if tree.top == place.top else diary
        (tree.look if event.kind == clients.EDIT else tree.survey)(call.named)
        left = "1" if call.left or (event.client == "codex" and over[0] - call.opened > YIELD) else ""
        tree.add(("C", f"{over[0]}:{over[1]}", event.key, left))
        tree.write()
        if place.common and tree.state.owes(call, over[0]):
            tree.look_at_all(AFTER_ALL)
        tree.cut()
    return auditing.report(event, place, known, release=claims, diary=diary)


def _others(event: clients.Event, place: Place) -> list[str]:
    """Other working trees than the one in use that an edit names files of."""
    paths = event.paths
    if event.kind == clients.PATCH:
        from dibs.facts import patches

        try:
            paths = [path for _, path in patches.paths(event.command)]
        except ValueError:
            return []
    outside = [real for path in paths if not (real := event.real(path)).startswith(f"{place.top}/")]
    return _tops(place, outside) if outside else []


def _tops(place: Place, paths: list[str]) -> list[str]:
    from dibs.facts import workspace

    found = {workspace.tree_of(place, f"{os.path.realpath(path)}/.") for path in paths}
    return [top for top in found if top and top != place.top]


# --- the rest of an agent's life


def boot(event: clients.Event, place: Place) -> str:
    """The agent begins, or begins again: register it and tell it what is true."""
    from dibs.doors.hooks import auditing, briefing, tidying, trees
    from dibs.session import env_beliefs, memory_files

    tree = trees.of(place)
    tidying.tidy(place, tree)
    stamp = tree.stamp()
    tree.add(("E", stamp, event.agent), ("B", stamp, event.agent))
    if place.common:
        tree.look_at_all()
    else:
        tree.survey()
        tree.write()
    tree.cut()
    ledger_files.cut_seen(place.private, event.agent)
    session = open_session(place)
    call = identify(session, event)
    fields: dict[str, Any] = {"client_type": event.type or event.client}
    files = [] if event.subagent else memory_files.load(session)  # a subagent works for its parent, which was told
    if not event.subagent:
        fields.update(env_beliefs.fields(), files=memory_files.digests(files))
    result = session.run(session.operation("boot"), call, fields)
    auditing.tell(session, call, [tree])
    ledger_files.heard(place.local, call.agent)
    from dibs.doors.hooks import leftovers

    left = leftovers.told(session, call, tree)
    return "\n".join([briefing.text(session, result, event.source, files), *left])


def prompt(event: clients.Event, place: Place) -> str:
    """A person spoke: calls that nobody told of the end of are over, and it is a good moment for news."""
    _step(event, place)
    return sign_of_life(event, place)


def _step(event: clients.Event, place: Place, *, over: bool = False) -> Tree:
    """The agent went on: no call of its is open any more."""
    from dibs.doors.hooks import trees

    tree = trees.of(place)
    tree.survey()
    tree.add(("X" if over else "E", tree.stamp(), event.agent))
    tree.write()
    return tree


def sign_of_life(event: clients.Event, place: Place) -> str:
    """The store hears that the agent is active, which renews its claims, and the agent hears what is new."""
    from dibs.doors.hooks import auditing, trees

    session = open_session(place)
    tree = trees.of(place)
    return auditing.audit(session, identify(session, event), [tree] if tree.untold() else [], tool=event.tool)


def stop(event: clients.Event, place: Place) -> str:
    """The agent's turn is over: what it holds and did not change is free again."""
    from dibs.doors.hooks import auditing
    from dibs.operations.guards.audits import IDLE, MINE

    tree = _step(event, place)
    tree.cut()
    session = open_session(place)
    call = identify(session, event)
    auditing.tell(session, call, [tree])
    now: dict[str, str] = {}
    mine = session.run(MINE, call, {})["claims"]
    for claim, top, texts in mine:
        for text in texts:
            content = contents.read(f"{top}/{text}")[0]
            now[f"{claim}\t{text}"] = "" if content == contents.MISSING else content
    if mine:
        session.run(IDLE, call, {"now": now})
    return ""


def end(event: clients.Event, place: Place) -> str:
    """The agent ends: what it holds is free, or passes to its parent. Its unfinished work stays its own."""
    from dibs.doors.hooks import auditing
    from dibs.operations.guards.audits import KNOWN

    session = open_session(place)
    call = identify(session, event)
    if session.run(KNOWN, call, {})["known"]:  # compaction tells of the end of subagents that never began
        tree = _step(event, place, over=True)
        auditing.tell(session, call, [tree])
        session.run(session.operation("leave"), call, {})
    return ""


def allowed_in_doubt(event: clients.Event, place: Place, why: str) -> bool:
    """Does the config let pass what cannot be decided? Then the log has it, if that can be had."""
    session = open_session(place)
    if session.config.policy.guards["on_doubt"] != "allow":
        return False
    from dibs.operations.guards.audits import DOUBT

    try:
        session.run(DOUBT, identify(session, event), {"why": why, "tool": event.tool})
    except DibsError:
        pass
    return True


MOMENTS = {
    clients.BOOT: boot, clients.BEFORE: before, clients.AFTER: after, clients.PROMPT: prompt, clients.STOP: stop,
    clients.END: end, clients.BORN: boot, clients.DIED: end,
}  # fmt: skip
