"""`dibs status`: the operation, with what only a door knows of the workspace; `--watch` keeps it on the screen."""

from __future__ import annotations

import os
import sys

from dibs import jsontext
from dibs.client import catalogue
from dibs.client.landing_settings import target_of
from dibs.errors import YES, Busy, Unavailable
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import answer, read
from dibs.interfaces.cli.render import claims
from dibs.machine import clock
from dibs.operations.agents.lookups import NAMES
from dibs.operations.core.declare import Field
from dibs.stores.seam import Unsettled, read_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.client.session import Session
    from dibs.interfaces.cli.parse import Words
    from dibs.interfaces.cli.render import Lines
    from dibs.interfaces.cli.render.claims import Surroundings
    from dibs.operations.claims.answers import StatusAnswer
    from dibs.operations.core.call import Call
    from dibs.operations.landing.answers import LandingsAnswer, RadarAnswer

    Look = Callable[[], StatusAnswer]  # reads the state of this moment

FIELDS = (
    Field("watch", "flag", "show it again whenever it changes, until interrupted", default=False),
    Field("all", "flag", "show every claim, not only the first 50", default=False),
)  # fmt: skip
LATELY_MS = 900_000  # a quarter of an hour: refusals that still matter
MAX_EVENTS_SEARCHED = 300  # the newest events that are searched for refusals
REFUSALS = ("claim.refused", "edit.refused")
INTERVAL_S = 1.0  # between two looks; what is left of a claim changes as often
INTERRUPTED = 130


def run(words: Words) -> int:
    """Show the state once, or again and again."""
    session, call, values = read(catalogue.operation("status"), words)
    every = bool(words.fields.get("all"))

    def look() -> StatusAnswer:
        call.facts.clear()  # a process may have died since the last look
        state: StatusAnswer = session.answer(catalogue.operation("status"), call, values)
        return _whole(session, call, values, state) if every else state

    if words.fields.get("watch"):
        try:
            watch(session, look, as_json=words.json, every=every)
        except KeyboardInterrupt:
            return INTERRUPTED
    if words.json:
        answer("status", look(), as_json=True)
    else:
        terminal.write(lines(session, look(), every=every))
    return YES


def _whole(session: Session, call: Call, values: dict[str, object], state: StatusAnswer) -> StatusAnswer:
    """The state with what all its pages list."""
    while state.get("cursor"):
        request = {**values, "after": state["cursor"]}
        page: StatusAnswer = session.answer(catalogue.operation("status"), call, request)
        for one in ("agents", "claims", "tasks", "waiting"):
            page[one] = [*state[one], *page[one]]
        state = page
    return state


def lines(session: Session, result: StatusAnswer, *, every: bool = False) -> Lines:
    """The state of the workspace for people."""
    about: Surroundings = {
        "workspace": os.path.basename(session.place.root), "store": _store(session), "refused": _refused(session),
    }  # fmt: skip
    return [*claims.status(result, about, every=every), *_worktrees(session)]


def _worktrees(session: Session) -> list[str]:
    """What waits to land, and which pairs would conflict, as the last look found it; nothing if there is none."""
    call = session.identify(None)
    lines = []
    onto = target_of(session)
    landings: LandingsAnswer = session.run(catalogue.operation("landings"), call, {"limit": 1, "onto": onto})
    if landings["queued"]:
        stopped = "; nothing lands now" if landings["stopped"] is not None else ""
        lines.append(f"{landings['queued']} queued to land on {onto}{stopped} (`dibs land --status`)")
    coming: RadarAnswer = session.run(catalogue.operation("radar"), call, {})
    count = len(coming["conflicts"])
    if count:
        pairs = f"{count}{'+' if coming['more'] else ''} {'pair' if count == 1 else 'pairs'} of worktrees"
        lines.append(f"{pairs} would conflict if merged now (`dibs radar`)")
    return ["", *lines] if lines else []


def _store(session: Session) -> str:
    """The store's name, without a password that its URL may have."""
    from dibs.stores.opening import configured_url, read_pin

    pin = read_pin(session.place.local)
    url = pin.url or configured_url(session.config.store)
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}" if rest else url.partition(":")[0]


def _refused(session: Session) -> dict[tuple[str, str], int]:
    """How often each agent was refused each resource lately, by the agent's name."""
    since = clock.store_wall() - LATELY_MS
    counts: dict[tuple[str, str], int] = {}
    store = session.store
    try:
        for event in store.events(max(0, store.head().seq - MAX_EVENTS_SEARCHED), MAX_EVENTS_SEARCHED):
            opened = read_event(event) if event.wall >= since else {"kind": ""}
            if opened["kind"] in REFUSALS:
                key = opened["agent"], opened["subject"]
                counts[key] = counts.get(key, 0) + 1
        agents = [agent for agent, _ in counts]
        known = session.run(NAMES, session.identify(None), {"agents": agents})["names"] if counts else {}
    except Unsettled:  # a server that lost commits: the state is shown anyway
        return {}
    return {(known.get(agent) or agent, resource): number for (agent, resource), number in counts.items()}


# --- watching


def watch(session: Session, look: Look, *, as_json: bool, every: bool = False) -> None:
    """Show the state whenever it changes: on the whole terminal, as text in a pipe, as a JSON object a line."""
    if as_json:
        for result in _changes(session, look):
            sys.stdout.write(jsontext.encode({"ok": True, **result}) + "\n")
            sys.stdout.flush()
    elif terminal.is_terminal():
        _screen(session, look, every=every)
    else:
        for result in _changes(session, look):
            terminal.write([*lines(session, result, every=every), ""])
            sys.stdout.flush()


def _changes(session: Session, look: Look) -> Iterator[StatusAnswer]:
    """The state, each time that it differs from the last one."""
    last = ""
    while True:
        result = look()
        said = jsontext.encode([
            [(one["claim"], one["token"], one["expires_at"][:16]) for one in result["claims"]],
            [(one["agent"], one["resources"]) for one in result["waiting"]],
            [(one["agent"], one["state"]) for one in result["agents"]],
            [(one["id"], one.get("progress")) for one in result["tasks"]],
        ])  # fmt: skip
        if said != last:
            last = said
            yield result
        session.store.follow(session.store.head().seq, INTERVAL_S)


def _screen(session: Session, look: Look, *, every: bool) -> None:
    from rich.live import Live

    hint = terminal.Line("Ctrl-C ends this.", "dim")
    with Live(console=terminal.console_for(sys.stdout, live=True), screen=True, auto_refresh=False) as live:
        while True:
            try:
                shown = [*lines(session, look(), every=every), "", hint]
            except (Busy, Unavailable) as error:  # it may come back
                shown = [terminal.Line(error.message, "red"), "", hint]
                session.close()
            live.update(terminal.drawing(shown), refresh=True)
            _pause(session)


def _pause(session: Session) -> None:
    """Until something happens, a second at most."""
    try:
        session.store.follow(session.store.head().seq, INTERVAL_S)
    except (Busy, Unavailable):
        clock.sleep(INTERVAL_S)


COMMAND = Command("status", run=run, fields=FIELDS)
