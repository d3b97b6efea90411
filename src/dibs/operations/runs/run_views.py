"""Views of runs: the list, the progress, the agents and their usage.

Everything here is computed when asked, from the run's tasks, its agents' rows and its notes. Nothing is decided or
written.
"""

from __future__ import annotations

from dibs.errors import Invalid, NotFound
from dibs.operations.agents.records import get_agents
from dibs.operations.core import paging
from dibs.operations.core.call import iso
from dibs.operations.core.declare import PAGED, Operation
from dibs.operations.runs import members, records, runs
from dibs.operations.tasks import lifecycle
from dibs.operations.tasks.lifecycle import CANCELLED, COMPLETE, EXECUTING, PLANNED
from dibs.operations.tasks.records import run_prefix, tasks_below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dibs.operations.claims.records import Claim, Waiter
    from dibs.operations.core.call import Call
    from dibs.operations.runs.answers import (
        RunDetail,
        RunListAnswer,
        RunMemberDetail,
        RunProgress,
        RunProgressAnswer,
        RunShowAnswer,
        TaskCounts,
    )
    from dibs.operations.runs.records import Member, Run, RunNote
    from dibs.operations.runs.requests import RunListRequest, RunProgressRequest, RunShowRequest
    from dibs.operations.tasks.records import Task
    from dibs.stores.seam import Json, Transaction

MAX_NOTES_SHOWN = 20  # the latest errors and warnings in one answer; the report has them all
MAX_RECORDS_READ = 100_000  # claims, or waiters, of a workspace: more than there ever are
MAX_TASKS_SHOWN = 20  # ids of an agent's tasks in one answer


# --- what there is


def tasks(tx: Transaction, run: str) -> Iterator[Task]:
    """The tasks of a run, by id."""
    return tasks_below(tx, run_prefix(run))


def notes(tx: Transaction, run: str, what: str, last: int = 0) -> list[RunNote]:
    """A run's errors or warnings in order; with `last`, only the last ones."""
    chosen = [note for note in records.get_notes(tx, run, 2 * runs.MAX_NOTES) if note["what"] == what]
    return chosen[-last:] if last else chosen


# --- how far it is


class Count:
    """A run's tasks, counted in one walk: by state, with their progress and their agents."""

    def __init__(self) -> None:
        self.states: dict[str, int] = {}
        self.total = self.points = 0
        self.assigned: dict[str, list[str]] = {}  # the tasks that an agent works on, or is assigned
        self.finished: dict[str, int] = {}

    def add(self, task: Task) -> None:
        """Count one task."""
        state = task["state"]
        self.states[state] = self.states.get(state, 0) + 1
        self.total += 1
        self.points += lifecycle.points_of(task)
        if state == COMPLETE:
            self.finished[task["agent"]] = self.finished.get(task["agent"], 0) + 1
        elif state == EXECUTING:
            self.assigned.setdefault(task["agent"], []).append(task["task"])
        elif state == PLANNED and task["assigned"]:
            self.assigned.setdefault(task["assigned"]["agent"], []).append(task["task"])

    @property
    def progress(self) -> int:
        """From 0 to 100: complete tasks, and executing ones by their progress, of all that were not cancelled."""
        meant = self.total - self.states.get(CANCELLED, 0)
        return self.points // meant if meant else 0

    @property
    def open(self) -> int:
        """The number of open tasks."""
        return sum(number for state, number in self.states.items() if state not in lifecycle.FINAL_STATES)

    def shown(self) -> TaskCounts:
        """The number of tasks, and of those in each state."""
        states = {state: self.states[state] for state in lifecycle.STATES if state in self.states}
        counts: Json = {"total": self.total, **states}
        typed: TaskCounts = counts
        return typed


def counted(tasks: Iterable[Task]) -> Count:
    """These tasks, counted."""
    count = Count()
    for task in tasks:
        count.add(task)
    return count


def count(tx: Transaction, run: str) -> Count:
    """Read and count a run's tasks."""
    return counted(tasks(tx, run))


def _progress(tx: Transaction, call: Call, request: RunProgressRequest) -> RunProgressAnswer:
    """The progress of a run."""
    record = runs.chosen(tx, request["run"], reading=True)
    return {"run": _described(tx, record, count(tx, record["run"]))}


def _described(tx: Transaction, run: Run, counted: Count) -> RunProgress:
    return {
        **runs.shown(tx, run),
        "progress": counted.progress,
        "tasks": counted.shown(),
        "errors": [runs.note_shown(tx, note) for note in notes(tx, run["run"], runs.ERROR, MAX_NOTES_SHOWN)],
        "warnings": [runs.note_shown(tx, note) for note in notes(tx, run["run"], runs.WARNING, MAX_NOTES_SHOWN)],
    }


# --- list and show


def _list(tx: Transaction, call: Call, request: RunListRequest) -> RunListAnswer:
    """All runs, active ones first."""
    sections = [(paging.INDEX, records.in_state(state), None) for state in (records.ACTIVE, records.ENDED)]
    page = paging.read(tx, sections, paging.check_limit(request["limit"]), request["after"])
    return {"runs": [runs.shown(tx, run) for run in page.records], "more": page.more, "cursor": page.cursor}


def _show(tx: Transaction, call: Call, request: RunShowRequest) -> RunShowAnswer:
    """One run with its agents, their tasks and their usage."""
    record = runs.chosen(tx, request["run"], reading=True)
    counted = count(tx, record["run"])
    detail: RunDetail = {
        **_described(tx, record, counted),
        "phases": [{"phase": phase, "at": iso(tx, at), "by": by} for phase, at, by in record["phases"]],
        "agents": with_states(tx, call, records.get_members(tx, record["run"]), counted),
    }
    return {"run": detail}


def with_states(tx: Transaction, call: Call, parts: list[Member], counted: Count) -> list[RunMemberDetail]:
    """A run's agents, with their states and tasks."""
    from dibs.operations.agents import presence

    known = get_agents(tx, [member["agent"] for member in parts])
    call.know([agent["process"] for agent in known.values() if agent is not None])
    views: list[RunMemberDetail] = []
    for member in parts:
        name = member["agent"]
        agent = known[name]
        views.append({
            **members.shown(tx, member),
            "state": presence.shown(tx, call, agent)["state"] if agent is not None else "unknown",
            "tasks": counted.assigned.get(name, [])[:MAX_TASKS_SHOWN],
            "finished": counted.finished.get(name, 0),
        })  # fmt: skip
    return views


def claims_for_run(tx: Transaction, run: Run) -> list[Claim]:
    """The live claims for a run.

    They name the run or one of its tasks as their purpose, or are on `run:ID`; roles do not count.
    """
    from dibs.operations.claims import records as claim_records

    return [claim for claim in claim_records.all_claims(tx, MAX_RECORDS_READ)[0] if is_for(tx, run, claim)]


def waiters_for_run(tx: Transaction, run: Run) -> list[Waiter]:
    """The live waiters for a run, in the same sense."""
    from dibs.operations.claims import records as claim_records

    return [waiter for waiter in claim_records.all_waiters(tx, MAX_RECORDS_READ)[0] if is_for(tx, run, waiter)]


def is_for(tx: Transaction, run: Run, record: Claim | Waiter) -> bool:
    """Is this live claim, or waiter, for that run?"""
    if record["until"] <= tx.now or any(one[1].startswith(ROLE_PREFIX) for one in record["resources"]):
        return False
    name = f"run:{run['run']}"
    meant = any(one[0] == "name" and (one[1] == name or one[1].startswith(f"{name}/")) for one in record["resources"])
    return meant or bool(record["task"] and _of_run(tx, run["run"], record["task"]))


ROLE_PREFIX = "role:"  # claims on these names are not for one run


def _of_run(tx: Transaction, run: str, task: str) -> bool:
    """Is this the run itself, or one of its tasks?"""
    if task == run:
        return True
    if not task.isprintable():  # a person's text, not an id
        return False
    return tx.get(run_prefix(run) + task) is not None


OPERATIONS = (
    Operation(
        "run progress",
        _progress,
        "Show how far a run is.",
        group="runs",
        fields=(runs.RUN_FIRST,),
        errors=(NotFound, Invalid),
        answer="RunProgressAnswer",
        writes=False,
    ),
    Operation("run list", _list, "List the runs.", group="runs", fields=PAGED, answer="RunListAnswer", writes=False),
    Operation(
        "run show",
        _show,
        "Show one run with its agents.",
        group="runs",
        fields=(runs.RUN_FIRST,),
        errors=(NotFound, Invalid),
        answer="RunShowAnswer",
        writes=False,
    ),
)
