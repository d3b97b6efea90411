"""Alerts: each kind planted and seen, none twice, cleared by itself when its cause is gone."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, get_args

import pytest

from dibs.client.evidence import events_of
from dibs.errors import Deadlock, Held, NotFound
from dibs.operations.agents.turns import TURN
from dibs.operations.alerts import audience, delivery, kinds, records, views
from dibs.operations.alerts.answers import AlertKind
from dibs.operations.core.policy import WORK
from dibs.operations.guards.commit_guard import COMMITTED
from dibs.operations.guards.deploy_guard import FINISH, START
from dibs.operations.guards.removed_trees import REMOVED
from dibs.operations.guards.stop_gate import GATE
from dibs.operations.upkeep.recovery import RECOVERED, VOID
from dibs.operations.upkeep.store_moves import FALLEN_BACK
from dibs.operations.upkeep.sweeps import UPKEEP, UPKEEP_DUE
from dibs.stores.seam import read_event
from tests.canonical import canonical
from tests.operations.fleet import Fleet, change

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.stores.seam import LogEvent
    from tests.operations.engines import OnEngine

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
FAILED: dict[str, Any] = {"class": "transient", "why": "no"}
WELL = {"fallback": False, "warnings": []}


def look(fleet: Fleet, store: Any = None) -> None:
    """Whoever is alive looks, until nothing is left to do."""
    for _ in range(8):
        if not fleet.internal("looker", UPKEEP_DUE, store=store)["due"]:
            return
        fleet.internal("looker", UPKEEP, store=store)
    message = "it never comes to an end"
    raise AssertionError(message)


def listed(fleet: Fleet, state: str = "", kind: str = "") -> list[dict[str, Any]]:
    """What `dibs alerts` shows."""
    found: list[dict[str, Any]] = fleet.call("viewer", "alerts", state=state, kind=kind)["alerts"]
    return found


def raised(fleet: Fleet, kind: str) -> list[LogEvent]:
    """The events of one kind of alert."""
    return [event for event in fleet.events("alert.raised") if event["data"]["what"] == kind]


# --- how to plant each kind, and how to mend it


def plant_hold(fleet: Fleet) -> None:
    fleet.claim("ann", "x.py", expect=10 * SECOND)
    fleet.now += 21 * SECOND


def plant_wait(fleet: Fleet) -> None:
    fleet.claim("ann", "x.py", expect=2 * SECOND, ttl=HOUR)
    place = fleet.claim("bob", "x.py", wait=HOUR)["waiting"]
    fleet.now += 5 * SECOND
    fleet.claim("bob", "x.py", wait=HOUR, waiter=place)


def plant_deadlock(fleet: Fleet) -> None:
    fleet.claim("ann", "x.py")
    fleet.claim("bob", "y.py")
    fleet.claim("bob", "x.py", wait=HOUR)
    with pytest.raises(Deadlock):
        fleet.claim("ann", "y.py", wait=HOUR)


def plant_expired(fleet: Fleet) -> None:
    fleet.call("ann", "boot", client=7)
    fleet.claim("ann", "x.py", client=7, ttl=MINUTE)
    fleet.now += 2 * MINUTE


def plant_dead(fleet: Fleet) -> None:
    fleet.call("ann", "boot", client=7)
    fleet.claim("ann", "x.py", client=7)
    fleet.kill9(7)


def plant_silent(fleet: Fleet) -> None:
    fleet.call("ann", "boot", client=7)
    fleet.claim("ann", "x.py", client=7, ttl=HOUR)
    fleet.now += 11 * MINUTE
    fleet.claim("bob", "x.py", wait=HOUR)


def plant_asks(fleet: Fleet) -> None:
    fleet.call("ann", "boot", client=7)
    fleet.claim("ann", "x.py", client=7, ttl=HOUR)
    fleet.internal("ann", TURN, process=7, what="asks", text="permission for Bash")
    fleet.claim("bob", "x.py", wait=HOUR)


def plant_unfinished(fleet: Fleet) -> None:
    fleet.call("ann", "boot", client=7)
    fleet.internal("ann", TURN, process=7, what="prompted", text="port the parser")
    left: dict[str, Any] = {"files": ["x.py"], "answerable": True, "shown": True}
    for _ in range(3):
        fleet.internal("ann", GATE, process=7, **left)


def mend_unfinished(fleet: Fleet) -> None:
    fleet.internal("ann", TURN, process=7, what="prompted", text="commit it")


def plant_violation(fleet: Fleet) -> None:
    fleet.claim("ann", "x.py", tree="/repo")
    fleet.overwrite("bob", change("bob", id="c1"))


def plant_bypass(fleet: Fleet) -> None:
    fleet.claim("ann", "x.py")
    fields = canonical(COMMITTED, {"commit": "c0ffee", "tree": "", "items": [(("file", "x.py"), True)], "how": "past"})
    fleet.internal("bob", COMMITTED, **fields)


def plant_removed(fleet: Fleet) -> None:
    work = [("0123456789ab", ("file", "x.py"), "a" * 40, ["ann"])]
    fleet.internal("boss", REMOVED, **canonical(REMOVED, {"tree": "/w1", "name": "w1-0123456789ab", "work": work}))


def deploy(fleet: Fleet, result: str, **said: Any) -> None:
    token = fleet.claim("ann", "deploy:prod")["token"]
    fleet.internal("ann", START, target="prod", token=token, commit="abc", **said)
    fleet.now += SECOND
    fleet.internal("ann", FINISH, target="prod", token=token, commit="abc", result=result)


def plant_stale(fleet: Fleet) -> None:
    deploy(fleet, "ok", unsynced=True)


def plant_unverified(fleet: Fleet) -> None:
    deploy(fleet, "unverified")


def plant_poison(fleet: Fleet) -> None:
    fleet.call("boss", "task add", title="t", id="t", attempts=1)
    token = fleet.call("ann", "task claim", id="t")["token"]
    fleet.call("ann", "task fail", id="t", token=token, **FAILED)


def plant_breaker(fleet: Fleet) -> None:
    for number in range(5):
        fleet.call("boss", "task add", title="t", id=f"t{number}", attempts=9)
        token = fleet.call("ann", "task claim", id=f"t{number}")["token"]
        fleet.call("ann", "task fail", id=f"t{number}", token=token, **FAILED)


def plant_store(fleet: Fleet) -> None:
    fleet.internal("ann", FALLEN_BACK, left="redis://here")


def plant_rules(fleet: Fleet) -> None:
    fleet.rules = "old"
    fleet.call("ann", "boot", client=7)
    fleet.rules = "new"
    look(fleet)
    fleet.now += 9 * MINUTE
    fleet.call("ann", "claim", resources=["x.py"], client=7)
    fleet.now += 2 * MINUTE


def mend_deadlock(fleet: Fleet) -> None:
    fleet.release("ann")  # bob gets x.py


def mend_silent(fleet: Fleet) -> None:
    fleet.now += SECOND
    fleet.call("ann", "renew", client=7)


def mend_deploy(fleet: Fleet) -> None:
    fleet.now += SECOND
    deploy(fleet, "ok")


def mend_breaker(fleet: Fleet) -> None:
    fleet.now += 2 * MINUTE
    fleet.call("boss", "task add", title="t", id="good")
    token = fleet.call("ann", "task claim", id="good")["token"]
    fleet.call("ann", "task done", id="good", token=token)


def settle_bypass(fleet: Fleet) -> None:
    fleet.call("boss", "alerts ack", id="all")
    fleet.now += DAY


# kind → agent, severity, who is told, how to plant it, how to mend it
PLANTED: dict[str, tuple[str, str, list[str], Callable[[Fleet], None], Callable[[Fleet], Any]]] = {
    "hold": ("ann", "info", ["ann"], plant_hold, lambda fleet: fleet.release("ann")),
    "wait": ("bob", "warning", ["ann", "bob"], plant_wait, lambda fleet: fleet.release("ann")),
    "deadlock": ("ann", "error", ["bob"], plant_deadlock, mend_deadlock),
    "expired": ("ann", "info", ["ann"], plant_expired, lambda fleet: fleet.claim("ann", "x.py", client=7)),
    "dead": ("ann", "error", ["boss"], plant_dead, lambda fleet: fleet.call("ann", "boot", client=8)),
    "asks": ("ann", "error", [], plant_asks, mend_silent),
    "silent": ("ann", "error", ["ann", "bob"], plant_silent, mend_silent),
    "unfinished": ("ann", "info", [], plant_unfinished, mend_unfinished),
    "violation": ("bob", "error", ["boss"], plant_violation, lambda fleet: fleet.call("ann", "ack", message="vc1")),
    "bypass": ("bob", "error", ["boss"], plant_bypass, settle_bypass),
    "removed": ("ann", "error", ["boss"], plant_removed, settle_bypass),
    "deploy_stale": ("ann", "warning", ["boss"], plant_stale, mend_deploy),
    "deploy_unverified": ("ann", "error", ["boss"], plant_unverified, mend_deploy),
    "poison": (
        "ann",
        "error",
        [],
        plant_poison,
        lambda fleet: fleet.call("boss", "task move", id="t", state="planned"),
    ),
    "breaker": ("ann", "warning", ["ann"], plant_breaker, mend_breaker),
    "store": ("", "error", ["boss"], plant_store, lambda fleet: look(fleet, WELL)),
    "rules": ("ann", "info", ["ann"], plant_rules, lambda fleet: fleet.call("ann", "rules", ack=True, client=7)),
}


def boss(fleet: Fleet) -> Fleet:
    """A leader, who coordinates all others."""
    fleet.claim("boss", "role:lead", ttl=8 * HOUR)
    return fleet


def test_every_kind_is_planted_here() -> None:
    assert set(PLANTED) == set(kinds.TABLE)


def test_an_answer_knows_every_kind() -> None:
    assert get_args(AlertKind) == tuple(kinds.TABLE)


@pytest.mark.parametrize("kind", PLANTED)
def test_each_kind_is_raised_once_seen_everywhere_and_cleared_by_itself(kind: str, on_engine: OnEngine) -> None:
    agent, severity, told, plant, mend = PLANTED[kind]
    sent = {**WORK["alerts"], "command": "true", "min_severity": "info"}
    gates = {**WORK["gates"], "stop": "commit"}
    fleet = boss(on_engine(Fleet(work={**WORK, "alerts": sent, "gates": gates})))
    plant(fleet)
    for _ in range(3):
        look(fleet)
    (event,) = raised(fleet, kind)
    (alert,) = listed(fleet, kind=kind)
    assert (alert["state"], alert["severity"], alert["agent"]) == ("open", severity, agent)
    assert (event["subject"], event["agent"]) == (alert["id"], agent)
    assert alert["id"] in [one["id"] for one in fleet.call("viewer", "status")["alerts"]]
    assert alert["delivery"]["state"] == "pending"
    for one in told:
        found = [text for what, text in fleet.told(one) if what == kind]
        assert len(found) == 1, (one, found)
        assert alert["remedy"] in found[0]
    assert "dibs" in {message["from"] for message in fleet.call((told or ["boss"])[0], "inbox")["messages"]}
    assert [one for one in alert["commits"] if one["subject"] == alert["id"]], "its own event is evidence"
    mend(fleet)
    look(fleet, WELL if kind == "store" else None)
    assert listed(fleet, kind=kind) == []
    (over,) = listed(fleet, "cleared", kind)
    assert over["cleared"]["why"]
    assert [one["subject"] for one in fleet.events("alert.cleared") if one["data"]["what"] == kind] == [alert["id"]]
    fleet.clean()


def test_evidence_names_the_events_that_show_it(on_engine: OnEngine) -> None:
    fleet = on_engine(Fleet())
    plant_deadlock(fleet)
    (alert,) = listed(fleet)
    kinds_found = {
        opened["kind"]
        for one in alert["commits"]
        for opened in map(read_event, events_of(fleet.store, one["commit"]))
        if opened["subject"] == one["subject"]
    }
    assert kinds_found == {"claim.refused", "alert.raised"}
    assert alert["cycle"][0]["agent"] == "ann"


def test_every_commit_of_a_log_is_found_by_its_number(fleet: Fleet) -> None:
    for number in range(40):
        fleet.claim(f"a{number % 3}", f"x{number}.py")
    log = fleet.events()
    for commit in {event["commit"] for event in log}:
        assert [one.seq for one in events_of(fleet.store, commit)] == [e["seq"] for e in log if e["commit"] == commit]
    assert events_of(fleet.store, 10**9) == []


# --- states


def test_the_same_cause_again_is_counted_while_its_alert_is_open_or_acknowledged(fleet: Fleet) -> None:
    plant_deadlock(fleet)
    (alert,) = listed(fleet)
    with pytest.raises(Deadlock):
        fleet.claim("ann", "y.py", wait=HOUR)
    fleet.call("carl", "alerts ack", id=alert["id"], why="mine")
    with pytest.raises(Deadlock):
        fleet.claim("ann", "y.py", wait=HOUR)
    (now,) = listed(fleet)
    assert (now["id"], now["repeats"], now["state"]) == (alert["id"], 2, "acknowledged")
    assert now["acknowledged"]["agent"] == "carl"
    assert len(raised(fleet, "deadlock")) == 1
    assert len([text for what, text in fleet.told("bob") if what == "deadlock"]) == 1
    fleet.clean()


def test_a_cause_that_comes_back_after_it_was_gone_raises_a_new_alert(fleet: Fleet) -> None:
    plant_dead(fleet)
    look(fleet)
    fleet.call("ann", "boot", client=8)
    fleet.claim("ann", "x.py", client=8)
    fleet.kill9(8)
    look(fleet)
    assert len(raised(fleet, "dead")) == len(listed(fleet, "all", "dead")) == len(("7", "8"))
    assert len(listed(fleet, kind="dead")) == 1
    fleet.clean()


def test_an_alert_that_is_not_there_cannot_be_acknowledged(fleet: Fleet) -> None:
    with pytest.raises(NotFound):
        fleet.call("ann", "alerts ack", id="a1")


def test_acknowledged_twice_is_acknowledged_once(fleet: Fleet) -> None:
    plant_poison(fleet)
    (alert,) = listed(fleet)
    fleet.call("bob", "alerts ack", id=alert["id"])
    fleet.call("carl", "alerts ack", id=alert["id"])
    assert [event["agent"] for event in fleet.events("alert.acknowledged")] == ["bob"]


def test_cleared_alerts_are_dropped_after_the_retention(fleet: Fleet) -> None:
    plant_poison(fleet)
    fleet.call("boss", "task move", id="t", state="planned")
    look(fleet)
    assert len(listed(fleet, "cleared")) == 1
    fleet.now += 8 * DAY
    look(fleet)
    assert listed(fleet, "all") == []
    assert fleet.record(records.COUNTS_KEY)["cleared"] == 0


def test_an_alert_that_nobody_acknowledges_ends_after_the_retention(fleet: Fleet) -> None:
    plant_bypass(fleet)
    fleet.now += 7 * DAY
    look(fleet)
    (alert,) = listed(fleet, "cleared", "bypass")
    assert "nobody acknowledged it" in alert["cleared"]["why"]


def test_only_so_many_alerts_are_open_and_the_graver_ones_have_the_room(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MAX_OPEN", 3)
    for name in "abcde":
        fleet.claim(name, f"{name}.py", expect=SECOND)
    fleet.now += 3 * SECOND
    look(fleet)
    assert len(listed(fleet)) == len("abc")
    answer = fleet.call("viewer", "alerts")
    assert answer["not_kept"] == len("de")
    plant_poison(fleet)
    assert [one["kind"] for one in listed(fleet)] == ["poison", "hold", "hold"]
    fleet.clean()


# --- what is none


def test_an_expired_claim_of_a_dead_or_departed_agent_is_no_alert(fleet: Fleet) -> None:
    plant_expired(fleet)
    fleet.kill9(7)
    fleet.call("bob", "boot", client=9)
    fleet.claim("bob", "y.py", client=9, ttl=MINUTE)
    fleet.call("bob", "leave", client=9)
    look(fleet)
    assert raised(fleet, "expired") == []


def test_an_expired_claim_of_an_agent_that_cannot_be_seen_is_an_alert_only_if_it_acted_lately(fleet: Fleet) -> None:
    fleet.claim("ann", "x.py", ttl=MINUTE)  # by no process that is known
    fleet.claim("bob", "y.py", ttl=MINUTE)
    fleet.now += 3 * MINUTE
    fleet.claim("bob", "z.py")
    look(fleet)
    assert [one["agent"] for one in listed(fleet)] == ["bob"]


def test_who_is_refused_is_not_told_the_deadlock_a_second_time(fleet: Fleet) -> None:
    plant_deadlock(fleet)
    look(fleet)
    assert [what for what, _ in fleet.told("ann")] == []
    assert [what for what, _ in fleet.told("bob")] == ["deadlock"]


def test_each_agent_of_a_deadlock_is_told_what_it_can_do_itself(fleet: Fleet) -> None:
    """Bob holds what ann was refused: he cannot ask himself for it."""
    plant_deadlock(fleet)
    look(fleet)
    (alert,) = listed(fleet)
    wanted = alert["cycle"][0]["resource"]
    ((_, text),) = fleet.told("bob")
    assert f"To do: `dibs release {wanted}` as soon as you can (for others: `dibs ask {wanted} " in text
    assert [one["remedy"] for one in fleet.call("bob", "boot")["alerts"]] == [f"dibs release {wanted}"]


def test_what_a_dead_agent_still_holds_is_freed_by_its_alerts_remedy_and_a_refusal_says_that_it_is_dead(
    fleet: Fleet,
) -> None:
    fleet.call("ann", "boot", client=7)
    fleet.claim("ann", "x.py", "z.py", ttl=HOUR)  # by hand: not tied to its process
    fleet.claim("ann", "y.py", ttl=HOUR)
    fleet.call("boss", "boot", client=9)
    fleet.kill9(7)
    look(fleet)
    (alert,) = listed(fleet)
    with pytest.raises(Held, match=r"ann, whose process exited, holds x.py .* a person or an orchestrator") as refused:
        fleet.claim("bob", "x.py")
    assert "dibs ask" not in str(refused.value)
    for command in alert["remedy"].split(" && "):
        words = shlex.split(command)
        names = words[2 : words.index("--force")]
        token = int(words[words.index("--token") + 1])
        fleet.call("root", "release", resources=names, force=True, why="its agent is dead", token=token)
    assert not fleet.holders()


def test_a_quiet_holder_that_nobody_waits_for_is_not_silent(fleet: Fleet) -> None:
    fleet.call("ann", "boot", client=7)
    fleet.claim("ann", "x.py", client=7, ttl=HOUR)
    fleet.now += 30 * MINUTE
    look(fleet)
    assert listed(fleet) == []


def test_an_agent_that_only_ended_without_a_word_is_no_alert(fleet: Fleet) -> None:
    fleet.call("ann", "boot", client=7)
    fleet.kill9(7)
    look(fleet)
    assert listed(fleet) == []


def test_agents_that_are_told_new_rules_in_time_are_no_alert(fleet: Fleet) -> None:
    fleet.rules = "old"
    fleet.call("ann", "boot", client=7)
    fleet.rules = "new"
    look(fleet)
    fleet.call("ann", "rules", ack=True, client=7)
    fleet.now += 5 * MINUTE
    fleet.claim("ann", "x.py", client=7, ttl=8 * HOUR)  # it acts after that
    fleet.now += HOUR
    look(fleet)
    assert listed(fleet, "all") == []


def test_a_look_writes_nothing_where_nothing_is_wrong(fleet: Fleet) -> None:
    fleet.call("ann", "boot", client=7)
    fleet.claim("ann", "x.py", client=7)
    look(fleet)
    before = fleet.store.head().commit
    for _ in range(3):
        look(fleet)
    assert fleet.store.head().commit == before


# --- the store


def test_a_store_that_warns_has_an_alert_until_it_is_well(fleet: Fleet) -> None:
    look(fleet, {"fallback": False, "warnings": ["appendonly is off"]})
    look(fleet, {"fallback": False, "warnings": ["appendonly is off"]})
    (alert,) = listed(fleet)
    assert (alert["kind"], alert["text"], alert["severity"]) == ("store", "appendonly is off", "warning")
    look(fleet)
    assert len(listed(fleet)) == 1, "who did not look at the store says nothing of it"
    look(fleet, WELL)
    assert listed(fleet) == []
    fleet.clean()


def test_lost_commits_and_a_replaced_database_are_alerts(fleet: Fleet) -> None:
    fleet.internal("ann", VOID)
    fleet.internal("ann", RECOVERED, aside="/there")
    look(fleet)
    assert sorted(one["subject"] for one in listed(fleet)) == ["epoch", "recovered"]


# --- who learns of it


def test_a_booting_agent_is_told_the_alerts_that_concern_it(fleet: Fleet) -> None:
    plant_hold(fleet)
    look(fleet)
    assert [one["kind"] for one in fleet.call("ann", "boot")["alerts"]] == ["hold"]
    assert fleet.call("carl", "boot")["alerts"] == []


def test_a_person_at_work_here_is_told_however_many_agents_there_are(fleet: Fleet) -> None:
    from dibs.client import catalogue
    from dibs.operations.core.call import Call
    from dibs.operations.core.entry import perform

    call = Call(fleet.policy, fallback="me@here", from_shell=True)
    operation = catalogue.operation("leave")
    fleet.store.run(lambda tx: perform(tx, call, operation, {}))
    operation = catalogue.operation("boot")
    fleet.store.run(lambda tx: perform(tx, call, operation, {}))
    plant_dead(fleet)
    look(fleet)
    assert "dead" in [what for what, _ in fleet.told("me@here")]
    fleet.crowd(1_100)
    told: list[str] = fleet.store.look(lambda tx: audience.coordinators(tx, call, "ann"))
    assert told == ["me@here"]


def test_a_message_is_from_dibs_and_names_the_alert(fleet: Fleet) -> None:
    plant_hold(fleet)
    look(fleet)
    (message,) = fleet.call("ann", "inbox")["messages"]
    assert (message["from"], message["alert"]) == ("dibs", listed(fleet)[0]["id"])


# --- delivery


def delivering(fleet: Fleet) -> Fleet:
    """An alert that is to be delivered."""
    fleet.policy.work = {**WORK, "alerts": {**WORK["alerts"], "command": "true"}}
    plant_poison(fleet)
    return fleet


def test_what_one_process_has_taken_no_other_takes_until_its_lease_is_over(on_engine: OnEngine) -> None:
    fleet = delivering(on_engine(Fleet()))
    (first,) = fleet.internal("p1", delivery.TAKE)["taken"]
    assert fleet.internal("p2", delivery.TAKE)["taken"] == []
    fleet.now += delivery.LEASE_MS
    (second,) = fleet.internal("p2", delivery.TAKE)["taken"]
    assert second["alert"]["id"] == first["alert"]["id"]
    late = fleet.internal("p1", delivery.REPORT, alert=first["alert"]["id"], lease=first["lease"], why="no")
    assert not late["known"], "a report under an old lease changes nothing"
    fleet.internal("p2", delivery.REPORT, alert=second["alert"]["id"], lease=second["lease"])
    fleet.now += DAY
    assert fleet.internal("p3", delivery.TAKE)["taken"] == []
    assert listed(fleet)[0]["delivery"] == {"state": "delivered", "tries": 2, "why": ""}


def test_processes_that_die_with_an_alert_do_not_retry_it_for_ever(fleet: Fleet) -> None:
    delivering(fleet)
    taken = 0
    for _ in range(20):
        taken += len(fleet.internal("p", delivery.TAKE)["taken"])
        fleet.now += delivery.LEASE_MS
    assert taken == delivery.MAX_TRIES
    assert listed(fleet)[0]["delivery"]["state"] == "failed"


def test_an_alert_that_clears_before_it_was_delivered_is_delivered_all_the_same(fleet: Fleet) -> None:
    delivering(fleet)
    (taken,) = fleet.internal("p", delivery.TAKE)["taken"]
    fleet.call("boss", "task move", id="t", state="planned")
    look(fleet)
    assert fleet.internal("p", delivery.REPORT, alert=taken["alert"]["id"], lease=taken["lease"], why="no")["known"]
    fleet.now += DAY
    (again,) = fleet.internal("p", delivery.TAKE)["taken"]
    assert again["alert"]["state"] == "cleared"
    fleet.internal("p", delivery.REPORT, alert=again["alert"]["id"], lease=again["lease"])
    assert fleet.call("viewer", "alerts")["deliveries"] == {"pending": 0, "failed": 0}


def test_without_a_command_or_a_webhook_nothing_waits_to_be_delivered(fleet: Fleet) -> None:
    plant_poison(fleet)
    assert "delivery" not in listed(fleet)[0]
    assert fleet.internal("p", delivery.TAKE)["taken"] == []


@pytest.mark.parametrize("plant", [plant_hold, plant_wait])
def test_the_holder_is_told_to_release_and_not_to_ask_itself(fleet: Fleet, plant: Any) -> None:
    plant(fleet)
    look(fleet)
    for agent in ("ann", "bob", "boss"):
        for _, text in fleet.told(agent):
            assert ("To do: `dibs release x.py`" in text) is (agent == "ann"), text
    assert fleet.told("ann")


# --- what a dashboard asks for


def test_a_waiter_names_who_holds_what_it_wants(fleet: Fleet) -> None:
    held = fleet.claim("ann", "x.py", expect=MINUTE)
    fleet.claim("bob", "x.py", wait=HOUR)
    shown = fleet.call("viewer", "status")
    (holder,) = shown["waiting"][0]["holders"]
    assert (holder["agent"], holder["claim"], holder["resource"]) == ("ann", held["claim"], "x.py")
    (claim,) = shown["claims"]
    assert (claim["expected"], claim["ttl"], claim["renewed_at"]) == (60.0, 1800.0, claim["since"])
    fleet.now += MINUTE
    fleet.call("ann", "renew")
    assert fleet.call("viewer", "status")["claims"][0]["renewed_at"] > claim["since"]


def test_a_list_of_tasks_has_the_ids_that_each_comes_after(fleet: Fleet) -> None:
    fleet.call("ann", "task add", title="a", id="a")
    fleet.call("ann", "task add", title="b", id="b", after=["a"])
    assert {one["id"]: one.get("after") for one in fleet.call("v", "task list")["tasks"]} == {"a": None, "b": ["a"]}
