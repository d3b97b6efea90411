"""Events of the agents' own, and who hears of which: none missed, none twice, whatever comes in between."""

from __future__ import annotations

import random
from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from dibs.client.upkeep import subscription_delivery
from dibs.errors import Invalid, Killed, NotFound, Quota
from dibs.operations.core.call import Call
from dibs.operations.core.event_kinds import FAMILIES
from dibs.operations.core.policy import WORK, Policy
from dibs.operations.guards.audits import ACTIVITY
from dibs.operations.messages import mailbox, subscriptions
from dibs.operations.messages.records import mailbox_key, subscriber_prefix, subscriptions_key
from dibs.stores.seam import read_event
from tests.operations.fleet import Fleet


def small(inbox: int) -> Fleet:
    """A fleet with small inboxes."""
    return Fleet(work={**WORK, "messages": {**WORK["messages"], "inbox": inbox}})


def emit(fleet: Fleet, agent: str, kind: str, data: Any = None, **more: Any) -> Any:
    return fleet.call(agent, "emit", kind=kind, data=data, **more)


def subscribe(fleet: Fleet, agent: str, what: str, **fields: Any) -> Any:
    return fleet.call(agent, "subscribe", what=what, **fields)


def deliver(fleet: Fleet, agent: str) -> None:
    """What a door does before an agent looks into its inbox."""
    subscription_delivery.deliver(fleet.store, Call(fleet.policy, agent=agent))


def hear(fleet: Fleet, agent: str) -> list[dict[str, Any]]:
    """What the agent is told now; then it is acknowledged."""
    deliver(fleet, agent)
    found: list[dict[str, Any]] = fleet.call(agent, "inbox", new=True)["messages"]
    fleet.call(agent, "ack", message="all")
    return found


def kinds(fleet: Fleet, agent: str) -> list[str]:
    return [message["kind"] for message in hear(fleet, agent)]


def cursor_of(fleet: Fleet, agent: str) -> int:
    """The number of the last event that was delivered to the agent."""
    return int(fleet.record(subscriptions_key(agent))["cursor"])


# --- emit


def test_an_event_is_in_the_log_and_comes_to_who_subscribes(fleet: Fleet) -> None:
    subscribe(fleet, "b", "build.done")
    assert emit(fleet, "a", "build.done", {"ok": True}) == {"event": "build.done"}
    (event,) = fleet.events("event.emitted")
    assert (event["agent"], event["subject"], event["data"]) == ("a", "build.done", {"data": {"ok": True}})
    (message,) = hear(fleet, "b")
    assert (message["from"], message["type"], message["text"]) == ("a", "event", 'build.done: {"ok":true}')
    assert (message["kind"], message["seq"], message["data"]) == ("build.done", event["seq"], {"ok": True})
    assert hear(fleet, "b") == hear(fleet, "c") == []
    fleet.clean()


@pytest.mark.parametrize("kind", ["build.done", "x", "a:b-c_d.E9", "tasks.done", "x" * 100])
def test_a_kind_is_a_word_of_the_agents_own(fleet: Fleet, kind: str) -> None:
    subscribe(fleet, "b", kind)
    emit(fleet, "a", kind)
    assert kinds(fleet, "b") == [kind]


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "two words",
        "x" * 101,
        "a/b",
        "a*",
        "ä",
        "a\tb",
        "a\nb",
        "state:x",
        *[f"{f}x" for f in FAMILIES],
    ],
)
def test_other_words_and_those_of_dibs_are_refused_and_change_nothing(fleet: Fleet, kind: str) -> None:
    with pytest.raises(Invalid):
        emit(fleet, "a", kind)
    assert fleet.events("event.emitted") == []


@pytest.mark.parametrize("data", ["x" * 16_384, float("inf"), {"x": 2**60}, "\x1a"])
def test_data_that_cannot_be_kept_is_invalid(fleet: Fleet, data: Any) -> None:
    with pytest.raises(Invalid):
        emit(fleet, "a", "x", data)
    assert fleet.events("event.emitted") == []


def test_a_retry_emits_nothing_a_second_time(fleet: Fleet) -> None:
    subscribe(fleet, "b", "x")
    for _ in range(2):
        emit(fleet, "a", "x", 1, request="r")
    assert kinds(fleet, "b") == ["x"]
    assert fleet.events("event.emitted")[0]["data"]["request"] == ["emit", "r"]


def test_a_killed_agent_emits_nothing(fleet: Fleet) -> None:
    subscribe(fleet, "b", "x")
    fleet.call("a", "boot")
    fleet.call("b", "kill", agent="a", why="test")
    with pytest.raises(Killed):
        emit(fleet, "a", "x")
    assert kinds(fleet, "b") == []


# --- subscribe


def test_a_subscription_begins_at_the_end_of_the_log_and_says_where(fleet: Fleet) -> None:
    emit(fleet, "a", "x", "before")
    head = fleet.store.head().seq
    assert subscribe(fleet, "b", "x") == {"subscription": "x", "cursor": head}
    emit(fleet, "a", "x", "after")
    assert [message["data"] for message in hear(fleet, "b")] == ["after"]


def test_subscribing_again_changes_nothing(fleet: Fleet) -> None:
    subscribe(fleet, "b", "x")
    emit(fleet, "a", "x", 1)
    commit = fleet.store.head().commit
    subscribe(fleet, "b", "x")
    assert fleet.store.head().commit == commit
    assert kinds(fleet, "b") == ["x"]


@pytest.mark.parametrize(
    ("what", "heard"),
    [
        ("build.done", ["build.done"]),
        ("build.*", ["build.done", "build.failed"]),
        ("b*", ["build.done", "build.failed", "boil"]),
        ("event.emitted", ["build.done", "build.failed", "boil", "test.done"]),
        ("claim.granted", ["claim.granted"]),
        ("claim.*", ["claim.granted", "claim.released"]),
        ("build", []),
        ("done", []),
    ],
)
def test_a_kind_a_prefix_and_kinds_of_dibs_own(fleet: Fleet, what: str, heard: list[str]) -> None:
    subscribe(fleet, "b", what)
    for kind in ("build.done", "build.failed", "boil", "test.done"):
        emit(fleet, "a", kind)
    fleet.claim("a", "x.py")
    fleet.release("a", "x.py")
    assert kinds(fleet, "b") == heard


def test_a_star_is_everything_but_messages_and_comes_to_an_end(fleet: Fleet) -> None:
    fleet.call("b", "boot")
    subscribe(fleet, "b", "*")
    fleet.call("a", "boot")
    fleet.call("a", "send", to="b", text="hi")
    emit(fleet, "a", "x")
    heard = [message.get("kind", "") for message in hear(fleet, "b")]
    assert heard == ["", "event.subscribed", "agent.registered", "agent.booted", "x"]
    assert hear(fleet, "b") == []


def test_an_event_of_dibs_own_says_what_the_log_says(fleet: Fleet) -> None:
    subscribe(fleet, "b", "claim.granted")
    token = fleet.claim("a", "src/x.py")["token"]
    (message,) = hear(fleet, "b")
    (event,) = fleet.events("claim.granted")
    assert (message["subject"], message["data"]) == (event["subject"], event["data"])
    assert message["data"]["token"] == token
    assert message["from"] == "a"


def test_a_state_document_is_heard_of_by_its_key_alone(fleet: Fleet) -> None:
    subscribe(fleet, "b", "state:stock")
    subscribe(fleet, "c", "state.*")
    fleet.call("a", "state set", key="stock", value=5)
    fleet.call("a", "state set", key="stock2", value=1)
    (message,) = hear(fleet, "b")
    assert (message["kind"], message["subject"], message["data"]["version"]) == ("state.set", "stock", 1)
    assert [message["subject"] for message in hear(fleet, "c")] == ["stock", "stock2"]


def test_what_two_subscriptions_fit_comes_once(fleet: Fleet) -> None:
    fleet.call("a", "boot")
    for what in ("build.done", "build.*", "*", "event.emitted"):
        subscribe(fleet, "b", what)
    hear(fleet, "b")
    emit(fleet, "a", "build.done")
    assert kinds(fleet, "b") == ["build.done"]


def test_an_agent_hears_of_its_own_events_too(fleet: Fleet) -> None:
    subscribe(fleet, "a", "x")
    emit(fleet, "a", "x")
    assert kinds(fleet, "a") == ["x"]


def test_what_was_switched_off_is_heard_of_no_more_and_what_is_left_stays(fleet: Fleet) -> None:
    subscribe(fleet, "b", "x")
    subscribe(fleet, "b", "y")
    subscribe(fleet, "b", "x", off=True)
    emit(fleet, "a", "x")
    emit(fleet, "a", "y")
    assert kinds(fleet, "b") == ["y"]
    assert [one["subscription"] for one in fleet.call("b", "subscriptions")["subscriptions"]] == ["y"]
    with pytest.raises(NotFound):
        subscribe(fleet, "b", "x", off=True)
    subscribe(fleet, "b", "y", off=True)
    assert fleet.store.look(lambda tx: tx.fetch([("su", "sv"), ("sk", "sl")][::-1]).rows) == []


def test_the_list_says_up_to_where_each_was_told(fleet: Fleet) -> None:
    subscribe(fleet, "b", "x")
    emit(fleet, "a", "x")
    hear(fleet, "b")
    last = fleet.events("event.emitted")[-1]["seq"]
    later = subscribe(fleet, "b", "y")["cursor"]
    assert fleet.call("b", "subscriptions")["subscriptions"] == [
        {"subscription": "x", "cursor": last},
        {"subscription": "y", "cursor": later},
    ]
    assert fleet.call("c", "subscriptions")["subscriptions"] == []


@pytest.mark.parametrize(
    "what", ["", "**", "a*b", "two words", "x" * 101, "state:", "state:a b", f"state:{'x' * 201}", "message.posted",
             "message.*", "a\tb"]
)  # fmt: skip
def test_what_nobody_can_subscribe_to_is_invalid(fleet: Fleet, what: str) -> None:
    with pytest.raises(Invalid):
        subscribe(fleet, "b", what)
    assert fleet.record(subscriptions_key("b")) is None


def test_an_agent_has_so_many_subscriptions_and_no_more(fleet: Fleet) -> None:
    for number in range(subscriptions.MAX_SUBSCRIPTIONS):
        subscribe(fleet, "b", f"x{number}")
    with pytest.raises(Quota) as refused:
        subscribe(fleet, "b", "one.more")
    assert refused.value.limit == subscriptions.MAX_SUBSCRIPTIONS
    subscribe(fleet, "b", "x5")
    subscribe(fleet, "b", "x5", off=True)
    subscribe(fleet, "b", "one.more")


def test_subscriptions_outlive_leaving_and_being_killed_but_not_a_subagent(fleet: Fleet) -> None:
    for agent in ("b", "c", "p/child"):
        subscribe(fleet, agent, "x")
    fleet.call("b", "leave")
    fleet.call("a", "kill", agent="c", why="test")
    fleet.call("p/child", "leave")
    emit(fleet, "a", "x")
    fleet.call("a", "revive", agent="c")
    assert kinds(fleet, "b") == kinds(fleet, "c") == ["x"]
    assert kinds(fleet, "p/child") == []
    assert fleet.record(subscriber_prefix("x") + "p/child") is None


# --- delivery


def test_who_subscribes_to_nothing_costs_no_transaction(fleet: Fleet) -> None:
    emit(fleet, "a", "x")
    commit = fleet.store.head().commit
    deliver(fleet, "b")
    assert fleet.store.head().commit == commit


def test_a_few_events_of_others_cost_no_transaction_and_many_move_the_cursor(fleet: Fleet) -> None:
    subscribe(fleet, "b", "x")
    cursor = cursor_of(fleet, "b")
    while fleet.store.head().seq < cursor + subscription_delivery.LAZY:
        emit(fleet, "a", "y")
    deliver(fleet, "b")
    assert cursor_of(fleet, "b") == cursor
    emit(fleet, "a", "y")
    deliver(fleet, "b")
    assert cursor_of(fleet, "b") == fleet.store.head().seq == cursor + subscription_delivery.LAZY + 1


def test_events_of_many_pages_come_in_the_order_of_the_log(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription_delivery, "PAGE", 7)
    monkeypatch.setattr(subscription_delivery, "LAZY", 3)
    subscribe(fleet, "b", "x")
    for number in range(60):
        emit(fleet, "a", "x" if number % 3 else "y", number)
    seen = [message["data"] for _ in range(3) for message in hear(fleet, "b")]
    assert seen == [number for number in range(60) if number % 3]


def test_one_look_reads_a_bounded_part_of_the_log_and_the_next_goes_on(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription_delivery, "PAGE", 5)
    monkeypatch.setattr(subscription_delivery, "PAGES", 2)
    subscribe(fleet, "b", "x")
    for number in range(25):
        emit(fleet, "a", "x", number)
    looks = [[message["data"] for message in hear(fleet, "b")] for _ in range(4)]
    assert [number for look in looks for number in look] == list(range(25))
    assert max(map(len, looks)) <= 10


def test_an_inbox_without_room_holds_events_back_and_loses_none() -> None:
    fleet = small(inbox=8)
    subscribe(fleet, "b", "x")
    for number in range(20):
        emit(fleet, "a", "x", number)
    deliver(fleet, "b")
    assert fleet.record(mailbox_key("b"))["count"] == 4  # half of it stays for what agents have to say
    fleet.call("a", "send", to="b", text="still heard")
    deliver(fleet, "b")
    seen = [message.get("data", "sent") for _ in range(8) for message in hear(fleet, "b")]
    assert [one for one in seen if one != "sent"] == list(range(20))
    assert seen.count("sent") == 1


def prune(fleet: Fleet) -> None:
    """Drop all that the last seal stands for, where the config keeps next to nothing."""
    fleet.now += 1
    before, fleet.policy = (
        fleet.policy,
        Policy(work={**fleet.policy.work, "log": {**fleet.policy.work["log"], "keep": 1}}),
    )
    fleet.prune("a", keep=1)
    fleet.policy = before


def test_events_that_were_pruned_before_they_were_delivered_are_told_as_a_gap(fleet: Fleet) -> None:
    subscribe(fleet, "b", "x")
    first = cursor_of(fleet, "b") + 1
    for number in range(3):
        emit(fleet, "a", "x", number)
    fleet.call("a", "seal")
    last = fleet.events("log.sealed")[0]["data"]["through"]
    prune(fleet)
    emit(fleet, "a", "x", 3)
    gap, event = hear(fleet, "b")
    assert gap["dropped"] == [first, last]
    assert (gap["from"], gap["type"]) == ("dibs", "event")
    assert event["data"] == 3
    assert hear(fleet, "b") == []


def test_a_gap_waits_for_room_like_an_event() -> None:
    fleet = small(inbox=2)
    subscribe(fleet, "b", "x")
    fleet.call("a", "send", to="b", text="in the way")
    emit(fleet, "a", "x")
    fleet.call("a", "seal")
    prune(fleet)
    cursor = cursor_of(fleet, "b")
    deliver(fleet, "b")
    assert cursor_of(fleet, "b") == cursor
    hear(fleet, "b")
    assert "dropped" in hear(fleet, "b")[0]


def test_data_too_large_for_a_message_is_left_out_and_that_is_said(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    subscribe(fleet, "b", "x")
    emit(fleet, "a", "x", "y" * 300)
    monkeypatch.setattr(subscriptions, "MAX_DATA_CHARS", 100)
    (message,) = hear(fleet, "b")
    assert (message["data"], message["cut"]) == (None, True)
    assert len(message["text"]) < 300


class Door:
    """A door's delivery, one step at a time: what it saw, and what it brings."""

    def __init__(self, fleet: Fleet, agent: str) -> None:
        self.fleet, self.call = fleet, Call(fleet.policy, agent=agent)
        self.known = fleet.store.look(lambda tx: subscriptions.pending(tx, self.call))
        events = fleet.store.events(self.known["cursor"], 1_000) if self.known else []
        self.page = [read_event(event) for event in events]

    def finish(self) -> Any:
        known, page = self.known, self.page
        if known is None or not page:
            return None
        fitting = [event for event in page if subscriptions.wants(known, event)]
        last, first = page[-1]["seq"], page[0]["seq"]
        return self.fleet.store.run(lambda tx: subscriptions.deliver(tx, self.call, known, fitting, last, first))


def test_two_deliveries_at_once_bring_an_event_once(fleet: Fleet) -> None:
    subscribe(fleet, "b", "x")
    emit(fleet, "a", "x")
    one, other = Door(fleet, "b"), Door(fleet, "b")
    assert one.finish() is not None
    commit = fleet.store.head().commit
    assert other.finish() is None
    assert fleet.store.head().commit == commit
    assert kinds(fleet, "b") == ["x"]


def test_what_is_subscribed_to_while_a_delivery_is_on_its_way_is_not_missed(fleet: Fleet) -> None:
    subscribe(fleet, "b", "x")
    known = fleet.record(subscriptions_key("b"))
    subscribe(fleet, "b", "y")
    emit(fleet, "a", "y", "new")
    late = Door(fleet, "b")
    late.known = known  # it looked before, and read the log after
    assert late.finish() is None
    assert kinds(fleet, "b") == ["y"]


def test_a_delivery_goes_on_when_another_was_faster(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    subscribe(fleet, "b", "x")
    emit(fleet, "a", "x", 1)
    real = subscriptions.deliver
    raced: list[bool] = []

    def slow(tx: Any, call: Call, *rest: Any) -> Any:
        if not raced:
            raced.append(True)
            return None  # as if somebody had delivered just before
        return real(tx, call, *rest)

    monkeypatch.setattr(subscriptions, "deliver", slow)
    assert kinds(fleet, "b") == ["x"]


def test_a_caller_without_a_name_is_found_by_its_process(fleet: Fleet) -> None:
    fleet.call("b", "boot", client=7)
    subscribe(fleet, "b", "x")
    emit(fleet, "a", "x")
    call = Call(fleet.policy, fallback="me@here", ancestors=[fleet.process(7)])
    subscription_delivery.deliver(fleet.store, call)
    assert call.agent == "b"
    assert fleet.record(mailbox_key("b"))["count"] == 1


def test_hooks_tell_of_events_like_of_messages(fleet: Fleet) -> None:
    subscribe(fleet, "b", "x")
    emit(fleet, "a", "x")
    deliver(fleet, "b")
    assert [message["kind"] for message in fleet.internal("b", ACTIVITY)["messages"]] == ["x"]
    deliver(fleet, "b")
    assert fleet.internal("b", ACTIVITY)["messages"] == []


# --- waking


@pytest.mark.parametrize("what", ["x.y", "x.*", "*", "event.emitted", "event.*", "x.y*"])
def test_who_waits_for_an_event_is_woken_when_it_is_emitted(fleet: Fleet, what: str) -> None:
    subscribe(fleet, "b", what)
    hear(fleet, "b")
    subscribe(fleet, "c", "other")
    for agent in ("b", "c"):
        fleet.call(agent, "inbox", wait=60_000, wake=f"w{agent}")
    emit(fleet, "a", "x.y")
    assert fleet.store.woken - {"@b"} == {"wb"}


@pytest.mark.parametrize("what", ["state:k", "state.set", "state.*", "*"])
def test_who_waits_for_a_document_is_woken_when_it_is_written(fleet: Fleet, what: str) -> None:
    subscribe(fleet, "b", what)
    hear(fleet, "b")
    subscribe(fleet, "c", "state:other")
    for agent in ("b", "c"):
        fleet.call(agent, "inbox", wait=60_000, wake=f"w{agent}")
    fleet.call("a", "state set", key="k", value=1)
    assert fleet.store.woken - {"@b"} == {"wb"}


def test_who_waits_with_subscriptions_looks_every_second(fleet: Fleet) -> None:
    assert fleet.call("b", "inbox", wait=60_000)["look_in"] == mailbox.POLL_MS
    subscribe(fleet, "b", "x")
    assert fleet.call("b", "inbox", wait=60_000)["look_in"] == mailbox.EVENT_POLL_MS


# --- random interleavings against a model

AGENTS = ("a", "b", "c")
WHATS = ("x", "y.one", "y.*", "event.*", "*", "claim.granted", "state:k")


def fits(what: str, event: Any) -> bool:
    """The rule, said once more in other words."""
    if event["kind"].startswith("message."):
        return False
    if what == "state:k":
        return bool(event["kind"].split(".")[0] == "state" and event["subject"] == "k")
    names = {event["kind"]} | ({event["subject"]} if event["kind"] == "event.emitted" else set())
    return any(fnmatchcase(name, what) for name in names)


class Hearing(RuleBasedStateMachine):
    """Each agent hears of exactly the events that were committed while it subscribed to them, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.fleet = Fleet(work={**WORK, "messages": {**WORK["messages"], "inbox": 9}})
        dice = random.Random(3)
        self.fleet.store.faults.abort = lambda: dice.random() < 0.3
        self.spans: dict[str, list[list[Any]]] = {agent: [] for agent in AGENTS}  # what, behind, up to (None: still)
        self.heard: dict[str, list[int]] = {agent: [] for agent in AGENTS}
        self.doors: list[Door] = []
        self.version = 0
        for agent in AGENTS:
            self.fleet.call(agent, "boot")
            self.subscribe(agent, "x")

    @rule(agent=st.sampled_from(AGENTS), kind=st.sampled_from(["x", "y.one", "y.two", "z"]), many=st.integers(1, 4))
    def emit(self, agent: str, kind: str, many: int) -> None:
        for _ in range(many):
            emit(self.fleet, agent, kind)

    @rule(agent=st.sampled_from(AGENTS))
    def other_things_happen(self, agent: str) -> None:
        self.fleet.claim(agent, f"{agent}.py")
        self.fleet.release(agent, f"{agent}.py")

    @rule(agent=st.sampled_from(AGENTS))
    def write(self, agent: str) -> None:
        self.version = self.fleet.call(agent, "state set", key="k", value=1, version=self.version)["version"]

    @rule(agent=st.sampled_from(AGENTS), what=st.sampled_from(WHATS))
    def subscribe(self, agent: str, what: str) -> None:
        head = self.fleet.store.head().seq
        subscribe(self.fleet, agent, what)
        if not any(span[0] == what and span[2] is None for span in self.spans[agent]):
            self.spans[agent].append([what, head, None])

    @rule(agent=st.sampled_from(AGENTS), what=st.sampled_from(WHATS))
    def switch_off(self, agent: str, what: str) -> None:
        for span in self.spans[agent]:
            if span[0] == what and span[2] is None:
                self.catch_up(agent)  # what was not delivered until then never will be
                span[2] = self.fleet.store.head().seq
                subscribe(self.fleet, agent, what, off=True)

    @rule(agent=st.sampled_from(AGENTS))
    def hear(self, agent: str) -> None:
        self.take(hear(self.fleet, agent), agent)

    @rule(agent=st.sampled_from(AGENTS))
    def deliver(self, agent: str) -> None:
        deliver(self.fleet, agent)

    @rule(agent=st.sampled_from(AGENTS), emitted=st.booleans())
    def a_door_looks(self, agent: str, emitted: bool) -> None:
        if emitted:
            emit(self.fleet, "a", "x")
        self.doors.append(Door(self.fleet, agent))

    @rule(place=st.integers(0, 5), dies=st.booleans())
    def a_door_delivers_or_dies(self, place: int, dies: bool) -> None:
        if self.doors:
            door = self.doors.pop(place % len(self.doors))
            if not dies:
                door.finish()

    @rule(agent=st.sampled_from(AGENTS), what=st.sampled_from(WHATS))
    def a_door_is_overtaken(self, agent: str, what: str) -> None:
        door = Door(self.fleet, agent)
        self.subscribe(agent, what)
        emit(self.fleet, "a", "x")
        self.fleet.claim("a", "a.py")
        door.page = [read_event(event) for event in self.fleet.store.events(door.known["cursor"])] if door.known else []
        if what in {"x", "*"}:
            deliver(self.fleet, agent)
        door.finish()

    def take(self, found: list[dict[str, Any]], agent: str) -> None:
        self.heard[agent] += [message["seq"] for message in found]

    def catch_up(self, agent: str) -> None:
        while found := hear(self.fleet, agent):
            self.take(found, agent)

    def teardown(self) -> None:
        for agent in AGENTS:
            self.catch_up(agent)
        log = self.fleet.events()
        for agent in AGENTS:
            expected = [
                event["seq"]
                for event in log
                if any(
                    behind < event["seq"] and (upto is None or event["seq"] <= upto) and fits(what, event)
                    for what, behind, upto in self.spans[agent]
                )
            ]
            assert self.heard[agent] == expected, agent
        self.fleet.clean()


TestHearing = Hearing.TestCase
TestHearing.settings = settings(max_examples=max(50, settings().max_examples), stateful_step_count=40)
