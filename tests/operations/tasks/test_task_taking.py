"""Taking tasks: which one is given to whom, who is refused, and what a retry, a deadline and a death do to it."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.client import catalogue
from dibs.errors import Conflict, DibsError, Fenced, Forbidden, Held, Invalid, Killed, NotFound, Quota
from dibs.operations.tasks import pulls, workforce
from tests.operations.crew import SECOND, TTL, Crew
from tests.waiting import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def crew() -> Crew:
    return Crew()


# --- which one


def test_higher_priority_comes_first_and_of_equal_ones_the_older(crew: Crew) -> None:
    for name, priority in (("a", 0), ("b", 7), ("c", -3), ("d", 7), ("e", 0)):
        crew.add(name, priority=priority)
        crew.now += 1
    assert crew.order() == ["b", "d", "a", "e", "c"]


def backwards(crew: Crew) -> Crew:
    """The same crew, whose ids fall: an order by ids is the wrong one."""
    ids = itertools.count(0xFFFFFF, -1)
    crew.store._new_id = lambda: f"{next(ids):012x}"
    return crew


def test_of_tasks_of_one_millisecond_the_first_comes_first() -> None:
    crew = backwards(Crew())
    added = [crew.call("boss", "task add", title=f"t{number}")["task"]["id"] for number in range(12)]
    listed = [task["id"] for task in crew.call("boss", "task list")["tasks"]]
    assert crew.order() == listed == added


def test_of_waiters_of_one_millisecond_the_first_comes_first() -> None:
    crew = backwards(Crew())
    for agent in "dcba":
        crew.call(agent, "task next", wait=60 * SECOND, wake=agent)
    assert [one["agent"] for one in crew.store.run(workforce.present)] == list("dcba")
    crew.now += 10 * SECOND
    rows = crew.store.look(lambda tx: tx.fetch([("tw\t", "tw\n")]).rows)
    place = next(key[3:] for key, one in rows if one["agent"] == "c")
    crew.call("c", "task next", wait=60 * SECOND, wake="c", waiter=place)
    assert [one["agent"] for one in crew.store.run(workforce.present)] == list("dcba"), "a look keeps its turn"


def test_of_waiters_for_one_task_of_one_millisecond_the_first_gets_it() -> None:
    crew = backwards(Crew())
    crew.add("t")
    token = crew.take("t", "h")
    places = {agent: crew.call(agent, "task claim", id="t", wait=60 * SECOND)["waiting"] for agent in "dcba"}
    crew.call("h", "task release", id="t", token=token)
    for agent in "abc":
        assert "waiting" in crew.call(agent, "task claim", id="t", wait=60 * SECOND, waiter=places[agent])
    assert crew.take("t", "d", wait=60 * SECOND, waiter=places["d"])


def test_priority_and_age_hold_across_different_demands(crew: Crew) -> None:
    crew.call("w", "boot", type="coder", can=["go", "sql"])
    for name, fields in (
        ("a", {}), ("b", {"needs": ["go"]}), ("c", {"for": "coder"}), ("d", {"needs": ["sql", "go"], "priority": 1}),
        ("e", {"for": "coder", "needs": ["go"]}), ("f", {"priority": 1}), ("g", {"for": "tester", "priority": 9}),
        ("h", {"needs": ["rust"], "priority": 9}),
    ):  # fmt: skip
        crew.add(name, **fields)
        crew.now += 1
    assert crew.order() == ["d", "f", "a", "b", "c", "e"]
    assert crew.states("g", "h") == ["planned", "planned"]


def test_a_task_that_goes_back_keeps_its_age(crew: Crew) -> None:
    for name in "ab":
        crew.add(name)
        crew.now += 1
    crew.call("w", "task release", id="a", token=crew.next()["token"])
    assert crew.order() == ["a", "b"]


def test_only_who_is_of_the_type_and_has_all_capabilities_gets_it(crew: Crew) -> None:
    crew.add("t", **{"for": "coder"}, needs=["go", "sql"])
    for agent, type_, can in (("a", "", []), ("b", "coder", ["go"]), ("c", "tester", ["go", "sql"])):
        crew.call(agent, "boot", type=type_, can=can)
        with pytest.raises(NotFound, match="task t is for agents of type coder with go, sql"):
            crew.next(agent)
        with pytest.raises(Forbidden, match="dibs boot --type coder --can go,sql"):
            crew.take("t", agent)
    crew.call("d", "boot", type="coder", can=["sql", "x", "go"])
    assert crew.next("d")["task"]["id"] == "t"
    crew.clean()


def test_the_answer_has_all_that_is_needed_to_work_on_it(crew: Crew) -> None:
    crew.add("t", payload={"file": "a.py"}, expect=60_000)
    answer = crew.next()
    assert answer["task"]["payload"] == {"file": "a.py"}
    assert answer["task"]["state"] == "executing"
    assert answer["task"]["agent"] == "w"
    assert answer["token"] == crew.events("claim.granted")[-1]["commit"]
    assert crew.holders() == [("w", "task:t")]


def test_nothing_to_do_is_said_and_why(crew: Crew) -> None:
    with pytest.raises(NotFound, match="no task is ready"):
        crew.next()


def test_a_task_is_given_once(crew: Crew) -> None:
    for number in range(10):
        crew.add(f"t{number}")
    taken = [crew.next(f"w{number}")["task"]["id"] for number in range(10)]
    assert len(set(taken)) == 10
    with pytest.raises(NotFound):
        crew.next("late")
    with pytest.raises(Held) as refused:
        crew.take("t0", "late")
    assert refused.value.blockers[0]["agent"] == "w0"
    assert [e["subject"] for e in crew.events("claim.refused")] == ["task:t0"]
    crew.clean()


# --- how many


def test_who_has_a_live_task_gets_no_second(crew: Crew) -> None:
    crew.add("a")
    crew.add("b")
    token = crew.take("a")
    for call in (lambda: crew.next(), lambda: crew.take("b")):  # noqa: PLW0108 - what is raised is raised in the loop
        with pytest.raises(Quota, match="work on a already") as refused:
            call()
        assert refused.value.tasks == [{"id": "a", "token": token}]
    crew.done("a", token)
    assert crew.next()["task"]["id"] == "b"


def test_max_tasks_allows_more() -> None:
    crew = Crew(max_tasks=3)
    for number in range(4):
        crew.add(f"t{number}")
    for _ in range(3):
        crew.next()
    with pytest.raises(Quota):
        crew.next()
    crew.clean()


def test_a_task_whose_deadline_is_over_does_not_count(crew: Crew) -> None:
    crew.add("a")
    crew.take("a")
    crew.add("b")
    crew.now += TTL
    assert crew.next()["task"]["id"] == "b"


# --- what one has already


def test_claiming_ones_own_task_again_gives_the_same_token_and_a_new_deadline(crew: Crew) -> None:
    crew.add("t")
    first = crew.call("w", "task claim", id="t", client=5)
    crew.now += TTL - 1
    again = crew.call("w", "task claim", id="t", client=5)
    assert again["token"] == first["token"]
    assert again["renewed"] is True
    assert again["expires_at"] > first["expires_at"]
    plain = crew.call("w", "task claim", id="t")  # by a call of which no process is known, while that one lives
    assert plain["token"] == first["token"]
    crew.clean()


def test_ones_own_task_whose_process_is_dead_is_taken_anew(crew: Crew) -> None:
    crew.add("t")
    first = crew.call("w", "task claim", id="t", client=5)
    crew.kill9(5)
    again = crew.call("w", "task claim", id="t")
    assert again["token"] > first["token"]
    assert "renewed" not in again
    with pytest.raises(Fenced):
        crew.done("t", first["token"])
    crew.done("t", again["token"])
    crew.clean()


def test_a_task_is_not_claimed_by_its_name(crew: Crew) -> None:
    crew.add("t")
    with crew.unchanged(), pytest.raises(Invalid, match="dibs task claim t"):
        crew.claim("w", "task:t")
    crew.claim("w", "task:other")  # there is no such task


# --- the name of a task that was claimed before there was a task


def test_who_claimed_the_name_first_keeps_others_from_the_task(crew: Crew) -> None:
    crew.claim("ann", "task:t", ttl=60 * SECOND)
    crew.add("t")
    with pytest.raises(NotFound):
        crew.next()
    with pytest.raises(Held):
        crew.take("t")
    crew.now += 60 * SECOND
    assert crew.next()["task"]["id"] == "t"
    crew.clean()


def test_a_name_whose_holder_is_dead_is_free(crew: Crew) -> None:
    crew.claim("ann", "task:t", client=5)
    crew.add("t")
    crew.kill9(5)
    taken = crew.next()
    assert taken["task"]["id"] == "t"
    crew.done("t", taken["token"])
    assert not crew.holders()
    crew.clean()


def test_who_waits_for_what_else_a_dead_holder_of_the_name_had_gets_it_too(crew: Crew) -> None:
    crew.claim("ann", "task:t", "x.py", client=5)
    crew.claim("bob", "x.py", wait=60 * SECOND)
    crew.add("t")
    crew.kill9(5)
    crew.next()
    assert ("bob", "x.py") in crew.holders()
    crew.clean()


def test_who_waits_for_the_name_gets_it_before_the_task_is_given(crew: Crew) -> None:
    crew.claim("ann", "task:t", ttl=10 * SECOND)
    waits = crew.claim("bob", "task:t", wait=60 * SECOND)["waiting"]
    crew.add("t")
    crew.now += 10 * SECOND
    with pytest.raises(NotFound):
        crew.next()  # bob is handed the name
    assert crew.holders() == [("bob", "task:t")]
    assert waits
    crew.now += 20 * SECOND  # bob never came for it
    crew.done("t", crew.next()["token"])
    crew.clean()


# --- by request id


MORE: dict[str, dict[str, Any]] = {
    "task add": {"title": "x", "id": "new"}, "task next": {}, "task claim": {"id": "a"},
    "task done": {"id": "t", "token": 0, "result": {"n": 1}}, "task done ": {"id": "t", "token": 0, "next": True},
    "task fail": {"id": "t", "token": 0, "class": "transient", "why": "x"},
    "task fail ": {"id": "t", "token": 0, "class": "permanent", "why": "x"}, "task release": {"id": "t", "token": 0},
    "task progress": {"id": "t", "token": 0, "percent": 7, "note": "so far"}, "task note": {"id": "t", "text": "x"},
    "task split": {"id": "t", "token": 0, "children": [{"title": "x"}, {"title": "y"}]},
    "task cancel": {"id": "a", "why": "x"}, "task move": {"id": "a", "state": "scoped"},
    "task edit": {"id": "a", "title": "x", "priority": 4},
}  # fmt: skip


@pytest.mark.parametrize("name", MORE)
def test_a_call_made_again_by_its_request_id_has_one_effect_and_the_same_answer(name: str) -> None:
    crew = Crew(max_tasks=2)
    crew.add("t", priority=1)
    crew.add("a")
    crew.add("b")
    token = crew.take("t")
    fields = {**MORE[name], **({"token": token} if "token" in MORE[name] else {})}
    text = next(one.name for one in catalogue.operation(name.strip()).fields if one.kind == "text")
    first = crew.call("w", name.strip(), request="r", **fields)
    crew.now += 10
    with crew.unchanged():
        assert crew.call("w", name.strip(), request="r", **fields) == first
        with pytest.raises(Invalid, match="another request"):
            crew.call("w", name.strip(), request="r", **{**fields, text: "other"})
    crew.clean()


def test_one_request_id_may_serve_each_operation_once(crew: Crew) -> None:
    """It belongs to the operation, and the log keeps them apart."""
    for name in "abc":
        crew.add(name, by="w", request="r" if name == "a" else "")
        crew.now += 1
    first = crew.next(request="r")
    answer = crew.done("a", first["token"], request="r", next=True)
    split = {"id": "b", "token": answer["next"]["token"], "children": [{"title": "x"}]}
    crew.call("w", "task split", request="r", **split)
    assert (first["task"]["id"], answer["next"]["task"]["id"]) == ("a", "b")
    assert crew.call("w", "task claim", id="c", request="r")["task"]["id"] == "c"
    crew.clean()


def test_a_refused_finish_is_refused_again_by_its_request_id(crew: Crew) -> None:
    crew.add("t")
    token = crew.take("t")
    crew.now += TTL
    with pytest.raises(Fenced) as first:
        crew.done("t", token, request="r")
    with crew.unchanged(), pytest.raises(Fenced) as again:
        crew.done("t", token, request="r")
    assert again.value.fields == first.value.fields


# --- deadlines, deaths, the kill switch, leaving: back to the queue


def by_sweep(crew: Crew) -> None:
    crew.call("sweeper", "sweep")


def by_next(crew: Crew) -> None:
    with pytest.raises(DibsError):
        crew.next("looker", run="no-such-run")


@pytest.mark.parametrize("look", [by_sweep, by_next])
def test_a_task_is_back_at_its_deadline_as_soon_as_anybody_looks(crew: Crew, look: Callable[[Crew], None]) -> None:
    crew.add("t")
    old = crew.take("t")
    crew.now += TTL - 1
    look(crew)
    assert crew.state("t") == "executing"
    crew.now += 1
    look(crew)
    found = crew.show("t")
    assert (found["state"], found["attempt"], found["error"]["class"]) == ("planned", 2, "lost")
    new = crew.take("t", "v")
    with pytest.raises(Fenced) as late:
        crew.done("t", old)
    assert (late.value.holder, late.value.token) == ("v", new)
    crew.clean()


@pytest.mark.parametrize("look", [by_sweep, by_next])
def test_a_task_is_back_at_once_when_its_holders_process_is_dead(crew: Crew, look: Callable[[Crew], None]) -> None:
    crew.add("t")
    crew.call("w", "boot", client=5)
    crew.next(client=5)
    look(crew)
    assert crew.state("t") == "executing"
    crew.kill9(5)
    look(crew)
    assert crew.state("t") == "planned"
    assert crew.show("t")["error"]["why"] == "w was lost (gone)"
    crew.clean()


def test_next_takes_over_from_a_dead_holder_by_itself(crew: Crew) -> None:
    crew.add("t")
    old = crew.next(client=5)
    crew.kill9(5)
    new = crew.next("v")
    assert new["task"]["id"] == "t"
    assert new["token"] > old["token"]
    crew.clean()


def test_activity_keeps_a_task_and_progress_gives_it_a_full_life(crew: Crew) -> None:
    crew.add("t")
    token = crew.take("t")
    for percent in (10, 20, 30):
        crew.now += TTL - 1
        answer = crew.call("w", "task progress", id="t", token=token, percent=percent)
        assert answer["task"]["progress"] == percent
    crew.done("t", token)
    crew.clean()


@pytest.mark.parametrize("percent", [-1, 101])
def test_progress_is_from_0_to_100(crew: Crew, percent: int) -> None:
    crew.add("t")
    token = crew.take("t")
    with crew.unchanged(), pytest.raises(Invalid):
        crew.call("w", "task progress", id="t", token=token, percent=percent)


def test_the_kill_switch_returns_the_tasks_of_the_family_and_counts_no_failure(crew: Crew) -> None:
    crew.add("a")
    crew.add("b")
    first, second = crew.next("w"), crew.next("w/x")
    crew.call("boss", "kill", agent="w", why="mad")
    for agent, answer in (("w", first), ("w/x", second)):
        with pytest.raises(Killed):
            crew.done(answer["task"]["id"], answer["token"], agent)
    assert crew.states("a", "b") == ["planned", "planned"]
    assert [crew.show(name)["attempt"] for name in "ab"] == [1, 1]
    crew.call("boss", "revive", agent="w")
    with pytest.raises(Fenced):
        crew.done("a", first["token"])
    crew.clean()


def test_leaving_gives_a_task_back(crew: Crew) -> None:
    crew.add("t")
    token = crew.take("t")
    crew.call("w", "leave")
    assert crew.state("t") == "planned"
    assert crew.show("t")["attempt"] == 1
    with pytest.raises(Fenced):
        crew.done("t", token)
    crew.clean()


def test_leaving_with_a_task_past_its_deadline_counts_as_lost(crew: Crew) -> None:
    crew.add("t")
    crew.take("t")
    crew.now += TTL
    crew.call("w", "leave")
    assert crew.record("a\tw")["strikes"] == 1
    assert crew.show("t")["error"]["class"] == "lost"
    crew.clean()


def test_a_subagent_that_leaves_passes_its_task_to_its_parent_under_a_new_token(crew: Crew) -> None:
    crew.add("t")
    crew.call("w", "boot")
    old = crew.next("w/sub")["token"]
    crew.call("w/sub", "leave")
    assert (crew.state("t"), crew.show("t")["agent"]) == ("executing", "w")
    new = crew.show("t")["token"]
    assert new > old
    with pytest.raises(Fenced):
        crew.done("t", old)
    crew.done("t", new)
    crew.clean()


def test_a_boot_in_another_process_keeps_the_task_under_a_new_token(crew: Crew) -> None:
    crew.add("t")
    crew.call("w", "boot", client=5)
    old = crew.next(client=5)["token"]
    briefing = crew.call("w", "boot", client=6)
    new = briefing["task"]["token"]
    assert (briefing["task"]["id"], new > old) == ("t", True)
    for client in (5, 6):
        with pytest.raises(Fenced):
            crew.done("t", old, client=client)
    crew.done("t", new, client=6)
    crew.clean()


def test_a_boot_in_the_same_process_keeps_the_token(crew: Crew) -> None:
    crew.add("t")
    crew.call("w", "boot", client=5)
    token = crew.next(client=5)["token"]
    assert crew.call("w", "boot", client=5)["task"]["token"] == token
    crew.done("t", token, client=5)


def test_a_boot_tells_how_far_the_task_is_and_of_which_run(crew: Crew) -> None:
    crew.call("boss", "run start", name="release", id="r1")
    crew.add("t", run="r1")
    crew.call("w", "task progress", id="t", token=crew.take("t"), percent=40)
    task = crew.call("w", "boot")["task"]
    assert (task["progress"], task["run"]) == (40, "r1")


def test_a_boot_tells_of_a_task_that_was_lost(crew: Crew) -> None:
    crew.add("t")
    crew.take("t")
    crew.now += TTL
    new = crew.next("v")["token"]
    briefing = crew.call("w", "boot", task="t")
    assert briefing["task"] is None
    assert [(loss["task"], loss["why"], loss["holder"]) for loss in briefing["lost"]] == [("t", "expired", "v")]
    crew.done("t", new, "v")
    crew.clean()


def test_release_to_hands_the_task_over_under_a_new_token(crew: Crew) -> None:
    crew.add("t")
    crew.call("v", "boot")
    old = crew.take("t")
    handed = crew.call("w", "release", resources=["task:t"], to="v")["claims"][0]["token"]
    assert (crew.state("t"), crew.show("t")["agent"], crew.show("t")["token"]) == ("executing", "v", handed)
    with pytest.raises(Fenced) as late:
        crew.done("t", old)
    assert late.value.holder == "v"
    crew.done("t", handed, "v")
    crew.clean()


def test_releasing_the_name_gives_the_task_back(crew: Crew) -> None:
    crew.add("t")
    token = crew.take("t")
    crew.release("w", "task:t", token=token)
    assert crew.state("t") == "planned"
    assert crew.next("v")["task"]["id"] == "t"
    crew.clean()


# --- waiting


def test_a_place_among_those_who_wait_is_kept_while_one_looks_and_gone_afterwards(crew: Crew) -> None:
    waiting = crew.next(wait=60_000, wake="me")
    assert waiting["waiting"]
    head = crew.store.head().commit
    crew.now += 1_000
    crew.next(wait=59_000, waiter=waiting["waiting"], wake="me")
    assert crew.store.head().commit == head  # nothing changed, nothing is written
    crew.add("t")
    assert crew.store.woken == {"me"}
    assert crew.next(wait=58_000, waiter=waiting["waiting"], wake="me")["task"]["id"] == "t"
    assert not crew.store.look(lambda tx: tx.fetch([("tw\t", "tw\n")]).rows)


def test_at_the_end_of_a_wait_nothing_is_said_plainly_and_the_place_is_gone(crew: Crew) -> None:
    waiting = crew.next(wait=1_000, wake="me")["waiting"]
    crew.now += 1_000
    with pytest.raises(NotFound):
        crew.next(wait=0, waiter=waiting)
    assert not crew.store.look(lambda tx: tx.fetch([("tw\t", "tw\n")]).rows)


@pytest.mark.parametrize("how", ["add", "unblock", "child", "release", "lost", "move", "due"])
def test_whatever_makes_a_task_ready_wakes_one_who_waits(crew: Crew, how: str) -> None:
    crew.add("t", state="scoped" if how == "move" else "planned")
    token = crew.take("t", client=5) if how != "move" else 0
    if how == "unblock":
        crew.add("u", after=["t"])
    if how == "child":
        crew.add("p", state="planned")
        crew.call("boss", "task cancel", id="p")
        crew.call("boss", "task move", id="p", state="planned")
        crew.add("c", parent="p", after=["t"])
        crew.call("boss", "task move", id="c", state="scoped")
    if how == "due":
        crew.fail("t", token, client=5)
    crew.next("v", wait=60_000, wake="v")
    crew.next("other", wait=60_000, wake="other", run="another-run")
    assert crew.store.woken == set()
    if how == "add":
        crew.add("n")
    elif how == "unblock":
        crew.done("t", token, client=5)
    elif how == "child":
        crew.call("boss", "task cancel", id="c")
    elif how == "release":
        crew.call("w", "task release", id="t", token=token, client=5)
    elif how == "lost":
        crew.kill9(5)
        crew.call("sweeper", "sweep")
    elif how == "move":
        crew.call("boss", "task move", id="t", state="planned")
    else:
        crew.now += 1_000
        crew.call("sweeper", "sweep")
    assert crew.store.woken == {"v"}


def test_only_who_may_take_it_is_woken_and_each_for_one_task(crew: Crew) -> None:
    crew.call("go", "boot", can=["go"])
    for agent in ("a", "go", "b"):
        crew.next(agent, wait=60_000, wake=agent)
        crew.now += 1
    crew.add("t", needs=["go"])
    assert crew.store.woken == {"go"}
    crew.add("u")
    assert crew.store.woken == {"go", "a"}  # who waited longest


def test_who_has_not_looked_for_a_while_is_not_woken(crew: Crew) -> None:
    crew.next("a", wait=600_000, wake="a")
    crew.now += workforce.WAITER_LEASE_MS
    crew.next("b", wait=600_000, wake="b")
    crew.add("t")
    assert crew.store.woken == {"b"}


def test_an_absurd_wait_is_refused(crew: Crew) -> None:
    with crew.unchanged(), pytest.raises(Invalid):
        crew.next(wait=10**12)


def test_a_worker_that_waits_is_woken_by_the_commit_that_makes_a_task_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the Python API on a real database; it would look by itself only after a minute."""
    from dibs.interfaces import cli

    assert cli.main(["init", str(tmp_path)]) == 0
    monkeypatch.setattr(pulls, "POLL_MS", 60_000)
    got: list[Any] = []
    with dibs.open(str(tmp_path), agent="boss") as boss:

        def work() -> None:
            with dibs.open(str(tmp_path), agent="w") as worker:
                answer = worker.task_next(wait=50)
                got.append(worker.task_done(answer["task"]["id"], token=answer["token"], result=1))

        thread = threading.Thread(target=work)
        thread.start()
        while not boss.store.look(lambda tx: tx.fetch([("tw\t", "tw\n")]).rows):
            pass
        boss.task_add("x", id="t")
        thread.join(LIMIT_S)
        assert not thread.is_alive()
        assert got[0]["task"]["state"] == "complete"


# --- certain ones


def test_only_a_planned_task_that_nothing_stands_before_can_be_claimed(crew: Crew) -> None:
    crew.add("a")
    crew.add("b", after=["a"])
    crew.add("c", state="scoped")
    with crew.unchanged():
        with pytest.raises(Conflict) as refused:
            crew.take("b")
        assert (refused.value.waits_for, refused.value.state) == (1, "planned")
        with pytest.raises(Conflict, match="is scoped"):
            crew.take("c")


def test_an_expired_task_can_be_claimed_by_another_at_once(crew: Crew) -> None:
    crew.add("t")
    crew.take("t")
    crew.now += TTL
    assert crew.take("t", "v")
    assert crew.show("t")["attempt"] == 2
    crew.clean()


# --- what a look shows


def test_a_task_whose_claim_expired_is_shown_as_that_before_anybody_returns_it(crew: Crew) -> None:
    for name in ("old", "new", "waits"):
        crew.add(name)
    crew.take("old", "a")
    crew.now += TTL
    crew.take("new", "b")
    shown = {task["id"]: task.get("expired") for task in crew.call("c", "task list")["tasks"]}
    assert shown == {"old": True, "new": None, "waits": None}
    assert crew.show("old")["expired"]
    assert "expired" not in crew.show("new")
    assert "token" not in crew.show("old")
    crew.take("old", "c")  # whoever takes it has it
    assert "expired" not in crew.show("old")


def test_the_advice_for_a_task_that_another_agent_has_is_a_command_that_takes_tasks(crew: Crew) -> None:
    crew.add("t-1")
    crew.take("t-1", "a")
    with pytest.raises(Held, match="Wait: `dibs task claim t-1 --wait 60s`"):
        crew.call("b", "task claim", id="t-1")
    with pytest.raises(Fenced, match="`dibs task claim t-1 --wait 60s` waits for it"):
        crew.release("b", "task:t-1")
    crew.claim("a", "task:no-task")
    with pytest.raises(Held, match="Wait: `dibs claim task:no-task --wait 60s`"):
        crew.claim("b", "task:no-task")
