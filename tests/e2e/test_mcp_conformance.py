"""The Model Context Protocol's own test suite and inspector, from npm, against dibs' server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from tests.e2e.clients.install import program

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.clients

TOP = Path(__file__).resolve().parents[2]
DIBS = Path(sys.executable).parent / "dibs"
PATIENCE = 120  # seconds
IS_ERROR = 5  # the inspector's exit code for a result with `isError`


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A program of the suite's, with the Node that came with it."""
    command = [str(program("mcp", "node")), *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The endpoint of dibs with the suite's fixtures."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    command = [sys.executable, "-m", "tests.e2e.conformance_server", str(folder)]
    with subprocess.Popen(command, cwd=TOP, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}/mcp"
        server.communicate(timeout=PATIENCE)


def test_the_conformance_suite_finds_no_fault(url: str, tmp_path: Path) -> None:
    done = run(tmp_path, str(program("mcp")), "server", "--url", url)
    found = dict(re.findall(r"^(?:✓|✗) ([\w-]+): \d+ passed, (\d+) failed", done.stdout, re.MULTILINE))
    assert len(found) >= 30, done.stdout + done.stderr
    assert {name for name, failed in found.items() if failed != "0"} == set()
    assert done.returncode == 0


def inspect(folder: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """The inspector's command line; its exit code and what it printed."""
    done = run(folder, str(program("mcp", "inspector")), "--cli", *words)
    return done.returncode, json.loads(done.stdout)


def test_the_inspector_lists_and_calls_tools_over_http(url: str, tmp_path: Path) -> None:
    code, listed = inspect(tmp_path, url, "--transport", "http", "--method", "tools/list", "--strict")
    assert code == 0, "its strict look at the schemas has no error"
    assert "claim" in {tool["name"] for tool in listed["tools"]}
    call = (url, "--transport", "http", "--method", "tools/call", "--tool-name", "claim", "--tool-arg")
    code, granted = inspect(tmp_path, *call, 'resources=["a.txt"]')
    assert (code, granted["structuredContent"]["ok"]) == (0, True)
    code, wrong = inspect(tmp_path, *call, "resources=5")
    assert (code, wrong["structuredContent"]["error"]["field"]) == (IS_ERROR, "resources")


def test_the_inspector_starts_dibs_mcp_on_stdio(tmp_path: Path) -> None:
    dibs.init(str(tmp_path))
    code, status = inspect(tmp_path, str(DIBS), "mcp", "--method", "tools/call", "--tool-name", "status")
    assert (code, status["structuredContent"]["ok"]) == (0, True)
    code, read = inspect(tmp_path, str(DIBS), "mcp", "--method", "resources/read", "--uri", "dibs://status")
    assert (code, '"claims"' in read["contents"][0]["text"]) == (0, True)
