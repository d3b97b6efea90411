"""Makes reports, evaluates gates and ends runs, for the command line and Python.

The operations decide; this module does the file system part: the facts that gates need, the report from store and log,
the archive.
"""

from __future__ import annotations

import os
from itertools import pairwise

from dibs.client.upkeep import log_upkeep
from dibs.errors import Invalid, Unavailable, counted
from dibs.machine import atomic_write
from dibs.stores.seam import GENESIS, digest_of, link_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dibs.audit.report_answers import RunReportAnswer
    from dibs.audit.source import Gathered
    from dibs.client.session import Session
    from dibs.operations.core.call import Call
    from dibs.operations.core.declare import Around
    from dibs.operations.runs.answers import RunEndAnswer, RunGatesAnswer
    from dibs.stores.seam import Json

FORMATS = ("json", "md", "html")
CHECKED_EVENTS = 200  # by a gate, from the log's end; `dibs verify` checks all


# --- reports


def report(session: Session, call: Call, run: str, **facts: str) -> RunReportAnswer:
    """A run's report."""
    return gathered(session, call, run, **facts).report()


def gathered(session: Session, call: Call, run: str, **facts: str) -> Gathered:
    """A run's records and its story."""
    from dibs.audit import source

    known = {**facts_of(session, run), "report": "", **facts}
    return source.Gathered(session, call, run, known)


def render(made: RunReportAnswer, kind: str) -> str:
    """A report as text."""
    if kind == "json":
        import json

        return json.dumps(made, indent=2) + "\n"
    if kind == "md":
        from dibs.audit import markdown

        return markdown.render(made)
    if kind == "html":
        from dibs.audit import html_page

        return html_page.render(made)
    raise Invalid(f"format: one of {', '.join(FORMATS)}, not {kind!r}", field="format")


def write_out(session: Session, out: str, text: str) -> str:
    """Write a text to a file, whole or not at all; returns its path."""
    path = os.path.join(session.cwd, out)
    try:
        atomic_write.replace(path, text)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}", path=path) from None
    return path


# --- gates


def facts_of(session: Session, run: str, at: str = "") -> dict[str, str]:
    """The facts that only a door can know, each "" or the reason why not; writes to the store only if asked."""
    from dibs.audit import archive
    from dibs.operations.runs import quality_gates as rules
    from dibs.operations.runs.run_reads import CHOSEN

    record = session.run(CHOSEN, session.identify(None), {"run": run})["run"]
    found = {}
    if rules.SETUP in ((at,) if at else rules.times_of(record)):
        found = {"store": _writable(session), "log": _holds_together(session)}
    path = archive.path_of(session, record["run"])
    if record["archive"] is not None:
        found["archive"] = "" if os.path.isfile(path) else f"{path} does not exist"
    missing = [digest for digest, kept in archive.kept_files(session, record["run"]) if not os.path.isfile(kept)]
    found["results"] = f"{counted(len(missing), 'missing result file')}, first results/{missing[0]}" if missing else ""
    return found


def _writable(session: Session) -> str:
    from dibs.errors import DibsError
    from dibs.operations.upkeep.store_reads import WRITABLE

    try:
        session.run(WRITABLE, session.identify(None), {})
    except DibsError as error:
        return error.message
    return ""


def _holds_together(session: Session) -> str:
    """Do the last events follow from each other, and does the head follow from them?"""
    for _ in range(3):  # another process wrote meanwhile: retry
        head = session.store.head()
        events = session.store.events(max(0, head.seq - CHECKED_EVENTS), CHECKED_EVENTS)
        link = events[0].link if events else GENESIS
        for before, event in pairwise(events):
            link = link_of(before.link, event.seq, event.commit, event.now, event.wall, digest_of(event.body))
            if link != event.link or event.seq != before.seq + 1:
                return f"event {event.seq} does not follow from the one before it; run `dibs verify`"
        if link == head.link:
            return ""
    return "the head does not follow from the last event; run `dibs verify`"


def gates(session: Session, call: Call, values: dict[str, Any], *, reported: bool = False) -> RunGatesAnswer:
    """The gates that a run passes; `reported`: its report was made just now."""
    run = values.get("run") or ""
    facts = facts_of(session, run, values.get("at", ""))
    if reported or not _asks_for_report(session, run, values.get("at", "")):
        facts["report"] = ""
    else:
        facts["report"] = _reportable(session, call, run)
    answer: RunGatesAnswer = session.run(session.operation("run gates"), call, {**values, "facts": facts})
    return answer


def _asks_for_report(session: Session, run: str, at: str) -> bool:
    """Does one of the requested gates need a whole report?"""
    from dibs.operations.runs import quality_gates as rules
    from dibs.operations.runs.run_reads import CHOSEN

    record = session.run(CHOSEN, session.identify(None), {"run": run})["run"]
    return rules.CLEANUP in ((at,) if at else rules.times_of(record))


def _reportable(session: Session, call: Call, run: str) -> str:
    from dibs.errors import DibsError

    try:
        render(report(session, call, run), "html")
    except (DibsError, KeyError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


# --- the end


def end(session: Session, call: Call, values: dict[str, Any]) -> RunEndAnswer:
    """End a run; with `archive`, write its archive. Returns which gates of the clean-up it passes."""
    answer: RunEndAnswer = session.run(session.operation("run end"), call, values)
    run = answer["run"]["id"]
    call.request = ""  # part of the end itself; the steps after it may be repeated
    if values.get("archive"):
        from dibs.audit import archive
        from dibs.operations.runs.run_endings import ARCHIVED

        found = gathered(session, call, run, archiving="yes", archive="")
        kept = archive.write(session, found, found.report())
        answer["run"] = session.run(ARCHIVED, call, {"run": run, **kept})["run"]
        answer["archive"] = archive.path_of(session, run)
    looked = gates(session, call, {"run": run, "at": "cleanup"}, reported=bool(values.get("archive")))
    from dibs.audit import stray_files

    stray_files.remove_stray_files(session)
    answer.update({"gates": looked["gates"], "failed": looked["failed"]})
    return answer


# By the names that declarations use (`Operation.around`); each gives the answer of its operation.
AROUND: dict[Around, Callable[[Session, Call, dict[str, Any]], Json]] = {
    "archive": end, "gates": gates, "prune": log_upkeep.prune,
}  # fmt: skip
