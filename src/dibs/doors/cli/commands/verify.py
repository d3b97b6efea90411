"""`dibs verify`: checks the record itself. What it checks is in lookout/, which shares no code with what it checks."""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.doors.cli.command import Command
from dibs.doors.cli.dispatch import open_session
from dibs.errors import NO, YES, Invalid
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.doors.cli.parse import Words

FIELDS = (
    Field(
        "head", "text", "the log must contain this event (a head that you noted before)", default="", metavar="SEQ:LINK"
    ),
)
LINK = 40  # hexadecimal digits


def run(words: Words) -> int:
    """Exit 0 if the record is clean, 1 with the findings if not."""
    expected = _head(words.fields.get("head", ""))
    session = open_session(words)
    from dibs.lookout.verify import verify_store

    report = verify_store(session.store, expected, None if words.json else progress())
    found = report.as_json()
    if words.json:
        sys.stdout.write(jsontext.encode({**found, "ok": report.ok}) + "\n")
    else:
        sys.stdout.write("".join(f"{line}\n" for line in lines(found, ok=report.ok)))
    return YES if report.ok else NO


def lines(found: dict[str, Any], *, ok: bool) -> list[str]:
    """The report for people."""
    said = [f"event {finding['seq']}: {finding['code']}: {finding['message']}" for finding in found["findings"]]
    head = f"head {found['last']}:{found['link']}"
    if ok:
        what = f"{found['events']} events, {found['granted']} claims granted, {found['live']} live"
        return [f"clean: {what}, highest token {found['token']}, {head}"]
    return [*said, f"NOT clean: {found['found']} findings, {head}"]


def progress() -> Any:
    """Says how far it is, on a terminal, when it takes over a second."""
    if not sys.stderr.isatty():
        return None
    import time

    started = time.monotonic()

    def say(done: int, total: int) -> None:
        if time.monotonic() - started > 1:
            sys.stderr.write(f"\rverifying {done} of {total} events")
            if done >= total:
                sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    return say


def _head(text: str) -> tuple[int, str] | None:
    if not text:
        return None
    seq, colon, link = text.partition(":")
    if not colon or not seq.isdigit() or len(link) != LINK:
        raise Invalid(f"head: SEQ:LINK as `dibs verify` prints it, not {text!r}", field="head")
    return int(seq), link


COMMAND = Command(
    "verify",
    "Check the log with an independent implementation: one holder, rising tokens, legal steps, nothing edited or cut.",
    run=run,
    group="record",
    fields=FIELDS,
    examples=(
        ("dibs verify", "check the whole log"),
        ("dibs verify --head 4711:0123…", "also that it contains the event you remember"),
    ),
)
