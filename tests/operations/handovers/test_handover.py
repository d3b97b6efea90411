"""Hand-overs: an agent's claims, task and unfinished files pass in one transaction, and the first holder is fenced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.errors import Deadlock, DibsError, Fenced, Forbidden, Held, Invalid, Killed, NotFound
from dibs.operations.core.policy import Policy
from dibs.operations.handovers.offers import OFFER_MS
from tests.operations.crew import MINUTE, Crew
from tests.operations.engines import OnEngine
from tests.operations.fleet import OTHER_TREE, TREE, guards

OLD, NEW = 10, 20  # processes
PERSON = "person"
FILES = [[TREE, "x.py"], [TREE, "y.py"]]


@pytest.fixture
def crew() -> Iterator[Crew]:
    made = Crew()
    yield made
    made.clean()


def at_work(crew: Crew) -> tuple[int, int]:
    """An agent with a task and a file, and another one; the tokens of the first."""
    crew.call("old", "boot", client=OLD)
    crew.call("new", "boot", client=NEW)
    crew.add("docker", key="once")
    task = crew.take("docker", "old", client=OLD)
    token = crew.claim("old", "x.py", reason="the image", client=OLD)["token"]
    return task, token


def hand(crew: Crew, to: str = "new", **fields: Any) -> Any:
    return crew.call(PERSON, "handover", agent="old", to=to, **{"files": FILES, **fields})


def test_claims_task_and_unfinished_files_pass_at_once_and_the_first_is_fenced(on_engine: OnEngine) -> None:
    crew = on_engine(Crew())
    task, token = at_work(crew)
    crew.call("bob", "send", to="old", text="mind the cache")
    events = len(crew.events())
    answer = hand(crew, note="tests are red")
    made = crew.events("handover.made")
    assert [event["commit"] for event in crew.events()[events:]] == [made[0]["commit"]] * len(crew.events()[events:])
    assert {(claim["agent"], text) for claim in answer["claims"] for text in claim["resources"]} == {
        ("new", "task:docker"), ("new", "x.py"), ("new", "y.py"),
    }  # fmt: skip
    assert all(claim["token"] > token for claim in answer["claims"])
    assert (answer["tasks"], [one["path"] for one in answer["files"]]) == (["docker"], ["x.py", "y.py"])
    shown = crew.show("docker")
    assert (shown["agent"], shown["attempt"], shown["key"]) == ("new", 1, "once")
    ((kind, text),) = crew.told("new")
    assert kind == "handover"
    for word in ("tests are red", "task docker", "x.py, y.py", "`dibs diff old`", "mind the cache"):
        assert word in text
    late_calls: list[Callable[[], Any]] = [
        lambda: crew.done("docker", task, "old", client=OLD),
        lambda: crew.call("old", "confirm", resource="x.py", token=token, client=OLD),
        lambda: crew.call("old", "renew", resources=["x.py"], client=OLD),
        lambda: crew.release("old", "x.py", client=OLD),
        lambda: crew.edit("old", "x.py", process=OLD),
    ]
    for late in late_calls:
        with pytest.raises((Fenced, Held)) as refused:
            late()
        assert "new" in refused.value.message
    assert [loss["why"] for loss in crew.call("old", "boot", client=OLD)["lost"]] == ["handover", "handover"]
    crew.done("docker", next(one["token"] for one in answer["claims"] if one["resources"] == ["task:docker"]), "new")
    crew.clean()


def test_what_the_sweep_took_from_a_dead_agent_passes_nevertheless(crew: Crew) -> None:
    at_work(crew)
    crew.kill9(OLD)
    crew.call(PERSON, "sweep")
    assert crew.state("docker") == "planned"
    answer = hand(crew)
    assert answer["state"] == "gone"
    assert crew.holders() == [("new", "task:docker"), ("new", "x.py"), ("new", "y.py")]
    assert crew.show("docker")["agent"] == "new"
    crew.call(PERSON, "sweep")
    assert crew.call(PERSON, "alerts")["alerts"] == [], "its work is taken care of"


def test_what_another_agent_has_meanwhile_stays_with_it_and_is_said(crew: Crew) -> None:
    at_work(crew)
    crew.kill9(OLD)
    crew.call(PERSON, "sweep")
    crew.take("docker", "bob")
    crew.claim("bob", "y.py")
    answer = hand(crew)
    assert [(one["resource"], one["holder"]) for one in answer["left"]] == [("y.py", "bob")]
    assert answer["tasks"] == []
    assert [one["path"] for one in answer["files"]] == ["x.py"]
    assert crew.show("docker")["agent"] == "bob"


def test_waiters_keep_their_turn_and_are_told_and_the_receiver_waits_no_longer(crew: Crew) -> None:
    at_work(crew)
    for waiter in ("new", "bob"):
        crew.claim(waiter, "x.py", wait=10 * MINUTE)
    answer = hand(crew)
    assert [one["agent"] for one in answer["waiting"]] == ["bob"]
    assert "You keep your place in line" in crew.told("bob")[0][1]
    assert [one["agent"] for one in crew.call(PERSON, "status")["waiting"]] == ["bob"]
    crew.release("new", "x.py")
    assert ("bob", "x.py") in crew.holders()


def test_a_hand_over_into_a_deadlock_changes_nothing(crew: Crew) -> None:
    at_work(crew)
    crew.claim("bob", "b.py")
    crew.claim("bob", "x.py", wait=10 * MINUTE)
    crew.claim("new", "b.py", wait=10 * MINUTE)
    with crew.unchanged(), pytest.raises(Deadlock):
        hand(crew)


def test_a_receiver_that_is_not_there_is_refused_with_those_that_are(crew: Crew) -> None:
    at_work(crew)
    crew.call("dead", "boot", client=30)
    crew.kill9(30)
    crew.call("gone", "boot", client=40)
    crew.call("gone", "leave", client=40)
    crew.call("bad", "boot", client=50)
    crew.call(PERSON, "kill", agent="bad", why="rogue")
    for to, error, words in (
        ("dead", Forbidden, "dead is dead: its process has exited. Agents that are there: new;"),
        ("gone", Forbidden, "gone has left"), ("bad", Killed, "bad was killed"),
        ("nwe", NotFound, "no agent nwe is known here"), ("old", Invalid, "another agent"),
    ):  # fmt: skip
        with pytest.raises(error) as refused:
            hand(crew, to)
        assert words in refused.value.message
    assert ("old", "x.py") in crew.holders()
    crew.release("old", client=OLD)
    with pytest.raises(NotFound, match="no claim, no task and no uncommitted work"):
        hand(crew, files=[])


def test_only_an_orchestrator_or_a_person_hands_over_the_work_of_another(crew: Crew) -> None:
    at_work(crew)
    with pytest.raises(Forbidden, match="not for new"):
        crew.call("new", "handover", agent="old", to="new", client=NEW)
    crew.call("old", "handover", agent="old", to="new", client=OLD)
    assert ("new", "x.py") in crew.holders()
    assert crew.call("old", "boot", client=OLD)["lost"] == [], "it was its own wish"
    crew.policy = Policy(guards=guards(roles={"default": "", "assign": [("chief", "orchestrator")], "named": {}}))
    crew.call("chief", "boot", client=60)
    crew.call("chief", "handover", agent="new", to="old", client=60)
    assert ("old", "x.py") in crew.holders()


def test_a_task_that_is_not_for_the_receiver_is_refused(crew: Crew) -> None:
    at_work(crew)
    crew.add("tests", **{"for": "tester"})
    crew.call("old", "boot", client=OLD, type="tester")
    crew.done("docker", crew.take("docker", "old", client=OLD), "old", client=OLD)
    crew.take("tests", "old", client=OLD)
    with pytest.raises(Forbidden, match="for agents of type tester, and new is not one"):
        hand(crew)


def test_what_belongs_to_a_running_program_does_not_pass(crew: Crew) -> None:
    at_work(crew)
    crew.claim("old", "role:lead", client=OLD)
    crew.claim("old", "z.py", mode="watch", client=OLD)
    hand(crew)
    assert [text for agent, text in crew.holders() if agent == "old"] == ["role:lead", "z.py"]


def test_a_retry_gets_the_first_answer(crew: Crew) -> None:
    at_work(crew)
    first = hand(crew, request="r1")
    assert hand(crew, request="r1") == first


def test_only_shown_nothing_changes(crew: Crew) -> None:
    at_work(crew)
    crew.call(PERSON, "boot")
    with crew.unchanged():
        seen = hand(crew, dry_run=True)
    assert (seen["tasks"], seen["state"], seen["handover"]) == (["docker"], "alive", "")


# --- NEXT


def test_the_next_agent_that_starts_gets_it_in_its_boot_and_no_other_does(on_engine: OnEngine) -> None:
    crew = on_engine(Crew())
    _, token = at_work(crew)
    crew.kill9(OLD)
    answer = hand(crew, "NEXT", note="go on")
    assert answer["to"] is None
    assert {agent for agent, _ in crew.holders()} == {PERSON}
    with pytest.raises(NotFound):
        crew.next("bob")  # nobody pulls the task meanwhile
    crew.call("far", "boot", client=31, tree=OTHER_TREE)
    crew.call("new", "boot", client=NEW, tree=TREE)  # it does not start: it is the same process as before
    crew.call(PERSON, "boot", tree=TREE)
    crew.call("new/sub", "boot", client=NEW, tree=TREE)
    first = crew.call("ann", "boot", client=32, tree=TREE)
    second = crew.call("cid", "boot", client=33, tree=TREE)
    assert {text for claim in first["held"] for text in claim["resources"]} == {"task:docker", "x.py", "y.py"}
    assert first["task"]["id"] == "docker"
    assert [message["type"] for message in first["messages"]] == ["handover"]
    assert "go on" in first["messages"][0]["text"]
    assert (second["held"], second["messages"]) == ([], [])
    assert [event["data"]["to"] for event in crew.events("handover.made")] == ["ann"]
    with pytest.raises(Fenced, match="ann holds it now"):
        crew.call("old", "confirm", resource="x.py", token=token, client=OLD)
    crew.clean()


def test_a_task_alone_is_for_the_next_agent_that_asks_for_work(crew: Crew) -> None:
    crew.call("old", "boot", client=OLD)
    crew.add("docker")
    crew.take("docker", "old", client=OLD)
    hand(crew, "NEXT", files=[])
    assert crew.next("bob", client=41)["task"]["id"] == "docker"
    assert crew.show("docker")["agent"] == "bob"
    with pytest.raises(NotFound):
        crew.next("cid", client=42)


def test_if_nobody_starts_in_time_it_is_released_and_the_person_is_told(crew: Crew) -> None:
    at_work(crew)
    crew.claim("bob", "x.py", wait=3 * OFFER_MS)
    hand(crew, "NEXT")
    crew.now += OFFER_MS + 1
    crew.claim("bob", "x.py", wait=3 * OFFER_MS)  # it polls
    crew.call(PERSON, "sweep")
    assert (crew.state("docker"), crew.show("docker")["attempt"]) == ("planned", 1)
    assert ("bob", "x.py") in crew.holders()
    assert "No agent started in time" in crew.told(PERSON)[-1][1]
    assert crew.call("late", "boot", client=31, tree=TREE)["held"] == []
    assert crew.call(PERSON, "alerts")["alerts"] == []


def test_an_offer_is_taken_back_by_a_person_and_what_was_kept_is_free(crew: Crew) -> None:
    at_work(crew)
    hand(crew, "NEXT")
    with pytest.raises(Invalid, match="--cancel"):
        crew.call(PERSON, "handover", agent="old")
    with pytest.raises(Invalid, match="--cancel"):
        crew.call(PERSON, "handover", agent="old", to="NEXT", cancel=True)
    with pytest.raises(Forbidden):
        crew.call("bob", "handover", agent="old", cancel=True, client=30)
    shown = crew.call(PERSON, "handover", agent="old", cancel=True, dry_run=True)
    assert crew.holders(), "only shown"
    answer = crew.call(PERSON, "handover", agent="old", cancel=True)
    assert answer["cancelled"]
    assert (answer["claims"], answer["tasks"]) == (shown["claims"], ["docker"])
    assert crew.holders() == []
    assert crew.call("boss", "task show", id="docker")["task"]["state"] == "planned"
    crew.call("ann", "boot", client=32, tree=TREE)
    assert crew.holders() == []
    assert [event["data"]["why"] for event in crew.events("handover.ended")] == ["cancelled"]
    with pytest.raises(NotFound, match="no work of old is kept"):
        crew.call(PERSON, "handover", agent="old", cancel=True)
    crew.clean()


def test_a_later_hand_over_takes_what_was_kept_for_the_next_one(crew: Crew) -> None:
    at_work(crew)
    hand(crew, "NEXT")
    crew.now += MINUTE
    first = crew.call(PERSON, "status")["claims"][0]["expires_at"]
    hand(crew, "NEXT")
    assert crew.call(PERSON, "status")["claims"][0]["expires_at"] > first
    hand(crew, "new")
    assert crew.call(PERSON, "boot")["lost"] == []
    assert {agent for agent, _ in crew.holders()} == {"new"}
    assert crew.call("late", "boot", client=31, tree=TREE)["held"] == []
    assert [event["data"]["why"] for event in crew.events("handover.ended")] == ["replaced", "replaced"]


def test_an_agent_that_offers_its_own_work_keeps_it_until_the_next_one_starts(crew: Crew) -> None:
    _, token = at_work(crew)
    crew.call("old", "handover", agent="old", to="NEXT", files=FILES, client=OLD)
    crew.call("old", "confirm", resource="x.py", token=token, client=OLD)
    crew.call("ann", "boot", client=32, tree=TREE)
    assert {agent for agent, _ in crew.holders()} == {"ann"}
    assert "ann took over the work of old" in crew.told("old")[-1][1]


def test_an_agent_that_goes_on_keeps_what_it_took_after_the_offer(crew: Crew) -> None:
    at_work(crew)
    hand(crew, "NEXT")
    crew.claim("old", "later.py", client=OLD)
    crew.call("ann", "boot", client=32, tree=TREE)
    assert [text for agent, text in crew.holders() if agent == "old"] == ["later.py"]


# --- any order of events


AGENTS = {"old": 10, "new": 20, "bob": 30}
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("claim"), st.sampled_from([*AGENTS]), st.sampled_from(["x.py", "y.py", "z.py"])),
        st.tuples(st.just("wait"), st.sampled_from([*AGENTS]), st.sampled_from(["x.py", "y.py", "z.py"])),
        st.tuples(st.just("hand"), st.sampled_from([*AGENTS]), st.sampled_from([*AGENTS, "NEXT"])),
        st.tuples(st.just("take"), st.sampled_from([*AGENTS]), st.just("docker")),
        st.tuples(st.just("start"), st.sampled_from([*AGENTS]), st.just("")),
        st.tuples(st.just("sweep"), st.just(PERSON), st.sampled_from(["", "later"])),
        st.tuples(st.just("kill9"), st.sampled_from([*AGENTS]), st.just("")),
    ),
    max_size=14,
)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_whatever_happens_each_resource_has_one_holder_and_the_log_is_clean(steps: list[tuple[str, str, str]]) -> None:
    crew = Crew()
    pids = dict(AGENTS)
    for agent, pid in pids.items():
        crew.call(agent, "boot", client=pid, tree=TREE)
    crew.add("docker")
    for number, (what, agent, thing) in enumerate(steps):
        try:
            if what in {"claim", "wait"}:
                crew.claim(agent, thing, client=pids[agent], wait=OFFER_MS if what == "wait" else 0)
            elif what == "hand":
                crew.call(PERSON, "handover", agent=agent, to=thing, files=FILES)
            elif what == "take":
                crew.take(thing, agent, client=pids[agent])
            elif what == "start":
                pids[agent] = 100 + number
                crew.call(agent, "boot", client=pids[agent], tree=TREE)
            elif what == "kill9":
                crew.kill9(pids[agent])
            else:
                crew.now += OFFER_MS if thing else 0
                crew.call(PERSON, "sweep")
        except DibsError:
            pass
        holders = set(crew.holders())
        texts = [text for _, text in holders]
        assert len(texts) == len(set(texts)), holders
        assert "task:docker" not in texts or crew.state("docker") == "executing"
    crew.clean()
