"""What git ignores, without asking git where the answer is plainly no: held against git itself."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dibs.git import ignored
from dibs.git import queries as git

if TYPE_CHECKING:
    from collections.abc import Sequence

RULES = """\
# a comment
*.log
/build
cache/
docs/*.tmp
!keep.log
a?c
deep/**/x
[ab].txt
name\\ with
sub/inner.txt
"""
PATHS = [
    "x.log", "keep.log", "src/y.log", "build/out", "src/build/out", "cache/f", "src/cache/f", "cache", "docs/a.tmp",
    "docs/sub/a.tmp", "abc", "src/axc/y", "ac", "deep/x", "deep/1/2/x", "deep/1/y", "a.txt", "c.txt", "name with",
    "sub/inner.txt", "src/sub/inner.txt", "src/main.py", "README.md", "src/own/secret", "src/own/plain",
]  # fmt: skip


def is_ignored(top: str, common: str, path: str) -> bool:
    return ignored.ignored_among(top, common, [path]) == {path}


@pytest.fixture
def top(tmp_path: Path) -> str:
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    (tmp_path / ".gitignore").write_text(RULES)
    (tmp_path / "src" / "own").mkdir(parents=True)
    (tmp_path / "src" / "own" / ".gitignore").write_text("secret\n")
    return str(tmp_path)


@pytest.mark.parametrize("path", PATHS)
def test_the_answer_is_gits(top: str, path: str) -> None:
    assert is_ignored(top, f"{top}/.git", path) is bool(git.is_ignored(top, [path]))


def test_gits_own_folder_and_dibs_own_record_count_as_ignored(top: str) -> None:
    for path in (".git/config", ".dibs/local/dibs.db"):
        assert is_ignored(top, f"{top}/.git", path)
        assert is_ignored(top, "", path), "without git as well"
    assert not is_ignored(top, "", "x.log"), "nothing else is, where there is no git"


def test_git_is_asked_only_where_a_pattern_could_match(top: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "is_ignored", lambda *_: pytest.fail("git was asked"))
    (Path(top) / ".gitignore").write_text("*.log\nbuild/\n/dist\n")
    for path in ("src/main.py", "buildings.py", "src/dist/x", "log"):
        assert not is_ignored(top, f"{top}/.git", path)


def test_git_is_asked_once_for_all_that_it_may_ignore(top: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    real = git.is_ignored

    def spy(cwd: str, paths: Sequence[str]) -> set[str]:
        asked.append(list(paths))
        return real(cwd, paths)

    monkeypatch.setattr(git, "is_ignored", spy)
    paths = [path for path in PATHS if path != "cache"]
    expected = {path for path in paths if real(top, [path])}
    assert ignored.ignored_among(top, f"{top}/.git", [*paths, ".git/x"]) == expected | {".git/x"}
    assert len(asked) == 1


def test_a_folder_that_is_not_there_yet_is_known_by_what_is_named_below_it(top: str) -> None:
    assert ignored.ignored_among(top, f"{top}/.git", ["cache", "a.py"]) == set(), "it may be a file"
    assert ignored.ignored_among(top, f"{top}/.git", ["cache", "cache/x/y"]) == {"cache", "cache/x/y"}


ATOMS = st.text("ab.", min_size=1, max_size=3)
PATTERNS = st.lists(st.one_of(ATOMS, st.sampled_from(["*", "?", "a*", "*b", "**"])), min_size=1, max_size=3).map(
    "/".join
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rules=st.lists(PATTERNS, max_size=3), path=st.lists(ATOMS, min_size=1, max_size=3).map("/".join))
def test_nothing_that_git_ignores_is_missed(top: str, rules: list[str], path: str) -> None:
    if any(part.strip(".") == "" or part == ".git" for part in path.split("/")):
        return
    (Path(top) / ".gitignore").write_text("\n".join(rules) + "\n")
    assert is_ignored(top, f"{top}/.git", path) is bool(git.is_ignored(top, [path]))
