"""What the core stores: answers to request ids and to servers' connections, and jobs. Nothing is decided here.

The hook of an edit loads none of it: entry.py imports this file for a call with a request id or through a server.
"""

from __future__ import annotations

from dibs.operations.core.call import due
from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NotRequired, TypedDict

    from dibs.operations.core.call import Call
    from dibs.stores.seam import Json, Range, Transaction

    class Answered(TypedDict):
        """The outcome of a request: one of the two."""

        result: NotRequired[Json]  # its answer
        error: NotRequired[list[Json]]  # its refusal: code, text, facts

    class RequestAnswer(Answered):
        """The outcome of a call that had a request id."""

        digest: str  # of operation and fields: the same id for another request is an error
        until: int  # ms: then it is forgotten

    class Exchange(Answered):
        """The last request of a server's connection."""

        n: int  # its number on the connection
        until: int  # ms: then it is forgotten
        taken: NotRequired[bool]  # a retry has its answer
        recalled: NotRequired[bool]  # its caller has gone: a run of it changes nothing

    class Job(TypedDict):
        """A job: what all kinds have."""

        job: str  # its id
        kind: str
        by: str  # the agent whose call it is
        at: int  # ms: when it was decided
        done: int  # records that it has reached
        names: list[str]  # the first of them
        answer: Json  # its part of the operation's answer
        touched: NotRequired[int]  # ms: its last step

    class UnblockJob(Job):
        """`unblock`: the tasks that waited for a complete one wait for one less."""

        task: str

    class CancellingJob(Job):
        """A job that cancels tasks, each with all below it."""

        why: str

    class CancelJob(CancellingJob):
        """`cancel`: one task."""

        task: str

    class MembersJob(CancellingJob):
        """A job that walks the tasks of a race or a run."""

        after: str  # the key of the last one; "" before the first

    class RaceJob(MembersJob):
        """`race`: the tasks of a race but the first that finished."""

        race: str
        winner: str

    class RunEndJob(MembersJob):
        """`run end`: the tasks of a run are cancelled (with `force`), or have to be over."""

        run: str
        force: bool
        keep: int  # ms that the run is kept

    class DepartureJob(Job):
        """`claims`: what an agent holds is released, voided or passed on."""

        agent: str  # "" for all that were killed together
        how: str  # left, killed or released
        places: list[str]  # what the index entries begin with that are still to be read
        after: str  # the last entry below the first of them
        released: list[str]  # the first ones; of a killed agent those that are void
        passed: list[str]
        to: NotRequired[str]  # the parent that gets the claims
        tied: NotRequired[bool]  # as in a claim
        commit: NotRequired[str]
        request: NotRequired[list[str] | None]  # operation and request id

    class PurgeJob(Job):
        """`run purge`: an ended run and its tasks are deleted."""

        run: str

    class FinishedJob(TypedDict):
        """What is left of a job: its part of the answer, for a late caller."""

        job: str  # its id
        done: int  # records that it reached
        answer: Json
        until: int  # ms: then it is forgotten


# --- keys


def request_key(call: Call, operation: str) -> str:
    """The answer to a request id."""
    return f"q\t{call.agent}\t{operation}\t{call.request}"


def exchange_key(connection: str) -> str:
    """The last answer to a request that came through a server's connection."""
    return f"x\t{connection}"


def job_key(job: str) -> str:
    """A job: long work that is done in steps."""
    return f"j\t{job}"


def finished_job_key(job: str) -> str:
    """The answer of a finished job."""
    return f"jd\t{job}"


RUNNING_JOBS: Range = prefix_range(job_key(""))


# --- reading and writing


def put_request_answer(tx: Transaction, key: str, answer: RequestAnswer) -> None:
    """Write the outcome of a call under the key of its request id."""
    tx.put(key, answer, i2=due(answer["until"]))


def get_exchange(tx: Transaction, connection: str) -> Exchange | None:
    """The last request of a connection."""
    exchange: Exchange | None = tx.get(exchange_key(connection))
    return exchange


def put_exchange(tx: Transaction, connection: str, exchange: Exchange) -> None:
    """Write the last request of a connection."""
    tx.put(exchange_key(connection), exchange, i2=due(exchange["until"]))


def get_running_jobs(tx: Transaction, limit: int) -> list[Job]:
    """Some jobs that are not finished."""
    return [job for _, job in tx.fetch([RUNNING_JOBS], limit).rows]


def get_job(tx: Transaction, job: str) -> tuple[Job | None, FinishedJob | None]:
    """A job by its id: what runs, and what is left of a finished one."""
    running, finished = tx.get_many([job_key(job), finished_job_key(job)]).values()
    return running, finished


def put_job(tx: Transaction, job: Job) -> None:
    """Write a job; it lies before all due tasks."""
    from dibs.operations.tasks.records import later_job

    tx.put(job_key(job["job"]), job, i2=later_job(job["job"]))


def finish_job(tx: Transaction, job: FinishedJob) -> None:
    """Replace a job by what is left of it."""
    tx.delete(job_key(job["job"]))
    tx.put(finished_job_key(job["job"]), job, i2=due(job["until"]))
