"""The declared queries: what is asked of the log and of the whole record, outside any transaction.

Every door gets them from here: the commands `log`, `verify` and `run report`, the Python methods of the same names, and
what a server will offer. A command may add what only a terminal has (following, progress); the answer is this one.
"""

from __future__ import annotations

from dibs.errors import Invalid, NotFound
from dibs.operations.core.declare import Field
from dibs.operations.core.query import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.audit.answers import LogAnswer
    from dibs.audit.events import Filter
    from dibs.audit.report_answers import RunReportAnswer
    from dibs.audit.requests import LogRequest, RunReportRequest, VerifyRequest
    from dibs.audit.telling import Telling
    from dibs.client.session import Session
    from dibs.operations.core.call import Call
    from dibs.verify.answers import VerifyAnswer

LISTED = 1_000  # events in one answer, unless it is asked for another number
MAX_THROUGH_SERVER = 10_000  # events in one answer of a server; `after` continues
LINK = 40  # hexadecimal digits
MAX_TEXT = 200  # letters that one question looks for
FORMATS = ("json", "md", "html")


# --- log


def wanted(session: Session, request: LogRequest) -> Filter:
    """The events that a request asks for."""
    from dibs.audit import events
    from dibs.operations.agents.lookups import FOUND, NAMED

    since, wall = events.since_of(request["since"])
    agent = request["agent"]
    if agent:
        agent = session.run(FOUND, session.identify(None), {"word": request["agent"]})["id"]
    words = request["text"].lower().split()
    named = session.run(NAMED, session.identify(None), {"words": words})["agents"] if words else []
    return events.Filter(
        kind=request["kind"], since=since, wall=wall, agent=agent, paths=request["path"], words=words,
        named=[set(agents) for agents in named],
    )  # fmt: skip


def _log(session: Session, call: Call, request: LogRequest) -> LogAnswer:
    """The last events, or those after a cursor."""
    from dibs.audit import events, expected_archives
    from dibs.client import log_reader

    telling = _telling() if request["sentences"] else None
    found, limit = wanted(session, request), request["limit"]
    log = log_reader.LogReader(session, call)
    if call.credential is not None:  # a server holds the whole answer in its memory, for each that asks
        limit = min(limit or MAX_THROUGH_SERVER, MAX_THROUGH_SERVER)
    if request["after"] is None:
        # a server's thread, and who reads page by page, is not kept by a log of millions
        most = events.MOST_LOOKED if call.credential is not None or request["before"] else 0
        shown, last, earlier, first = events.last_of(log, found, limit, request["before"], most, telling)
        looked = found.since if found.paths or not limit else first - 1
        passed = expected_archives.passed_over(session, call, log, looked, last)
        return {"events": shown, "more": False, "cursor": last, "earlier": earlier, "first": first, **passed}
    if request["before"]:
        raise Invalid("before: reads backwards, and --after forwards: one of them", field="before")
    found.since = max(found.since, request["after"])
    shown, last, more = events.page_of(log, found.since, found, limit, telling=telling)
    passed = expected_archives.passed_over(session, call, log, found.since, last)
    return {"events": shown, "more": more, "cursor": last, "earlier": False, "first": 0, **passed}


def _telling() -> Telling:
    from dibs.audit.telling import Telling

    return Telling()


# --- verify


def head_of(text: str) -> tuple[int, str] | None:
    """The event that `SEQ:LINK` names; None for nothing."""
    if not text:
        return None
    seq, colon, link = text.partition(":")
    if not colon or not (seq.isascii() and seq.isdigit()) or len(link) != LINK:
        raise Invalid(f"head: SEQ:LINK as `dibs verify` prints it, not {text!r}", field="head")
    return int(seq), link


def _verify(session: Session, call: Call, request: VerifyRequest) -> VerifyAnswer:
    """What an independent check of the record finds."""
    from dibs.audit import expected_archives
    from dibs.verify.checker import verify_store

    named = None if request["live"] else expected_archives.expected(session, call)
    return verify_store(session.store, head_of(request["head"]), session.door.show_progress, named).as_json()


# --- run report


def _run_report(session: Session, call: Call, request: RunReportRequest) -> RunReportAnswer:
    """What a run did: as values, as a text, or in a file."""
    from dibs.audit import build

    made = build.report(session, call, request["run"])
    if request["format"] == "json" and not request["out"]:
        return made
    text = build.render(made, request["format"])
    answer: RunReportAnswer = {"run": made["run"], "format": request["format"]}
    if request["out"]:
        answer["file"] = build.write_out(session, request["out"], text)
    else:
        answer["text"] = text
    return answer


LOG = Query(
    "log",
    _log,
    "Show the events of the log: what happened, when, and by which agent.",
    fields=(
        Field("path", "resources", "only events about these paths or names", positional=True, default=(),
              metavar="RESOURCE"),
        Field("limit", "integer", "at most N events, the last ones (default 1000; 0: all)", default=LISTED,
              metavar="N"),
        Field("agent", "agent", "only events of this agent", default="", metavar="A"),
        Field("kind", "text", "only events whose kind starts with this", default="", metavar="K"),
        Field("since", "text", "only events of the last 10m, 2h …, or after this event number", default="",
              metavar="D|SEQ"),
        Field("text", "text", "only events that have all these words: in their kind, agent, subject or data",
              default="", longest=MAX_TEXT, metavar="WORDS"),
        Field("after", "integer", "continue after this event number (a `cursor`), oldest first", metavar="CURSOR"),
        Field("before", "integer", "the last events before this number (a `first`)", default=0, least=0,
              metavar="SEQ"),
        Field("sentences", "flag", "give each event the sentence that people read (`text`)", default=False),
    ),
    answer="LogAnswer",
    group="record",
    refuses="lost",
)  # fmt: skip
VERIFY = Query(
    "verify",
    _verify,
    "Check the log with independent code: one holder, rising tokens, legal steps, nothing edited or cut.",
    fields=(
        Field("head", "text", "the log must contain this event (a head that you noted before)", default="",
              metavar="SEQ:LINK"),
        Field("live", "flag", "only the events in the store, not those in archives", default=False),
    ),
    answer="VerifyAnswer",
    group="record",
    refuses="found",
)  # fmt: skip
RUN_REPORT = Query(
    "run report",
    _run_report,
    "Report what a run did: results, metrics, contention, which agent did what and when.",
    fields=(
        Field("run", "text", "the run (else DIBS_RUN, else the only active one)", positional=True, default="",
              env="DIBS_RUN", metavar="RUN"),
        Field("format", "choice", "json (default in Python), Markdown (default of the command) or one HTML file",
              default="json", choices=FORMATS),
        Field("out", "file", "write it to this file", default="", metavar="FILE"),
    ),
    errors=(NotFound,),
    answer="RunReportAnswer",
    group="runs",
)  # fmt: skip

QUERIES = (LOG, RUN_REPORT, VERIFY)
