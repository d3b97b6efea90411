"""A snapshot and the events after it give the same picture as a new snapshot; what is derived is sorted by need."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.interfaces.top import panes
from dibs.interfaces.top.model import Model, tree
from dibs.interfaces.top.rows import Row
from dibs.interfaces.top.state import KEPT_EVENTS, FleetState
from dibs.interfaces.top.words import covers
from tests.interfaces.top.looking import Look, opened
from tests.waiting import LIMIT_S, until


def claims_of(state: FleetState) -> list[Any]:
    return sorted((one["claim"], one["agent"], one["resources"], one["token"]) for one in state.claims.values())


def test_folded_events_give_the_claims_of_a_new_snapshot(look: Look, ada: Any, ben: Any) -> None:
    first = ada.claim("src/a.py")
    ada.claim("src/b.py", "src/c.py")
    ben.claim("docs/")
    look.hear()
    assert len(look.state.claims) == 3
    first.release()
    ada.release("src/b.py")  # a part of it
    ben.claim("deploy:prod")
    look.hear()
    folded = claims_of(look.state)
    look.again()
    assert [one[0] for one in folded] == [one[0] for one in claims_of(look.state)]
    assert look.state.seq == ada.log()["cursor"]


def test_an_event_is_folded_once_and_in_its_order(look: Look, ada: Any) -> None:
    ada.claim("src/a.py")
    events = ada.log()["events"]
    assert look.state.heard(events) == {"status"}
    before = len(look.state.events)
    assert look.state.heard(events) == set()
    assert len(look.state.events) == before


def test_events_are_dropped_from_memory_and_known_to_be_in_the_log(look: Look) -> None:
    at = "2026-01-01T00:00:00.000Z"
    events: list[Any] = [
        {"seq": seq, "kind": "x.y", "agent": "a", "name": "", "subject": "", "data": {}, "at": at}
        for seq in range(10, 8_000)
    ]
    look.state.heard(events)
    assert len(look.state.events) <= KEPT_EVENTS + 500
    assert look.state.is_older


def waiting(folder: Path, agent: str, path: str) -> threading.Thread:
    """An agent that waits until its claim is granted, refused or killed."""

    def wait() -> None:
        with opened(folder, agent) as space:
            try:
                space.claim(path, wait="60s")
            except dibs.DibsError:
                pass

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def seen_when(look: Look, condition: Any) -> Model:
    """Look again until the picture is so."""

    def seen() -> Model | None:
        look.again()
        model = Model(look.state)
        return model if condition(model) else None

    found: Model = until(seen)
    return found


@pytest.fixture
def deadlock(look: Look, ada: Any, ben: Any) -> Any:
    """Ada holds a.py, ben b.py and waits for a.py; ada is refused b.py."""
    ada.claim("a.py")
    ben.claim("b.py")
    thread = waiting(look.folder, "ben", "a.py")
    seen_when(look, lambda model: model.waits)
    with pytest.raises(dibs.Deadlock):
        ada.claim("b.py", wait="5s")
    yield look
    with contextlib.suppress(dibs.Fenced):  # a test may have taken it away
        ada.release("a.py")
    thread.join(LIMIT_S)


def test_who_waits_comes_first_and_a_deadlock_is_kept_together(deadlock: Look) -> None:
    deadlock.again()
    model = Model(deadlock.state)
    assert [(agent["name"], agent["shown"]) for agent in model.agents] == [("ben", "waiting"), ("ada", "working")]
    assert panes.state_word(model, model.agents[1]) == ("* holds up ben", "wait")
    assert model.verdict()[:2] == ("1 NEEDS YOU", "deadlock")
    rows = [text_of_row(row, 60) for row in panes.rows_of(panes.WAITS, model)]
    assert rows[0].startswith(" DEADLOCK of 2: enter shows how to resolve it")
    assert any("ada" in row and "refused" in row and "held by ben" in row for row in rows[1:])
    assert any("ben" in row and "waits" in row and "held by ada" in row for row in rows[1:])
    alert = text_of_row(panes.rows_of(panes.ALERT, model)[0], 80)
    assert "ada > ben > ada, ada was refused" in alert or "ben > ada > ben" in alert
    assert alert.endswith("enter resolve")
    held = [text_of_row(row, 60) for row in panes.rows_of(panes.HELD, model)]
    assert any("a.py ~ ben" in row for row in held)


@pytest.mark.parametrize("keys", [("exclamation_mark", "enter", "r"), ("3", "enter", "r")])
def test_a_deadlock_shows_how_to_resolve_it_and_is_resolved_in_three_steps(
    deadlock: Look, keys: tuple[str, ...]
) -> None:
    deadlock.again()
    deadlock.press(*keys[:2])
    shown = deadlock.shown(100, 30)
    assert "How to resolve: select any one of these; A asks its holder, r releases it" in shown
    assert ">Way 1       ben releases b.py, and ada can claim it" in shown
    assert " Way 2       ada releases a.py, and ben gets it" in shown
    assert "{" not in shown
    deadlock.press("j", keys[2])
    assert "Release a.py, held by ada?" in deadlock.shown(100, 30)
    deadlock.type("deadlock")
    deadlock.press("enter", "enter")
    seen_when(deadlock, lambda model: not model.waits)


def test_who_is_blocked_is_first_and_its_holder_is_asked_at_once(look: Look, ada: Any, ben: Any) -> None:
    ada.claim("a.py", reason="new route")
    thread = waiting(look.folder, "ben", "a.py")
    seen_when(look, lambda model: model.waits)
    assert ">ben" in look.shown()
    look.press("A")
    assert "Ask for a.py" in look.shown()
    look.press("escape", "r")
    assert "Release a.py, held by ada?" in look.shown()
    look.press("escape")
    ada.release("a.py")
    thread.join(LIMIT_S)
    assert ben is not None


def text_of_row(row: Row, columns: int) -> str:
    return "".join([text for text, _ in row.draw(columns)]).rstrip()


def test_the_verdict_says_what_is_true(look: Look, ada: Any) -> None:
    ada.claim("src/a.py")
    look.again()
    assert Model(look.state).verdict() == ("ALL WELL", "no open alert, nobody is blocked", "ok")
    look.state.warnings = ["the disk is full"]
    assert Model(look.state).verdict()[:2] == ("1 WARNING", "the store")
    look.state.lost("gone", 0)
    assert Model(look.state).verdict()[0] == "UNKNOWN"


def test_held_paths_are_a_tree_with_names_first(look: Look, ada: Any) -> None:
    for path in ("deploy:prod", "src/api/auth.py", "src/api/routes.py", "src/db/", "docs/a/b/c.md"):
        ada.claim(path)
    look.again()
    rows = [(row["depth"], row["name"]) for row in tree(Model(look.state))]
    assert rows == [
        (0, "deploy:prod"), (0, "docs/a/b/c.md"), (0, "src/"), (1, "api/"), (2, "auth.py"), (2, "routes.py"), (1, "db"),
    ]  # fmt: skip
    by_holder = panes.rows_of(panes.HELD, Model(look.state), sort=2)
    assert [row.open for row in by_holder] == [
        "file:deploy:prod", "file:docs/a/b/c.md", "file:src/api/auth.py", "file:src/api/routes.py", "file:src/db",
    ]  # fmt: skip


@pytest.fixture
def pools(ada: Any, tmp_path: Path) -> None:  # noqa: ARG001 - the workspace first
    with (tmp_path / ".dibs" / "config.toml").open("a") as file:
        file.write("[pools]\nbuild = { size = 12 }\nidle = { size = 1 }\n")


@pytest.mark.usefixtures("pools")
def test_a_pool_in_use_is_a_row_with_its_units_below(ben: Any, look: Look) -> None:
    ben.claim("pool:build:10", "pool:build:2", "deploy:prod")
    look.again()
    assert [(row["depth"], row["name"]) for row in tree(Model(look.state))] == [
        (0, "deploy:prod"), (0, "pool:build  2 of 12"), (1, "pool:build:2"), (1, "pool:build:10"),
    ]  # fmt: skip
    for number in range(12):
        if number not in {2, 10}:
            ben.claim(f"pool:build:{number}")
    thread = waiting(look.folder, "cid", "pool:build")
    seen_when(look, lambda model: model.waits)
    assert "pool:build  12 of 12, 1 waiting" in [row["name"] for row in tree(Model(look.state))]
    ben.release(all=True)
    thread.join(LIMIT_S)


def test_a_path_of_thousands_of_folders_is_drawn() -> None:
    state = FleetState()
    deep = "/".join("a" * 2_000)
    state.claims = {
        str(number): {
            "claim": str(number), "agent": "ada", "name": "ada", "resources": [deep[: 2 * number + 1]], "mode": "write",
            "token": 1, "since": "2026-01-01T00:00:00Z", "expires_at": "", "reason": "", "left": "", "task": "",
            "ttl": 0, "renewed_at": "",
        } for number in range(300)
    }  # fmt: skip
    assert len(tree(Model(state))) == 300


@pytest.mark.parametrize(
    ("path", "other", "does"),
    [("src", "src/a.py", True), ("src/", "src/a.py", True), ("src", "src2/a.py", False), (".", "x", True),
     ("a.py", "a.py", True), ("deploy:prod", "deploy:prod", True), (".", "deploy:prod", False)],
)  # fmt: skip
def test_what_a_claim_covers_by_its_name(path: str, other: str, does: bool) -> None:
    assert covers(path, other) is does


def test_tasks_are_sorted_by_what_is_next(look: Look, ada: Any) -> None:
    ada.task_add("First", id="t1", priority=1)
    ada.task_add("Second", id="t2", priority=5)
    ada.task_add("Later", id="t3", after=["t1"])
    ada.task_add("Idea", id="t4", state="discovery")
    ada.task_claim("t2")
    look.again()
    model = Model(look.state)
    assert [row.id for row in panes.rows_of(panes.TASKS, model)] == ["t2", "t1", "t3", "t4"]
    shown = [text_of_row(row, 80) for row in panes.rows_of(panes.TASKS, model)]
    assert shown[0].startswith(" * executing   t2  Second")
    assert "after: t1" in shown[2]
    assert [row.id for row in panes.rows_of(panes.TASKS, model, query="idea")] == ["t4"]
    assert panes.task_counts(model, model.board())[0].startswith("discovery 1   scoped 0   planned 1 ready, 1 blocked")


def test_the_log_is_filtered_by_agent_kind_subject_and_words(look: Look, ada: Any, ben: Any) -> None:
    ada.claim("src/a.py")
    with pytest.raises(dibs.Held):
        ben.claim("src/a.py")
    look.again()
    model = Model(look.state)

    def kinds(query: str) -> set[str]:
        found = panes.rows_of(panes.LOG, model, query=query)
        by = {str(event["seq"]): event["kind"] for event in look.state.events}
        return {by[row.id] for row in found}

    assert kinds("agent:ben kind:claim.") == {"claim.refused"}
    assert kinds("about:src/a.py granted") == {"claim.granted"}
    assert kinds("nothing like it") == set()


def test_an_event_about_an_agent_names_it_as_people_do(look: Look) -> None:
    session = "d775fd74-bb09-45c2-8395-dc2308a6ed45"
    with dibs.open(str(look.folder), agent=session) as other:
        other.claim("src/a.py")
    look.again()
    event: Any = {"kind": "agent.killed", "agent": "root", "subject": session, "data": {}}
    assert look.state.about(event) == look.state.name_of(session) != session
