"""The landing queue and its lander, decision by decision: order, who may, one lander, what a stale one may not do."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Conflict, Fenced, Forbidden, Held, Invalid, NotFound, Quota
from dibs.operations.core.policy import Policy
from dibs.operations.landing import lander, queue
from dibs.verify.checker import verify_store
from tests.operations.crew import Crew
from tests.operations.fleet import Fleet, guards

HERE, ELSEWHERE = 11, 12  # two processes that land


class Queue(Fleet):
    """A fleet with a lander's steps."""

    def land(self, agent: str, branch: str, **fields: Any) -> Any:
        """Queue a branch."""
        return self.call(agent, "land", branch=branch, **fields)

    def take(self, agent: str, pid: int = HERE, **fields: Any) -> dict[str, Any]:
        """Become the lander."""
        found: dict[str, Any] = self.internal(agent, lander.TAKE, lander=self.process(pid), **fields)
        return found

    def step(self, agent: str, operation: Any, taken: dict[str, Any], **fields: Any) -> Any:
        """One step of a lander."""
        return self.internal(agent, operation, token=taken["token"], turn=taken["turn"], **fields)

    def batch(self, agent: str, taken: dict[str, Any], size: int = 4, **fields: Any) -> list[str]:
        """The branches of the next batch."""
        return [one["branch"] for one in self.step(agent, lander.BATCH, taken, size=size, **fields)["landings"]]

    def queued(self) -> list[str]:
        """The branches in the queue, in its order."""
        return [one["branch"] for one in self.call("me", "landings", queue=True)["landings"]]

    def move(self, agent: str, taken: dict[str, Any], *landings: dict[str, Any]) -> Any:
        """The intent to move to these."""
        moves = [[one["id"], one["commit"], f"on-{one['commit']}"] for one in landings]
        return self.step(agent, lander.MOVE, taken, base="m0", commit="m1", moves=moves)


@pytest.fixture
def fleet() -> Queue:
    return Queue()


def test_a_higher_priority_comes_first_then_the_earlier_one(fleet: Queue) -> None:
    assert fleet.land("ann", "a")["place"] == 1
    assert fleet.land("bob", "b")["place"] == 2
    assert fleet.land("bob", "urgent", priority=5)["place"] == 1
    assert fleet.queued() == ["urgent", "a", "b"]
    assert fleet.batch("cy", fleet.take("cy"), size=2) == ["urgent", "a"]
    fleet.clean()


def test_a_branch_is_queued_once_and_another_commit_keeps_its_place(fleet: Queue) -> None:
    first = fleet.land("ann", "a", commit="c1")["landing"]
    fleet.land("bob", "b")
    again = fleet.land("ann", "a", commit="c1")
    assert (again["landing"]["id"], again["repeated"]) == (first["id"], True)
    later = fleet.land("ann", "a", commit="c2")
    assert (later["landing"]["id"], later["landing"]["commit"], later["place"]) == (first["id"], "c2", 1)
    assert fleet.queued() == ["a", "b"]
    assert [event["data"]["commit"] for event in fleet.events("landing.queued")[::2]] == ["c1", "c2"]


def test_the_target_itself_and_nonsense_are_invalid_and_the_queue_has_an_end(
    fleet: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("main", "", "two words", "-x", "a" * 300):
        with pytest.raises(Invalid):
            fleet.land("ann", name)
    monkeypatch.setattr(queue, "MAX_QUEUED", 1)
    fleet.land("ann", "a")
    with pytest.raises(Quota):
        fleet.land("ann", "b")
    fleet.land("ann", "a")


def test_only_its_agents_or_an_orchestrator_take_a_branch_out_of_the_queue() -> None:
    crew = Queue(guards=guards(roles={"default": "", "assign": [["lead", "orchestrator"]], "named": {}}))
    for branch in ("a", "b"):
        crew.call("ann", "land", branch=branch, client=1)
    crew.call("bob", "boot", client=2)
    with pytest.raises(Forbidden):
        crew.call("bob", "landings cancel", landing="a", client=2)
    assert crew.call("ann", "landings cancel", landing="a", client=1)["landing"]["state"] == "cancelled"
    crew.call("lead", "landings cancel", landing="b")
    assert [kind for kind, _ in crew.told("ann")] == ["landing"]
    assert crew.queued() == []
    with pytest.raises(NotFound):
        crew.call("ann", "landings cancel", landing="a", client=1)
    crew.clean()


def test_one_process_lands_and_the_next_one_when_it_leaves_or_dies(fleet: Queue) -> None:
    fleet.land("ann", "a")
    first = fleet.take("ann")
    with pytest.raises(Held):
        fleet.take("bob", ELSEWHERE)
    with pytest.raises(Held):
        fleet.take("ann", ELSEWHERE)  # its own claim does not stand in its way, its own process does
    fleet.step("ann", lander.LEAVE, first)
    second = fleet.take("bob", ELSEWHERE)
    assert second["turn"] > first["turn"]
    fleet.kill9(ELSEWHERE)
    third = fleet.take("cy", 13)
    assert third["turn"] > second["turn"]
    assert third["token"] > second["token"]
    fleet.clean()


def test_a_lander_that_cannot_be_seen_keeps_its_turn_until_its_claim_expires(fleet: Queue) -> None:
    fleet.land("ann", "a")
    taken = fleet.take("ann")
    fleet.now += lander.CLAIM_TTL_MS + 1
    fleet.dead.clear()
    fleet.kill9(HERE)
    assert fleet.take("bob", ELSEWHERE)["turn"] > taken["turn"]
    with pytest.raises(Fenced):
        fleet.batch("ann", taken)


def test_a_claim_by_hand_freezes_the_target(fleet: Queue) -> None:
    fleet.land("ann", "a")
    fleet.claim("boss", "land:main", reason="release day")
    with pytest.raises(Held, match="release day"):
        fleet.take("ann")
    assert fleet.call("me", "landings")["lander"]["reason"] == "release day"
    fleet.release("boss", "land:main")
    fleet.take("ann")


@pytest.mark.parametrize("operation", [lander.BATCH, lander.MOVE, lander.DONE, lander.BACK, lander.REFUSE,
                                       lander.LEAVE, lander.CONFIRM], ids=lambda one: one.name)  # fmt: skip
def test_a_stale_lander_is_refused_at_every_step(fleet: Queue, operation: Any) -> None:
    landing = fleet.land("ann", "a", commit="c1")["landing"]
    stale = fleet.take("ann")
    fleet.kill9(HERE)
    live = fleet.take("ann", ELSEWHERE)
    steps: dict[str, dict[str, Any]] = {
        "land-batch": {"size": 1},
        "land-move": {"base": "m0", "commit": "m1", "moves": [[landing["id"], "c1", "m1"]]},
        "land-refuse": {"landing": landing["id"], "code": "check", "why": "no"},
    }
    fields = steps.get(operation.name, {})
    with pytest.raises(Fenced):
        fleet.step("ann", operation, stale, **fields)
    with pytest.raises(Fenced):  # a live token does not help a turn that is over
        fleet.internal("ann", operation, token=live["token"], turn=stale["turn"], **fields)
    assert fleet.queued() == ["a"]
    fleet.clean()


def test_the_claim_itself_is_asked_at_every_step(fleet: Queue) -> None:
    fleet.land("ann", "a")
    taken = fleet.take("ann")
    fleet.now += lander.CLAIM_TTL_MS + 1
    with pytest.raises(Fenced):
        fleet.batch("ann", taken)


def test_a_landed_branch_is_decided_once_and_its_agents_are_told(fleet: Queue) -> None:
    one, two = (fleet.land(agent, branch, commit=branch)["landing"] for agent, branch in (("ann", "a"), ("bob", "b")))
    taken = fleet.take("cy")
    fleet.batch("cy", taken)
    assert fleet.move("cy", taken, one, two) == {"gone": []}
    with pytest.raises(Conflict):
        fleet.call("ann", "landings cancel", landing="a")
    assert len(fleet.step("cy", lander.DONE, taken)["landed"]) == 2
    assert fleet.step("cy", lander.DONE, taken)["landed"] == []
    shown = fleet.call("me", "landings")
    assert (shown["queued"], shown["last"]["commit"]) == (0, "m1")
    assert {one["branch"]: one["landed"] for one in shown["landings"]} == {"a": "on-a", "b": "on-b"}
    for agent in ("ann", "bob"):
        (told,) = fleet.told(agent)
        assert "landed on main" in told[1]
    fleet.clean()


def test_what_was_cancelled_or_replaced_meanwhile_is_not_moved_to(fleet: Queue) -> None:
    one, two = (fleet.land("ann", branch, commit=branch)["landing"] for branch in ("a", "b"))
    taken = fleet.take("cy")
    fleet.batch("cy", taken)
    fleet.call("ann", "landings cancel", landing="a")
    fleet.land("ann", "b", commit="newer")
    assert fleet.move("cy", taken, one, two)["gone"] == [one["id"], two["id"]]
    assert fleet.events("landing.moving") == []
    assert fleet.queued() == ["b"]


def test_the_next_lander_is_told_what_a_dead_one_was_about_to_do(fleet: Queue) -> None:
    one = fleet.land("ann", "a", commit="c1")["landing"]
    taken = fleet.take("cy")
    fleet.batch("cy", taken)
    fleet.move("cy", taken, one)
    fleet.kill9(HERE)
    after = fleet.take("dan", ELSEWHERE)
    assert after["interrupted"] == {"base": "m0", "commit": "m1"}
    with pytest.raises(Conflict):  # until somebody has looked
        fleet.call("ann", "landings cancel", landing="a")
    assert fleet.step("dan", lander.DONE, after)["landed"] == [one["id"]]
    assert "interrupted" not in fleet.take("dan", ELSEWHERE)
    fleet.clean()


def test_an_intent_that_came_to_nothing_leaves_the_landing_queued(fleet: Queue) -> None:
    one = fleet.land("ann", "a", commit="c1")["landing"]
    taken = fleet.take("cy")
    fleet.move("cy", taken, one)
    fleet.step("cy", lander.LEAVE, taken)  # it could not say what became of it
    after = fleet.take("dan", ELSEWHERE)
    assert after["interrupted"]["commit"] == "m1"
    fleet.step("dan", lander.BACK, after)
    assert fleet.batch("dan", after) == ["a"]
    assert fleet.step("dan", lander.DONE, after)["landed"] == []


def test_a_refusal_tells_why_with_the_end_of_the_output(fleet: Queue) -> None:
    one = fleet.land("ann", "a")["landing"]
    taken = fleet.take("cy")
    fields = {"landing": one["id"], "code": "check", "why": "the check failed.", "output": "x" * 5_000 + "END"}
    assert fleet.step("cy", lander.REFUSE, taken, **fields) == {"refused": True}
    assert fleet.step("cy", lander.REFUSE, taken, **fields) == {"refused": False}
    ((kind, text),) = fleet.told("ann")
    assert kind == "landing"
    assert text.endswith("END")
    assert "untouched" in text
    assert len(text) < 2_000
    assert fleet.queued() == []
    fleet.clean()


def test_a_role_that_may_not_commit_does_not_land_and_one_that_may_not_deploy_does_not_push() -> None:
    named = {"builder": {"deploy": False}}
    roles = {"default": "", "assign": [["w", "worker"], ["b", "builder"]], "named": named}
    fleet = Queue()
    fleet.policy = Policy(guards=guards(roles=roles))
    with pytest.raises(Forbidden):
        fleet.take("w")
    with pytest.raises(Forbidden):
        fleet.take("b", pushes=True)
    fleet.take("b")


def test_a_decided_landing_is_forgotten_after_a_week(fleet: Queue) -> None:
    fleet.land("ann", "a")
    fleet.call("ann", "landings cancel", landing="a")
    assert len(fleet.call("me", "landings")["landings"]) == 1
    fleet.now += queue.DECIDED_LIFE_MS + 1
    fleet.call("me", "sweep")
    assert fleet.call("me", "landings")["landings"] == []


def test_the_lookout_finds_a_target_that_was_moved_without_a_live_token() -> None:
    crew = Crew()
    crew.call("ann", "land", branch="a")

    def forged(tx: Any) -> None:
        tx.append("landing.landed", "ann", "nobody", {"target": "main", "branch": "a", "commit": "c", "token": 7})

    crew.store.run(forged)
    assert [finding.code for finding in verify_store(crew.store).findings] == ["landing", "landing"]


def test_what_stops_the_queue_is_told_once_for_each_cause_and_shown_until_something_is_decided(fleet: Queue) -> None:
    first = fleet.land("ann", "a", commit="c1")["landing"]
    fleet.land("bob", "b")
    taken = fleet.take("cy")
    for age in ("5s", "9s"):
        fleet.step("cy", lander.STOP, taken, what="x.lock", why=f"x.lock is {age} old.")
    assert [len(fleet.told(agent)) for agent in ("ann", "bob")] == [1, 1]
    assert fleet.call("me", "landings")["stopped"]["why"] == "x.lock is 5s old."
    fleet.land("ann", "late")
    fleet.step("cy", lander.STOP, taken, what="x.lock", why="x.lock is 20s old.")  # who came later is told as well
    assert [len(fleet.told(agent)) for agent in ("ann", "bob")] == [2, 1]
    fleet.step("cy", lander.STOP, taken, what="red", why="main is red.", landings=[first["id"]])
    assert [len(fleet.told(agent)) for agent in ("ann", "bob")] == [3, 1]
    assert fleet.queued() == ["a", "b", "late"]
    fleet.move("cy", taken, first)
    fleet.step("cy", lander.DONE, taken)
    assert fleet.call("me", "landings")["stopped"] is None
    with pytest.raises(Fenced):
        fleet.step("cy", lander.STOP, {**taken, "turn": taken["turn"] + 1}, what="x", why="x")
    fleet.clean()


def test_a_commit_that_has_landed_is_not_queued_again_unless_that_is_said(fleet: Queue) -> None:
    first = fleet.land("ann", "a", commit="c1")["landing"]
    taken = fleet.take("cy")
    fleet.move("cy", taken, first)
    fleet.step("cy", lander.DONE, taken)
    late = fleet.land("ann", "a", commit="c1")  # its caller gave up waiting a moment too early
    assert (late["landing"]["id"], late["landing"]["state"], late["repeated"]) == (first["id"], "landed", True)
    assert fleet.queued() == []
    with pytest.raises(Conflict):
        fleet.call("ann", "landings cancel", landing="a")
    assert fleet.land("ann", "a", commit="c1", again=True)["landing"]["state"] == "queued"
    assert fleet.land("ann", "a", commit="c2")["landing"]["commit"] == "c2"
    fleet.clean()
