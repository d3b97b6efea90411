"""Where a commit stands against the branch that counts, in real repositories with a real remote."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from dibs.errors import Invalid
from dibs.git import queries as git
from dibs.git import sync

NAMES = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "T"), ("EMAIL", "t@example.org"))
}


class Copy:
    """A clone."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.top = folder, str(folder)

    def git(self, *words: str) -> str:
        settings = {**os.environ, **NAMES, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["git", *words], cwd=self.folder, env=settings, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, name: str) -> str:
        (self.folder / name).write_text(name)
        self.git("add", name)
        self.git("commit", "-q", "-m", name)
        return self.git("rev-parse", "HEAD")


class World:
    """A remote, and somebody who pushes to its main."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.remote = folder, folder / "remote.git"
        here = Copy(folder)
        here.git("init", "-q", "--bare", "-b", "main", "remote.git")
        here.git("clone", "-q", "remote.git", "pusher")
        self.pusher = Copy(folder / "pusher")
        self.pusher.git("checkout", "-q", "-b", "main")
        self.push("a", "b", "c")

    def push(self, *names: str, to: str = "main") -> None:
        for name in names:
            self.pusher.commit(name)
        self.pusher.git("push", "-q", "origin", f"HEAD:{to}")

    def clone(self, *options: str, name: str = "copy") -> Copy:
        Copy(self.folder).git("clone", "-q", *options, f"file://{self.remote}", name)
        return Copy(self.folder / name)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_main_counts_from_a_followed_feature_branch_a_new_branch_and_a_detached_head(world: World) -> None:
    copy = world.clone()
    copy.git("switch", "-q", "-c", "feature")
    copy.commit("mine")
    copy.git("push", "-q", "-u", "origin", "feature")
    world.push("d", "e")
    for words in (("feature",), ("-b", "fresh"), ("--detach",)):
        copy.git("checkout", "-q", *words)
        standing = sync.stand(copy.top)
        assert (standing.behind, standing.ahead, standing.upstream) == (2, 1, "origin/main"), words


def test_the_remotes_own_word_counts_where_the_clone_noted_no_default_branch(world: World) -> None:
    copy = world.clone()
    copy.git("remote", "set-head", "origin", "--delete")
    Copy(world.remote).git("branch", "trunk", "main")
    Copy(world.remote).git("symbolic-ref", "HEAD", "refs/heads/trunk")
    assert sync.stand(copy.top).upstream == "origin/trunk"


def test_a_default_branch_that_was_renamed_is_found_under_its_new_name(world: World) -> None:
    copy = world.clone()
    Copy(world.remote).git("branch", "-m", "main", "trunk")
    assert (sync.stand(copy.top).upstream, sync.stand(copy.top).behind) == ("origin/trunk", 0)


@pytest.mark.parametrize("name", ["main", "master"])
def test_where_the_remote_does_not_say_it_is_main_or_master(world: World, name: str) -> None:
    copy = world.clone()
    copy.git("remote", "set-head", "origin", "--delete")
    remote = Copy(world.remote)
    remote.git("branch", "other", "main")
    if name == "master":
        remote.git("branch", "-m", "main", "master")
    remote.git("symbolic-ref", "HEAD", "refs/heads/nothing")
    assert sync.stand(copy.top).upstream == f"origin/{name}"
    remote.git("branch", "-D", name)
    standing = sync.stand(copy.top)
    assert (standing.behind, standing.why) == (None, "origin does not say which of its branches is the default one")


def test_a_clone_of_one_branch_is_compared_with_main_all_the_same(world: World) -> None:
    world.push("f", to="feature")
    world.push("g", "h")
    copy = world.clone("--single-branch", "-b", "feature")
    assert (sync.stand(copy.top).behind, sync.stand(copy.top).upstream) == (2, "origin/main")


def test_a_shallow_clone_says_only_what_its_history_proves(world: World) -> None:
    copy = world.clone("--depth", "1")
    assert sync.stand(copy.top).behind == 0  # the tip itself
    world.push("d", "e")
    assert sync.stand(copy.top).behind == 2  # HEAD is part of what came
    world.pusher.git("checkout", "-q", "-b", "feature", "HEAD~1")
    world.push("f", to="feature")
    world.pusher.git("merge", "-q", "--no-edit", "main")
    world.push("g", to="feature")
    feature = world.clone("--depth", "1", "-b", "feature", name="ci")
    standing = sync.stand(feature.top)  # it has all of main, and nobody can see that here
    assert (standing.behind, "shallow" in standing.why) == (None, True)
    feature.git("fetch", "-q", "--unshallow")
    assert sync.stand(feature.top).behind == 0


def test_what_cannot_be_compared_is_said(world: World, tmp_path: Path) -> None:
    copy = world.clone()
    with pytest.raises(Invalid):
        sync.stand(copy.top, "nowhere")
    assert sync.stand(copy.top, branch="gone").why == "origin has no branch gone"
    copy.git("remote", "add", "other", str(world.remote))
    copy.git("remote", "rename", "origin", "one")
    copy.git("checkout", "-q", "--detach")
    assert "several remotes (one, other)" in sync.stand(copy.top).why
    copy.git("checkout", "-q", "main")
    assert sync.stand(copy.top).upstream == "one/main"  # the one that the branch follows
    world.remote.rename(tmp_path / "away.git")
    assert sync.stand(copy.top, "one").behind is None
    assert sync.stand(copy.top, "one").why
    copy.git("remote", "remove", "one")
    copy.git("remote", "remove", "other")
    assert sync.stand(copy.top).why == "there is no remote to compare with"


def test_an_empty_remote_has_nothing_that_could_be_missing(world: World, tmp_path: Path) -> None:
    copy = world.clone()
    copy.git("init", "-q", "--bare", str(tmp_path / "empty.git"))
    copy.git("remote", "set-url", "origin", str(tmp_path / "empty.git"))
    standing = sync.stand(copy.top)
    assert (standing.behind, standing.note) == (0, "origin has no branches yet")


def test_a_commit_contains_its_ancestors_and_content_that_came_by_a_squash(world: World) -> None:
    copy = world.clone()
    base = git.head(copy.top)
    copy.git("switch", "-q", "-c", "feature")
    copy.commit("x")
    last = copy.commit("y")
    assert sync.contains(copy.top, last, base) is True
    assert sync.contains(copy.top, base, last) is False
    copy.git("switch", "-q", "main")
    copy.git("merge", "-q", "--squash", "feature")
    copy.git("commit", "-q", "-m", "squashed")
    assert sync.contains(copy.top, copy.commit("z"), last) is True
    copy.git("switch", "-q", "--detach", base)
    assert sync.contains(copy.top, copy.commit("elsewhere"), last) is False
    assert sync.contains(copy.top, base, "1" * 40) is False


def test_in_a_shallow_clone_a_commit_that_is_not_there_may_be_contained(world: World) -> None:
    old = world.pusher.git("rev-parse", "HEAD~2")
    copy = world.clone("--depth", "1")
    assert sync.contains(copy.top, git.head(copy.top), old) is None
    copy.git("fetch", "-q", "--unshallow")
    assert sync.contains(copy.top, git.head(copy.top), old) is True


def test_nothing_of_the_comparison_stays_behind(world: World) -> None:
    copy = world.clone()
    world.push("d")
    sync.stand(copy.top)
    assert copy.git("for-each-ref", "refs/dibs") == ""
    assert not (copy.folder / ".git" / "FETCH_HEAD").exists()
