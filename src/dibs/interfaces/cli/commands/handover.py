"""`dibs handover`: the operation, for people. It says what an agent that is at work loses, and asks first."""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.client import catalogue
from dibs.errors import NO, YES, counted, named, quoted
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import read
from dibs.interfaces.cli.render import times
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.parse import Words
    from dibs.operations.handovers.answers import HandoverAnswer

UNASKED = "nothing was handed over yet; the same with `--yes` does it"
NEXT = "the next agent that starts"
SHOWN = 20  # names of each kind


def run(words: Words) -> int:
    """Show, ask if the agent is at work, do."""
    operation = catalogue.operation("handover")
    session, call, values = read(operation, words)
    only_shown = bool(words.fields.get("dry_run") or words.fields.get("cancel"))
    values.pop("yes", None)
    if not only_shown and not words.fields.get("yes"):
        seen: HandoverAnswer = session.answer(operation, call, {**values, "dry_run": True})
        if seen["state"] in {"alive", "unknown"} and not seen["own"] and not _agreed(words, seen):
            return NO
        session, call, values = read(operation, words)
        values.pop("yes", None)
    answer: HandoverAnswer = session.answer(operation, call, values)
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": True, **answer}) + "\n")
    else:
        terminal.write(_preview(answer) if words.fields.get("dry_run") else _done(answer))
    return YES


def _agreed(words: Words, seen: HandoverAnswer) -> bool:
    """Say what the agent loses, and ask the person at the terminal; without a terminal the answer is no."""
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": False, **seen}) + "\n")
    else:
        terminal.write(_preview(seen))
    if words.json or not (terminal.is_terminal() and sys.stdin.isatty()):
        terminal.complain(UNASKED)
        return False
    sys.stdout.write("hand it over? [y/N] ")
    sys.stdout.flush()
    if sys.stdin.readline().strip().lower() in {"y", "yes"}:
        return True
    terminal.complain("nothing was handed over")
    return False


def _preview(seen: HandoverAnswer) -> list[str]:
    name = terminal.clean(named(seen))
    work = "is at work and loses" if seen["state"] == "alive" else "passes on" if seen["own"] else "loses"
    return [f"{name} {work}:", *_items(seen), f"to: {_to(seen)}"]


def _to(answer: HandoverAnswer) -> str:
    return terminal.clean(named(answer, "to")) if answer["to"] else NEXT


def _items(answer: HandoverAnswer) -> list[str]:
    held = [text for claim in answer["claims"] for text in claim["resources"] if not text.startswith("task:")]
    rows = [
        ("task", answer["tasks"]),
        ("claim", held),
        ("uncommitted work in", [one["path"] for one in answer["files"]]),
    ]
    lines = [f"  {what} {', '.join(map(terminal.clean, texts[:SHOWN]))}{_more(texts)}" for what, texts in rows if texts]
    for one in answer["left"][:SHOWN]:
        by = f" ({terminal.clean(named(one, 'holder'))})" if one.get("holder") else ""
        lines.append(f"  not {terminal.clean(one['resource'])}: {one['why']}{by}")
    return lines


def _more(texts: list[str]) -> str:
    return f" and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""


def _done(answer: HandoverAnswer) -> list[str]:
    name = terminal.clean(named(answer))
    if answer.get("cancelled"):
        return [f"the offer of {name}'s work to the next agent is taken back:", *_items(answer)]
    if answer["to"]:
        first = f"the work of {name} is {_to(answer)}'s now, which was told:"
    else:
        kept = f", for {times.left(answer['until'])}" if answer.get("until") else ""
        first = f"the work of {name} is kept for {NEXT} here{kept}:"
    lines: list[str] = [first, *_items(answer)]
    if answer["waiting"]:
        who = ", ".join(terminal.clean(named(one)) for one in answer["waiting"])
        lines.append(f"{counted(len(answer['waiting']), 'agent')} in line keep their turn and were told: {who}")
    if answer["files"]:
        lines.append(terminal.Aside(f"`dibs diff {quoted(named(answer))}` shows the uncommitted work"))
    return lines


COMMAND = Command(
    "handover",
    run=run,
    fields=(Field("yes", "flag", "do not ask, also if the agent is at work", default=False),),
    examples=(
        ("dibs handover codex-2 --to claude-owl", "claims, task, unfinished files and a briefing pass at once"),
        ("dibs handover codex-2 --to NEXT --note 'tests are red'", "the next agent that starts here gets it"),
        ("dibs handover codex-2 --cancel", "take that offer back"),
        ("dibs handover codex-2 --to claude-owl --dry-run", "only look at what would pass"),
    ),
    notes=(
        (
            "The agent may be dead or at work: its tokens are no longer live, and its late calls are refused with the "
            "name of the agent that has the work now. Agents in line keep their turn. Kept for NEXT, the work waits "
            "for an hour."
        ),
    ),
)
