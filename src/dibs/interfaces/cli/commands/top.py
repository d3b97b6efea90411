"""`dibs top`: the fleet in this terminal, live; or one picture of it as text or JSON."""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.errors import YES, Invalid, Unavailable
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import open_session
from dibs.machine import extras
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.parse import Words
    from dibs.interfaces.top.reader import Asker
    from dibs.interfaces.top.state import FleetState
    from dibs.interfaces.top.view import View

FIELDS = (
    Field("once", "flag", "print one picture and end; so does a pipe", default=False),
    Field("size", "text", "with --once: columns and rows (default: the terminal's, else 160x50)", default="",
          metavar="CxR"),
)  # fmt: skip
PIPE = (160, 50)
LEAST, MOST = (40, 10), (500, 1_000)
MISSING = "`dibs top` needs the extra `top`: {advice}. `dibs top --once` works without it."


def run(words: Words) -> int:
    """Show it once, or until the person leaves."""
    from dibs.interfaces.top.reader import Asker
    from dibs.interfaces.top.state import FleetState

    size = _size(words.fields.get("size", ""))
    state = FleetState()
    asker = Asker(lambda: open_session(words), words.common.get("as"))
    if words.json or words.fields.get("once") or not (terminal.is_terminal() and sys.stdin.isatty()):
        return _once(asker, state, size, as_json=words.json)
    return _live(words, asker, state)


def _size(text: str) -> tuple[int, int]:
    if not text:
        import os
        import shutil

        if not terminal.is_terminal() and not os.environ.get("COLUMNS"):
            return PIPE
        found = shutil.get_terminal_size(PIPE)
        return max(LEAST[0], found.columns), max(LEAST[1], found.lines)
    columns, _, rows = text.partition("x")
    if not (columns.isdecimal() and rows.isdecimal() and LEAST[0] <= int(columns) <= MOST[0]
            and LEAST[1] <= int(rows) <= MOST[1]):  # fmt: skip
        raise Invalid(f"size: columns and rows, from 40x10 to 500x1000, such as 80x24, not {text!r}", field="size")
    return int(columns), int(rows)


def _once(asker: Asker, state: FleetState, size: tuple[int, int], *, as_json: bool) -> int:
    """One picture."""
    from dibs.interfaces.top.draw import text_of
    from dibs.interfaces.top.picture import frame
    from dibs.interfaces.top.reader import FeedReader
    from dibs.interfaces.top.view import View

    reader = FeedReader(asker, state)
    reader.snapshot()
    reader.whole()
    view = View(state)
    if as_json:
        sys.stdout.write(jsontext.encode({"ok": True, **_summary(view, state)}) + "\n")
    else:
        sys.stdout.write(text_of(frame(view, *size)))
    return YES


def _summary(view: View, state: FleetState) -> dict[str, object]:
    model = view.model
    word, more, _ = model.verdict()
    return {
        "verdict": word.lower(), "about": more, "workspace": state.workspace, "seq": state.seq,
        "need": len(model.open), "acknowledged": model.acknowledged, "blocked": len(model.waits),
        "held": len(model.claims),
        "agents": dict(model.by_state()), "refused": state.refused(),
        "tasks": {name: len(tasks) for name, tasks in model.board().items() if tasks}, "alerts": model.open,
        "conflicts": len(state.radar["conflicts"]) if state.radar else 0,
        "landings": state.landings["queued"] if state.landings else 0,
    }  # fmt: skip


def _live(words: Words, asker: Asker, state: FleetState) -> int:
    try:
        from dibs.interfaces.top import app
    except ImportError as error:
        raise Unavailable(f"{MISSING.format(advice=extras.advice('top'))} ({error})", missing=True) from None
    from dibs.interfaces.top.action_thread import ActionThread
    from dibs.interfaces.top.reader import Asker, FeedReader

    reader = FeedReader(asker, state)
    reader.snapshot()  # what cannot be read is said before the terminal is taken
    asker.close()
    desk = ActionThread(Asker(lambda: open_session(words), words.common.get("as")))
    return app.show(state, reader, desk, colored=terminal.colored(sys.stdout))


COMMAND = Command(
    "top",
    "Show the fleet in this terminal, live: agents, what is held, who waits, tasks, alerts, events.",
    run=run,
    group="record",
    fields=FIELDS,
    examples=(
        ("dibs top", "until q; ? lists the keys"),
        ("dibs top --once --size 80x24", "one picture, as text"),
        ("watch -n 5 dibs top --once", "a new picture every five seconds"),
    ),
    json="verdict, about, need, acknowledged, blocked, held, agents, tasks, refused, alerts[], conflicts, landings, "
    "workspace, seq",
)
