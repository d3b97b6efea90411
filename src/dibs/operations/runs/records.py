"""What is stored of runs: each run, its members, its errors and warnings. Nothing is decided here.

A run's tasks have rows of their own (`run_prefix` in tasks/records.py), so that finishing one never writes the run.
"""

from __future__ import annotations

from dibs.operations.core.call import due
from dibs.stores.seam import prefix_range, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final, Literal, NotRequired, TypedDict

    from dibs.operations.agents.records import Worker
    from dibs.stores.seam import Transaction

    PhaseChange = tuple[str, int, str]  # the new phase, ms, the agent that set it; a list once it is stored

    class RunArchive(TypedDict):
        """The archive of a run."""

        file: str  # below .dibs/local/
        sha256: str
        size: int  # bytes

    class Run(TypedDict):
        """A run: one operation of a fleet."""

        run: str  # its id
        operation: str  # what the fleet does
        coordinator: str  # the agent that started it
        since: int  # ms: its start
        wall: int  # ms: the same by the wall clock
        seq: int  # the last event before its start
        state: Literal["active", "ended"]
        phase: str  # one of runs.PHASES
        phases: list[PhaseChange]  # the last ones; the log has them all
        errors: int  # how many were noted
        warnings: int
        open_errors: int  # errors that are not handled
        spec: str  # its source: a file's digest or name
        ended: int  # ms; 0 before
        ended_by: str  # the agent
        last_seq: int  # the last event before its end; 0 before
        until: int  # ms: when it is purged; 0 while it is not over
        archive: RunArchive | None
        ending: NotRequired[str]  # the job that is ending it
        purged: NotRequired[int]  # tasks that were deleted already

    class Use(TypedDict):
        """What a process used."""

        cpu: float  # percent of one core
        memory: int  # bytes
        threads: int

    class LatestUse(Use):
        """What a process used at a time."""

        at: int  # ms

    class Member(Worker):
        """An agent's part in a run."""

        agent: str
        joined: int  # ms
        pid: int | None  # of its process
        usage: LatestUse | None
        peak: Use | None  # the maximum of each figure

    class RunNote(TypedDict):
        """An error or a warning of a run."""

        number: int  # from 1; errors and warnings are counted together
        what: Literal["error", "warning"]
        text: str
        by: str  # the agent that noted it
        at: int  # ms
        handled: str  # how an error was handled; "" before


ACTIVE: Final = "active"
ENDED: Final = "ended"
MAX_RUNS_LISTED = 1_000  # in one answer


# --- keys


def run_key(run: str) -> str:
    """A run."""
    return f"u\t{run}"


def member_key(run: str, agent: str) -> str:
    """An agent's part in a run, and its usage."""
    return f"ua\t{run}\t{agent}"


def _note_key(run: str, number: int) -> str:
    """An error or a warning of a run."""
    return f"ue\t{run}\t{number:06d}"


def _member_prefix(run: str) -> str:
    return f"ua\t{run}\t"


def _note_prefix(run: str) -> str:
    return f"ue\t{run}\t"


def in_state(state: str) -> str:
    """The entries of the runs in one state in the first index: by their start."""
    return f"runs\t{state}\t"


# --- runs


def get_run(tx: Transaction, run: str) -> Run | None:
    """A run by its id."""
    record: Run | None = tx.get(run_key(run))
    return record


def put_run(tx: Transaction, run: Run) -> None:
    """Write a run, where lists and, once it has ended, the sweep find it."""
    entry = f"{in_state(run['state'])}{run['since']:015d}\t{run['run']}"
    tx.put(run_key(run["run"]), run, entry, due(run["until"]) if run["until"] else None)


def delete_run(tx: Transaction, run: str, limit: int) -> None:
    """Delete a run with its members and notes, of each at most `limit`."""
    for prefix in (_member_prefix(run), _note_prefix(run)):
        for key, _ in tx.fetch([prefix_range(prefix)], limit).rows:
            tx.delete(key)
    tx.delete(run_key(run))


def runs_in_state(tx: Transaction, state: str, limit: int) -> list[Run]:
    """The first runs in one state, the oldest first."""
    return [run for _, _, run in tx.scan(1, in_state(state), limit).rows]


def active_runs(tx: Transaction, limit: int = MAX_RUNS_LISTED) -> list[Run]:
    """The active runs, the oldest first."""
    return runs_in_state(tx, ACTIVE, limit)


# --- members


def get_member(tx: Transaction, run: str, agent: str) -> Member | None:
    """An agent's part in a run."""
    member: Member | None = tx.get(member_key(run, agent))
    return member


def get_members(tx: Transaction, run: str) -> list[Member]:
    """The agents that joined a run, by id."""
    return [member for _, member in walk(tx, _member_prefix(run))]


def runs_joined(tx: Transaction, runs: Iterable[Run], agent: str) -> list[Run]:
    """Those of these runs that an agent has joined."""
    keys = {member_key(run["run"], agent): run for run in runs}
    members = tx.get_many(list(keys))
    return [run for key, run in keys.items() if members[key] is not None]


def has_members(tx: Transaction, run: str, number: int) -> bool:
    """Has a run at least that many members?"""
    return len(tx.fetch([prefix_range(_member_prefix(run))], number).rows) >= number


def put_member(tx: Transaction, run: str, member: Member) -> None:
    """Write an agent's part in a run."""
    tx.put(member_key(run, member["agent"]), member)


# --- errors and warnings


def get_note(tx: Transaction, run: str, number: int) -> RunNote | None:
    """An error or a warning of a run."""
    note: RunNote | None = tx.get(_note_key(run, number))
    return note


def get_notes(tx: Transaction, run: str, limit: int) -> list[RunNote]:
    """The errors and warnings of a run, in order."""
    return [note for _, note in tx.fetch([prefix_range(_note_prefix(run))], limit).rows]


def put_note(tx: Transaction, run: str, note: RunNote) -> None:
    """Write an error or a warning of a run."""
    tx.put(_note_key(run, note["number"]), note)
