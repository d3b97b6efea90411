"""The commit guard's decisions: who may commit what, and what a commit does to claims."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import DibsError, Fenced, Forbidden, Held
from dibs.operations.core import policy
from dibs.operations.core.call import Call, NeedsFacts, process_name
from dibs.operations.core.entry import perform
from dibs.operations.guards import audits, commit_guard
from tests.canonical import canonical
from tests.operations.fleet import Fleet, resource

TREE, OTHER_TREE = "/repo", "/repo-linked"


def run(fleet: Fleet, agent: str, operation: Any, **fields: Any) -> Any:
    """An internal operation, as the door of the git hooks runs it; a refusal is raised."""
    call = Call(fleet.policy, agent=agent)
    while True:
        try:
            answer = fleet.store.run(lambda tx: perform(tx, call, operation, canonical(operation, fields)))
            break
        except NeedsFacts as need:
            for process in need.processes:
                call.facts[process_name(process)] = process_name(process) not in fleet.dead
    if isinstance(answer, DibsError):
        raise answer
    return answer


def check(fleet: Fleet, agent: str, *paths: str, tree: str = TREE) -> Any:
    return run(fleet, agent, commit_guard.CHECK, paths=[resource(path) for path in paths], tree=tree)


def committed(fleet: Fleet, agent: str, *paths: str, changed: tuple[str, ...] = (), how: str = "checked") -> Any:
    items = [[resource(path), path not in changed] for path in paths]
    return run(fleet, agent, commit_guard.COMMITTED, commit="abc123", tree=TREE, items=items, how=how)


def edit(fleet: Fleet, agent: str, *names: str, tree: str = TREE) -> Any:
    """A claim as the edit guard makes it."""
    return fleet.claim(agent, *names, tree=tree, by="edit")


def test_a_path_that_another_agent_holds_is_refused_with_the_holder_and_the_path() -> None:
    fleet = Fleet()
    fleet.claim("ann", "src/", reason="refactoring")
    with pytest.raises(Held) as refused:
        check(fleet, "bob", "src/a.py", "b.py")
    (blocker,) = refused.value.blockers
    assert (blocker["agent"], blocker["paths"], blocker["reason"]) == ("ann", ["src/a.py"], "refactoring")
    assert blocker["until"]
    assert fleet.events("commit.")[-1]["kind"] == "commit.refused"
    fleet.clean()


def test_what_nobody_or_the_family_holds_may_be_committed_and_the_answer_has_the_tokens() -> None:
    fleet = Fleet()
    token = edit(fleet, "ann/sub", "a.py")["token"]
    assert check(fleet, "ann", "a.py", "b.py")["tokens"] == [["a.py", token]]
    assert check(fleet, "ann/sub", "a.py")["tokens"] == [["a.py", token]]
    with pytest.raises(Held):
        check(fleet, "ann/other", "a.py")  # siblings block each other
    assert fleet.events("commit.checked")


def test_readers_and_watchers_do_not_stand_in_the_way_of_a_commit() -> None:
    fleet = Fleet()
    fleet.claim("ann", "a.py", mode="read")
    fleet.claim("cid", "a.py", mode="watch")
    assert check(fleet, "bob", "a.py")["tokens"] == []
    assert [event["agent"] for event in fleet.events("commit.checked")] == ["bob"]


def test_a_claim_of_the_edit_guard_counts_in_its_own_working_tree_and_one_by_hand_in_all() -> None:
    fleet = Fleet()
    edit(fleet, "ann", "a.py", tree=OTHER_TREE)
    check(fleet, "bob", "a.py")
    fleet.claim("cid", "b.py")
    with pytest.raises(Held):
        check(fleet, "bob", "b.py")


def test_a_claim_past_its_deadline_is_in_nobodys_way() -> None:
    fleet = Fleet()
    fleet.claim("ann", "a.py", ttl=1_000)
    fleet.now += 1_000
    assert check(fleet, "bob", "a.py")["tokens"] == []


def test_a_holder_whose_process_is_dead_is_in_nobodys_way_and_whoever_waited_is() -> None:
    fleet = Fleet()
    fleet.claim("ann", "a.py", client=7)
    fleet.kill9(7)
    check(fleet, "bob", "a.py")
    assert fleet.holders() == []
    fleet.claim("ann2", "a.py", client=8)
    fleet.call("cid", "claim", resources=["a.py"], wait=60_000)
    fleet.kill9(8)
    with pytest.raises(Held) as refused:
        check(fleet, "bob", "a.py")
    assert refused.value.blockers[0]["agent"] == "cid"
    fleet.clean()


@pytest.mark.parametrize("many", [1, 400])
def test_a_lost_claim_refuses_the_commit_until_the_family_claims_it_again(many: int) -> None:
    fleet = Fleet()
    paths = ["a.py", *[f"more/{number}.py" for number in range(many)]]
    edit(fleet, "ann", "a.py")
    fleet.now += policy.DEFAULT_TTL_MS + 1
    fleet.call("ann", "boot")  # told, and still remembered
    with pytest.raises(Fenced) as refused:
        check(fleet, "ann", *paths)
    assert (refused.value.resource, refused.value.holder, refused.value.why) == ("a.py", None, "expired")
    check(fleet, "bob", *paths)  # it is nobody's now
    edit(fleet, "bob", "a.py")
    with pytest.raises(Held):
        check(fleet, "ann", *paths)
    fleet.release("bob", "a.py")
    with pytest.raises(Fenced):
        check(fleet, "ann", *paths)
    fleet.claim("ann", "a.py")
    check(fleet, "ann", *paths)


def test_a_lost_claim_that_somebody_holds_in_another_tree_is_named_with_who_holds_it_now() -> None:
    fleet = Fleet()
    edit(fleet, "ann", "a.py")
    fleet.now += policy.DEFAULT_TTL_MS + 1
    fleet.call("ann", "sweep")
    edit(fleet, "bob", "a.py", tree=OTHER_TREE)
    with pytest.raises(Fenced) as refused:
        check(fleet, "ann", "a.py")
    assert refused.value.holder == "bob"


def test_a_claim_lost_in_another_working_tree_does_not_refuse_a_commit_in_this_one() -> None:
    fleet = Fleet()
    edit(fleet, "ann", "a.py", tree=OTHER_TREE)
    fleet.now += policy.DEFAULT_TTL_MS + 1
    fleet.call("ann", "sweep")

    def name_the_tree(tx: Any) -> None:
        """As the record of a loss has it."""
        for key, loss in tx.fetch([("l\t", "l\n")], 10).rows:
            tx.put(key, {**loss, "tree": OTHER_TREE})

    fleet.store.run(name_the_tree)
    check(fleet, "ann", "a.py", tree=TREE)
    with pytest.raises(Fenced):
        check(fleet, "ann", "a.py", tree=OTHER_TREE)


def test_a_commit_settles_what_was_lost_before() -> None:
    fleet = Fleet()
    edit(fleet, "ann", "a.py")
    fleet.now += policy.DEFAULT_TTL_MS + 1
    fleet.call("ann", "sweep")
    edit(fleet, "ann", "a.py")
    check(fleet, "ann", "a.py")
    committed(fleet, "ann", "a.py")
    assert check(fleet, "ann", "a.py")["tokens"] == []
    fleet.clean()


def test_a_hand_over_that_was_not_picked_up_and_a_readers_loss_do_not_refuse_a_commit() -> None:
    fleet = Fleet()
    fleet.claim("ann", "a.py", mode="read", ttl=1_000)
    fleet.claim("bob", "b.py", ttl=1_000)
    fleet.call("ann", "claim", resources=["b.py"], wait=60_000)
    fleet.release("bob", "b.py")
    fleet.now += 60_000
    fleet.call("ann", "sweep")
    assert {event["data"]["why"] for event in fleet.events("claim.ended")} == {"expired", "unclaimed"}
    check(fleet, "ann", "a.py", "b.py")


def test_a_commit_of_many_paths_meets_files_trees_globs_and_inodes() -> None:
    fleet = Fleet()
    paths = [f"src/{number}/a.py" for number in range(300)]
    assert len(paths) > commit_guard.MANY_PATHS
    check(fleet, "bob", *paths)
    for held in ("src/7/a.py", "src/8/", "src/9/*.py", "src/", "", "src/7/a.py/below"):
        fleet.claim("ann", held)
        with pytest.raises(Held) as refused:
            check(fleet, "bob", *paths)
        assert refused.value.blockers[0]["agent"] == "ann"
        fleet.release("ann")
    fleet.claim("ann", "src/7/b.py", "lib/", "src/9/*.js")
    edit(fleet, "ann", "src/7/a.py", tree=OTHER_TREE)
    fleet.call("cid", "claim", resources=[["file", "x.py", "1:2"]])
    check(fleet, "bob", *paths)
    linked: list[Any] = [*map(resource, paths), ["file", "y.py", "1:2"]]
    with pytest.raises(Held):
        run(fleet, "bob", commit_guard.CHECK, paths=linked, tree=TREE)


def test_a_role_that_may_not_commit_is_refused() -> None:
    guards = {**policy.GUARDS, "roles": {"default": "worker", "assign": [("boss", "orchestrator")], "named": {}}}
    fleet = Fleet(guards=guards)
    with pytest.raises(Forbidden):
        check(fleet, "ann", "a.py")
    assert fleet.events("commit.refused")[-1]["data"]["code"] == "forbidden"
    check(fleet, "boss", "a.py")


def test_a_commit_releases_only_the_familys_edit_claims_whose_file_is_what_was_committed() -> None:
    fleet = Fleet()
    edit(fleet, "ann", "a.py")
    edit(fleet, "ann/sub", "b.py")
    edit(fleet, "ann", "changed-again.py")
    edit(fleet, "ann", "not-in-it.py")
    edit(fleet, "ann", "elsewhere.py", tree=OTHER_TREE)
    fleet.claim("ann", "by-hand.py")
    edit(fleet, "bob", "bobs.py")
    answer = committed(
        fleet, "ann", "a.py", "b.py", "changed-again.py", "elsewhere.py", "by-hand.py", changed=("changed-again.py",)
    )
    assert sorted(answer["released"]) == ["a.py", "b.py"]
    assert fleet.holders() == [
        ("ann", "by-hand.py"), ("ann", "changed-again.py"), ("ann", "elsewhere.py"), ("ann", "not-in-it.py"),
        ("bob", "bobs.py"),
    ]  # fmt: skip
    released = fleet.events("claim.released")
    assert {(e["data"]["why"], e["data"]["commit"]) for e in released} == {("committed", "abc123")}
    assert len(fleet.events("claim.committed")) == 2  # by hand, and the one changed again
    fleet.clean()


def test_of_a_claim_on_several_files_those_that_were_committed_are_released() -> None:
    fleet = Fleet()
    fleet.call("ann", "claim", resources=[["file", "a.py", "1:2"], ["file", "b.py"]], tree=TREE, by="edit")
    committed(fleet, "ann", "a.py")
    assert fleet.holders() == [("ann", "b.py")]
    fleet.call("bob", "claim", resources=[["file", "other-name.py", "1:2"]])
    fleet.clean()


def test_whoever_waited_for_a_committed_file_gets_it_in_the_same_moment() -> None:
    fleet = Fleet()
    edit(fleet, "ann", "a.py")
    fleet.call("bob", "claim", resources=["a.py"], wait=60_000)
    committed(fleet, "ann", "a.py")
    assert fleet.holders() == [("bob", "a.py")]
    fleet.clean()


def messages_of(fleet: Fleet, agent: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = fleet.call(agent, "inbox")["messages"]
    return found


def test_a_commit_past_the_guard_is_logged_and_told_to_every_holder() -> None:
    fleet = Fleet()
    fleet.claim("ann", "a.py")
    answer = committed(fleet, "bob", "a.py", "b.py", how="past")
    assert answer["unseen"] == [{"agent": "ann", "name": "ann", "paths": ["a.py"]}]
    assert "bob committed a.py" in messages_of(fleet, "ann")[0]["text"]
    (event,) = fleet.events("commit.unverified")
    assert event["data"]["paths"] == ["a.py"]
    committed(fleet, "bob", "b.py", how="past")  # nobody's, and noticed all the same
    assert len(fleet.events("commit.unverified")) == 2
    assert fleet.holders() == [("ann", "a.py")]
    fleet.clean()


def test_a_replayed_commit_is_reported_only_where_it_took_somebodys_file() -> None:
    fleet = Fleet()
    fleet.claim("ann", "a.py")
    committed(fleet, "bob", "b.py", how="replayed")
    assert fleet.events("commit.unverified") == []
    committed(fleet, "bob", "a.py", how="replayed")
    assert fleet.events("commit.unverified")[0]["data"]["how"] == "replayed"
    committed(fleet, "bob", "a.py")
    assert len(messages_of(fleet, "ann")) == 1


def test_what_an_agent_at_rest_holds_is_committed_by_no_other_agent() -> None:
    fleet = Fleet()
    edit(fleet, "ann", "a.py")
    run(fleet, "ann", audits.IDLE, now={})
    with pytest.raises(Held):
        check(fleet, "bob", "a.py")
