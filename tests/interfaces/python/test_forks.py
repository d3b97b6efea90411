"""A workspace object in a forked child is refused, whatever the store, and the parent's goes on."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.interfaces.http.web import Server
from tests.interfaces.local_server import Home, socket_url
from tests.scratch import Shell
from tests.server.far import Far
from tests.waiting import LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FORK = """
import os
import dibs
from dibs.client.server_link import SocketLink

ws = dibs.open(agent="ann")
if os.path.exists(f"{ws.session.place.local}/serve.json"):
    ws.session.link = SocketLink(ws.session.place.local)
store = ws.store
claim = ws.claim("a.py")
calls = [lambda: ws.claim("b.py"), ws.status, claim.check, claim.release, store.head, lambda: store.wait("n", 0.01),
         ws.doctor, lambda: ws.log(limit=1)]
if not os.fork():
    for number, call in enumerate(calls):
        try:
            call()
            print("allowed", number, flush=True)
        except dibs.Unavailable as error:
            print("refused" if error.fields.get("forked") else error.message, flush=True)
    ws.close()
    os._exit(0)
os.wait()
claim.check()
print("the parent goes on", len(calls), flush=True)
ws.close()
"""
FORK_OF_TASKS = """
import asyncio, os
import dibs

async def play():
    async with dibs.aio.open(agent="ann") as ws:
        claim = await ws.claim("a.py")
        if not os.fork():
            for call in (lambda: ws.claim("b.py", wait=60), ws.status, claim.check, ws.close):
                try:
                    await call()
                    print("allowed", flush=True)
                except dibs.Unavailable as error:
                    print("refused" if error.fields.get("forked") else error.message, flush=True)
            os._exit(0)
        os.wait()
        await claim.check()
        print("the parent goes on 4", flush=True)

asyncio.run(play())
"""


def said(shell: Shell, program: str) -> list[str]:
    """What the program printed in that workspace."""
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", program], cwd=shell.folder, env=shell.environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            out, errors = process.communicate(timeout=LIMIT_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # a child that waits for a thread it does not have
    assert process.returncode == 0, errors
    return out.splitlines()


@pytest.fixture(params=["sqlite", "redis", "server", "far"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shell]:
    if request.param == "redis":
        home = Home(tmp_path / "repo", socket_url(tmp_path))
        home.json("up", exit=0)
        yield home
        home.clean()
        return
    shell: Shell = request.getfixturevalue("shell")
    if request.param == "server":
        with Server(shell.folder) as server:
            yield shell
            server.process.terminate()
            server.process.wait()
    elif request.param == "far":
        far = Far(shell, tmp_path)
        yield far.away
        far.close()
    else:
        yield shell


def test_a_workspace_opened_before_a_fork_is_refused_after_it_on_every_store(place: Shell) -> None:
    *child, parent = said(place, FORK)
    assert parent == f"the parent goes on {len(child)}"
    assert child == ["refused"] * len(child)


def test_a_workspace_of_tasks_is_refused_after_a_fork_at_once(place: Shell) -> None:
    assert said(place, FORK_OF_TASKS) == [*["refused"] * 4, "the parent goes on 4"]
