"""Waiting: order, presence, hand-over, cycles, interests, alerts."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Deadlock, Held, Quota
from dibs.operations.claims.waiters import PROCESS_POLL_MS
from dibs.operations.core.policy import HOLDER_CHECK_DELAY_MS, WORK
from dibs.operations.upkeep import sweeps
from tests.operations.fleet import Fleet

MINUTE = 60_000


def wait(fleet: Fleet, agent: str, *names: str, **fields: Any) -> str:
    """Queue up, and say under which waiter id."""
    answer = fleet.claim(agent, *names, wait=fields.pop("wait", 10 * MINUTE), **fields)
    assert "waiting" in answer, answer
    waiter: str = answer["waiting"]
    return waiter


def test_the_release_hands_over_to_the_first_in_the_same_transaction(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    first = wait(fleet, "b", "x.py")
    wait(fleet, "c", "x.py")
    fleet.release("a")
    assert fleet.holders() == [("b", "x.py")]
    released, granted = fleet.events("claim.released")[0], fleet.events("claim.granted")[-1]
    assert (released["commit"], granted["agent"]) == (granted["commit"], "b")
    picked = fleet.claim("b", "x.py", wait=1000, waiter=first)
    assert (picked["token"], picked["renewed"]) == (granted["commit"], False)


def test_the_first_of_many_is_served(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    for number in range(40):
        wait(fleet, f"w{number}", "x.py")
    fleet.release("a")
    assert fleet.holders() == [("w0", "x.py")]


def test_nobody_is_granted_past_an_earlier_waiter(fleet: Fleet) -> None:
    fleet.claim("a", "src/", mode="read")
    wait(fleet, "b", "src/x.py")
    with pytest.raises(Held) as refused:
        fleet.claim("c", "src/x.py", mode="read")
    assert refused.value.blockers[0]["agent"] == "b"
    assert refused.value.blockers[0]["waiting"] is True
    fleet.claim("c", "src/y.py", mode="read")  # what does not conflict goes ahead


def test_a_waiter_is_served_in_its_order_also_by_its_own_look(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", ttl=3000)
    first, second = wait(fleet, "b", "x.py"), wait(fleet, "c", "x.py")
    fleet.now += 3000  # it expires; nobody released it
    assert "waiting" in fleet.claim("c", "x.py", wait=5 * MINUTE, waiter=second)
    assert fleet.claim("b", "x.py", wait=5 * MINUTE, waiter=first)["token"]


def test_an_absent_waiter_is_skipped(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    wait(fleet, "b", "x.py")
    fleet.now += 14_000
    wait(fleet, "c", "x.py")
    fleet.now += 1_000
    fleet.release("a")
    assert fleet.holders() == [("c", "x.py")]
    assert ("b", "lapsed") in [(e["agent"], e["data"]["why"]) for e in fleet.events("wait.ended")]


def test_a_hand_over_that_is_not_picked_up_passes_on(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    wait(fleet, "b", "x.py")
    second = wait(fleet, "c", "x.py")
    fleet.release("a")
    for _ in range(3):
        fleet.now += 5_000
        answer = fleet.claim("c", "x.py", wait=5 * MINUTE, waiter=second)
    assert answer["token"]
    assert [event["data"]["why"] for event in fleet.events("claim.ended")] == ["unclaimed"]


def test_a_retry_of_a_wait_gets_the_answer_that_the_wait_got(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    waiter = wait(fleet, "b", "x.py", wait=60_000, request="r1")
    fleet.release("a")
    fleet.now += 2_000
    answer = fleet.claim("b", "x.py", wait=58_000, waiter=waiter, request="r1")
    assert fleet.claim("b", "x.py", wait=60_000, request="r1") == answer
    assert len(fleet.events("claim.granted")) == 2


def test_a_wait_ends_at_its_deadline_and_leaves_nothing(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    waiter = wait(fleet, "b", "x.py", wait=5_000)
    fleet.now += 5_000
    with pytest.raises(Held):
        fleet.claim("b", "x.py", wait=0, waiter=waiter)
    assert fleet.call("v", "status")["waiting"] == []


def test_several_readers_are_served_together(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    wait(fleet, "b", "x.py", mode="read")
    wait(fleet, "c", "x.py", mode="read")
    wait(fleet, "d", "x.py")
    wait(fleet, "e", "x.py", mode="read")  # behind the writer
    fleet.release("a")
    assert fleet.holders() == [("b", "x.py"), ("c", "x.py")]


def test_a_waiter_that_gives_up_lets_those_behind_it_move_up(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", mode="read")
    writer = wait(fleet, "b", "x.py", wait=5_000)
    wait(fleet, "c", "x.py", mode="read")
    fleet.now += 5_000
    with pytest.raises(Held):
        fleet.claim("b", "x.py", wait=0, waiter=writer)
    assert fleet.holders() == [("a", "x.py"), ("c", "x.py")]


def test_killing_a_waiter_lets_those_behind_it_move_up(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", mode="read")
    wait(fleet, "b", "x.py")
    wait(fleet, "c", "x.py", mode="read")
    fleet.call("a", "kill", agent="b", why="test")
    assert ("c", "x.py") in fleet.holders()


def test_a_holders_refresh_and_upgrade_ignore_those_who_wait_for_it(fleet: Fleet) -> None:
    token = fleet.claim("a", "x.py", mode="read")["token"]
    wait(fleet, "b", "x.py")
    assert fleet.claim("a", "x.py", mode="read")["token"] == token
    assert fleet.claim("a", "x.py", mode="write")["token"] > token


def test_an_agent_has_at_most_sixteen_waits(fleet: Fleet) -> None:
    fleet.claim("a", "src/")
    for number in range(16):
        wait(fleet, "b", f"src/{number}.py")
    with pytest.raises(Quota):
        fleet.claim("b", "src/more.py", wait=MINUTE)


# --- cycles


def test_two_who_wait_for_each_other_are_found_when_the_cycle_closes(fleet: Fleet) -> None:
    fleet.claim("a", "one.py")
    fleet.claim("b", "two.py")
    wait(fleet, "a", "two.py")
    with pytest.raises(Deadlock) as refused:
        fleet.claim("b", "one.py", wait=MINUTE)
    steps = [(step["agent"], step["resource"], step["holder"]) for step in refused.value.cycle]
    assert steps == [("b", "one.py", "a"), ("a", "two.py", "b")]
    assert "b waits for one.py, held by a; a waits for two.py, held by b" in refused.value.message


def test_a_cycle_of_three_through_directories_and_globs_is_named(fleet: Fleet) -> None:
    fleet.claim("a", "one/")
    fleet.claim("b", "two/")
    fleet.claim("c", "three/")
    wait(fleet, "a", "two/*.py")
    wait(fleet, "b", "three/x.py")
    with pytest.raises(Deadlock) as refused:
        fleet.claim("c", "one/deep/y.py", wait=MINUTE)
    assert [step["agent"] for step in refused.value.cycle] == ["c", "a", "b"]


def test_the_order_of_the_queue_is_part_of_a_cycle(fleet: Fleet) -> None:
    fleet.claim("a", "one.py")
    fleet.claim("c", "two.py")
    wait(fleet, "b", "one.py", "two.py")  # waits for a and c
    with pytest.raises(Deadlock) as refused:
        fleet.claim("c", "one.py", wait=MINUTE)  # behind b, who waits for c
    assert [step["holder"] for step in refused.value.cycle] == ["b", "c"]


def test_interests_are_no_part_of_a_cycle(fleet: Fleet) -> None:
    fleet.claim("a", "one.py")
    fleet.claim("b", "two.py")
    with pytest.raises(Held):
        fleet.claim("a", "two.py", interest=True)
    with pytest.raises(Held):
        fleet.claim("b", "one.py", interest=True)
    wait(fleet, "b", "one.py")


def test_who_asks_again_keeps_its_place_and_is_no_cycle(fleet: Fleet) -> None:
    fleet.claim("h", "n.py")
    first = wait(fleet, "a", "n.py")
    behind = wait(fleet, "b", "n.py")
    again = wait(fleet, "a", "n.py")
    assert again != first
    assert [one["agent"] for one in fleet.call("viewer", "status")["waiting"]] == ["a", "b"]
    fleet.release("h", "n.py")
    assert fleet.holders() == [("a", "n.py")]
    token = fleet.claim("a", "n.py", wait=MINUTE, waiter=again)["token"]
    assert fleet.claim("a", "n.py", wait=MINUTE, waiter=first)["token"] == token  # the process that asked before
    assert fleet.claim("b", "n.py", wait=MINUTE, waiter=behind)["waiting"] == behind
    fleet.clean()


def test_a_process_that_waits_along_does_not_give_up_the_place_that_another_one_took_over(fleet: Fleet) -> None:
    fleet.claim("h", "n.py")
    first = wait(fleet, "a", "n.py")
    wait(fleet, "b", "n.py")
    again = wait(fleet, "a", "n.py")
    assert fleet.claim("a", "n.py", wait=MINUTE, waiter=first)["waiting"] == first
    with pytest.raises(Held):
        fleet.claim("a", "n.py", waiter=first)  # its time is over
    assert [one["agent"] for one in fleet.call("viewer", "status")["waiting"]] == ["a", "b"]
    with pytest.raises(Held):
        fleet.claim("a", "n.py", waiter=again)
    assert [one["agent"] for one in fleet.call("viewer", "status")["waiting"]] == ["b"]
    fleet.clean()


def test_a_place_that_lapsed_is_taken_anew_under_another_id(fleet: Fleet) -> None:
    fleet.claim("h", "n.py")
    first = wait(fleet, "a", "n.py")
    fleet.now += 20_000
    second = fleet.claim("a", "n.py", wait=MINUTE, waiter=first)["waiting"]
    assert second != first
    assert fleet.claim("a", "n.py", wait=MINUTE, waiter=second)["waiting"] == second


def test_who_waits_behind_a_reader_is_not_refused_because_that_one_waits_for_its_upgrade(fleet: Fleet) -> None:
    for reader in ("ann", "bob"):
        fleet.claim(reader, "x", mode="read")
    cid = wait(fleet, "cid", "x")
    ann = wait(fleet, "ann", "x")
    assert fleet.claim("cid", "x", wait=MINUTE, waiter=cid)["waiting"] == cid
    fleet.release("bob", "x")
    held = fleet.call("viewer", "status")["claims"]  # handed over at once, past who waits in line
    assert [(claim["agent"], claim["mode"]) for claim in held] == [("ann", "read"), ("ann", "write")]
    assert not fleet.claim("ann", "x", wait=MINUTE, waiter=ann).get("waiting")
    (held,) = fleet.call("viewer", "status")["claims"]  # the read claim was taken up into the other
    assert (held["agent"], held["mode"]) == ("ann", "write")
    fleet.release("ann", "x")
    assert fleet.holders() == [("cid", "x")]
    fleet.clean()


def test_a_refused_upgrade_leaves_no_place_behind(fleet: Fleet) -> None:
    fleet.claim("ann", "x", mode="read")
    fleet.claim("bob", "x", mode="read")
    ann = wait(fleet, "ann", "x")
    with pytest.raises(Deadlock):
        fleet.claim("bob", "x", wait=MINUTE)
    assert [one["agent"] for one in fleet.call("viewer", "status")["waiting"]] == ["ann"]
    fleet.release("bob", "x")
    assert fleet.claim("ann", "x", wait=MINUTE, waiter=ann)["mode"] == "write"
    fleet.clean()


def test_who_got_it_hears_nothing_of_its_being_free(fleet: Fleet) -> None:
    for how in ("asked", "waited", "handed"):
        fleet.claim("a", "x.py", ttl=1_000)
        with pytest.raises(Held):
            fleet.claim("b", "x.py", interest=True)
        if how == "waited":
            waiter = wait(fleet, "b", "x.py")
            fleet.release("a", "x.py")
            fleet.claim("b", "x.py", wait=MINUTE, waiter=waiter)
        elif how == "handed":
            fleet.release("a", "x.py", to="b")
        else:
            fleet.now += 1_000
            fleet.claim("b", "x.py")
        fleet.release("b", "x.py")
        assert [kind for kind, _ in fleet.told("b") if kind == "free"] == []
        assert fleet.store.look(lambda tx: tx.scan(1, "interests\t", 10).rows) == []


def test_a_hand_over_that_would_close_a_cycle_is_refused(fleet: Fleet) -> None:
    fleet.claim("a", "r.py")
    fleet.claim("b", "s.py")
    wait(fleet, "b", "r.py")
    fleet.call("c", "boot")
    wait(fleet, "c", "s.py")
    with pytest.raises(Deadlock):
        fleet.release("a", "r.py", to="c")
    assert ("a", "r.py") in fleet.holders()


def test_a_cycle_closed_by_a_subagents_end_is_found_at_the_next_look(fleet: Fleet) -> None:
    fleet.claim("p/child", "one.py")
    fleet.claim("b", "two.py")
    waiter = wait(fleet, "b", "one.py")
    wait(fleet, "p", "two.py")
    fleet.call("p/child", "leave")  # now p holds one.py, and waits for b, who waits for p
    with pytest.raises(Deadlock):
        fleet.claim("b", "one.py", wait=MINUTE, waiter=waiter)


def test_those_who_wait_one_after_the_other_are_no_cycle(fleet: Fleet) -> None:
    fleet.claim("a", "one.py")
    fleet.claim("b", "two.py")
    wait(fleet, "b", "one.py")
    wait(fleet, "c", "two.py")
    wait(fleet, "d", "one.py", "two.py")
    fleet.release("a")
    fleet.release("b")
    fleet.release("c")
    assert fleet.holders() == [("d", "one.py"), ("d", "two.py")], "each had its turn"


# --- interests and alerts


def test_an_interest_earns_a_message_when_it_is_free_and_never_a_claim(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    with pytest.raises(Held):
        fleet.claim("b", "x.py", interest=True)
    fleet.release("a")
    (message,) = fleet.call("b", "inbox")["messages"]
    assert message["type"] == "free"
    assert fleet.holders() == []


def test_an_interest_hears_nothing_while_another_waiter_got_it(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    with pytest.raises(Held):
        fleet.claim("b", "x.py", interest=True)
    waiter = wait(fleet, "c", "x.py")
    fleet.release("a")
    assert fleet.call("b", "inbox")["messages"] == []
    fleet.claim("c", "x.py", wait=1000, waiter=waiter)
    fleet.release("c")
    assert len(fleet.call("b", "inbox")["messages"]) == 1


def test_an_interest_lapses_after_ten_minutes(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    with pytest.raises(Held):
        fleet.claim("b", "x.py", interest=True)
    fleet.now += 10 * MINUTE
    fleet.release("a")
    assert fleet.call("b", "inbox")["messages"] == []


def test_a_hold_beyond_twice_its_expected_duration_raises_one_alert(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", expect=10_000)
    fleet.now += 19_000
    fleet.call("v", "sweep")
    assert fleet.events("alert.raised") == []
    fleet.now += 1_000
    for _ in range(3):
        fleet.call("v", "sweep")
    (alert,) = fleet.events("alert.raised")
    assert (alert["agent"], alert["data"]["what"], alert["data"]["actual"]) == ("a", "hold", 20_000)
    assert fleet.holders() == [("a", "x.py")]


def test_a_wait_beyond_twice_the_expected_duration_raises_one_alert(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", expect=4_000, ttl=MINUTE)
    waiter = wait(fleet, "b", "x.py", wait=MINUTE)
    for _ in range(6):
        fleet.now += 2_000
        fleet.claim("b", "x.py", wait=MINUTE, waiter=waiter)
    alerts = [event["data"]["what"] for event in fleet.events("alert.raised")]
    assert alerts.count("wait") == 1


# --- sweeps


def test_a_sweep_is_bounded_and_says_when_there_is_more(fleet: Fleet) -> None:
    for number in range(300):
        fleet.claim("a", f"f{number}.py", ttl=1000)
    fleet.now += 1000
    first = fleet.call("v", "sweep")
    assert (first["swept"]["claims"], first["more"]) == (256, True)
    second = fleet.call("v", "sweep")
    assert (second["swept"]["claims"], second["more"]) == (44, False)


def test_every_claim_sweeps_a_little_so_that_nothing_piles_up(fleet: Fleet) -> None:
    for number in range(20):
        fleet.claim("a", f"old{number}.py", ttl=1000)
    fleet.now += 1000
    for number in range(12):
        fleet.now += 1
        fleet.claim("b", f"new{number}.py")
    assert len(fleet.events("claim.ended")) == 20


def test_a_sweep_frees_what_dead_processes_held_and_serves_who_waits(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", client=10)
    wait(fleet, "b", "x.py")
    fleet.kill9(10)
    fleet.call("v", "sweep")
    assert fleet.holders() == [("b", "x.py")]


def test_sweeps_look_at_all_agents_one_after_the_other(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "AGENTS_PER_SWEEP", 3)
    for number in range(8):
        fleet.claim(f"a{number}", f"{number}.py", client=10 + number)
    fleet.kill9(17)
    for found in (0, 0, 1):  # among three, three, and the last two with the sweeper
        fleet.call("v", "sweep")
        assert len(fleet.events("claim.ended")) == found
    fleet.kill9(10)
    fleet.call("v", "sweep")
    assert len(fleet.events("claim.ended")) == 2, "and from the first again"
    fleet.clean()


def test_who_is_next_behind_a_process_asks_after_it_each_second(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", client=10)
    fleet.now += HOLDER_CHECK_DELAY_MS
    first = fleet.claim("b", "x.py", wait=10 * MINUTE)
    assert first["look_in"] == PROCESS_POLL_MS
    fleet.kill9(10)
    fleet.now += PROCESS_POLL_MS
    fleet.claim("b", "x.py", wait=10 * MINUTE, waiter=first["waiting"])
    assert fleet.holders() == [("b", "x.py")]


def test_a_holder_of_a_moment_is_asked_after_by_the_next_look_of_who_waits(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", client=10)
    fleet.kill9(10)
    first = fleet.claim("b", "x.py", wait=10 * MINUTE)
    assert first["look_in"] == HOLDER_CHECK_DELAY_MS, "who waits looks again as soon as it may ask"
    fleet.now += first["look_in"]
    fleet.claim("b", "x.py", wait=10 * MINUTE, waiter=first["waiting"])
    assert fleet.holders() == [("b", "x.py")]
    fleet.clean()


def test_sealing_and_pruning_keep_the_record_clean() -> None:
    fleet = Fleet(work={**WORK, "log": {**WORK["log"], "keep": 1000}})
    fleet.claim("a", "x.py", "src/**/y.py")
    fleet.claim("b", "z.py", ttl=1000)
    fleet.now += 1000
    fleet.call("v", "seal")
    fleet.release("a", "x.py")
    fleet.clean()
    fleet.now += 1000
    through = fleet.prune("v")["through"]
    assert fleet.events()[0]["seq"] == through + 1
    fleet.claim("c", "x.py", "z.py")
    with pytest.raises(Held):
        fleet.claim("c", "src/y.py")
    fleet.clean()
