"""`dibs verify`: checks the record itself. What it checks is in verify/, which shares no code with what it checks."""

from __future__ import annotations

import sys

from dibs.client import catalogue
from dibs.errors import NO, YES, Invalid
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import finish, read
from dibs.interfaces.session_doors import CommandDoor
from dibs.machine import clock
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.parse import Words
    from dibs.verify.answers import VerifyAnswer

PROGRESS_AFTER_MS = 1_000


def run(words: Words) -> int:
    """Exit 0 if the record is clean, 1 with the findings if not."""
    operation = catalogue.operation("verify")
    if "archive" in words.fields:
        found = _archives(words)
        if words.json:
            return finish(operation, {**found}, words)
        return _say(found)
    session, call, values = read(operation, words, ReportDoor)
    found = session.answer(operation, call, values)
    if words.json:
        return finish(operation, found, words)
    return _say(found)


def _archives(words: Words) -> VerifyAnswer:
    """Archives by themselves: no workspace and no store is opened."""
    import os

    from dibs.audit.queries import head_of
    from dibs.verify.checker import verify_archives

    given = words.fields["archive"]
    if "live" in words.fields:
        raise Invalid("verify: --archive or --live, not both", field="live")
    if not os.path.exists(given):
        raise Invalid(f"archive: there is no file or folder {given}", field="archive")
    paths = [given]
    if os.path.isdir(given):
        paths = [os.path.join(given, name) for name in sorted(os.listdir(given)) if name.endswith(".jsonl.gz")]
        if not paths:
            raise Invalid(f"archive: there is no archive (*.jsonl.gz) in {given}", field="archive")
    head = head_of(words.fields.get("head", ""))
    return verify_archives(paths, head, ReportDoor(quiet=words.json).show_progress).as_json()


def _say(found: VerifyAnswer) -> int:
    from dibs.audit.check import record_lines

    sys.stdout.write("".join(f"{line}\n" for line in record_lines(found)))
    return NO if found["found"] else YES


class ReportDoor(CommandDoor):
    """The door of a command that reads the log: it says how far it is, on a terminal, when it takes over a second."""

    __slots__ = ("_began",)

    def __init__(self, *, quiet: bool) -> None:
        super().__init__(quiet=quiet)
        self._began = clock.since_boot()

    def show_progress(self, done: int, total: int) -> None:
        if not self.quiet and sys.stderr.isatty() and clock.since_boot() - self._began > PROGRESS_AFTER_MS:
            sys.stderr.write(f"\rverifying {done} of {total} events")
            if done >= total:
                sys.stderr.write("\r\033[K")
            sys.stderr.flush()


COMMAND = Command(
    "verify",
    run=run,
    fields=(
        Field("archive", "text", "check this archive, or all in this folder, without a workspace", metavar="FILE|DIR"),
    ),
    examples=(
        ("dibs verify", "check the whole log"),
        ("dibs verify --head 4711:0123…", "also that it contains the event you remember"),
        ("dibs verify --archive .dibs/local/archive", "the archives by themselves, wherever they are"),
    ),
)
