"""Units of pools around a command: taken before it runs, given back when it is over. Loaded where the config has uses.

A call's own end is reported for most commands only. For the rest the machine is asked what runs: a client starts each
command as a child of its own, so a child that began after the grant, or what such a child has left behind, is the
command; hooks of dibs do not count. The caller looks when its turn is over or begins anew, and so does who waits first
in line: a command that was interrupted does not keep its unit through lunch.
"""

from __future__ import annotations

from dibs.errors import DibsError
from dibs.guards.caller import allowed, identify, open_session
from dibs.machine import processes
from dibs.operations.claims.resources import POOL
from dibs.workspace.known_clients import SESSION_VARIABLES
from dibs.workspace.paths import of_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.canonical import Canonical
    from dibs.client.session import Session
    from dibs.guards.payload import Event
    from dibs.ledger.state import ToolCall
    from dibs.ledger.working_tree import Tree
    from dibs.operations.core.call import Answer, Call
    from dibs.operations.guards.pool_guard import UnitInUse
    from dibs.shell import Simple
    from dibs.workspace.location import Place

MAX_WORDS_CHARS = 60  # of a command, as people see why its unit is held
NOTIFICATION = "<task-notification>"  # how Claude Code says, as a prompt, that a background command is over
TOOL_USE = ("<tool-use-id>", "</tool-use-id>")


def take(session: Session, event: Event, commands: Sequence[Simple], tree: Tree) -> None:
    """Take what the command needs; the event has it then. Raises the refusal, or that it waits."""
    from dibs.shell import command_patterns

    uses = session.config.policy.pools["use"]
    found = command_patterns.matched(commands, [pattern for use in uses for pattern in use["match"]], session.cwd)
    if not found:
        event.units = []
        return
    counts: dict[str, int] = {}
    for use in uses:
        if not found.keys().isdisjoint(use["match"]):
            counts[use["pool"]] = max(counts.get(use["pool"], 0), use["units"])
    pools = [of_parts("name", f"{POOL}{pool}") for pool in counts]
    from dibs.guards.caller import Queued, run_or_queue
    from dibs.operations.guards.pool_guard import UNITS

    call = identify(session, event)
    wait = min([session.config.policy.pools["named"][pool]["wait"] for pool in counts])
    busy = [
        claim
        for one in tree.state.calls.values()
        if one.units and one.agent == event.agent and one.id != event.key and not one.closed and not one.ended
        for claim in one.units
    ]
    typed = next(iter(found.values()))
    words = typed if len(typed) <= MAX_WORDS_CHARS else f"{typed[: MAX_WORDS_CHARS - 1]}…"
    wanted = [pool for pool in pools for _ in range(counts[pool[1].removeprefix(POOL)])]
    fields = {"resources": wanted, "words": words, "busy": busy, "wait": allowed(event, wait)}
    try:
        granted = run_or_queue(session, UNITS, call, fields)
    except Queued as queued:
        queued.look = lambda said: _look(session, call, pools, said)
        queued.granted = lambda said: _note(event, said)
        raise
    _note(event, granted)


def _note(event: Event, granted: Answer) -> None:
    """The claims that the command runs under: those that end with it, and those made by hand."""
    event.units = [*[one["claim"] for one in granted["claims"]], *granted["under"]]


def _look(session: Session, call: Call, pools: Sequence[Canonical], said: Answer) -> None:
    """Who is first in line sees whether the commands run that have the units."""
    if said.get("place", 1) == 1:
        try:
            _end_idle(session, call, pools)
        except DibsError:  # a server elsewhere does not take the word of this machine
            pass


def _end_idle(session: Session, call: Call, pools: Sequence[Canonical], *, over: bool = False) -> None:
    from dibs.operations.guards.pool_guard import END_IDLE, IN_USE

    asked = {"resources": list(pools), "machine": processes.host()}
    held: list[UnitInUse] = session.run(IN_USE, call, asked)["claims"]
    idle = [[one["agent"], one["claim"]] for one in held if not _runs(one)]
    if idle:
        session.run(END_IDLE, call, {"idle": idle, "over": over})


def _runs(held: UnitInUse) -> bool:
    """May the command run that has these units?"""
    process = held["process"]
    if process is None or process[:3] != processes.here():
        return True  # it cannot be seen from here
    return processes.runs_since(process[3], held["age"], SESSION_VARIABLES, held["agent"].partition("/")[0])


def ended(event: Event, place: Place, call: ToolCall, now: int, *, left: bool) -> list[str]:
    """The claims on units that end with a call: none while it may still run."""
    if not left:
        return call.units
    session = open_session(place)
    client = identify(session, event).client
    since = (now - call.opened) // 1_000_000
    if client is None or processes.runs_since(client[3], since, SESSION_VARIABLES, event.session):
        return []
    return call.units


def settle(event: Event, place: Place, tree: Tree | None = None, *, over: bool) -> None:
    """The agent's turn is over, or begins anew: what its commands had is given back, if nothing of them runs."""
    session = open_session(place)
    if not session.config.policy.pools["use"]:
        return
    call = identify(session, event)
    if tree is not None and event.said.startswith(NOTIFICATION):
        found = tree.state.calls.get(f"{event.agent} {event.said.partition(TOOL_USE[0])[2].partition(TOOL_USE[1])[0]}")
        if found is not None and found.units:
            from dibs.operations.guards.audits import GIVE_BACK

            session.run(GIVE_BACK, call, {"release": found.units})
    try:
        _end_idle(session, call, (), over=over)
    except DibsError:
        if not session.is_far:
            raise
