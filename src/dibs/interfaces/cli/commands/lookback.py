"""`dibs lookback`: what happened between the sessions that clients keep here, and what dibs would have done.

No workspace is needed, and no store is opened.
"""

from __future__ import annotations

import os
import sys

from dibs import jsontext
from dibs.errors import YES, Invalid
from dibs.interfaces.cli.command import Command
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.interfaces.cli.parse import Words
    from dibs.lookback.findings import Lookback

FIELDS = (
    Field(
        "folders",
        "resources",
        "where sessions are (default: the clients' own folders)",
        default=(),
        positional=True,
        metavar="FOLDER",
    ),
    Field("since", "text", "only what is at most this old: 7d, 12h, or 2026-05-01", default="", metavar="AGE|DATE"),
    Field("repo", "text", "only this repository or working tree", default="", metavar="FOLDER"),
    Field("limit", "integer", "rows of each list (default 10)", default=10, metavar="N"),
    Field("html", "text", "write it as one HTML file", default="", metavar="FILE"),
)
MAX_LIMIT = 10_000
PROGRESS_MS = 1_000  # before the first line of progress, and between two
NOTE = (
    "It reads, and writes nothing but the page of --html. Nothing leaves this machine. Prompts are not shown, only the "
    "ids of issues in them; of commands the first words, without what looks like a secret."
)


def run(words: Words) -> int:
    """Look, and show what was found."""
    from dibs.lookback import findings, session_files, text
    from dibs.lookback.trees import Trees
    from dibs.machine import clock

    home = os.path.expanduser("~")
    named = [os.path.abspath(os.path.expanduser(folder)) for folder in words.fields.get("folders", ())]
    for folder in named:
        if not os.path.exists(folder):
            raise Invalid(f"there is no {folder}", path=folder)
    folders = [("", folder) for folder in named] or session_files.default_folders(home, os.environ)
    repo = words.fields.get("repo", "")
    repository = Trees(home).of(os.path.abspath(os.path.expanduser(repo)))[1] if repo else ""
    limit = _limit(words.fields.get("limit", findings.LIMIT))
    since = _since(words.fields.get("since", ""), clock.wall())
    seen, end = _progress()
    try:
        found = findings.look(folders, home, seen, since=since, repository=repository, limit=limit)
    finally:
        end()
    path = words.fields.get("html", "")
    if path:
        _write_page(path, found)
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": True, **found}) + "\n")
        return YES
    from dibs.interfaces.cli import terminal

    columns = terminal.width() if terminal.is_terminal() else 100
    terminal.write([terminal.clean(line) for line in text.page(found, columns)])
    if path:
        sys.stdout.write(f"wrote {path}\n")
    return YES


def _write_page(path: str, found: Lookback) -> None:
    from dibs.lookback import html

    try:
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write(html.render(found))
    except OSError as error:
        raise Invalid(f"{path}: {error.strerror}", path=path) from None


def _limit(given: object) -> int:
    try:
        value = int(str(given))
    except ValueError:
        value = 0
    if not 1 <= value <= MAX_LIMIT:
        raise Invalid(f"limit: a whole number from 1 to {MAX_LIMIT}, not {given!r}", field="limit")
    return value


def _since(text: str, now: int) -> int:
    """The time from which on, in ms since 1970; 0: all."""
    if not text:
        return 0
    from dibs.lookback.formats.session import ms_of
    from dibs.machine import durations

    date = ms_of(f"{text}T00:00:00" if len(text) == 10 else text)  # noqa: PLR2004 - YYYY-MM-DD
    if date:
        return date
    try:
        return max(1, now - durations.parse(text, "since"))
    except Invalid:
        raise Invalid(f"since: {text!r} is no age (7d, 12h) and no date (2026-05-01)", field="since") from None


def _progress() -> tuple[Callable[[str, int], None], Callable[[], None]]:
    """How far it is, on stderr: if that is a terminal, and after a second. And the end of that line."""
    from dibs.machine import clock

    due = clock.since_boot() + PROGRESS_MS
    shown = False
    is_shown = sys.stderr.isatty()

    def seen(what: str, count: int) -> None:
        nonlocal due, shown
        if is_shown and count % 64 == 0 and clock.since_boot() >= due:
            due, shown = clock.since_boot() + PROGRESS_MS, True
            sys.stderr.write(f"\rlooking at {count:,} {what} …")
            sys.stderr.flush()

    def end() -> None:
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    return seen, end


COMMAND = Command(
    "lookback",
    "What happened between your agents' past sessions, and what dibs would have done. Needs no workspace.",
    run=run,
    group="see",
    fields=FIELDS,
    examples=(
        ("dibs lookback", "all sessions that Claude Code, Codex, Copilot and Gemini keep on this machine"),
        ("dibs lookback --since 30d --repo .", "those of this repository, of the last 30 days"),
        ("dibs lookback --html lookback.html", "the same as one page"),
        ("dibs lookback ~/backup/sessions", "sessions that were copied elsewhere"),
    ),
    notes=(NOTE,),
    json="folders, sessions, together, near, overwritten, swept, shared_ids, refused_alone, refused, causes, …",
)
