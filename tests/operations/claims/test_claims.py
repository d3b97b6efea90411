"""Claims: what is granted, what is refused, and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Fenced, Held, Invalid, Killed, NotFound, Order, Quota
from tests.operations.fleet import OTHER_TREE, Fleet

MINUTE, HOUR = 60_000, 3_600_000


# --- the five accidents of other tools (c, d and e are in tests/machine, tests/faults and tests/guards too)


def test_accident_a_after_it_expired_and_another_took_it_the_first_is_refused(fleet: Fleet) -> None:
    first = fleet.claim("a", "x.py", ttl=1000)
    fleet.now += 1000
    second = fleet.claim("b", "x.py")
    assert second["token"] > first["token"]
    with pytest.raises(Held) as refused:
        fleet.claim("a", "x.py")
    assert refused.value.blockers[0]["agent"] == "b"


def test_accident_b_two_readers_and_one_asks_to_write(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", mode="read")
    fleet.claim("b", "x.py", mode="read")
    with pytest.raises(Held) as refused:
        fleet.claim("a", "x.py", mode="write")
    assert [blocker["agent"] for blocker in refused.value.blockers] == ["b"]
    assert fleet.holders() == [("a", "x.py"), ("b", "x.py")]


def test_a_refused_reader_is_advised_to_wait_for_a_read_claim(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    with pytest.raises(Held) as reading:
        fleet.claim("b", "x.py", mode="read")
    assert "`dibs claim x.py --mode read --wait 60s`" in reading.value.message
    assert reading.value.fields["mode"] == "read"
    with pytest.raises(Held) as writing:
        fleet.claim("b", "x.py")
    assert "`dibs claim x.py --wait 60s`" in writing.value.message


@pytest.mark.parametrize("wide", ["src/", "src/**", "**/x.py", "src/*.py", "src/?.py", "**", "*/x.py", "src/[a-x].py"])
def test_accident_c_what_could_match_the_same_file_overlaps(fleet: Fleet, wide: str) -> None:
    fleet.claim("a", wide)
    with pytest.raises(Held):
        fleet.claim("b", "src/x.py")
    fleet.release("a")
    fleet.claim("b", "src/x.py")
    with pytest.raises(Held):
        fleet.claim("a", wide)


# --- granting and refusing


def test_a_request_for_several_gets_all_or_none(fleet: Fleet) -> None:
    fleet.claim("a", "two.py")
    with pytest.raises(Held):
        fleet.claim("b", "one.py", "two.py", "three.py")
    assert fleet.holders() == [("a", "two.py")]
    fleet.release("a")
    fleet.claim("b", "one.py", "two.py", "three.py")
    assert len(fleet.holders()) == 3


def test_several_globs_and_a_directory_with_one_prefix_are_all_held_and_all_released(fleet: Fleet) -> None:
    fleet.claim("a", "src/a*", "src/b*", "src/sub/", "src/sub/*.py", "**/x", "**/y")
    assert fleet.store.look(lambda tx: len(tx.fetch([("r", "s")]).rows)) == 6
    for name in ("src/a1", "src/b1", "src/sub/z.txt", "src/sub/z.py", "lib/x", "lib/y"):
        with pytest.raises(Held):
            fleet.claim("b", name)
    fleet.release("a", "src/a*")
    fleet.claim("b", "src/a1")
    assert len(fleet.release("a")["released"]) == 5
    assert fleet.holders() == [("b", "src/a1")]
    assert fleet.store.look(lambda tx: len(tx.fetch([("r", "s")]).rows)) == 1


def test_a_refusal_says_who_what_since_until_and_why(fleet: Fleet) -> None:
    fleet.claim("a", "src/", reason="renaming", task="T-1")
    with pytest.raises(Held) as refused:
        fleet.claim("b", "src/x.py")
    (blocker,) = refused.value.blockers
    assert blocker == {
        "agent": "a", "resource": "src", "mode": "write", "since": "2023-11-14T22:30:00.000Z",
        "until": "2023-11-14T23:00:00.000Z", "reason": "renaming", "task": "T-1", "name": "a",
        "left": "30 min left",
    }  # fmt: skip
    assert refused.value.message.startswith(
        'src/x.py is not free: a holds src (30 min left), at work on "renaming". Wait: `dibs claim src/x.py --wait'
    )
    assert [event["data"]["code"] for event in fleet.events("claim.refused")] == ["held"]


def test_the_token_is_the_number_of_the_commit_that_granted_it(fleet: Fleet) -> None:
    tokens = [fleet.claim("a", f"{n}.py")["token"] for n in range(5)]
    assert tokens == sorted(set(tokens))
    granted = fleet.events("claim.granted")
    assert [event["commit"] for event in granted] == tokens


def test_claiming_what_one_holds_refreshes_it_under_the_same_token(fleet: Fleet) -> None:
    first = fleet.claim("a", "x.py", "y.py")
    fleet.now += 10 * MINUTE
    again = fleet.claim("a", "x.py")
    assert (again["token"], again["renewed"]) == (first["token"], True)
    assert again["expires_at"] > first["expires_at"]


def test_after_it_expired_it_is_a_new_claim_with_a_new_token(fleet: Fleet) -> None:
    first = fleet.claim("a", "x.py")
    fleet.now += 30 * MINUTE
    again = fleet.claim("a", "x.py")
    assert again["token"] > first["token"]
    assert "renewed" not in again


def test_a_claim_ends_at_its_deadline_and_not_before(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", ttl=5000)
    fleet.now += 4999
    with pytest.raises(Held):
        fleet.claim("b", "x.py")
    fleet.now += 1
    fleet.claim("b", "x.py")
    assert [event["data"]["why"] for event in fleet.events("claim.ended")] == ["expired"]


def test_a_claim_past_its_deadline_that_no_sweep_came_to_blocks_nobody(fleet: Fleet) -> None:
    for number in range(6):
        fleet.claim("a", f"{number}.py", ttl=1000 + number)
    fleet.now += 2001  # a moment at which a claim does not sweep by the way
    fleet.claim("b", "5.py")
    assert fleet.holders() == [("b", "5.py")]


def test_readers_share_and_exclude_writers(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", mode="read")
    fleet.claim("b", "src/", "x.py", mode="read")
    with pytest.raises(Held) as refused:
        fleet.claim("c", "x.py")
    assert {blocker["agent"] for blocker in refused.value.blockers} == {"a", "b"}


def test_the_only_reader_may_become_the_writer(fleet: Fleet) -> None:
    reading = fleet.claim("a", "x.py", mode="read")
    writing = fleet.claim("a", "x.py", mode="write")
    assert writing["token"] > reading["token"]
    with pytest.raises(Fenced):
        fleet.call("a", "confirm", resource="x.py", token=reading["token"])
    with pytest.raises(Held):
        fleet.claim("b", "x.py", mode="read")


def test_a_watch_blocks_nobody_and_both_sides_are_told(fleet: Fleet) -> None:
    fleet.claim("a", "src/", mode="watch")
    answer = fleet.claim("b", "src/x.py")
    assert answer["watch"][0]["agent"] == "a"
    assert "b now has a write claim" in fleet.call("a", "inbox")["messages"][0]["text"]
    answer = fleet.claim("c", "src/x.py", mode="watch")
    assert {other["agent"] for other in answer["watch"]} == {"a", "b"}


def test_an_agents_own_claims_never_block_it(fleet: Fleet) -> None:
    fleet.claim("a", "src/x.py")
    fleet.claim("a", "src/")
    fleet.claim("a", "**/x.py", mode="read")
    assert fleet.holders() == [("a", "**/x.py"), ("a", "src"), ("a", "src/x.py")]


def test_ancestors_and_descendants_do_not_block_each_other_but_siblings_do(fleet: Fleet) -> None:
    fleet.claim("p", "x.py")
    fleet.claim("p/one", "x.py")
    fleet.claim("p/one/deep", "x.py")
    with pytest.raises(Held):
        fleet.claim("p/two", "x.py")
    fleet.claim("q", "y.py")
    with pytest.raises(Held):
        fleet.claim("qq", "y.py")  # no relative, in spite of its name


def test_the_same_path_in_two_working_trees_does_not_meet(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", tree="/one")
    fleet.claim("b", "x.py", tree="/two")
    with pytest.raises(Held):
        fleet.claim("c", "x.py")  # by hand: every working tree
    with pytest.raises(Held):
        fleet.claim("c", "x.py", tree="/two")


def test_hard_links_of_one_file_meet_by_their_inode(fleet: Fleet) -> None:
    fleet.call("a", "claim", resources=[["file", "one.py", "8:77"]])
    with pytest.raises(Held) as refused:
        fleet.call("b", "claim", resources=[["file", "two.py", "8:77"]])
    assert refused.value.blockers[0]["resource"] == "one.py"
    assert fleet.release("a")["released"] == ["one.py"]
    fleet.call("b", "claim", resources=[["file", "two.py", "8:77"]])


# --- lifetime


def test_renewing_gives_a_full_life_but_not_beyond_max_life() -> None:
    fleet = Fleet(ttl=10 * MINUTE, max_life=25 * MINUTE)
    fleet.claim("a", "x.py")
    for _ in range(2):
        fleet.now += 9 * MINUTE
        fleet.call("a", "renew")
    fleet.now += 6 * MINUTE  # 24 minutes after the grant
    with pytest.raises(Held):
        fleet.claim("b", "x.py")
    fleet.call("a", "renew")
    fleet.now += MINUTE
    fleet.claim("b", "x.py")
    fleet.clean()


def test_activity_renews_what_is_past_half_its_life_and_was_given_no_ttl(fleet: Fleet) -> None:
    fleet.claim("a", "renewed.py")
    fleet.claim("a", "fixed.py", ttl=30 * MINUTE)
    fleet.now += 14 * MINUTE
    fleet.call("a", "inbox")  # not yet half of it
    fleet.now += 2 * MINUTE
    fleet.call("a", "inbox")
    fleet.now += 15 * MINUTE
    assert fleet.holders() == [("a", "renewed.py")]
    assert len(fleet.events("claim.renewed")) == 1


def test_activity_renews_up_to_max_life_and_no_further() -> None:
    fleet = Fleet(ttl=10 * MINUTE, max_life=25 * MINUTE)
    fleet.claim("a", "x.py")
    for _ in range(12):
        fleet.now += 2 * MINUTE
        fleet.call("a", "inbox")
    assert fleet.holders() == [("a", "x.py")]  # 24 minutes after the grant
    fleet.now += MINUTE
    fleet.call("a", "inbox")
    assert fleet.holders() == []
    fleet.clean()


def test_activity_from_elsewhere_does_not_renew_what_a_dead_process_holds(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", client=10)
    fleet.now += 20 * MINUTE
    fleet.call("a", "inbox")
    fleet.now += 10 * MINUTE
    assert fleet.holders() == []


def test_at_the_end_of_its_life_a_claim_goes_behind_whoever_waits() -> None:
    fleet = Fleet(ttl=10_000, max_life=10_000)
    fleet.claim("a", "x.py")
    waiter = fleet.claim("b", "x.py", wait=60_000)["waiting"]
    fleet.now += 10_000
    with pytest.raises(Held) as refused:
        fleet.claim("a", "x.py")
    assert refused.value.blockers[0]["agent"] == "b"
    assert fleet.claim("b", "x.py", wait=50_000, waiter=waiter)["token"]
    fleet.clean()


def test_the_config_sets_lifetimes_by_pattern() -> None:
    patterns = [{"match": "migrations/**", "ttl": MINUTE, "max_ttl": 2 * MINUTE}, {"match": "db:*", "ttl": 5000}]
    fleet = Fleet(patterns=patterns)
    assert fleet.claim("a", "migrations/1.sql")["expires_at"] == "2023-11-14T22:31:00.000Z"
    assert fleet.claim("a", "db:main")["expires_at"] == "2023-11-14T22:30:05.000Z"
    assert fleet.claim("a", "other.py")["expires_at"] == "2023-11-14T23:00:00.000Z"
    with pytest.raises(Invalid, match="at most 2m for migrations"):
        fleet.claim("b", "migrations/2.sql", ttl=HOUR)


@pytest.mark.parametrize("ttl", [0, -1, 9 * HOUR, 10**18])
def test_absurd_lifetimes_are_refused_and_nothing_changes(fleet: Fleet, ttl: int) -> None:
    before = fleet.store.head().commit
    with pytest.raises(Invalid):
        fleet.claim("a", "x.py", ttl=ttl)
    assert fleet.store.head().commit == before


# --- release and hand-over


def test_releasing_a_part_keeps_the_rest_under_its_token(fleet: Fleet) -> None:
    token = fleet.claim("a", "x.py", "y.py")["token"]
    assert fleet.release("a", "x.py")["released"] == ["x.py"]
    fleet.claim("b", "x.py")
    assert fleet.call("a", "confirm", resource="y.py", token=token)["holder"] == "a"
    with pytest.raises(Held):
        fleet.claim("b", "y.py")


def test_a_stale_token_releases_nothing_and_is_told_who_holds_it(fleet: Fleet) -> None:
    token = fleet.claim("a", "x.py", ttl=1000)["token"]
    fleet.now += 1000
    fleet.claim("b", "x.py")
    with pytest.raises(Fenced) as refused:
        fleet.release("a", "x.py", token=token)
    assert (refused.value.holder, refused.value.since) == ("b", "2023-11-14T22:30:01.000Z")
    assert fleet.holders() == [("b", "x.py")]


@pytest.mark.parametrize("to", ["", "b"])
def test_all_under_a_stale_token_is_refused_and_nothing_is_released(fleet: Fleet, to: str) -> None:
    lost = fleet.claim("a", "x.py", ttl=1000)["token"]
    fleet.now += 1000
    fleet.claim("b", "x.py")
    given_back = fleet.claim("a", "z.py")["token"]
    fleet.release("a", "z.py")
    live = fleet.claim("a", "y.py")["token"]
    fleet.claim("a", "more.py")
    for token, holder in ((lost, "b"), (given_back, None), (live + 100, None)):
        with pytest.raises(Fenced) as refused:
            fleet.release("a", token=token, to=to)
        assert (refused.value.given, refused.value.holder) == (token, holder)
    assert set(fleet.holders()) == {("a", "more.py"), ("a", "y.py"), ("b", "x.py")}
    assert fleet.release("a", token=live, to=to)["released"] == ["y.py"]
    assert ("a", "more.py") in fleet.holders()


@pytest.mark.parametrize("inner", ["src/a.py", "src/"])
@pytest.mark.parametrize("given", [10 * MINUTE, None])
def test_a_shorter_claim_inside_a_claim_does_not_shorten_it(fleet: Fleet, inner: str, given: int | None) -> None:
    outer = fleet.claim("a", "src/", **({"ttl": given} if given else {}))
    again = fleet.claim("a", inner, ttl=2_000)
    assert (again["token"], again["renewed"], again["expires_at"]) == (outer["token"], True, outer["expires_at"])
    fleet.now += 8 * MINUTE
    renewed = fleet.call("a", "renew")["renewed"][0]["expires_at"]
    fleet.now += 9 * MINUTE
    with pytest.raises(Held):
        fleet.claim("b", "src/a.py")
    assert fleet.call("a", "status")["claims"][0]["expires_at"] == renewed, "and its renewals give it its whole life"


def test_a_longer_claim_inside_a_claim_lengthens_it(fleet: Fleet) -> None:
    fleet.claim("a", "src/", ttl=2_000)
    fleet.claim("a", "src/a.py", ttl=10 * MINUTE)
    fleet.now += 9 * MINUTE
    with pytest.raises(Held):
        fleet.claim("b", "src/a.py")


def test_activity_still_renews_a_claim_inside_which_a_ttl_was_asked_for(fleet: Fleet) -> None:
    fleet.claim("a", "src/")
    fleet.claim("a", "src/a.py", ttl=2_000)
    fleet.now += 20 * MINUTE
    fleet.call("a", "inbox")
    fleet.now += 20 * MINUTE
    assert fleet.holders() == [("a", "src")]


def test_a_shorter_upgrade_lasts_as_long_as_the_claim_that_it_upgrades(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", mode="read", ttl=10 * MINUTE)
    fleet.claim("a", "x.py", ttl=2_000)
    fleet.now += 9 * MINUTE
    with pytest.raises(Held):
        fleet.claim("b", "x.py")
    fleet.call("a", "renew")
    fleet.now += 9 * MINUTE
    with pytest.raises(Held):
        fleet.claim("b", "x.py")


def test_an_upgrade_in_line_lasts_as_long_as_the_claim_that_it_upgrades(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", mode="read", ttl=10 * MINUTE)
    fleet.claim("c", "x.py", mode="read")
    place = fleet.claim("a", "x.py", ttl=2_000, wait=MINUTE)["waiting"]
    fleet.release("c", "x.py")
    assert fleet.claim("a", "x.py", ttl=2_000, wait=MINUTE, waiter=place)["mode"] == "write"
    fleet.now += 9 * MINUTE
    with pytest.raises(Held):
        fleet.claim("b", "x.py")


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_claim_that_lasts_as_long_as_a_subagents_is_not_shortened_by_the_next_claim(fleet: Fleet, mode: str) -> None:
    fleet.claim("a", "x.py", mode="read", ttl=MINUTE)
    fleet.claim("a/sub", "x.py", mode="read", ttl=10 * MINUTE)
    fleet.call("a/sub", "leave")
    (inherited,) = fleet.call("a", "status")["claims"]
    assert fleet.claim("a", "x.py", mode=mode, ttl=MINUTE)["expires_at"] == inherited["expires_at"]


def test_a_hand_over_that_was_renewed_is_not_shortened_when_its_waiter_picks_it_up(fleet: Fleet) -> None:
    fleet.claim("b", "x.py")
    place = fleet.claim("a", "x.py", ttl=2_000, wait=MINUTE)["waiting"]
    fleet.release("b", "x.py")
    (renewed,) = fleet.call("a", "renew")["renewed"]
    picked = fleet.claim("a", "x.py", ttl=2_000, wait=MINUTE, waiter=place)
    assert (picked["token"], picked["expires_at"]) == (renewed["token"], renewed["expires_at"])


def test_a_hand_over_lasts_for_its_ttl_from_when_it_is_picked_up(fleet: Fleet) -> None:
    fleet.claim("b", "x.py")
    place = fleet.claim("a", "x.py", ttl=2_000, wait=MINUTE)["waiting"]
    fleet.release("b", "x.py")
    fleet.claim("a", "x.py", ttl=2_000, wait=MINUTE, waiter=place)
    fleet.now += 1_999
    assert fleet.holders() == [("a", "x.py")]
    fleet.now += 1
    assert fleet.holders() == []


def test_a_subagents_claim_does_not_end_with_a_hand_over_to_its_parent(fleet: Fleet) -> None:
    fleet.claim("b", "y.py")
    fleet.claim("a/sub", "x.py", ttl=10 * MINUTE)
    place = fleet.claim("a", "x.py", "y.py", ttl=2_000, wait=MINUTE)["waiting"]
    fleet.release("b", "y.py")
    fleet.call("a/sub", "leave")
    fleet.claim("a", "x.py", "y.py", ttl=2_000, wait=MINUTE, waiter=place)
    fleet.now += 9 * MINUTE
    assert fleet.holders() == [("a", "x.py")]


def test_what_an_agent_holds_by_two_claims_is_handed_over_as_a_whole(fleet: Fleet) -> None:
    fleet.call("b", "boot")
    fleet.claim("a", "n:1")
    fleet.claim("a", "n:1", "n:2")
    answer = fleet.release("a", "n:1", to="b")
    assert (answer["released"], len(answer["claims"])) == (["n:1"], 1), "once, not by two claims again"
    assert {(agent, name) for agent, name in fleet.holders()} == {("a", "n:2"), ("b", "n:1")}


def test_who_never_held_it_is_told_who_does_and_not_to_stop(fleet: Fleet) -> None:
    fleet.claim("b", "my file.py")
    with pytest.raises(Fenced) as refused:
        fleet.release("a", "my file.py")
    assert (refused.value.holder, refused.value.why) == ("b", "never_held")
    assert refused.value.message == (
        "you do not hold my file.py: b does. `dibs claim 'my file.py' --wait 60s` waits for it, "
        "`dibs ask 'my file.py' TEXT` asks for it."
    )


def test_an_old_token_is_refused_even_when_the_agent_holds_it_again(fleet: Fleet) -> None:
    old = fleet.claim("a", "x.py", ttl=1000)["token"]
    fleet.now += 1000
    new = fleet.claim("a", "x.py")["token"]
    for name, fields in (("confirm", {"resource": "x.py"}), ("release", {"resources": ["x.py"]})):
        with pytest.raises(Fenced):
            fleet.call("a", name, token=old, **fields)
    assert fleet.call("a", "confirm", resource="x.py", token=new)["holder"] == "a"


def test_releasing_what_one_does_not_hold_says_what_one_holds(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    with pytest.raises(NotFound, match=r"you do not hold z\.py; you hold x\.py"):
        fleet.release("a", "z.py")
    with pytest.raises(Fenced):  # somebody else's
        fleet.release("b", "x.py")
    assert fleet.holders() == [("a", "x.py")]


def test_releasing_several_is_all_or_nothing(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    with pytest.raises(NotFound):
        fleet.release("a", "x.py", "y.py")
    assert fleet.holders() == [("a", "x.py")]


def test_the_family_counts_as_one_for_a_release_from_the_parents_shell(fleet: Fleet) -> None:
    fleet.claim("p/child", "x.py")
    fleet.release("p", "x.py")
    assert fleet.holders() == []
    fleet.claim("p", "y.py")
    with pytest.raises(Fenced):
        fleet.release("p/child", "y.py")


def test_releasing_records_the_commit_it_led_to(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    fleet.release("a", "x.py", commit="abc123")
    assert fleet.events("claim.released")[0]["data"]["commit"] == "abc123"


def test_a_hand_over_gives_the_other_a_new_token_and_tells_it(fleet: Fleet) -> None:
    fleet.call("b", "boot")
    token = fleet.claim("a", "x.py")["token"]
    handed = fleet.release("a", "x.py", to="b")
    assert handed["claims"][0]["token"] > token
    assert fleet.holders() == [("b", "x.py")]
    assert fleet.call("b", "inbox")["messages"][0]["type"] == "handover"
    with pytest.raises(Fenced):
        fleet.call("a", "confirm", resource="x.py", token=token)


def test_a_hand_over_to_nobody_or_to_a_killed_agent_changes_nothing(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    with pytest.raises(NotFound):
        fleet.release("a", "x.py", to="nobody")
    for name in ("b", "b/child"):
        fleet.call(name, "boot")
    fleet.call("a", "kill", agent="b", why="test")
    for name in ("b", "b/child"):
        with pytest.raises(Killed):
            fleet.release("a", "x.py", to=name)
    assert fleet.holders() == [("a", "x.py")]


# --- tokens, request ids, dead processes


def test_confirm_is_yes_for_what_the_claim_covers(fleet: Fleet) -> None:
    token = fleet.claim("a", "src/", "**/*.md")["token"]
    for name in ("src/", "src/deep/x.py", "docs/a.md"):
        assert fleet.call("a", "confirm", resource=name, token=token)["token"] == token
    with pytest.raises(Fenced, match="nobody holds it now"):
        fleet.call("a", "confirm", resource="other.py", token=token)


def test_the_same_request_id_gets_the_same_answer_and_no_second_effect(fleet: Fleet) -> None:
    first = fleet.claim("a", "x.py", request="r1")
    fleet.release("a", "x.py")
    fleet.now += HOUR
    assert fleet.claim("a", "x.py", request="r1") == first
    assert fleet.holders() == []
    assert len(fleet.events("claim.granted")) == 1


def test_a_refusal_is_answered_again_by_its_request_id(fleet: Fleet) -> None:
    fleet.claim("b", "x.py")
    with pytest.raises(Held) as first:
        fleet.claim("a", "x.py", request="r1")
    fleet.release("b")
    with pytest.raises(Held) as again:
        fleet.claim("a", "x.py", request="r1")
    assert again.value.as_json() == first.value.as_json()


def test_a_request_id_belongs_to_one_agent_one_operation_and_one_request(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", request="r1")
    fleet.claim("b", "y.py", request="r1")
    fleet.release("a", "x.py", request="r1")
    with pytest.raises(Invalid, match="was used for another request"):
        fleet.claim("a", "z.py", request="r1")


def test_a_request_id_is_forgotten_after_a_day(fleet: Fleet) -> None:
    first = fleet.claim("a", "x.py", request="r1")
    fleet.now += 24 * HOUR
    assert fleet.claim("a", "x.py", request="r1")["token"] > first["token"]


def test_a_dead_local_holder_loses_its_claim_as_soon_as_anybody_wants_it(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", client=10)
    with pytest.raises(Held):
        fleet.claim("b", "x.py")
    fleet.kill9(10)
    fleet.claim("b", "x.py")
    assert [event["data"]["why"] for event in fleet.events("claim.ended")] == ["gone"]


def test_nobody_looks_at_processes_while_nothing_is_in_the_way(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", client=10)
    fleet.claim("b", "y.py", client=11)
    fleet.release("a", client=10)
    assert fleet.needs == 0


def test_a_claim_made_without_a_known_process_lives_until_its_deadline(fleet: Fleet) -> None:
    fleet.call("a", "boot", client=10)
    fleet.kill9(10)
    fleet.claim("a", "x.py")  # from somewhere else
    with pytest.raises(Held):
        fleet.claim("b", "x.py")


def test_a_dead_holder_is_not_shown_as_holding(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", client=10)
    fleet.kill9(10)
    assert fleet.holders() == []


# --- policies and quotas


def test_ordering_refuses_what_comes_before_what_one_holds() -> None:
    fleet = Fleet(ordering="enforce")
    fleet.claim("a", "b.py")
    fleet.claim("a", "c.py", "db:main")
    with pytest.raises(Order) as refused:
        fleet.claim("a", "a.py")
    assert (refused.value.held, refused.value.resource) == ("b.py", "a.py")
    fleet.release("a")
    fleet.claim("a", "a.py", "z.py")
    fleet.clean()


def test_globs_that_begin_with_a_wildcard_have_a_quota(fleet: Fleet) -> None:
    for number in range(64):
        fleet.claim("a", f"**/f{number}.py", mode="read")
    with pytest.raises(Quota, match="at most 64"):
        fleet.claim("b", "**/more.py", mode="read")
    fleet.claim("b", "src/**/more.py", mode="read")
    fleet.release("a", "**/f1.py")
    fleet.claim("b", "**/more.py", mode="read")


@pytest.mark.parametrize(
    "fields",
    [
        {"resources": []},
        {"resources": [["file", f"{n}.py"] for n in range(257)]},
        {"resources": [["file", "x"]], "mode": "own"},
        {"resources": [["file", "x"]], "reason": "x" * 2001},
        {"resources": [["file", "x"]], "reason": "a\x1ab"},
        {"resources": [["file", "x"]], "task": "\x1a"},
        {"resources": [["file", "x"]], "wait": 25 * HOUR},
        {"resources": [["file", "x"]], "expect": -5},
    ],
)
def test_what_makes_no_sense_is_invalid_and_changes_nothing(fleet: Fleet, fields: dict[str, Any]) -> None:
    before = fleet.store.head().commit
    with pytest.raises(Invalid):
        fleet.call("a", "claim", **fields)
    assert fleet.store.head().commit == before


@pytest.mark.parametrize("agent", ["", "a b", "a\tb", "a//b", "/a", "a/", "x" * 201, "a\x1ab", "a\nb"])
def test_impossible_agent_ids_are_invalid(fleet: Fleet, agent: str) -> None:
    if agent:
        with pytest.raises(Invalid):
            fleet.claim(agent, "x.py")
    with pytest.raises(Invalid):
        fleet.call("me", "kill", agent=agent, why="test")


def test_ask_reaches_the_holder_and_nobody_else(fleet: Fleet) -> None:
    fleet.claim("a", "src/")
    answer = fleet.call("b", "ask", resource="src/x.py", text="I need the import")
    assert answer["to"] == ["a"]
    (message,) = fleet.call("a", "inbox")["messages"]
    assert (message["from"], message["text"], message["resource"]) == ("b", "I need the import", "src/x.py")
    fleet.call("a", "ack", message=message["message"])
    assert fleet.call("a", "inbox")["messages"] == []
    with pytest.raises(NotFound):
        fleet.call("b", "ask", resource="free.py", text="hello")


def test_confirm_says_no_to_an_agent_that_is_not_of_the_holders_family(fleet: Fleet) -> None:
    token = fleet.claim("a/b", "x.py")["token"]
    for caller in ("a", "a/b", "a/b/c", ""):
        assert fleet.call(caller, "confirm", resource="x.py", token=token)["holder"] == "a/b"
    for caller in ("z", "a/c"):
        with pytest.raises(Fenced) as refused:
            fleet.call(caller, "confirm", resource="x.py", token=token)
        assert refused.value.holder == "a/b"


def test_a_token_that_is_not_the_callers_is_called_what_it_is(fleet: Fleet) -> None:
    former = fleet.claim("a", "x.py")["token"]
    fleet.release("a", "x.py")
    token = fleet.claim("a", "x.py")["token"]
    with pytest.raises(Fenced) as refused:
        fleet.call("b", "confirm", resource="x.py", token=token)
    assert refused.value.message == f"token {token} for x.py is a's, not yours. Stop working on it."
    with pytest.raises(Fenced) as refused:
        fleet.call("a", "confirm", resource="x.py", token=former)
    text = f"token {former} for x.py is no longer live: you hold it under token {token} now."
    assert refused.value.message == text
    with pytest.raises(Fenced, match=r"a holds it now\. Stop working on it"):
        fleet.call("b", "confirm", resource="x.py", token=former)


def test_a_claim_on_a_part_is_not_taken_for_the_whole_when_a_token_is_stale(fleet: Fleet) -> None:
    stale = fleet.claim("b", "src/")["token"]
    fleet.release("b")
    part = fleet.claim("b", "src/a.py")["token"]
    for token in (stale, part):
        with pytest.raises(Fenced, match="nobody holds it now") as refused:
            fleet.call("b", "confirm", resource="src/", token=token)
        assert refused.value.holder is None
    fleet.claim("a", "src/b.py")
    with pytest.raises(Fenced, match=r"a holds it now\. Stop working on it") as refused:
        fleet.call("b", "confirm", resource="src/", token=stale)
    assert "why" not in refused.value.fields


def test_a_reader_under_a_newer_token_is_told_so_also_next_to_other_readers(fleet: Fleet) -> None:
    stale = fleet.claim("b", "x.py")["token"]
    fleet.release("b")
    fleet.claim("a", "x.py", mode="read")
    token = fleet.claim("b", "x.py", mode="read")["token"]
    fleet.claim("c", "x.py", mode="read")
    with pytest.raises(Fenced, match=f"you hold it under token {token} now"):
        fleet.call("b", "confirm", resource="x.py", token=stale)


@pytest.mark.parametrize("asks", [False, True])
def test_an_agent_that_asks_after_a_refused_edit_is_still_told_for_its_working_tree(fleet: Fleet, asks: bool) -> None:
    fleet.edit("a", "x.py")
    fleet.edit("c", "x.py", tree=OTHER_TREE)
    with pytest.raises(Held):
        fleet.edit("b", "x.py")
    if asks:
        fleet.call("b", "ask", resource="x.py", text="may I?")
    fleet.release("a")
    assert [kind for kind, _ in fleet.told("b")] == ["free"], "c holds it in another working tree only"


def test_an_agent_that_holds_a_part_or_reads_is_told_when_all_of_it_is_free(fleet: Fleet) -> None:
    fleet.claim("b", "src/b.py")
    fleet.claim("a", "src/a.py")
    fleet.call("b", "ask", resource="src/", text="all of it, please")
    fleet.claim("a", "doc.md", mode="read")
    fleet.claim("b", "doc.md", mode="read")
    fleet.call("b", "ask", resource="doc.md", text="to write it")
    fleet.release("a", "src/a.py")
    fleet.release("a", "doc.md")
    told = [text for _, text in fleet.told("b")]
    assert [text.split(" is free")[0] for text in told] == ["src", "doc.md"]
    assert [event["data"]["why"] for event in fleet.events("interest.ended")] == ["served", "served"]


def test_an_agent_that_holds_all_of_it_in_several_claims_is_not_told(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", "y.py", ttl=1_000)
    fleet.claim("d", "x.py", mode="watch")
    with pytest.raises(Held):
        fleet.claim("b", "x.py", "y.py", interest=True)
    fleet.now += 1_000
    fleet.claim("b", "x.py")
    fleet.claim("b", "y.py")
    fleet.release("d")
    assert fleet.told("b") == []
    assert [event["data"]["why"] for event in fleet.events("interest.ended")] == ["granted"]


def test_an_agent_that_asked_is_told_when_it_is_free(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    fleet.call("b", "ask", resource="x.py", text="may I?")
    fleet.call("b", "ask", resource="x.py", text="please")
    assert fleet.told("b") == []
    fleet.release("a", "x.py")
    [(kind, text)] = fleet.told("b")
    assert (kind, text) == ("free", "x.py is free now; you wanted it before. Claim it to continue.")


def test_a_hand_over_to_oneself_is_no_new_life(fleet: Fleet) -> None:
    before = fleet.claim("a", "x.py")
    fleet.claim("b", "x.py", wait=60_000)
    with pytest.raises(Invalid) as refused:
        fleet.release("a", "x.py", to="a")
    assert "dibs renew x.py" in refused.value.message
    (held,) = fleet.call("viewer", "status")["claims"]
    assert held["token"] == before["token"]
    fleet.clean()


def test_a_hand_over_within_a_family_goes_on_with_the_same_life(fleet: Fleet) -> None:
    fleet.call("a/child", "boot")
    fleet.claim("a", "x.py")
    life = claim_record(fleet)["life"]
    fleet.now += 60_000
    fleet.release("a", "x.py", to="a/child")
    assert claim_record(fleet)["life"] == life
    fleet.call("b", "boot")
    fleet.release("a", "x.py", to="b")
    assert claim_record(fleet)["life"] == life + 60_000, "somebody else's turn is a new one"
    fleet.clean()


def claim_record(fleet: Fleet) -> dict[str, Any]:
    """The one claim that there is."""
    ((_, _, record),) = fleet.store.look(lambda tx: tx.scan(1, "claims\t", 10).rows)
    return dict(record)
