"""Which commands the patterns of `[[pools.use]]` match."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dibs import shell
from dibs.shell import command_patterns

if TYPE_CHECKING:
    from pathlib import Path


def fits(pattern: str, command: str, here: str = "/nowhere") -> bool:
    return bool(command_patterns.matched(shell.read(command, here).commands, [pattern], here))


@pytest.mark.parametrize(("pattern", "command"), [
    ("pytest", "pytest"),
    ("pytest", "pytest -q tests/x.py"),
    ("pytest", "/usr/bin/pytest"),
    ("pytest", "python3 -m pytest -x"),
    ("python -m pytest", "python -m pytest"),
    ("npm test", "npm --silent test -- --watch"),
    ("cargo *", "cargo"),
    ("cargo *", "cargo build --release"),
    ("cargo * --release", "cargo build --release"),
    ("go test", "go -C sub test ./..."),
    ("npm run test*", "npm run test:unit"),
    ("npm run *:e2e", "npm run web:e2e"),
    ("gradle*", "./gradlew check"),
    ("make check", "make -j4 check"),
    ("./ci/run.sh", "./ci/run.sh all"),
])  # fmt: skip
def test_a_pattern_matches_the_words_of_a_command_from_its_program_on(pattern: str, command: str) -> None:
    assert fits(pattern, command)


@pytest.mark.parametrize(("pattern", "command"), [
    ("pytest", "pip install pytest"),
    ("pytest", "pytests"),
    ("pytest", "cat pytest.ini | grep pytest"),
    ("npm test", "npm run build"),
    ("npm test", "npm"),
    ("make test", "make tests"),
    ("cargo * --release", "cargo build"),
    ("npm run test*", "npm run build"),
])  # fmt: skip
def test_it_matches_no_other(pattern: str, command: str) -> None:
    assert not fits(pattern, command)


def test_what_scripts_run_is_matched_with_what_was_typed(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"scripts": {"all": "npm run unit && echo", "unit": "jest --ci"}}')
    (tmp_path / "Makefile").write_text("all: one\none:\n\t@jest\n")
    (tmp_path / "run.sh").write_text("#!/bin/bash\nfor x in 1 2; do\n  jest $x\ndone\n")
    (tmp_path / "loop.sh").write_text("#!/bin/sh\n./loop.sh\n")
    here = str(tmp_path)
    for command in ("npm run all", "make", "bash run.sh", "./run.sh"):
        found = command_patterns.matched(shell.read(f"cd . && {command}", here).commands, ["jest"], here)
        assert found == {"jest": command}
    assert not fits("jest", "./loop.sh", here)
