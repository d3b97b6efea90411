"""What is derived is there wherever dibs is installed: from a wheel, from a zip, in folders that nobody may write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from dibs.interfaces.http import openapi
from dibs.interfaces.mcp import tools
from tests import wheel
from tests.documents import TOP

MAX_DOCUMENTS_BYTES = 250_000  # compressed, of a wheel

DESCRIBE = """
import dibs, json, sys
from dibs.interfaces.http import openapi
from dibs.interfaces.mcp import tools
shown = {name: tool.as_json() for name, tool in tools.derived(every=True).items()}
json.dump([dibs.__file__, openapi.description(), shown], sys.stdout)
"""


@pytest.fixture(scope="module")
def wheel_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel.built_in(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(params=["unpacked", "zipped"])
def place(request: pytest.FixtureRequest, wheel_file: Path, tmp_path: Path) -> Path:
    """Where Python finds dibs as it was installed."""
    if request.param == "zipped":
        return wheel_file
    zipfile.ZipFile(wheel_file).extractall(tmp_path / "packages")
    return tmp_path / "packages"


def test_a_wheel_has_the_types_and_no_file_of_schemas(wheel_file: Path) -> None:
    names = set(zipfile.ZipFile(wheel_file).namelist())
    assert {"dibs/py.typed", "dibs/interfaces/python/methods.py", "dibs/interfaces/python/methods.pyi"} <= names
    assert not [name for name in names if name.endswith("schema.json")]


def test_an_installed_dibs_shows_its_documents(place: Path, tmp_path: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "dibs", "help", "config"], check=True, capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(place)},
    )  # fmt: skip
    assert said.stdout.startswith("CONFIG\n")
    assert "across_worktrees" in said.stdout


def test_a_wheel_has_every_document_and_no_picture(wheel_file: Path) -> None:
    entries = zipfile.ZipFile(wheel_file).infolist()
    there = {entry.filename.removeprefix("dibs/") for entry in entries if entry.filename.startswith("dibs/docs/")}
    parts = ("start", "guides", "reference", "internals")
    assert there == {path.relative_to(TOP).as_posix() for part in parts for path in (TOP / "docs" / part).rglob("*.md")}
    assert (
        sum(entry.compress_size for entry in entries if entry.filename.startswith("dibs/docs/")) < MAX_DOCUMENTS_BYTES
    )


def test_an_installed_server_describes_itself_as_one_in_the_tree(place: Path, tmp_path: Path) -> None:
    before = sorted(place.rglob("*"))
    told = {**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.run(
        [sys.executable, "-c", DESCRIBE], check=True, capture_output=True, env=told, timeout=60, cwd=tmp_path
    )
    assert sorted(place.rglob("*")) == before, "nothing is written next to the modules"
    file, description, shown = json.loads(process.stdout)
    assert file.startswith(str(place))
    assert description == openapi.description()
    assert shown == {name: tool.as_json() for name, tool in tools.derived(every=True).items()}
