"""`dibs check`: the audit of a workspace (audit/check.py), one line for each check.

The command adds what only a caller's machine has: the guards are tried here, a JUnit file is written for CI, `--watch`
keeps it on the screen, and `--settle` runs the operation `check settle`.
"""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.client import catalogue
from dibs.errors import NO, YES, Busy, Invalid, Unavailable
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.commands.verify import ReportDoor
from dibs.interfaces.cli.dispatch import answer, finish, read
from dibs.interfaces.cli.render import guards
from dibs.machine import clock
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dibs.audit.answers import CheckAnswer
    from dibs.client.session import Session
    from dibs.interfaces.cli.parse import Words
    from dibs.interfaces.cli.render import Items

FIELDS = (
    Field("verbose", "flag", "every finding with its events, and the metrics", default=False),
    Field("junit", "file", "also write the result as JUnit XML, for CI", default="", metavar="FILE"),
    Field("watch", "flag", "show it again whenever something changed, until interrupted", default=False),
    Field("settle", "text", "accept a finding: an event's number, or its name such as alerting:no-sink", default="",
          metavar="EVENT"),
    Field("why", "text", "with --settle: why it is accepted", default="", metavar="T"),
    Field("undo", "flag", "with --settle: it is not accepted any more", default=False),
)  # fmt: skip
EXIT_UNKNOWN = 2  # exit code: could not look
WATCH_S = 2.0  # between two looks
INTERRUPTED = 130


def run(words: Words) -> int:
    """Exit 0 if nothing failed, 1 if something did, 2 if a check could not look."""
    if words.fields.get("settle"):
        return _settle(words)
    for name in ("why", "undo"):
        if words.fields.get(name):
            raise Invalid(f"--{name} goes with --settle EVENT", field=name)
    if words.fields.get("watch"):
        try:
            _watch(words)
        except KeyboardInterrupt:
            return INTERRUPTED
    _, audit = _look(words)
    code = NO if audit["failed"] else EXIT_UNKNOWN if audit["unknown"] else YES
    if words.json:
        answer("check", audit, as_json=True, ok=code == YES)
    else:
        terminal.write(guards.check(audit, verbose=bool(words.fields.get("verbose"))))
    return code


class _CheckDoor(ReportDoor):
    """The door of `dibs check`, which tries the guards."""

    __slots__ = ()

    def prove_guards(self, session: Session) -> list[dict[str, Any]]:
        from dibs.interfaces.cli.doctor import guards as proof

        return [{**check} for check in proof.proofs(session)]


def _look(words: Words) -> tuple[Session, CheckAnswer]:
    """Look once, by the configuration of this moment."""
    operation = catalogue.operation("check")
    session, call, values = read(operation, words, _CheckDoor)
    audit: CheckAnswer = session.answer(operation, call, values)
    if words.fields.get("junit"):
        from dibs.audit import build, junit

        build.write_out(session, words.fields["junit"], junit.render(audit))
    return session, audit


def _settle(words: Words) -> int:
    """Accept a finding, or take that back."""
    operation = catalogue.operation("check settle")
    words.fields = {"what": words.fields["settle"], **{k: v for k, v in words.fields.items() if k in {"why", "undo"}}}
    session, call, values = read(operation, words)
    return finish(operation, session.answer(operation, call, values), words)


# --- watching


def _watch(words: Words) -> None:
    """Show it whenever it differs: on the whole terminal, as text in a pipe, as a JSON object a line."""
    verbose = bool(words.fields.get("verbose"))
    if terminal.is_terminal() and not words.json:
        from rich.live import Live

        console = terminal.console_for(sys.stdout, live=True)
        hint = terminal.Line("  Ctrl-C ends this.", "dim")
        with Live(console=console, screen=True, auto_refresh=False) as live:
            for audit in _looks(words):
                columns, rows = console.size
                shown: Items = [audit] if isinstance(audit, str) else []
                if not isinstance(audit, str):
                    shown = guards.check_within(audit, columns, rows - 1, verbose=verbose)
                live.update(terminal.drawing([*shown, hint]), refresh=True)
    last = ""
    for audit in _looks(words):
        if isinstance(audit, str):
            terminal.complain(audit)
            continue
        said = jsontext.encode([[one["check"], one["status"], one["findings"]] for one in audit["checks"]])
        if said != last:
            last = said
            if words.json:
                answer("check", audit, as_json=True, ok=not audit["failed"] and not audit["unknown"])
            else:
                terminal.write([*guards.check(audit, verbose=verbose), ""])
            sys.stdout.flush()


def _looks(words: Words) -> Iterator[CheckAnswer | str]:
    """Looks without end, one whenever something may have changed; a text while the store cannot be asked."""
    trouble = ""
    while True:
        try:
            session, audit = _look(words)
        except (Busy, Unavailable) as error:  # it may come back
            if error.message != trouble:
                trouble = error.message
                yield trouble
            clock.sleep(WATCH_S)
            continue
        trouble = ""
        yield audit
        try:
            session.store.follow(session.store.head().seq, WATCH_S)
        except (Busy, Unavailable):
            pass
        session.close()
        clock.sleep(WATCH_S / 2)  # a check reads the whole log


COMMAND = Command(
    "check",
    run=run,
    fields=FIELDS,
    examples=(
        ("dibs check", "every check, with its result"),
        ("dibs check --check 10", "one of them; by its name: --check kill-switch"),
        ("dibs check --verbose", "every finding with its events, severity and remedy"),
        ("dibs check --junit check.xml", "for CI; exit code 1 if a check fails"),
        ("dibs check --settle 41 --why 'agreed with ann'", "event 41 is accepted; `dibs check` shows why"),
        ("dibs check --settle alerting:no-sink --undo", "it counts again"),
    ),
    notes=(
        (
            "Each line is ✓, ✗ FAIL, ! (worth knowing) or - (not applicable here). Exit code 0: nothing failed; 1: "
            "something did; 2: a check could not look. `dibs help oversight` has the rule for each."
        ),
    ),
)
