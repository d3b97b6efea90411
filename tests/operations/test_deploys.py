"""Deploys, decided: one at a time for a target, by whoever may, under a token that is still live."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Fenced, Forbidden, Held
from dibs.operations import deploys, policy
from tests.operations.fleet import Fleet
from tests.operations.test_commits import run


def start(fleet: Fleet, agent: str, token: int, pid: int = 1) -> Any:
    fields = {"target": "prod", "token": token, "commit": "abc", "process": fleet.process(pid)}
    return run(fleet, agent, deploys.START, **fields)


def finish(fleet: Fleet, agent: str, token: int, result: str = "ok", **fields: Any) -> Any:
    given = {"target": "prod", "token": token, "commit": "abc", "result": result, **fields}
    return run(fleet, agent, deploys.FINISH, **given)


def last(fleet: Fleet) -> Any:
    return run(fleet, "viewer", deploys.CHECK, targets=["prod"])["last"]["prod"]


def test_a_deploy_takes_a_live_token_and_gives_the_claim_back_with_the_commit() -> None:
    fleet = Fleet()
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
def test_what_did_not_work_is_not_what_was_deployed_last(result: str) -> None:
    fleet = Fleet()
    token = fleet.claim("ann", "deploy:prod")["token"]
    start(fleet, "ann", token)
    finish(fleet, "ann", token, result)
    assert last(fleet) is None
    assert fleet.holders() == []


def test_a_claim_that_was_there_before_stays_and_remembers_the_commit() -> None:
    fleet = Fleet()
    token = fleet.claim("ann", "deploy:prod", "db:x")["token"]
    start(fleet, "ann", token)
    finish(fleet, "ann", token, keep=True)
    assert fleet.holders() == [("ann", "db:x"), ("ann", "deploy:prod")]
    assert fleet.events("claim.committed")[0]["data"]["commit"] == "abc"


def test_without_a_live_token_nothing_starts() -> None:
    fleet = Fleet()
    token = fleet.claim("ann", "deploy:prod", ttl=1_000)["token"]
    fleet.now += 1_000
    with pytest.raises(Fenced):
        start(fleet, "ann", token)
    fleet.claim("bob", "deploy:prod")
    with pytest.raises(Fenced) as refused:
        start(fleet, "ann", token)
    assert refused.value.holder == "bob"
    assert fleet.events("deploy.started") == []


def test_a_token_lost_on_the_way_is_logged_and_does_not_count_as_deployed() -> None:
    fleet = Fleet()
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


def test_an_agents_own_second_deploy_is_refused_while_the_first_ones_process_lives() -> None:
    fleet = Fleet()
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


def test_who_else_holds_the_target_is_named_unless_its_process_is_dead() -> None:
    fleet = Fleet()
    fleet.claim("ann", "deploy:prod", client=7)
    with pytest.raises(Held) as refused:
        run(fleet, "bob", deploys.CHECK, targets=["prod"])
    assert refused.value.blockers[0]["agent"] == "ann"
    assert fleet.events("deploy.refused")[0]["data"]["code"] == "held"
    run(fleet, "bob", deploys.CHECK, targets=["staging"])
    run(fleet, "ann", deploys.CHECK, targets=["prod"])
    fleet.kill9(7)
    run(fleet, "bob", deploys.CHECK, targets=["prod"])


def test_a_role_that_may_not_deploy_is_refused() -> None:
    roles = {"default": "", "assign": [("w*", "worker")], "named": {}}
    fleet = Fleet(guards={**policy.GUARDS, "roles": roles})
    with pytest.raises(Forbidden):
        run(fleet, "w1", deploys.CHECK, targets=["prod"])
    run(fleet, "ann", deploys.CHECK, targets=["prod"])
