"""The driver: one rule for what follows an attempt, and its limits."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.client.driver import DECIDED, LOOK, MAX_ROUNDS, REPEAT, SLOW, Driver, StoreLink, next_step
from dibs.client.session import Session
from dibs.error_subtypes import Moved, Replaced
from dibs.errors import Conflict, Unavailable
from dibs.machine import processes
from dibs.operations.core.call import Continue, JobsLeft, NeedsFacts, RunCommand, Wait, process_name
from dibs.operations.core.long_jobs import RECORDS_PER_STEP
from dibs.server.host import Host
from dibs.server.identity import Identity
from dibs.server.requests import Requests
from dibs.stores.seam import Unsettled
from dibs.workspace import location

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Script:
    """A link whose attempts have these outcomes; an exception is raised."""

    def __init__(self, *outcomes: Any) -> None:
        self.outcomes = list(outcomes)
        self.attempts = 0

    def attempt(self, *_: object) -> Any:
        self.attempts += 1
        assert self.attempts <= 10 * MAX_ROUNDS, "it never ends"
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def recall(self, *_: object) -> bool:
        return False

    def close(self) -> None:
        pass


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    dibs.init(str(tmp_path))
    opened = Session(str(tmp_path), None)
    yield opened
    opened.close()


def driver(session: Session) -> Driver:
    return Driver(session.operation("claim"), session.identify("ann"), {})


@pytest.mark.parametrize(
    ("outcome", "error", "step"),
    [
        ({"claim": "c1"}, None, DECIDED),
        (None, None, DECIDED),
        (Conflict("no"), None, DECIDED),
        (Wait("w1", 10, {}), None, DECIDED),
        (RunCommand({}), None, DECIDED),  # type: ignore[typeddict-item]
        (Continue(), None, REPEAT),
        (JobsLeft({}, ["j1"]), None, SLOW),
        (None, NeedsFacts([]), LOOK),
        (None, Unsettled(), SLOW),
        (None, Moved("it was moved", moved="m1"), SLOW),
        (None, Replaced("it was replaced", replaced=True), SLOW),
        (None, Unavailable("it is full"), DECIDED),
        (None, ValueError(), DECIDED),
    ],
)
def test_an_attempt_is_decided_unless_the_rule_names_another_step(outcome: Any, error: Any, step: str) -> None:
    assert next_step(outcome, error) is step


def test_a_missing_fact_is_looked_up_before_the_next_attempt(session: Session) -> None:
    drive, own = driver(session), processes.this()
    link = Script(NeedsFacts([own]), {"claim": "c1"})
    assert drive.run(session, link) == {"claim": "c1"}
    assert (link.attempts, drive.call.facts) == (2, {process_name(own): True})


def test_an_operation_that_always_lacks_a_fact_ends_unavailable(session: Session) -> None:
    link = Script(NeedsFacts([]))
    with pytest.raises(Unavailable, match="could not determine which processes are alive"):
        driver(session).run(session, link)
    assert link.attempts == MAX_ROUNDS + 1


def test_work_in_parts_may_take_more_attempts_than_rounds(session: Session) -> None:
    link = Script(*[NeedsFacts([]), Continue()] * (2 * MAX_ROUNDS), {"renewed": []})
    assert driver(session).run(session, link) == {"renewed": []}


def test_what_cannot_be_mended_is_raised_at_once(session: Session) -> None:
    link = Script(Unavailable("it is full"))
    with pytest.raises(Unavailable, match="it is full"):
        driver(session).run(session, link)
    assert link.attempts == 1


def test_jobs_do_not_run_under_the_name_of_the_request_that_left_them(session: Session) -> None:
    """A server was lost, and its caller retries at the store: a step of the job is not taken for the request again."""
    children = [{"id": f"c{number}", "parent": "p", "title": "part"} for number in range(2 * RECORDS_PER_STEP)]
    tasks = [{"id": "p", "title": "all"}, *children]
    for some in (tasks[:RECORDS_PER_STEP], tasks[RECORDS_PER_STEP:]):
        session.run(session.operation("batch add"), session.identify("ann"), {"tasks": some})
    call = session.identify("ann")
    call.exchange = "c" * 32, 1, True
    answer = Driver(session.operation("task cancel"), call, {"id": "p"}).run(session, StoreLink())
    assert answer["count"] == len(tasks)
    assert call.exchange == ("c" * 32, 1, True)


def test_a_single_decision_that_finds_the_database_replaced_is_decided_in_the_new_one(tmp_path: Path) -> None:
    dibs.init(str(tmp_path))
    host = Host(location.find(str(tmp_path), None))
    requests = Requests(host)
    try:
        single = requests.begin(Identity(), "claim", {"resources": ["a.py"]}, agent="ann")
        assert single is not None
        path = host.store.address
        host.store.run(lambda tx: tx.append("opened", "ann", "", {}))
        os.rename(path, f"{path}.old")
        with open(f"{path}.old", "rb") as old, open(path, "wb") as new:
            new.write(old.read())
        ((outcome, error),) = host.store.run_many([single.decide])
        assert isinstance(error, Unavailable)
        assert single.end(outcome, error) is None
        assert single.complete(outcome, error)["ok"]
    finally:
        host.close()
