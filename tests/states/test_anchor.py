"""A state is the working copy byte for byte, costs little, and outlives its tree, git's clean-ups and kill -9."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from dibs.git import objects, queries, sides, snapshots
from dibs.ledger import working_tree
from dibs.machine import clock
from dibs.states import anchor, at_time, request, retention, store
from dibs.states.store import Store
from dibs.undo import restore_tree
from dibs.workspace import location
from tests.states.trees import Picture, Trees, git, picture

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dibs.workspace.location import Place

PATIENCE_S = 60.0


def change(trees: Trees) -> Picture:
    """One of everything that can differ from HEAD; what is there then."""
    top = trees.topic
    trees.put(top, "a.txt", b"changed\r\nwith \0 bytes\xff")
    (top / "b.txt").unlink()
    (top / "sub" / "c.txt").chmod(0o755)
    trees.put(top, "new file", b"new\n")
    trees.put(top, "deep/er/x", b"")
    trees.put(top, 'n\nl "q" \t\udce9'.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape"), b"odd\n")
    (top / "link").symlink_to("nowhere/at all")
    (top / "sub" / "d.txt").unlink()
    (top / "sub" / "d.txt").symlink_to("c.txt")
    trees.put(top, "x.log", b"ignored")
    trees.put(top, "build/out", b"ignored")
    trees.put(top, "staged.txt", b"staged\n")
    git(top, "add", "staged.txt")
    return picture(top, ["x.log", "build/out"])


def written(trees: Trees, to: Path, at: int | None = None) -> Picture:
    """What a state brings back into a folder."""
    place = trees.place(trees.main)
    top = str(trees.topic)
    past = at_time.Past(Store(place), at_time.ledger_of(place, top, at), top, at)
    restore_tree.export(past, str(to))
    assert restore_tree.fill(past, str(to)) == []
    return picture(to)


def test_a_state_has_the_working_copy_byte_for_byte(trees: Trees, tmp_path: Path) -> None:
    there = change(trees)
    before = git(trees.topic, "status", "--porcelain", "-uall"), git(trees.main, "for-each-ref")
    record = trees.take()
    assert record is not None
    assert (record["head"], record["branch"]) == (git(trees.topic, "rev-parse", "HEAD"), "topic")
    assert written(trees, tmp_path / "back") == there
    assert before == (git(trees.topic, "status", "--porcelain", "-uall"), git(trees.main, "for-each-ref"))


def test_git_sees_nothing_of_it(trees: Trees) -> None:
    change(trees)
    count = git(trees.main, "count-objects", "-v")
    trees.take()
    assert git(trees.main, "count-objects", "-v") == count
    assert git(trees.main, "log", "--all", "--oneline").count("\n") == 0
    assert "dibs" not in git(trees.main, "for-each-ref")
    git(trees.main, "init", "-q", "--bare", str(trees.main.parent / "other.git"))
    git(trees.main, "push", "-q", "--mirror", str(trees.main.parent / "other.git"))
    refs = git(trees.main.parent / "other.git", "for-each-ref", "--format=%(refname)")
    assert refs.split() == ["refs/heads/main", "refs/heads/topic"]
    git(trees.main, "fsck", "--strict")


def test_only_news_makes_a_state(trees: Trees) -> None:
    assert trees.take() is not None
    assert trees.take() is None
    trees.put(trees.topic, "x.log", b"ignored")
    assert trees.take() is None
    trees.put(trees.topic, "a.txt", b"1\n")
    assert trees.take() is not None
    os.utime(trees.topic / "a.txt")
    assert trees.take() is None, "the same content"
    git(trees.topic, "commit", "-qam", "one")
    assert trees.take() is not None, "another HEAD"
    assert len(trees.records()) == 3


def test_a_change_within_a_tick_of_the_clock_is_a_state(trees: Trees, tmp_path: Path) -> None:
    trees.put(trees.topic, "a.txt", b"1\n")
    trees.take()
    trees.put(trees.topic, "a.txt", b"2\n")
    folder = trees.folder()
    marks = snapshots.marks(str(trees.topic), queries.dirty(str(trees.topic)), most=9, largest=99)[0]
    anchor.remember(folder, {**anchor.read_known(folder), "marks": marks})  # as if its times were the same
    assert trees.take() is not None
    assert written(trees, tmp_path / "back")["a.txt"] == ("plain", b"2\n")


def test_it_outlives_its_tree_its_branch_and_every_clean_up_of_git(trees: Trees, tmp_path: Path) -> None:
    trees.put(trees.topic, "committed.txt", b"in a commit\n")
    git(trees.topic, "add", "-A")
    git(trees.topic, "commit", "-qm", "never landed")
    head = git(trees.topic, "rev-parse", "HEAD")
    there = change(trees)
    assert trees.take() is not None
    shutil.rmtree(trees.topic)
    git(trees.main, "worktree", "prune")
    git(trees.main, "branch", "-D", "topic")
    git(trees.main, "reflog", "expire", "--expire=now", "--all")
    git(trees.main, "gc", "-q", "--prune=now")
    assert git(trees.main, "cat-file", "-e", head, check=False) == ""
    assert subprocess.run(
        ["git", "-C", trees.main, "cat-file", "-e", head], check=False, capture_output=True
    ).returncode
    place = trees.place(trees.main)
    retention.tidy(place, 7 * 86_400_000, 1 << 30)
    assert written(trees, tmp_path / "back") == there


def test_a_repository_without_a_commit_has_states(tmp_path: Path) -> None:
    top = tmp_path / "fresh"
    top.mkdir()
    git(top, "init", "-q", "-b", "main", ".")
    (top / ".dibs").mkdir()
    (top / "a.txt").write_text("1\n")
    place = anchor_place(top)
    record = anchor.take(place)
    assert record is not None
    assert (record["head"], record["branch"]) == ("", "main")
    past = at_time.Past(Store(place), os.path.realpath(place.private), str(top), None)
    assert past.content(past.entries["a.txt"]) == b"1\n"


def anchor_place(top: Path) -> Place:
    place = location.find(str(top), None)
    os.makedirs(place.private, exist_ok=True)
    working_tree.of(place)
    return place


def test_contents_are_kept_as_they_are_although_git_would_change_them(trees: Trees, tmp_path: Path) -> None:
    trees.put(trees.topic, ".gitattributes", b"* text=auto eol=lf\n*.up filter=up\n")
    git(trees.topic, "config", "filter.up.clean", "tr a-z A-Z")
    trees.put(trees.topic, "crlf.txt", b"one\r\ntwo\r\n")
    trees.put(trees.topic, "x.up", b"small letters\n")
    there = picture(trees.topic)
    trees.take()
    assert written(trees, tmp_path / "back") == there


def test_files_that_a_sparse_checkout_leaves_out_are_not_deleted(trees: Trees, tmp_path: Path) -> None:
    git(trees.topic, "sparse-checkout", "set", "--no-cone", "/*", "!/sub/")
    assert not (trees.topic / "sub").exists()
    trees.put(trees.topic, "a.txt", b"1\n")
    trees.take()
    back = written(trees, tmp_path / "back")
    assert back["a.txt"] == ("plain", b"1\n")
    assert back["sub/c.txt"] == ("plain", b"sub/c.txt at first\n")


def test_a_repository_inside_is_left_out(trees: Trees, tmp_path: Path) -> None:
    git(trees.topic, "init", "-q", "inner")
    trees.put(trees.topic, "inner/x", b"1\n")
    trees.put(trees.topic, "a.txt", b"1\n")
    trees.take()
    assert sorted(written(trees, tmp_path / "back")) == [".gitignore", "a.txt", "b.txt", "sub/c.txt", "sub/d.txt"]


def test_what_is_too_large_or_too_many_is_named(trees: Trees, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anchor, "MAX_FILE_BYTES", 100)
    monkeypatch.setattr(anchor, "MAX_FILES", 3)
    trees.put(trees.topic, "huge", bytes(101))
    trees.put(trees.topic, "a.txt", bytes(101))
    trees.put(trees.topic, "b.txt", b"1\n")
    record = trees.take()
    assert record is not None
    assert record["notes"] == ["huge is untracked and too large to be looked at", "a.txt is too large, or no file"]
    for number in range(4):
        trees.put(trees.topic, f"many/{number}", b"")
    record = trees.take()
    assert record is not None
    assert "2 untracked files left out" in record["notes"]


def test_times_of_states_rise_whatever_the_clock_does(trees: Trees, monkeypatch: pytest.MonkeyPatch) -> None:
    trees.take()
    first = trees.records()[0]["at"]
    monkeypatch.setattr(clock, "wall", lambda: first - 3_600_000)
    trees.put(trees.topic, "a.txt", b"1\n")
    trees.take()
    assert trees.records()[1]["at"] == first + 1


def test_a_failure_is_noted_until_an_anchor_succeeds(trees: Trees, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(objects, "keep", full)
        trees.put(trees.topic, "a.txt", b"1\n")
        assert anchor.take_safely(trees.place()) is None
        assert store.failure(trees.folder()) == "No space left on device"
        assert trees.records() == []
    assert anchor.take_safely(trees.place()) is not None
    assert store.failure(trees.folder()) == ""


def test_a_torn_line_is_void_and_the_next_state_is_not(trees: Trees) -> None:
    trees.take()
    with open(f"{trees.folder()}/{store.RECORDS}", "ab") as file:
        file.write(b'{"at": 17, "id": "12')
    trees.put(trees.topic, "a.txt", b"1\n")
    trees.take()
    assert len(trees.records()) == 2


def test_two_anchors_at_once_leave_whole_states(trees: Trees, tmp_path: Path) -> None:
    change(trees)
    code = "import sys; from dibs.states import anchor; from dibs.workspace import location; "
    code += "anchor.take(location.find(sys.argv[1], None))"
    trees.folder()
    made = [subprocess.Popen([sys.executable, "-c", code, str(trees.topic)]) for _ in range(4)]
    assert [one.wait(PATIENCE_S) for one in made] == [0, 0, 0, 0]
    there = picture(trees.topic, ["x.log", "build/out"])
    for number, record in enumerate(trees.records()):
        assert written(trees, tmp_path / str(number), record["at"]) == there


@pytest.mark.parametrize("after_ms", range(0, 60, 6))
def test_an_anchor_that_is_killed_leaves_the_states_before_it(trees: Trees, tmp_path: Path, after_ms: int) -> None:
    trees.put(trees.topic, "a.txt", b"1\n")
    trees.take()
    there = picture(trees.topic)
    trees.put(trees.topic, "b.txt", b"2\n")
    code = "import sys; from dibs.states import anchor; from dibs.workspace import location; "
    code += "place = location.find(sys.argv[1], None); print('begun', flush=True); anchor.take(place)"
    line = [sys.executable, "-c", code, str(trees.topic)]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(after_ms / 1000)
        process.send_signal(signal.SIGKILL)
    first = trees.records()[0]
    assert written(trees, tmp_path / "before", first["at"]) == there
    retention.tidy(trees.place(), 7 * 86_400_000, 1 << 30)
    assert written(trees, tmp_path / "tidied", first["at"]) == there
    trees.take()
    assert written(trees, tmp_path / "after") == picture(trees.topic)


# --- how long, how much


def test_what_is_old_goes_and_the_last_state_of_a_tree_stays() -> None:
    day, now = 86_400_000, 20_000 * 86_400_000
    hour = day // 24
    rows = [
        {"at": now - at, "id": "", "tree": "", "head": "", "branch": "", "files": 0, "notes": []}
        for at in (9 * day, 8 * day, 3 * day + hour + 2, 3 * day + hour + 1, 2 * day, hour, 1)
    ]
    times = [now - row["at"] for row in retention.chosen(rows, now, 7 * day, is_there=True)]  # type: ignore[arg-type]
    assert times == [8 * day, 3 * day + hour + 1, 2 * day, hour, 1]
    times = [now - row["at"] for row in retention.chosen(rows, now, 7 * day, is_there=False)]  # type: ignore[arg-type]
    assert times[0] == 3 * day + hour + 1


def test_a_clean_up_keeps_every_state_and_deletes_what_none_needs(trees: Trees, tmp_path: Path) -> None:
    pictures: list[tuple[int, Picture]] = []
    for number in range(5):
        trees.put(trees.topic, "a.txt", os.urandom(20_000))
        if number == 2:
            git(trees.topic, "commit", "-qam", "two")
        record = trees.take()
        assert record is not None
        pictures.append((record["at"], picture(trees.topic)))
    kept = Store(trees.place())
    kept.keep(os.urandom(500_000))  # of an anchor that was killed
    assert kept.bytes() > 600_000
    retention.tidy(trees.place(), 7 * 86_400_000, 1 << 30)
    assert kept.bytes() < 150_000
    for number, (at, there) in enumerate(pictures):
        assert written(trees, tmp_path / str(number), at) == there
    retention.tidy(trees.place(), 7 * 86_400_000, 60_000)
    assert kept.bytes() <= 60_000
    assert trees.records()[-1]["at"] == pictures[-1][0], "the newest stay"
    assert written(trees, tmp_path / "last") == pictures[-1][1]
    trees.put(trees.topic, "b.txt", b"more\n")
    trees.take()
    assert written(trees, tmp_path / "next") == picture(trees.topic)


# --- the process behind the hooks


@pytest.mark.slow
def test_a_request_starts_one_process_that_ends_by_itself(trees: Trees, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(request.OFF)
    folder = trees.folder()
    trees.put(trees.topic, "a.txt", b"1\n")
    request.wanted(folder, str(trees.topic))
    wait_for(lambda: len(trees.records()) == 1)
    mine = request.turn(folder)
    assert mine is None, "it stays for the next request"
    trees.put(trees.topic, "a.txt", b"2\n")
    request.wanted(folder, str(trees.topic))
    wait_for(lambda: len(trees.records()) == 2)
    wait_for(lambda: is_free(folder))


def is_free(folder: str) -> bool:
    mine = request.turn(folder)
    if mine is not None:
        os.close(mine)
    return mine is not None


def test_nothing_is_anchored_where_the_config_or_the_environment_says_so(
    trees: Trees, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = trees.folder()
    request.wanted(folder, str(trees.topic))
    assert not os.path.exists(f"{folder}/{request.WANTED}")
    (trees.main / ".dibs" / "config.toml").write_text("[guards]\nstates = 0\n")
    monkeypatch.delenv(request.OFF)
    anchor.stay(str(trees.topic))
    assert trees.records() == []


def test_the_radar_and_the_states_make_trees_in_one_way(trees: Trees) -> None:
    change(trees)
    record = trees.take()
    assert record is not None
    kept = Store(trees.place())
    side = next(one for one in sides.worktrees(str(trees.main)) if one.branch == "topic")
    sides.look([side], kept.objects, kept.folder, {})
    tree = kept.objects.ask(str(trees.main), "rev-parse", f"{side.commit}^{{tree}}").strip()
    assert tree == record["tree"], "no filter of git's changes these files"
    assert queries.head(str(trees.topic)) == record["head"]


def wait_for(true: Callable[[], bool]) -> None:
    """Until it is so."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)
