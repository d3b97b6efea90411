"""Tasks: adding them, their states, what they wait for, their children, keys, notes, payloads and results."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Conflict, DibsError, Fenced, Invalid, NotFound, Quota
from dibs.operations.core.declare import MAX_JSON_CHARS
from dibs.operations.core.json_values import MAX_JSON_DEPTH
from dibs.operations.tasks import additions, board
from dibs.operations.tasks.records import PLACES
from tests.operations.crew import TTL, Crew

STATES = ("discovery", "scoped", "planned", "executing", "complete", "failed", "cancelled", "quarantined")
# Where a task may be moved by hand, written down a second time on purpose.
BY_HAND = {
    "discovery": {"scoped", "cancelled"},
    "scoped": {"discovery", "planned", "cancelled"},
    "planned": {"scoped", "cancelled"},
    "executing": {"cancelled"},
    "complete": set(),
    "failed": {"planned", "cancelled"},
    "quarantined": {"planned", "cancelled"},
    "cancelled": {"planned", "cancelled"},  # calling off what is called off changes nothing
}


@pytest.fixture
def crew() -> Crew:
    return Crew()


# --- the table


@pytest.mark.parametrize("to", STATES)
@pytest.mark.parametrize("before", STATES)
def test_every_pair_of_states_is_moved_by_hand_or_refused_and_then_nothing_is_changed(
    crew: Crew, before: str, to: str
) -> None:
    crew.bring("t", before)
    if to in BY_HAND[before]:
        answer = crew.call("boss", "task move", id="t", state=to)
        assert answer["task"]["state"] == crew.state("t") == to
    else:
        with crew.unchanged(), pytest.raises((Conflict, Invalid)) as refused:
            crew.call("boss", "task move", id="t", state=to)
        assert (refused.value.code == "invalid") == (to in {"executing", "complete", "failed"})
        if refused.value.code == "conflict":
            assert (refused.value.state, refused.value.to) == (before, to)
            assert set(refused.value.allowed) == BY_HAND[before] - {before}
    crew.clean()


@pytest.mark.parametrize("before", STATES)
def test_only_a_planned_task_can_be_taken_and_only_one_at_work_ended(crew: Crew, before: str) -> None:
    token = crew.bring("t", before)
    if before == "planned":
        assert crew.take("t", "other")
    else:
        with pytest.raises(DibsError) as refused:
            crew.take("t", "other")
        assert refused.value.code == ("held" if before == "executing" else "conflict")
    if before == "executing":
        assert crew.done("t", token)["task"]["state"] == "complete"
        return
    for verb, more in (
        ("done", {}), ("fail", {"class": "transient", "why": "x"}), ("release", {}), ("progress", {"percent": 5}),
        ("split", {"children": [{"title": "x"}]}),
    ):  # fmt: skip
        with pytest.raises(Fenced) as late:
            crew.call("w", f"task {verb}", id="t", token=token or 1, **more)
        assert late.value.task == "t"
    assert crew.state("t") == ("executing" if before == "planned" else before)
    crew.clean()


def test_unknown_states_and_unknown_tasks_are_refused_by_name(crew: Crew) -> None:
    crew.add("t")
    with crew.unchanged():
        with pytest.raises(Invalid, match="one of discovery, scoped"):
            crew.call("boss", "task move", id="t", state="asleep")
        with pytest.raises(Invalid):
            crew.call("boss", "task list", state="asleep")
        with pytest.raises(Invalid, match="state: one of discovery, scoped, planned, not"):
            crew.add("u", state="complete")
        for name, fields in (
            ("move", {"state": "scoped"}), ("edit", {"title": "x"}),
            ("cancel", {}), ("note", {"text": "x"}), ("claim", {}), ("show", {}),
            ("inputs", {}), ("done", {"token": 1}), ("release", {"token": 1}), ("progress", {"token": 1, "percent": 1}),
            ("fail", {"token": 1, "class": "transient", "why": "x"}),
            ("split", {"token": 1, "children": [{"title": "x"}]}),
        ):  # fmt: skip
            with pytest.raises(NotFound, match="no task nope"):
                crew.call("boss", f"task {name}", id="nope", **fields)


# --- its title and priority


def test_a_new_priority_counts_from_the_next_choice_on_and_what_runs_keeps_its_claim(crew: Crew) -> None:
    crew.add("running", priority=5)
    token = crew.take("running")
    crew.add("first")
    crew.add("second")
    answer = crew.call("boss", "task edit", id="second", title=" Rotate all tokens ", priority=7)
    assert (answer["task"]["title"], answer["task"]["priority"]) == ("Rotate all tokens", 7)
    assert crew.call("boss", "task edit", id="running", priority=-3)["task"]["state"] == "executing"
    noted = [event["data"] for event in crew.events("task.noted")]
    assert noted == [
        {
            "title": "Rotate all tokens",
            "priority": 7,
            "text": "title 'Rotate all tokens', was 'second'; priority 7, was 0",
        },
        {"priority": -3, "text": "priority -3, was 5"},
    ]
    crew.done("running", token)
    assert crew.next()["task"]["id"] == "second"
    crew.clean()


def test_an_edit_that_changes_nothing_writes_nothing_and_one_that_says_nothing_is_refused(crew: Crew) -> None:
    crew.add("t", priority=2)
    title = crew.call("boss", "task show", id="t")["task"]["title"]
    with crew.unchanged():
        assert crew.call("boss", "task edit", id="t", title=title, priority=2)["task"]["priority"] == 2
        for fields in ({}, {"title": "  "}, {"priority": 1_000_001}):
            with pytest.raises(Invalid):
                crew.call("boss", "task edit", id="t", **fields)
    token = crew.take("t")
    crew.done("t", token)
    with crew.unchanged(), pytest.raises(Conflict, match="complete"):
        crew.call("boss", "task edit", id="t", priority=9)


@pytest.mark.parametrize("identifier", ["a b", "a\tb", "x" * 121, "a,b", "a|b", "\x1a", "t\n"])
def test_ids_that_would_break_a_key_are_refused(crew: Crew, identifier: str) -> None:
    crew.add("first")
    with crew.unchanged():
        for name, fields in (("add", {"title": "x"}), ("claim", {}), ("done", {"token": 1}), ("show", {})):
            with pytest.raises(Invalid):
                crew.call("boss", f"task {name}", id=identifier, **fields)
        with pytest.raises(Invalid):
            crew.add("t", after=[identifier])


# --- adding


def test_an_id_is_used_once(crew: Crew) -> None:
    crew.add("t")
    with crew.unchanged(), pytest.raises(Conflict, match="already"):
        crew.add("t")


def test_without_an_id_one_is_made(crew: Crew) -> None:
    first = crew.call("boss", "task add", title="one")["task"]["id"]
    second = crew.call("boss", "task add", title="two")["task"]["id"]
    assert first != second
    assert [crew.show(one)["title"] for one in (first, second)] == ["one", "two"]


def test_the_same_key_gives_the_first_task_whatever_became_of_it(crew: Crew) -> None:
    first = crew.call("boss", "task add", title="build", key="build-7")
    assert not first["existing"]
    again = crew.call("other", "task add", title="something else", key="build-7", priority=5)
    assert again["existing"]
    assert again["task"]["id"] == first["task"]["id"]
    assert again["task"]["title"] == "build"
    crew.finish(first["task"]["id"])
    assert crew.call("boss", "task add", title="build", key="build-7")["task"]["state"] == "complete"
    assert len(crew.events("task.added")) == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", ""), ("title", "  \n "), ("title", "x" * 2_001), ("title", "a\x07b"), ("priority", 1_000_001),
        ("priority", -1_000_001), ("key", "a b"), ("key", "x" * 121), ("for", "a|b"), ("needs", ["a,b"]),
        ("needs", [str(number) for number in range(17)]), ("require", [str(number) for number in range(17)]),
        ("race", "a b"), ("strategy", "whim"), ("expect", 10**12), ("parent", "t"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_in_a_task_is_refused(crew: Crew, field: str, value: Any) -> None:
    crew.add("other")
    with crew.unchanged(), pytest.raises(Invalid):
        crew.add("t", **{field: value})


@pytest.mark.parametrize("priority", [1_000_000, -1_000_000])
def test_the_greatest_priorities_are_kept(crew: Crew, priority: int) -> None:
    assert crew.add("t", priority=priority)["priority"] == priority
    assert crew.order() == ["t"]


def test_too_many_different_demands_are_refused_since_next_looks_at_each(crew: Crew) -> None:
    for number in range(additions.MAX_POOLS):
        crew.add(f"t{number}", needs=[f"c{number}"])
    with crew.unchanged(), pytest.raises(Quota):
        crew.add("more", needs=["another"])
    crew.add("same", needs=["c7"])
    crew.add("plain")


# --- what it waits for


def test_a_task_waits_for_all_that_it_comes_after(crew: Crew) -> None:
    for name in "ab":
        crew.add(name)
    assert crew.add("c", after=["a", "b", "a"])["waits_for"] == 2
    with crew.unchanged(), pytest.raises(Conflict, match="comes after"):
        crew.take("c")
    crew.finish("a")
    assert crew.show("c")["blocked_by"] == [{"id": "b", "state": "planned"}]
    assert crew.next()["task"]["id"] == "b"
    crew.done("b", crew.show("b")["token"])
    assert crew.next()["task"]["id"] == "c"
    crew.clean()


def test_a_dependency_that_is_complete_already_is_not_waited_for(crew: Crew) -> None:
    crew.add("a")
    crew.finish("a")
    assert "waits_for" not in crew.add("b", after=["a"])
    assert crew.take("b")


@pytest.mark.parametrize("state", ["failed", "quarantined", "cancelled"])
def test_what_comes_after_a_task_that_did_not_work_waits_until_that_is_planned_again_and_complete(
    crew: Crew, state: str
) -> None:
    crew.bring("a", state)
    crew.add("b", after=["a"])
    assert crew.show("b")["blocked_by"] == [{"id": "a", "state": state}]
    with pytest.raises(NotFound):
        crew.next("v")
    crew.call("boss", "task move", id="a", state="planned")
    crew.finish("a", "v")
    assert crew.next("v")["task"]["id"] == "b"
    crew.clean()


def test_a_dependency_on_itself_or_on_nothing_is_refused(crew: Crew) -> None:
    crew.add("a")
    with crew.unchanged():
        with pytest.raises(Invalid, match="itself"):
            crew.add("t", after=["a", "t"])
        with pytest.raises(NotFound, match="no task nope"):
            crew.add("t", after=["a", "nope"])
        with pytest.raises(Quota):
            crew.add("t", after=[f"x{number}" for number in range(additions.MAX_DEPENDENCIES + 1)])


def test_a_thousand_that_wait_for_one_are_ready_when_it_is_complete(crew: Crew) -> None:
    crew.add("a")
    for number in range(1_100):
        crew.add(f"t{number:04d}", after=["a"])
    crew.finish("a")
    ready = crew.store.look(lambda tx: tx.scan(1, "ready\t", 5_000).rows)
    assert len(ready) == 1_100
    assert not crew.store.look(lambda tx: tx.fetch([("td\t", "td\n")], 10).rows)


def test_one_that_waits_for_a_thousand_is_ready_after_the_last(crew: Crew) -> None:
    names = [f"t{number:03d}" for number in range(600)]
    for name in names:
        crew.add(name)
    crew.add("last", after=names, priority=10)
    for name in names[:-1]:
        crew.finish(name)
    assert crew.next()["task"]["id"] == names[-1]
    crew.done(names[-1], crew.show(names[-1])["token"])
    assert crew.next()["task"]["id"] == "last"
    assert len(crew.call("v", "task inputs", id="last")["inputs"]) == 600


# --- in one transaction: circles


def split(crew: Crew, *children: Any, parent: str = "p") -> list[str]:
    if crew.record(f"t\t{parent}") is None:
        crew.add(parent)
    token = crew.take(parent)
    made: list[str] = crew.call("w", "task split", id=parent, token=token, children=list(children))["tasks"]
    return made


def one(name: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "title": name, **fields}


def test_tasks_that_come_together_may_name_each_other_in_any_order(crew: Crew) -> None:
    made = split(crew, one("c", after=["b"]), one("b", after=["a"]), one("a"))
    assert sorted(made) == ["a", "b", "c"]
    assert crew.order() == ["a", "b", "c", "p"]
    crew.clean()


@pytest.mark.parametrize(
    "children",
    [
        [one("a", after=["b"]), one("b", after=["a"])],
        [one("a", after=["c"]), one("b", after=["a"]), one("c", after=["b"]), one("d")],
        [one("a", after=["a"])],
    ],
)
def test_tasks_that_wait_for_each_other_in_a_circle_are_refused_together(crew: Crew, children: Any) -> None:
    with pytest.raises(Invalid, match=r"cycle|itself"):
        split(crew, *children)
    assert crew.state("p") == "executing"
    assert [crew.record(f"t\t{child['id']}") for child in children] == [None] * len(children)
    crew.clean()


def test_a_child_cannot_wait_for_its_parent_nor_for_what_waits_for_it(crew: Crew) -> None:
    """The parent waits for its children, so this would be a circle that nothing ever leaves."""
    crew.add("p")
    crew.add("q", parent="p")
    crew.add("x", after=["p"])
    crew.add("family")
    crew.add("y", after=["x"], parent="family")
    crew.add("z", after=["family"])
    for after in ("p", "q", "x", "y", "family", "z"):
        with crew.unchanged(), pytest.raises(Invalid, match=r"waits for it|itself") as refused:
            crew.add("t", parent="q", after=[after])
        assert refused.value.field == "after"
    crew.add("free")
    crew.add("t", parent="q", after=["free"])
    crew.add("u", parent="q", after=["t"])  # children may wait for each other
    assert set(crew.order()) == {"p", "q", "x", "family", "y", "z", "free", "t", "u"}
    crew.clean()


def test_a_split_that_would_close_a_circle_through_the_parent_is_refused(crew: Crew) -> None:
    crew.add("p")
    crew.add("x", after=["p"])
    for after in ("p", "x"):
        with pytest.raises(Invalid):
            split(crew, one("a"), one("b", after=[after]))
    assert crew.record("t\ta") is None


@pytest.mark.parametrize(
    "child",
    [
        {}, {"title": ""}, {"title": 5}, {"title": "x", "priority": "high"}, {"title": "x", "priority": 1.5},
        {"title": "x", "priority": True}, {"title": "x", "after": "a"}, {"title": "x", "after": [5]},
        {"title": "x", "after": {"a": 1}}, {"title": "x", "id": 5}, {"title": "x", "needs": "abc"},
        {"title": "x", "needs": [None]}, {"title": "x", "state": []}, {"title": "x", "state": "complete"},
        {"title": "x", "expect": "5m"}, {"title": "x", "attempts": "x"}, {"title": "x", "attempts": -2},
        {"title": "x", "key": 7}, {"title": "x", "for": 7}, {"title": "x", "race": ["a"]}, {"title": "x", "run": 7},
        {"title": "x", "require": "ab"}, {"title": "x", "payload": float("nan")}, {"title": "x", "strategy": ["a"]},
        {"title": "x", "bid_window": "x"}, {"title": "x", "colour": "red"}, {"title": "x", "id": "p"},
    ],
)  # fmt: skip
def test_malformed_children_are_refused_by_name_and_nothing_is_changed(crew: Crew, child: dict[str, Any]) -> None:
    crew.add("p")
    token = crew.take("p")
    with crew.unchanged(), pytest.raises((Invalid, Conflict)):
        crew.call("w", "task split", id="p", token=token, children=[one("good"), child])


@pytest.mark.parametrize("children", [[], {}, "x", None, [1], [[]], [{"title": "x"}] * 1_001])
def test_a_split_needs_a_list_of_objects(crew: Crew, children: Any) -> None:
    crew.add("p")
    token = crew.take("p")
    with crew.unchanged(), pytest.raises(Invalid):
        crew.call("w", "task split", id="p", token=token, children=children)


# --- parents and children


def test_a_parent_waits_for_its_children_and_its_progress_is_theirs(crew: Crew) -> None:
    split(crew, one("a"), one("b"))
    assert crew.show("p")["children"] | {"ids": 0} == {
        "total": 2, "open": 2, "planned": 2, "progress": 0, "ids": 0, "more": False,
    }  # fmt: skip
    with pytest.raises(Conflict, match="children"):
        crew.take("p", "v")
    crew.finish("a", result={"n": 1})
    token = crew.take("b")
    crew.call("w", "task progress", id="b", token=token, percent=50)
    assert crew.show("p")["progress"] == 75
    crew.done("b", token, result={"n": 2})
    answer = crew.next()
    assert answer["task"]["id"] == "p"
    assert answer["task"]["inputs"] is True
    assert crew.call("w", "task inputs", id="p")["inputs"] == {"a": {"n": 1}, "b": {"n": 2}}
    crew.done("p", answer["token"])
    crew.clean()


def test_a_task_that_gets_a_child_while_it_is_worked_on_cannot_be_finished_before_it(crew: Crew) -> None:
    crew.add("p")
    token = crew.take("p")
    crew.add("c", parent="p")
    with crew.unchanged(), pytest.raises(Conflict, match="open children"):
        crew.done("p", token)
    crew.finish("c", "v")
    assert crew.done("p", token)["task"]["state"] == "complete"


@pytest.mark.parametrize("state", ["complete", "failed", "cancelled", "quarantined"])
def test_what_is_over_gets_no_children(crew: Crew, state: str) -> None:
    crew.bring("p", state)
    with crew.unchanged(), pytest.raises(Conflict):
        crew.add("c", parent="p")


def test_a_child_that_failed_keeps_its_parent_waiting_until_it_is_called_off(crew: Crew) -> None:
    split(crew, one("a"))
    crew.fail("a", crew.take("a"), kind="permanent")
    with pytest.raises(Conflict):
        crew.take("p")
    crew.call("boss", "task cancel", id="a")
    assert crew.show("p")["progress"] == 100
    assert crew.take("p")


def test_a_child_that_is_planned_again_is_waited_for_again(crew: Crew) -> None:
    split(crew, one("a"), one("b"))
    crew.call("boss", "task cancel", id="a")
    crew.finish("b")
    crew.call("boss", "task move", id="a", state="planned")
    with pytest.raises(Conflict):
        crew.take("p")
    crew.finish("a")
    crew.finish("p")
    assert crew.show("p")["children"]["open"] == 0
    crew.clean()


def test_a_child_of_a_complete_parent_that_is_planned_again_changes_nothing_about_the_parent(crew: Crew) -> None:
    split(crew, one("a"))
    crew.call("boss", "task cancel", id="a")
    crew.finish("p")
    crew.call("boss", "task move", id="a", state="planned")
    assert crew.show("p")["children"]["open"] == 0
    assert crew.state("p") == "complete"


# --- calling off


def test_calling_off_ends_the_work_and_whoever_does_it_is_told(crew: Crew) -> None:
    crew.add("t")
    token = crew.take("t")
    crew.call("boss", "task cancel", id="t", why="no longer wanted")
    assert [kind for kind, _ in crew.told("w")] == ["cancelled"]
    assert "no longer wanted" in crew.told("w")[0][1]
    with pytest.raises(Fenced, match="cancelled") as late:
        crew.done("t", token)
    assert (late.value.state, late.value.holder) == ("cancelled", None)
    with pytest.raises(NotFound):
        crew.next("v")
    crew.clean()


def test_calling_off_takes_the_children_along_however_many_and_however_deep(crew: Crew) -> None:
    crew.add("p")
    for number in range(1_050):
        crew.add(f"c{number}", parent="p")
    above = "c0"
    for depth in range(1_200):
        crew.add(f"d{depth}", parent=above)
        above = f"d{depth}"
    crew.finish("c1")
    token = crew.take(above)
    answer = crew.call("boss", "task cancel", id="p")
    assert answer["count"] == 1 + 1_049 + 1_200
    assert len(answer["cancelled"]) == 1_000, "the first of them"
    assert crew.state("c1") == "complete"
    assert crew.state(above) == "cancelled"
    with pytest.raises(Fenced):
        crew.done(above, token)
    crew.clean()


def test_a_task_whose_holder_was_silent_for_too_long_can_be_called_off_planned_and_taken_again(crew: Crew) -> None:
    crew.add("t")
    old = crew.take("t")
    crew.now += TTL
    crew.call("boss", "task cancel", id="t")
    crew.call("boss", "task move", id="t", state="planned")
    new = crew.take("t", "v")
    with pytest.raises(Fenced):
        crew.done("t", old)
    crew.done("t", new, "v")
    crew.clean()


def test_what_is_complete_cannot_be_called_off_and_what_is_called_off_stays_so(crew: Crew) -> None:
    crew.bring("a", "complete")
    with crew.unchanged(), pytest.raises(Conflict):
        crew.call("boss", "task cancel", id="a")
    crew.bring("b", "cancelled")
    assert crew.call("boss", "task cancel", id="b")["cancelled"] == []
    assert len([event for event in crew.events("task.moved") if event["subject"] == "b"]) == 1


# --- races


def test_of_a_race_the_first_to_finish_wins_and_late_results_are_refused(crew: Crew) -> None:
    for name in "abc":
        crew.add(name, race="r")
    crew.add("other", race="s")
    tokens = {name: crew.take(name, f"w{name}") for name in "ab"}
    crew.done("b", tokens["b"], "wb", result={"by": "b"})
    assert crew.states("a", "b", "c", "other") == ["cancelled", "complete", "cancelled", "planned"]
    with pytest.raises(Fenced, match="cancelled"):
        crew.done("a", tokens["a"], "wa", result={"by": "a"})
    assert "result" not in crew.show("a")
    assert any("b was first" in text for _, text in crew.told("wa"))
    crew.clean()


def test_a_failure_does_not_win_a_race(crew: Crew) -> None:
    crew.add("a", race="r")
    crew.add("b", race="r")
    crew.fail("a", crew.take("a"), kind="permanent")
    assert crew.state("b") == "planned"
    crew.finish("b")
    assert crew.states("a", "b") == ["failed", "complete"]


def test_a_race_of_more_than_a_thousand_is_called_off_as_a_whole(crew: Crew) -> None:
    for number in range(1_100):
        crew.add(f"t{number}", race="r")
    first = crew.next()
    crew.done(first["task"]["id"], first["token"])
    with pytest.raises(NotFound):
        crew.next()


# --- payloads and results


GOOD: list[Any] = [
    {}, [], 0, -1, 1.5, "", "text", False, {"a": [1, {"b": None}]}, "é\u2028", 2**53, "x" * (MAX_JSON_CHARS - 2),
]  # fmt: skip


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


BAD: list[Any] = [
    "\x1a", "a\x1ab", {"\x1a": 1}, {"a": ["\x1a"]}, float("nan"), float("inf"), [float("-inf")], 2**53 + 1,
    -(2**53) - 1, deep(MAX_JSON_DEPTH + 1), "x" * MAX_JSON_CHARS, {1: 2}, {"a": {1, 2}}, b"bytes", ...,
]  # fmt: skip


@pytest.mark.parametrize("value", [*GOOD, deep(MAX_JSON_DEPTH)])
def test_plain_json_is_kept_as_it_is_as_payload_and_as_result(crew: Crew, value: Any) -> None:
    crew.add("t", payload=value)
    answer = crew.next()
    assert answer["task"]["payload"] == value
    crew.done("t", answer["token"], result=value)
    assert crew.show("t")["payload"] == crew.show("t")["result"] == value
    crew.add("u", after=["t"])
    assert crew.call("w", "task inputs", id="u")["inputs"] == {"t": value}


@pytest.mark.parametrize("value", BAD, ids=repr)
def test_what_is_not_plain_json_or_too_large_is_refused_and_nothing_is_changed(crew: Crew, value: Any) -> None:
    crew.add("t")
    token = crew.take("t")
    with crew.unchanged():
        with pytest.raises(Invalid) as refused:
            crew.add("u", payload=value)
        assert refused.value.field == "payload"
        with pytest.raises(Invalid) as refused:
            crew.done("t", token, result=value)
        assert refused.value.field == "result"
    crew.done("t", token)


def test_a_result_must_have_what_the_task_requires(crew: Crew) -> None:
    crew.add("t", require=["url", "size"])
    token = crew.take("t")
    for result in (None, [], "url", {"url": 1}, ["url", "size"]):
        with crew.unchanged(), pytest.raises(Invalid, match="size"):
            crew.done("t", token, result=result)
    assert crew.done("t", token, result={"url": None, "size": 0})["task"]["state"] == "complete"


# --- notes


def test_notes_are_kept_and_the_last_one_is_in_the_briefing(crew: Crew) -> None:
    crew.add("t")
    crew.call("w", "boot", client=5)
    crew.take("t", client=5)
    for number in range(board.MAX_NOTES + 7):
        crew.call("w", "task note", id="t", text=f"step {number}", client=5)
    notes = [note["text"] for note in crew.show("t")["notes"]]
    assert notes == [f"step {number}" for number in range(7, board.MAX_NOTES + 7)]
    briefing = crew.call("w", "boot", client=5)
    assert briefing["task"]["id"] == "t"
    assert briefing["task"]["note"] == f"step {board.MAX_NOTES + 6}"


def test_whoever_takes_a_task_next_is_told_where_it_stood(crew: Crew) -> None:
    crew.add("t")
    token = crew.take("t")
    crew.call("w", "task release", id="t", token=token, note="half of it is on branch x")
    assert crew.next("v")["task"]["note"] == "half of it is on branch x"


@pytest.mark.parametrize("text", ["", "  ", "x" * 2_001, "a\x1ab"])
def test_an_empty_or_broken_note_is_refused(crew: Crew, text: str) -> None:
    crew.add("t")
    with crew.unchanged(), pytest.raises(Invalid):
        crew.call("w", "task note", id="t", text=text)


# --- lists


def test_lists_show_those_at_work_first_then_by_priority_and_age(crew: Crew) -> None:
    for name, priority in (("a", 0), ("b", 5), ("c", 0), ("d", 0), ("e", 9)):
        crew.add(name, priority=priority)
        crew.now += 1
    crew.take("c")
    crew.call("boss", "task cancel", id="e")
    listed = [task["id"] for task in crew.call("v", "task list")["tasks"]]
    assert listed == ["c", "b", "a", "d", "e"]
    assert [task["id"] for task in crew.call("v", "task list", state="planned")["tasks"]] == ["b", "a", "d"]
    assert [task["id"] for task in crew.call("v", "task list", agent="w")["tasks"]] == ["c"]
    assert crew.call("v", "task list", agent="nobody")["tasks"] == []


def test_a_task_that_was_given_back_is_nobodys(crew: Crew) -> None:
    crew.add("t")
    crew.call("w", "task release", id="t", token=crew.take("t"))
    assert crew.show("t")["agent"] is None
    assert crew.call("v", "task list", agent="w")["tasks"] == []


def test_every_task_is_in_exactly_one_place_whatever_its_state(crew: Crew) -> None:
    for state in sorted(STATES, key="executing".__eq__):
        crew.bring(state, state)
    crew.add("blocked", after=["planned"])
    crew.add("child", parent="scoped")
    everywhere = {prefix for places in PLACES.values() for prefix in places}
    entries = crew.store.look(lambda tx: [row[0] for prefix in everywhere for row in tx.scan(1, prefix, 100).rows])
    assert sorted(entry.rpartition("\t")[2] for entry in entries) == sorted([*STATES, "blocked", "child"])
