"""The demo on three machines that share a server, which dies in the middle: no edit is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores.redis_server import Server
from tests.waiting import until

pytestmark = pytest.mark.slow

AGENTS, EDITS = 9, 8


@pytest.fixture(params=["always", "everysec"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path / "server", appendonly="yes", appendfsync=request.param).start()
    yield made
    made.kill()


def claims(server: Server) -> int:
    """Events of the one workspace on this server."""
    names = server.ask("KEYS", "*:log")
    return int(server.ask("XLEN", names[0])) if names else 0


@pytest.mark.long
def test_three_machines_lose_nothing_although_their_server_is_killed(server: Server, tmp_path: Path) -> None:
    words = ["--agents", str(AGENTS), "--edits", str(EDITS), "--hosts", "3", "--store", server.url, "--json"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DIBS_")}
    demo = subprocess.Popen(
        [sys.executable, "-m", "dibs", "demo", *words],
        cwd=tmp_path,
        env={**environment, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: claims(server) > 60)  # the fleet is at work
        server.kill()
        server.start()
        out, said = demo.communicate(timeout=120)
    finally:
        demo.kill()
        demo.wait()
    assert said == ""
    result = json.loads(out)
    assert result["ok"], result["failed"]
    assert result["hosts"] == 3
    assert (result["with"]["lost"], result["with"]["edits"]) == (0, result["without"]["edits"])
