"""The first landing of a workspace: a person is asked which command has to pass, and nobody else is."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from dibs.land import first_check
from tests.interfaces.test_dead_agent import typed
from tests.scratch import repo as _repo

if TYPE_CHECKING:
    from tests.interfaces.repository import Repository

repo = _repo


@pytest.fixture
def branch(repo: Repository) -> str:
    repo.git("config", "user.email", "x@example.com")
    tree = repo.worktree("topic")
    (tree / "new.py").write_text("new\n")
    repo.git("add", "new.py", cwd=tree)
    repo.git("commit", "-q", "-m", "new", cwd=tree)
    return "topic"


def test_a_person_is_asked_once_and_the_branch_lands(repo: Repository, branch: str) -> None:
    said = typed(repo, "land", branch, answer="test -e new.py")
    assert "which command has to pass" in said
    assert 'wrote `check = "test -e new.py"` below [land]' in said
    assert repo.git("show", "main:new.py") == "new\n"
    assert tomllib.loads((repo.folder / ".dibs/config.toml").read_text())["land"] == {"check": "test -e new.py"}
    assert "which command" not in typed(repo, "land", branch, answer="")


def test_an_empty_answer_and_a_pipe_land_nothing_and_are_told_the_line(repo: Repository, branch: str) -> None:
    line = 'write `check = "make test"`'
    before = (repo.folder / ".dibs/config.toml").read_text()
    assert line in typed(repo, "land", branch, answer="")
    assert line in typed(repo, "land", branch)
    assert line in repo.terminal("land", branch)["error"]["message"]
    assert (repo.folder / ".dibs/config.toml").read_text() == before


@pytest.mark.parametrize("text", ["", "a = 1", "[land]\nbatch = 2\n[x]\ny = 1\n", "[land] # said\nbatch = 2\n"])
def test_the_check_is_written_into_the_table_that_is_there(text: str) -> None:
    command = 'make "test" \\ && echo é'
    written = tomllib.loads(first_check.with_check(text, command))
    assert written["land"].pop("check") == command
    before = tomllib.loads(text)
    assert {**before, "land": before.get("land", {})} == written
