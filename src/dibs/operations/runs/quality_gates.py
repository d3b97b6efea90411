"""Quality gates of a run: checks at its set-up, during its execution and at its clean-up, which pass or fail.

Each is a small function of the store's content and of a few facts that only a door can know (can the store be written,
is the log intact, is the archive there). It returns "" or the reason why it fails. A gate stops nothing by itself; `run
end --strict` checks those that can be known before the end.
"""

from __future__ import annotations

from dibs.errors import Invalid, NotFound, counted, quoted
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.core.policy import MAX_DURATION_MS, MINUTE
from dibs.operations.runs import records, run_views, runs
from dibs.operations.tasks.lifecycle import COMPLETE, EXECUTING, FAILED, QUARANTINED
from dibs.operations.tasks.records import get_results

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.operations.claims.records import Claim
    from dibs.operations.core.call import Call
    from dibs.operations.runs.answers import GateView, RunGatesAnswer
    from dibs.operations.runs.records import Run
    from dibs.operations.runs.requests import RunGatesRequest
    from dibs.operations.tasks.records import Task
    from dibs.stores.seam import Transaction

    Gate = Callable[["View"], str]

SETUP, DURING, CLEANUP = "setup", "during", "cleanup"
TIMES = (SETUP, DURING, CLEANUP)
MAX_SILENT_PERIODS = 3  # after this many, a message that wants an acknowledgement counts as not delivered
DEFAULT_SILENCE_MS = 10 * MINUTE  # a task that reported nothing for this long is not tracked
MAX_MESSAGES_READ = 1_000  # of one agent
MAX_NAMED = 5  # tasks, agents or messages in a reason
NOT_CHECKED = "nobody looked"  # for facts that only a door can know


class View:
    """The facts for the gates, read once."""

    def __init__(self, tx: Transaction, call: Call, run: Run, facts: dict[str, str], within: int) -> None:
        self.tx, self.call, self.run, self.facts, self.within = tx, call, run, facts, within
        self.members = records.get_members(tx, run["run"])
        self.counted = run_views.Count()
        self.working: list[Task] = []
        self.failed: list[str] = []
        self.complete: list[Task] = []
        self.last_activity = max(run["since"], run["phases"][-1][1])
        for task in run_views.tasks(tx, run["run"]):
            self.counted.add(task)
            self.last_activity = max(self.last_activity, task["created"], task["started"], task["finished"])
            if task["state"] == EXECUTING:
                self.working.append(task)
            elif task["state"] in {FAILED, QUARANTINED}:
                self.failed.append(task["task"])
            elif task["state"] == COMPLETE and (task["result"] or task["require"]):
                self.complete.append(task)
        self.claims = self._claims()

    def _claims(self) -> dict[str, Claim | None]:
        """The claim of each running task; None if it has none, or only that of a dead process."""
        from dibs.operations.claims import endings
        from dibs.operations.tasks import holders

        claims = {task["task"]: holders.live_claim(self.tx, task) for task in self.working}
        live = [claim for claim in claims.values() if claim is not None]
        dead = {claim["claim"] for claim in endings.gone(self.tx, self.call, live)}
        return {name: None if claim is None or claim["claim"] in dead else claim for name, claim in claims.items()}


def _some(names: list[str]) -> str:
    """A few of these, and how many more."""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more


# --- set-up


def _is_active(view: View) -> str:
    return "" if view.run["state"] == records.ACTIVE else f"the run is {view.run['state']}"


def _store(view: View) -> str:
    return view.facts.get("store", NOT_CHECKED)


def _log(view: View) -> str:
    return view.facts.get("log", NOT_CHECKED)


def _has_agents(view: View) -> str:
    return "" if view.members else "no agent has joined; `dibs run join` registers one"


def _inboxes(view: View) -> str:
    from dibs.operations.messages.records import get_mailbox

    room = view.call.policy.work["messages"]["inbox"]
    full = [one["agent"] for one in view.members if get_mailbox(view.tx, one["agent"])["count"] >= room]
    return f"no room in the inbox of {_some(full)}" if full else ""


# --- during


def _agents(view: View) -> str:
    """An agent whose process is gone is accounted for once no task is in its name any more."""
    shown = run_views.with_states(view.tx, view.call, view.members, view.counted)
    lost = [one["agent"] for one in shown if one["state"] in {"gone", "killed"} and one["tasks"]]
    return f"{_some(lost)}: gone, and still named for tasks; `dibs sweep` returns them" if lost else ""


def _orphans(view: View) -> str:
    orphans = [name for name, claim in view.claims.items() if claim is None]
    return f"no live claim on {_some(orphans)}; `dibs sweep` returns them to the queue" if orphans else ""


def _messages(view: View) -> str:
    from dibs.operations.messages.records import messages_of

    late = []
    for member in view.members:
        for message in messages_of(view.tx, member["agent"], MAX_MESSAGES_READ):
            again = message.get("again", 0)
            if again and message["at"] + MAX_SILENT_PERIODS * again <= view.tx.now:
                late.append(f"{message['message']} to {message['to']}")
    return f"not acknowledged: {_some(late)}" if late else ""


def _tracked(view: View) -> str:
    if not view.working:
        return ""
    renewed = [claim["until"] - claim["ttl"] for claim in view.claims.values() if claim is not None]
    silence = view.tx.now - max([view.last_activity, *renewed])
    if silence <= view.within:
        return ""
    return f"no activity for {silence // 1000} s on {_some([task['task'] for task in view.working])}"


def _errors(view: View) -> str:
    said = []
    if view.failed:
        said.append(f"failed or quarantined: {_some(view.failed)}")
    if view.run["open_errors"]:
        number = view.run["open_errors"]
        said.append(f"{number} error{'s' * (number > 1)} not handled; `dibs run handled N HOW` says how")
    return "; ".join(said)


# --- clean-up


def _results(view: View) -> str:
    results = get_results(view.tx, [task["task"] for task in view.complete])
    missing = [name for name, result in results.items() if result is None]
    if missing:
        return f"no result of {_some(missing)}"
    return view.facts.get("results", "")


def _over(view: View) -> str:
    return counted(view.counted.open, "open task") if view.counted.open else ""


def _report(view: View) -> str:
    return view.facts.get("report", NOT_CHECKED)


def _archived(view: View) -> str:
    if not view.run["archive"] and not view.facts.get("archiving"):
        return f"no archive; `dibs run end --run {quoted(view.run['run'])} --archive` makes one"
    return view.facts.get("archive", NOT_CHECKED)


def _released(view: View) -> str:
    from dibs.operations.claims import resources

    claims = [("holds", claim) for claim in run_views.claims_for_run(view.tx, view.run)]
    waiters = [("waits for", waiter) for waiter in run_views.waiters_for_run(view.tx, view.run)]
    return _some([
        f"{record['agent']} {word} {', '.join(resources.shown(record['resources'])[:MAX_NAMED])}"
        for word, record in (*claims, *waiters)
    ])  # fmt: skip


GATES: tuple[tuple[str, str, Gate], ...] = (
    (SETUP, "the run is active", _is_active),
    (SETUP, "the store can be written", _store),
    (SETUP, "the log is intact", _log),
    (SETUP, "agents are registered", _has_agents),
    (SETUP, "inboxes have room", _inboxes),
    (DURING, "agents are there or accounted for", _agents),
    (DURING, "every task at work has a live claim", _orphans),
    (DURING, "messages are delivered", _messages),
    (DURING, "progress is tracked", _tracked),
    (DURING, "errors are handled", _errors),
    (CLEANUP, "all tasks are finished", _over),
    (CLEANUP, "results are there", _results),
    (CLEANUP, "the report can be made", _report),
    (CLEANUP, "the run is archived", _archived),
    (CLEANUP, "nothing is held or waited for", _released),
)
GATES_BEFORE_END = (_agents, _orphans, _messages, _errors, _results)  # those that can be checked before the end


def check(
    tx: Transaction,
    call: Call,
    run: Run,
    times: tuple[str, ...],
    facts: dict[str, str],
    within: int = DEFAULT_SILENCE_MS,
) -> list[GateView]:
    """Check the gates of these times."""
    view = View(tx, call, run, facts, within)
    return [_asked(view, at, name, gate) for at, name, gate in GATES if at in times]


def _asked(view: View, at: str, name: str, gate: Gate) -> GateView:
    why = gate(view)
    return {"name": name, "at": at, "passed": not why, "why": why}


def check_before_end(tx: Transaction, call: Call, run: Run) -> list[GateView]:
    """The gates that can be checked in the transaction that ends a run."""
    view = View(tx, call, run, {}, DEFAULT_SILENCE_MS)
    return [_asked(view, at, name, gate) for at, name, gate in GATES if gate in GATES_BEFORE_END]


def times_of(run: Run) -> tuple[str, ...]:
    """The gates that concern a run as it is."""
    return (SETUP, DURING) if run["state"] == records.ACTIVE else (CLEANUP,)


def _gates(tx: Transaction, call: Call, request: RunGatesRequest) -> RunGatesAnswer:
    """Which gates a run passes."""
    record = runs.chosen(tx, request["run"], reading=True)
    times = (request["at"],) if request["at"] else times_of(record)
    gates = check(tx, call, record, times, request["facts"] or {}, request["within"])
    failed = sum(not gate["passed"] for gate in gates)
    return {"run": runs.shown(tx, record), "gates": gates, "failed": failed}


OPERATIONS = (
    Operation(
        "run gates",
        _gates,
        "Check a run against its quality gates; exit code 1 if one fails.",
        group="runs",
        refuses="failed",
        fields=(
            runs.RUN_FIRST,
            Field("at", "choice", "which gates (default: those of its current state)", default="", choices=TIMES),
            Field(
                "within",
                "duration",
                "fail if a task showed no activity for this long (default 10m)",
                default=DEFAULT_SILENCE_MS,
                least=1,
                most=MAX_DURATION_MS,
                metavar="D",
            ),
            Field("facts", "texts", "what only a door can know", internal=True, sent_by=ANYWHERE),
        ),
        errors=(NotFound, Invalid),
        answer="RunGatesAnswer",
        around="gates",
        writes=False,
    ),
)
