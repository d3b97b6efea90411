"""The figures of a look back are those that a count by hand gives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dibs.lookback import findings, session_files
from tests import plain_git
from tests.lookback.recorded import HOME, Claude, Codex, Copilot, Gemini

if TYPE_CHECKING:
    from dibs.lookback.findings import Lookback


def look(folder: Path, *, since: int = 0, repository: str = "") -> Lookback:
    """All sessions of this home."""
    folders = session_files.default_folders(str(folder), {})
    return findings.look(
        folders, str(folder), lambda _what, _count: None, since=since, repository=repository, limit=100
    )


def play(home: Path) -> None:
    """Four agents of four clients in one working tree. What happens is counted in the test below."""
    ann, bob = Claude(home, "ann"), Gemini(home, "bob")
    cid, dan = Codex(home, "cid"), Copilot(home, "dan")
    ann.prompt(0, "fix TASK-103, in UTF-8")
    ann.call(10, "Read", file_path=f"{HOME}/app.py")
    ann.call(20, "Edit", file_path=f"{HOME}/app.py", old_string="return 1 + 1", new_string="return 2 + 2")
    bob.prompt(30, "please do TASK-103 and #88")
    bob.call(40, "replace", file_path=f"{HOME}/app.py", old_string="return 2 + 2", new_string="return 4")
    bob.call(240, "replace", file_path=f"{HOME}/util.py", old_string="first line", new_string="line one")
    ann.call(480, "Edit", file_path=f"{HOME}/util.py", old_string="last line", new_string="line n")
    cid.patch(1200, "*** Begin Patch\n*** Update File: app.py\n@@\n-elsewhere\n+somewhere\n*** End Patch")
    cid.shell(1260, "git add -A && git commit -m done")
    ann.call(1320, "Write", file_path=f"{HOME}/notes.md", content="hello from ann\n")
    dan.call(1380, "create", path=f"{HOME}/notes.md", file_text="hello from dan\n")


def test_four_clients_in_one_tree_are_counted_as_by_hand(tmp_path: Path) -> None:
    play(tmp_path)
    found = look(tmp_path)
    assert found["clients"] == {"claude": 1, "codex": 1, "copilot": 1, "gemini": 1}
    assert (found["calls"], found["prompts"], found["commands"], found["edits"]) == (9, 2, 1, 7)
    # ann 0:00-22:00 with bob 0:30-4:00 and cid 20:00-21:00; dan comes a minute after ann's last call
    assert found["together"] == {"sessions": 3, "pairs": 2, "at_once": 2, "seconds": 270, "same_tree": 3}
    # app.py 20 s and 19 min 20 s after another, util.py 4 min, notes.md 1 min
    near = found["near"]
    assert (near["1"], near["5"], near["30"], near["files"]) == (2, 3, 4, 3)
    assert {place: near[place] for place in near if " " in place} == {
        "same place": 1, "another place": 2, "whole file": 1
    }  # fmt: skip
    assert [(one["path"], one["by"], one["of"], one["seconds"]) for one in found["overwrites"]] == [
        (f"{HOME}/notes.md", "dan", "ann", 60)
    ]
    assert [(one["by"], one["does"], sorted(one["files"])) for one in found["sweeps"]] == [
        ("cid", "take in", ["app.py", "util.py"])
    ]
    assert [(one["id"], one["first"], one["by"], one["together"]) for one in found["ids"]] == [
        ("TASK-103", "ann", "bob", True)
    ]
    assert found["refused"] == {"commands": 1, "edits": 4, "first": 5}
    assert found["refused_alone"] == {"commands": 0, "edits": 0}
    assert found["unread"] == {"lines": {}, "files": {}}
    assert found["failed"] == []


def test_one_agent_alone_is_never_stopped(tmp_path: Path) -> None:
    ann = Claude(tmp_path, "ann")
    for number in range(20):
        ann.call(number, "Edit", file_path=f"{HOME}/{number % 3}.py", old_string="a", new_string="b")
        ann.call(number, "Bash", command=f"git add -A && git commit -m {number} && git stash && git reset --hard")
    found = look(tmp_path)
    assert (found["calls"], found["causes"], found["near"]["30"], found["swept"]) == (40, {}, 0, 0)


def test_a_commit_ends_what_an_agent_holds(tmp_path: Path) -> None:
    ann, bob = Claude(tmp_path, "ann"), Claude(tmp_path, "bob")
    ann.call(0, "Edit", file_path=f"{HOME}/a.py", old_string="a", new_string="b")
    ann.call(5, "Bash", command="git commit -am done")
    bob.call(10, "Read", file_path=f"{HOME}/a.py")
    bob.call(15, "Edit", file_path=f"{HOME}/a.py", old_string="b", new_string="c")
    bob.call(20, "Bash", command="git stash")
    found = look(tmp_path)
    assert found["near"]["1"] == 1  # it happened
    assert (found["causes"], found["swept"]) == ({}, 0)  # and nothing was in the way of anything


def test_what_an_agent_left_half_an_hour_ago_stops_nobody(tmp_path: Path) -> None:
    ann, bob = Claude(tmp_path, "ann"), Claude(tmp_path, "bob")
    ann.call(0, "Edit", file_path=f"{HOME}/a.py", old_string="a", new_string="b")
    bob.call(31 * 60, "Edit", file_path=f"{HOME}/a.py", old_string="b", new_string="c")
    bob.call(32 * 60, "Bash", command="git stash")
    found = look(tmp_path)
    assert (found["near"]["30"], found["causes"], found["swept"]) == (0, {}, 0)


def test_an_edit_that_failed_did_not_happen(tmp_path: Path) -> None:
    ann, bob = Claude(tmp_path, "ann"), Claude(tmp_path, "bob")
    ann.call(0, "Edit", error="String to replace not found", file_path=f"{HOME}/a.py", old_string="a", new_string="b")
    bob.call(9, "Edit", file_path=f"{HOME}/a.py", old_string="b", new_string="c")
    found = look(tmp_path)
    assert (found["calls"], found["edits"], found["near"]["30"], found["causes"]) == (2, 1, 0, {})


def test_a_subagent_and_its_parent_are_no_two_sessions(tmp_path: Path) -> None:
    ann, child = Claude(tmp_path, "ann"), Claude(tmp_path, "agent-x", sessionId="ann", isSidechain=True, agentId="x")
    other = Claude(tmp_path, "agent-y", sessionId="ann", isSidechain=True, agentId="y")
    ann.call(0, "Edit", file_path=f"{HOME}/a.py", old_string="a", new_string="b")
    child.call(9, "Edit", file_path=f"{HOME}/a.py", old_string="b", new_string="c")
    other.call(20, "Edit", file_path=f"{HOME}/a.py", old_string="c", new_string="d")
    found = look(tmp_path)
    assert (found["sessions"], found["together"]["sessions"]) == (1, 0)
    assert [(one["by"], one["first"]) for one in found["near_edits"]] == [("ann/y", "ann/x")]  # siblings are two agents


def test_a_resumed_session_repeats_its_lines_and_they_count_once(tmp_path: Path) -> None:
    for name in ("first", "resumed"):
        ann = Claude(tmp_path, name)
        ann.call(0, "Edit", id="toolu_1", file_path=f"{HOME}/a.py", old_string="a", new_string="b")
    ann.call(60, "Edit", id="toolu_2", file_path=f"{HOME}/a.py", old_string="b", new_string="c")
    assert look(tmp_path)["calls"] == 2


def test_worktrees_of_one_repository_share_it_but_not_their_files(tmp_path: Path) -> None:
    repo, linked = tmp_path / "repo", tmp_path / "linked"
    repo.mkdir()
    plain_git.git(repo, "init", "-q", "-b", "main", ".")
    plain_git.git(repo, "commit", "-q", "--allow-empty", "-m", "first")
    plain_git.git(repo, "worktree", "add", "-q", str(linked))
    home = tmp_path / "home"
    ann, bob = Claude(home, "ann", cwd=str(repo)), Claude(home, "bob", cwd=str(linked))
    for seconds in (0, 60):
        ann.call(seconds, "Edit", file_path=f"{repo}/a.py", old_string="a", new_string="b")
        bob.call(seconds + 5, "Edit", file_path=f"{linked}/a.py", old_string="a", new_string="c")
    bob.call(70, "Bash", command="git add -A")
    found = look(home)
    assert (found["together"]["sessions"], found["together"]["same_tree"]) == (2, 0)
    assert (found["near"]["30"], found["swept"], found["causes"]) == (0, 0, {})
    assert [view["repository"] for view in found["repositories"]] == [str(repo)]
    assert look(home, repository=str(repo))["calls"] == 5
    assert look(home, repository="/elsewhere")["calls"] == 0


def test_what_git_ignores_is_nobodys(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    plain_git.git(repo, "init", "-q", "-b", "main", ".")
    (repo / ".gitignore").write_text("build/\n")
    home = tmp_path / "home"
    for name, seconds in (("ann", 0), ("bob", 5)):
        Claude(home, name, cwd=str(repo)).call(seconds, "Write", file_path=f"{repo}/build/out.txt", content="x")
    found = look(home)
    assert (found["near"]["30"], found["overwritten"], found["causes"]) == (0, 0, {})


def test_each_sweep_of_git_is_seen(tmp_path: Path) -> None:
    sweeps = ("git add -A", "git add .", "git commit -am x", "git stash", "git stash -u", "git reset --hard",
              "git checkout .", "git restore .", "git checkout -- a.py")  # fmt: skip
    for number, command in enumerate(sweeps):
        home, cwd = tmp_path / str(number), f"{HOME}{number}"
        ann, bob = Claude(home, "ann", cwd=cwd), Claude(home, "bob", cwd=cwd)
        ann.call(0, "Read", file_path=f"{cwd}/a.py")
        ann.call(1, "Edit", file_path=f"{cwd}/a.py", old_string="a", new_string="b")
        bob.call(9, "Bash", command=command)
        found = look(home)
        assert (found["swept"], found["refused"]["commands"]) == (1, 1), command
        assert found["sweeps"][0]["files"] == ["a.py"], command


def test_git_clean_takes_new_files_only(tmp_path: Path) -> None:
    ann, bob = Claude(tmp_path, "ann"), Claude(tmp_path, "bob")
    ann.call(0, "Write", file_path=f"{HOME}/new.py", content="x = 1\n")
    ann.call(1, "Read", file_path=f"{HOME}/old.py")
    ann.call(2, "Edit", file_path=f"{HOME}/old.py", old_string="a", new_string="b")
    bob.call(9, "Bash", command="git clean -fd")
    assert [one["files"] for one in look(tmp_path)["sweeps"]] == [["new.py"]]


def test_a_command_that_names_a_file_edits_it(tmp_path: Path) -> None:
    ann, bob = Claude(tmp_path, "ann"), Claude(tmp_path, "bob")
    ann.call(0, "Edit", file_path=f"{HOME}/a.txt", old_string="a", new_string="b")
    bob.call(9, "Bash", command="echo hello > a.txt")
    found = look(tmp_path)
    assert (found["near"]["1"], found["refused"]) == (1, {"commands": 1, "edits": 0, "first": 1})


def test_a_second_try_is_counted_but_is_no_second_stop(tmp_path: Path) -> None:
    ann, bob = Claude(tmp_path, "ann"), Claude(tmp_path, "bob")
    ann.call(0, "Edit", file_path=f"{HOME}/a.py", old_string="a", new_string="b")
    for seconds in (5, 6, 7):
        bob.call(seconds, "Edit", file_path=f"{HOME}/a.py", old_string="b", new_string="c")
    found = look(tmp_path)
    assert found["refused"] == {"commands": 0, "edits": 3, "first": 1}
    assert [one["repeated"] for one in found["refusals"]] == [3]


def test_a_migration_is_refused_alone_and_says_so(tmp_path: Path) -> None:
    Claude(tmp_path, "ann").call(0, "Write", file_path=f"{HOME}/migrations/0001_first.sql", content="select 1")
    found = look(tmp_path)
    assert found["refused_alone"] == {"commands": 0, "edits": 1}
    assert found["refusals"][0]["alone"]


def test_only_what_is_recent_counts_with_since(tmp_path: Path) -> None:
    from dibs.machine import clock
    from tests.lookback.recorded import at

    play(tmp_path)
    assert look(tmp_path, since=clock.of_iso(at(1300)[:19] + ".000Z"))["calls"] == 2


def test_a_call_without_a_time_is_counted_as_such(tmp_path: Path) -> None:
    ann = Claude(tmp_path, "ann")
    ann.line(type="user", sessionId="ann", message={"content": "go"})
    found = look(tmp_path)
    assert (found["prompts"], found["unread"]["lines"]) == (0, {"claude: without a time": 1})
