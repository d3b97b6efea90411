"""The files that a patch names: Codex's format, and diffs that git itself has made."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.shell import patches
from tests.plain_git import git

PATCH = """\
*** Begin Patch
*** Add File: new/file.py
+hello
+*** Delete File: not this one
*** Update File: src/with space.py
*** Move to: src/moved.py
@@ def f():
-    old
+    new
 *** Update File: a line of context that stays
*** Delete File: /abs/gone.py
*** End Patch
"""
FOUND = [
    ("add", "new/file.py"),
    ("update", "src/with space.py"),
    ("move", "src/moved.py"),
    ("delete", "/abs/gone.py"),
]


def test_every_file_of_a_patch_is_found_and_lines_of_content_are_not() -> None:
    assert patches.paths(PATCH) == FOUND


def test_line_ends_of_windows_make_no_difference() -> None:
    assert patches.paths(PATCH.replace("\n", "\r\n")) == FOUND


def test_noise_around_the_patch_makes_no_difference() -> None:
    assert patches.paths(f"apply_patch <<'EOF'\n{PATCH}EOF\n") == FOUND
    assert patches.paths(f"\n\n  \n{PATCH}\n\ntrailing words") == FOUND
    assert patches.paths(f"cd x && apply_patch <<'EOF'\n{PATCH}EOF\necho done") == FOUND


def test_a_header_with_blanks_before_it_is_a_header_outside_of_a_hunk() -> None:
    assert patches.paths("*** Begin Patch\n  *** Update File: a\n@@\n-x\n+y\n*** End Patch") == [("update", "a")]


@pytest.mark.parametrize(
    "text",
    [
        "*** Begin Patch\n*** End Patch", "*** Begin Patch", "*** Begin Patch\n*** Frobnicate File: x\n*** End Patch",
        "*** Begin Patch\n*** Update File:\n*** End Patch", "*** Begin Patch\n*** Add File:   \n+x\n*** End Patch",
    ],
)  # fmt: skip
def test_a_patch_without_a_readable_path_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="patch"):
        patches.paths(text)


def test_what_is_no_patch_names_nothing() -> None:
    assert patches.paths("hello\nworld") == []
    assert patches.diff_paths("hello\nworld\n--- not\nreally") == []


@given(st.text())
def test_no_text_makes_it_fail(text: str) -> None:
    assert isinstance(patches.diff_paths(text), list)
    try:
        assert all(path for _, path in patches.paths(text))
    except ValueError as refused:
        assert "patch" in str(refused)


name = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n\0", exclude_categories=("Cc", "Zl", "Zp", "Zs")), min_size=1
)


@given(st.lists(st.tuples(st.sampled_from(["Add", "Update", "Delete"]), name), min_size=1))
def test_every_name_comes_back_as_it_was_written(files: list[tuple[str, str]]) -> None:
    text = "".join(f"*** {action} File: {path}\n@@\n-*** Add File: x\n+*** Add File: y\n" for action, path in files)
    assert patches.paths(f"*** Begin Patch\n{text}*** End Patch") == [(action.lower(), path) for action, path in files]


@pytest.mark.parametrize("prefixes", ["", "--no-prefix", "--src-prefix=a/ --dst-prefix=b/"])
def test_the_files_of_a_diff_that_git_made_are_found(tmp_path: Path, prefixes: str) -> None:
    git(tmp_path, "init", "-q")
    names = [
        "plain",
        "with space",
        "deep/er/x",
        "é",
        'quo"te',
        "tab\there",
        "gone",
        "old name",
        "bin",
        "mode",
        "back\\slash",
    ]
    for path in names:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("".join(f"line {number} of {path}\n" for number in range(20)))
    (tmp_path / "bin").write_bytes(bytes(range(256)))
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "x")
    for path in names[:6] + names[-1:]:
        (tmp_path / path).write_text("-- a header?\n++ b/another\n" + (tmp_path / path).read_text())
    (tmp_path / "gone").unlink()
    (tmp_path / "old name").rename(tmp_path / "new name")
    (tmp_path / "bin").write_bytes(b"\0\1")
    (tmp_path / "mode").chmod(0o755)
    (tmp_path / "fresh file").write_text("new\n")
    git(tmp_path, "add", "-A")
    text = git(tmp_path, "diff", "--cached", "-M", *prefixes.split())
    changed = {one for one in git(tmp_path, "diff", "--cached", "--name-only", "--no-renames", "-z").split("\0") if one}
    assert changed == {*names, "new name", "fresh file"}
    assert set(patches.diff_paths(text)) == changed
    if not prefixes.startswith("--no"):
        stripped = {path for path in patches.stripped(text, 1) if path}
        assert changed <= stripped | {"old name", "new name"}


def test_the_files_of_a_plain_diff_are_found(tmp_path: Path) -> None:
    for side, text in (("old", "one\n"), ("new", "two\n")):
        (tmp_path / side).mkdir()
        (tmp_path / side / "f.txt").write_text(text)
    (tmp_path / "new/only").write_text("x\n")
    done = subprocess.run(["diff", "-ruN", "old", "new"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert set(patches.diff_paths(done.stdout)) == {"old/f.txt", "new/f.txt", "old/only", "new/only"}
    assert set(patches.stripped(done.stdout, 1)) == {"f.txt", "only"}


def test_lines_of_a_hunk_that_look_like_headers_name_nothing() -> None:
    text = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/no\n+++ b/no\n same\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-z\n"
    assert patches.diff_paths(text) == ["x", "y"]
