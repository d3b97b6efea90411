"""Roles: who may write where, commit and deploy, and which role the config gives to whom."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Forbidden, Held
from dibs.operations.agents.marks import safe
from dibs.operations.agents.roles import scratch_of
from dibs.operations.guards import commit_guard
from dibs.operations.guards.shell_guard import COMMAND
from tests.operations.fleet import TREE, Fleet, guards, item, resource


def fleet_of(default: str = "", assign: dict[str, str] | None = None, **named: dict[str, Any]) -> Fleet:
    """A fleet whose config gives these roles."""
    pairs = [[pattern, role] for pattern, role in (assign or {}).items()]
    return Fleet(guards=guards(roles={"default": default, "assign": pairs, "named": named}))


def may_write(fleet: Fleet, agent: str, name: str, **fields: Any) -> bool:
    """Whether the role lets the agent write a file that nobody holds. Ignored files are free, so nothing is left."""
    try:
        fleet.edit(agent, item(name, ignored=True), **fields)
    except Forbidden as refusal:
        assert refusal.path == name
        return False
    return True


def may(fleet: Fleet, agent: str, act: str, **fields: Any) -> bool:
    """Whether the role lets the agent commit, or deploy."""
    try:
        fleet.internal(agent, COMMAND, tree=TREE, acts=[act], **fields)
    except Forbidden as refusal:
        assert refusal.act == act
        return False
    return True


# --- no role


def test_without_a_role_an_agent_may_write_commit_and_deploy() -> None:
    fleet = fleet_of()
    assert may_write(fleet, "a", "src/x.py")
    assert may(fleet, "a", "commit")
    assert may(fleet, "a", "deploy")
    fleet.clean()


# --- worker and orchestrator


def test_a_worker_writes_only_to_its_scratch_folder_and_is_told_where_that_is() -> None:
    fleet = fleet_of("worker")
    with pytest.raises(Forbidden, match=r"a is a worker and may not write src/x\.py") as refusal:
        fleet.edit("a", "src/x.py")
    assert (refusal.value.role, refusal.value.path) == ("worker", "src/x.py")
    assert ".dibs/local/scratch/a/" in refusal.value.message
    assert (fleet.holders(), fleet.events("edit.refused")[0]["data"]["code"]) == ([], "forbidden")
    assert may_write(fleet, "a", ".dibs/local/scratch/a/result.md")
    assert may_write(fleet, "a", ".dibs/local/scratch/a")
    assert not may(fleet, "a", "commit")
    assert not may(fleet, "a", "deploy")
    fleet.clean()


def test_a_worker_writes_what_the_config_adds_under_the_guards_as_everybody() -> None:
    fleet = fleet_of("worker", worker={"write": ["reports/", "**/*.draft"]})
    for name in ("reports/today.md", "deep/down/plan.draft"):
        assert may_write(fleet, "a", name)
    for name in ("reports2/today.md", "report", "plan.drafts"):
        assert not may_write(fleet, "a", name)
    fleet.edit("b", "reports/today.md")
    with pytest.raises(Held):
        fleet.edit("a", "reports/today.md")
    fleet.clean()


def test_one_forbidden_file_among_several_claims_none_of_them() -> None:
    fleet = fleet_of("worker", worker={"write": ["reports/"]})
    with pytest.raises(Forbidden):
        fleet.edit("a", "reports/today.md", "src/x.py")
    assert fleet.holders() == []
    fleet.clean()


def test_a_role_forbids_also_what_is_free_and_what_the_agent_holds() -> None:
    fleet = fleet_of("worker", {"b": "agent"})
    fleet.claim("b", "src/")  # a worker cannot claim what it may not write; it can be given it
    fleet.call("a", "boot")
    fleet.release("b", "src/", to="a")
    assert not may_write(fleet, "a", "src/x.py")
    with pytest.raises(Forbidden):
        fleet.edit("a", "src/x.py")
    fleet.clean()


def test_a_worker_may_not_commit_at_git_either() -> None:
    fleet = fleet_of("worker", {"lead": "orchestrator"})
    paths = [resource("x.py")]
    with pytest.raises(Forbidden, match="may not commit"):
        fleet.internal("a", commit_guard.CHECK, paths=paths, tree=TREE)
    fleet.internal("lead", commit_guard.CHECK, paths=paths, tree=TREE)
    fleet.clean()


def test_an_orchestrator_may_do_everything() -> None:
    fleet = fleet_of("worker", {"lead": "orchestrator"})
    assert may_write(fleet, "lead", "src/x.py")
    assert may(fleet, "lead", "commit")
    assert may(fleet, "lead", "deploy")
    fleet.clean()


def test_the_config_says_what_a_role_of_its_own_may_do() -> None:
    fleet = fleet_of("writer", writer={"write": ["docs/"], "deploy": False}, worker={"commit": True})
    assert may_write(fleet, "a", "docs/x.md")
    assert not may_write(fleet, "a", "src/x.py")
    assert may(fleet, "a", "commit")
    assert not may(fleet, "a", "deploy")
    fleet.clean()


def test_the_config_changes_one_thing_of_a_worker_and_leaves_the_rest() -> None:
    fleet = fleet_of("worker", worker={"commit": True})
    assert may(fleet, "a", "commit")
    assert not may(fleet, "a", "deploy")
    assert not may_write(fleet, "a", "src/x.py")
    fleet.clean()


def test_a_role_may_be_kept_from_single_tools() -> None:
    fleet = fleet_of("writer", writer={"tools": ["Write"]})
    with pytest.raises(Forbidden, match="the role writer may not use Write") as refusal:
        fleet.edit("a", "x.py", tool="Write")
    assert (refusal.value.role, refusal.value.tool) == ("writer", "Write")
    fleet.edit("a", "x.py", tool="Edit")
    fleet.clean()


# --- dibs' own record


@pytest.mark.parametrize("default", ["", "worker", "orchestrator"])
def test_nobody_writes_into_dibs_own_record_but_into_its_own_scratch_folder(default: str) -> None:
    fleet = fleet_of(default, worker={"write": ["**"]})
    inside = (".dibs/local", ".dibs/local/dibs.db", ".dibs/local/scratch", ".dibs/local/scratch/other/x")
    for name in (*inside, ".dibs/local/scratch/abc/x", ".dibs/local/scratch/ab.md"):
        assert not may_write(fleet, "ab", name)
    assert may_write(fleet, "ab", ".dibs/local/scratch/ab/x")
    assert may_write(fleet, "ab", ".dibs/locals/x")
    fleet.clean()


def test_the_refusal_says_where_to_write_instead() -> None:
    fleet = fleet_of()
    with pytest.raises(Forbidden, match=r"write to your scratch folder, \.dibs/local/scratch/p/child/, instead"):
        fleet.edit("p/child", ".dibs/local/dibs.db")
    fleet.clean()


def test_in_a_linked_working_tree_there_is_no_record_of_dibs_and_no_scratch_folder() -> None:
    fleet = fleet_of()
    assert may_write(fleet, "a", ".dibs/local/x", local=False)
    fleet = fleet_of("worker")
    assert not may_write(fleet, "a", ".dibs/local/scratch/a/x", local=False)
    fleet.clean()


def test_a_subagents_scratch_folder_lies_in_its_parents() -> None:
    fleet = fleet_of("worker")
    assert scratch_of("p/child") == ".dibs/local/scratch/p/child"
    for agent in ("p", "p/child"):
        assert may_write(fleet, agent, ".dibs/local/scratch/p/child/x")
    assert not may_write(fleet, "q/child", ".dibs/local/scratch/p/child/x")
    fleet.clean()


def test_every_id_has_a_folder_of_its_own_and_none_leaves_its_place() -> None:
    ids = ["a", "A", "a.b", "a%2e.b", "..", ".", "a:b", "a\\b", "ä", "a@b", "a_b", "a-b", "x" * 199, "x" * 200]
    names = [safe(one) for one in ids]
    assert len(set(names)) == len(ids)
    for name in names:
        assert "/" not in name
        assert name not in {".", "..", ""}
        assert len(name.encode()) <= 255
    assert scratch_of("../x") == ".dibs/local/scratch/%2e.%2e./x"


# --- who has which role


@pytest.mark.parametrize(
    ("pattern", "agents", "others"),
    [
        ("lead", ["lead", "lead/child", "lead/child/deep"], ["leader", "lea", "other/lead"]),
        ("lead/child", ["lead/child"], ["lead", "child", "lead/children"]),
        ("subagents", ["p/child", "p/child/deep"], ["p", "subagents"]),
        ("w*", ["w", "w1", "work/child"], ["aw1", "W1"]),
        ("*-bot", ["a-bot", "p/x-bot"], ["bot", "a-bot2"]),
        ("ab*ba", ["abba", "ab-ba"], ["aba", "ab"]),
        ("*", ["a", "p/child"], []),
        ("ci:nightly", ["ci:nightly", "ci:nightly/child"], ["nightly", "ci"]),
    ],
)
def test_an_assignment_speaks_of(pattern: str, agents: list[str], others: list[str]) -> None:
    fleet = fleet_of("", {pattern: "worker"})
    assert [agent for agent in agents if may_write(fleet, agent, "x.py")] == []
    assert [agent for agent in others if not may_write(fleet, agent, "x.py")] == []
    fleet.clean()


def test_what_an_agent_calls_its_subagent_raises_no_rank() -> None:
    fleet = fleet_of("worker", {"*-lead": "orchestrator", "*-free": "", "p/*": "orchestrator"})
    allowed = [
        one for one in ("a-lead", "a-lead/b-lead", "me/x-lead", "me/x-free", "p/x") if may_write(fleet, one, "x.py")
    ]
    assert allowed == ["a-lead", "a-lead/b-lead", "p/x"]
    fleet.clean()


def test_an_assignment_by_type_goes_by_what_the_clients_hook_told_and_not_by_what_an_agent_says_of_itself() -> None:
    fleet = fleet_of("worker", {"type:planner": "orchestrator"})
    fleet.call("a", "boot", client_type="planner")
    fleet.call("b", "boot", client_type="planners", type="planner")
    assert may_write(fleet, "a", "x.py")
    assert may(fleet, "a", "commit")
    for agent in ("b", "never-seen", "a/child"):
        assert not may_write(fleet, agent, "x.py")
    fleet.clean()


def test_an_assignment_by_client_goes_by_the_client_of_the_call() -> None:
    fleet = fleet_of("worker", {"client:claude": "orchestrator"})
    assert may_write(fleet, "a", "x.py", client="claude")
    assert may(fleet, "a", "deploy", client="claude")
    for client in ("codex", ""):
        assert not may_write(fleet, "a", "x.py", client=client)
        assert not may(fleet, "a", "commit", client=client)
    fleet.clean()


def test_the_first_assignment_that_speaks_of_an_agent_wins() -> None:
    fleet = fleet_of("", {"lead/scribe": "orchestrator", "subagents": "worker", "lead": "orchestrator", "*": "worker"})
    written = [agent for agent in ("lead", "lead/scribe", "lead/other", "other") if may_write(fleet, agent, "x.py")]
    assert written == ["lead", "lead/scribe"]
    fleet.clean()


def test_whoever_is_not_assigned_has_the_default() -> None:
    fleet = fleet_of("worker", {"lead": "orchestrator"})
    assert may_write(fleet, "lead", "x.py")
    assert not may_write(fleet, "other", "x.py")
    fleet.clean()


def test_an_empty_assignment_takes_the_default_role_away() -> None:
    fleet = fleet_of("worker", {"me@*": ""})
    assert may_write(fleet, "me@here", "x.py")
    assert not may_write(fleet, "other", "x.py")
    fleet.clean()
