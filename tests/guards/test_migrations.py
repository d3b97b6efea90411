"""Two agents that each add a migration: the second learns that its number is taken, in one tree and across trees."""

from __future__ import annotations

import pytest

from dibs.operations.guards.migrations import number_of
from tests.interfaces.repository import Repository


@pytest.mark.parametrize(
    ("folder", "mine", "theirs"),
    [
        ("app/migrations", "0005_users.py", "0005_orders.py"),
        ("db/migrate", "20261118_a.rb", "20261118_b.rb"),
        ("migrations", "V5__a.sql", "V05__b.sql"),
        ("migrations", "005_a.up.sql", "5_b.up.sql"),
    ],
)
@pytest.mark.parametrize("apart", [False, True])
def test_the_second_migration_of_a_number_is_refused(
    repo: Repository, folder: str, mine: str, theirs: str, apart: bool
) -> None:
    ada = repo.agent("ada")
    bob = repo.agent("bob", cwd=repo.worktree("tree")) if apart else repo.agent("bob")
    for agent, name in ((ada, mine), (bob, theirs)):
        agent.boot()
        agent.dibs("claim", f"{folder}/{name}")
    ada.edit(f"{folder}/{mine}", "ada's\n")
    refusal = bob.may_write(f"{folder}/{theirs}").refusal
    assert f"ada has {folder}/{mine} under way, a migration of the same number" in refusal
    assert "next free number" in refusal


def test_a_claim_in_the_same_command_gives_no_second_migration_of_a_number(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    for agent in (ada, bob):
        agent.boot()
    ada.dibs("claim", "migrations/5_a.sql")
    refusal = bob.may_run("dibs claim migrations/5_b.sql && echo 1 > migrations/5_b.sql").refusal
    assert "ada has migrations/5_a.sql under way" in refusal
    assert bob.may_run("dibs claim migrations/6_b.sql && echo 1 > migrations/6_b.sql").silent


def test_both_directions_of_one_and_other_numbers_pass(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    for agent in (ada, bob):
        agent.boot()
    for agent, name in ((ada, "5_a.up.sql"), (ada, "5_a.down.sql"), (bob, "6_b.up.sql"), (bob, "helpers.py")):
        agent.dibs("claim", f"migrations/{name}")
        agent.edit(f"migrations/{name}", "x\n")
    bob.edit("data/5_b.csv", "no migration\n")


def test_a_number_is_what_begins_the_name() -> None:
    found = [number_of(name) for name in ("0005_a.py", "V12__x.sql", "7.sql", "a_5.py", "5a.py", "x", "", "000_z")]
    assert found == ["5", "12", "7", "", "", "", "", "0"]
