"""The edit guard: which writes pass, which are refused with what facts, and what each leaves behind.

Which paths need a claim at all, or an explicit one, is in test_strict.py; roles are in test_roles.py.
"""

from __future__ import annotations

import pytest

from dibs.errors import Conflict, Fenced, Held, Killed
from dibs.operations.guards.audits import MINE
from dibs.operations.guards.edit_guard import BLIND, GONE, NOTHING, OLDER, SAME
from tests.operations.fleet import OTHER_TREE, TREE, Fleet, guards, item, known

MINUTE = 60_000


def refused(fleet: Fleet) -> list[str]:
    """The codes of the refusals that the guard itself logged."""
    return [event["data"]["code"] for event in fleet.events("edit.refused")]


# --- held or not


def test_an_edit_claims_the_file_for_the_agent_in_its_own_working_tree(fleet: Fleet) -> None:
    (claim,) = fleet.edit("a", "src/x.py")["claims"]
    assert (claim["agent"], claim["mode"], claim["resources"]) == ("a", "write", ["src/x.py"])
    (shown,) = fleet.call("viewer", "status")["claims"]
    assert (shown["tree"], shown["token"]) == (TREE, claim["token"])
    assert fleet.internal("a", MINE)["claims"] == [[claim["claim"], TREE, ["src/x.py"]]]


def test_a_file_that_another_holds_is_refused_with_the_holder(fleet: Fleet) -> None:
    fleet.claim("a", "src/", reason="refactoring")
    with pytest.raises(Held) as refusal:
        fleet.edit("b", "src/x.py")
    (blocker,) = refusal.value.blockers
    assert (blocker["agent"], blocker["resource"], blocker["reason"]) == ("a", "src", "refactoring")
    assert (blocker["since"], blocker["until"]) == ("2023-11-14T22:30:00.000Z", "2023-11-14T23:00:00.000Z")
    assert fleet.holders() == [("a", "src")]
    assert fleet.events()[-1]["data"]["code"] == "held"


def test_of_several_files_all_are_claimed_or_none(fleet: Fleet) -> None:
    fleet.edit("a", "two.py")
    with pytest.raises(Held) as refusal:
        fleet.edit("b", "one.py", "two.py", "three.py")
    assert [blocker["resource"] for blocker in refusal.value.blockers] == ["two.py"]
    assert fleet.holders() == [("a", "two.py")]
    fleet.release("a")
    (claim,) = fleet.edit("b", "one.py", "two.py", "three.py")["claims"]
    assert claim["resources"] == ["one.py", "two.py", "three.py"]


def test_siblings_block_each_other_while_parent_and_child_do_not(fleet: Fleet) -> None:
    fleet.edit("p/one", "x.py")
    with pytest.raises(Held) as refusal:
        fleet.edit("p/two", "x.py")
    assert refusal.value.blockers[0]["agent"] == "p/one"
    fleet.edit("p", "x.py")
    fleet.edit("p/one/deep", "x.py")
    with pytest.raises(Held):
        fleet.edit("pp", "x.py")  # no relative, in spite of its name


def test_two_hard_links_of_one_file_are_one_file_for_the_guard(fleet: Fleet) -> None:
    fleet.edit("a", item("one.py", alias="8:77"))
    with pytest.raises(Held) as refusal:
        fleet.edit("b", item("two.py", alias="8:77"))
    assert refusal.value.blockers[0]["resource"] == "one.py"


def test_an_edit_does_not_go_past_somebody_who_waits(fleet: Fleet) -> None:
    fleet.claim("a", "src/")
    fleet.claim("b", "src/", wait=10 * MINUTE)
    with pytest.raises(Held) as refusal:
        fleet.edit("c", "src/x.py")
    assert {blocker["agent"] for blocker in refusal.value.blockers} == {"a", "b"}


def test_a_claim_past_its_deadline_is_in_nobodys_way(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    fleet.now += 30 * MINUTE
    fleet.edit("b", "x.py")
    assert fleet.holders() == [("b", "x.py")]
    assert [event["data"]["why"] for event in fleet.events("claim.ended")] == ["expired"]


def test_what_a_dead_process_held_is_taken_over_but_not_written_over_unread(fleet: Fleet) -> None:
    fleet.edit("a", "x.py", process=10)
    with pytest.raises(Held):
        fleet.edit("b", "x.py", process=11)
    fleet.kill9(10)
    with pytest.raises(Conflict) as refusal:
        fleet.edit("b", item("x.py", changed="a"), process=11)
    assert refusal.value.changed_by == "a"
    assert fleet.holders() == [("b", "x.py")]
    assert [event["data"]["why"] for event in fleet.events("claim.ended")] == ["gone"]
    fleet.edit("b", "x.py", process=11)


# --- again


def test_an_edit_of_what_one_holds_writes_nothing_at_all(fleet: Fleet) -> None:
    first = fleet.edit("a", "x.py", process=10)["claims"][0]
    before = fleet.store.head()
    fleet.now += MINUTE
    again = fleet.edit("a", "x.py", process=10)["claims"][0]
    assert again == {**first, "renewed": True}
    after = fleet.store.head()
    assert (after.commit, after.seq, after.link) == (before.commit, before.seq, before.link)


def test_a_claim_is_renewed_when_half_of_its_life_is_over_and_not_before(fleet: Fleet) -> None:
    first = fleet.edit("a", "x.py")["claims"][0]
    fleet.now += 15 * MINUTE - 1
    fleet.edit("a", "x.py")
    assert fleet.events("claim.renewed") == []
    fleet.now += 1
    again = fleet.edit("a", "x.py")["claims"][0]
    assert (again["token"], again["claim"]) == (first["token"], first["claim"])
    assert len(fleet.events("claim.renewed")) == 1
    fleet.now += 29 * MINUTE
    with pytest.raises(Held):
        fleet.edit("b", "x.py")


def test_a_claim_by_hand_covers_the_edits_below_it_and_stays_by_hand(fleet: Fleet) -> None:
    token = fleet.claim("a", "src/", reason="refactoring")["token"]
    before = fleet.store.head().commit
    assert fleet.edit("a", "src/x.py", "src/deep/y.py")["claims"][0]["token"] == token
    assert fleet.store.head().commit == before
    fleet.now += 20 * MINUTE
    fleet.edit("a", "src/x.py")
    (shown,) = fleet.call("viewer", "status")["claims"]
    assert (shown["resources"], shown["reason"]) == (["src"], "refactoring")
    assert fleet.internal("a", MINE)["claims"] == []


def test_a_claim_for_reading_is_not_enough_to_write(fleet: Fleet) -> None:
    fleet.claim("a", "x.py", mode="read")
    fleet.claim("b", "x.py", mode="read")
    with pytest.raises(Held) as refusal:
        fleet.edit("a", "x.py")
    assert [blocker["agent"] for blocker in refusal.value.blockers] == ["b"]


def test_an_edit_of_more_than_one_holds_claims_the_rest(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    fleet.edit("a", "x.py", "y.py")
    with pytest.raises(Held):
        fleet.edit("b", "y.py")


def test_an_edit_picks_up_what_was_handed_over_to_the_agent() -> None:
    fleet = Fleet(ttl=20_000)
    fleet.claim("a", "x.py")
    fleet.claim("b", "x.py", wait=MINUTE)
    fleet.release("a")
    fleet.edit("b", "x.py")
    fleet.now += 19_999  # a hand-over that nobody picks up passes on after 15 seconds
    assert fleet.holders() == [("b", "x.py")]
    fleet.clean()


def test_an_edit_from_the_agents_process_ties_an_earlier_claim_to_it(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    fleet.edit("a", "x.py", process=10)
    fleet.kill9(10)
    fleet.edit("b", "x.py")
    assert fleet.holders() == [("b", "x.py")]


# --- stale


def test_content_that_somebody_else_changed_is_refused_with_who_and_the_claim_is_kept(fleet: Fleet) -> None:
    with pytest.raises(Conflict, match=r"b changed x\.py since you last read or wrote it") as refusal:
        fleet.edit("a", item("x.py", changed="b"))
    assert (refusal.value.path, refusal.value.changed_by) == ("x.py", "b")
    assert (fleet.holders(), refused(fleet)) == ([("a", "x.py")], ["conflict"])
    with pytest.raises(Held):
        fleet.edit("b", "x.py")  # nobody changes it again before it was read
    assert fleet.edit("a", "x.py")["claims"][0]["renewed"]


@pytest.mark.parametrize("author", ["", "outside", "git", "?", "unknown"])
def test_content_changed_by_an_unknown_hand_is_refused_too(fleet: Fleet, author: str) -> None:
    with pytest.raises(Conflict, match=r"^an unknown agent or program changed x\.py since") as refusal:
        fleet.edit("a", item("x.py", changed=author))
    assert refusal.value.changed_by is None


def test_stale_content_is_refused_in_what_one_holds_already(fleet: Fleet) -> None:
    fleet.claim("a", "src/")
    with pytest.raises(Conflict):
        fleet.edit("a", item("src/x.py", changed=""))


def test_one_stale_file_among_several_is_named_and_all_are_held(fleet: Fleet) -> None:
    with pytest.raises(Conflict, match=r"two\.py"):
        fleet.edit("a", "one.py", item("two.py", changed="b"))
    assert fleet.holders() == [("a", "one.py"), ("a", "two.py")]


def test_somebody_elses_claim_is_told_before_stale_content(fleet: Fleet) -> None:
    fleet.edit("b", "x.py")
    with pytest.raises(Held):
        fleet.edit("a", item("x.py", changed="b"))


# --- what the agent knows of what is there


def test_a_write_that_merges_passes_over_a_newer_content_and_its_agent_is_told_who_changed_it(fleet: Fleet) -> None:
    for how in (OLDER, BLIND):
        fleet.edit("a", item("x.py", facts=known(how, "b", merges=True)))
    assert fleet.told("a") == [("note", "b changed x.py since you last read it; your change was made to that.")] * 2
    assert (refused(fleet), fleet.told("b")) == ([], [])


@pytest.mark.parametrize("how", [SAME, GONE, NOTHING])
def test_a_write_that_merges_says_nothing_where_nothing_older_was_known(fleet: Fleet, how: str) -> None:
    fleet.edit("a", item("x.py", facts=known(how, "b", merges=True, owners=["b"], since=True)))
    assert fleet.told("a") == []


@pytest.mark.parametrize("how", [SAME, GONE])
def test_what_the_agent_has_seen_and_what_is_not_there_may_be_written_over(fleet: Fleet, how: str) -> None:
    fleet.call("b", "boot")
    fleet.edit("a", item("x.py", facts=known(how, "b", owners=["b"], since=True)))
    assert fleet.told("a") == []


def test_what_the_agent_changed_without_having_seen_it_is_refused_until_it_was_read(fleet: Fleet) -> None:
    with pytest.raises(Conflict, match=r"b changed x\.py and you have not read what is there now"):
        fleet.edit("a", item("x.py", facts=known(BLIND, "b")))
    assert fleet.holders() == [("a", "x.py")]
    with pytest.raises(Conflict, match=r"^your own command changed x\.py and you have not read"):
        fleet.edit("a", item("x.py", facts=known(BLIND, "a")))


def test_unfinished_work_of_an_agent_that_is_there_is_not_written_over_unread(fleet: Fleet) -> None:
    fleet.call("b", "boot")
    with pytest.raises(Conflict, match=r"b changed x\.py, and you have not read it") as refusal:
        fleet.edit("a", item("x.py", facts=known(NOTHING, "b", owners=["b"])))
    assert refusal.value.changed_by == "b"


def test_of_several_owners_one_that_is_there_is_enough_for_a_refusal(fleet: Fleet) -> None:
    fleet.call("c", "boot")
    with pytest.raises(Conflict, match=r"c changed x\.py") as refusal:
        fleet.edit("a", item("x.py", facts=known(NOTHING, "?", owners=["b", "c"])))
    assert refusal.value.changed_by == "c"


@pytest.mark.parametrize("end", ["leave", "kill9", "never heard of"])
def test_unfinished_work_of_an_ended_agent_may_be_written_over_and_that_is_told(fleet: Fleet, end: str) -> None:
    if end == "leave":
        fleet.call("b", "boot")
        fleet.call("b", "leave")
    elif end == "kill9":
        fleet.call("b", "boot", client=10)
        fleet.kill9(10)
    fleet.edit("a", item("x.py", facts=known(NOTHING, "b", owners=["b"])))
    ((kind, text),) = fleet.told("a")
    assert (kind, text) == ("note", "x.py had uncommitted work of b, which has ended; it is kept.")


def test_what_changed_since_the_agent_began_is_not_written_over_unread(fleet: Fleet) -> None:
    with pytest.raises(Conflict, match=r"^an unknown agent or program changed x\.py, and you have not read it"):
        fleet.edit("a", item("x.py", facts=known(NOTHING, "outside", since=True)))
    fleet.edit("a", item("y.py", facts=known(NOTHING, "outside", since=False)))
    assert fleet.told("a") == []


def test_ones_own_unfinished_work_and_that_of_the_family_may_be_written_over_unread(fleet: Fleet) -> None:
    fleet.call("a/child", "boot")
    fleet.edit("a", item("x.py", facts=known(NOTHING, "a", owners=["a"])))
    fleet.edit("a", item("y.py", facts=known(NOTHING, "a/child", owners=["a/child"])))
    with pytest.raises(Conflict):
        fleet.edit("a/two", item("z.py", facts=known(NOTHING, "a/child", owners=["a/child"])))
    assert fleet.told("a") == []


# --- working trees


def test_a_claim_by_hand_covers_the_path_in_every_working_tree(fleet: Fleet) -> None:
    fleet.claim("a", "x.py")
    for tree in (TREE, OTHER_TREE):
        with pytest.raises(Held):
            fleet.edit("b", "x.py", tree=tree)


def test_the_same_path_changed_in_two_working_trees_is_told_to_both_once(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    fleet.edit("b", "x.py", tree=OTHER_TREE)
    fleet.edit("b", "x.py", tree=OTHER_TREE)
    fleet.now += 20 * MINUTE
    fleet.edit("b", "x.py", tree=OTHER_TREE)
    assert len(fleet.events("claim.renewed")) == 1
    ((kind, text),) = fleet.told("a")
    assert (kind, text.partition(":")[0]) == ("across", f"b now changes x.py in {OTHER_TREE}, and you in {TREE}")
    ((kind, text),) = fleet.told("b")
    assert (kind, text.partition(":")[0]) == ("across", f"a changes x.py in {TREE}, and you in {OTHER_TREE}")
    assert fleet.holders() == [("a", "x.py"), ("b", "x.py")]


def test_across_block_refuses_what_is_being_changed_in_another_working_tree() -> None:
    fleet = Fleet(guards=guards(across_worktrees="block"))
    fleet.edit("a", "x.py")
    with pytest.raises(Held) as refusal:
        fleet.edit("b", "x.py", tree=OTHER_TREE)
    assert [blocker["agent"] for blocker in refusal.value.blockers] == ["a"]
    assert (fleet.holders(), refused(fleet)) == ([("a", "x.py")], ["held"])
    fleet.release("a")
    fleet.edit("b", "x.py", tree=OTHER_TREE)
    fleet.clean()


def test_across_ignore_says_nothing_to_anybody() -> None:
    fleet = Fleet(guards=guards(across_worktrees="ignore"))
    fleet.edit("a", "x.py")
    fleet.edit("b", "x.py", tree=OTHER_TREE)
    assert fleet.told("a") == fleet.told("b") == []
    fleet.clean()


@pytest.mark.parametrize("across", ["warn", "block"])
def test_neither_the_family_nor_watchers_nor_what_ended_is_a_merge_conflict_to_come(across: str) -> None:
    fleet = Fleet(guards=guards(across_worktrees=across))
    fleet.claim("s", "z.py", tree=TREE, ttl=MINUTE)
    fleet.now += MINUTE + 1  # a moment at which a claim does not sweep by the way
    assert "across" not in fleet.edit("p", "z.py", tree=OTHER_TREE)
    fleet.edit("p", "x.py")
    fleet.edit("q", "other.py")
    fleet.claim("r", "x.py", mode="watch", tree=TREE)
    assert "across" not in fleet.edit("p/child", "x.py", tree=OTHER_TREE)
    fleet.clean()


# --- interest


def test_a_refused_agent_is_told_once_when_the_path_is_free_and_gets_no_claim(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    for _ in range(2):
        with pytest.raises(Held):
            fleet.edit("b", "x.py")
    assert len(fleet.events("interest.left")) == 1
    assert fleet.told("b") == []
    fleet.release("a")
    ((kind, text),) = fleet.told("b")
    assert kind == "free"
    assert text.startswith("x.py is free now")
    assert fleet.holders() == []
    fleet.edit("a", "x.py")
    fleet.release("a")
    assert len(fleet.told("b")) == 1


def test_two_who_are_refused_each_others_file_are_told_who_holds_it_and_not_of_a_deadlock(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    fleet.edit("b", "y.py")
    with pytest.raises(Held):
        fleet.edit("a", "y.py")
    with pytest.raises(Held) as refusal:
        fleet.edit("b", "x.py")
    assert refusal.value.message.startswith("a holds x.py (30 min left")


# --- who may not act at all


def test_a_killed_agent_and_its_subagents_edit_nothing(fleet: Fleet) -> None:
    fleet.edit("a", "x.py")
    fleet.call("boss", "kill", agent="a", why="runs wild")
    for agent in ("a", "a/child"):
        with pytest.raises(Killed, match="runs wild"):
            fleet.edit(agent, item("build/x.o", ignored=True))
    assert fleet.holders() == []
    fleet.call("boss", "revive", agent="a")
    fleet.edit("a", "x.py")


def test_a_process_that_is_no_longer_the_agents_own_is_fenced(fleet: Fleet) -> None:
    fleet.call("a", "boot", client=10)
    fleet.edit("a", "x.py", process=10)
    fleet.call("a", "boot", client=11)
    with pytest.raises(Fenced, match="incarnation 2"):
        fleet.edit("a", "x.py", process=10)
    assert fleet.edit("a", "x.py", process=11)["claims"][0]["renewed"]
