"""A forced push over another agent's commit, and a stash that is made and taken again in one line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.guards.test_ordinary import a_repository, refused
from tests.interfaces.repository import Agent, Repository


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """A remote whose branch `feature` has a commit of ada's, who is at work; HEAD is on main, without it."""
    made = a_repository(tmp_path_factory.mktemp("pushed"))
    ada = made.agent("ada")
    ada.boot()
    made.git("switch", "-q", "feature")
    made.git("commit", "-q", "--allow-empty", "-m", "hers\n\nDibs-Agent: ada")
    made.git("push", "-q", "origin", "feature")
    made.git("switch", "-q", "main")
    made.git("branch", "-q", "mine", "main")
    made.git("push", "-q", "origin", "mine")
    made.git("commit", "-q", "--allow-empty", "-m", "next")
    yield made
    made.close()


@pytest.mark.parametrize(
    "command",
    [
        "git push --force origin main:feature", "git push -f origin HEAD:feature", "git push origin +main:feature",
        "git push --force-with-lease origin main:refs/heads/feature",
        "git switch feature; git push --force origin main:feature",
        "git branch -f feature main && git push -f origin feature",
        "git push --mirror origin && true; git push -f origin mine:feature",
        "git -C lib push -f origin HEAD:feature", "bash -c 'git push origin +HEAD:feature'",
    ],
)  # fmt: skip
def test_a_forced_push_over_a_commit_of_an_agent_at_work_is_refused(
    pushed: Repository, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    (said,) = refused(pushed, monkeypatch, [command])
    assert "ada" in said


@pytest.mark.parametrize(
    "command",
    [
        "git push origin mine", "git push -f origin mine", "git push --force origin main:mine",
        "git push -f origin main:new",
        "git push --force-with-lease origin mine", "git push origin main:mine", "git push origin feature",
        "git push -f origin feature", "git push origin :mine", "git push origin -d mine",
    ],
)  # fmt: skip
def test_a_push_that_drops_nothing_of_others_passes(
    pushed: Repository, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    assert refused(pushed, monkeypatch, [command]) == []


@pytest.fixture
def bob(tmp_path: Path) -> Iterator[Agent]:
    """He has changed two files. Ada has a stash, which is the newest one."""
    made = a_repository(tmp_path)
    ada, bob = made.agent("ada"), made.agent("bob")
    ada.edit("lib/util.py", "ada's\n")
    assert ada.bash("git stash push -q -- lib/util.py")[0].allowed
    bob.edit("lib/other.py", "bob's\n")
    bob.edit("README.md", "bob's\n")
    yield bob
    made.close()


@pytest.mark.parametrize(
    "command",
    [
        "git stash push -- lib/other.py && git stash pop", "git stash && make test; git stash pop",
        "git stash push -q; git stash pop -q",
        "git stash -- README.md lib/other.py && pytest && git stash apply && git stash drop",
        "git stash push README.md && git stash push lib/other.py && git stash pop && git stash pop stash@{0}",
        "git stash save x; git checkout -q -- lib; git stash pop 0",
    ],
)  # fmt: skip
def test_a_stash_that_the_line_itself_makes_may_be_taken_again(bob: Agent, command: str) -> None:
    assert bob.may_run(command).allowed


@pytest.mark.parametrize(
    "command",
    [
        "git stash pop", "git stash push -- lib/core.py && git stash pop",
        "git stash && git stash pop && git stash pop -q",
        "git stash push -- README.md; git stash drop stash@{1}", "git stash clear",
    ],
)  # fmt: skip
def test_a_stash_of_another_agent_is_not_taken(bob: Agent, command: str) -> None:
    assert "which ada made" in bob.may_run(command).refusal


def test_a_branch_at_the_present_commit_passes_and_those_at_work_are_told(tmp_path: Path) -> None:
    repo = a_repository(tmp_path)
    try:
        ada, bob = repo.agent("ada"), repo.agent("bob")
        ada.edit("lib/util.py", "ada's\n")
        before, _ = bob.bash("git checkout -q -b topic")
        assert before.allowed
        told = ada.hook("UserPromptSubmit", prompt="go on").told
        assert "topic" in told
        assert "bob" in told
        assert bob.bash("git switch -q main")[0].allowed  # the same commit still: nothing changes on disk
        assert repo.git("branch", "--show-current").strip() == "main"
    finally:
        repo.close()


@pytest.mark.parametrize(
    "command",
    ["git checkout -b new", "git switch -c new", "git checkout -b new HEAD", "git switch -c new main",
    "git checkout -b new main",
     "git checkout -b a/b && touch x.py", "git switch twin"],
)  # fmt: skip
def test_a_branch_where_nothing_changes_is_no_matter_for_others(
    branched: Repository, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    assert refused(branched, monkeypatch, [command]) == []


@pytest.mark.parametrize(
    "command",
    ["git checkout -b new feature", "git switch -c new origin/feature", "git checkout feature",
    "git switch --orphan new",
     "git checkout --orphan new", "git checkout -B feature", "git switch --detach", "git checkout HEAD~0 --detach",
     "git checkout $(git rev-parse HEAD)", "git checkout -b new HEAD~1", "git switch --detach twin",
     "git checkout -f feature"],
)  # fmt: skip
def test_a_branch_elsewhere_is_refused_while_others_are_at_work(
    branched: Repository, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    assert refused(branched, monkeypatch, [command])


@pytest.fixture(scope="module")
def branched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """Ada is at work on main; `twin` is at the same commit, `feature` is not."""
    made = a_repository(tmp_path_factory.mktemp("branched"))
    made.git("branch", "-q", "twin", "main")
    made.agent("ada").edit("lib/util.py", "ada's\n")
    yield made
    made.close()
