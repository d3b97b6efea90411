"""On a full disk an agent may delete what is nobody's work, and nothing else: otherwise it could never make room."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.faults.test_disk import fill_up, small_disk
from tests.interfaces.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

__all__ = ["small_disk"]


@pytest.fixture
def full(small_disk: Path | None) -> Iterator[Repository | None]:
    """A repository on a disk that is full, with ballast in an ignored folder and outside."""
    if small_disk is None:
        yield None
        return
    repo = Repository(small_disk)
    repo.write(".gitignore", "build/\n")
    repo.write("build/ballast", "x")
    repo.agent("ada").edit("a.py", "ada's\n")
    fill_up(small_disk / "ballast", leave=0)
    yield repo
    repo.close()


def test_only_what_makes_room_passes_on_a_full_disk(full: Repository | None, small_disk: Path | None) -> None:
    if full is None or small_disk is None:
        return  # nobody lets us mount a disk here; CI may
    bob = full.agent("bob")
    for refused in (
        "echo x > b.py", "rm a.py", "rm b.py", "rm -rf build .git", "rm -rf .dibs", "rm -rf .dibs/local",
        "rm -rf $X", "echo x > build/y", "rm -rf build && echo x > c.py", f"rm -rf {small_disk}",
    ):  # fmt: skip
        assert bob.may_run(refused).refusal, refused
    assert bob.may_run("rm -rf build").allowed
    command = f"rm -f {small_disk}/ballast build/ballast"
    assert bob.may_run(command).allowed
    subprocess.run(["sh", "-c", command], cwd=full.folder, check=True)
    assert bob.may_edit("b.py").allowed, "with room again, everything goes on"
