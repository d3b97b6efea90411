"""Carrying on: an outcome names jobs that take more than one transaction; this loops until they are done.

The steps are decided in operations/core/long_jobs.py. Between two steps this sleeps for a moment, so that the callers
who wait for the store come first. Interrupted or killed here, the job stays and another process continues it.
"""

from __future__ import annotations

from dibs.machine import clock
from dibs.operations.core.long_jobs import CONTINUE, MIN_RECORDS_PER_STEP, RECORDS_PER_STEP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session
    from dibs.operations.core.call import Answer, Call, JobsLeft

PAUSE_S = 0.005  # between two steps: longer than others need to enter
LONG_MS = 50  # a step that took longer is followed by a smaller one: others wait for it
TELL_EVERY_MS = 1_000


def carry_on(session: Session, call: Call, outcome: JobsLeft) -> Answer:
    """Finish the jobs of an outcome; returns its answer with what they add. Tells a person how far it is."""
    answer: Answer = outcome.answer
    # both belong to the operation that left the jobs
    request, call.request = call.request, ""
    via, call.exchange = call.exchange, None
    told, room = clock.since_boot(), RECORDS_PER_STEP
    try:
        for job in outcome.jobs:
            while True:
                began = clock.since_boot()
                step = session.run(CONTINUE, call, {"job": job, "room": room})
                room = (
                    min(RECORDS_PER_STEP, room * 2)
                    if clock.since_boot() - began <= LONG_MS
                    else max(MIN_RECORDS_PER_STEP, room // 2)
                )
                if not step["more"]:
                    answer.update(step["answer"])
                    break
                if clock.since_boot() - told >= TELL_EVERY_MS:
                    told = clock.since_boot()
                    session.door.announce(f"{step['done']} done so far")
                clock.sleep(PAUSE_S)
        return answer
    finally:
        call.request, call.exchange = request, via
