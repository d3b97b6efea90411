"""Tasks of a home-made registry: how they come in, and what its scripts do to them, on every engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dibs.errors import Conflict, Held, NotFound, Quota
from dibs.machine import clock
from dibs.operations.tasks.registries import ADOPT, GIVE_BACK, IMPORT, LOOK, MOVE, SETTLE, TAKE
from tests.operations.engines import OnFile
from tests.operations.fleet import Fleet
from tests.stores.redis_server import Server, opened

HALF_HOUR = 1_800_000


@pytest.fixture(params=["memory", "sqlite", "redis"])
def anywhere(request: pytest.FixtureRequest) -> Iterator[Fleet]:
    """A fleet on each engine. The clock of a server is its own."""
    fleet = OnFile() if request.param == "sqlite" else Fleet()
    if request.param == "redis":
        server: Server = request.getfixturevalue("redis_server")
        fleet.store = opened(server.socket_url, clock.random_id())  # type: ignore[assignment]
    yield fleet
    fleet.clean()
    (fleet if isinstance(fleet, OnFile) else fleet.store).close()


def spec(name: str, state: str = "scoped", text: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {"id": name, "title": text or name, "state": state}
    return {**found, "payload": {"text": text}} if text else found


def brought(fleet: Fleet, *specs: dict[str, Any]) -> list[str]:
    found: list[str] = fleet.internal("person", IMPORT, tasks=list(specs))["tasks"]
    return found


def seen(fleet: Fleet, name: str) -> tuple[str, str]:
    """State and holder."""
    found = fleet.internal("person", LOOK, ids=[name])["tasks"].get(name, {"state": "", "holder": ""})
    return found["state"], found["holder"]


def test_tasks_come_in_in_their_states_with_their_text_and_once(anywhere: Fleet) -> None:
    specs = [spec(state, state, f"the {state} one") for state in ("discovery", "scoped", "planned", "complete")]
    assert brought(anywhere, *specs) == ["discovery", "scoped", "planned", "complete"]
    for name in ("discovery", "scoped", "planned", "complete"):
        shown = anywhere.call("x", "task show", id=name)["task"]
        assert (shown["state"], shown["payload"]) == (name, {"text": f"the {name} one"})
    assert brought(anywhere, *specs) == []
    assert len(anywhere.events("task.added")) == 4


def test_a_task_of_a_file_is_taken_given_back_and_finished(anywhere: Fleet) -> None:
    brought(anywhere, spec("T"))
    anywhere.internal("ann", TAKE, spec=spec("T"))
    assert seen(anywhere, "T") == ("executing", "ann")
    assert anywhere.internal("ann", TAKE, spec=spec("T"))["renewed"]
    with pytest.raises(Held):
        anywhere.internal("bob", TAKE, spec=spec("T"))
    assert anywhere.internal("bob", GIVE_BACK, id="T", state="scoped") == {
        "done": False, "holder": "ann", "holder_name": "ann",
    }  # fmt: skip
    assert anywhere.internal("ann", GIVE_BACK, id="T", state="scoped")["done"]
    assert seen(anywhere, "T") == ("scoped", "")
    anywhere.internal("bob", TAKE, spec=spec("T"))
    assert anywhere.internal("bob", GIVE_BACK, id="T", state="complete")["done"]
    assert seen(anywhere, "T") == ("complete", "")
    with pytest.raises(Conflict):
        anywhere.internal("ann", TAKE, spec=spec("T"))


def test_a_refused_take_leaves_a_scoped_task_scoped(anywhere: Fleet) -> None:
    brought(anywhere, spec("T1"), spec("T2"))
    anywhere.internal("ann", TAKE, spec=spec("T1"))
    with pytest.raises(Quota):
        anywhere.internal("ann", TAKE, spec=spec("T2"))
    assert seen(anywhere, "T2") == ("scoped", "")


def test_a_claim_on_the_name_becomes_the_claim_of_the_task(anywhere: Fleet) -> None:
    anywhere.claim("ann", "task:T", "x.py")
    assert seen(anywhere, "T") == ("", "ann")
    brought(anywhere, spec("T"))
    assert seen(anywhere, "T") == ("executing", "ann")
    assert anywhere.holders() == [("ann", "task:T"), ("ann", "x.py")]
    with pytest.raises(Held):
        anywhere.internal("bob", TAKE, spec=spec("T"))
    assert anywhere.internal("ann", GIVE_BACK, id="T", state="scoped")["done"]
    assert anywhere.holders() == [("ann", "x.py")]


def test_a_claim_made_with_files_has_what_is_left_of_its_time_and_no_limit_of_tasks_refuses_it(
    anywhere: Fleet,
) -> None:
    first = anywhere.internal("ann", ADOPT, spec=spec("T1"), left=60_000)
    anywhere.internal("ann", ADOPT, spec=spec("T2"), left=60_000)
    assert first["task"]["agent"] == "ann"
    (claim,) = [one for one in anywhere.call("x", "status")["claims"] if one["task"] == "T1"]
    assert claim["left"].startswith(("1 min", "under a minute"))
    with pytest.raises(Held):
        anywhere.internal("bob", ADOPT, spec=spec("T1"), left=60_000)
    brought(anywhere, spec("T3", "complete"))
    with pytest.raises(Conflict):
        anywhere.internal("ann", ADOPT, spec=spec("T3"), left=60_000)


def test_a_task_that_is_not_there_is_not_made_by_taking_it_but_where_its_file_is_scoped(anywhere: Fleet) -> None:
    with pytest.raises(NotFound):
        anywhere.internal("ann", TAKE, spec=spec("T", "discovery"))
    anywhere.internal("ann", TAKE, spec=spec("T"))


def test_a_file_moved_by_hand_moves_an_open_task_that_nobody_has(anywhere: Fleet) -> None:
    brought(anywhere, spec("T", "discovery"))
    for state in ("planned", "discovery", "scoped"):
        anywhere.internal("person", MOVE, id="T", state=state)
        assert seen(anywhere, "T") == (state, "")
    anywhere.internal("ann", TAKE, spec=spec("T"))
    with pytest.raises(Conflict):
        anywhere.internal("person", MOVE, id="T", state="scoped")


def test_what_was_scoped_and_is_lost_is_scoped_again_and_what_was_planned_stays_in_the_queue(fleet: Fleet) -> None:
    brought(fleet, spec("T1"), spec("T2", "planned"))
    fleet.internal("ann", TAKE, spec=spec("T1"), process=10)
    fleet.internal("bob", TAKE, spec=spec("T2", "planned"))
    fleet.kill9(10)
    assert seen(fleet, "T1") == ("executing", ""), "nobody has looked yet"
    fleet.now += HALF_HOUR
    assert fleet.internal("person", SETTLE, ids=["T1", "T2"]) == {"scoped": ["T1"]}
    assert (seen(fleet, "T1"), seen(fleet, "T2")) == (("scoped", ""), ("planned", ""))
    fleet.clean()


def test_a_task_that_a_worker_takes_from_the_queue_forgets_that_it_was_scoped(fleet: Fleet) -> None:
    brought(fleet, spec("T"))
    fleet.internal("ann", TAKE, spec=spec("T"))
    fleet.now += HALF_HOUR
    fleet.call("worker", "task claim", id="T")
    fleet.now += HALF_HOUR
    assert fleet.internal("person", SETTLE, ids=["T"]) == {"scoped": []}
    assert seen(fleet, "T") == ("planned", "")


def test_a_complete_task_may_begin_so_only_if_it_was_imported() -> None:
    fleet = Fleet()
    brought(fleet, spec("T", "complete"))
    fleet.clean()
    fleet.store.run(lambda tx: tx.append("task.added", "x", "T9", {"title": "t", "state": "complete"}))
    with pytest.raises(AssertionError, match="task_state"):
        fleet.clean()
