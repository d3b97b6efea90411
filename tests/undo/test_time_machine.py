"""Files, an agent's files and trees as they were at a time; who changed them and why; what changed since."""

from __future__ import annotations

import subprocess
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Invalid
from dibs.machine import moments
from tests.interfaces.repository import DIBS

if TYPE_CHECKING:
    from tests.interfaces.repository import Agent, Repository

DAY_MS = 86_400_000


def now() -> str:
    """This moment, as `--at` takes it, and none of what follows is in it."""
    time.sleep(0.03)  # an inode's time is that of the last tick of the system's clock
    text = datetime.now().astimezone().isoformat(timespec="milliseconds")
    time.sleep(0.03)
    return text


def said(repo: Repository, *words: str) -> str:
    """What a person reads."""
    done = subprocess.run([DIBS, *words], cwd=repo.folder, env={**repo.env, "PATH": repo.path}, capture_output=True,
                          text=True, check=False)  # fmt: skip
    return done.stdout + done.stderr


def text(repo: Repository, name: str) -> str:
    return (repo.folder / name).read_text()


def test_a_file_is_what_it_was_and_that_is_a_state_too(repo: Repository) -> None:
    ada = repo.agent("ada")
    ada.boot()
    ada.edit("a.py", "one\n")
    first = now()
    ada.edit("a.py", "two\n")
    ada.edit("b.py", "of b\n")
    second = now()
    answer = ada.dibs("restore", "a.py", "--at", first)
    assert (answer["files"], answer["count"], text(repo, "a.py")) == (["a.py"], 1, "one\n")
    assert text(repo, "b.py") == "of b\n"
    assert ada.dibs("restore", "a.py", "--at", second)["ok"]
    assert text(repo, "a.py") == "two\n"
    left = ada.dibs("undo", answer["undo"], "--dry-run")["error"]
    assert left["code"] == "not_found", "the second restore has taken its place"
    found = repo.person.dibs("timeline", "a.py")
    assert (found["kind"], found["name"], found["more"]) == ("file", "a.py", False)
    assert [one["change"] for one in found["states"]] == ["modified"] * 4
    assert found["states"][0]["id"] == found["states"][2]["id"]
    assert [one["names"] for one in found["states"]] == [["ada"]] * 4
    assert repo.person.dibs("verify")["ok"]


def built_on(repo: Repository) -> tuple[Agent, list[str], str]:
    """Bob builds on what ada changed: ada, the lines that were there, and the time before ada's change."""
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.boot()
    bob.boot()
    lines = [f"line {number}\n" for number in range(9)]
    ada.edit("a.py", "".join(lines))
    first = now()
    ada.edit("a.py", "".join([*lines[:8], "of ada\n"]))
    repo.terminal("release", "a.py", "--force", "--why", "to test")
    bob.read("a.py")
    bob.edit("a.py", "".join(["of bob\n", *lines[1:8], "of ada\n"]))
    repo.terminal("release", "a.py", "--force", "--why", "to test")
    return ada, lines, first


def test_a_restore_is_refused_where_another_agent_has_built_on_it(repo: Repository) -> None:
    ada, lines, first = built_on(repo)
    for who in (ada, repo.person):
        refused = who.dibs("restore", "a.py", "--at", first)["error"]
        assert (refused["code"], refused["paths"]) == ("conflict", ["a.py"])
        assert "bob changed it" in refused["message"]
        assert "--merge" in refused["message"]
    refused = repo.person.dibs("restore", "ada", "--at", first)["error"]
    assert refused["code"] == "conflict"
    assert text(repo, "a.py").startswith("of bob\n")
    assert repo.terminal("restore", "ada", "--at", first, "--merge")["files"] == ["a.py"]
    assert text(repo, "a.py") == "".join(["of bob\n", *lines[1:]])


def test_merging_a_file_back_keeps_what_the_others_built(repo: Repository) -> None:
    _, lines, first = built_on(repo)
    answer = repo.terminal("restore", "a.py", "--at", first, "--merge")
    assert answer["ok"], answer
    assert text(repo, "a.py") == "".join(["of bob\n", *lines[1:]])


def test_an_agents_files_go_back_and_no_commit_is_made(repo: Repository) -> None:
    ada = repo.agent("ada")
    ada.boot()
    ada.edit("a.py", "one\n")
    first = now()
    ada.edit("a.py", "two\n")
    ada.edit("new.py", "new\n")
    ada.bash("rm b.py")
    ada.bash("git add -A && git commit -qm mine")
    head = repo.git("rev-parse", "HEAD")
    answer = ada.dibs("restore", "ada", "--at", first)
    assert sorted(answer["files"]) == ["a.py", "b.py", "new.py"]
    assert (text(repo, "a.py"), text(repo, "b.py")) == ("one\n", "b.py at first\n")
    assert not (repo.folder / "new.py").exists()
    assert repo.git("rev-parse", "HEAD") == head


def test_an_agent_may_not_take_anothers_work_back(repo: Repository) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    ada.boot()
    bob.boot()
    ada.edit("a.py", "one\n")
    first = now()
    ada.edit("a.py", "two\n")
    assert bob.dibs("restore", "ada", "--at", first)["error"]["code"] in {"forbidden", "held"}
    assert bob.dibs("restore", "a.py", "--at", first)["error"]["code"] in {"conflict", "forbidden", "held"}
    assert text(repo, "a.py") == "two\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("restore", "--at", "5m"), "invalid"),
        (("restore", "a.py", "--at", "noon"), "invalid"),
        (("restore", "a.py", "--at", "2999-01-01"), "invalid"),
        (("restore", "a.py", "--at", "99:99"), "invalid"),
        (("restore", "a.py", "--at", "5m"), "not_found"),
        (("restore", "nothing-of-that-name", "--at", "5m"), "not_found"),
        (("diff",), "invalid"),
        (("diff", "nothing-of-that-name", "--at", "5m"), "not_found"),
        (("diff", "--at", "5m"), "not_found"),
        (("timeline", "nothing-of-that-name"), "not_found"),
        (("timeline", "agent:nobody"), "not_found"),
        (("timeline", " "), "invalid"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_a_clear_error(repo: Repository, words: tuple[str, ...], code: str) -> None:
    assert repo.person.dibs(*words)["error"]["code"] == code


def test_the_difference_since_a_time_is_shown(repo: Repository) -> None:
    del repo.env["DIBS_STATES"]
    ada = repo.agent("ada")
    ada.boot()
    ada.edit("a.py", "one\n")
    end = time.monotonic() + 60
    while not (found := repo.person.dibs("timeline", "tree:repo"))["states"]:
        assert time.monotonic() < end
    assert found["states"][-1]["branch"] == "main"
    first = now()
    ada.edit("a.py", "two\n")
    ada.edit("new.py", "new\n")
    answer = repo.person.dibs("diff", "--at", first)
    files: dict[str, Any] = {one["path"]: one for one in answer["files"]}
    assert {name: (one["change"], one["added"], one["removed"]) for name, one in files.items()} == {
        "a.py": ("modified", 1, 1), "new.py": ("added", 1, 0),
    }  # fmt: skip
    assert "-one\n+two" in files["a.py"]["diff"]
    assert [one["path"] for one in repo.person.dibs("diff", "a.py", "--at", first)["files"]] == ["a.py"]
    assert [one["path"] for one in repo.person.dibs("diff", "ada", "--at", first)["files"]] == ["a.py", "new.py"]
    assert "of repo changed in the last" in said(repo, "diff", "--at", first)
    assert "+two" in said(repo, "diff", "a.py", "--at", first)


def test_a_timeline_says_who_and_why_also_of_a_tree_that_is_gone(repo: Repository) -> None:
    tree = repo.worktree("topic")
    ada = repo.agent("ada", cwd=tree)
    ada.boot()
    assert ada.dibs("claim", "a.py", "--reason", "new parser")["ok"]
    ada.edit("a.py", "one\n")
    (state,) = ada.dibs("timeline", "a.py")["states"]
    assert (state["names"], state["why"], state["tree"], state["change"]) == (
        ["ada"],
        "new parser",
        str(tree),
        "modified",
    )
    repo.git("worktree", "remove", "--force", str(tree))
    (state,) = repo.person.dibs("timeline", "ada")["states"]
    assert (state["paths"], state["tree"]) == (["a.py"], str(tree))
    lines = said(repo, "timeline", "ada")
    assert "modified by ada" in lines
    assert "new parser" in lines
    (state,) = repo.person.dibs("timeline", "ada", "--limit", "1")["states"]
    assert state["paths"] == ["a.py"]


# --- times


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("14:32", "2026-07-01 14:32:59.999"), ("14:32:05", "2026-07-01 14:32:05.999"),
        ("18:00", "2026-07-01 18:00:00.000"), ("18:01", "2026-06-30 18:01:59.999"), ("20m", "2026-07-01 17:40:00.000"),
        ("1d", "2026-06-30 18:00:00.000"), ("2026-06-30T10:00", "2026-06-30 10:00:00.000"),
        ("2026-06-30", "2026-06-30 00:00:00.000"), (" 14:32 ", "2026-07-01 14:32:59.999"),
    ],
)  # fmt: skip
def test_moments_are_read_as_people_write_them(word: str, expected: str) -> None:
    here = round(datetime(2026, 7, 1, 18, 0).astimezone().timestamp() * 1000)
    found = moments.parse(word, "at", here)
    assert datetime.fromtimestamp(found / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] == expected


@pytest.mark.parametrize("word", ["", "x", "25:00", "1:2:3:4", "-5m", "14:32x", "2026-13-01", "9" * 50, "nand", ":"])
def test_what_is_no_time_is_refused(word: str) -> None:
    with pytest.raises(Invalid):
        moments.parse(word, "at", 1_800_000_000_000)


def test_a_time_with_a_zone_is_that_moment() -> None:
    assert moments.parse("2026-06-30T10:00:00Z", "at", 1_800_000_000_000) == 1_782_813_600_000
    assert moments.parse("2026-06-30T12:00:00+02:00", "at", 1_800_000_000_000) == 1_782_813_600_000
