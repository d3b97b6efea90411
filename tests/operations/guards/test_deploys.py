"""Deploys, decided: one at a time for a target, by whoever may, under a token that is still live."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Behind, Conflict, Fenced, Forbidden, Held, Unavailable
from dibs.operations.core import policy
from dibs.operations.core.call import Call, process_name
from dibs.operations.core.entry import perform
from dibs.operations.guards import deploy_guard
from tests.operations.engines import OnEngine
from tests.operations.fleet import Fleet
from tests.operations.guards.test_commits import run


def start(fleet: Fleet, agent: str, token: int, pid: int = 1) -> Any:
    fields = {"target": "prod", "token": token, "commit": "abc", "process": fleet.process(pid)}
    return run(fleet, agent, deploy_guard.START, **fields)


def finish(fleet: Fleet, agent: str, token: int, result: str = "ok", **fields: Any) -> Any:
    given = {"target": "prod", "token": token, "commit": "abc", "result": result, **fields}
    return run(fleet, agent, deploy_guard.FINISH, **given)


def last(fleet: Fleet) -> Any:
    return run(fleet, "viewer", deploy_guard.CHECK, targets=["prod"])["last"]["prod"]


def test_a_deploy_takes_a_live_token_and_gives_the_claim_back_with_the_commit(on_engine: OnEngine) -> None:
    fleet = on_engine(Fleet())
    token = fleet.claim("ann", "deploy:prod")["token"]
    start(fleet, "ann", token)
    assert finish(fleet, "ann", token, seconds=1.5)["result"] == "ok"
    assert fleet.holders() == []
    assert fleet.events("claim.released")[0]["data"]["commit"] == "abc"
    (event,) = fleet.events("deploy.finished")
    assert {"commit", "result", "token", "seconds"} <= set(event["data"])
    assert last(fleet)["commit"] == "abc"
    fleet.clean()


@pytest.mark.parametrize("result", ["failed", "unverified", "interrupted"])
def test_what_did_not_work_is_not_what_was_deployed_last(result: str, on_engine: OnEngine) -> None:
    fleet = on_engine(Fleet())
    token = fleet.claim("ann", "deploy:prod")["token"]
    start(fleet, "ann", token)
    finish(fleet, "ann", token, result)
    assert last(fleet) is None
    assert fleet.holders() == []


def test_a_claim_that_was_there_before_stays_and_remembers_the_commit(on_engine: OnEngine) -> None:
    fleet = on_engine(Fleet())
    token = fleet.claim("ann", "deploy:prod", "db:x")["token"]
    start(fleet, "ann", token)
    finish(fleet, "ann", token, keep=True)
    assert fleet.holders() == [("ann", "db:x"), ("ann", "deploy:prod")]
    assert fleet.events("claim.committed")[0]["data"]["commit"] == "abc"


def test_without_a_live_token_nothing_starts(on_engine: OnEngine) -> None:
    fleet = on_engine(Fleet())
    token = fleet.claim("ann", "deploy:prod", ttl=1_000)["token"]
    fleet.now += 1_000
    with pytest.raises(Fenced):
        start(fleet, "ann", token)
    fleet.claim("bob", "deploy:prod")
    with pytest.raises(Fenced) as refused:
        start(fleet, "ann", token)
    assert refused.value.holder == "bob"
    assert fleet.events("deploy.started") == []


def test_a_token_lost_on_the_way_is_logged_and_does_not_count_as_deployed(on_engine: OnEngine) -> None:
    fleet = on_engine(Fleet())
    token = fleet.claim("ann", "deploy:prod", ttl=1_000)["token"]
    start(fleet, "ann", token)
    fleet.now += 1_000
    fleet.claim("bob", "deploy:prod")
    with pytest.raises(Fenced) as refused:
        finish(fleet, "ann", token)
    assert refused.value.holder == "bob"
    assert fleet.events("deploy.finished")[0]["data"]["fenced"] is True
    assert fleet.holders() == [("bob", "deploy:prod")]
    fleet.release("bob")
    assert last(fleet) is None


def test_an_agents_own_second_deploy_is_refused_while_the_first_ones_process_lives(on_engine: OnEngine) -> None:
    fleet = on_engine(Fleet())
    token = fleet.claim("ann", "deploy:prod")["token"]
    start(fleet, "ann", token, pid=1)
    with pytest.raises(Held) as refused:
        start(fleet, "ann", token, pid=2)
    assert refused.value.blockers[0]["agent"] == "ann"
    fleet.kill9(1)
    start(fleet, "ann", token, pid=2)
    finish(fleet, "ann", token)
    token = fleet.claim("ann", "deploy:prod")["token"]
    start(fleet, "ann", token, pid=3)


def test_a_command_that_outlived_its_deploy_keeps_the_next_one_away_with_its_pid(on_engine: OnEngine) -> None:
    fleet = on_engine(Fleet())
    token = fleet.claim("ann", "deploy:prod")["token"]
    fields = {"target": "prod", "token": token, "process": fleet.process(1), "runs": fleet.process(2)}
    run(fleet, "ann", deploy_guard.START, **fields)
    fleet.kill9(1)
    with pytest.raises(Held) as refused:
        start(fleet, "ann", token, pid=3)
    assert refused.value.blockers[0]["pid"] == 2
    fleet.kill9(2)
    start(fleet, "ann", token, pid=3)


def test_a_deploy_on_another_machine_counts_while_its_claim_lives_and_not_for_ever(on_engine: OnEngine) -> None:
    fleet = on_engine(Fleet())
    token = fleet.claim("ann", "deploy:prod", ttl=1_000)["token"]
    start(fleet, "ann", token, pid=1)

    def elsewhere(agent: str, token: int) -> Any:
        """Start another where the first one's process cannot be seen."""
        call = Call(fleet.policy, agent=agent)
        call.facts[process_name(fleet.process(1))] = None
        fields = {"target": "prod", "token": token, "process": fleet.process(2)}
        return fleet.store.run(lambda tx: perform(tx, call, deploy_guard.START, fields))

    assert isinstance(elsewhere("ann", token), Held)
    fleet.now += 1_000
    assert elsewhere("bob", fleet.claim("bob", "deploy:prod")["token"])["target"] == "prod"


def test_who_else_holds_the_target_is_named_unless_its_process_is_dead(on_engine: OnEngine) -> None:
    fleet = on_engine(Fleet())
    fleet.claim("ann", "deploy:prod", client=7)
    with pytest.raises(Held) as refused:
        run(fleet, "bob", deploy_guard.CHECK, targets=["prod"])
    assert refused.value.blockers[0]["agent"] == "ann"
    assert fleet.events("deploy.refused")[0]["data"]["code"] == "held"
    run(fleet, "bob", deploy_guard.CHECK, targets=["staging"])
    run(fleet, "ann", deploy_guard.CHECK, targets=["prod"])
    fleet.kill9(7)
    run(fleet, "bob", deploy_guard.CHECK, targets=["prod"])


def test_a_role_that_may_not_deploy_is_refused(on_engine: OnEngine) -> None:
    roles = {"default": "", "assign": [("w*", "worker")], "named": {}}
    fleet = on_engine(Fleet(guards={**policy.GUARDS, "roles": roles}))
    with pytest.raises(Forbidden):
        run(fleet, "w1", deploy_guard.CHECK, targets=["prod"])
    run(fleet, "ann", deploy_guard.CHECK, targets=["prod"])


# --- may it ship?

SYNCED = {"branch": "main", "commit": "def", "behind": 0, "ahead": 1, "upstream": "origin/main"}


def judge(fleet: Fleet, agent: str = "ann", target: str = "prod", **facts: Any) -> Any:
    return run(fleet, agent, deploy_guard.JUDGE, **{"target": target, "syncs": [SYNCED], **facts})


def deployed(fleet: Fleet, agent: str = "ann", **said: bool) -> int:
    """A good deploy of `abc`; its token."""
    token: int = fleet.claim(agent, "deploy:prod")["token"]
    fields = {"target": "prod", "token": token, "commit": "abc", "process": fleet.process(1), **said}
    run(fleet, agent, deploy_guard.START, **fields)
    finish(fleet, agent, token)
    return token


def test_what_has_all_of_the_branch_that_counts_may_ship(on_engine: OnEngine) -> None:
    fleet = on_engine(Fleet())
    assert judge(fleet) == {"target": "prod"}
    assert fleet.events("deploy.refused") == []


def test_what_is_behind_is_refused_with_how_far_and_unsynced_does_not_excuse_it(on_engine: OnEngine) -> None:
    fleet = on_engine(Fleet())
    for unsynced in (False, True):
        with pytest.raises(Behind) as refused:
            judge(fleet, syncs=[{**SYNCED, "branch": "feature", "behind": 300}], unsynced=unsynced)
        found = refused.value
        assert (found.target, found.commit, found.behind) == ("prod", "def", 300)
        assert "feature is 300 commits behind origin/main" in found.message
        assert fleet.events("deploy.refused")[-1]["data"]["code"] == "behind"
    judge(fleet, syncs=[{**SYNCED, "behind": 300}], rollback=True)


def test_being_behind_one_of_two_branches_is_enough(on_engine: OnEngine) -> None:
    fleet = on_engine(Fleet())
    with pytest.raises(Behind):
        judge(fleet, syncs=[SYNCED, {**SYNCED, "behind": 1}])


@pytest.mark.parametrize("syncs", [[], [{**SYNCED, "behind": None, "why": "no remote"}]])
def test_what_cannot_be_compared_is_refused_with_2_unless_it_is_said(syncs: list[Any], on_engine: OnEngine) -> None:
    fleet = on_engine(Fleet())
    with pytest.raises(Unavailable) as refused:
        judge(fleet, syncs=syncs)
    assert refused.value.exit == 2
    assert "--unsynced" in refused.value.message
    judge(fleet, syncs=syncs, unsynced=True)


def test_what_lacks_the_last_good_deploy_is_refused_unless_it_is_called_a_rollback(on_engine: OnEngine) -> None:
    fleet = on_engine(Fleet())
    judge(fleet, contains=None)  # nothing was deployed yet
    deployed(fleet)
    for unsynced in (False, True):
        with pytest.raises(Behind) as refused:
            judge(fleet, "bob", contains=False, unsynced=unsynced)
        assert refused.value.deployed["commit"] == "abc"
        assert "ann deployed to prod" in refused.value.message
    judge(fleet, "bob", contains=True)
    judge(fleet, "bob", contains=False, rollback=True)
    judge(fleet, "bob", "staging", contains=None)


def test_whether_the_last_good_deploy_is_contained_must_be_known_or_excused(on_engine: OnEngine) -> None:
    fleet = on_engine(Fleet())
    deployed(fleet)
    with pytest.raises(Unavailable):
        judge(fleet, contains=None)
    judge(fleet, contains=None, unsynced=True)


def test_what_was_taken_upon_oneself_is_in_the_log_from_start_to_end(on_engine: OnEngine) -> None:
    fleet = on_engine(Fleet())
    deployed(fleet, unsynced=True, rollback=True)
    for kind in ("deploy.started", "deploy.finished"):
        data = fleet.events(kind)[-1]["data"]
        assert (data["unsynced"], data["rollback"]) == (True, True)
    deployed(fleet)
    assert "rollback" not in fleet.events("deploy.finished")[-1]["data"]


def test_a_push_under_a_running_deploy_is_judged_by_what_was_said_of_that_deploy(on_engine: OnEngine) -> None:
    fleet = on_engine(Fleet())
    token = fleet.claim("ann", "deploy:prod")["token"]
    fields = {"target": "prod", "token": token, "commit": "abc", "process": fleet.process(1), "rollback": True}
    run(fleet, "ann", deploy_guard.START, **fields)
    behind = {**SYNCED, "behind": 3}
    judge(fleet, "ann", "main", syncs=[behind], under={"target": "prod", "token": token})
    for agent, target, given in (("bob", "prod", token), ("ann", "prod", token + 1), ("ann", "staging", token)):
        with pytest.raises(Behind):
            judge(fleet, agent, "main", syncs=[behind], under={"target": target, "token": given})
    finish(fleet, "ann", token)
    with pytest.raises(Behind):
        judge(fleet, "ann", "main", syncs=[behind], under={"target": "prod", "token": token})


def test_uncommitted_changes_and_placeholders_do_not_ship(on_engine: OnEngine) -> None:
    fleet = on_engine(Fleet())
    fleet.claim("bob", "b.py")
    with pytest.raises(Conflict) as refused:
        judge(fleet, changed=["a.py", "b.py"], tree="/repo")
    assert "b.py (bob is at work on it)" in refused.value.message
    judge(fleet, changed=["a.py"], tree="/repo", dirty=True)
    with pytest.raises(Forbidden):
        judge(fleet, placeholders=[{"path": "a.py", "line": 1, "text": "TODO"}])
