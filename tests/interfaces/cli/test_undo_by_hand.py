"""`dibs undo` of agents without hooks, as a person meets it: folders, rebases, other working trees, twice in a row."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

from dibs.operations.guards.undo import CLOCK_LAG_NS
from tests.interfaces.cli.test_undo_cli import change, git, work
from tests.scratch import Shell
from tests.waiting import until

__all__ = ["work"]  # a fixture


def files(folder: Path) -> dict[str, bytes]:
    """Every file but git's and dibs' own."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    names = {str(path.relative_to(folder)): path for path in found}
    return {name: path.read_bytes() for name, path in names.items() if name.split("/")[0] not in {".git", ".dibs"}}


def released(shell: Shell, agent: str, **changed: str | None) -> str:
    claim = change(shell, agent, **changed)
    shell.json("release", "--all", "--as", agent, exit=0)
    return claim


def undo(shell: Shell, what: str, *words: str, exit: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = shell.json("undo", what, "--yes", *words, exit=exit)
    return found


def test_new_files_in_a_claimed_folder_go_again(work: Shell) -> None:
    before = files(work.folder)
    Path(work.folder, "lib").mkdir()
    claim = work.json("claim", "lib/", "made/", "--as", "ann", exit=0)["claim"]
    for name in ("lib/one.py", "made/deep/two.py"):
        path = Path(work.folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("new\n")
    work.json("release", "--all", "--as", "ann", exit=0)
    assert sorted(undo(work, claim)["restored"]) == ["lib/one.py", "made/deep/two.py"]
    assert files(work.folder) == before
    assert not Path(work.folder, "made").exists()


def test_the_same_without_git_and_what_was_in_the_folder_stays(work: Shell) -> None:
    shutil.rmtree(Path(work.folder, ".git"))
    for name in ("lib/old.py", "other/kept.py"):
        path = Path(work.folder, name)
        path.parent.mkdir()
        path.write_text("old\n")
    made = Path(work.folder, "lib/old.py").stat().st_ctime_ns
    until(lambda: time.time_ns() - made > 2 * CLOCK_LAG_NS)  # else it counts as made under the claim
    before = files(work.folder)
    claim = work.json("claim", "lib/", "made/", "--as", "ann", exit=0)["claim"]
    Path(work.folder, "made").mkdir()
    Path(work.folder, "made/two.py").write_text("new\n")
    Path(work.folder, "lib/old.py").write_text("changed\n")
    work.json("release", "--all", "--as", "ann", exit=0)
    assert sorted(undo(work, claim)["restored"]) == ["lib/old.py", "made/two.py"]
    assert files(work.folder) == before


def test_work_that_follows_an_undo_at_once_is_its_own_agent_s(work: Shell) -> None:
    undo(work, released(work, "ann", a_txt="ONE\n"))
    second = released(work, "ann", a_txt="TWO\n")
    assert undo(work, second)["restored"] == ["a.txt"]
    assert git(work, "status", "--porcelain") == ""


def test_who_built_on_it_is_named_and_a_second_undo_finds_nothing(work: Shell) -> None:
    first = released(work, "ann", a_txt="ONE\ntwo\nthree\nfour\nfive\n")
    released(work, "bob", a_txt="ONE\ntwo\nthree\nfour\nFIVE\n")
    refused = work.run("undo", first, "--yes")
    assert refused.returncode == 1
    assert "a.txt: bob changed it" in refused.stderr
    undo(work, first, "--theirs")
    assert Path(work.folder, "a.txt").read_text() == "one\ntwo\nthree\nfour\nFIVE\n"
    for words in (["--theirs"], []):
        assert "nothing that claim" in undo(work, first, *words, exit=1)["error"]["message"]


def test_conflict_marks_of_an_undo_are_not_doubled_by_a_second_one(work: Shell) -> None:
    first = released(work, "ann", a_txt="ONE\n")
    released(work, "bob", a_txt="bob's\n")
    assert undo(work, first, "--theirs")["conflicts"] == 1
    marked = Path(work.folder, "a.txt").read_text()
    assert marked.count("<<<<<<<") == 1
    undo(work, first, "--theirs", exit=1)
    assert Path(work.folder, "a.txt").read_text() == marked


def test_a_commit_that_was_rebased_is_still_its_work(work: Shell) -> None:
    claim = work.json("claim", "a.txt", "--as", "ann", exit=0)["claim"]
    start = git(work, "branch", "--show-current")
    git(work, "checkout", "-q", "-b", "topic")
    Path(work.folder, "a.txt").write_text("ONE\n")
    git(work, "commit", "-qam", "one", DIBS_AGENT="ann")
    work.json("release", "--all", "--as", "ann", exit=0)
    git(work, "checkout", "-q", start)
    git(work, "commit", "-q", "--allow-empty", "-m", "meanwhile")
    git(work, "rebase", "-q", start, "topic")
    found = undo(work, claim)
    assert (found["notes"], len(found["commits"])) == ([], 1)
    assert git(work, "log", "-1", "--format=%s") == f"Undo claim {claim}"
    assert git(work, "status", "--porcelain") == ""
    assert git(work, "show", "HEAD:a.txt").startswith("one")


def test_an_amended_commit_is_reverted_and_its_first_version_is_not_missed(work: Shell) -> None:
    claim = work.json("claim", "a.txt", "--as", "ann", exit=0)["claim"]
    Path(work.folder, "a.txt").write_text("ONE\n")
    git(work, "commit", "-qam", "one", DIBS_AGENT="ann")
    git(work, "commit", "-q", "--amend", "-m", "another text", DIBS_AGENT="ann")
    work.json("release", "--all", "--as", "ann", exit=0)
    assert undo(work, claim)["notes"] == []
    assert git(work, "show", "HEAD:a.txt").startswith("one")


def test_work_in_another_working_tree_is_said_to_be_there(work: Shell, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(work, "worktree", "add", "-q", "-b", "other", str(other))
    there = Shell(other)
    claim = released(there, "ann", a_txt="ONE\n")
    assert f"run `dibs undo` in {other}" in undo(work, claim, exit=1)["error"]["message"]
    assert undo(there, claim)["restored"] == ["a.txt"]


def test_what_is_not_undone_in_a_submodule_is_said(work: Shell) -> None:
    Path(work.folder, "lib").mkdir()
    inner = Shell(work.folder / "lib")
    git(inner, "init", "-q")
    git(inner, "commit", "-q", "--allow-empty", "-m", "inner")
    git(work, "add", "lib")
    git(work, "commit", "-qm", "with a submodule")
    claim = work.json("claim", "lib", "a.txt", "--as", "ann", exit=0)["claim"]
    Path(work.folder, "a.txt").write_text("ONE\n")
    git(inner, "commit", "-q", "--allow-empty", "-m", "more")
    work.json("release", "--all", "--as", "ann", exit=0)
    found = undo(work, claim)
    assert found["restored"] == ["a.txt"]
    assert "lib is a submodule" in found["notes"][0]


def test_a_difference_of_line_ends_alone_is_shown(work: Shell) -> None:
    claim = released(work, "ann", b_txt="b\r\n")
    assert "only line ends: 1 CRLF become 1 LF" in work.run("undo", claim, "--dry-run").stdout


def test_a_large_file_whose_sample_shows_no_change_is_named(work: Shell) -> None:
    large = Path(work.folder, "large.bin")
    large.write_bytes(b"z" * 5_000_000)
    git(work, "add", "-A")
    git(work, "commit", "-qm", "large")
    claim = work.json("claim", "large.bin", "a.txt", "--as", "ann", exit=0)["claim"]
    Path(work.folder, "a.txt").write_text("ONE\n")
    with large.open("r+b") as file:
        file.seek(2_500_000)
        file.write(b"y")
    work.json("release", "--all", "--as", "ann", exit=0)
    found = undo(work, claim)
    assert found["restored"] == ["a.txt"]
    assert found["notes"] == ["large.bin is large and compared by a sample, which shows no change: look at it."]
