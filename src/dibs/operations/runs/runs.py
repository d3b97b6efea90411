"""Runs: one operation of a fleet: which one is meant, its phase, its errors and warnings.

members.py has a run's agents, run_views.py shows runs, run_endings.py ends and purges them, quality_gates.py checks
them. Counts of tasks are computed when asked for.

- success: a run is active from its start to its end; a start may bring its tasks, all or none.
- refusal: an unknown run is `not_found`; an ended one takes no tasks, agents, phases or notes any more (`conflict`);
  several active runs and none named is `invalid`, and names them.
- retry: moving to the same phase again changes nothing.
- crash: each of these is one transaction.
"""

from __future__ import annotations

from dibs.errors import Conflict, Invalid, Killed, NotFound, Quota
from dibs.operations.core.call import iso
from dibs.operations.core.declare import Field, Operation
from dibs.operations.runs import records
from dibs.operations.runs.records import ACTIVE, ENDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, Literal

    from dibs.operations.core.call import Call
    from dibs.operations.runs.answers import RunNote as RunNoteView
    from dibs.operations.runs.answers import RunNoteAnswer, RunPhaseAnswer, RunView
    from dibs.operations.runs.records import Run, RunNote
    from dibs.operations.runs.requests import RunErrorRequest, RunHandledRequest, RunPhaseRequest, RunWarnRequest
    from dibs.stores.seam import Transaction

PHASES = ("discovery", "analysis", "execution", "validation")
ERROR: Final = "error"
WARNING: Final = "warning"

MAX_ID_CHARS = 100  # it is part of a file's name
ID_SIGNS = frozenset("._-")  # in addition to letters and digits of ASCII
MAX_PHASE_CHANGES = 100  # in the record; the log has them all
MAX_NOTES = 1_000  # errors, and as many warnings, of one run
MAX_ENDED_READ = 100  # runs among which the last one is looked for


# --- which run


def check_id(run: str) -> str:
    """Refuse ids that would break a key or the name of a file."""
    fine = all(letter.isascii() and (letter.isalnum() or letter in ID_SIGNS) for letter in run)
    if not run or len(run) > MAX_ID_CHARS or not fine or not run[0].isalnum():
        text = (
            f"a run's id: 1 to {MAX_ID_CHARS} letters, digits or {''.join(sorted(ID_SIGNS))}, a letter or digit first"
        )
        raise Invalid(text, field="run")
    return run


def load(tx: Transaction, run: str) -> Run:
    """A run by its id."""
    record = records.get_run(tx, check_id(run))
    if record is None:
        raise NotFound(f"there is no run {run}; `dibs run list` shows them", run=run)
    return record


def active(tx: Transaction, run: str) -> Run:
    """A run that still takes work."""
    record = load(tx, run)
    if record["state"] != ACTIVE:
        text = f"run {run} has ended at {iso(tx, record['ended'])}; `dibs run start` starts a new one."
        raise Conflict(text, run=run, state=record["state"])
    if record.get("ending"):
        raise Conflict(f"run {run} is being ended; it takes nothing more.", run=run, state=record["state"])
    return record


def chosen(tx: Transaction, run: str, *, reading: bool = False) -> Run:
    """The named run, else the only active one; for reading, else the one that ended last."""
    if run:
        return load(tx, run) if reading else active(tx, run)
    runs = records.active_runs(tx)
    if len(runs) == 1:
        return runs[0]
    if runs:
        names = [record["run"] for record in runs]
        raise Invalid(f"which run: {', '.join(names[:10])}? Name it with --run or DIBS_RUN.", field="run", runs=names)
    last = _last_ended(tx) if reading else None
    if last is None:
        raise NotFound("no run is active; `dibs run start NAME` starts one.", run="")
    return last


def _last_ended(tx: Transaction) -> Run | None:
    """The run that ended last."""
    runs = records.runs_in_state(tx, ENDED, MAX_ENDED_READ)
    return max(runs, key=lambda run: (run["ended"], run["run"]), default=None)


def shown(tx: Transaction, run: Run) -> RunView:
    """A run as people and programs see it; run_views.py counts its tasks."""
    view: RunView = {
        "id": run["run"],
        "operation": run["operation"],
        "coordinator": run["coordinator"],
        "state": run["state"],
        "phase": run["phase"],
        "started_at": iso(tx, run["since"]),
        "error_count": run["errors"],
        "warning_count": run["warnings"],
    }
    if run["spec"]:
        view["spec"] = run["spec"]
    if run["state"] == ENDED:
        view["ended_at"], view["ended_by"] = iso(tx, run["ended"]), run["ended_by"]
        if run["until"]:  # not while its tasks are being cancelled
            view["kept_until"] = iso(tx, run["until"])
    if run["archive"]:
        view["archive"] = run["archive"]
    return view


# --- where it stands


def check_phase(phase: str) -> str:
    """Refuse an unknown phase."""
    if phase not in PHASES:
        raise Invalid(f"phase: one of {', '.join(PHASES)}, not {phase!r}", field="phase")
    return phase


def _phase(tx: Transaction, call: Call, request: RunPhaseRequest) -> RunPhaseAnswer:
    """Set the run's phase. Any order: a run that finds something in validation may analyse again."""
    phase = request["phase"]
    record = chosen(tx, request["run"])
    before = record["phase"]
    if check_phase(phase) != before:
        record["phase"] = phase
        record["phases"] = [*record["phases"], (phase, tx.now, call.agent)][-MAX_PHASE_CHANGES:]
        records.put_run(tx, record)
        tx.append("run.phased", call.agent, record["run"], {"from": before, "to": phase})
    return {"run": shown(tx, record), "before": before}


def _warn(tx: Transaction, call: Call, request: RunWarnRequest) -> RunNoteAnswer:
    return _note(tx, call, chosen(tx, request["run"]), WARNING, request["text"])


def _error(tx: Transaction, call: Call, request: RunErrorRequest) -> RunNoteAnswer:
    return _note(tx, call, chosen(tx, request["run"]), ERROR, request["text"])


def _note(tx: Transaction, call: Call, run: Run, what: Literal["error", "warning"], text: str) -> RunNoteAnswer:
    """Keep an error or a warning with the run."""
    words = text.strip()
    if not words:
        raise Invalid("say what happened", field="text")
    if (run["errors"] if what == ERROR else run["warnings"]) >= MAX_NOTES:
        raise Quota(
            f"run {run['run']} has {MAX_NOTES} {what}s; it takes no more.", what=f"{what}s of one run", limit=MAX_NOTES
        )
    if what == ERROR:
        run["errors"] += 1
        run["open_errors"] += 1
    else:
        run["warnings"] += 1
    number = run["errors"] + run["warnings"]
    records.put_run(tx, run)
    note: RunNote = {"number": number, "what": what, "text": words, "by": call.agent, "at": tx.now, "handled": ""}
    records.put_note(tx, run["run"], note)
    tx.append("run.noted", call.agent, run["run"], {"what": what, "number": number, "text": words})
    return {"run": shown(tx, run), "noted": note_shown(tx, note)}


def note_shown(tx: Transaction, note: RunNote) -> RunNoteView:
    """An error or a warning, as people and programs see it."""
    view: RunNoteView = {
        "number": note["number"], "text": note["text"], "by": note["by"], "at": iso(tx, note["at"]),
    }  # fmt: skip
    if note["what"] == ERROR:
        view["handled"] = note["handled"] or None
    return view


def _handled(tx: Transaction, call: Call, request: RunHandledRequest) -> RunNoteAnswer:
    """Mark an error as handled: the gates no longer count it."""
    number = request["number"]
    record = chosen(tx, request["run"])
    note = records.get_note(tx, record["run"], number)
    if note is None or note["what"] != ERROR:
        raise NotFound(f"run {record['run']} has no error {number}; `dibs run show` lists them", number=number)
    words = request["how"].strip()
    if not words:
        raise Invalid("say how it was handled", field="how")
    if not note["handled"]:
        record["open_errors"] -= 1
        records.put_run(tx, record)
    if note["handled"] != words:
        note["handled"] = words
        records.put_note(tx, record["run"], note)
        tx.append("run.handled", call.agent, record["run"], {"number": number, "how": words})
    return {"run": shown(tx, record), "noted": note_shown(tx, note)}


_CHOSEN = "the run (else DIBS_RUN, else the only active one)"
RUN = Field("run", "text", _CHOSEN, default="", env="DIBS_RUN", metavar="RUN")
RUN_FIRST = Field("run", "text", _CHOSEN, positional=True, default="", env="DIBS_RUN", metavar="RUN")
_TEXT = Field("text", "text", "what happened", positional=True, required=True, metavar="TEXT")
ERRORS = (NotFound, Conflict, Invalid, Killed)

OPERATIONS = (
    Operation(
        "run phase",
        _phase,
        "Set the phase of a run.",
        group="runs",
        fields=(Field("phase", "choice", "its new phase", positional=True, required=True, choices=PHASES), RUN),
        errors=ERRORS,
        rank="agent", answer="RunPhaseAnswer",
    ),
    Operation(
        "run warn", _warn, "Record a warning in a run.",
        group="runs", fields=(_TEXT, RUN), errors=(*ERRORS, Quota),
        rank="worker", answer="RunNoteAnswer",
    ),
    Operation(
        "run error", _error, "Record an error in a run.",
        group="runs", fields=(_TEXT, RUN), errors=(*ERRORS, Quota),
        rank="worker", answer="RunNoteAnswer",
    ),
    Operation(
        "run handled",
        _handled,
        "Mark an error of a run as handled.",
        group="runs",
        fields=(
            Field("number", "integer", "the error's number", positional=True, required=True, metavar="N"),
            Field("how", "text", "how it was handled", positional=True, required=True, metavar="HOW"),
            RUN,
        ),
        errors=ERRORS,
        rank="agent", answer="RunNoteAnswer",
    ),
)  # fmt: skip
