"""Git's own directory: no command of an agent takes it away from others, or with commits that are nowhere else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.guards.test_ordinary import a_repository, refused
from tests.interfaces.repository import Repository

TAKES_IT_AWAY = (
    "rm -rf .git", "rm -rf .git && git init", "rm -rf ./.git/", "rm -rf .git/objects", "rm -rf .git/dibs",
    "rm -rf .git/worktrees", "rm -rf .git/refs .git/logs", "rm -f .git/index", "rm .git/HEAD", "mv .git ../old",
    "mv .git .git.bak",
    "rm -rf .git/*", "rm -rf .[!.]*", "rm -rf .git/dibs/*", "find .git -type f -delete",
    "find .git/objects -exec rm -f {} +",
    "cd lib && rm -rf ../.git", 'rm -rf "$(git rev-parse --git-dir)"', "G=.git; rm -rf $G",
    'rm -rf "$PWD"', "python3 -c \"import shutil; shutil.rmtree('.git')\"", "echo x > .git/HEAD",
    "git init --separate-git-dir ../elsewhere", "git init --separate-git-dir=/tmp/g .", "git config core.bare true",
    "git config --local core.bare yes", "git config set core.bare true", "git config core.worktree /tmp",
    "git -C lib config core.bare 1",
    "bash -c 'rm -rf .git'", "ls | xargs echo; rm -rf .git/packed-refs .git/objects",
)  # fmt: skip
LEAVES_IT = (
    "rm -f .git/index.lock", "rm -rf .git/entire-sessions/*.json", "cat .git/HEAD .git/config", "ls -la .git",
    "git init",
    "rm -f .git/refs/heads/x.lock", "echo build >> .git/info/exclude", "git config user.name x",
    "git config --get core.bare",
    "git config core.bare false", "git config core.autocrlf input", "rm -rf /tmp/x/.git && git init /tmp/x",
    "git init ../other",
    "rm -rf build/.git", "cp .git/hooks/pre-commit.sample /tmp/x", "git config --unset core.worktree",
    "du -sh .git/objects",
    "rm -rf node_modules && git status", "rm .git/MERGE_MSG", "mkdir -p new && git init new",
)  # fmt: skip


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """A repository where nobody else is at work, and of which a remote has everything."""
    made = a_repository(tmp_path_factory.mktemp("pushed"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def ahead(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """The same with a commit that no remote has."""
    made = a_repository(tmp_path_factory.mktemp("ahead"))
    made.git("commit", "-q", "--allow-empty", "-m", "here alone")
    made.git("worktree", "add", "-q", str(made.scratch / "other"), "feature")
    yield made
    made.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """All is pushed, and another agent is at work."""
    made = a_repository(tmp_path_factory.mktemp("shared"))
    made.git("worktree", "add", "-q", str(made.scratch / "other"), "feature")
    made.agent("ada").edit("lib/core.py", "ada's\n")
    yield made
    made.close()


@pytest.mark.parametrize("command", TAKES_IT_AWAY)
def test_the_repository_is_not_taken_away_from_others_or_with_what_is_nowhere_else(
    shared: Repository, ahead: Repository, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    assert refused(shared, monkeypatch, [command])
    assert refused(ahead, monkeypatch, [command])


def test_a_refusal_says_whose_work_it_is_and_what_no_remote_has(
    shared: Repository, ahead: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "the work of ada" in refused(shared, monkeypatch, ["rm -rf .git"])[0]
    assert "1 commit that no remote has" in refused(ahead, monkeypatch, ["rm -rf .git"])[0]


@pytest.mark.parametrize("command", LEAVES_IT)
def test_what_leaves_the_repository_as_it_is_passes(
    shared: Repository, ahead: Repository, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    assert refused(shared, monkeypatch, [command]) == []
    assert refused(ahead, monkeypatch, [command]) == []


def test_an_agent_alone_may_do_it_if_a_remote_has_everything(
    pushed: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refused(pushed, monkeypatch, ["rm -rf .git", "git config core.bare true"]) == []


def test_an_empty_index_and_a_repository_inside_are_refused_where_they_concern_others(
    shared: Repository, ahead: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = ["git read-tree --empty", "git init lib", "cd lib && git init"]
    assert len(refused(shared, monkeypatch, commands)) == len(commands)
    assert refused(ahead, monkeypatch, commands) == []
