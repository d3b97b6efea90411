"""The data of a report: the run's records from the store, joined with its part of the log.

One snapshot for the records, one walk through the log from the run's start to its end. The answer is a plain value and
the same for the same run: the times of an ended run depend on its start, not on the day of the report.
"""

from __future__ import annotations

from dibs import jsontext
from dibs.audit import timeline
from dibs.audit.fold import FINAL, Fold, TaskSpan
from dibs.audit.log_walk import kind_of
from dibs.audit.story import Story
from dibs.client.log_reader import LogReader
from dibs.errors import counted, named
from dibs.machine import clock
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.operations.runs import quality_gates, records, run_views, runs
from dibs.operations.tasks.outcomes import NOT_DONE_KEY
from dibs.operations.tasks.records import get_results
from dibs.stores.seam import KEYS_PER_FETCH, read_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from typing import NotRequired, TypedDict

    from dibs.audit.fold import Beginning
    from dibs.audit.report_answers import (
        ReportedAgent,
        ReportedContention,
        ReportedPhase,
        ReportedRun,
        ReportedTask,
        ReportPerformance,
        ReportSummary,
        ReportTimeline,
        RunReportAnswer,
    )
    from dibs.audit.requests import RunReadRequest
    from dibs.client.session import Session
    from dibs.operations.core.call import Call
    from dibs.operations.runs.answers import GateView, RunMemberDetail, Usage
    from dibs.operations.runs.answers import RunNote as RunNoteView
    from dibs.operations.runs.records import Member, Run, RunNote, Use
    from dibs.operations.tasks.answers import TaskError as TaskErrorView
    from dibs.operations.tasks.records import Task, TaskError
    from dibs.stores.seam import Json, LogEvent, Transaction

    class Mover(TypedDict):
        """An agent that set a phase."""

        agent: str
        name: NotRequired[str]

    class RunSnapshot(TypedDict):
        """All records that belong to a run."""

        run: Run
        tasks: list[Task]
        results: dict[str, Json]  # by task; long ones are cut
        members: list[Member]
        agents: list[RunMemberDetail]
        errors: list[RunNote]
        warnings: list[RunNote]
        gates: list[GateView]
        movers: NotRequired[list[Mover]]  # a server of an earlier version has none
        now: int  # ms: its end, else the time of the snapshot
        last: int  # the last event of the log


ENDED = "run.ended"
PAGE_EVENTS = 2_000  # read at a time
MAX_RESULT_LETTERS = 2_000  # of one result in the report; the archive and `dibs task show` have all of it
MAX_RESULTS_LETTERS = 4 * 1024 * 1024  # of all results together
MAX_TASKS = 20_000  # listed one by one
MAX_RESOURCES = 100  # listed one by one
MAX_AGENT_TASKS = 100  # ids of an agent's finished tasks


def _read(tx: Transaction, call: Call, request: RunReadRequest) -> RunSnapshot:
    """All records that belong to a run, in one snapshot."""
    record = runs.chosen(tx, request["run"], reading=True)
    name = record["run"]
    found = list(run_views.tasks(tx, name))
    counted = run_views.counted(found)
    members = records.get_members(tx, name)
    ended = record["state"] == records.ENDED
    times = quality_gates.TIMES[2:] if ended else quality_gates.times_of(record)
    return {
        "run": record, "tasks": found, "results": _results(tx, found), "members": members,
        "agents": run_views.with_states(tx, call, members, counted),
        "errors": run_views.notes(tx, name, runs.ERROR),
        "warnings": run_views.notes(tx, name, runs.WARNING),
        "gates": quality_gates.check(tx, call, record, times, request["facts"] or {}),
        "movers": [{"agent": by} for by in dict.fromkeys([by for _, _, by in record["phases"]])],
        "now": record["ended"] if ended else tx.now, "last": tx.tail().seq,
    }  # fmt: skip


def _results(tx: Transaction, tasks: list[Task]) -> dict[str, Json]:
    """The results of tasks, as far as they fit: long ones are cut and marked."""
    kept: dict[str, Json] = {}
    room = MAX_RESULTS_LETTERS
    names = [task["task"] for task in tasks if task["result"]]
    for start in range(0, len(names), KEYS_PER_FETCH):  # a page at a time: all of them may not fit into memory
        for name, value in get_results(tx, names[start : start + KEYS_PER_FETCH]).items():
            text = jsontext.encode(value)
            cut = len(text) > MAX_RESULT_LETTERS or room <= 0
            begins = text[: MAX_RESULT_LETTERS // 10] if room > 0 else ""
            kept[name] = {"cut": True, "letters": len(text), "begins": begins} if cut else value
            if cut and isinstance(value, dict) and NOT_DONE_KEY in value:
                kept[name][NOT_DONE_KEY] = value[NOT_DONE_KEY]
            room -= min(len(text), MAX_RESULT_LETTERS)
    return kept


# Read only by the report.
READ = Operation(
    "run read",
    _read,
    "Read all that belongs to a run.",
    sent_by=ANYWHERE,
    fields=(runs.RUN, Field("facts", "texts", "facts that only a door can know")),
    writes=False,
)

INTERNAL = (READ,)


def events(log: LogReader, run: Run, last: int, wanted: Container[str] | None = None) -> Iterator[LogEvent]:
    """The events of a run, or those of the wanted kinds, in order: from its start up to its end or to `last`."""
    after = run["seq"]
    while True:
        page = log.events(after, PAGE_EVENTS)
        for stored in page:
            after = stored.seq
            if after > last:
                return
            kind = kind_of(stored)
            if wanted is None or kind in wanted or kind == ENDED:
                event = read_event(stored)
                yield event
                if kind == ENDED and event["subject"] == run["run"]:
                    return
        if len(page) < PAGE_EVENTS:
            return


class Gathered:
    """A run's records and its story; `report` makes a plain value of them."""

    def __init__(self, session: Session, call: Call, run: str, facts: dict[str, str]) -> None:
        self.log = LogReader(session, call)
        self.raw: RunSnapshot = session.run(READ, call, {"run": run, "facts": facts})
        self.run = self.raw["run"]
        self.start, self.end = self.run["since"], self.raw["now"]
        self.counted = run_views.counted(self.raw["tasks"])
        self.titles = {task["task"]: task["title"] for task in self.raw["tasks"]}
        self.story = Story(set(self.titles))
        self.first = next((event.seq for event in self.log.events(self.run["seq"], 1)), 0)
        fold = Fold(self.story)
        fold.read_all(self.events(fold.kinds))
        fold.close(self.end, 0)
        self._fill_in()

    def events(self, wanted: Container[str] | None = None) -> Iterator[LogEvent]:
        """The events of the run, or those of some kinds, also if they were archived."""
        return events(self.log, self.run, self.raw["last"], wanted)

    def _fill_in(self) -> None:
        """Tasks whose work is no longer in the log: their records have its end."""
        known = {span.id for span in self.story.attempts}
        for task in self.raw["tasks"]:
            if task["started"] and task["task"] not in known:
                began: Beginning = {"subject": task["task"], "now": task["started"], "wall": 0, "seq": 0}
                span = TaskSpan(task["agent"], began)
                span.end = task["finished"] or self.end
                span.outcome = FINAL.get(task["state"], "returned")
                self.story.attempts.append(span)

    def at(self, when: int) -> str:
        """A time of the store's clock as a time of day, by the clocks at the run's start."""
        return clock.iso(self.run["wall"] + when - self.start)

    def report(self) -> RunReportAnswer:
        """The report."""
        by_agent = self._by_agent()
        left = len(self.raw["tasks"]) - MAX_TASKS
        notes = []
        if self.first > self.run["seq"] + 1:
            notes.append(
                f"the log before event {self.first} is not on this machine: earlier work is known from the records only"
            )
        if left > 0:
            notes.append(f"{counted(left, 'task')} not listed one by one")
        hidden = len(self.story.contention) - MAX_RESOURCES
        if hidden > 0:
            notes.append(f"{counted(hidden, 'resource')} with less contention left out")
        return {
            "run": self._run(), "summary": self._summary(by_agent), "performance": self._performance(),
            "by_agent": by_agent, "by_task": {task["task"]: self._task(task) for task in self.raw["tasks"][:MAX_TASKS]},
            "errors": [self._note(note) for note in self.raw["errors"]],
            "warnings": [self._note(note) for note in self.raw["warnings"]], "phases": self._phases(),
            "contention": self._contention(), "timeline": self._timeline(by_agent), "gates": self.raw["gates"],
            "notes": notes,
        }  # fmt: skip

    def _run(self) -> ReportedRun:
        run = self.run
        view: ReportedRun = {
            "id": run["run"], "operation": run["operation"], "coordinator": run["coordinator"], "state": run["state"],
            "phase": run["phase"], "started_at": self.at(self.start), "as_of": self.at(self.end),
            "progress": self.counted.progress,
        }  # fmt: skip
        # a read puts the names next to the ids, here and below
        if name := run.get("coordinator_name"):
            view["coordinator_name"] = str(name)
        if run["ended"]:
            view.update({"ended_at": self.at(run["ended"]), "ended_by": run["ended_by"]})
            if name := run.get("ended_by_name"):
                view["ended_by_name"] = str(name)
        if run["spec"]:
            view["spec"] = run["spec"]
        return view

    def _summary(self, by_agent: dict[str, ReportedAgent]) -> ReportSummary:
        states = self.counted.states
        return {
            "total": self.counted.total, "complete": states.get("complete", 0), "failed": states.get("failed", 0),
            "cancelled": states.get("cancelled", 0), "quarantined": states.get("quarantined", 0),
            "open": self.counted.open, "agents_used": sum(1 for agent in by_agent.values() if agent["attempts"]),
            "total_time": _seconds(self.end - self.start),
            "work_time": round(sum(agent["work_time"] for agent in by_agent.values()), 3),
        }  # fmt: skip

    def _performance(self) -> ReportPerformance:
        times = sorted(span.length for span in self.story.attempts if span.outcome == "complete")
        states = self.counted.states
        done = states.get("complete", 0)
        tried = done + states.get("failed", 0) + states.get("quarantined", 0)
        elapsed = (self.end - self.start) / 1000
        return {
            "throughput": round(done / elapsed, 3) if elapsed > 0 else None,
            "success_rate": round(done / tried, 4) if tried else None,
            "average_time": round(sum(times) / len(times) / 1000, 3) if times else None,
            "p95_time": _seconds(times[-(-95 * len(times) // 100) - 1]) if times else None,
            "attempts": len(self.story.attempts),
        }  # fmt: skip

    def _by_agent(self) -> dict[str, ReportedAgent]:
        """What each agent did: agents that joined, and agents that worked without joining."""
        agents: dict[str, ReportedAgent] = {}
        for member in self.raw["agents"]:
            agent = agents[member["agent"]] = _idle(member["type"], member["can"])
            agent.update({"state": member["state"], "pid": member["pid"], "assigned": member["tasks"]})
        for part in self.raw["members"]:
            usage = part["usage"]
            agents[part["agent"]].update({
                "joined_at": self.at(part["joined"]), "peak": _peak(part["peak"]),
                "usage": {**usage, "at": self.at(usage["at"])} if usage else None,
            })  # fmt: skip
        work_ms: dict[str, int] = {}
        for span in self.story.attempts:
            agent = agents.setdefault(span.agent, _idle("", []))
            agent["attempts"] += 1
            agent[span.outcome] = agent.get(span.outcome, 0) + 1
            work_ms[span.agent] = work_ms.get(span.agent, 0) + span.length
            if span.outcome == "complete" and len(agent["tasks"]) < MAX_AGENT_TASKS:
                agent["tasks"].append(span.id)
        for name, length in work_ms.items():
            agents[name]["work_time"] = _seconds(length)
        return dict(sorted(agents.items()))

    def _task(self, task: Task) -> ReportedTask:
        view: ReportedTask = {
            "title": task["title"], "state": task["state"], "agent": task["agent"] or None,
            "failures": task["failures"], "losses": task["losses"],
        }  # fmt: skip
        if task["started"]:
            view["started_at"] = self.at(task["started"])
        if task["finished"]:
            view["finished_at"] = self.at(task["finished"])
            if task["started"]:
                view["time"] = _seconds(task["finished"] - task["started"])
        if task["parent"]:
            view["parent"] = task["parent"]
        if task["error"]:
            view["error"] = self._error(task["error"])
        if task["task"] in self.raw["results"]:
            view["result"] = self.raw["results"][task["task"]]
            if isinstance(view["result"], dict) and view["result"].get(NOT_DONE_KEY):
                view["not_done"] = view["result"][NOT_DONE_KEY]
        if task["used"]:
            view["used"] = {**task["used"]}
        return view

    def _error(self, error: TaskError) -> TaskErrorView:
        view: TaskErrorView = {
            "class": error["class"], "why": error["why"], "at": self.at(error["at"]), "agent": error["agent"]
        }  # fmt: skip
        if name := error.get("name"):
            view["name"] = str(name)
        return view

    def _note(self, note: RunNote) -> RunNoteView:
        view: RunNoteView = {
            "number": note["number"], "text": note["text"], "by": note["by"], "at": self.at(note["at"])
        }  # fmt: skip
        if name := note.get("by_name"):
            view["by_name"] = str(name)
        if note["handled"]:
            view["handled"] = note["handled"]
        return view

    def _phases(self) -> list[ReportedPhase]:
        moves = self.run["phases"]
        ends = [*[at for _, at, _ in moves[1:]], self.end]
        called = {mover["agent"]: named(mover) for mover in self.raw.get("movers", ())}
        return [
            {
                "phase": phase, "at": self.at(at), "by": by, "by_name": called.get(by, by),
                "from": _seconds(at - self.start), "time": _seconds(end - at),
            }
            for (phase, at, by), end in zip(moves, ends, strict=True)
        ]  # fmt: skip

    def _contention(self) -> list[ReportedContention]:
        order = sorted(
            self.story.contention.items(),
            key=lambda item: (-item[1].refusals - item[1].waits, -item[1].longest, item[0]),
        )
        return [
            {
                "resource": name, "refusals": contention.refusals, "waits": contention.waits,
                "gave_up": contention.gave_up, "longest_wait": _seconds(contention.longest),
                "total_wait": _seconds(contention.total),
            }
            for name, contention in order[:MAX_RESOURCES]
        ]  # fmt: skip

    def _timeline(self, by_agent: dict[str, ReportedAgent]) -> ReportTimeline:
        """The timeline; claims of agents that have no part in the run are left out."""
        agents = [*by_agent, self.run["coordinator"]]
        drawn = timeline.draw(self.story, self.title, agents, self.start, self.end)
        return {"from": self.at(self.start), "to": self.at(self.end), **drawn}

    def title(self, task: str) -> str:
        """A task's title."""
        return str(self.titles.get(task, ""))


def _seconds(ms: int) -> float:
    return round(max(0, ms) / 1000, 3)


def _peak(use: Use | None) -> Usage | None:
    return {"cpu": use["cpu"], "memory": use["memory"], "threads": use["threads"]} if use else None


def _idle(kind: str, can: list[str]) -> ReportedAgent:
    """An agent that has done nothing yet."""
    return {"type": kind, "can": can, "attempts": 0, "complete": 0, "tasks": [], "work_time": 0.0}
