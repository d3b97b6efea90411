"""`dibs radar` in real repositories: exactly the pairs that git could not merge, and nothing is touched."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

import dibs
from dibs.facts.git import merges
from dibs.running import radar
from tests.running.landing_repo import LandingRepo

MEMORY = Path("/dev/shm")


@pytest.fixture
def repo(tmp_path: Path) -> LandingRepo:
    return LandingRepo(tmp_path / "repo")


def look(repo: LandingRepo, *words: str) -> dict[str, Any]:
    """`dibs radar`: what it printed."""
    found = repo.json("radar", *words)
    assert bool(found["conflicts"]) is not found["ok"]
    return found


def pairs(found: dict[str, Any]) -> set[frozenset[str]]:
    return {frozenset(side["name"] for side in one["sides"]) for one in found["conflicts"]}


def test_committed_and_uncommitted_work_of_two_worktrees_is_merged_and_the_lines_are_named(repo: LandingRepo) -> None:
    repo.line("a", 5, "five of a")
    tree = repo.tree("b")
    text = (tree / "base.txt").read_text()
    (tree / "base.txt").write_text("new first line\n" + text.replace("5\n", "five of b\n", 1))
    repo.line("c", 15, "fifteen")
    found = look(repo)
    assert pairs(found) == {frozenset("ab")}
    (conflict,) = found["conflicts"]
    (file,) = conflict["files"]
    assert (file["path"], file["kind"]) == ("base.txt", "content")
    assert file["hunks"] == [{"one": [5, 1], "other": [6, 1]}]
    shown = repo.run("radar").stdout
    assert "a and b, since" in shown
    assert "base.txt: a line 5, b line 6" in shown
    assert "1 pair of worktrees would conflict" in repo.run("status").stdout
    (tree / "base.txt").write_text(text)
    assert look(repo)["conflicts"] == []
    assert [event["kind"] for event in repo.json("log", "--kind", "radar.")["events"]] == ["radar.found",
                                                                                          "radar.cleared"]  # fmt: skip


def test_the_repository_is_not_touched(repo: LandingRepo) -> None:
    repo.line("a", 5, "five of a")
    tree = repo.tree("b")
    (tree / "base.txt").write_text("other\n")
    (tree / "staged.txt").write_text("staged\n")
    repo.git("add", "staged.txt", cwd=tree)
    (tree / "untracked.txt").write_text("untracked\n")
    common = repo.folder / ".git"

    def state() -> dict[str, bytes]:
        kept = [path for path in common.rglob("*") if path.is_file() and "dibs" not in path.parts]
        return {str(path): path.read_bytes() for path in kept}

    before = state()
    assert look(repo)["conflicts"]
    assert state() == before


def test_only_pairs_with_a_changed_side_are_merged_again(repo: LandingRepo) -> None:
    for name in "abc":
        repo.change(name, **{name: "1\n"})
    first = look(repo)
    assert (first["looked"], first["pairs"], first["merged"]) == (4, 6, 6)
    assert look(repo)["merged"] == 0
    events = len(repo.json("log")["events"])
    (repo.tree("a") / "a.txt").write_text("2\n")
    assert look(repo)["merged"] == 3
    assert look(repo)["merged"] == 0
    assert len(repo.json("log")["events"]) == events  # nothing new was found, so nothing was written
    (repo.tree("a") / "a.txt").write_text("1\n")
    assert look(repo)["merged"] == 0  # as before: it is known still


def test_branches_without_a_worktree_count_if_they_are_young_and_not_merged(tmp_path: Path) -> None:
    repo = LandingRepo(tmp_path / "repo", "[radar]", 'ignore = ["gh-*"]')
    for branch in ("a", "gh-pages", "old", "merged"):
        repo.line(branch, 5, f"five of {branch}")
        repo.git("worktree", "remove", "--force", str(repo.tree(branch)))
    repo.git("merge", "-q", "--ff-only", "merged")
    assert pairs(look(repo)) == {frozenset(("a", "main")), frozenset(("old", "main")), frozenset(("a", "old"))}
    when = {"GIT_COMMITTER_DATE": "2001-01-01T00:00:00Z"}
    made = subprocess.run(["git", "commit-tree", "old^{tree}", "-p", "old^", "-m", "x"], cwd=repo.folder,
                          env={**repo.environment, **when}, capture_output=True, text=True, check=True)  # fmt: skip
    repo.git("branch", "-f", "old", made.stdout.strip())
    assert pairs(look(repo)) == {frozenset(("a", "main"))}


def test_an_unrelated_history_is_no_conflict(repo: LandingRepo) -> None:
    repo.line("a", 5, "five of a")
    orphan = repo.git("commit-tree", "-m", "other", repo.git("hash-object", "-t", "tree", "/dev/null"))
    repo.git("branch", "pages", orphan)
    repo.line("b", 5, "five of b")
    assert pairs(look(repo)) == {frozenset("ab")}


def test_the_agents_of_both_sides_are_told_and_only_once(repo: LandingRepo) -> None:
    for agent, branch in (("ann", "a"), ("bob", "b")):
        repo.line(branch, 5, f"five of {branch}")
        text = f"x\n\nDibs-Agent: {agent}"
        repo.git("commit", "-q", "--amend", "-m", text, cwd=repo.tree(branch))
    for _ in range(2):
        look(repo)
    for agent, other in (("ann", "bob"), ("bob", "ann")):
        (told,) = repo.json("inbox", "--as", agent)["messages"]
        assert f"the work of {other}" in told["text"]
        assert "base.txt (line 5)" in told["text"]


def test_an_old_git_is_named_with_what_to_do(repo: LandingRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merges, "version", lambda: (2, 30))
    ws = dibs.Workspace(str(repo.folder), "ann")
    with pytest.raises(dibs.Unavailable, match=r"git 2\.30 .* install git 2\.38"):
        radar.look(ws.session, ws.caller())


def test_a_git_without_many_merges_at_once_gives_the_same_answer(
    repo: LandingRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.line("a", 5, "five of a")
    repo.line("b", 5, "five of b")
    repo.line("c", 9, "nine")
    ws = dibs.Workspace(str(repo.folder), "ann")
    monkeypatch.setattr(merges, "version", lambda: (2, 38))
    one_by_one = [one["files"] for one in radar.look(ws.session, ws.caller()).conflicts]
    monkeypatch.undo()
    shutil.rmtree(repo.folder / ".git" / "dibs" / "radar")
    assert [one["files"] for one in radar.look(ws.session, ws.caller()).conflicts] == one_by_one
    assert len(one_by_one) == 1


# --- against git's own merge in a real working tree

PATHS = ("a.txt", "b.txt", "d/c.txt", "d/e.txt", "d")
CONTENTS = some.lists(some.sampled_from(("1", "2", "3", "x", "y")), max_size=6).map(
    lambda lines: "\n".join(lines) + "\n"
)
DEEDS = some.one_of(
    some.tuples(some.just("write"), some.sampled_from(PATHS), CONTENTS),
    some.tuples(some.just("delete"), some.sampled_from(PATHS), some.just("")),
    some.tuples(some.just("rename"), some.sampled_from(PATHS), some.sampled_from(("f.txt", "g/c.txt", "a.txt"))),
    some.tuples(some.just("commit"), some.just(""), some.just("")),
)


class History:
    """A repository with a few worktrees in which anything may have happened."""

    def __init__(self, folder: Path) -> None:
        self.repo = LandingRepo(folder / "repo")
        text = "".join(f"{line}\n" for line in ("1", "2", "3", "1", "2", "3"))
        files: dict[str, str | None] = {"a.txt": text, "b.txt": text + "b\n", "d/c.txt": text + "c\n", "d/e.txt": "e\n"}
        self.repo.commit_files("base", files, self.repo.folder)

    def do(self, tree: Path, deed: tuple[str, str, str]) -> None:
        what, name, value = deed
        path = tree / name
        if what == "commit":
            self.repo.git("add", "-A", cwd=tree)
            self.repo.git("commit", "-q", "--allow-empty", "-m", "x", cwd=tree)
            return
        if what == "rename" and path.exists() and not (tree / value).exists():
            (tree / value).parent.mkdir(parents=True, exist_ok=True)
            path.rename(tree / value)
            return
        if what == "write" and any(parent.is_file() for parent in path.parents):
            next(parent for parent in path.parents if parent.is_file()).unlink()
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()
        if what == "write":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(value)

    def merged_by_hand(self, names: list[str]) -> set[frozenset[str]]:
        """The pairs that `git merge` cannot merge: everything is committed in a copy, then merged in its worktree."""
        copy = self.repo.folder.parent / "copy"
        self.repo.git("clone", "-q", "--no-hardlinks", str(self.repo.folder), str(copy))
        for name in names:
            tree = self.repo.folder if name == "main" else self.repo.tree(name)
            head = self.repo.git("rev-parse", "HEAD", cwd=tree)
            self.repo.git("fetch", "-q", str(self.repo.folder), head, cwd=copy)
            self.repo.git("checkout", "-q", "-f", "-B", f"all-{name}", head, cwd=copy)
            self.repo.git("clean", "-ffdxq", cwd=copy)
            for left in [path for path in copy.iterdir() if path.name != ".git"]:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
            for path in [path for path in tree.iterdir() if path.name != ".git"]:
                (shutil.copytree if path.is_dir() else shutil.copy2)(path, copy / path.name)
            shutil.rmtree(copy / ".dibs" / "local", ignore_errors=True)
            self.repo.git("add", "-A", cwd=copy)
            self.repo.git("commit", "-q", "--allow-empty", "-m", "all", cwd=copy)
        found = set()
        for one, other in itertools.combinations(names, 2):
            self.repo.git("checkout", "-q", "-f", "--detach", f"all-{one}", cwd=copy)
            self.repo.git("clean", "-ffdxq", cwd=copy)
            done = subprocess.run(
                ["git", "merge", "-q", "--no-edit", f"all-{other}"], cwd=copy, env=self.repo.environment,
                capture_output=True, check=False,
            )  # fmt: skip
            if done.returncode:
                found.add(frozenset((one, other)))
                self.repo.git("merge", "--abort", cwd=copy, exit=None)
                self.repo.git("reset", "-q", "--hard", cwd=copy)
        return found


def _holds(deeds: list[list[tuple[str, str, str]]], between: bool) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        history = History(Path(folder))
        names = [f"w{place}" for place in range(len(deeds))]
        for place, (name, mine) in enumerate(zip(names, deeds, strict=True)):
            tree = history.repo.tree(name)
            for deed in mine:
                history.do(tree, deed)
            if between and place == 0:  # what is known from an earlier look must not be believed too long
                history.repo.json("radar")
                history.do(tree, ("write", "a.txt", "1\n2\nlater\n"))
        found = json.loads(history.repo.run("radar", "--json").stdout)
        assert pairs(found) == history.merged_by_hand(["main", *names])
        assert found["looked"] == len(names) + 1


RANDOM = some.lists(some.lists(DEEDS, max_size=6), min_size=2, max_size=4)


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(deeds=RANDOM, between=some.booleans())
def test_the_radar_finds_exactly_what_git_cannot_merge(deeds: list[list[tuple[str, str, str]]], between: bool) -> None:
    _holds(deeds, between)


@pytest.mark.torture
@settings(max_examples=int(os.environ.get("DIBS_RADAR_EXAMPLES", "150")), deadline=None,
          suppress_health_check=list(HealthCheck))  # fmt: skip
@given(deeds=RANDOM, between=some.booleans())
def test_the_radar_finds_exactly_what_git_cannot_merge_long(
    deeds: list[list[tuple[str, str, str]]], between: bool
) -> None:
    _holds(deeds, between)
