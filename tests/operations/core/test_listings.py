"""Every listing pages honestly: the pages together are all of it, each once, live things first, and `more` is true."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.client import catalogue
from dibs.errors import Invalid, NotFound, Quota
from dibs.interfaces import schema
from dibs.operations.claims import records as claim_records
from dibs.operations.core import paging
from dibs.operations.tasks import pulls
from tests.operations.crew import Crew
from tests.operations.fleet import Fleet

if TYPE_CHECKING:
    from collections.abc import Callable

LISTINGS = (
    "agents",
    "inbox",
    "landings",
    "radar",
    "run list",
    "state list",
    "status",
    "subscriptions",
    "task list",
    "vote list",
)
MANY = 23


def _agents(crew: Crew) -> None:
    for number in range(MANY):
        crew.claim(f"a{number:02d}", f"f{number}.py")
        crew.release(f"a{number:02d}")


def _inbox(crew: Crew) -> None:
    crew.claim("me", "x.py")
    for number in range(MANY):
        crew.call("ann", "send", to="me", text=f"{number}")


def _runs(crew: Crew) -> None:
    for number in range(MANY):
        crew.call("boss", "run start", name="r", id=f"r{number:02d}")
        if number % 2:
            crew.call("boss", "run end", run=f"r{number:02d}")


def _documents(crew: Crew) -> None:
    for number in range(MANY):
        crew.call("boss", "state set", key=f"k{number:02d}", value=number)


def _subscriptions(crew: Crew) -> None:
    for number in range(MANY):
        crew.call("me", "subscribe", what=f"k{number:02d}")


def _tasks(crew: Crew) -> None:
    for number in range(MANY):
        crew.add(f"t{number:02d}", priority=number % 3, needs=["gpu"] if number % 2 else [])
        if number % 5 == 0:
            crew.call("boss", "task cancel", id=f"t{number:02d}")


def _votes(crew: Crew) -> None:
    for number in range(MANY):
        crew.now += 1
        crew.call("boss", "vote open", title="which", options=["a", "b"], electorate=["boss", "x"], key=f"v{number}")


def _landings(crew: Crew) -> None:
    for number in range(MANY):
        crew.now += 1
        crew.call("boss", "land", branch=f"b{number:02d}", priority=number % 3)
        if number % 4 == 0:
            crew.call("boss", "landings cancel", landing=f"b{number:02d}")


def _radar(crew: Crew) -> None:
    pairs = [{"one": "/main", "other": f"/tree-{number}", "files": [["x.py", "content", []]]} for number in range(MANY)]
    crew.internal("boss", catalogue.operation("radar-report"), place="here", pairs=pairs)


SETTINGS: dict[str, tuple[Callable[[Crew], None], str, str]] = {
    "agents": (_agents, "agents", "agent"),
    "inbox": (_inbox, "messages", "text"),
    "landings": (_landings, "landings", "id"),
    "radar": (_radar, "conflicts", "id"),
    "run list": (_runs, "runs", "id"),
    "state list": (_documents, "documents", "key"),
    "subscriptions": (_subscriptions, "subscriptions", "subscription"),
    "task list": (_tasks, "tasks", "id"),
    "vote list": (_votes, "votes", "id"),
}


def pages(crew: Fleet, name: str, **fields: Any) -> list[dict[str, Any]]:
    """All pages of a listing."""
    found = [crew.call("me", name, **fields)]
    while found[-1]["more"]:
        assert found[-1]["cursor"]
        found.append(crew.call("me", name, **fields, after=found[-1]["cursor"]))
        assert len(found) < 100
    assert found[-1]["cursor"] is None
    return found


def test_every_listing_takes_a_limit_and_a_cursor() -> None:
    for name in LISTINGS:
        operation = catalogue.operation(name)
        assert {"limit", "after"} <= {field.name for field in operation.fields}, name
        assert {"more", "cursor"} <= set(schema.hints_of(operation.answer)), name


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("limit", [1, 5, MANY - 1, MANY, MANY + 1])
def test_the_pages_of_a_listing_are_all_of_it_each_once(name: str, limit: int) -> None:
    make, part, key = SETTINGS[name]
    crew = Crew()
    make(crew)
    whole = [one[key] for one in crew.call("me", name)[part]]
    assert len(whole) >= MANY
    found = pages(crew, name, limit=limit)
    assert all(len(page[part]) == limit for page in found[:-1])
    together = [one[key] for page in found for one in page[part]]
    assert sorted(together) == sorted(whole)
    if name != "task list":  # whose pages are sorted by priority each
        assert together == whole


@pytest.mark.parametrize("name", [name for name in LISTINGS if name != "state list"])
def test_what_is_no_cursor_is_refused(name: str) -> None:
    crew = Crew()
    for text in ("x", "!!", "AAAA", "ŝ", "OTkJeA", "eyJ4IjoxfQ"):
        with pytest.raises(Invalid, match="cursor"):
            crew.call("me", name, after=text)
    with pytest.raises(Invalid, match="limit"):
        crew.call("me", name, limit=paging.MAX_PAGE_ROWS + 1)


def test_tasks_of_a_state_a_run_and_a_parent_come_in_pages() -> None:
    crew = Crew()
    crew.call("boss", "run start", name="r", id="r")
    crew.add("p", run="r")
    for number in range(MANY):
        crew.add(f"c{number:02d}", parent="p", state="scoped" if number % 2 else "planned")
    for fields, expected in (({"run": "r"}, MANY + 1), ({"parent": "p"}, MANY), ({"state": "scoped"}, MANY // 2),
                             ({"parent": "p", "state": "scoped"}, MANY // 2)):  # fmt: skip
        found = [task["id"] for page in pages(crew, "task list", limit=4, **fields) for task in page["tasks"]]
        assert len(found) == len(set(found)) == expected, fields


def test_a_page_that_has_looked_at_many_rows_in_vain_says_that_there_is_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "MAX_ROWS_READ", 10)
    monkeypatch.setattr(paging, "ROWS_PER_TRIP", 4)
    crew = Crew()
    for number in range(MANY):
        crew.add(f"t{number:02d}")
    crew.take("t22", "ann")
    first = crew.call("me", "task list", agent="ann", state="planned", limit=5)
    assert (first["tasks"], first["more"]) == ([], True)
    assert [task["id"] for page in pages(crew, "task list", agent="ann") for task in page["tasks"]] == ["t22"]


# --- status


def test_dead_claims_take_no_room_in_a_status() -> None:
    fleet = Fleet()
    for number in range(MANY):
        fleet.claim("aaa", f"dead{number}.py", client=1)
        fleet.claim("bbb", f"over{number}.py", ttl=1_000)
    fleet.kill9(1)
    fleet.now += 1_000
    fleet.claim("zed", "live.py")
    answer = fleet.call("me", "status", limit=1)
    assert [claim["agent"] for claim in answer["claims"]] == ["zed"]
    assert pages(fleet, "status", limit=1)[0]["claims"] == answer["claims"]


def test_one_cursor_goes_on_with_all_four_parts_of_a_status() -> None:
    crew = Crew()
    for number in range(7):
        crew.add(f"t{number}")
        crew.take(f"t{number}", f"w{number}")
        crew.claim(f"a{number}", f"f{number}.py")
    for number in range(4):
        crew.claim(f"q{number}", "f0.py", wait=10_000)
    found = pages(crew, "status", limit=3)
    every = {part: [one for page in found for one in page[part]] for part in ("claims", "waiting", "agents", "tasks")}
    assert {part: len(rows) for part, rows in every.items()} == {"claims": 14, "waiting": 4, "agents": 19, "tasks": 7}
    assert len({claim["claim"] for claim in every["claims"]}) == 14
    assert all(len(page[part]) <= 3 for page in found for part in every)


def test_a_status_of_one_resource_knows_that_the_holder_is_dead_however_many_agents_there_are() -> None:
    fleet = Fleet()
    for number in range(30):
        fleet.claim(f"a{number:02d}", f"f{number}.py", client=number + 10)
    fleet.claim("zz", "x.py", client=5)
    fleet.kill9(5)
    assert fleet.call("me", "status", resources=["x.py"], limit=2)["claims"] == []


def test_agents_that_are_there_come_first() -> None:
    fleet = Fleet()
    for number in range(6):
        fleet.claim(f"a{number}", f"f{number}.py", client=number + 10)
    fleet.kill9(10)
    fleet.call("a1", "leave", client=11)
    fleet.call("boss", "kill", agent="a2", why="enough")
    found = [agent["agent"] for page in pages(fleet, "agents", limit=2, all=True) for agent in page["agents"]]
    assert found == ["a3", "a4", "a5", "boss", "a0", "a1", "a2"]


# --- limits that changed answers


def test_a_dead_holders_task_is_found_behind_any_number_of_live_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulls, "ORPHANS_PER_TRIP", 3)
    crew = Crew()
    for number in range(10):
        crew.add(f"t{number}")
        crew.take(f"t{number}", f"w{number}", client=number + 10)
    crew.kill9(19)
    assert crew.next("v")["task"]["id"] == "t9"
    with pytest.raises(NotFound):
        crew.next("u")
    crew.clean()


def test_max_tasks_holds_for_an_agent_with_any_number_of_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim_records, "ROWS_PER_TRIP", 4)
    crew = Crew()
    crew.add("t0")
    crew.add("t1")
    crew.next("w")
    for number in range(40):
        crew.claim("w", f"f{number}.py")
    with pytest.raises(Quota):
        crew.next("w")


def test_the_briefing_after_many_losses_lists_some_and_counts_all(monkeypatch: pytest.MonkeyPatch) -> None:
    from dibs.operations.agents import beliefs, presence
    from dibs.operations.core import long_jobs

    monkeypatch.setattr(beliefs, "MAX_LOSSES_LISTED", 5)
    monkeypatch.setattr(presence, "MAX_CLAIMS_LISTED", 3)
    monkeypatch.setattr(long_jobs, "RECORDS_PER_STEP", 8)
    fleet = Fleet()
    for number in range(12):
        fleet.claim("me", f"f{number:02d}.py", ttl=1_000)
    fleet.now += 1_000
    for number in range(4):
        fleet.claim("me", f"g{number:02d}.py")
    answer = fleet.call("me", "boot")
    assert (len(answer["lost"]), answer["lost_count"]) == (5, 12)
    assert (len(answer["held"]), answer["held_count"]) == (3, 4)
    while fleet.call("x", "sweep")["more"]:
        pass
    assert fleet.call("me", "boot")["lost_count"] == 12
    fleet.clean()
