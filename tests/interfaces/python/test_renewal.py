"""A claim in a `with` renews itself: real threads, a real database, short lives."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

import dibs
from dibs.interfaces.python import renewal
from dibs.machine import clock
from tests.scratch import Shell
from tests.waiting import LIMIT_S, in_time, until

TTL = 0.6  # seconds; `in_time` makes it longer on a machine that takes long


@pytest.fixture
def ann(shell: Shell) -> Iterator[dibs.Workspace]:
    with dibs.open(str(shell.folder), agent="ann") as ws:
        yield ws


@pytest.fixture
def bob(shell: Shell) -> Iterator[dibs.Workspace]:
    with dibs.open(str(shell.folder), agent="bob") as ws:
        yield ws


def past(moment: int) -> Callable[[], bool]:
    """Is that moment of the clock since boot over?"""
    return lambda: clock.since_boot() > moment


def test_a_claim_in_a_with_outlives_its_ttl(ann: dibs.Workspace, bob: dibs.Workspace) -> None:
    def play(ttl: float) -> None:
        with ann.claim("x.py", ttl=ttl) as claim:
            first, token = claim.until, claim.token
            until(past(first + 200))
            assert claim.live
            assert 0 < claim.remaining <= ttl
            claim.check()
            with pytest.raises(dibs.Held):
                bob.claim("x.py")
        assert (claim.live, claim.token) == (False, token)

    in_time(play, life=TTL)
    bob.claim("x.py")


def test_one_thread_renews_all_claims_of_a_workspace(ann: dibs.Workspace) -> None:
    def threads() -> int:
        return sum(thread.name == "dibs-renewal" for thread in threading.enumerate())

    def play(ttl: float) -> None:
        with ann.claim("a", ttl=ttl) as a, ann.claim("b", ttl=ttl) as b, ann.claim("c", ttl=ttl) as c:
            assert threads() == before + 1
            until(past(max(claim.until for claim in (a, b, c)) + 200))
            assert [a.live, b.live, c.live] == [True] * 3
            for claim in (a, b, c):
                claim.check()

    before = threads()
    in_time(play, life=TTL)


def test_without_a_with_or_with_auto_renew_off_it_ends_at_its_time(ann: dibs.Workspace, bob: dibs.Workspace) -> None:
    plain = ann.claim("a", ttl=0.1)
    with pytest.raises(dibs.Fenced), ann.claim("b", ttl=0.1, auto_renew=False) as off:  # noqa: PT012 - at the end of the block
        until(past(max(plain.until, off.until)))
        assert (plain.live, off.live) == (False, False)
        bob.claim("a", "b")


def test_an_inner_claim_keeps_the_one_that_it_lies_within(ann: dibs.Workspace, bob: dibs.Workspace) -> None:
    def play(ttl: float) -> None:
        ann.release(all=True)
        outer = ann.claim("src/", ttl=ttl)
        with ann.claim("src/x.py") as inner:
            until(past(outer.until + 200))
            assert inner.live
            inner.check()
            with pytest.raises(dibs.Held):
                bob.claim("src/y.py")

    in_time(play, life=TTL)


def test_a_claim_that_is_taken_away_is_noticed(
    ann: dibs.Workspace, shell: Shell, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "dibs")

    def play(ttl: float) -> None:
        ann.release(all=True)
        caplog.clear()
        told: list[Any] = []
        with pytest.raises(dibs.Fenced), ann.claim("x.py", "y.py", ttl=ttl) as claim:  # noqa: PT012 - at the end of the block
            claim.on_lost = lambda lost, error: told.append((lost, error.code))
            with pytest.raises(dibs.Fenced), ann.claim("z.py", ttl=ttl) as silent:  # noqa: PT012 - at the end of the block
                shell.json("release", "x.py", "y.py", "z.py", "--force", "--why", "mine", exit=0)
                until(lambda: claim.lost is not None and silent.lost is not None)
                assert (claim.live, claim.remaining) == (False, 0)
                with pytest.raises(dibs.Fenced):
                    claim.check()
                until(lambda: "z.py" in caplog.text)
        assert told == [(claim, "fenced")]

    in_time(play, life=3)
    assert "x.py" not in caplog.text


def test_at_its_longest_life_a_claim_ends_and_is_lost(shell: Shell) -> None:
    config = shell.folder / ".dibs" / "config.toml"
    text = config.read_text()

    def play(ttl: float) -> None:
        config.write_text(text.replace('# max_life = "8h"', f'max_life = "{2 * ttl}s"  #'))
        ann = dibs.open(str(shell.folder), agent="ann")
        with pytest.raises(dibs.Fenced), ann.claim("x.py", ttl=ttl) as claim:  # noqa: PT012 - at the end of the block
            began = clock.since_boot()
            claim.on_lost = lambda *_: None
            until(lambda: claim.lost is not None)
            assert clock.since_boot() - began >= 1_900 * ttl
            assert claim.live is False
        ann.close()

    in_time(play, life=1)


def test_the_thread_ends_with_the_workspace_and_leaves_no_renewal_behind(shell: Shell) -> None:
    ann = dibs.open(str(shell.folder), agent="ann")
    claim = ann.claim("x.py", ttl=TTL)
    claim.__enter__()
    thread = next(one for one in threading.enumerate() if one.name == "dibs-renewal")
    ann.close()
    assert not thread.is_alive()
    with dibs.open(str(shell.folder), agent="bob") as bob:
        bob.claim("x.py", wait=LIMIT_S)  # it ended at its time


def test_a_program_that_claims_often_starts_one_thread(ann: dibs.Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[None] = []
    real = renewal.Renewals._start

    def start(self: renewal.Renewals) -> None:
        started.append(None)
        real(self)

    monkeypatch.setattr(renewal.Renewals, "_start", start)
    for _ in range(50):
        with ann.claim("x.py"):
            pass
    assert len(started) == 1


def test_a_fork_renews_nothing_and_hinders_nobody(shell: Shell) -> None:
    code = f"""
import os, sys, dibs
ws = dibs.open({str(shell.folder)!r}, agent="carl")
with ws.claim("f.py", ttl=float(sys.argv[1])) as claim:
    pid = os.fork()
    if not pid:
        try:
            claim.__exit__(KeyError, KeyError(), None)  # as an error in the child would
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    until = claim.until
    while dibs.interfaces.python.renewal.clock.since_boot() < until + 200:
        claim.check()
print("ok")
"""

    def play(ttl: float) -> None:
        words = [sys.executable, "-W", "ignore", "-c", code, str(ttl)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert done.stdout == "ok\n", done.stderr

    in_time(play, life=TTL)


def test_an_interrupt_at_any_moment_releases_the_claim(shell: Shell) -> None:
    code = """
import signal, sys, dibs
ws = dibs.open(agent="ann")
for number in range(60):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0005 + number * 0.0002)
        while True:
            with ws.claim("x.py", ttl=1):
                pass
    except KeyboardInterrupt:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    ws.release(all=True)
    with ws.claim("x.py", ttl=60) as claim:
        claim.check()
print(len(ws.status()["claims"]))
"""
    code = code.replace(
        "import signal, sys, dibs",
        "import signal, sys, dibs\nsignal.signal(signal.SIGALRM, signal.default_int_handler)",
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=shell.folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.returncode) == ("0\n", 0), done.stderr


def test_a_process_that_ends_inside_a_with_leaves_nothing_held(shell: Shell, bob: dibs.Workspace) -> None:
    code = "import dibs, os, sys; ws = dibs.open(agent='ann'); c = ws.claim('x.py', ttl=1).__enter__(); sys.exit(3)"
    done = subprocess.run([sys.executable, "-c", code], cwd=shell.folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "")
    bob.claim("x.py")


def test_what_a_claim_tells_of_itself(ann: dibs.Workspace) -> None:
    with ann.claim("x.py", ttl=100) as claim:
        assert claim.expires.tzinfo is not None
        assert claim.expires == datetime.fromisoformat(claim.expires_at)
        left = (claim.expires - datetime.now(UTC)).total_seconds()
        assert abs(left - claim.remaining) < 5
        assert repr(claim).startswith(f"<Claim {claim.id} on x.py (write), token {claim.token}, ")
        assert "s left>" in repr(claim)
    assert repr(claim).endswith("released>")
    assert repr(ann) == f"<Workspace {os.path.realpath(ann.root)} as ann>"
