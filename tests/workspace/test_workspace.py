"""Every way into a repository leads to one workspace; looked at with repositories that git itself has made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dibs.errors import Invalid
from dibs.workspace import location
from dibs.workspace.location import find
from tests.plain_git import git


def repository(path: Path, *options: str) -> None:
    git(path.parent, "init", *options, str(path))
    (path / "deep" / "er").mkdir(parents=True)
    (path / "deep" / "a").write_text("")
    git(path, "add", ".")
    git(path, "commit", "-m", "x")


def ends(cwd: Path | str, given: Path | str | None = None) -> tuple[str, str]:
    place = find(str(cwd), None if given is None else str(given))
    return place.root, place.top


@pytest.fixture
def tmp(tmp_path: Path) -> Path:
    """A directory that is in no repository, by its real name."""
    return Path(os.path.realpath(tmp_path))


def test_a_repository_is_found_from_any_directory_in_it(tmp: Path) -> None:
    repository(tmp / "r")
    for cwd in (tmp / "r", tmp / "r/deep", tmp / "r/deep/er"):
        place = find(str(cwd), None)
        assert (place.root, place.top) == (f"{tmp}/r", f"{tmp}/r")
        assert place.common == f"{tmp}/r/.git"
        assert place.local == f"{tmp}/r/.dibs/local"
        assert place.config == f"{tmp}/r/.dibs/config.toml"
        assert place.exists is False
    (tmp / "r/.dibs").mkdir()
    assert find(f"{tmp}/r/deep", None).exists is True


def test_a_call_from_inside_the_git_directory_belongs_to_the_repository(tmp: Path) -> None:
    repository(tmp / "r")
    assert ends(tmp / "r/.git") == ends(tmp / "r/.git/refs/heads") == (f"{tmp}/r", f"{tmp}/r")


def test_a_linked_worktree_shares_the_workspace_and_keeps_its_own_top_and_config(tmp: Path) -> None:
    repository(tmp / "r")
    for linked in (tmp / "w", tmp / "r/.trees/w2"):
        git(tmp / "r", "worktree", "add", str(linked))
        assert ends(linked / "deep") == (f"{tmp}/r", str(linked))
        place = find(str(linked), None)
        assert place.common == f"{tmp}/r/.git"
        assert place.config == f"{tmp}/r/.dibs/config.toml"
        (linked / ".dibs").mkdir()
        (linked / ".dibs/config.toml").write_text("")
        place = find(str(linked), None)
        assert place.config == f"{linked}/.dibs/config.toml"
        assert place.local == f"{tmp}/r/.dibs/local"
        assert place.exists is False


def test_a_worktree_with_relative_links_is_found_too(tmp: Path) -> None:
    repository(tmp / "r")
    git(tmp / "r", "worktree", "add", str(tmp / "w"))
    (tmp / "w/.git").write_text("gitdir: ../r/.git/worktrees/w\n")  # as git writes it with worktree.useRelativePaths
    assert ends(tmp / "w") == (f"{tmp}/r", f"{tmp}/w")


def test_all_worktrees_of_a_bare_repository_share_the_workspace_in_it(tmp: Path) -> None:
    repository(tmp / "r")
    git(tmp, "clone", "--bare", str(tmp / "r"), str(tmp / "b.git"))
    git(tmp / "b.git", "worktree", "add", str(tmp / "w"))
    git(tmp / "b.git", "worktree", "add", str(tmp / "b.git/in"), "-b", "in")
    bare = f"{tmp}/b.git"
    assert ends(bare) == ends(f"{bare}/refs") == (bare, bare)
    assert ends(tmp / "w/deep") == (bare, f"{tmp}/w")
    assert ends(tmp / "b.git/in/deep") == (bare, f"{bare}/in")
    assert find(bare, None).common == bare


def test_a_git_file_beside_a_bare_repository_leads_where_its_worktrees_lead(tmp: Path) -> None:
    repository(tmp / "r")
    git(tmp, "clone", "--bare", str(tmp / "r"), str(tmp / "p/.bare"))
    (tmp / "p/.git").write_text("gitdir: ./.bare\n")
    git(tmp / "p", "worktree", "add", str(tmp / "p/w"))
    assert ends(tmp / "p/w/deep")[0] == ends(tmp / "p")[0] == f"{tmp}/p/.bare"
    assert ends(tmp / "p/w/deep")[1] == f"{tmp}/p/w"


def test_a_bare_repository_called_dot_git_has_its_workspace_beside_it(tmp: Path) -> None:
    repository(tmp / "r")
    git(tmp, "clone", "--bare", str(tmp / "r"), str(tmp / "p/.git"))
    git(tmp / "p/.git", "worktree", "add", str(tmp / "p/w"))
    assert ends(tmp / "p")[0] == ends(tmp / "p/.git")[0] == ends(tmp / "p/w")[0] == f"{tmp}/p"


def test_a_submodule_is_a_workspace_of_its_own_together_with_its_worktrees(tmp: Path) -> None:
    repository(tmp / "lib")
    repository(tmp / "r")
    git(tmp / "r", "submodule", "add", str(tmp / "lib"), "sub")
    git(tmp / "r/sub", "worktree", "add", str(tmp / "w"))
    assert ends(tmp / "r/sub/deep") == (f"{tmp}/r/sub", f"{tmp}/r/sub")
    assert ends(tmp / "w/deep") == (f"{tmp}/r/sub", f"{tmp}/w")
    assert ends(tmp / "r/deep") == (f"{tmp}/r", f"{tmp}/r")


def test_a_repository_with_its_git_directory_elsewhere_is_its_own_main_worktree(tmp: Path) -> None:
    repository(tmp / "r", f"--separate-git-dir={tmp}/g")
    assert ends(tmp / "r/deep") == (f"{tmp}/r", f"{tmp}/r")
    assert find(f"{tmp}/r", None).common == f"{tmp}/g"


def test_a_worktree_that_cannot_know_its_main_one_is_refused_until_it_is_told(tmp: Path) -> None:
    repository(tmp / "r", f"--separate-git-dir={tmp}/g")
    git(tmp / "r", "worktree", "add", str(tmp / "w"))
    with pytest.raises(Invalid, match="set DIBS_WORKSPACE"):
        find(f"{tmp}/w", None)
    assert ends(tmp / "w", tmp / "r") == (f"{tmp}/r", f"{tmp}/w")


def test_a_repository_in_a_repository_is_the_nearer_one(tmp: Path) -> None:
    repository(tmp / "r")
    repository(tmp / "r/deep/inner")
    assert ends(tmp / "r/deep/inner/deep")[0] == f"{tmp}/r/deep/inner"


def test_git_wins_over_a_nearer_directory_of_dibs(tmp: Path) -> None:
    repository(tmp / "r")
    (tmp / "r/deep/.dibs").mkdir()
    place = find(f"{tmp}/r/deep/er", None)
    assert place.root == f"{tmp}/r"
    assert not place.exists


def test_without_git_the_nearest_dibs_upward_is_the_workspace(tmp: Path) -> None:
    (tmp / "p/.dibs").mkdir(parents=True)
    (tmp / "p/q/.dibs").mkdir(parents=True)
    (tmp / "p/q/r").mkdir()
    (tmp / "p/s").mkdir()
    assert ends(tmp / "p/q/r") == (f"{tmp}/p/q", f"{tmp}/p/q")
    assert ends(tmp / "p/s") == (f"{tmp}/p", f"{tmp}/p")
    place = find(f"{tmp}/p/s", None)
    assert place.exists
    assert place.common == ""


def test_a_file_called_dibs_is_no_workspace(tmp: Path) -> None:
    (tmp / ".dibs").write_text("")
    with pytest.raises(Invalid):
        find(str(tmp), None)


def test_where_there_is_no_workspace_it_is_said_how_to_make_one(tmp: Path) -> None:
    with pytest.raises(Invalid, match="dibs init") as refused:
        find(str(tmp), None)
    assert refused.value.path == str(tmp)


def test_a_given_directory_outside_git_is_taken_as_it_is(tmp: Path) -> None:
    (tmp / "p/.dibs").mkdir(parents=True)
    (tmp / "p/q").mkdir()
    assert ends("/", tmp / "p/q") == (f"{tmp}/p/q", f"{tmp}/p/q")
    assert ends(tmp / "p", "q") == (f"{tmp}/p/q", f"{tmp}/p/q")
    assert not find("/", f"{tmp}/p/q").exists
    assert find("/", f"{tmp}/p").exists


def test_a_given_directory_in_git_leads_to_the_main_worktree(tmp: Path) -> None:
    repository(tmp / "r")
    git(tmp / "r", "worktree", "add", str(tmp / "w"))
    git(tmp / "r", "worktree", "add", str(tmp / "w2"))
    assert ends("/", tmp / "r/deep") == (f"{tmp}/r", f"{tmp}/r")
    assert ends("/", tmp / "w/deep") == (f"{tmp}/r", f"{tmp}/w")
    assert ends(tmp / "w2/deep", tmp / "r") == (f"{tmp}/r", f"{tmp}/w2")
    assert ends(tmp / "r/deep", tmp / "w") == (f"{tmp}/r", f"{tmp}/r")


def test_a_given_directory_of_another_repository_is_not_mixed_with_the_own_one(tmp: Path) -> None:
    repository(tmp / "r")
    repository(tmp / "s")
    assert ends(tmp / "s", tmp / "r") == (f"{tmp}/r", f"{tmp}/r")


@pytest.mark.parametrize("name", ["missing", "file", "missing/deep"])
def test_a_given_workspace_that_is_no_directory_is_refused(tmp: Path, name: str) -> None:
    (tmp / "file").write_text("")
    with pytest.raises(Invalid, match="not a directory") as refused:
        find("/", f"{tmp}/{name}")
    assert refused.value.path == f"{tmp}/{name}"


def test_symbolic_links_on_the_way_make_no_second_workspace(tmp: Path) -> None:
    repository(tmp / "r")
    (tmp / "link").symlink_to("r/deep")
    (tmp / "top").symlink_to("r")
    assert ends(tmp / "link") == ends(tmp / "top/deep") == ends("/", tmp / "link") == (f"{tmp}/r", f"{tmp}/r")


def test_a_linked_git_directory_is_the_repository_it_links_to(tmp: Path) -> None:
    repository(tmp / "r")
    (tmp / "s").mkdir()
    (tmp / "s/.git").symlink_to("../r/.git")
    assert find(f"{tmp}/s", None).common == f"{tmp}/r/.git"
    assert ends(tmp / "s") == (f"{tmp}/s", f"{tmp}/s")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "does not say"),
        (b"nonsense", "does not say"),
        (b"gitdir: \n", "does not say"),
        (b"gitdir: a\nb\n", "does not say"),
        (b"gitdir: a\0b\n", "does not say"),
        (b"\xff\xfe\0", "does not say"),
        (b"gitdir: /nothing/there\n", "does not exist"),
        (b"gitdir: ../missing\n", "does not exist"),
    ],
)
def test_a_broken_git_file_is_refused_and_told_why(tmp: Path, content: bytes, message: str) -> None:
    (tmp / ".git").write_bytes(content)
    with pytest.raises(Invalid, match=message) as refused:
        find(str(tmp), None)
    assert refused.value.path == f"{tmp}/.git"
    assert location.common_of(str(tmp)) == ""


@pytest.mark.parametrize("content", ["", "/nothing/there\n", "../nothing\n"])
def test_a_broken_common_directory_is_refused(tmp: Path, content: str) -> None:
    (tmp / "g").mkdir()
    (tmp / "g/commondir").write_text(content)
    (tmp / ".git").write_text(f"gitdir: {tmp}/g\n")
    with pytest.raises(Invalid, match="not a git directory"):
        find(str(tmp), None)


def test_settings_are_read_as_git_writes_them(tmp: Path) -> None:
    (tmp / "config").write_text('[core]\n\tbare = false\n\tworktree = "../x"\n[other]\n\tbare = true\n')
    assert location.core_settings(str(tmp)) == {"bare": "false", "worktree": "../x"}
    (tmp / "config.worktree").write_text("[CORE]\n\tBare\n")
    assert location.core_settings(str(tmp))["bare"] == "true"


# --- where dibs keeps what git must not sweep away


def test_below_gits_directories_there_is_a_folder_for_each_working_tree_and_one_for_all(tmp: Path) -> None:
    repository(tmp / "r")
    git(tmp / "r", "worktree", "add", str(tmp / "w"))
    common = f"{tmp}/r/.git"
    for cwd in (tmp / "r", tmp / "r/deep", tmp / "r/.git"):
        place = find(str(cwd), None)
        assert (place.git_dir, place.shared, place.private) == (common, f"{common}/dibs", f"{common}/dibs")
    place = find(f"{tmp}/w/deep", None)
    assert place.git_dir == f"{common}/worktrees/w"
    assert (place.shared, place.private) == (f"{common}/dibs", f"{common}/worktrees/w/dibs")
    assert place.private == location.private_of(place.top)


def test_a_named_workspace_leaves_a_working_tree_its_own_private_folder(tmp: Path) -> None:
    repository(tmp / "r")
    git(tmp / "r", "worktree", "add", str(tmp / "w"))
    assert find(f"{tmp}/w", f"{tmp}/r").private == f"{tmp}/r/.git/worktrees/w/dibs"
    assert find(f"{tmp}/r", f"{tmp}/w").private == f"{tmp}/r/.git/dibs"
    assert find(str(tmp), f"{tmp}/w").private == f"{tmp}/r/.git/worktrees/w/dibs"


def test_without_git_both_folders_are_in_the_workspaces_own(tmp: Path) -> None:
    (tmp / "p/.dibs").mkdir(parents=True)
    place = find(f"{tmp}/p", None)
    assert (place.git_dir, place.shared) == ("", f"{tmp}/p/.dibs/local")
    assert place.private == f"{tmp}/p/.dibs/local/ledger" == location.private_of(f"{tmp}/p")


def test_the_private_folder_is_found_in_every_layout(tmp: Path) -> None:
    repository(tmp / "s", f"--separate-git-dir={tmp}/apart")
    git(tmp, "init", "--bare", str(tmp / "b.git"))
    repository(tmp / "sub")
    repository(tmp / "outer")
    git(tmp / "outer", "submodule", "add", str(tmp / "sub"), "in")
    for top, expected in (
        (tmp / "s", f"{tmp}/apart/dibs"),
        (tmp / "b.git", f"{tmp}/b.git/dibs"),
        (tmp / "outer/in", f"{tmp}/outer/.git/modules/in/dibs"),
    ):
        place = find(str(top), None)
        assert place.private == place.shared == location.private_of(str(top)) == expected


def test_a_working_tree_whose_git_file_leads_nowhere_has_no_private_folder(tmp: Path) -> None:
    (tmp / "w").mkdir()
    (tmp / "w/.git").write_text("gitdir: /nowhere/at/all\n")
    assert location.private_of(f"{tmp}/w") == ""


def test_what_lies_in_these_folders_outlives_clean_stash_and_a_sparse_checkout(tmp: Path) -> None:
    repository(tmp / "r")
    kept = Path(find(f"{tmp}/r", None).shared) / "x"
    kept.parent.mkdir()
    kept.write_text("x")
    git(f"{tmp}/r", "clean", "-fdx")
    git(f"{tmp}/r", "stash", "-a")
    git(f"{tmp}/r", "sparse-checkout", "set", "deep")
    assert kept.read_text() == "x"
