"""A dry run of the kill switch: in one transaction that is always given up, so nobody is killed and nothing is kept.

A probe agent claims something and is killed by a person; then its claim must be void, and its next call refused, also
one that needs no other decision. The
same is tried with every agent that holds something now. All of it is the code of `dibs kill`, on the workspace's own
record.
"""

from __future__ import annotations

from dibs.errors import DibsError, Killed, Unavailable
from dibs.machine import processes
from dibs.operations.agents.stops import STOPPED
from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import Call, JobsLeft, NeedsFacts, process_name
from dibs.operations.core.entry import perform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.client.session import Session
    from dibs.operations.claims.records import Claim
    from dibs.operations.core.declare import Operation
    from dibs.stores.seam import Json, Transaction

PROBE, PERSON = "dibs-check-probe", "dibs-check-person"
RESOURCE = "dibs-check:probe"
WHY = "a dry run of dibs check"
MAX_AGENTS = 50  # holders that are tried
ROUNDS = 64  # times that facts about processes may be asked for


class Given(Exception):
    """How the drill ended: raised to give its transaction up."""

    def __init__(self, wrong: dict[str, str], voided: int) -> None:
        super().__init__("a dry run")
        self.wrong, self.voided = wrong, voided


def drill(session: Session, holders: Sequence[str]) -> tuple[dict[str, str], int]:
    """Try to kill a probe and these agents; what went wrong for which, and how many claims would be void."""
    facts: dict[str, bool | None] = {}
    tried = list(holders[:MAX_AGENTS])
    for _ in range(ROUNDS):
        try:
            session.store.run(lambda tx: _play(tx, session, tried, facts))
        except Given as given:
            return given.wrong, given.voided
        except NeedsFacts as need:
            facts.update({process_name(process): processes.alive(process) for process in need.processes})
    raise Unavailable(NeedsFacts.UNSETTLED)


def _play(tx: Transaction, session: Session, holders: Sequence[str], facts: dict[str, bool | None]) -> None:
    def act(who: str, operation: Operation, how: str = "", /, **fields: object) -> Json:
        call = Call(session.config.policy, agent=who, identified_by=how)
        call.facts.update(facts)
        try:
            return perform(tx, call, operation, fields)
        except DibsError as error:
            return error

    probe = session.paths.canonical(RESOURCE, session.cwd)
    act(PROBE, session.operation("boot"))
    act(PROBE, session.operation("claim"), resources=[probe])  # a role may forbid it; then it has nothing in hand
    wrong: dict[str, str] = {}
    voided = sum(len(_live(tx, agent)) for agent in holders)
    for agent in (PROBE, *holders):
        done = act(PERSON, session.operation("kill"), "user", agent=agent, why=WHY)
        if isinstance(done, DibsError):
            wrong[agent] = done.message
        elif _live(tx, agent) and not isinstance(done, JobsLeft):
            wrong[agent] = "it would keep its claims"
        else:
            calls = (act(agent, session.operation("claim"), resources=[probe]), act(agent, STOPPED))
            if not all(isinstance(answer, Killed) for answer in calls):
                wrong[agent] = "its next call would not be refused"
    raise Given(wrong, voided)


def _live(tx: Transaction, agent: str) -> list[Claim]:
    return [claim for claim in claim_records.claims_of(tx, agent) if claim["until"] > tx.now]
