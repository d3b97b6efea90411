"""Free, guarded, strict: which paths the edit guard lets pass, claims itself, or wants an explicit claim for."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Forbidden, Held
from tests.operations.fleet import TREE, Fleet, guards, item

MINUTE = 60_000
SQL = "db/migrations/1.sql"  # strict without a word in the config


# --- free


def test_what_git_ignores_and_what_the_config_frees_needs_no_claim() -> None:
    fleet = Fleet(guards=guards(free=["notes/", "**/*.log"]))
    fleet.claim("a", "**")
    for free in (item("build/x.o", ignored=True), "notes/today.md", "deep/down/run.log"):
        assert fleet.edit("b", free)["claims"] == []
    with pytest.raises(Held):
        fleet.edit("b", "notes.md")
    assert fleet.holders() == [("a", ".")]
    fleet.clean()


def test_a_free_file_beside_a_guarded_one_is_not_claimed_with_it() -> None:
    fleet = Fleet(guards=guards(free=["notes/"]))
    fleet.edit("a", "notes/today.md", "x.py")
    assert fleet.holders() == [("a", "x.py")]
    fleet.clean()


# --- strict


def test_a_strict_path_needs_an_explicit_claim_first(fleet: Fleet) -> None:
    with pytest.raises(Forbidden, match=f"dibs claim {SQL} --reason") as refusal:
        fleet.edit("a", SQL)
    assert (refusal.value.path, refusal.value.strict) == (SQL, True)
    refused = [event["data"]["code"] for event in fleet.events("edit.refused")]
    assert (fleet.holders(), refused) == ([], ["forbidden"])
    token = fleet.claim("a", SQL, reason="new column")["token"]
    assert fleet.edit("a", SQL)["claims"][0]["token"] == token


@pytest.mark.parametrize(
    ("by", "explicit"),
    [
        ({"by": "edit"}, False),
        ({"mode": "read"}, False),
        ({"mode": "watch"}, False),
        ({"task": "T-1"}, True),
        ({"tree": TREE}, True),
    ],
)
def test_which_claims_of_ones_own_are_explicit(fleet: Fleet, by: dict[str, Any], explicit: bool) -> None:
    fleet.claim("a", SQL, **by)
    if explicit:
        fleet.edit("a", SQL)
    else:
        with pytest.raises(Forbidden):
            fleet.edit("a", SQL)


def test_a_parents_explicit_claim_is_enough_for_its_subagent_as_long_as_it_lasts(fleet: Fleet) -> None:
    fleet.claim("p", "db/", reason="new column")
    fleet.edit("p/child", SQL)
    with pytest.raises(Held):
        fleet.edit("q/child", SQL)
    fleet.release("p", "db/")
    assert fleet.holders() == [("p/child", SQL)]
    with pytest.raises(Forbidden):
        fleet.edit("p/child", SQL)  # the guard's own claim is not explicit
    with pytest.raises(Held):
        fleet.edit("q/child", SQL)  # but it holds the file


def test_a_claim_on_a_part_or_past_its_deadline_is_not_explicit(fleet: Fleet) -> None:
    fleet.claim("a", "db/migrations/2.sql")
    fleet.claim("a", SQL, ttl=MINUTE)
    fleet.now += MINUTE
    with pytest.raises(Forbidden):
        fleet.edit("a", SQL)


def test_a_strict_path_that_another_holds_is_refused_with_the_holder(fleet: Fleet) -> None:
    fleet.claim("a", "db/", reason="new column")
    with pytest.raises(Held) as refusal:
        fleet.edit("b", SQL)
    assert [(blocker["agent"], blocker["reason"]) for blocker in refusal.value.blockers] == [("a", "new column")]


def test_one_strict_path_among_several_is_named_and_none_is_claimed(fleet: Fleet) -> None:
    fleet.edit("b", "y.py")
    with pytest.raises(Forbidden) as refusal:
        fleet.edit("a", "x.py", "y.py", SQL)
    assert refusal.value.path == SQL
    assert fleet.holders() == [("b", "y.py")]


def test_strict_wins_over_free_and_over_ignored() -> None:
    fleet = Fleet(guards=guards(free=["**"], strict=["deploy.sh"], files={"state": "docs/STATE.md"}))
    for path in ("deploy.sh", item("deploy.sh", ignored=True), "docs/STATE.md"):
        with pytest.raises(Forbidden, match="is strict here"):
            fleet.edit("a", path)
    assert fleet.edit("a", "docs/OTHER.md")["claims"] == []
    fleet.clean()


@pytest.mark.parametrize(
    "path",
    [".dibs/config.toml", ".dibs/rules.md", ".dibs/hook", "migrations/1.sql", SQL, "app/migrations/0005_add.py",
     "prisma/migrations/20260101_init/migration.sql", "db/migrations/V5__add.sql", "migrations/init.sql",
     "migrations/versions/3f2a90c41b7d_add.py", "web/migrations/1700000000-add.ts"],
)  # fmt: skip
def test_the_settings_the_rules_the_hook_and_migrations_are_strict_without_a_config(fleet: Fleet, path: str) -> None:
    with pytest.raises(Forbidden, match="is strict here"):
        fleet.edit("a", path)
    fleet.edit("a", "dibs/config.toml", "my-migrations/x.sql", "src/hook")


def test_code_in_a_package_called_migrations_is_like_any_other(fleet: Fleet) -> None:
    for path in ("django/db/migrations/recorder.py", "app/migrations/__init__.py", "migrations/env.py",
    "migrations/README.md",
                 "src/migrations/runner/up.ts", "migrations/deadbeef.py"):  # fmt: skip
        fleet.edit("a", path)
    fleet.edit("a", item("django/db/migrations/", inside=["django/db/migrations/recorder.py"]))
    with pytest.raises(Forbidden, match="is strict here"):
        fleet.edit(
            "a", item("app/migrations/", inside=["app/migrations/__init__.py", "app/migrations/0001_initial.py"])
        )
    with pytest.raises(Forbidden, match="is strict here"):
        fleet.edit("a", "db/migrations/")
