"""`release --force`: a claim is taken away, its token is fenced, its holder is told, its content is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dibs.errors import Fenced, Forbidden, Invalid, NotFound
from dibs.operations.core.policy import Policy
from dibs.operations.guards.restores import RESTORABLE
from tests.operations.core.test_authority import roles
from tests.operations.engines import OnFile
from tests.operations.fleet import Fleet

MINUTE = 60_000


@pytest.fixture(params=[Fleet, OnFile])
def fleet(request: Any) -> Iterator[Fleet]:
    made = request.param()
    yield made
    if isinstance(made, OnFile):
        made.close()


def force(fleet: Fleet, *names: str, by: str = "boss", **fields: Any) -> Any:
    """Take it away."""
    return fleet.call(by, "release", **{"resources": list(names), "force": True, "why": "she is on holiday", **fields})


def test_the_claim_is_void_and_its_token_fenced(fleet: Fleet) -> None:
    token = fleet.claim("ann", "x.py", "y.py")["token"]
    answer = force(fleet, "x.py")
    assert answer["released"] == ["x.py", "y.py"]
    assert answer["holders"] == [{"agent": "ann", "name": "ann", "resources": ["x.py", "y.py"], "token": token}]
    assert fleet.holders() == []
    for name in ("x.py", "y.py"):
        with pytest.raises(Fenced):
            fleet.call("ann", "confirm", resource=name, token=token)
    with pytest.raises(Fenced):
        fleet.call("ann", "release", resources=["x.py"], token=token)
    fleet.clean()


def test_the_log_says_who_did_it_and_why(fleet: Fleet) -> None:
    fleet.claim("ann", "x.py")
    force(fleet, "x.py")
    (event,) = fleet.events("claim.ended")
    assert (event["data"]["why"], event["data"]["by"], event["data"]["reason"]) == (
        "forced",
        "boss",
        "she is on holiday",
    )


def test_the_holder_is_told_at_once_and_at_its_next_start(fleet: Fleet) -> None:
    fleet.claim("ann", "x.py")
    force(fleet, "x.py")
    ((kind, text),) = fleet.told("ann")
    assert kind == "forced"
    assert "boss took x.py away from you: she is on holiday" in text
    (lost,) = fleet.call("ann", "boot")["lost"]
    assert (lost["resources"], lost["why"]) == (["x.py"], "forced")


def test_whoever_waits_comes_next(fleet: Fleet) -> None:
    fleet.claim("ann", "x.py")
    fleet.claim("bob", "x.py", wait=MINUTE)
    force(fleet, "x.py")
    assert fleet.holders() == [("bob", "x.py")]


def test_whatever_stands_in_the_way_is_void_and_what_only_watches_stays(fleet: Fleet) -> None:
    fleet.claim("ann", "src/")
    fleet.claim("eve", "src/x.py", mode="watch")
    force(fleet, "src/x.py")
    assert fleet.holders() == [("eve", "src/x.py")]


def test_a_task_behind_it_goes_back_to_the_queue_and_counts_against_nobody(fleet: Fleet) -> None:
    fleet.call("boss", "task add", title="T", id="T")
    fleet.call("ann", "task claim", id="T")
    force(fleet, "task:T")
    assert fleet.call("boss", "task show", id="T")["task"]["state"] == "planned"
    assert not fleet.record("t\tT").get("losses")
    assert not fleet.record("a\tann").get("strikes")


def test_what_was_saved_of_the_holders_files_can_be_restored(fleet: Fleet) -> None:
    claim = fleet.claim("ann", "x.py")["claim"]
    saved = [[claim, "/repo", "x.py", "a" * 40], ["cother", "/repo", "z.py", "b" * 40]]
    (kept,) = force(fleet, "x.py", saved=saved)["kept"]
    (found,) = fleet.internal("boss", RESTORABLE)["kept"]
    assert (found["id"], found["path"], found["holder"], found["blob"]) == (kept["id"], "x.py", "ann", "a" * 40)


def test_a_retry_gets_the_first_answer_though_there_is_nothing_to_save_any_more(fleet: Fleet) -> None:
    claim = fleet.claim("ann", "x.py")["claim"]
    first = force(fleet, "x.py", request="r", saved=[[claim, "/repo", "x.py", "a" * 40]])
    assert force(fleet, "x.py", request="r", saved=[]) == first


def test_with_a_token_only_the_claim_that_has_it_is_taken_away(fleet: Fleet) -> None:
    token = fleet.claim("ann", "x.py", ttl=MINUTE)["token"]
    fleet.now += MINUTE
    fleet.claim("bob", "x.py")
    with pytest.raises(Fenced) as refused:
        force(fleet, "x.py", token=token)
    assert refused.value.message == (
        f"token {token} for x.py is no longer live: bob holds it now. Nothing was taken away."
    )
    assert fleet.holders() == [("bob", "x.py")]
    (read,) = [fleet.claim(name, "r.py", mode="read")["token"] for name in ("cid", "dan")][:1]
    assert force(fleet, "r.py", token=read)["holders"][0]["agent"] == "cid"
    assert fleet.holders() == [("bob", "x.py"), ("dan", "r.py")]
    fleet.clean()


def test_it_needs_a_reason_a_holder_and_nothing_beside_the_names(fleet: Fleet) -> None:
    with pytest.raises(NotFound):
        force(fleet, "x.py")
    fleet.claim("ann", "x.py")
    wrong: tuple[dict[str, Any], ...] = ({"why": " "}, {"all": True}, {"to": "ann"}, {"resources": []})
    for fields in wrong:
        with pytest.raises(Invalid):
            force(fleet, "x.py", **fields)
    with pytest.raises(Invalid):
        fleet.call("ann", "release", resources=["x.py"], why="no force")
    assert fleet.holders() == [("ann", "x.py")]


def test_it_is_for_orchestrators_and_persons(fleet: Fleet) -> None:
    fleet.policy = Policy(guards=roles())
    fleet.claim("a1", "x.py")
    for agent in ("w1", "a2"):
        with pytest.raises(Forbidden) as refused:
            force(fleet, "x.py", by=agent)
        assert refused.value.needs == "orchestrator"
    assert fleet.holders() == [("a1", "x.py")]
    assert force(fleet, "x.py", by="lead")["released"] == ["x.py"]
