"""Verify on tasks and documents: true histories are clean, and each thing that cannot have happened is found.

The logs are forged as a wrong operation would write them: correctly linked, and saying something impossible.
"""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.errors import DibsError
from dibs.operations.tasks.lifecycle import MOVES, STATES
from dibs.stores.seam import COMMIT
from dibs.verify import reading
from dibs.verify import tasks as module
from dibs.verify.checker import verify_store
from tests.operations.fleet import Fleet
from tests.verify.test_verify import Log, Said, codes, ended, entry, found, granted, moved, pruned, released, sealed

if TYPE_CHECKING:
    from collections.abc import Iterable


def name(task: str) -> list[str]:
    return ["name", f"task:{task}"]


def added(task: str, agent: str = "ann", **other: Any) -> Said:
    return "task.added", agent, task, {"title": task, "state": "planned", **other}


def went(task: str, before: str, to: str, agent: str = "ann", **other: Any) -> Said:
    return "task.moved", agent, task, {"from": before, "to": to, **other}


def taken(task: str, agent: str = "ann", claim: str = "c1", **other: Any) -> list[Said]:
    """What taking a task writes."""
    return [
        granted(claim, agent, name(task), **other),
        went(task, "planned", "executing", agent, claim=claim, token=COMMIT),
    ]


def over(task: str, to: str, token: int | None, agent: str = "ann", claim: str = "c1", **other: Any) -> list[Said]:
    """What ending work by one's own word writes."""
    with_token = {"token": token} if token is not None else {}
    return [
        went(task, "executing", to, agent, **with_token, **other),
        released(claim, agent, name(task), why="done"),
    ]


def lost(task: str, to: str = "planned", claim: str = "c1", agent: str = "ann", why: str = "gone") -> list[Said]:
    return [ended(claim, why), went(task, "executing", to, agent, why=why)]


def passed(task: str, agent: str, claim: str) -> Said:
    return "task.passed", agent, task, {"claim": claim}


def document(key: str, version: int, **other: Any) -> Said:
    return "state.set", "ann", key, {"version": version, **other}


# --- what is right


def test_a_life_with_all_that_may_happen_is_clean() -> None:
    log = Log(
        [added("t", state="discovery")],
        [went("t", "discovery", "scoped")],
        [went("t", "scoped", "planned")],
        taken("t"),  # 4
        lost("t"),
        taken("t", "bob", "c2"),  # 6
        [went("t", "executing", "planned", "bob", token=6), released("c2", "bob", name("t"))],
        taken("t", "bob/x", "c3"),  # 8
        [moved("c3", "bob/x", "bob", "left"), passed("t", "bob", "c3")],  # 9
        [released("c3", "bob", name("t"), why="handover"), granted("c4", "cid", name("t")), passed("t", "cid", "c4")],
        [moved("c4", "cid", "cid", "boot")],  # 11: the same task under a new token
        over("t", "failed", 11, "cid", "c4"),
        [went("t", "failed", "planned")],
        taken("t", "cid", "c5"),  # 14
        lost("t", "quarantined", "c5", "cid"),
        [went("t", "quarantined", "cancelled")],
        [went("t", "cancelled", "planned")],
        taken("t", "cid", "c6"),  # 18
        [went("t", "executing", "cancelled", "ann"), ended("c6", "cancelled")],
        [went("t", "cancelled", "planned")],
        taken("t", "ann", "c7"),  # 21
        over("t", "complete", 21, "ann/sub", "c7"),
    )
    assert log.verify().findings == []


def test_finishing_one_and_taking_the_next_in_one_commit_is_clean() -> None:
    log = Log([added("a"), added("b")], taken("a"), [*over("a", "complete", 2), *taken("b", "ann", "c2")])
    assert log.verify().findings == []


# --- adding


def test_a_task_added_twice_is_found() -> None:
    assert found([added("t")], [added("t")]) == ["task"]
    assert found([added("t")], taken("t"), over("t", "complete", 2), [added("t")]) == ["task"]


def test_a_task_may_be_added_again_after_its_run_was_purged_and_only_then() -> None:
    called_off = went("u", "planned", "cancelled")
    begun = [[added("t", run="r")], [added("u", run="r"), called_off], taken("t"), over("t", "complete", 3)]
    gone: Said = ("run.purged", "ann", "r", {})
    assert found(*begun, [gone], [added("t", run="r2")], [added("u")], taken("u", "bob", "c2")) == []
    assert found(*begun, [added("v", run="s")], [gone], [added("v")]) == ["task"]
    assert found(*begun, [gone], [went("t", "executing", "complete", token=3)]) == ["finished_twice"]
    again = went("u", "cancelled", "planned")  # it was planned again in time, and stays when the others go
    assert found(*begun, [again], [gone], taken("u", "bob", "c2"), over("u", "complete", 7, "bob", "c2")) == []
    assert found(*begun, [gone], [went("u", "cancelled", "planned")]) == ["task"]


def test_a_task_begins_where_a_task_may_begin() -> None:
    for state in STATES:
        right = state in {"discovery", "scoped", "planned"}
        assert found([added("t", state=state)]) == ([] if right else ["task_state"]), state


@pytest.mark.parametrize("said", [went("t", "planned", "scoped"), passed("t", "ann", "c1")])
def test_what_happens_to_a_task_that_was_never_added_is_found_once(said: Said) -> None:
    assert "task" in found([granted("c1", "ann", name("t"))], [said])
    assert found([granted("c1", "ann", name("t"))], [said], [said])[0] == "task"


# --- moving


@pytest.mark.parametrize("to", STATES)
@pytest.mark.parametrize("before", STATES)
def test_every_pair_of_states_is_a_way_or_a_finding(before: str, to: str) -> None:
    way = {
        "discovery": [], "scoped": [], "planned": [], "executing": [taken("t")],
        "complete": [taken("t"), over("t", "complete", 2)], "failed": [taken("t"), over("t", "failed", 2)],
        "quarantined": [taken("t"), lost("t", "quarantined")], "cancelled": [[went("t", "planned", "cancelled")]],
    }[before]  # fmt: skip
    first = added("t", state=before if before in {"discovery", "scoped"} else "planned")
    step = {
        "executing": taken("t", "bob", "c9") if before == "planned" else [went("t", before, "executing", claim="c9")],
        "complete": [went("t", before, to, token=2)],
        "failed": [went("t", before, to, token=2)],
    }.get(to, [went("t", before, to)])
    findings = found([first], *way, step)
    if to in MOVES[before]:
        assert findings == []
    elif before == "complete":
        assert findings == (["finished_twice"] if to == "complete" else ["task_state"])
    else:
        assert findings == ["task_state"]


def test_a_move_from_a_state_that_the_task_was_not_in_is_found_and_the_next_is_held_to_it() -> None:
    assert found([added("t")], [went("t", "scoped", "discovery")]) == ["task_state"]
    assert found([added("t")], [went("t", "scoped", "discovery")], [went("t", "discovery", "scoped")]) == ["task_state"]


def test_states_that_there_are_not_are_found() -> None:
    assert found([added("t")], [went("t", "planned", "asleep")]) == ["task_state"]
    assert found([added("t", state="asleep")]) == ["task_state"]


# --- at work means a live claim


def test_a_task_taken_without_a_claim_is_found() -> None:
    assert found([added("t")], [went("t", "planned", "executing", claim="c1", token=COMMIT)]) == ["task_claim"]


def test_a_task_taken_under_a_claim_that_had_ended_is_found() -> None:
    step = went("t", "planned", "executing", claim="c1", token=1)
    assert found([granted("c1", "ann", name("t")), added("t")], [ended("c1", "gone")], [step]) == ["task_claim"]


def test_a_claim_on_something_else_is_not_a_claim_on_the_task() -> None:
    step = went("t", "planned", "executing", claim="c1", token=COMMIT)
    assert found([added("t")], [granted("c1", "ann", name("u")), step]) == ["task_claim"]
    assert found([added("t")], [granted("c1", "ann", ["file", "task:t"]), step]) == ["task_claim"]
    assert found([added("t")], [granted("c1", "ann", name("t"), mode="read"), step]) == ["task_claim"]


def test_a_claim_of_another_agent_is_found() -> None:
    step = went("t", "planned", "executing", "bob", claim="c1", token=COMMIT)
    assert found([added("t")], [granted("c1", "ann", name("t")), step]) == ["task_claim"]


def test_a_token_that_is_not_the_claims_is_found_when_a_task_is_taken() -> None:
    step = went("t", "planned", "executing", claim="c1", token=7)
    assert found([added("t")], [granted("c1", "ann", name("t")), step]) == ["task_claim"]


def test_a_claim_past_its_deadline_is_no_claim() -> None:
    step = went("t", "planned", "executing", claim="c1", token=COMMIT)
    assert found([added("t")], [granted("c1", "ann", name("t"), until=2_000), step]) == ["task_claim"]


@pytest.mark.parametrize("end", [ended("c1", "gone"), ended("c1", "killed"), released("c1", "ann", name("t"))])
def test_a_task_that_stays_at_work_when_its_claim_ends_is_found(end: Said) -> None:
    assert found([added("t")], taken("t"), [end]) == ["task_claim"]
    assert found([added("t")], taken("t"), [end], [added("u")]) == ["task_claim"]
    assert found([added("t")], taken("t"), [end], [went("t", "executing", "planned")]) == ["task_claim"]
    assert found([added("t")], taken("t"), [end, went("t", "executing", "planned")]) == []


def test_a_task_passed_on_without_a_claim_is_found() -> None:
    end = released("c1", "ann", name("t"), why="handover")
    assert found([added("t")], taken("t"), [end, passed("t", "bob", "c2")]) == ["task_claim"] * 2
    right = [end, granted("c2", "bob", name("t"), via="handover"), passed("t", "bob", "c2")]
    assert found([added("t")], taken("t"), right) == []
    assert found([added("t")], [passed("t", "bob", "c2")])[0] == "task_state"


# --- finishing


def test_a_late_finish_is_found() -> None:
    """Its claim had ended and the task was somebody else's."""
    late = went("t", "executing", "complete", "ann", token=2)
    assert found([added("t")], taken("t"), lost("t"), taken("t", "bob", "c2"), [late]) == ["task_token"]


@pytest.mark.parametrize("to", ["complete", "failed"])
def test_a_finish_without_a_token_or_with_another_is_found(to: str) -> None:
    for token in (None, 1, 3, "2"):
        assert found([added("t")], taken("t"), over("t", to, token)) == ["task_token"]  # type: ignore[arg-type]
    assert found([added("t")], taken("t"), over("t", to, 2)) == []


def test_a_finish_under_the_token_from_before_a_boot_is_found() -> None:
    log = [[added("t")], taken("t"), [moved("c1", "ann", "ann", "boot")]]
    assert found(*log, over("t", "complete", 2)) == ["task_token"]
    assert found(*log, over("t", "complete", 3)) == []


def test_a_finish_past_the_deadline_is_found() -> None:
    log = Log([added("t")], taken("t", until=10_000))
    assert codes(log.commit(*over("t", "complete", 2), after=8_000).verify()) == ["task_token"]
    log = Log([added("t")], taken("t", until=10_000))
    assert codes(log.commit(*over("t", "complete", 2), after=7_999).verify()) == []


def test_a_finish_by_a_stranger_is_found() -> None:
    step = [went("t", "executing", "complete", "bob", token=2), released("c1", "ann", name("t"))]
    assert found([added("t")], taken("t"), step) == ["stranger"]


def test_giving_back_under_another_token_is_found() -> None:
    assert found([added("t")], taken("t"), over("t", "planned", 1)) == ["task_token"]
    assert found([added("t")], taken("t"), over("t", "quarantined", 1)) == ["task_token"]


def test_a_task_completed_twice_is_found_however_many_came_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "RUN_IDS", 4)
    log = Log()
    for number in range(40):
        log.commit(added(f"t{number}"))
        log.commit(*taken(f"t{number}", claim=f"c{number}"))
        log.commit(*over(f"t{number}", "complete", log.head.commit, claim=f"c{number}"))
    assert log.verify().ok
    for number in (0, 17, 39):
        log.commit(went(f"t{number}", "executing", "complete", token=2))
    assert codes(log.verify()) == ["finished_twice"] * 3


def test_one_request_that_adds_or_ends_a_task_in_two_commits_is_found() -> None:
    again: Any = {"request": ["task add", "r1#0"]}
    assert found([added("t", **again), added("u", **again)]) == []
    assert found([added("t", **again)], [added("u", **again)]) == ["two_effects"]
    assert found([added("t", **again)], [added("u", "bob", **again)]) == []


# --- what is not known


def test_behind_a_seal_the_first_that_is_heard_of_a_task_is_believed_and_then_it_is_held_to_it() -> None:
    def cut() -> Log:
        log = Log([added("t"), added("u"), added("v")], taken("t"), taken("u", "bob", "c2"))
        seal = log.seal(entry("c1", "ann", 2, name("t")), entry("c2", "bob", 3, name("u")), token=3)
        log.commit(sealed(seal))
        log.commit(pruned(seal.seq))
        log.events = [event for event in log.events if event.seq > seal.seq]
        return log

    assert codes(cut().verify()) == []
    assert codes(cut().commit(*over("t", "complete", 2)).commit(*lost("u", claim="c2", agent="bob")).verify()) == []
    assert codes(cut().commit(went("v", "planned", "scoped")).commit(*taken("v")).verify()) == [
        "granted_twice", "task_state",
    ]  # fmt: skip
    assert codes(cut().commit(*over("t", "complete", 3)).verify()) == ["task_token"]  # u's token
    twice = cut().commit(*over("t", "complete", 2)).commit(went("t", "executing", "complete", token=2))
    assert codes(twice.verify()) == ["finished_twice"]
    assert codes(cut().commit(went("x", "planned", "executing", claim="c7", token=6)).verify()) == ["task_claim"]


def test_after_an_event_that_cannot_be_read_what_follows_is_believed() -> None:
    broken: Said = ("task.moved", "ann", "t", {"to": "executing"})
    assert found([added("t")], [broken], over("t", "complete", 2)) == ["malformed"]
    assert found([added("t")], [broken], [went("t", "failed", "planned")]) == ["malformed"]


@pytest.mark.parametrize(
    "said",
    [
        ("task.added", "ann", "t", {"state": 7}), ("task.added", "ann", "t", {"run": []}),
        ("task.moved", "ann", "t", None), ("task.moved", "ann", "t", {"from": "planned"}),
        ("task.moved", "ann", "t", {"from": "planned", "to": ["x"]}), ("task.passed", "ann", "t", {}),
        ("state.set", "ann", "k", {"version": "1"}), ("state.set", "ann", "k", {}),
        ("task.added", "ann", "t", {"request": "r"}),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_a_finding_and_never_an_error(said: Said) -> None:
    first = (
        [added("t"), went("t", "planned", "executing", claim="c1", token=COMMIT)] if said[0] == "task.passed" else []
    )
    assert "malformed" in found([granted("c1", "ann", name("t")), *first, said])


# --- documents


def test_versions_that_rise_by_one_are_clean_and_a_deleted_document_goes_on_counting() -> None:
    assert found(*[[document("k", number)] for number in range(1, 5)]) == []
    assert found([document("k", 1)], [document("k", 2, deleted=True)], [document("k", 3)]) == []


@pytest.mark.parametrize("versions", [(2,), (0,), (1, 1), (1, 3), (1, 2, 1), (-1,)])
def test_versions_that_do_not_are_found(versions: Iterable[int]) -> None:
    assert found(*[[document("k", version)] for version in versions]) == ["version"]


def test_a_deleted_document_does_not_begin_again_below_its_version() -> None:
    gone = [[document("k", 1)], [document("k", 2, deleted=True)]]
    assert found(*gone, [document("k", 1)]) == ["version"]
    assert found(*gone, [document("k", 2)]) == ["version"]
    assert found(*gone, [document("k", 4)]) == ["version"]
    assert found([document("k", 1, deleted=True)]) == ["version"]  # it was not there


def test_a_forgotten_document_goes_on_above_all_that_were_deleted() -> None:
    deep = [[document("deep", 1)], [document("deep", 2)], [document("deep", 3, deleted=True)]]
    assert found(*deep, [document("k", 4)]) == []
    assert found(*deep, [document("k", 1)]) == []
    assert found(*deep, [document("k", 5)]) == ["version"]


def test_only_so_many_deleted_documents_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_DELETED_VERSIONS", 3)
    log = Log()
    for number in range(8):
        log.commit(document(f"k{number}", 1)).commit(document(f"k{number}", 2, deleted=True))
    assert log.verify().ok
    assert codes(log.commit(document("k7", 2)).verify()) == ["version"]
    assert codes(log.commit(document("k0", 3)).verify()) == ["version"]


# --- true histories


class History:
    """Agents that work, badly; whatever they are answered, the log must be clean."""

    def __init__(self) -> None:
        self.fleet = Fleet(ttl=30_000)
        self.taken: list[tuple[str, int]] = []
        self.pids, self.numbers = itertools.count(10), itertools.count()
        self.clients: dict[str, int] = {}

    def call(self, agent: str, name: str, /, **fields: Any) -> Any:
        return self.fleet.call(agent, name, client=self.clients.get(agent), **fields)

    def any(self, number: int) -> dict[str, Any]:
        """A task that somebody took, and a token that was true once."""
        task, token = self.taken[number % len(self.taken)] if self.taken else ("t0", 1)
        return {"id": task, "token": token}

    def add(self, agent: str, number: int) -> None:
        after = [f"t{number % 5}"] if number % 4 == 1 else []
        request = f"r{number}" if number % 3 == 0 else ""
        self.call(agent, "task add", title="x", id=f"t{next(self.numbers)}", after=after, request=request)

    def next(self, agent: str, number: int) -> None:
        self.took(self.call(agent, "task next", request=f"r{number}" if number % 3 == 0 else ""))

    def took(self, answer: Any) -> None:
        self.taken.append((answer["task"]["id"], answer["token"]))

    def done(self, agent: str, number: int) -> None:
        answer = self.call(agent, "task done", **self.any(number), next=number % 2 == 0)
        if answer.get("next"):
            self.took(answer["next"])

    def fail(self, agent: str, number: int) -> None:
        kind = ("transient", "permanent")[number % 2]
        self.call(agent, "task fail", **self.any(number), why="bad", **{"class": kind})

    def give(self, agent: str, number: int) -> None:
        self.call(agent, "task release", **self.any(number))

    def cancel(self, agent: str, number: int) -> None:
        self.call(agent, "task cancel", id=self.any(number)["id"])

    def move(self, agent: str, number: int) -> None:
        self.call(agent, "task move", id=self.any(number)["id"], state=STATES[number % len(STATES)])

    def split(self, agent: str, number: int) -> None:
        self.call(agent, "task split", **self.any(number), children=[{"title": "part"}])

    def kill(self, agent: str, number: int) -> None:
        why = {"why": "mad"} if number % 2 else {}
        self.call("boss", "kill" if number % 2 else "revive", agent=agent, **why)

    def hand(self, agent: str, number: int) -> None:
        self.call(agent, "release", all=True, to=("bob", "cid")[number % 2])

    def boot(self, agent: str, number: int) -> None:
        if number % 2:
            self.clients[agent] = next(self.pids)
        self.call(agent, "boot")

    def die(self, agent: str, _: int) -> None:
        if agent in self.clients:
            self.fleet.kill9(self.clients.pop(agent))

    def time(self, _: str, number: int) -> None:
        self.fleet.now += 1 + number * 100

    def quiet(self, agent: str, number: int) -> None:
        self.call(agent, ("leave", "sweep", "seal")[number % 3])

    def document(self, agent: str, number: int) -> None:
        fields = {"key": f"k{number % 2}", "version": number % 4}
        if number % 3:
            self.call(agent, "state set", value=number, **fields)
        else:
            self.call(agent, "state delete", **fields)


WHAT = ("add", "next", "done", "fail", "give", "cancel", "move", "split", "kill", "hand", "boot", "die", "time",
        "quiet", "document")  # fmt: skip
STEP = st.tuples(st.sampled_from(WHAT), st.sampled_from(("ann", "bob", "ann/one", "cid")), st.integers(0, 400))


@given(st.lists(STEP, max_size=60))
def test_whatever_agents_do_the_log_is_clean(steps: list[tuple[str, str, int]]) -> None:
    history = History()
    for number in (0, 2, 3):
        history.add("ann", number)
    for what, agent, number in steps:
        with contextlib.suppress(DibsError):
            getattr(history, what)(agent, number)
    report = verify_store(history.fleet.store)
    assert report.ok, report.findings
