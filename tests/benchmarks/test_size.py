"""What counts as a line of code."""

from __future__ import annotations

from pathlib import Path

from tools.size import Size, rooms, size_of

SOURCE = '''"""A docstring
of two lines."""

import os  # a comment next to code


# a comment alone
def first() -> str:
    """One line."""
    return (
        """a text
of two lines, which is no docstring"""
    )
'''


def test_comments_docstrings_and_blank_lines_are_no_code() -> None:
    assert size_of(SOURCE) == Size(files=1, code=6, lines=13)


def test_the_files_of_a_folder_are_counted_as_that_room_alone(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "top.py").write_text("x = 1\n")
    (tmp_path / "room" / "a.py").write_text(SOURCE)
    (tmp_path / "room" / "b.py").write_text("")
    assert rooms(tmp_path) == {".": Size(1, 1, 1), "room": Size(2, 6, 13)}
