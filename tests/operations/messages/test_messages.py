"""Messages: for whom, in which order, until when, how often told; and a model of mailboxes against random traffic."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from dibs.errors import Fenced, Forbidden, Invalid, Killed, NotFound, Quota
from dibs.operations.claims import grants
from dibs.operations.core import long_jobs
from dibs.operations.core.policy import WORK
from dibs.operations.guards.audits import ACTIVITY, AUDIT
from dibs.operations.messages import broadcasts, mailbox, outbox
from dibs.operations.messages.records import mailbox_key, message_key
from tests.operations.engines import OnFile
from tests.operations.fleet import Fleet

SECOND, MINUTE, DAY = 1_000, 60_000, 86_400_000


def work(**settings: int) -> dict[str, Any]:
    """Settings of messages, beside the usual ones."""
    return {**WORK, "messages": {**WORK["messages"], **settings}}


def among(*agents: str, **settings: int) -> Fleet:
    """A fleet of these agents."""
    fleet = Fleet(work=work(**settings))
    for agent in agents:
        fleet.call(agent, "boot")
    return fleet


@pytest.fixture
def fleet() -> Fleet:
    return among("a", "b", "c")


def send(fleet: Fleet, sender: str, to: str, text: str = "hello", **fields: Any) -> str:
    found: str = fleet.call(sender, "send", to=to, text=text, **fields)["message"]
    return found


def texts(fleet: Fleet, agent: str, **fields: Any) -> list[str]:
    return [message["text"] for message in fleet.call(agent, "inbox", **fields)["messages"]]


def told(fleet: Fleet, agent: str, operation: Any = ACTIVITY) -> list[str]:
    return [message["text"] for message in fleet.internal(agent, operation)["messages"]]


def count(fleet: Fleet, agent: str) -> int:
    box = fleet.record(mailbox_key(agent))
    return box["count"] if box is not None else 0


# --- for whom


def test_a_message_to_an_agent_is_in_its_inbox_and_in_nobody_elses(fleet: Fleet) -> None:
    answer = fleet.call("a", "send", to="b", text="are you there?", type="question", payload={"n": [1, None]})
    assert answer["to"] == ["b"]
    (message,) = fleet.call("b", "inbox")["messages"]
    assert message["message"] == answer["message"]
    assert (message["from"], message["type"], message["text"]) == ("a", "question", "are you there?")
    assert message["payload"] == {"n": [1, None]}
    assert texts(fleet, "a") == texts(fleet, "c") == []
    fleet.clean()


def test_a_message_to_all_reaches_everybody_but_the_sender_and_those_who_left_or_were_killed() -> None:
    fleet = among("a", "b", "b/child", "left", "killed", "killed/child")
    fleet.call("left", "leave")
    fleet.call("a", "kill", agent="killed", why="test")
    answer = fleet.call("a", "send", to="all", text="stop")
    assert answer["to"] == ["b", "b/child"]
    assert "full" not in answer
    ids = [message["message"] for agent in answer["to"] for message in fleet.call(agent, "inbox")["messages"]]
    assert ids == [answer["message"]] * 2
    fleet.call("left", "boot")
    assert texts(fleet, "left") == []


def test_a_message_to_a_type_reaches_the_agents_that_booted_as_that_type() -> None:
    fleet = among("a")
    for agent, kind in (("w1", "worker"), ("w2", "worker"), ("r", "reviewer")):
        fleet.call(agent, "boot", type=kind)
    assert fleet.call("w1", "send", to="type:worker", text="x")["to"] == ["w2"]
    assert fleet.call("a", "send", to="type:worker", text="y")["to"] == ["w1", "w2"]
    assert (texts(fleet, "w1"), texts(fleet, "w2"), texts(fleet, "r")) == (["y"], ["x", "y"], [])


def test_who_registers_after_a_message_to_all_does_not_get_it(fleet: Fleet) -> None:
    send(fleet, "a", "all", "early")
    assert texts(fleet, "late") == []


def test_an_agent_may_leave_itself_a_message(fleet: Fleet) -> None:
    send(fleet, "a", "a", "note to self")
    assert texts(fleet, "a") == ["note to self"]


def test_a_message_by_id_waits_for_an_agent_that_left_or_was_killed(fleet: Fleet) -> None:
    fleet.call("b", "leave")
    fleet.call("a", "kill", agent="c", why="test")
    send(fleet, "a", "b")
    send(fleet, "a", "c")
    fleet.call("a", "revive", agent="c")
    assert [len(fleet.call(agent, "boot")["messages"]) for agent in ("b", "c")] == [1, 1]


@pytest.mark.parametrize("to", ["nobody", "type:painter", "all", "b/child"])
def test_a_message_to_nobody_is_not_found_and_changes_nothing(to: str) -> None:
    fleet = among("a")
    head = fleet.store.head()
    with pytest.raises(NotFound):
        send(fleet, "a", to)
    assert fleet.store.head().commit == head.commit


@pytest.mark.parametrize(
    "fields",
    [
        {"to": "b", "text": ""},
        {"to": "b", "text": "  \n"},
        {"to": "b", "text": "a\x1bb"},
        {"to": "b", "text": "x" * 2_001},
        {"to": "b", "text": "x", "type": "two words"},
        {"to": "b", "text": "x", "type": "line\nbreak"},
        {"to": "b", "text": "x", "type": "x" * 51},
        {"to": "b", "text": "x", "payload": "x" * outbox.MAX_PAYLOAD_CHARS},
        {"to": "b", "text": "x", "payload": {"x": float("nan")}},
        {"to": "b", "text": "x", "payload": ["\x1a"]},
        {"to": "b", "text": "x", "expires": 0},
        {"to": "b", "text": "x", "expires": 400 * DAY},
        {"to": "type:", "text": "x"},
        {"to": "", "text": "x"},
        {"to": "two words", "text": "x"},
        {"to": "-", "text": "x"},
        {"to": "b", "text": "x", "reply": "m\t1\x1b"},
    ],
)
def test_what_makes_no_sense_is_invalid_and_changes_nothing(fleet: Fleet, fields: Any) -> None:
    head = fleet.store.head()
    with pytest.raises(Invalid):
        fleet.call("a", "send", **fields)
    assert fleet.store.head().commit == head.commit


@pytest.mark.parametrize("name", ["dibs", "Dibs", "DIBS"])
def test_nobody_sends_under_the_name_by_which_dibs_speaks(fleet: Fleet, name: str) -> None:
    with pytest.raises(Invalid, match="is dibs' own name"):
        send(fleet, name, "a")


def test_a_payload_alone_is_a_message(fleet: Fleet) -> None:
    send(fleet, "a", "b", "", payload=[1])
    assert fleet.call("b", "inbox")["messages"][0]["payload"] == [1]


def test_a_killed_agent_and_a_fenced_process_send_nothing_and_read_nothing() -> None:
    fleet = among("b")
    fleet.call("a", "boot", client=1)
    fleet.call("a", "boot", client=2)
    with pytest.raises(Fenced):
        fleet.call("a", "send", client=1, to="b", text="x")
    fleet.call("b", "kill", agent="a", why="test")
    with pytest.raises(Killed):
        send(fleet, "a", "b")
    with pytest.raises(Killed):
        fleet.call("a", "inbox")
    assert texts(fleet, "b") == []


def test_a_retry_with_the_same_request_id_sends_nothing_a_second_time(fleet: Fleet) -> None:
    first = fleet.call("a", "send", request="r1", to="all", text="once")
    fleet.now += 5
    assert fleet.call("a", "send", request="r1", to="all", text="once") == first
    assert texts(fleet, "b") == texts(fleet, "c") == ["once"]
    with pytest.raises(Invalid):
        fleet.call("a", "send", request="r1", to="all", text="another")
    posted = fleet.events("message.posted")
    assert [event["data"]["request"] for event in posted] == [["send", "r1"]] * 2


# --- order


def test_messages_of_one_millisecond_keep_the_order_in_which_they_were_committed(fleet: Fleet) -> None:
    ids = iter(range(100, 0, -1))  # later ones sort before
    fleet.store._new_id = lambda: f"{next(ids):012x}"
    said = [str(number) for number in range(40)]
    for text in said:
        send(fleet, random.Random(text).choice("ac"), "b", text)
    assert texts(fleet, "b") == said


def test_the_order_survives_an_inbox_that_was_emptied_ahead_of_the_clock(fleet: Fleet) -> None:
    for number in range(30):
        send(fleet, "a", "b", str(number))
    assert fleet.record(mailbox_key("b"))["last"] > fleet.now
    fleet.call("b", "inbox")
    fleet.call("b", "ack", message="all")
    assert fleet.record(mailbox_key("b")) is None
    for number in range(3):
        send(fleet, "a", "b", f"new {number}")
    assert texts(fleet, "b") == ["new 0", "new 1", "new 2"]


def test_a_long_inbox_is_shown_in_parts_from_the_oldest_on(fleet: Fleet) -> None:
    said = [str(number) for number in range(120)]
    for text in said:
        send(fleet, "a", "b", text)
    seen: list[str] = []
    while True:
        page = fleet.call("b", "inbox")
        seen += [message["text"] for message in page["messages"]]
        for message in page["messages"]:
            fleet.call("b", "ack", message=message["message"])
        if not page["more"]:
            break
    assert seen == said


# --- delivery


def test_an_answer_that_was_lost_loses_no_message(fleet: Fleet) -> None:
    send(fleet, "a", "b", "plain")
    send(fleet, "a", "b", "urgent", ack=True)
    fleet.internal("b", ACTIVITY)  # nobody read that answer
    assert texts(fleet, "b") == ["plain", "urgent"]
    assert [message["text"] for message in fleet.call("b", "boot")["messages"]] == ["plain", "urgent"]
    fleet.now += MINUTE
    assert told(fleet, "b") == ["urgent"]


@pytest.mark.parametrize("operation", [ACTIVITY, AUDIT], ids=lambda operation: operation.name)
def test_one_that_wants_an_acknowledgement_is_told_again_until_it_gets_one(fleet: Fleet, operation: Any) -> None:
    identifier = send(fleet, "a", "b", "please", ack=True)
    assert told(fleet, "b", operation) == ["please"]
    for _ in range(3):
        fleet.now += MINUTE - 1
        assert told(fleet, "b", operation) == []
        fleet.now += 1
        assert told(fleet, "b", operation) == ["please"]
    assert fleet.call("b", "inbox")["messages"][0]["delivery"] == 5
    fleet.call("b", "ack", message=identifier)
    fleet.now += MINUTE
    assert told(fleet, "b", operation) == []


def test_every_listing_counts_as_a_delivery_and_puts_the_next_one_off(fleet: Fleet) -> None:
    send(fleet, "a", "b", "please", ack=True)
    told(fleet, "b")
    fleet.now += MINUTE - 1
    texts(fleet, "b")
    fleet.now += MINUTE - 1
    assert told(fleet, "b") == []
    fleet.now += 1
    assert texts(fleet, "b", new=True) == ["please"]


def test_what_the_inbox_showed_is_no_news_for_a_hook(fleet: Fleet) -> None:
    send(fleet, "a", "b")
    texts(fleet, "b")
    assert told(fleet, "b") == []


def test_new_gives_what_was_never_told_and_nothing_twice(fleet: Fleet) -> None:
    send(fleet, "a", "b", "one")
    assert texts(fleet, "b", new=True) == ["one"]
    send(fleet, "a", "b", "two")
    assert texts(fleet, "b", new=True) == ["two"]
    assert texts(fleet, "b", new=True) == []
    assert texts(fleet, "b") == ["one", "two"]


def test_what_is_told_again_comes_in_its_place_before_what_is_newer(fleet: Fleet) -> None:
    send(fleet, "a", "b", "old", ack=True)
    told(fleet, "b")
    fleet.now += MINUTE
    send(fleet, "a", "b", "young")
    assert told(fleet, "b") == ["old", "young"]


def test_a_message_of_a_version_without_mailboxes_is_listed_and_can_be_acknowledged(fleet: Fleet) -> None:
    old = {"message": "m0", "to": "b", "from": "a", "type": "ask", "text": "old", "data": {}, "at": fleet.now}
    fleet.store.run(lambda tx: tx.put(message_key("b", fleet.now, "m0"), old))
    send(fleet, "a", "b", "new")
    assert texts(fleet, "b") == ["old", "new"]
    fleet.now += 30 * DAY
    fleet.call("b", "ack", message="m0")
    assert texts(fleet, "b") == []  # the new one's time is over


# --- waiting


def test_a_wait_says_when_to_look_again_and_gives_what_comes(fleet: Fleet) -> None:
    answer = fleet.call("b", "inbox", wait=60_000, wake="")
    assert (answer["for"], answer["look_in"]) == ("a message", mailbox.POLL_MS)
    assert fleet.call("b", "inbox", wait=700, waiter=answer["waiting"], wake="")["look_in"] == 700
    send(fleet, "a", "b", "there")
    found = fleet.call("b", "inbox", wait=50_000, waiter=answer["waiting"], wake="w1")
    assert [message["text"] for message in found["messages"]] == ["there"]
    assert "waiting" not in found


def test_a_wait_that_is_over_answers_with_an_empty_list(fleet: Fleet) -> None:
    send(fleet, "a", "b", "known already")
    texts(fleet, "b")
    answer = fleet.call("b", "inbox", wait=0, waiter="inbox", wake="w1")
    assert answer == {"messages": [], "more": False, "cursor": None}


def test_whoever_posts_wakes_every_process_that_waits(fleet: Fleet) -> None:
    for channel in ("w1", "w2"):
        fleet.call("b", "inbox", wait=60_000, wake=channel)
    send(fleet, "a", "b")
    assert {"w1", "w2"} <= fleet.store.woken


def test_who_has_its_answer_or_did_not_look_for_long_is_not_woken(fleet: Fleet) -> None:
    for channel in ("done", "gone"):
        fleet.call("b", "inbox", wait=60_000, wake=channel)
    fleet.call("b", "inbox", wait=0, waiter="inbox", wake="done")
    fleet.now += mailbox.WAITER_LEASE_MS
    fleet.call("b", "inbox", wait=60_000, wake="here")
    send(fleet, "a", "b")
    assert {name for name in fleet.store.woken if not name.startswith("@")} == {"here"}


def test_further_looks_of_one_wait_write_only_now_and_then(fleet: Fleet) -> None:
    fleet.call("b", "inbox", wait=60_000, wake="w1")
    head = fleet.store.head().commit
    fleet.now += mailbox.POLL_MS
    fleet.call("b", "inbox", wait=55_000, wake="w1")
    assert fleet.store.head().commit == head
    fleet.now += mailbox.POLL_MS
    fleet.call("b", "inbox", wait=50_000, wake="w1")
    assert fleet.store.head().commit == head + 1


def test_more_processes_than_are_woken_look_often(fleet: Fleet) -> None:
    for number in range(mailbox.MAX_WAITERS_WOKEN):
        assert fleet.call("b", "inbox", wait=60_000, wake=f"w{number}")["look_in"] == mailbox.POLL_MS
    assert fleet.call("b", "inbox", wait=60_000, wake="one-more")["look_in"] == mailbox.EVENT_POLL_MS


def test_a_wait_looks_when_something_is_to_be_told_again(fleet: Fleet) -> None:
    send(fleet, "a", "b", "please", ack=True)
    texts(fleet, "b", new=True)
    fleet.now += MINUTE - 400
    answer = fleet.call("b", "inbox", wait=60_000)
    assert answer["look_in"] == 400
    fleet.now += 400
    assert texts(fleet, "b", wait=59_000, waiter="inbox") == ["please"]


def test_a_wait_for_a_thread_leaves_other_messages_for_later(fleet: Fleet) -> None:
    root = send(fleet, "b", "a", "question")
    send(fleet, "c", "b", "something else")
    assert "waiting" in fleet.call("b", "inbox", wait=1_000, thread=root)
    send(fleet, "a", "-", "answer", reply=root)
    assert texts(fleet, "b", wait=1_000, thread=root) == ["answer"]
    assert texts(fleet, "b", new=True) == ["something else"]


def test_a_wait_with_a_request_id_gives_the_same_answer_again(fleet: Fleet) -> None:
    assert "waiting" in fleet.call("b", "inbox", request="r", wait=9_000)
    send(fleet, "a", "b", "one")
    found = fleet.call("b", "inbox", request="r", wait=8_000, waiter="inbox")
    assert found["messages"][0]["text"] == "one"
    assert fleet.call("b", "inbox", request="r", wait=9_000) == found


# --- acknowledgement


def test_an_acknowledged_message_is_gone_and_a_second_time_is_not_found(fleet: Fleet) -> None:
    identifier = send(fleet, "a", "b", ack=True)
    assert fleet.call("b", "ack", message=identifier) == {"message": identifier}
    assert texts(fleet, "b") == []
    with pytest.raises(NotFound):
        fleet.call("b", "ack", message=identifier)
    (told,) = texts(fleet, "a")  # who asked for it is told
    assert told.startswith("b acknowledged your message")
    (event,) = fleet.events("message.acknowledged")
    assert (event["agent"], event["subject"], event["data"]) == ("b", identifier, {"from": "a"})


def test_nobody_acknowledges_for_another_but_a_parent_for_its_child() -> None:
    fleet = among("a", "p", "p/child", "q")
    identifier = send(fleet, "a", "p/child")
    for agent in ("q", "a", "p/child/grandchild"):
        with pytest.raises(NotFound):
            fleet.call(agent, "ack", message=identifier)
    fleet.call("p", "ack", message=identifier)
    assert texts(fleet, "p/child") == []
    assert fleet.record(mailbox_key("p/child")) is None


def test_all_are_those_that_were_shown(fleet: Fleet) -> None:
    send(fleet, "a", "b", "seen")
    texts(fleet, "b")
    send(fleet, "a", "b", "not seen")
    fleet.call("b", "ack", message="all")
    assert texts(fleet, "b") == ["not seen"]
    assert count(fleet, "b") == 1


def test_a_copy_is_acknowledged_by_each_recipient_for_itself(fleet: Fleet) -> None:
    identifier = send(fleet, "a", "all")
    fleet.call("b", "ack", message=identifier)
    assert (texts(fleet, "b"), texts(fleet, "c")) == ([], ["hello"])


def test_who_asked_for_an_acknowledgement_hears_of_it(fleet: Fleet) -> None:
    asked, plain = send(fleet, "a", "b", "stop the build", ack=True), send(fleet, "a", "b", "by the way")
    texts(fleet, "b")
    fleet.call("b", "ack", message=plain)
    assert fleet.told("a") == []
    fleet.call("b", "ack", message=asked)
    ((kind, text),) = fleet.told("a")
    assert kind == "acknowledged"
    assert "acknowledged your message" in text
    assert "stop the build" in text
    fleet.clean()


def test_all_at_once_is_an_acknowledgement_too(fleet: Fleet) -> None:
    send(fleet, "a", "b", ack=True)
    texts(fleet, "b")
    fleet.call("b", "ack", message="all")
    assert [kind for kind, _ in fleet.told("a")] == ["acknowledged"]


# --- expiry


def test_a_message_whose_time_is_over_is_not_shown_and_cannot_be_acknowledged(fleet: Fleet) -> None:
    identifier = send(fleet, "a", "b", "short", expires=SECOND)
    send(fleet, "a", "b", "long")
    fleet.now += SECOND
    with pytest.raises(NotFound):
        fleet.call("b", "ack", message=identifier)
    assert told(fleet, "b") == ["long"]
    assert texts(fleet, "b") == ["long"]
    (event,) = fleet.events("message.expired")
    assert (event["agent"], event["subject"]) == ("b", identifier)
    assert count(fleet, "b") == 1
    assert texts(fleet, "a") == []  # it did not ask for an acknowledgement


@pytest.mark.parametrize("how", ["sweep", "inbox", "boot", "claim"])
def test_who_wanted_an_acknowledgement_is_told_that_there_was_none(fleet: Fleet, how: str) -> None:
    identifier = send(fleet, "a", "b", "please", ack=True, expires=90 * SECOND)
    told(fleet, "b")
    fleet.now += 90 * SECOND
    if how == "claim":
        fleet.now += -fleet.now % grants.SWEEP_ONE_IN  # a moment at which claims sweep on their way
        fleet.claim("c", "x.py")
    else:
        fleet.call("b", how)
    (message,) = fleet.call("a", "inbox")["messages"]
    assert (message["from"], message["type"], message["undelivered"]) == ("dibs", "undelivered", identifier)
    assert "shown 1 times and not acknowledged" in message["text"]
    assert message["recipient"] == "b"
    fleet.call("b", "sweep")
    assert len(fleet.call("a", "inbox")["messages"]) == 1
    fleet.clean()


def test_what_nobody_asked_for_again_expires_after_the_configured_life() -> None:
    fleet = among("a", "b", life=5 * MINUTE)
    send(fleet, "a", "b")
    fleet.now += 5 * MINUTE - 1
    assert texts(fleet, "b") == ["hello"]
    fleet.now += 1
    assert texts(fleet, "b") == []


def test_a_sweep_leaves_nothing_of_a_dead_conversation(fleet: Fleet) -> None:
    root = send(fleet, "a", "b", ack=True)
    send(fleet, "b", "-", reply=root)
    for _ in range(3):
        fleet.now += 8 * DAY
        fleet.call("c", "sweep")
    keys = fleet.store.look(lambda tx: tx.fetch([("m", "n")]).rows)
    assert keys == []


# --- room


def test_one_sender_fills_a_part_of_an_inbox_and_others_still_get_through() -> None:
    fleet = among("a", "b", "c", from_one=3, inbox=5)
    for _ in range(3):
        send(fleet, "a", "b")
    with pytest.raises(Quota) as refused:
        send(fleet, "a", "b")
    assert (refused.value.limit, refused.value.agent) == (3, "b")
    send(fleet, "c", "b")
    fleet.call("b", "inbox")
    fleet.call("b", "ack", message=fleet.call("b", "inbox")["messages"][0]["message"])
    send(fleet, "a", "b")
    assert [event["data"] for event in fleet.events("call.refused")] == [{"code": "quota"}]


def test_a_full_inbox_refuses_everybody_and_a_retry_is_refused_the_same_way() -> None:
    fleet = among("a", "b", "c", inbox=2)
    send(fleet, "a", "b")
    send(fleet, "a", "b")
    for _ in range(2):
        with pytest.raises(Quota) as refused:
            fleet.call("c", "send", request="r", to="b", text="x")
        assert refused.value.limit == 2
    assert count(fleet, "b") == 2


def test_of_several_those_without_room_are_named_and_the_others_get_it() -> None:
    fleet = among("a", "b", "c", inbox=1)
    send(fleet, "c", "b", "in the way")
    answer = fleet.call("a", "send", to="all", text="hear")
    assert (answer["to"], answer["full"]) == (["c"], ["b"])
    assert (texts(fleet, "c"), texts(fleet, "b")) == (["hear"], ["in the way"])


def test_when_nobody_of_several_has_room_it_is_refused() -> None:
    fleet = among("a", "b", "c", inbox=1)
    send(fleet, "a", "all")
    with pytest.raises(Quota):
        send(fleet, "a", "all")


def test_what_dibs_itself_would_say_into_a_full_inbox_is_dropped_and_logged(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(WORK["messages"], "inbox", 1)
    fleet.claim("a", "x.py")
    fleet.call("b", "ask", resource="x.py", text="first")
    with pytest.raises(Quota):
        fleet.call("b", "ask", resource="x.py", text="second")
    assert texts(fleet, "a") == ["first"]
    dropped = [(event["agent"], event["subject"], event["data"]) for event in fleet.events("message.dropped")]
    assert dropped == [("b", "a", {"type": "ask"})]
    fleet.claim("a", "y.py", mode="watch")
    fleet.claim("b", "y.py")  # whoever watches is told by dibs itself
    assert [event["agent"] for event in fleet.events("message.dropped")] == ["b", "dibs"]
    assert texts(fleet, "a") == ["first"]


def crowd(fleet: Fleet, count: int, **fields: Any) -> list[str]:
    """So many agents."""
    names = [f"w{number:04d}" for number in range(count)]
    for name in names:
        fleet.call(name, "boot", **fields)
    return names


def test_a_fleet_of_thousands_is_reached_in_steps_of_bounded_size() -> None:
    fleet = Fleet()
    names = crowd(fleet, 1_500)
    before = fleet.store.head().seq
    answer = fleet.call("w0000", "send", to="all", text="x", request="r1")
    assert (answer["count"], len(answer["to"])) == (1_499, long_jobs.MAX_IDS_LISTED)
    assert all(texts(fleet, name) == ["x"] for name in names[1:])
    sizes = Counter(event.commit for event in fleet.store.events(before, 10_000))
    assert max(sizes.values()) * broadcasts.RECORDS_PER_COPY <= long_jobs.RECORDS_PER_STEP
    assert fleet.call("w0000", "send", to="all", text="x", request="r1")["message"] == answer["message"]
    assert texts(fleet, "w1499") == ["x"]
    fleet.clean()


def test_a_message_whose_sender_died_on_the_way_reaches_the_rest_with_the_next_sweeps() -> None:
    fleet = Fleet()
    fleet.carries_on = False
    names = crowd(fleet, 600)
    fleet.call("w0000", "send", to="all", text="x")
    assert texts(fleet, "w0599") == []
    while fleet.call("janitor", "sweep")["more"]:
        pass
    assert all(texts(fleet, name) == ["x"] for name in names[1:])
    fleet.clean()


def test_many_who_have_no_room_are_named_and_when_nobody_has_it_is_refused() -> None:
    fleet = Fleet(work={**WORK, "messages": {**WORK["messages"], "from_one": 1}})
    crowd(fleet, 400)
    fleet.call("w0000", "send", to="w0001", text="first")
    answer = fleet.call("w0000", "send", to="all", text="x")
    assert (answer["count"], answer["full"]) == (398, ["w0001"])
    with pytest.raises(Quota):
        fleet.call("w0000", "send", to="all", text="y")
    with pytest.raises(NotFound):
        fleet.call("w0000", "send", to="type:nobody", text="y")


def test_everybody_may_answer_what_went_to_everybody_in_steps() -> None:
    fleet = Fleet()
    crowd(fleet, 300)
    sent = fleet.call("w0000", "send", to="all", text="who can?")
    assert fleet.call("w0299", "send", to="-", text="I can", reply=sent["message"])["to"] == ["w0000"]
    assert fleet.call("w0000", "send", to="-", text="then do", reply=sent["message"])["count"] == 299


# --- for those who will come


def test_a_message_can_be_left_for_an_agent_that_has_not_called_yet(fleet: Fleet) -> None:
    with pytest.raises(NotFound, match="--later"):
        send(fleet, "a", "dan", "welcome")
    send(fleet, "a", "dan", "welcome", later=True)
    send(fleet, "a", "eve", "too late", later=True, expires=1_000)
    assert texts(fleet, "dan") == ["welcome"]
    fleet.now += 2_000
    assert texts(fleet, "eve") == []
    for to in ("all", "-"):
        with pytest.raises(Invalid):
            send(fleet, "a", to, "x", later=True)
    fleet.clean()


def test_a_message_for_a_type_reaches_every_agent_of_it_that_comes_before_it_expires(fleet: Fleet) -> None:
    fleet.call("old", "boot", type="tester")
    fleet.call("other", "boot", type="writer")
    answer = fleet.call("ann", "send", to="type:tester", text="use port 81", later=True, expires=60_000)
    assert (answer["to"], answer["later"]) == (["old"], True)
    assert texts(fleet, "old") == ["use port 81"]
    fleet.now += 1_000
    assert [one["text"] for one in fleet.call("new", "boot", type="tester")["messages"]] == ["use port 81"]
    fleet.call("ann", "run start", name="r", id="r")
    fleet.call("joins", "run join", run="r", type="tester")
    assert texts(fleet, "joins") == ["use port 81"]
    fleet.call("other", "boot", type="tester")
    assert texts(fleet, "other") == ["use port 81"]
    fleet.now += 60_000
    fleet.call("late", "boot", type="tester")
    assert texts(fleet, "late") == []
    assert not [event for event in fleet.events("message.posted") if event["subject"] == "late"]
    fleet.clean()


def test_nobody_gets_a_kept_message_twice(fleet: Fleet) -> None:
    fleet.call("here", "boot", type="tester")
    fleet.call("ann", "send", to="type:tester", text="once", later=True)
    for agent in ("here", "new"):
        fleet.now += 10
        fleet.call(agent, "boot", type="tester")
        assert texts(fleet, agent) == ["once"]
        fleet.call(agent, "ack", message="all")
        fleet.now += 10
        fleet.call(agent, "leave")
        fleet.now += 10
        fleet.call(agent, "boot", type="tester")
        fleet.now += 10
        fleet.call(agent, "boot", type="writer")
        fleet.now += 10
        fleet.call(agent, "boot", type="tester")
        fleet.call("ann", "kill", agent=agent, why="test")
        fleet.now += 10
        fleet.call("ann", "revive", agent=agent)
        assert texts(fleet, agent) == []


def test_what_is_kept_while_one_is_away_is_there_when_it_comes_back(fleet: Fleet) -> None:
    for agent in ("left", "killed"):
        fleet.call(agent, "boot", type="tester")
    fleet.call("left", "leave")
    fleet.call("ann", "kill", agent="killed", why="test")
    fleet.now += 10
    fleet.call("ann", "send", to="type:tester", text="news", later=True)
    fleet.now += 10
    fleet.call("left", "boot")
    fleet.call("ann", "revive", agent="killed")
    assert texts(fleet, "left") == texts(fleet, "killed") == ["news"]


def test_who_got_a_kept_message_may_answer_it(fleet: Fleet) -> None:
    sent = fleet.call("ann", "send", to="type:tester", text="who?", later=True)["message"]
    fleet.now += 10
    fleet.call("new", "boot", type="tester")
    fleet.call("bob", "boot", type="writer")
    assert fleet.call("new", "send", to="-", text="I", reply=sent)["to"] == ["ann"]
    with pytest.raises(Forbidden):
        fleet.call("bob", "send", to="-", text="I", reply=sent)


def test_a_kept_message_that_nobody_came_for_is_told_to_who_wanted_to_know(fleet: Fleet) -> None:
    for text in ("nobody came", "somebody came"):
        fleet.call("ann", "send", to="type:tester", text=text, later=True, ack=True, expires=1_000)
        if text == "somebody came":
            break
        fleet.now += 2_000
        while fleet.call("janitor", "sweep")["more"]:
            pass
    fleet.now += 10
    fleet.call("new", "boot", type="tester")
    fleet.now += 2_000
    while fleet.call("janitor", "sweep")["more"]:
        pass
    told = [one["text"] for one in fleet.call("ann", "inbox")["messages"] if one["type"] == "undelivered"]
    assert [("none came" in text, "never" in text or "not acknowledged" in text) for text in told] == [
        (True, False), (False, True),
    ]  # fmt: skip
    fleet.clean()


def test_there_is_an_end_to_what_is_kept_for_a_type(fleet: Fleet) -> None:
    for number in range(broadcasts.MAX_MESSAGES_KEPT):
        fleet.call("ann", "send", to="type:tester", text=str(number), later=True, expires=60_000)
    with pytest.raises(Quota):
        fleet.call("ann", "send", to="type:tester", text="one more", later=True)
    fleet.call("new", "boot", type="tester")
    assert len(fleet.call("new", "inbox", limit=1_000)["messages"]) == broadcasts.MAX_MESSAGES_KEPT
    fleet.now += 60_001
    fleet.call("ann", "send", to="type:tester", text="now", later=True)


@pytest.mark.parametrize("to", ["all", "-", "type:", "type:two words"])
def test_what_cannot_be_kept_for_later_is_said(fleet: Fleet, to: str) -> None:
    with pytest.raises(Invalid):
        fleet.call("ann", "send", to=to, text="x", later=True)


# --- threads


def test_a_reply_goes_to_the_other_side_and_belongs_to_the_thread(fleet: Fleet) -> None:
    root = send(fleet, "a", "b", "shall we?")
    answer = fleet.call("b", "send", to="-", text="yes", reply=root)
    assert (answer["to"], answer["thread"]) == (["a"], root)
    (message,) = fleet.call("a", "inbox")["messages"]
    assert (message["reply_to"], message["thread"]) == (root, root)
    again = fleet.call("a", "send", to="-", text="then go", reply=answer["message"])
    assert (again["to"], again["thread"]) == (["b"], root)
    send(fleet, "c", "b", "by the way")
    assert texts(fleet, "b", thread=root) == ["shall we?", "then go"]


def test_what_was_acknowledged_can_be_answered(fleet: Fleet) -> None:
    root = send(fleet, "a", "b")
    fleet.call("b", "ack", message=root)
    assert fleet.call("b", "send", to="-", text="done", reply=root)["to"] == ["a"]


def test_the_sender_of_a_message_to_many_goes_on_with_all_of_them(fleet: Fleet) -> None:
    root = send(fleet, "a", "all", "first")
    assert fleet.call("a", "send", to="-", text="more", reply=root)["to"] == ["b", "c"]
    assert fleet.call("b", "send", to="-", text="what?", reply=root)["to"] == ["a"]
    assert fleet.call("b", "send", to="c", text="do you see?", reply=root)["thread"] == root


def test_only_who_sent_or_got_a_message_replies_to_it(fleet: Fleet) -> None:
    root = send(fleet, "a", "b")
    with pytest.raises(Forbidden):
        fleet.call("c", "send", to="-", text="me too", reply=root)
    with pytest.raises(Forbidden):
        fleet.call("c", "send", to="b", text="me too", reply=root)
    assert texts(fleet, "a") == []
    assert [event["data"]["code"] for event in fleet.events("call.refused")] == ["forbidden"] * 2


def test_a_parent_replies_for_its_child_whose_shell_goes_by_its_name() -> None:
    fleet = among("a", "p", "p/child")
    root = send(fleet, "a", "p/child")
    assert fleet.call("p", "send", to="-", text="yes", reply=root)["to"] == ["a"]


@pytest.mark.parametrize("reply", ["m1", "nothing", "../x"])
def test_a_reply_to_nothing_is_not_found(fleet: Fleet, reply: str) -> None:
    with pytest.raises(NotFound):
        send(fleet, "a", "b", reply=reply)


def test_a_conversation_can_be_answered_as_long_as_messages_live(fleet: Fleet) -> None:
    root = send(fleet, "a", "b", expires=SECOND)
    fleet.now += 7 * DAY - 1
    assert fleet.call("b", "send", to="-", text="late", reply=root)["to"] == ["a"]
    fleet.now += 1
    with pytest.raises(NotFound):
        fleet.call("b", "send", to="-", text="too late", reply=root)


# --- random traffic against a model

AGENTS = ("a", "b", "c")
INBOX, FROM_ONE, VISIBILITY, LIFE = 6, 4, 10 * SECOND, 60 * SECOND


class Mail(RuleBasedStateMachine):
    """Every mailbox is what a list of messages says: order, what is told when, quotas, counts, expiry."""

    fleet: Fleet

    def __init__(self) -> None:
        super().__init__()
        self.make()
        self.boxes: dict[str, list[dict[str, Any]]] = {agent: [] for agent in AGENTS}
        self.said = 0
        for agent in AGENTS:
            self.fleet.call(agent, "boot", type="odd" if agent != "b" else "even")

    def make(self) -> None:
        """On the memory engine, whose transactions are often thrown away and run again."""
        limits = work(inbox=INBOX, from_one=FROM_ONE, visibility=VISIBILITY, life=LIFE)
        self.fleet = Fleet(work=limits)
        dice = random.Random(5)
        self.fleet.store.faults.abort = lambda: dice.random() < 0.3
        self.fleet.store._new_id = lambda: f"{dice.getrandbits(48):012x}"

    @rule(
        sender=st.sampled_from(AGENTS),
        to=st.sampled_from([*AGENTS, "all", "type:odd"]),
        ack=st.booleans(),
        expires=st.sampled_from([None, 5 * SECOND, 30 * SECOND]),
    )
    def send(self, sender: str, to: str, ack: bool, expires: int | None) -> None:
        several = {"all": AGENTS, "type:odd": ("a", "c")}.get(to, ())
        wanted = [agent for agent in several if agent != sender] if several else [to]
        room = [
            agent
            for agent in wanted
            if len(self.boxes[agent]) < INBOX
            and sum(message["from"] == sender for message in self.boxes[agent]) < FROM_ONE
        ]
        self.said += 1
        fields: dict[str, Any] = {} if expires is None else {"expires": expires}
        try:
            answer = self.fleet.call(sender, "send", to=to, text=str(self.said), ack=ack, **fields)
        except Quota:
            assert room == []
            return
        assert answer["to"] == room
        for agent in room:
            self.boxes[agent].append(
                {"id": answer["message"], "from": sender, "text": str(self.said), "again": ack, "told": None,
                 "until": self.fleet.now + (expires or LIFE)}
            )  # fmt: skip

    @rule(ms=st.sampled_from([0, 1, SECOND, VISIBILITY, 25 * SECOND]))
    def wait(self, ms: int) -> None:
        self.fleet.now += ms
        self.fleet.call("a", "sweep")
        over = [
            (message["until"], agent, place, message)
            for agent, box in self.boxes.items()
            for place, message in enumerate(box)
            if message["until"] <= self.fleet.now
        ]
        for _, agent, _, message in sorted(over, key=lambda found: found[:3]):
            self.boxes[agent].remove(message)
        for _, _, _, message in sorted(over, key=lambda found: found[:3]):
            if message["again"]:
                self.boxes[message["from"]].append(
                    {"id": None, "from": "dibs", "text": message["text"], "again": False, "told": None,
                     "until": self.fleet.now + WORK["messages"]["life"]}
                )  # fmt: skip

    def due(self, agent: str) -> list[dict[str, Any]]:
        now = self.fleet.now
        return [m for m in self.boxes[agent] if m["told"] is None or (m["again"] and m["told"] + VISIBILITY <= now)]

    def compare(self, shown: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
        assert [message["text"].rpartition("You wrote: ")[2] for message in shown] == [m["text"] for m in expected]
        for message, mine in zip(shown, expected, strict=True):
            mine["told"], mine["id"] = self.fleet.now, message["message"]

    @rule(agent=st.sampled_from(AGENTS))
    def inbox(self, agent: str) -> None:
        self.compare(self.fleet.call(agent, "inbox")["messages"], self.boxes[agent])

    @rule(agent=st.sampled_from(AGENTS))
    def boot(self, agent: str) -> None:
        self.compare(self.fleet.call(agent, "boot")["messages"], self.boxes[agent])

    @rule(agent=st.sampled_from(AGENTS))
    def hook(self, agent: str) -> None:
        self.compare(self.fleet.internal(agent, ACTIVITY)["messages"], self.due(agent))

    @rule(agent=st.sampled_from(AGENTS))
    def look(self, agent: str) -> None:
        answer = self.fleet.call(agent, "inbox", wait=1_000)
        if "waiting" in answer:
            assert self.due(agent) == []
        else:
            self.compare(answer["messages"], self.due(agent))

    @rule(agent=st.sampled_from(AGENTS), place=st.integers(0, INBOX))
    def ack(self, agent: str, place: int) -> None:
        known = [message for message in self.boxes[agent] if message["id"]]
        if known:
            mine = known[place % len(known)]
            self.fleet.call(agent, "ack", message=mine["id"])
            self.boxes[agent].remove(mine)
            self.told_of([mine], agent)

    @rule(agent=st.sampled_from(AGENTS))
    def ack_all(self, agent: str) -> None:
        self.fleet.call(agent, "ack", message="all")
        over = [message for message in self.boxes[agent] if message["told"] is not None]
        self.boxes[agent] = [message for message in self.boxes[agent] if message["told"] is None]
        self.told_of(over, agent)

    def told_of(self, acknowledged: list[dict[str, Any]], by: str) -> None:
        """Who asked for an acknowledgement hears of it."""
        for message in acknowledged:
            if message["again"] and message["from"] != by:
                self.boxes[message["from"]].append(
                    {"id": None, "from": "dibs", "text": message["text"], "again": False, "told": None,
                     "until": self.fleet.now + WORK["messages"]["life"]}
                )  # fmt: skip

    @invariant()
    def the_counts_are_right(self) -> None:
        for agent, box in self.boxes.items():
            assert count(self.fleet, agent) == len(box)
            record = self.fleet.record(mailbox_key(agent))
            senders = [message["from"] for message in box if message["from"] != "dibs"]
            expected = {sender: senders.count(sender) for sender in senders}
            assert (record["from"] if record is not None else {}) == expected

    def teardown(self) -> None:
        self.fleet.clean()


class MailOnFile(Mail):
    """The same on a real SQLite file."""

    def make(self) -> None:
        self.fleet = OnFile(work=work(inbox=INBOX, from_one=FROM_ONE, visibility=VISIBILITY, life=LIFE))

    def teardown(self) -> None:
        super().teardown()
        assert isinstance(self.fleet, OnFile)
        self.fleet.close()


TestMail = Mail.TestCase
TestMail.settings = settings(max_examples=60, stateful_step_count=40)
TestMailOnFile = MailOnFile.TestCase
TestMailOnFile.settings = settings(max_examples=12, stateful_step_count=30)
