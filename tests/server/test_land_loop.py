"""A server lands what is queued; what stops it is not tried again and again; its end leaves everything queued."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dibs.errors import Failed
from dibs.server.host import Host
from dibs.server.land_loop import LandLoop
from dibs.workspace import location
from tests.interfaces.worker_processes import alive
from tests.land.landing_repo import LandingRepo
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def serve() -> Iterator[list[Host]]:
    hosts: list[Host] = []
    yield hosts
    for host in hosts:
        host.close()


def loop_of(repo: LandingRepo, hosts: list[Host]) -> LandLoop:
    host = Host(location.find(str(repo.folder), None))
    hosts.append(host)
    return LandLoop(host)


def step(loop: LandLoop) -> None:
    """One step, as the thread takes it."""
    try:
        loop.take_step(loop._host.session(asked=False))
    except Failed as error:
        assert "main itself fails" in str(error)


def test_what_is_queued_lands_although_nobody_lands_it(tmp_path: Path, serve: list[Host]) -> None:
    repo = LandingRepo(tmp_path / "repo")
    repo.change("a", a="1\n")
    repo.change("b", b="broken\n")
    assert repo.land("a", "--wait", "0", agent="ann")["lands"] == ""
    assert "Nobody lands it now: `dibs land --all` does" in repo.run("land", "b", "--wait", "0").stdout
    loop = loop_of(repo, serve)
    loop.start()
    try:
        until(lambda: repo.states() == {"a": "landed", "b": "refused"})
    finally:
        loop.stop()
    assert "landed on main" in repo.told("ann")[0]
    repo.clean()


def test_the_config_can_keep_a_server_from_landing(tmp_path: Path, serve: list[Host]) -> None:
    repo = LandingRepo(tmp_path / "repo", "server = false")
    repo.change("a", a="1\n")
    repo.queue("a")
    step(loop_of(repo, serve))
    assert repo.states() == {"a": "queued"}


def test_a_target_that_fails_the_check_is_checked_again_when_it_or_the_queue_has_changed(
    tmp_path: Path, serve: list[Host]
) -> None:
    counted = tmp_path / "count"
    counted.touch()
    repo = LandingRepo(tmp_path / "repo", check=f"echo >> {counted}; ! test -e bad.txt")
    repo.commit_files("by hand", {"bad.txt": "1\n"}, repo.folder)
    repo.change("a", a="1\n")
    repo.queue("a")
    loop = loop_of(repo, serve)
    for _ in range(3):
        step(loop)
    assert counted.read_text().count("\n") == 2  # the branch, and main itself
    assert len(repo.told("ag-a")) == 1
    repo.git("rm", "-q", "bad.txt")
    repo.git("commit", "-q", "-m", "mended")
    step(loop)
    assert repo.states() == {"a": "landed"}


def test_the_end_of_a_server_ends_its_check_and_leaves_everything_queued(tmp_path: Path, serve: list[Host]) -> None:
    pid = tmp_path / "pid"
    repo = LandingRepo(tmp_path / "repo", check=f"echo $$ > {pid}; exec sleep 600")
    repo.change("a", a="1\n")
    repo.queue("a")
    loop = loop_of(repo, serve)
    loop.start()
    until(lambda: pid.exists() and pid.read_text().strip() != "")
    assert repo.json("landings", exit=0)["lander"]["stage"] == "checking"
    assert serve[0].working == 1  # an idle server does not end meanwhile
    loop.stop()
    until(lambda: not alive(int(pid.read_text())))
    until(lambda: repo.json("landings", exit=0)["lander"] is None)
    assert repo.states() == {"a": "queued"}
