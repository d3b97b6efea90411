"""A submodule inside a working tree: its files are guarded like others, and the link to it is nobody's content."""

from __future__ import annotations

import pytest

from tests.interfaces.repository import Repository


@pytest.fixture
def nested(repo: Repository) -> Repository:
    """A repository with a submodule `sm`, on a branch of its own."""
    inner = repo.scratch / "inner"
    inner.mkdir()
    repo.git("init", "-q", "-b", "main", ".", cwd=inner)
    for name in ("x.py", "y.py"):
        (inner / name).write_text(f"{name} at first\n")
    who = ("-c", "user.name=s", "-c", "user.email=s@example.com")
    repo.git("add", "-A", cwd=inner)
    repo.git(*who, "commit", "-q", "-m", "inner", cwd=inner)
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sm")
    repo.git("commit", "-q", "-am", "a submodule")
    for name, value in (("user.name", "s"), ("user.email", "s@example.com")):
        repo.git("config", name, value, cwd=repo.folder / "sm")
    return repo


def test_a_read_in_a_submodule_counts(nested: Repository) -> None:
    ada, bob = nested.agent("ada"), nested.agent("bob")
    ada.boot()
    bob.boot()
    bob.read("sm/x.py")
    bob.edit("sm/x.py", "bob's\n")
    bob.dibs("release", "sm/x.py")
    assert ada.may_write("sm/x.py").refusal, "unread"
    ada.read("sm/x.py")
    assert ada.may_write("sm/x.py").allowed


def test_the_link_is_blamed_on_nobody_and_its_commit_passes(nested: Repository) -> None:
    ada, bob = nested.agent("ada"), nested.agent("bob")
    ada.boot()
    bob.boot()
    ada.read("sm/x.py")
    ada.edit("sm/x.py", "ada's\n")
    done, after = ada.bash("cd sm && git commit -q -am inner")
    assert (done.code, after.told) == (0, ""), (done, after)
    bob.edit("b.py", "bob's\n")
    done, after = bob.bash("git commit -q -m b -- b.py")
    assert (done.code, after.told) == (0, ""), (done, after)
    assert ada.hook("UserPromptSubmit", prompt="go").told == ""
    done, after = ada.bash("git add sm && git commit -q -m link")
    assert (done.code, after.told) == (0, ""), (done, after)
    assert nested.events("edit.violated", "edit.unattributed", "commit.refused") == []
    assert nested.terminal("alerts")["alerts"] == []


@pytest.mark.parametrize(
    "command",
    ["cd sm && git commit -q -am inner", "git -C sm add x.py new.py && git -C sm commit -q -m inner", "./commit.sh",
     "git submodule --quiet foreach 'git commit -q -am one && git commit -q --allow-empty -m two'"],
)  # fmt: skip
@pytest.mark.parametrize("company", [False, True])
def test_a_commit_inside_a_submodule_ends_the_claims_on_what_it_has(
    company: bool, command: str, nested: Repository
) -> None:
    nested.write("commit.sh", "#!/bin/sh\ncd sm && git add -A . && git commit -q -m inner\n").chmod(0o755)
    ada, bob = nested.agent("ada"), nested.agent("bob")
    ada.boot()
    if company:
        bob.boot()
        bob.edit("b.py", "bob's\n")
    for name in ("sm/x.py", "sm/y.py", "a.py"):
        ada.read(name)
        ada.edit(name, "ada's\n")
    ada.edit("sm/new.py", "ada's, and new\n")
    nested.git("add", "-N", "new.py", cwd=nested.folder / "sm")
    if "-C" in command:
        ada.edit("sm/y.py", "ada's, and not committed\n")
    ada.dibs("claim", "sm/by-hand")
    done, after = ada.bash(command)
    assert (done.code, after.told) == (0, ""), (done, after)
    left = ["a.py", "sm/by-hand", "sm/y.py"] if "-C" in command else ["a.py", "sm/by-hand"]
    assert nested.claims()["ada"] == left
    assert nested.events("commit.unverified", "edit.violated", "edit.unattributed") == []
    if company:
        bob.read("sm/x.py")
        assert bob.may_write("sm/x.py").silent
        assert nested.claims()["bob"] == ["b.py", "sm/x.py"]


def test_unfinished_work_in_a_submodule_stays_its_agents_after_a_look_at_the_whole_tree(nested: Repository) -> None:
    ada, bob = nested.agent("ada"), nested.agent("bob")
    ada.boot()
    bob.boot()
    ada.read("sm/x.py")
    ada.edit("sm/x.py", "ada's, half done\n")
    ada.dibs("release", "--all")
    bob.edit("b.py", "bob's\n")
    bob.bash("git add b.py")
    assert "sm" in bob.may_run("git submodule update --force").refusal
    assert "work of ada" in bob.may_run("cd sm && git checkout .").refusal
    assert "sm/x.py" in bob.may_run("git reset --hard --recurse-submodules").refusal
    assert bob.may_run("git reset -q --hard").allowed, "what is in a submodule stays"


def test_an_update_does_not_take_another_agents_checkout_off_its_branch(nested: Repository) -> None:
    ada, bob = nested.agent("ada"), nested.agent("bob")
    ada.boot()
    bob.boot()
    assert bob.may_run("git submodule update").allowed, "nothing would change"
    ada.bash("cd sm && git switch -q -c topic")
    ada.read("sm/x.py")
    ada.edit("sm/x.py", "ada's\n")
    ada.bash("cd sm && git commit -q -am one")
    ada.edit("sm/x.py", "ada's, more\n")
    refusal = bob.may_run("git submodule update").refusal
    assert "sm" in refusal
    assert "ada" in refusal
