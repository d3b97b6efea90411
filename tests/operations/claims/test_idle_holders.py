"""A claim past its deadline, of a live process with unfinished work: kept up to `max_life`; then one quiet line."""

from __future__ import annotations

import pytest

from dibs.errors import Held
from dibs.operations.core.call import process_name
from tests.operations.alerts.test_alerts import listed, look, raised
from tests.operations.fleet import Fleet

MINUTE, HOUR = 60_000, 3_600_000
FILES = ("a.py", "b.py", "c.py")


@pytest.fixture
def fleet() -> Fleet:
    """Ann has edited three files, and her turn is over."""
    fleet = Fleet(ttl=30 * MINUTE, max_life=8 * HOUR)
    fleet.call("ann", "boot", client=7)
    for name in FILES:
        fleet.edit("ann", name, process=7)
    return fleet


def held(fleet: Fleet) -> list[str]:
    """What somebody holds."""
    return [text for _, text in fleet.holders()]


def test_a_lunch_break_leaves_the_claims_and_needs_nobody(fleet: Fleet) -> None:
    fleet.now += HOUR
    assert held(fleet) == [*FILES], "a reader sees it before any sweep has renewed them"
    look(fleet)
    assert held(fleet) == [*FILES]
    assert not listed(fleet)
    assert not fleet.told("ann")
    assert {event["data"].get("why") for event in fleet.events("claim.renewed")} == {"alive"}
    with pytest.raises(Held):
        fleet.edit("bob", "a.py")
    fleet.clean()


def test_the_next_request_for_it_is_refused_although_nobody_swept(fleet: Fleet) -> None:
    fleet.now += HOUR
    with pytest.raises(Held) as refusal:
        fleet.claim("bob", "a.py")
    assert refusal.value.fields["blockers"][0]["left"] == "30 min left; ends with its commit"


def test_a_waiter_gets_it_when_the_process_dies_and_not_before(fleet: Fleet) -> None:
    place = fleet.claim("bob", "a.py", wait=3 * HOUR)["waiting"]
    fleet.now += HOUR
    look(fleet)
    place = fleet.claim("bob", "a.py", wait=3 * HOUR, waiter=place).get("waiting") or place
    assert ("ann", "a.py") in fleet.holders()
    fleet.kill9(7)
    assert "token" in fleet.claim("bob", "a.py", wait=3 * HOUR, waiter=place)


def test_a_resource_that_becomes_free_is_not_handed_over_past_a_claim_that_a_process_may_keep(fleet: Fleet) -> None:
    fleet.claim("cat", "z.py", ttl=2 * HOUR)
    place = fleet.claim("bob", "a.py", "z.py", wait=3 * HOUR)["waiting"]
    fleet.now += 30 * MINUTE - 1_000
    fleet.claim("bob", "a.py", "z.py", wait=3 * HOUR, waiter=place)
    fleet.now += 2_000
    fleet.release("cat")  # what bob wants besides is past its deadline, and nobody has looked at ann's process
    assert ("ann", "a.py") in fleet.holders()
    assert "waiting" in fleet.claim("bob", "a.py", "z.py", wait=3 * HOUR, waiter=place)


def test_claims_of_a_dead_process_end(fleet: Fleet) -> None:
    fleet.kill9(7)
    fleet.now += HOUR
    look(fleet)
    assert not held(fleet)
    assert not fleet.events("claim.renewed")


def test_what_cannot_be_seen_from_here_is_kept_by_nobody(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet.now += HOUR
    elsewhere = {process_name(fleet.process(7)): None}
    monkeypatch.setattr("dibs.operations.core.call.Call.know", lambda call, _: call.facts.update(elsewhere))
    look(fleet)
    assert not held(fleet)


def test_a_ttl_that_was_asked_for_a_hand_made_claim_and_a_killed_agent_are_not_kept(fleet: Fleet) -> None:
    fleet.claim("ann", "hand.py", client=7)
    fleet.claim("ann", "short.py", client=7, ttl=MINUTE)
    fleet.now += HOUR
    look(fleet)
    assert held(fleet) == [*FILES]
    fleet.call("boss", "kill", agent="ann", why="enough")
    assert not held(fleet)


def test_after_max_life_they_expire_into_one_quiet_line_and_one_message(fleet: Fleet) -> None:
    for _ in range(17):
        fleet.now += 30 * MINUTE
        look(fleet)
    assert not held(fleet)
    (alert,) = listed(fleet)
    assert (alert["severity"], alert["kind"]) == ("info", "expired")
    assert alert["text"] == "ann: 3 claims expired while it was still running (a.py, b.py, c.py)."
    assert alert["remedy"] == "dibs claim a.py b.py c.py --as ann"
    assert len(fleet.told("ann")) == 1
    assert len(raised(fleet, "expired")) == 1
    groups = fleet.call("viewer", "status")["alert_groups"]
    assert [(group["kind"], group["needs_you"]) for group in groups] == [("expired", False)]
    fleet.claim("ann", *FILES, client=7)
    look(fleet)
    assert not listed(fleet)


def test_claims_that_expire_one_after_the_other_stay_one_line(fleet: Fleet) -> None:
    fleet.claim("ann", "x.py", client=7, ttl=MINUTE)
    fleet.claim("ann", "y.py", client=7, ttl=2 * MINUTE)
    for _ in range(2):
        fleet.now += MINUTE + 1
        look(fleet)
    (alert,) = listed(fleet)
    assert alert["text"] == "ann: 2 claims expired while it was still running (x.py, y.py)."
    assert len(fleet.told("ann")) == 1


def test_the_agents_own_next_call_renews_what_is_past_its_deadline(fleet: Fleet) -> None:
    fleet.now += HOUR
    fleet.call("ann", "renew", client=7)
    look(fleet)
    assert held(fleet) == [*FILES]


def test_another_process_of_the_agent_keeps_nothing_past_its_deadline(fleet: Fleet) -> None:
    fleet.kill9(7)
    fleet.now += HOUR
    lost = fleet.call("ann", "boot", client=8)["lost"]
    assert sorted(text for loss in lost for text in loss["resources"]) == [*FILES]
    assert not held(fleet)


def test_the_same_process_is_told_after_its_compaction_that_it_still_holds_them(fleet: Fleet) -> None:
    fleet.now += HOUR
    briefing = fleet.call("ann", "boot", client=7)
    assert (briefing["held_count"], briefing["lost"]) == (3, [])
