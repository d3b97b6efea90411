"""A small file of dibs is written whole or not at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from dibs.machine import atomic_write, clock

if TYPE_CHECKING:
    from pathlib import Path


def test_the_file_has_the_new_content_and_nothing_else_stays(tmp_path: Path) -> None:
    path = tmp_path / "pin"
    path.write_text("old, and longer than the new one")
    atomic_write.replace(str(path), "new", mode=atomic_write.PRIVATE_MODE, sync=True)
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["pin"]


def test_a_path_that_cannot_be_written_raises_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(IsADirectoryError):
        atomic_write.replace(str(folder), "text")
    with pytest.raises(UnicodeError):
        atomic_write.replace(str(tmp_path / "half"), "\ud83d")
    assert os.listdir(tmp_path) == ["folder"]


def test_a_temporary_file_of_a_killed_process_is_not_written_through(tmp_path: Path) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    other.write_text("another file")
    os.symlink(other, clock.temporary(str(path)))
    atomic_write.replace(str(path), "text")
    assert (path.read_text(), other.read_text()) == ("text", "another file")
    assert not path.is_symlink()


def test_the_bytes_of_a_name_that_is_no_text_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "file"
    atomic_write.replace(str(path), os.fsdecode(b"caf\xe9"))
    assert path.read_bytes() == b"caf\xe9"
