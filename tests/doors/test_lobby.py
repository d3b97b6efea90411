"""Processes of one machine that keep wanting the same thing wait for one another; nothing but speed rests on it."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.doors import lobby as lobbies
from dibs.doors.lobby import Lobby
from dibs.facts import clock
from dibs.stores.sqlite import gate
from tests.doors.conftest import Shell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.doors.python import Workspace

WANTED = {"resources": [["file", "x.py"]], "wait": 30_000}
OTHER = {"resources": [["file", "y.py"]], "wait": 30_000}
LONG = 30_000  # ms
PERSON = """
import sys
from dibs.doors import lobby as lobbies
lobbies.PATIENCE = int(sys.argv[2])
lobby = lobbies.Lobby(sys.argv[1])
lobby.crowded()
print("comes", flush=True)
lobby.enter({"resources": [["file", "x.py"]], "wait": 30_000})
print("is in", flush=True)
sys.stdin.readline()
lobby.leave()
print("left", flush=True)
sys.stdin.readline()
"""
AGENT = """
import sys, dibs
ws = dibs.open(sys.argv[1], agent="ann")
ws.session._crowd()
claim = ws.claim("x.py", wait=30)
print("is in", flush=True)
sys.stdin.readline()
claim.release()
print("left", flush=True)
sys.stdin.readline()
"""


class Process:
    """Another process, told by lines what to do."""

    def __init__(self, code: str, *words: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def hear(self, word: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == f"{word}\n"

    def leave(self) -> None:
        self.say()
        self.hear("left")

    def say(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=30)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGSTOP)


@pytest.fixture
def start() -> Iterator[Callable[..., Process]]:
    """More of them, which do not outlive the test."""
    started: list[Process] = []

    def begin(code: str, *words: object) -> Process:
        started.append(Process(code, *words))
        return started[-1]

    yield begin
    for process in started:
        process.kill()


@pytest.fixture
def came_before(tmp_path: Path, start: Callable[..., Process]) -> Process:
    """A process that is in."""
    process = start(PERSON, tmp_path / "lobby", LONG)
    process.hear("comes")
    process.hear("is in")
    return process


@pytest.fixture
def lobby(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lobby]:
    """This process's way in. Somebody was in its way just now."""
    monkeypatch.setattr(lobbies, "PATIENCE", LONG)
    found = Lobby(str(tmp_path / "lobby"))
    found.crowded()
    yield found
    found.close()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds of each wait, none of which takes place."""
    seen: list[float] = []

    def timed(_: object, seconds: float) -> bool:
        seen.append(seconds)
        return False

    monkeypatch.setattr(gate, "timed", timed)
    return seen


# --- one after the other


@pytest.mark.parametrize("end", ["leave", "kill"])
def test_whoever_comes_waits_until_the_one_before_has_left_or_died(
    end: str, lobby: Lobby, came_before: Process, start: Callable[..., Process], tmp_path: Path
) -> None:
    later = threading.Timer(0.2, getattr(came_before, end))
    began = clock.since_boot()
    later.start()
    lobby.enter(WANTED)
    assert clock.since_boot() - began >= 200, "it was let in while somebody was there"
    later.join()
    third = start(PERSON, tmp_path / "lobby", LONG)
    third.hear("comes")
    lobby.leave()
    third.hear("is in")


def test_they_are_let_in_in_the_order_in_which_they_came(
    lobby: Lobby, start: Callable[..., Process], tmp_path: Path
) -> None:
    lobby.enter(WANTED)
    line = []
    for _ in range(4):
        line.append(start(PERSON, tmp_path / "lobby", LONG))
        line[-1].hear("comes")
        _until_blocked(line[-1])
    lobby.leave()
    for place, process in enumerate(line):
        process.hear("is in")
        for other in line[place + 1 :]:
            _until_blocked(other)
        process.leave()


def test_whoever_gives_up_or_dies_in_the_line_lets_the_next_one_go_on(
    lobby: Lobby, start: Callable[..., Process], tmp_path: Path
) -> None:
    lobby.enter(WANTED)
    impatient = start(PERSON, tmp_path / "lobby", 50)
    impatient.hear("comes")
    impatient.hear("is in")  # without having been let in
    next_one = start(PERSON, tmp_path / "lobby", LONG)
    next_one.hear("comes")
    next_one.hear("is in")
    dies = start(PERSON, tmp_path / "lobby", LONG)
    dies.hear("comes")
    _until_blocked(dies)
    last = start(PERSON, tmp_path / "lobby", LONG)
    last.hear("comes")
    _until_blocked(last)
    dies.kill()
    last.hear("is in")


def _until_blocked(process: Process) -> None:
    """It waits for a lock of the kernel."""
    path = Path(f"/proc/{process.process.pid}/wchan")
    end = clock.since_boot() + LONG
    while clock.since_boot() < end:
        if not path.exists() or "setlk" in path.read_text():  # elsewhere there is no saying
            return
        assert process.process.poll() is None, "it died"
        clock.sleep(0.01)
    raise AssertionError(path.read_text())


# --- whoever does not wait


def test_a_stopped_process_is_not_waited_for_long(
    lobby: Lobby, came_before: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    came_before.stop()
    monkeypatch.setattr(lobbies, "PATIENCE", 30)
    lobby.enter(WANTED)
    assert not lobby._mine, "it was not let in"
    monkeypatch.setattr(gate, "timed", None)
    lobby.enter(WANTED)  # and nobody who comes now waits for what could not be waited for
    lobby.leave()
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_nobody_waits_longer_than_for_its_claim(lobby: Lobby, came_before: Process, waits: list[float]) -> None:
    lobby.enter({**WANTED, "wait": 70})
    assert waits == [0.07]
    came_before.leave()


@pytest.mark.parametrize("wanted", [OTHER, {**WANTED, "mode": "read"}])
def test_who_wants_something_else_does_not_wait(
    wanted: dict[str, Any], lobby: Lobby, came_before: Process, waits: list[float]
) -> None:
    lobby.enter(wanted)
    assert waits == []
    came_before.leave()


def test_only_for_a_while_after_a_wait(
    lobby: Lobby, came_before: Process, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    crowded, now = clock.since_boot(), clock.since_boot() + 1_000
    monkeypatch.setattr(clock, "since_boot", lambda: now)
    lobby.enter(WANTED)
    assert len(waits) == 1, "which makes it a crowd for longer"
    now = crowded + lobbies.CROWDED + 500
    lobby.enter(OTHER)
    assert lobby._mine
    lobby.leave()
    now = crowded + lobbies.CROWDED + 1_000
    lobby.enter(OTHER)
    assert not lobby._mine, "the last wait was long ago"
    came_before.leave()


def test_whoever_is_in_already_leaves_and_does_not_wait(
    lobby: Lobby, waits: list[float], start: Callable[..., Process], tmp_path: Path
) -> None:
    lobby.enter(OTHER)
    other = start(PERSON, tmp_path / "lobby", LONG)
    other.hear("comes")
    other.hear("is in")
    lobby.enter(WANTED)
    assert waits == [], "what it holds may be what the other one waits for"
    assert not lobby._mine


@pytest.mark.parametrize("given", [WANTED, {"all": True}, {"resources": []}, None])
def test_giving_back_what_was_wanted_or_everything_lets_the_next_one_in(
    given: dict[str, Any] | None, lobby: Lobby, start: Callable[..., Process], tmp_path: Path
) -> None:
    lobby.enter(WANTED)
    lobby.leave(OTHER)
    assert lobby._mine, "it was here for something else"
    lobby.leave(given)
    other = start(PERSON, tmp_path / "lobby", LONG)
    other.hear("comes")
    other.hear("is in")


def test_outside_the_main_thread_nobody_waits(lobby: Lobby, came_before: Process) -> None:
    """There the wait could not be ended."""
    thread = threading.Thread(target=lobby.enter, args=(WANTED,))
    thread.start()
    thread.join(timeout=30)
    assert not thread.is_alive()
    assert not lobby._mine
    came_before.leave()


def test_an_interrupt_in_the_lobby_leaves_it(
    lobby: Lobby, came_before: Process, start: Callable[..., Process], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(gate, "timed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lobby.enter(WANTED)
    came_before.leave()
    other = start(PERSON, tmp_path / "lobby", LONG)
    other.hear("comes")
    other.hear("is in")


def test_where_there_is_no_file_there_is_no_lobby(tmp_path: Path) -> None:
    lobby = Lobby(str(tmp_path / "nowhere" / "lobby"))
    lobby.crowded()
    lobby.enter(WANTED)
    lobby.leave()
    lobby.close()


def test_a_file_with_something_else_in_it_keeps_nobody_out(lobby: Lobby, tmp_path: Path) -> None:
    (tmp_path / "lobby").write_bytes(b"\xff" * lobbies.LINES * lobbies.WIDTH)
    lobby.enter(WANTED)
    assert lobby._mine


def test_where_locks_do_not_work_there_is_no_lobby(lobby: Lobby, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(38, "no locks here")

    monkeypatch.setattr(fcntl, "lockf", refused)
    opened = len(os.listdir("/dev/fd"))
    for _ in range(3):
        lobby.enter(WANTED)
        lobby.leave()
    assert len(os.listdir("/dev/fd")) <= opened


# --- with a store behind it


@pytest.fixture
def ann(shell: Shell, start: Callable[..., Process]) -> Process:
    """An agent in another process that has x.py, and is in the lobby for it."""
    process = start(AGENT, shell.folder)
    process.hear("is in")
    return process


@pytest.fixture
def bob(shell: Shell) -> Iterator[Workspace]:
    """This process, which had to wait just now."""
    with dibs.open(str(shell.folder), agent="bob") as opened:
        opened.session._crowd()
        yield opened


def kinds(workspace: Workspace) -> list[str]:
    return [json.loads(event.body)["kind"] for event in workspace.store.events()]


def test_whoever_was_let_in_finds_the_way_free(ann: Process, bob: Workspace) -> None:
    later = threading.Timer(0.2, ann.leave)
    later.start()
    bob.claim("x.py", wait=30).release()
    later.join()
    assert "wait.queued" not in kinds(bob), "it never had to take a place in the queue"


def test_the_claim_of_whoever_died_in_the_lobby_is_free(ann: Process, bob: Workspace) -> None:
    later = threading.Timer(0.2, ann.kill)
    later.start()
    bob.claim("x.py", wait=30).release()
    later.join()


def test_whoever_waits_for_long_is_seen_to_wait(
    ann: Process, bob: Workspace, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lobbies, "PATIENCE", 30)

    def see() -> None:
        while not shell.json("status")["waiting"]:
            clock.sleep(0.01)
        ann.leave()

    looking = threading.Thread(target=see)
    looking.start()
    bob.claim("x.py", wait=30).release()
    looking.join(timeout=30)
    assert not looking.is_alive()
    assert "wait.queued" in kinds(bob)


def test_a_refused_claim_leaves_the_lobby(bob: Workspace, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.json("claim", "x.py", "--as", "eve", exit=0)  # which is not in the lobby
    lobby = bob.session._lobby
    assert lobby is not None
    entered: list[int] = []
    enter = lobby.enter

    def watched(fields: dict[str, Any]) -> None:
        enter(fields)
        entered.append(lobby._mine)

    monkeypatch.setattr(lobby, "enter", watched)
    with pytest.raises(dibs.Held):
        bob.claim("x.py", wait=0.1)
    assert entered[0], "nobody of this machine was before it"
    assert not lobby._mine
    shell.json("release", "x.py", "--as", "eve", exit=0)
    with bob.claim("x.py", wait=5):
        assert lobby._mine, "it had to wait just now"
    assert not lobby._mine


def test_a_wait_that_ends_in_the_lobby_is_refused_with_who_is_in_the_way(ann: Process, bob: Workspace) -> None:
    began = clock.since_boot()
    with pytest.raises(dibs.Held) as refused:
        bob.claim("x.py", wait=0.2)
    assert 200 <= clock.since_boot() - began < LONG
    assert [blocker["agent"] for blocker in refused.value.blockers] == ["ann"]
    ann.leave()


def test_the_first_wait_is_in_the_store_and_makes_the_next_ones_go_through_the_lobby(
    ann: Process, shell: Shell
) -> None:
    with dibs.open(str(shell.folder), agent="bob") as bob:
        assert bob.session._lobby is None
        later = threading.Timer(0.2, ann.leave)
        later.start()
        bob.claim("x.py", wait=30).release()
        later.join()
        assert "wait.queued" in kinds(bob)
        lobby = bob.session._lobby
        assert lobby is not None
        with bob.claim("x.py", wait=30):
            assert lobby._mine
        with pytest.raises(dibs.Fenced), bob.claim("x.py", wait=30, ttl=0.05):
            clock.sleep(0.1)
        assert not lobby._mine, "what is lost keeps nobody out"


def test_a_command_does_not_wait_in_the_lobby(ann: Process, shell: Shell) -> None:
    """It would leave when it ends, with its claim still there."""
    assert shell.json("claim", "x.py", "--wait", "50ms", "--as", "eve", exit=1)["error"]["code"] == "held"
    ann.leave()
    assert shell.json("claim", "x.py", "--wait", "5s", "--as", "eve", exit=0)["token"]
