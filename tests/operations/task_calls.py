"""Tasks that are given to agents, in few words: for the tests of assigning, auctions and preemption."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dibs.errors import NotFound
from dibs.operations.core.policy import WORK
from tests.operations.fleet import Fleet

if TYPE_CHECKING:
    from dibs.operations.core.policy import WorkSettings

WAIT = WORK["tasks"]["assign_wait"]
WINDOW = WORK["tasks"]["bid_window"]


def work(**settings: Any) -> WorkSettings:
    """The settings of work with some of those for tasks changed."""
    return cast("WorkSettings", {**WORK, "tasks": {**WORK["tasks"], **settings}})


def boot(fleet: Fleet, *names: str, **fields: Any) -> None:
    for name in names:
        fleet.call(name, "boot", **fields)


def add(fleet: Fleet, identifier: str, **fields: Any) -> str:
    return str(fleet.call("boss", "task add", title=f"do {identifier}", id=identifier, **fields)["task"]["id"])


def assign(fleet: Fleet, identifier: str, **fields: Any) -> str | None:
    """Give it to somebody; says to whom."""
    answer = fleet.call("boss", "task assign", id=identifier, **fields)
    assert answer["queued"] == (answer["agent"] is None)
    return answer["agent"]  # type: ignore[no-any-return]


def bid(fleet: Fleet, name: str, identifier: str, amount: int, **fields: Any) -> Any:
    return fleet.call(name, "task bid", id=identifier, amount=amount, **fields)


def shown(fleet: Fleet, identifier: str) -> dict[str, Any]:
    task: dict[str, Any] = fleet.call("viewer", "task show", id=identifier)["task"]
    return task


def waits_for(fleet: Fleet, identifier: str) -> str | None:
    """The agent that a task is assigned to."""
    assigned = shown(fleet, identifier).get("assigned")
    return assigned["agent"] if assigned else None


def take(fleet: Fleet, name: str) -> str | None:
    try:
        return str(fleet.call(name, "task next")["task"]["id"])
    except NotFound:
        return None


def sweep(fleet: Fleet, ms: int = 0) -> None:
    fleet.now += ms
    fleet.call("boss", "sweep")


def kinds(fleet: Fleet, name: str) -> list[str]:
    return [kind for kind, _ in fleet.told(name)]
