"""A server looks for trouble: in a quiet workspace, where nobody else does, an agent's death is told within seconds."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import dibs
from dibs.client.upkeep import rounds
from dibs.server.host import Host
from dibs.server.upkeep_loop import UpkeepLoop
from dibs.workspace import location
from tests.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

HOLDER = "import dibs, os; ws = dibs.open(agent='ann'); ws.claim('a.py', auto_renew=False); os._exit(9)"


def test_a_dead_agent_is_an_alert_although_nobody_asks_anything(tmp_path: Path) -> None:
    dibs.init(str(tmp_path))
    subprocess.run([sys.executable, "-c", HOLDER], cwd=tmp_path, check=False)
    host = Host(location.find(str(tmp_path), None))
    loop = UpkeepLoop(host)
    loop.start()
    try:
        until(lambda: any(event.body.startswith('{"kind":"alert.raised"') for event in host.store.events()))
        found = rounds.last(host.place.local)
        assert found is not None
        assert (found["by"], found["lasting"]) == ("server", True)
    finally:
        loop.stop()
        host.close()


def test_looking_for_trouble_is_no_use_of_a_server(tmp_path: Path) -> None:
    dibs.init(str(tmp_path))
    host = Host(location.find(str(tmp_path), None))
    host.used = before = 1
    loop = UpkeepLoop(host)
    loop.start()
    try:
        until(lambda: rounds.last(host.place.local))
        assert host.used == before
    finally:
        loop.stop()
        host.close()
