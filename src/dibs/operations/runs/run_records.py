"""Runs: one operation of a fleet: its agents, its phase, its errors and warnings.

run_views.py shows runs, run_endings.py ends and purges them, quality_gates.py checks them. Tasks belong to a run by
rows of their own (`ut⇥RUN⇥TASK`), so that finishing a task never writes the run's record; counts are computed when
asked for.

- success: a run is active from its start to its end; a start may bring its tasks, all or none.
- refusal: an unknown run is `not_found`; an ended one takes no tasks, agents, phases or notes any more (`conflict`);
  several active runs and none named is `invalid`, and names them.
- retry: joining again, or moving to the same phase again, changes only the newly given values.
- crash: each of these is one transaction. A dead agent stays in the list, and is shown as gone.
"""

from __future__ import annotations

from dibs.errors import Conflict, Invalid, Killed, NotFound, Quota
from dibs.operations.agents.records import put_agent, registered_agent
from dibs.operations.core.call import due, iso
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.agents.records import Agent
    from dibs.operations.core.call import Call, Record
    from dibs.operations.runs.requests import (
        RunErrorRequest,
        RunHandledRequest,
        RunJoinRequest,
        RunPhaseRequest,
        RunUsageRequest,
        RunWarnRequest,
    )
    from dibs.stores.seam import Transaction

ACTIVE, ENDED = "active", "ended"
PHASES = ("discovery", "analysis", "execution", "validation")
ERROR, WARNING = "error", "warning"

MAX_ID_CHARS = 100  # it is part of a file's name
ID_SIGNS = frozenset("._-")  # in addition to letters and digits of ASCII
MAX_PHASE_CHANGES = 100  # in the record; the log has them all
MAX_AGENTS = 1_000  # of one run
MAX_NOTES = 1_000  # errors, and as many warnings, of one run
MAX_RUNS_READ = 100  # where the caller names no limit


# --- the record


def key_of(run: str) -> str:
    """The key of a run."""
    return f"u\t{run}"


def check_id(run: str) -> str:
    """Refuse ids that would break a key or the name of a file."""
    fine = all(letter.isascii() and (letter.isalnum() or letter in ID_SIGNS) for letter in run)
    if not run or len(run) > MAX_ID_CHARS or not fine or not run[0].isalnum():
        text = (
            f"a run's id: 1 to {MAX_ID_CHARS} letters, digits or {''.join(sorted(ID_SIGNS))}, a letter or digit first"
        )
        raise Invalid(text, field="run")
    return run


def load(tx: Transaction, run: str) -> Record:
    """A run by its id."""
    record: Record | None = tx.get(key_of(check_id(run)))
    if record is None:
        raise NotFound(f"there is no run {run}; `dibs run list` shows them", run=run)
    return record


def put(tx: Transaction, run: Record) -> None:
    """Write a run, where lists and, once it has ended, the sweep find it."""
    entry = f"runs\t{run['state']}\t{run['since']:015d}\t{run['run']}"
    tx.put(key_of(run["run"]), run, entry, due(run["until"]) if run["until"] else None)


def active(tx: Transaction, run: str) -> Record:
    """A run that still takes work."""
    record = load(tx, run)
    if record["state"] != ACTIVE:
        text = f"run {run} has ended at {iso(tx, record['ended'])}; `dibs run start` starts a new one."
        raise Conflict(text, run=run, state=record["state"])
    if record.get("ending"):
        raise Conflict(f"run {run} is being ended; it takes nothing more.", run=run, state=record["state"])
    return record


def chosen(tx: Transaction, run: str, *, reading: bool = False) -> Record:
    """The named run, else the only active one; for reading, else the one that ended last."""
    if run:
        return load(tx, run) if reading else active(tx, run)
    rows = tx.scan(1, f"runs\t{ACTIVE}\t", MAX_RUNS_LISTED).rows
    if len(rows) == 1:
        record: Record = rows[0][2]
        return record
    if rows:
        names = [row[2]["run"] for row in rows]
        raise Invalid(f"which run: {', '.join(names[:10])}? Name it with --run or DIBS_RUN.", field="run", runs=names)
    last = _last_ended(tx) if reading else None
    if last is None:
        raise NotFound("no run is active; `dibs run start NAME` starts one.", run="")
    return last


def _last_ended(tx: Transaction) -> Record | None:
    """The run that ended last."""
    ended, _ = of_state(tx, ENDED)
    return max(ended, key=lambda run: (run["ended"], run["run"]), default=None)


def shown(tx: Transaction, run: Record) -> dict[str, Any]:
    """A run as people and programs see it; run_views.py counts its tasks."""
    found: dict[str, Any] = {
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
        found["spec"] = run["spec"]
    if run["state"] == ENDED:
        found["ended_at"], found["ended_by"] = iso(tx, run["ended"]), run["ended_by"]
        if run["until"]:  # not while its tasks are being cancelled
            found["kept_until"] = iso(tx, run["until"])
    if run["archive"]:
        found["archive"] = run["archive"]
    return found


# --- start


# --- who takes part


def member_key(run: str, agent: str) -> str:
    """The key of an agent's part in a run."""
    return f"ua\t{run}\t{agent}"


def _join(tx: Transaction, call: Call, request: RunJoinRequest) -> dict[str, Any]:
    """Join a run. The given type and capabilities are the agent's from now on, as at a boot."""
    record = chosen(tx, request["run"])
    agent = registered_agent(tx, call.agent)
    kind, able = request["type"], sorted(set(request["can"]))
    if (kind and kind != agent["type"]) or (able and able != agent["can"]):
        was, agent["type"], agent["can"] = agent["type"], kind or agent["type"], able or agent["can"]
        if agent["type"] != was:
            from dibs.operations.messages import broadcasts

            broadcasts.take_on_type(tx, agent, was)
        put_agent(tx, agent)
    from dibs.operations.tasks import workforce

    workforce.mark_as_worker(tx, agent)
    member = _member(tx, record["run"], agent)
    tx.put(member_key(record["run"], call.agent), member)
    return {"run": shown(tx, record), "agent": member_shown(tx, member)}


def _member(tx: Transaction, run: str, agent: Agent) -> Record:
    """An agent's part in a run, existing or new, with its present type and capabilities."""
    member: Record | None = tx.get(member_key(run, agent["agent"]))
    if member is None:
        if len(tx.fetch([prefix_range(f"ua\t{run}\t")], MAX_AGENTS).rows) >= MAX_AGENTS:
            raise Quota(
                f"run {run} has {MAX_AGENTS} agents; it takes no more.", what="agents in one run", limit=MAX_AGENTS
            )
        member = {"agent": agent["agent"], "joined": tx.now, "usage": None, "peak": None}
        tx.append("run.joined", agent["agent"], run, {"type": agent["type"], "can": agent["can"]})
    process = agent["process"]
    member.update(type=agent["type"], can=agent["can"], pid=process[3] if process is not None else None)
    return member


def member_shown(tx: Transaction, member: Record) -> dict[str, Any]:
    """An agent of a run, as people and programs see it."""
    found = {name: member[name] for name in ("agent", "type", "can", "pid")}
    found["joined_at"] = iso(tx, member["joined"])
    if member["usage"]:
        found["usage"] = {**member["usage"], "at": iso(tx, member["usage"]["at"])}
        found["peak"] = member["peak"]
    return found


def _usage(tx: Transaction, call: Call, request: RunUsageRequest) -> dict[str, Any]:
    """Store the usage of the caller's process. It comes with a heartbeat, so an ended run is no error."""
    given = {"cpu": request["cpu"], "memory": request["memory"], "threads": request["threads"]}
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 2**53:
            raise Invalid(f"{name}: a number that is not negative", field=name)
    used: Record = {
        "cpu": round(float(request["cpu"]), 1),
        "memory": int(request["memory"]),
        "threads": int(request["threads"]),
    }
    return {
        "kept": bool(request["run"]) and keep_use(tx, check_id(request["run"]), registered_agent(tx, call.agent), used)
    }


def keep_use(tx: Transaction, run: str, agent: Agent, used: Record) -> bool:
    """Store an agent's usage for an active run: the latest, and the maximum."""
    record: Record | None = tx.get(key_of(run))
    if record is None or record["state"] != ACTIVE:
        return False
    member = _member(tx, run, agent)
    used = {"threads": (member["usage"] or {}).get("threads", 1), **used}  # of a finished task, they were not counted
    before = member["peak"] or used
    member["peak"] = {name: max(used[name], before[name]) for name in used}
    member["usage"] = {**used, "at": tx.now}
    tx.put(member_key(run, agent["agent"]), member)
    return True


# --- where it stands


def check_phase(phase: str) -> str:
    """Refuse an unknown phase."""
    if phase not in PHASES:
        raise Invalid(f"phase: one of {', '.join(PHASES)}, not {phase!r}", field="phase")
    return phase


def _phase(tx: Transaction, call: Call, request: RunPhaseRequest) -> dict[str, Any]:
    """Set the run's phase. Any order: a run that finds something in validation may analyse again."""
    phase = request["phase"]
    record = chosen(tx, request["run"])
    before = record["phase"]
    if check_phase(phase) != before:
        record["phase"] = phase
        record["phases"] = [*record["phases"], [phase, tx.now, call.agent]][-MAX_PHASE_CHANGES:]
        put(tx, record)
        tx.append("run.phased", call.agent, record["run"], {"from": before, "to": phase})
    return {"run": shown(tx, record), "before": before}


def _warn(tx: Transaction, call: Call, request: RunWarnRequest) -> dict[str, Any]:
    return _say(tx, call, chosen(tx, request["run"]), WARNING, request["text"])


def _error(tx: Transaction, call: Call, request: RunErrorRequest) -> dict[str, Any]:
    return _say(tx, call, chosen(tx, request["run"]), ERROR, request["text"])


def _say(tx: Transaction, call: Call, run: Record, what: str, text: str) -> dict[str, Any]:
    """Keep an error or a warning with the run."""
    words = text.strip()
    if not words:
        raise Invalid("say what happened", field="text")
    if run[f"{what}s"] >= MAX_NOTES:
        raise Quota(
            f"run {run['run']} has {MAX_NOTES} {what}s; it takes no more.", what=f"{what}s of one run", limit=MAX_NOTES
        )
    number = run["errors"] + run["warnings"] + 1
    run[f"{what}s"] += 1
    run["open_errors"] += what == ERROR
    put(tx, run)
    note = {"number": number, "what": what, "text": words, "by": call.agent, "at": tx.now, "handled": ""}
    tx.put(f"ue\t{run['run']}\t{number:06d}", note)
    tx.append("run.noted", call.agent, run["run"], {"what": what, "number": number, "text": words})
    return {"run": shown(tx, run), "noted": note_shown(tx, note)}


def note_shown(tx: Transaction, note: Record) -> dict[str, Any]:
    """An error or a warning, as people and programs see it."""
    found = {"number": note["number"], "text": note["text"], "by": note["by"], "at": iso(tx, note["at"])}
    if note["what"] == ERROR:
        found["handled"] = note["handled"] or None
    return found


def _handled(tx: Transaction, call: Call, request: RunHandledRequest) -> dict[str, Any]:
    """Mark an error as handled: the gates no longer count it."""
    number = request["number"]
    record = chosen(tx, request["run"])
    key = f"ue\t{record['run']}\t{number:06d}"
    note: Record | None = tx.get(key)
    if note is None or note["what"] != ERROR:
        raise NotFound(f"run {record['run']} has no error {number}; `dibs run show` lists them", number=number)
    words = request["how"].strip()
    if not words:
        raise Invalid("say how it was handled", field="how")
    if not note["handled"]:
        record["open_errors"] -= 1
        put(tx, record)
    if note["handled"] != words:
        note["handled"] = words
        tx.put(key, note)
        tx.append("run.handled", call.agent, record["run"], {"number": number, "how": words})
    return {"run": shown(tx, record), "noted": note_shown(tx, note)}


_CHOSEN = "the run (else DIBS_RUN, else the only active one)"
RUN = Field("run", "text", _CHOSEN, default="", env="DIBS_RUN", metavar="RUN")
RUN_FIRST = Field("run", "text", _CHOSEN, positional=True, default="", env="DIBS_RUN", metavar="RUN")
_TEXT = Field("text", "text", "what happened", positional=True, required=True, metavar="TEXT")
_ERRORS = (NotFound, Conflict, Invalid, Killed)

# Not in the catalogue: a worker sends it with its heartbeats.
USAGE = Operation(
    "run usage",
    _usage,
    "Store the usage of the caller's process.",
    sent_by=ANYWHERE,
    fields=(
        RUN,
        Field("cpu", "json", "percent of one core", default=0),
        Field("memory", "integer", "bytes", default=0),
        Field("threads", "integer", "how many", default=0),
    ),
    answer="RunUsageAnswer",
)

INTERNAL = (USAGE,)


def of_state(tx: Transaction, state: str, limit: int = MAX_RUNS_READ) -> tuple[list[Record], bool]:
    """The runs in one state, the oldest first; and whether there are more."""
    found: list[Record] = []
    after = ""
    while True:
        page = tx.scan(1, f"runs\t{state}\t", min(RUNS_PER_TRIP, limit - len(found) + 1), after)
        found += [record for _, _, record in page.rows]
        if len(found) > limit:
            return found[:limit], True
        if not page.truncated:
            return found, False
        after = page.rows[-1][0]


RUNS_PER_TRIP = 256


MAX_RUNS_LISTED = 1_000  # in one answer


OPERATIONS = (
    Operation(
        "run join",
        _join,
        "Take part in a run.",
        group="runs",
        fields=(
            RUN,
            Field("type", "text", "your agent type", default="", metavar="T"),
            Field("can", "words", "your capabilities", default=(), metavar="C,…"),
        ),
        errors=(*_ERRORS, Quota),
        may="worker", answer="RunJoinAnswer",
    ),
    Operation(
        "run phase",
        _phase,
        "Set the phase of a run.",
        group="runs",
        fields=(Field("phase", "choice", "its new phase", positional=True, required=True, choices=PHASES), RUN),
        errors=_ERRORS,
        may="agent", answer="RunPhaseAnswer",
    ),
    Operation(
        "run warn", _warn, "Record a warning in a run.",
        group="runs", fields=(_TEXT, RUN), errors=(*_ERRORS, Quota),
        may="worker", answer="RunNoteAnswer",
    ),
    Operation(
        "run error", _error, "Record an error in a run.",
        group="runs", fields=(_TEXT, RUN), errors=(*_ERRORS, Quota),
        may="worker", answer="RunNoteAnswer",
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
        errors=_ERRORS,
        may="agent", answer="RunNoteAnswer",
    ),
)  # fmt: skip
