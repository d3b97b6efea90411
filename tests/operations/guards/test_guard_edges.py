"""Guards at the edges: each of these was once a way around one."""

from __future__ import annotations

from pathlib import Path

import pytest

from dibs.errors import Conflict, Forbidden, Held, Invalid
from dibs.operations.agents import marks, roles
from dibs.operations.guards.audits import ACTIVITY, AUDIT, IDLE, MINE
from dibs.operations.guards.shell_guard import COMMAND
from dibs.workspace import config
from tests.operations.fleet import OTHER_TREE, TREE, Fleet, guards, item

MINUTE = 60_000
INDEX = ["name", "git:index", ""]
SQL = "db/migrations/1.sql"


def test_git_index_is_held_by_one_command_at_a_time() -> None:
    fleet = Fleet()
    fleet.internal("a", COMMAND, tree=TREE, index=[INDEX])
    with pytest.raises(Held) as refusal:
        fleet.internal("b", COMMAND, tree=TREE, index=[INDEX])
    assert refusal.value.blockers[0]["agent"] == "a"
    fleet.clean()


def test_a_directory_that_holds_a_free_one_is_not_free() -> None:
    fleet = Fleet(guards=guards(free=["docs/generated/"]))
    fleet.claim("a", "docs/x.md")
    with pytest.raises(Held):
        fleet.edit("b", "docs/")


def test_a_worker_may_not_write_a_directory_above_the_one_it_may_write() -> None:
    worker = {"write": ["out/reports/"]}
    fleet = Fleet(guards=guards(roles={"default": "worker", "assign": [], "named": {"worker": worker}}))
    for name in ("out/", ""):
        with pytest.raises(Forbidden):
            fleet.edit("a", name)


def test_a_directory_above_dibs_own_record_is_refused() -> None:
    fleet = Fleet()
    fleet.claim("a", ".dibs/")  # explicit, so that strict has nothing to say
    with pytest.raises(Forbidden, match="own record"):
        fleet.edit("a", ".dibs/")


def test_a_directory_with_something_strict_inside_is_strict() -> None:
    fleet = Fleet()
    with pytest.raises(Forbidden, match="strict"):
        fleet.edit("a", "db/migrations/")
    with pytest.raises(Forbidden, match="strict"):
        fleet.edit("a", item("db/", inside=[SQL]))  # `rm -r db` takes db/migrations with it


def test_the_safe_command_names_no_second_file_of_a_directory_that_is_held() -> None:
    fleet = Fleet()
    fleet.claim("a", "src/")
    paths = ["src/a.py", "src/b.py", "mine.py"]
    sweep = {"what": "git add -A", "paths": paths, "does": "take in", "safe": "git add"}
    with pytest.raises(Held) as refusal:
        fleet.internal("b", COMMAND, tree=TREE, sweeps=[sweep])
    assert refusal.value.files == ["src/a.py", "src/b.py"]
    assert refusal.value.instead == "Run `git add -- mine.py` instead."


def test_after_stale_content_the_other_working_tree_is_told_at_the_next_try() -> None:
    fleet = Fleet()
    fleet.edit("a", "x.py", tree=OTHER_TREE)
    with pytest.raises(Conflict):
        fleet.edit("b", item("x.py", changed=""))
    fleet.edit("b", "x.py")
    assert [kind for kind, _ in fleet.told("a")] == ["across"]


def test_a_dead_holder_in_another_working_tree_does_not_block() -> None:
    fleet = Fleet(guards=guards(across_worktrees="block"))
    fleet.edit("a", "x.py", tree=OTHER_TREE, process=10)
    fleet.kill9(10)
    fleet.edit("b", "x.py")
    assert fleet.holders() == [("b", "x.py")]


def test_a_dead_holder_in_another_working_tree_is_no_merge_conflict_to_come() -> None:
    fleet = Fleet()
    fleet.edit("a", "x.py", tree=OTHER_TREE, process=10)
    fleet.kill9(10)
    assert "across" not in fleet.edit("b", "x.py")


def test_a_dead_holder_of_a_strict_path_is_not_named_as_its_holder() -> None:
    fleet = Fleet()
    fleet.claim("a", SQL, client=10)
    fleet.kill9(10)
    with pytest.raises(Forbidden, match="explicit claim first"):
        fleet.edit("b", SQL)


def test_a_refusal_because_of_another_working_tree_leaves_an_interest() -> None:
    fleet = Fleet(guards=guards(across_worktrees="block"))
    fleet.edit("a", "x.py", tree=OTHER_TREE)
    with pytest.raises(Held):
        fleet.edit("b", "x.py")
    fleet.release("a")
    assert [kind for kind, _ in fleet.told("b")] == ["free"]


def test_a_refusal_of_a_strict_path_that_is_held_leaves_an_interest() -> None:
    fleet = Fleet()
    fleet.claim("a", SQL)
    with pytest.raises(Held):
        fleet.edit("b", SQL)
    fleet.release("a")
    assert [kind for kind, _ in fleet.told("b")] == ["free"]


def test_a_short_max_ttl_does_not_stop_every_git_command() -> None:
    fleet = Fleet(ttl=MINUTE, max_ttl=5 * MINUTE)
    assert fleet.internal("a", COMMAND, tree=TREE, index=[INDEX])["claims"]


def test_a_command_does_not_shorten_or_rename_an_explicit_claim_on_the_index() -> None:
    fleet = Fleet()
    fleet.claim("a", "git:index", reason="a long rebase", ttl=60 * MINUTE)
    before = fleet.call("viewer", "status")["claims"]
    fleet.internal("a", COMMAND, tree=TREE, index=[INDEX])
    assert before[0] in fleet.call("viewer", "status")["claims"]
    assert len(fleet.call("viewer", "status")["claims"]) == 1


def test_the_index_claim_of_a_command_that_was_broken_off_ends_with_the_next_git_command_of_its_agent() -> None:
    fleet = Fleet()
    fleet.internal("a", COMMAND, tree=TREE, index=[INDEX])
    next_one = fleet.internal("a", COMMAND, tree=TREE, index=[INDEX])["claims"]
    assert fleet.holders() == [("a", "git:index")]
    fleet.internal("a", AUDIT, release=next_one)
    assert fleet.holders() == []


def test_a_name_that_another_holds_is_no_file_here() -> None:
    fleet = Fleet()
    fleet.claim("a", "task:T-1")
    fleet.internal("b", COMMAND, tree=TREE, unresolved=[{"words": "$F"}])
    assert not fleet.events("claim.refused")
    assert not fleet.events("call.refused")
    fleet.claim("a", "x.py")
    with pytest.raises(Held):  # as it would be for a file
        fleet.internal("b", COMMAND, tree=TREE, unresolved=[{"words": "$F"}])


def test_what_is_given_back_at_a_stop_takes_its_inode_with_it() -> None:
    fleet = Fleet()
    fleet.edit("a", item("x.py", blob="old", alias="8:77"), item("y.py", blob="old"))
    ((claim, _, _),) = fleet.internal("a", MINE)["claims"]
    fleet.internal("a", IDLE, now={f"{claim}\tx.py": "old", f"{claim}\ty.py": "new"})
    fleet.edit("b", item("x.py", alias="8:77"))
    assert fleet.holders() == [("a", "y.py"), ("b", "x.py")]


def test_a_message_behind_fifty_that_were_shown_is_shown_too() -> None:
    fleet = Fleet()
    fleet.claim("a", "x.py")
    for number in range(51):
        fleet.call("b", "ask", resource="x.py", text=str(number))
    shown = [message["text"] for _ in range(3) for message in fleet.internal("a", ACTIVITY)["messages"]]
    assert len(shown) == 51


def test_no_two_ids_have_one_folder() -> None:
    assert marks.safe("x" * 125 + "ab") != marks.safe("x" * 125 + "ba")


def test_a_subagent_does_not_write_into_its_siblings_scratch_folder() -> None:
    fleet = Fleet()
    with pytest.raises(Forbidden):
        fleet.edit("p/one", item(f"{roles.scratch_of('p/two')}/x", ignored=True))


def test_a_childs_explicit_claim_is_not_its_parents() -> None:
    fleet = Fleet()
    fleet.claim("p/child", SQL)
    with pytest.raises(Forbidden):
        fleet.edit("p", SQL)


def test_an_edit_of_what_one_holds_by_two_claims_writes_nothing() -> None:
    fleet = Fleet()
    fleet.edit("a", "x.py")
    fleet.edit("a", "y.py")
    before = fleet.store.head().commit
    fleet.edit("a", "x.py", "y.py")
    assert fleet.store.head().commit == before


@pytest.mark.parametrize(
    "text",
    [
        "[claims]\npatterns = 5",  # a TypeError
        "[guard]\nfree = ['a']",  # misspelt: guards nothing, silently
        "[roles.assign]\n'a*b*c' = 'worker'",  # two stars: matches nobody, silently
        "[guards]\nfree = ['../x']",  # matches nothing, silently
        "[deploy]\ncommands = { '' = 'prod' }",
    ],
)
def test_what_cannot_mean_anything_in_the_config_is_invalid(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(Invalid):
        config.parse(str(tmp_path / "config.toml"))
