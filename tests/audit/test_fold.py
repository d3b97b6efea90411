"""The fold of the log: each claim, wait and attempt is one agent's span, and every report says the same of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.audit.fold import PASSED, RELEASED, UNKNOWN, Fold, Listener, named
from dibs.audit.resource_map import Uses
from dibs.audit.statistics import Figures
from dibs.audit.story import Story
from dibs.stores.seam import read_event
from tests.audit.test_explain import story as told
from tests.audit.test_report import report
from tests.audit.test_stats import SEEDS, history
from tests.operations.fleet import WALL, Fleet

if TYPE_CHECKING:
    from dibs.audit.fold import ClaimSpan, TaskSpan
    from dibs.stores.seam import LogEvent

MINUTE = 60_000


class Record(Listener):
    """Everything that a listener is told, in its order."""

    def __init__(self) -> None:
        self.claims: list[ClaimSpan] = []
        self.waits: list[ClaimSpan] = []
        self.attempts: list[TaskSpan] = []
        self.stopped: list[tuple[str, str, str]] = []

    def claim_ended(self, span: ClaimSpan) -> None:
        self.claims.append(span)

    def wait_ended(self, span: ClaimSpan) -> None:
        self.waits.append(span)

    def attempt_ended(self, span: TaskSpan) -> None:
        self.attempts.append(span)

    def agent_stopped(self, agent: str, event: LogEvent, how: str) -> None:
        self.stopped.append((agent, how, event["kind"]))


def events(fleet: Fleet, after: int = 0) -> list[LogEvent]:
    return [read_event(event) for event in fleet.store.events(after, 100_000)]


def read(fleet: Fleet, *listeners: Listener, after: int = 0) -> Fold:
    fold = Fold(*listeners)
    fold.read_all(events(fleet, after))
    fold.close(fleet.now, fleet.now + WALL)
    return fold


def recorded(fleet: Fleet, after: int = 0) -> Record:
    record = Record()
    read(fleet, record, after=after)
    return record


def figures(fleet: Fleet, after: int = 0) -> Figures:
    made = Figures(0, fleet.now + WALL, 1)
    read(fleet, made, after=after)
    made.sort({})
    return made


def run_with_task(task: str = "t", **fields: Any) -> Fleet:
    fleet = Fleet()
    fleet.call("boss", "run start", name="a run", id="r1")
    fleet.call("boss", "task add", title="x", id=task, run="r1", **fields)
    return fleet


# --- claims


def test_a_claim_that_passes_is_one_span_of_each_holder_with_what_is_held_then() -> None:
    fleet = Fleet()
    fleet.call("ann", "boot")
    fleet.claim("ann/x", "a.py", "b.py")
    fleet.now += MINUTE
    fleet.release("ann/x", "b.py")
    fleet.now += MINUTE
    fleet.call("ann/x", "leave")
    fleet.now += MINUTE
    fleet.release("ann", "a.py")
    first, second = recorded(fleet).claims
    assert (first.agent, named(first.resources), named(first.held)) == ("ann/x", ["a.py", "b.py"], ["a.py"])
    assert (first.length, first.why) == (2 * MINUTE, PASSED)
    assert (second.agent, named(second.resources)) == ("ann", ["a.py"])
    assert (second.length, second.why) == (MINUTE, RELEASED)
    uses = Uses()
    read(fleet, uses)
    assert {name: sorted(row.agents) for name, row in uses.rows.items()} == {
        "a.py": ["ann", "ann/x"],
        "b.py": ["ann/x"],
    }
    assert told(fleet, "a.py")[-1] == "ann released a.py after 1m."


def test_another_process_of_the_same_agent_continues_its_span() -> None:
    fleet = Fleet()
    fleet.call("ann", "boot", client=1)
    fleet.claim("ann", "a.py", client=1)
    fleet.now += MINUTE
    fleet.call("ann", "boot", client=2)
    assert fleet.events("claim.moved")
    fleet.now += MINUTE
    (span,) = recorded(fleet).claims
    assert (span.agent, span.length, span.why) == ("ann", 2 * MINUTE, "")


def test_a_dead_process_that_held_many_claims_died_once() -> None:
    fleet = Fleet()
    fleet.call("ann", "boot", client=1)
    for name in ("a.py", "b.py", "c.py"):
        fleet.claim("ann", name, client=1)
    fleet.kill9(1)
    fleet.now += MINUTE
    fleet.claim("bob", "a.py", "b.py", "c.py")
    found = recorded(fleet)
    assert [span.why for span in found.claims].count("gone") == 3
    assert found.stopped == [("ann", "gone", "claim.ended")]


def test_what_a_lost_claim_held_is_marked_and_not_what_it_had_released_before() -> None:
    fleet = run_with_task()
    fleet.claim("ann", "a.py", "b.py")
    fleet.release("ann", "b.py")
    fleet.call("boss", "kill", agent="ann", why="it ran wild")
    story = Story(set())
    read(fleet, story)
    assert [text for _, agent, _, text in story.marks if agent == "ann"] == [
        "killed: it ran wild", "a.py was lost (killed)",
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(SEEDS))
def test_only_what_is_not_over_is_kept(seed: int) -> None:
    fleet = history(seed)
    fold = Fold()
    fold.read_all(events(fleet))
    live = fleet.call("boss", "status", limit=1000)
    assert len(fold.claims) >= len(live["claims"])
    assert all(span.why == "" for span in (*fold.claims.values(), *fold.waits.values(), *fold.attempts.values()))
    assert len(fold.attempts) == sum(task["state"] == "executing" for task in live["tasks"])


# --- waits


def test_an_agent_that_asked_again_and_kept_its_turn_gave_nothing_up() -> None:
    fleet = run_with_task()
    fleet.claim("ann", "a.py")
    for _ in range(2):
        fleet.claim("bob", "a.py", wait=10 * MINUTE)
        fleet.now += 2_000
    assert [event["data"]["why"] for event in fleet.events("wait.ended")] == ["again"]
    fleet.release("ann", "a.py")
    assert [span.gave_up for span in recorded(fleet).waits] == [False, False]
    assert figures(fleet).total.counts["gave_up"] == 0
    (row,) = report(fleet)["contention"]
    assert (row["waits"], row["gave_up"]) == (2, 0)


# --- attempts


def outcomes(fleet: Fleet, agent: str) -> tuple[dict[str, int], dict[str, int]]:
    """What the figures, and what the run's report, say of an agent's attempts."""
    names = ("lost", "returned", "retried", "failed", "quarantined", "cancelled", "passed")
    counts, rows = figures(fleet).agents[agent].counts, report(fleet)["by_agent"][agent]
    return {name: counts[name] for name in names if counts[name]}, {name: rows[name] for name in names if name in rows}


def test_the_attempt_of_a_killed_agent_is_lost_in_every_report() -> None:
    fleet = run_with_task()
    fleet.call("ann", "task claim", id="t")
    fleet.now += MINUTE
    fleet.call("boss", "kill", agent="ann", why="it ran wild")
    assert outcomes(fleet, "ann") == ({"lost": 1}, {"lost": 1})
    assert "ann lost task t after 1m (killed): it is planned again." in told(fleet, "task:t")


def test_a_last_attempt_that_is_lost_counts_as_quarantined_and_as_lost_also_by_kind() -> None:
    fleet = run_with_task(attempts=1)
    fleet.call("ann", "task claim", id="t", client=1)
    fleet.now += MINUTE
    fleet.kill9(1)
    fleet.call("boss", "sweep")
    made = figures(fleet)
    for totals in (made.total, made.agents["ann"], made.task_kinds["any"]):
        assert (totals.counts["quarantined"], totals.counts["lost"], totals.times["lost"]) == (1, 1, MINUTE)
    assert told(fleet, "task:t")[-1] == (
        "ann lost task t after 1m (gone): it is quarantined: no agent gets it."
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "fields", "outcome"),
    [
        ("task fail", {"class": "transient", "why": "killed"}, "retried"),
        ("task fail", {"class": "permanent", "why": "gone"}, "failed"),
        ("task cancel", {"why": "expired"}, "cancelled"),
    ],
)
def test_an_agent_s_own_words_are_no_loss_whatever_they_are(name: str, fields: dict[str, Any], outcome: str) -> None:
    fleet = run_with_task()
    fleet.call("ann", "task claim", id="t")
    fleet.call("boss" if name == "task cancel" else "ann", name, id="t", **fields)
    assert outcomes(fleet, "ann") == ({outcome: 1}, {outcome: 1})


def test_a_task_that_passes_is_an_attempt_of_each_agent() -> None:
    fleet = run_with_task()
    fleet.call("ann", "boot")
    fleet.call("ann/x", "task claim", id="t")
    fleet.now += 2 * MINUTE
    fleet.call("ann/x", "leave")
    fleet.now += MINUTE
    fleet.call("ann", "task done", id="t")
    assert [(span.agent, span.outcome, span.length) for span in recorded(fleet).attempts] == [
        ("ann/x", PASSED, 2 * MINUTE), ("ann", "complete", MINUTE),
    ]  # fmt: skip
    assert told(fleet, "task:t")[-1] == "ann completed task t after 1m."


def test_an_attempt_that_began_before_the_log_counts_where_it_ends_and_has_no_length() -> None:
    fleet = run_with_task()
    fleet.call("ann", "task claim", id="t")
    late = fleet.store.head().seq
    fleet.now += MINUTE
    fleet.call("ann", "task release", id="t")
    (span,) = recorded(fleet, late).attempts
    assert (span.agent, span.outcome, span.start) == ("ann", "returned", UNKNOWN)
    totals = figures(fleet, late).total
    assert (totals.counts["attempts"], totals.counts["returned"], totals.times["work"]) == (1, 1, 0)


def test_a_cancelled_task_that_nobody_had_is_no_attempt() -> None:
    fleet = run_with_task()
    fleet.call("boss", "task cancel", id="t", why="no")
    assert recorded(fleet).attempts == []
    counts = figures(fleet).total.counts
    assert (counts["cancelled"], counts["attempts"]) == (1, 0)


def test_a_guard_s_word_for_a_claim_refused_in_the_same_commit_is_no_second_refusal() -> None:
    made = Figures(0, 10, 1)
    refusal = {"agent": "bob", "subject": "a.py", "seq": 1, "now": 1, "wall": 1}
    data = {"code": "order", "resources": [["file", "a.py"]], "blockers": []}
    for kind, commit in (("claim.refused", 5), ("edit.refused", 5), ("edit.refused", 6)):
        event: Any = {**refusal, "kind": kind, "commit": commit, "data": data}
        Fold(made).read(event)
    assert made.total.counts["refused"] == 2
    assert (made.refusals["claim"], made.refusals["edit"]) == (1, 2)
