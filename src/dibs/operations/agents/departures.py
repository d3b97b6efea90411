"""Departures: an agent leaves, is killed, or releases everything. In steps, if it holds much.

- success: each claim is released, voided or passed to the parent; its next waiter gets it in the same step.
- many claims: the first commit decides (the agent has left, is killed) and leaves a job (long_jobs.py), whose steps
  free everything within moments. Until a step reaches a claim, it is still held. Later claims of the agent are not
  touched.
- retry, crash: the job continues after its last step.
"""

from __future__ import annotations

from dibs.operations.claims import endings, resources
from dibs.operations.claims import records as claim_records
from dibs.operations.core import long_jobs
from dibs.operations.core.call import TOKEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict, Unpack

    from dibs.operations.claims.answers import ReleaseAnswer
    from dibs.operations.claims.endings import ReleaseFacts
    from dibs.operations.claims.records import Claim, Stored
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.records import DepartureJob
    from dibs.stores.seam import Transaction

    Begun = tuple[DepartureJob, list[str]]  # after its first step, and the jobs that are left

    class Terms(TypedDict, total=False):
        """On which terms the claims are given up: fields of the job."""

        to: str
        tied: bool
        commit: str
        request: list[str] | None

    class Left(TypedDict):
        """The job's part of the answer where an agent leaves."""

        released: list[str]
        passed: list[str]
        count: int

    class Voided(TypedDict):
        """The same where it is killed."""

        voided: list[str]
        count: int


LEFT, KILLED, RELEASED = "left", "killed", "released"
KINDS = (claim_records.CLAIM, claim_records.WAITER, claim_records.INTEREST)


def begin(tx: Transaction, by: str, agent: str, how: str, *, family: bool = False, **more: Unpack[Terms]) -> Begun:
    """Take the first step. The job has what was released, passed on or voided."""
    kinds = (claim_records.CLAIM,) if how == RELEASED else KINDS
    places = [entry for kind in kinds for entry in claim_records.index_entries(kind, agent, family=family)]
    job: DepartureJob = long_jobs.new(
        tx, "claims", by, agent=agent, how=how, places=places, after="", released=[], passed=[], **more
    )
    return job, long_jobs.begin(tx, job)


def begin_all(tx: Transaction, by: str, agents: Sequence[str]) -> Begun:
    """Take the first step of voiding what these agents and their subagents hold."""
    places = [
        entry for kind in KINDS for agent in agents for entry in claim_records.index_entries(kind, agent, family=True)
    ]
    job: DepartureJob = long_jobs.new(
        tx, "claims", by, agent="", how=KILLED, places=places, after="", released=[], passed=[]
    )
    return job, long_jobs.begin(tx, job)


def step(tx: Transaction, job: DepartureJob, room: int) -> int:
    """Give up to `room` records back."""
    used = 0
    freed: list[Resource] = []
    while used < room and job["places"]:
        page = tx.scan(1, job["places"][0], room - used, job["after"])
        left = len(page.rows)
        for entry, _, record in page.rows:
            if used >= room:
                break
            job["after"], left = entry, left - 1
            used += len(record["resources"])  # one record for each resource
            if record["since"] <= job["at"]:
                freed += _one(tx, job, record)
        used += not page.rows
        if not page.truncated and not left:
            job["places"], job["after"] = job["places"][1:], ""
    if job["how"] == RELEASED:
        endings.forget_losses(tx, job["agent"], freed)
    endings.serve(tx, freed)
    job["answer"] = _answer(job)
    return used if job["places"] else min(used, room - 1)


def _one(tx: Transaction, job: DepartureJob, record: Stored) -> list[Resource]:
    """Give one record up; returns the resources whose waiters may move up."""
    how = job["how"]
    if claim_records.is_interest(record):
        claim_records.remove(tx, record)
        tx.append("interest.ended", record["agent"], record["interest"], {"why": how})
        return []
    if claim_records.is_waiter(record):
        endings.drop_waiter(tx, record, how)
        return list(record["resources"])
    names = resources.shown(record["resources"])
    if how == KILLED:
        endings.end(tx, record, how)
        _note(job, job["released"], names)
    elif record["until"] <= tx.now:
        if how == RELEASED:  # expired, and not the caller's to release
            return []
        endings.end(tx, record, "expired")
    elif job.get("to"):
        _note(job, job["passed"], names)
        if _has_it(tx, job["to"], record):  # a second claim would say the same
            endings.give_back(tx, record, record["resources"], how)
            return list(record["resources"])
        move(tx, record, job["to"], how, tied=job["tied"])
        return []
    else:
        more: ReleaseFacts = {"commit": job.get("commit", ""), "request": job.get("request")}
        endings.give_back(tx, record, record["resources"], how, **more)
        _note(job, job["released"], names)
    return list(record["resources"])


def _has_it(tx: Transaction, agent: str, record: Claim) -> bool:
    """Has the agent a claim of its own on all of this, that counts as much? Then that one lasts as long as this.

    A hand-over that it has not picked up yet is none: that gets its own deadline, perhaps an earlier one, or ends.
    """
    if record["by"] == endings.BY_TASK:
        return False
    for own in claim_records.claims_of(tx, agent):
        if (
            resources.enough(own["mode"], record["mode"])
            and own["tree"] in {"", record["tree"]}
            and tx.now < own["until"]
            and not own["pending"]
            and record["until"] <= own["life"]
            and (not own.get("ends") or bool(record.get("ends")))
            and resources.all_covered(record["resources"], own["resources"])
        ):
            if own["until"] < record["until"]:
                own["until"], own["renewed"] = record["until"], tx.now
                claim_records.put(tx, own)
                tx.append("claim.renewed", agent, own["claim"], {"until": own["until"]})
            return True
    return False


def _note(job: DepartureJob, listed: list[str], names: list[str]) -> None:
    job["done"] += len(names)
    listed += names[: max(0, long_jobs.MAX_IDS_LISTED - len(listed))]


# --- the job's part of the answer: a limited list of names, and the total


def _answer(job: DepartureJob) -> ReleaseAnswer | Left | Voided:
    return voided(job) if job["how"] == KILLED else left(job) if job["how"] == LEFT else released(job)


def released(job: DepartureJob) -> ReleaseAnswer:
    """Where an agent releases everything."""
    return {"released": list(job["released"]), "count": job["done"]}


def left(job: DepartureJob) -> Left:
    """Where it leaves."""
    return {"released": list(job["released"]), "passed": list(job["passed"]), "count": job["done"]}


def voided(job: DepartureJob) -> Voided:
    """Where it is killed."""
    return {"voided": list(job["released"]), "count": job["done"]}


def move(tx: Transaction, claim: Claim, to: str, why: str, *, tied: bool) -> None:
    """Write the same claim under a new token, for another incarnation or for the parent of an agent that left."""
    before = claim["agent"]
    if to != before:  # else the same rows are written again
        claim_records.remove(tx, claim)
    claim["agent"], claim["token"], claim["pending"], claim["tied"] = to, TOKEN, False, tied
    claim_records.put(tx, claim)
    tx.append("claim.moved", before, claim["claim"], {"to": to, "token": TOKEN, "why": why})
    if claim["by"] == endings.BY_TASK and to != before:
        from dibs.operations.tasks import holders

        holders.follow(tx, claim)
