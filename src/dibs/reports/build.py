"""Making reports, asking gates and ending runs: what the command line and Python share.

The operations decide; here are the things of the file system around them: the facts that gates want to know, the report
from store and log, the archive.
"""

from __future__ import annotations

import os
from itertools import pairwise

from dibs.errors import Invalid, Unavailable
from dibs.facts import clock
from dibs.stores.seam import GENESIS, digest_of, link_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.core.call import Call
    from dibs.reports.source import Gathered
    from dibs.session.session import Session

FORMATS = ("json", "md", "html")
LAST = 200  # events of the log whose links a gate checks; `dibs verify` checks all


# --- reports


def report(session: Session, call: Call, run: str, **facts: str) -> dict[str, Any]:
    """What a run did."""
    return gathered(session, call, run, **facts).report()


def gathered(session: Session, call: Call, run: str, **facts: str) -> Gathered:
    """A run's records and its story."""
    from dibs.reports import source

    known = {**facts_of(session, run), "report": "", **facts}
    return source.Gathered(session, call, run, known)


def render(made: dict[str, Any], kind: str) -> str:
    """A report as text."""
    if kind == "json":
        import json

        return json.dumps(made, indent=2) + "\n"
    if kind == "md":
        from dibs.reports import markdown

        return markdown.render(made)
    if kind == "html":
        from dibs.reports import html_page

        return html_page.render(made)
    raise Invalid(f"format: one of {', '.join(FORMATS)}, not {kind!r}", field="format")


def write_out(session: Session, out: str, text: str) -> str:
    """Write a text to a file, whole or not at all; gives its path."""
    path = os.path.join(session.cwd, out)
    making = f"{path}.{os.getpid()}.{clock.random_id()}"
    try:
        with open(making, "x", encoding="utf-8") as file:
            file.write(text)
        os.replace(making, path)
    except OSError as error:
        try:
            os.unlink(making)
        except OSError:
            pass
        raise Unavailable(f"{path} cannot be written: {error.strerror}", path=path) from None
    return path


# --- gates


def facts_of(session: Session, run: str, at: str = "") -> dict[str, str]:
    """What only a door can know, each "" or why not; whether the store can be written only where that is asked."""
    from dibs.operations.runs import quality_gates as rules
    from dibs.operations.runs import run_records
    from dibs.reports import archive

    record = session.store.look(lambda tx: run_records.chosen(tx, run, reading=True))
    found = {}
    if rules.SETUP in ((at,) if at else rules.times_of(record)):
        found = {"store": _writable(session), "log": _holds_together(session)}
    path = archive.path_of(session, record["run"])
    if record["archive"] is not None:
        found["archive"] = "" if os.path.isfile(path) else f"{path} is not there"
    missing = [digest for digest, kept in archive.kept_files(session, record["run"]) if not os.path.isfile(kept)]
    found["results"] = f"{len(missing)} files with results are not there, first results/{missing[0]}" if missing else ""
    return found


def _writable(session: Session) -> str:
    from dibs.errors import DibsError

    try:
        session.store.run(lambda tx: tx.now)
    except DibsError as error:
        return error.message
    return ""


def _holds_together(session: Session) -> str:
    """Do the last events follow from each other, and does the head follow from them?"""
    for _ in range(3):  # others write meanwhile: look again
        head = session.store.head()
        events = session.store.events(max(0, head.seq - LAST), LAST)
        link = events[0].link if events else GENESIS
        for before, event in pairwise(events):
            link = link_of(before.link, event.seq, event.commit, event.now, event.wall, digest_of(event.body))
            if link != event.link or event.seq != before.seq + 1:
                return f"event {event.seq} does not follow from the one before it; run `dibs verify`"
        if link == head.link:
            return ""
    return "the head does not follow from the last event; run `dibs verify`"


def gates(session: Session, call: Call, values: dict[str, Any], *, reported: bool = False) -> dict[str, Any]:
    """Which gates a run passes; `reported` says that its report was made just now."""
    run = values.get("run") or ""
    facts = facts_of(session, run, values.get("at", ""))
    if reported or not _asks_for_report(session, run, values.get("at", "")):
        facts["report"] = ""
    else:
        facts["report"] = _reportable(session, call, run)
    answer: dict[str, Any] = session.run(session.operation("run gates"), call, {**values, "facts": facts})
    return answer


def _asks_for_report(session: Session, run: str, at: str) -> bool:
    """Is the gate among those asked that needs a whole report to be made?"""
    from dibs.operations.runs import quality_gates as rules
    from dibs.operations.runs import run_records

    record = session.store.look(lambda tx: run_records.chosen(tx, run, reading=True))
    return rules.CLEANUP in ((at,) if at else rules.times_of(record))


def _reportable(session: Session, call: Call, run: str) -> str:
    from dibs.errors import DibsError

    try:
        render(report(session, call, run), "html")
    except (DibsError, KeyError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


# --- the end


def end(session: Session, call: Call, values: dict[str, Any]) -> dict[str, Any]:
    """End a run; with `archive`, keep all that it was in a file. Says which gates of the clean-up it passes."""
    answer: dict[str, Any] = session.run(session.operation("run end"), call, values)
    run = answer["run"]["id"]
    call.request = ""  # it belongs to the end itself; what follows may be done again
    if values.get("archive"):
        from dibs.operations.runs.run_endings import ARCHIVED
        from dibs.reports import archive

        found = gathered(session, call, run, archiving="yes", archive="")
        kept = archive.write(session, found, found.report())
        answer["run"] = session.run(ARCHIVED, call, {"run": run, **kept})["run"]
        answer["archive"] = archive.path_of(session, run)
    looked = gates(session, call, {"run": run, "at": "cleanup"}, reported=bool(values.get("archive")))
    from dibs.reports import stray_files

    stray_files.take_away(session)
    return {**answer, "gates": looked["gates"], "failed": looked["failed"]}


# By the names that declarations use (`Operation.around`).
AROUND = {"archive": end, "gates": gates}
