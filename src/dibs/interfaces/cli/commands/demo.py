"""`dibs demo`: a fleet on a scratch repository, first without dibs, then with it."""

from __future__ import annotations

import os
import sys

from dibs import jsontext
from dibs.errors import NO, YES, Invalid
from dibs.interfaces.cli.command import Command
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.demo.results import DemoResult
    from dibs.interfaces.cli.parse import Words

FIELDS = (
    Field("agents", "integer", "how many agents, each a process (default 12)", default=12, metavar="N"),
    Field("edits", "integer", "edits by each agent (default 20)", default=20, metavar="N"),
    Field("seed", "integer", "seed of the plan (default 1)", default=1, metavar="N"),
    Field(
        "store",
        "text",
        "coordinate through this server (default: DIBS_STORE, if it names one)",
        default="",
        metavar="URL",
    ),
    Field("hosts", "integer", "with a server: N folders that stand for machines (default 3)", default=3, metavar="N"),
    Field("serve", "flag", "show a fleet at work on the page of a server, until Ctrl-C", default=False),
    Field("seconds", "integer", "with --serve: end after this long (default 900)", default=900, metavar="N"),
    Field("machine", "flag", "show ten test suites on this machine, without slots and with them", default=False),
    Field("keep", "flag", "keep the scratch repository and print its path", default=False),
)
HOSTS = 3


def run(words: Words) -> int:
    """Play it and show the result."""
    from dibs.demo import plan, play, report, screen
    from dibs.stores import DEFAULT_URL
    from dibs.stores.opening import folder_of

    if words.fields.get("serve"):
        return _serve(words)
    if words.fields.get("machine"):
        return _machine(words)
    size = plan.Size(
        _number(words, "agents", plan.MIN_AGENTS, plan.MAX_AGENTS, plan.AGENTS),
        _number(words, "edits", plan.MIN_EDITS, plan.MAX_EDITS, plan.EDITS),
        _number(words, "seed", 0, 2**63 - 1, plan.SEED),
    )
    url = words.fields.get("store") or os.environ.get("DIBS_STORE", "")
    engine = folder_of(url or DEFAULT_URL)
    hosts = 0 if engine == folder_of(DEFAULT_URL) else _number(words, "hosts", 1, plan.MAX_AGENTS, HOSTS)
    server = play.Server(url, hosts) if hosts else None
    keep = bool(words.fields.get("keep"))
    result = play.play(size, screen.choose(as_json=words.json), keep=keep, server=server)
    recorded = _record(words, result, engine)
    if words.json:
        said = {**result, "verdict": report.verdict(result), "recorded": recorded or None}
        sys.stdout.write(jsontext.encode(said) + "\n")
    else:
        report.show(result)
        sys.stdout.write(f"Recorded in {recorded}: `dibs check` shows it.\n" if recorded else "")
    return YES if result["ok"] else NO


def _record(words: Words, result: DemoResult, engine: str) -> str:
    """Leave the result in the workspace that the caller stands in, for `dibs check`; "" if there is none."""
    from dibs import __version__
    from dibs.errors import DibsError
    from dibs.interfaces.cli.dispatch import open_session
    from dibs.operations.oversight.trials import RECORD

    guarded = result["with"]
    found = {
        "what": "demo", "agents": result["agents"], "edits": guarded["edits"], "lost": guarded["lost"],
        "clean": bool(guarded["verify"]["ok"] and result["ok"]), "seconds": result["seconds"],
        "version": __version__, "store": engine,
    }  # fmt: skip
    try:
        session = open_session(words)
        session.run(RECORD, session.identify(words.common.get("as")), found)
    except DibsError:
        return ""  # no workspace, or one that takes nothing now: the demo itself is what was asked for
    return str(session.place.root)


def _machine(words: Words) -> int:
    """Test suites on this machine, all at once and through slots."""
    from dibs.demo import machine, machine_plot

    others = sorted(words.fields.keys() - {"machine", "agents"})
    if others:
        raise Invalid(f"demo --machine takes only --agents, not --{others[0]}", field=others[0])
    agents = _number(words, "agents", 1, machine.MAX_AGENTS, machine.AGENTS)
    result = machine.play_machine(agents, quiet=words.json)
    if words.json:
        sys.stdout.write(jsontext.encode({**result, "verdict": machine_plot.verdict(result)}) + "\n")
    else:
        machine_plot.show(result)
    return YES if result["ok"] else NO


def _serve(words: Words) -> int:
    """A fleet to be watched, until it is interrupted."""
    from dibs.demo import live, plan

    agents = _number(words, "agents", plan.MIN_AGENTS, plan.MAX_AGENTS, plan.AGENTS)
    seconds = _number(words, "seconds", 1, live.MAX_SECONDS, live.SECONDS)
    seed = _number(words, "seed", 0, 2**63 - 1, plan.SEED)
    first = True

    def ready(about: Mapping[str, str]) -> None:
        nonlocal first
        if words.json:
            sys.stdout.write(
                jsontext.encode({"ok": True, **{key: about[key] for key in ("url", "address", "pid")}}) + "\n"
            )
        else:
            begin = (
                f"{agents} agents are at work. Watch them (Ctrl-C ends it):"
                if first
                else "another address, the last one is used up:"
            )
            sys.stdout.write(f"{begin}\n  {about['address']}\n")
        first = False
        sys.stdout.flush()

    try:
        live.play_live(agents, seed, seconds, ready)
    except KeyboardInterrupt:
        sys.stdout.write("" if words.json else "ended; nothing is left behind\n")
    return YES


def _number(words: Words, name: str, least: int, most: int, default: int) -> int:
    given = words.fields.get(name, default)
    try:
        value = int(given)
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        message = f"{name}: a whole number from {least} to {most}, not {given!r}"
        raise Invalid(message, field=name)
    return value


COMMAND = Command(
    "demo",
    "Watch a dozen agents lose edits without dibs, and none with it. Under a minute.",
    run=run,
    group="setup",
    fields=FIELDS,
    examples=(
        ("dibs demo", "twelve agents, twenty edits each"),
        ("dibs demo --serve", "a fleet on the page of a server; prints the address to open"),
        ("dibs demo --machine", "ten test suites at once on this machine, without slots and with them; 40 seconds"),
        ("dibs demo --agents 4 --edits 10 --keep", "a small one; keeps the scratch repository"),
    ),
)
