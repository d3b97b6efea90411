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
from dibs.git import merges, snapshots
from dibs.land import radar
from tests.land.landing_repo import LandingRepo

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


def test_a_submodule_that_two_worktrees_moved_is_a_conflict_and_stops_nobody(repo: LandingRepo) -> None:
    """Git writes advice for people into its answer then."""
    (repo.folder / "sub").mkdir()
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    repo.git("commit", "-q", "-m", "a submodule")
    for branch in "ab":
        repo.git("update-index", "--cacheinfo", f"160000,{branch * 40},sub", cwd=repo.tree(branch))
        repo.git("commit", "-q", "-m", "moved", cwd=repo.tree(branch))
    repo.line("c", 5, "five of c")
    repo.line("d", 5, "five of d")
    found = look(repo)
    assert pairs(found) == {frozenset("ab"), frozenset("cd")}
    (file,) = next(one["files"] for one in found["conflicts"] if one["sides"][0]["name"] in "ab")
    assert (file["path"], file["hunks"]) == ("sub", [])
    assert "sub: submodule" in repo.run("radar").stdout
    repo.land("a")
    assert repo.land("b", exit=1)["landing"]["paths"] == ["sub"]


def test_a_folder_that_became_a_link_is_merged_and_a_tree_that_git_cannot_read_stops_nobody(
    repo: LandingRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit_files("more", {"d/x.txt": "1\n", "e/x.txt": "1\n"}, repo.folder)
    tree = repo.tree("a")
    shutil.rmtree(tree / "d")
    (tree / "d").symlink_to("e")
    repo.commit_files("b", {"d/x.txt": "2\n"}, repo.tree("b"))
    found = look(repo)
    assert pairs(found) == {frozenset("ab")}
    repo.line("c", 5, "five of c")
    repo.line("d", 5, "five of d")

    def fails(*_: object) -> str:
        raise dibs.Unavailable("a full disk")

    monkeypatch.setattr(snapshots, "tree", fails)
    shutil.rmtree(repo.folder / ".git" / "dibs" / "radar")
    ws = dibs.Workspace(str(repo.folder), "ann")
    seen = radar.look(ws.session, ws.caller())
    assert [one["branches"] for one in seen.conflicts] == [["c", "d"]]
    assert seen.notes == ["a: its uncommitted work was left out: a full disk"]


# --- against git's own merge in a real working tree

PATHS = ("a.txt", "b.txt", "d/c.txt", "d/e.txt", "d")
CONTENTS = some.lists(some.sampled_from(("1", "2", "3", "x", "y")), max_size=6).map(
    lambda lines: "\n".join(lines) + "\n"
)
BINARY = some.sampled_from(("0", "1", "2")).map(lambda text: f"\0\1{text}")
FATES = some.sampled_from(("stays", "stays", "detached", "removed", "vanished", "sparse"))
DEEDS = some.one_of(
    some.tuples(some.just("write"), some.sampled_from(PATHS), BINARY),
    some.tuples(some.just("mode"), some.sampled_from(PATHS), some.sampled_from(("x", ""))),
    some.tuples(some.just("link"), some.sampled_from(PATHS), some.sampled_from(("a.txt", "nowhere"))),
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
        if what == "mode":
            if path.is_file() and not path.is_symlink():
                path.chmod(0o755 if value else 0o644)
            return
        for parent in path.parents:
            if what in {"write", "link"} and parent != tree and (parent.is_symlink() or parent.is_file()):
                parent.unlink()
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif os.path.lexists(path):
            path.unlink()
        if what in {"write", "link"}:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(value) if what == "write" else path.symlink_to(value)

    def meet(self, name: str, fate: str) -> tuple[str, str]:
        """What becomes of a worktree; how the radar calls it then, and its commit with all that is left of its work."""
        tree = self.repo.tree(name)
        if fate == "sparse":
            self.repo.git("sparse-checkout", "set", "d", cwd=tree)
        if fate == "detached":
            self.repo.git("checkout", "-q", "--detach", cwd=tree)
        if fate == "vanished":
            shutil.rmtree(tree)
        if fate == "removed":
            self.repo.git("worktree", "remove", "--force", str(tree))
        if not tree.exists():
            return name, self.repo.git("rev-parse", name)
        return (tree.name if fate == "detached" else name), self.all_of(tree)

    def all_of(self, tree: Path) -> str:
        """A commit with everything that lies in a worktree, by an index of its own and `git add`."""
        head = self.repo.git("rev-parse", "HEAD", cwd=tree)
        own = Path(self.repo.git("rev-parse", "--path-format=absolute", "--git-path", "index", cwd=tree))
        index = self.repo.folder.parent / "index"
        shutil.copy2(own, index)
        env = {**self.repo.environment, "GIT_INDEX_FILE": str(index)}
        words: tuple[str, ...]
        for words in (("add", "-A", "--sparse"), ("write-tree",)):
            done = subprocess.run(["git", *words], cwd=tree, env=env, capture_output=True, text=True, check=True)
        return self.repo.git("commit-tree", "-p", head, "-m", "all", done.stdout.strip())

    def merged_by_hand(self, known: dict[str, str]) -> set[frozenset[str]]:
        """The pairs that `git merge` cannot merge, in a worktree of a copy. `known`: names and commits."""
        copy = self.repo.folder.parent / "copy"
        self.repo.git("init", "-q", str(copy))
        self.repo.git("fetch", "-q", str(self.repo.folder), *known.values(), cwd=copy)
        found = set()
        for one, other in itertools.combinations(known, 2):
            self.repo.git("checkout", "-q", "-f", "--detach", known[one], cwd=copy)
            self.repo.git("clean", "-ffdxq", cwd=copy)
            done = subprocess.run(
                ["git", "merge", "-q", "--no-edit", known[other]], cwd=copy, env=self.repo.environment,
                capture_output=True, check=False,
            )  # fmt: skip
            if done.returncode:
                found.add(frozenset((one, other)))
                self.repo.git("merge", "--abort", cwd=copy, exit=None)
                self.repo.git("reset", "-q", "--hard", cwd=copy)
        return found


Work = list[tuple[list[tuple[str, str, str]], str]]  # of each worktree: its deeds and its fate


def _holds(work: Work, between: bool) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        history = History(Path(folder))
        known = {"main": history.repo.main()}
        for place, (deeds, fate) in enumerate(work):
            tree = history.repo.tree(f"w{place}")
            for deed in deeds:
                history.do(tree, deed)
            if between and place == 0:  # what is known from an earlier look must not be believed too long
                history.repo.json("radar")
                history.do(tree, ("write", "a.txt", "1\n2\nlater\n"))
            name, commit = history.meet(f"w{place}", fate)
            known[name] = commit
        found = json.loads(history.repo.run("radar", "--json").stdout)
        assert pairs(found) == history.merged_by_hand(known)


RANDOM = some.lists(some.tuples(some.lists(DEEDS, max_size=6), FATES), min_size=2, max_size=4)


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(work=RANDOM, between=some.booleans())
def test_the_radar_finds_exactly_what_git_cannot_merge(work: Work, between: bool) -> None:
    _holds(work, between)


@pytest.mark.torture
@settings(max_examples=int(os.environ.get("DIBS_RADAR_EXAMPLES", "150")), deadline=None,
          suppress_health_check=list(HealthCheck))  # fmt: skip
@given(work=RANDOM, between=some.booleans())
def test_the_radar_finds_exactly_what_git_cannot_merge_long(work: Work, between: bool) -> None:
    _holds(work, between)
