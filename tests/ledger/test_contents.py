"""Contents of files: what a look shows without reading, ids as git gives them, git's index, and copies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dibs.ledger import contents
from dibs.ledger.contents import CTIME_TICK_NS, MISSING, Index
from tests.plain_git import git

MB = 1024 * 1024


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main", ".")
    return tmp_path


# --- signatures


def test_a_change_with_the_old_size_and_the_old_mtime_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"one")
    before, times = contents.signature(str(path)), path.stat()
    with path.open("r+b") as file:
        file.write(b"two")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    while contents.signature(str(path)) == before:  # the clock of inodes ticks every few milliseconds
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    after = contents.signature(str(path))
    assert before.split(":")[:2] == after.split(":")[:2]
    assert before.split(":")[2] != after.split(":")[2]


def test_another_file_under_the_same_name_is_seen(tmp_path: Path) -> None:
    path, other = tmp_path / "x", tmp_path / "y"
    path.write_bytes(b"one")
    other.write_bytes(b"one")
    before = contents.signature(str(path))
    other.rename(path)
    assert contents.signature(str(path)).split(":")[3] != before.split(":")[3]


def test_what_is_no_file_is_missing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("never", "folder", "never/below", "a\0b", "x" * 5000):
        assert contents.signature(str(tmp_path / name)) == MISSING
        assert contents.read(str(tmp_path / name)) == (MISSING, None)
    assert contents.read(str(tmp_path / "pipe")) == (MISSING, None), "a pipe keeps nobody waiting"


def test_a_file_that_was_written_within_a_tick_before_a_look_may_change_unseen() -> None:
    signature = f"3:{5 * CTIME_TICK_NS}:{7 * CTIME_TICK_NS}:1"
    assert contents.is_racy(signature, 7 * CTIME_TICK_NS)
    assert contents.is_racy(signature, 8 * CTIME_TICK_NS)
    assert not contents.is_racy(signature, 8 * CTIME_TICK_NS + 1)
    assert not contents.is_racy(MISSING, 0)


def test_a_file_changed_when_its_inode_did_and_one_that_is_gone_when_its_directory_did(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "deep" / "x"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"one")
    os.utime(path, ns=(1, 1))
    assert contents.changed_at(str(path), contents.signature(str(path))) == path.stat().st_ctime_ns
    path.unlink()
    assert contents.changed_at(str(path), MISSING) == path.parent.stat().st_mtime_ns
    path.parent.rmdir()
    assert contents.changed_at(str(path), MISSING) == (tmp_path / "sub").stat().st_mtime_ns


# --- ids


@pytest.mark.parametrize("size", [0, 1, 4096, MB - 1, MB, MB + 1, 4 * MB])
def test_a_content_has_gits_own_id(repo: Path, size: int) -> None:
    data = os.urandom(size)
    (repo / "x").write_bytes(data)
    expected = git(repo, "hash-object", "--no-filters", "x")
    assert contents.blob_id(data) == expected
    assert contents.read(str(repo / "x")) == (expected, data)


def test_a_big_file_is_known_by_a_sample_of_its_size_and_of_blocks_spread_over_it(tmp_path: Path) -> None:
    path = tmp_path / "x"
    size = 5 * MB + 123
    path.write_bytes(bytes(size))
    first, data = contents.read(str(path))
    assert data is None
    assert first.startswith("~")
    assert len(first) == 40
    assert contents.read(str(path))[0] == first

    seen = set()
    for place in (0, size - 1, (size - contents.SAMPLE_BLOCK_BYTES) * 20 // (contents.SAMPLE_BLOCKS - 1)):
        with path.open("r+b") as file:
            file.seek(place)
            file.write(b"x")
        seen.add(contents.read(str(path))[0])
    path.write_bytes(bytes(size + 1))
    seen.add(contents.read(str(path))[0])
    assert first not in seen
    assert len(seen) == 4


@pytest.mark.parametrize("size", [4 * MB + 1, 4 * MB + 4096, 64 * MB + 1])
def test_a_sample_reads_little_and_stays_within_the_file(tmp_path: Path, size: int) -> None:
    path = tmp_path / "x"
    with path.open("wb") as file:
        file.truncate(size)
    assert contents.read(str(path))[0].startswith("~")


# --- git's index

PATHS = [
    "a", "aa", "a.py", "a.pyc", "ba.py", "lib/a.py", "lib/lib/a.py", "a.py.orig", "x/a", "b a c", "täst.py",
    "日本/語.txt", "lib/a", "lib.py", "z" * 200, "deep/" * 40 + "x", "n" * 100 + "/" + "m" * 100, "-dash", "a b/c d",
    'q"uote', "tab\there",
]  # fmt: skip


def fill(repo: Path) -> dict[str, str]:
    """A commit with many paths; what git says their blobs are."""
    for number, name in enumerate(PATHS):
        path = repo / name
        if any(other != name and other.startswith(f"{name}/") for other in PATHS):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content {number} of {name}\n" * (number + 1))
    git(repo, "add", "-A")
    found = {}
    for row in git(repo, "ls-files", "-s", "-z").split("\0"):
        if row:
            facts, _, name = row.partition("\t")
            found[name] = facts.split()[1]
    return found


@pytest.mark.parametrize("version", [2, 3])
def test_the_index_says_of_each_path_what_git_says(repo: Path, version: int) -> None:
    known = fill(repo)
    git(repo, "update-index", f"--index-version={version}")
    if version == 3:  # git writes version 3 only if it needs the second flags
        (repo / "intended").write_text("later\n")
        git(repo, "add", "-N", "intended")
        git(repo, "update-index", "--skip-worktree", "a.py", "lib/a.py")
    assert (repo / ".git" / "index").read_bytes()[7] == version
    index = Index(str(repo / ".git"))
    assert len(known) > 15
    assert {name: index.blob(name) for name in known} == known
    for name in ("no", "a.p", "ib/a.py", "/a.py", "lib", "deep", ".py", "a.py\0", "c", "DIRC", "aaa"):
        assert index.blob(name) == MISSING, name


def test_a_path_longer_than_the_flags_can_say_is_found(repo: Path) -> None:
    blob = git(repo, "hash-object", "-w", "--stdin", given=b"far down\n")
    far = "/".join(["d" * 200] * 25)
    git(repo, "update-index", "-z", "--index-info", given=f"100644 {blob}\t{far}\0".encode())
    assert Index(str(repo / ".git")).blob(far) == blob


@pytest.mark.parametrize("how", ["version 4", "none", "empty", "garbage", "cut off"])
def test_an_index_that_cannot_be_read_here_has_nothing(repo: Path, how: str) -> None:
    """Which only means that somebody is noted to own what is there."""
    fill(repo)
    path = repo / ".git" / "index"
    if how == "version 4":
        git(repo, "update-index", "--index-version=4")
    elif how == "none":
        path.unlink()
    else:
        path.write_bytes({"empty": b"", "garbage": b"\xff" * 300, "cut off": b"DIRC\0\0\0\2"}[how])
    index = Index(str(repo / ".git"))
    assert [index.blob(name) for name in PATHS] == [MISSING] * len(PATHS)
    assert Index("").blob("a.py") == MISSING


def test_a_path_in_a_merge_has_no_one_content(repo: Path) -> None:
    blob = git(repo, "hash-object", "-w", "--stdin", given=b"x")
    rows = [f"100644 {blob} {stage}\tx.py" for stage in (1, 2, 3)]
    git(repo, "update-index", "--index-info", given="\n".join(rows).encode() + b"\n")
    assert Index(str(repo / ".git")).blob("x.py") == MISSING


# --- copies


def test_what_is_kept_comes_back_and_keeping_it_again_changes_nothing(tmp_path: Path) -> None:
    for data in (b"", b"one", bytes(range(256)) * 1000):
        blob = contents.blob_id(data)
        contents.keep(str(tmp_path), blob, data)
        contents.keep(str(tmp_path), blob, data)
        assert contents.kept(str(tmp_path), blob) == data
    assert contents.kept(str(tmp_path), contents.blob_id(b"never")) is None
    assert [path for path in tmp_path.rglob("*.*") if path.is_file()] == []


def test_a_damaged_copy_is_found_out(tmp_path: Path) -> None:
    blob = contents.blob_id(b"one")
    contents.keep(str(tmp_path), blob, b"one")
    (tmp_path / blob[:2] / blob[2:]).write_bytes(b"two")
    assert contents.kept(str(tmp_path), blob) is None


@pytest.mark.parametrize("blob", ["", "-", "?", "../../etc/passwd", "g" * 40, "~" + "/" * 39, "0" * 41])
def test_what_is_no_id_is_not_kept_anywhere(tmp_path: Path, blob: str) -> None:
    assert contents.kept(str(tmp_path), blob) is None


def test_a_big_file_is_kept_by_copying_it_as_it_is(tmp_path: Path) -> None:
    path, folder = tmp_path / "x", tmp_path / "kept"
    path.write_bytes(os.urandom(5 * MB))
    data, (blob, _) = path.read_bytes(), contents.read(str(path))
    for _ in range(2):
        contents.keep_file(str(folder), blob, str(path))
    path.write_bytes(b"overwritten")
    assert contents.kept(str(folder), blob) == data
    contents.keep_file(str(folder), "~" + "1" * 39, str(tmp_path / "never"))
    assert contents.kept(str(folder), "~" + "1" * 39) is None


def test_where_a_copy_cannot_be_kept_nothing_breaks(tmp_path: Path) -> None:
    (tmp_path / "in the way").write_bytes(b"")
    folder = str(tmp_path / "in the way" / "objects")
    contents.keep(folder, contents.blob_id(b"one"), b"one")
    contents.keep_file(folder, "~" + "1" * 39, str(tmp_path / "in the way"))
    assert contents.kept(folder, contents.blob_id(b"one")) is None
