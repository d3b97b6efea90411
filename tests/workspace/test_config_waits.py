"""`[guards] wait`: read, checked, and refused by name where it makes no sense."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dibs.errors import Invalid
from dibs.workspace import config

if TYPE_CHECKING:
    from pathlib import Path


def wait_of(folder: Path, line: str) -> int:
    path = folder / "config.toml"
    path.write_text(f"[guards]\n{line}\n")
    return config.parse(str(path))["policy"]["guards"]["wait"]


@pytest.mark.parametrize(("line", "ms"), [
    ("", 0), ('wait = "0"', 0), ("wait = 0", 0),
    ('wait = "90s"', 90_000), ("wait = 5", 5_000), ('wait = "1h"', 3_600_000),
])  # fmt: skip
def test_a_wait_is_a_duration_and_none_is_the_default(tmp_path: Path, line: str, ms: int) -> None:
    assert wait_of(tmp_path, line) == ms


@pytest.mark.parametrize("line", ['wait = "soon"', "wait = true", "wait = -1", 'wait = "2h"', "wait = []"])
def test_what_is_none_is_refused_by_name(tmp_path: Path, line: str) -> None:
    with pytest.raises(Invalid, match=r"guards\.wait"):
        wait_of(tmp_path, line)
