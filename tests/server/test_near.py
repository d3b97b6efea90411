"""Near callers: through the server while it lives, at the store itself otherwise; same answers, everything once."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.client import adaptive_link
from dibs.client.adaptive_link import AdaptiveLink
from dibs.client.driver import StoreLink
from dibs.client.server_link import SocketLink
from dibs.client.session import Session
from dibs.server.host import Host
from dibs.server.socket_port import SocketPort, _Peer
from dibs.verify.checker import verify_store
from dibs.workspace import location
from tests.scratch import DIBS, Shell
from tests.server.near import Server, serving
from tests.waiting import LIMIT_S, until

TORTURE = bool(os.environ.get("DIBS_TORTURE"))
ROUNDS = 200 if TORTURE else 5

# Each leaves something that a second run would leave twice, or answer differently.
REQUESTS: list[tuple[str, tuple[str, ...]]] = [
    ("claim", ("claim", "a.txt", "--as", "ann")),
    ("send", ("send", "bob", "hello", "--as", "ann")),
    ("task add", ("task", "add", "work", "--as", "ann")),
    ("release", ("release", "held.txt", "--as", "ann")),
    ("refused", ("claim", "other.txt", "--as", "ann")),
]


def socket_workspace(folder: Path, agent: str) -> dibs.Workspace:
    """A workspace whose calls go through the server whenever there is one."""
    made = dibs.open(str(folder), agent=agent)
    made.session.link = SocketLink(made.session.place.local)
    return made


def prepare(shell: Shell) -> None:
    shell.json("claim", "held.txt", "--as", "ann", exit=0)
    shell.json("claim", "other.txt", "--as", "bob", exit=0)


def shape(answer: Any) -> Any:
    """An answer without what differs between any two calls: ids, times, tokens."""
    if isinstance(answer, dict):
        gone = {"claim", "token", "id", "created_at", "expires_at", "left", "message", "sent", "at", "until", "thread"}
        return {key: shape(value) for key, value in answer.items() if key not in gone}
    return [shape(one) for one in answer] if isinstance(answer, list) else answer


def test_a_command_through_the_server_answers_as_without_it_and_opens_no_store(shell: Shell) -> None:
    prepare(shell)
    with serving(shell.folder):
        session = Session(str(shell.folder), None)
        link = session.link = SocketLink(session.place.local)
        resource = session.paths.expanded("new.txt", session.cwd)
        answer = session.answer(session.operation("claim"), session.identify("ann"), {"resources": resource})
        assert answer["resources"] == ["new.txt"]
        assert link.group == 1
        assert session._store is None
        taken = session.paths.expanded("other.txt", session.cwd)
        with pytest.raises(dibs.Held) as refused:
            session.answer(session.operation("claim"), session.identify("ann"), {"resources": taken})
        assert refused.value.blockers[0]["agent"] == "bob"
        session.close()


@pytest.mark.parametrize(("name", "words"), REQUESTS, ids=[name for name, _ in REQUESTS])
@pytest.mark.parametrize("fate", ["KILL", "STOP"])
@pytest.mark.parametrize("point", ["before", "after"])
def test_a_server_that_dies_or_stops_in_mid_request_has_it_done_once_with_the_same_answer(
    shell: Shell, name: str, words: tuple[str, ...], fate: str, point: str
) -> None:
    prepare(shell)
    other = shell.folder.parent / "other"
    subprocess.run(["cp", "-r", shell.folder, other], check=True)
    direct = Shell(other)
    expected = direct.run(*words, "--json")
    with serving(shell.folder, point, "1", fate) as server:
        found = shell.run(*words, "--json")
        assert found.returncode == expected.returncode
        assert shape(json.loads(found.stdout)) == shape(json.loads(expected.stdout))
        if fate == "STOP":  # the caller went on while the server stood still
            until(lambda: server.is_stopped)
            server.tell(signal.SIGCONT)
            with socket_workspace(shell.folder, "eve") as eve:  # a group after those that were read before
                eve.claim("later.txt").release()
        else:
            server.process.wait(LIMIT_S)
    wanted = {"claim": "claim.granted", "send": "message.posted", "task add": "task.added",
              "release": "claim.released", "refused": "claim.refused"}[name]  # fmt: skip
    assert count(shell, wanted) == count(direct, wanted)
    shell.json("verify", exit=0)


def count(shell: Shell, kind: str) -> int:
    events = shell.json("log", "--limit", "1000")["events"]
    return len([event for event in events if event["kind"] == kind and event["agent"] == "ann"])


def test_a_left_over_file_and_another_build_are_passed_by(shell: Shell) -> None:
    with serving(shell.folder, DIBS_TEST_BUILD="another"):
        session = Session(str(shell.folder), None)
        assert not SocketLink(session.place.local).is_near()
        shell.json("claim", "a.txt", "--as", "ann", exit=0)
    with serving(shell.folder) as server:
        kept = (shell.folder / ".dibs/local/serve.json").read_text(encoding="utf-8")
        server.tell(signal.SIGKILL)
        server.process.wait(LIMIT_S)
    assert (shell.folder / ".dibs/local/serve.json").read_text(encoding="utf-8") == kept
    shell.json("claim", "b.txt", "--as", "ann", exit=0)


def test_a_waiter_whose_request_ran_in_the_server_is_woken_in_its_own_process(shell: Shell) -> None:
    with (
        serving(shell.folder),
        socket_workspace(shell.folder, "ann") as ann,
        socket_workspace(shell.folder, "bob") as bob,
    ):
        held = bob.claim("db:x")
        waits: list[dict[str, Any]] = []
        ann.told = waits.append
        got: list[Any] = []
        thread = threading.Thread(target=lambda: got.append(ann.claim("db:x", wait=60)))
        thread.start()
        until(lambda: len(waits) > 1)  # it listens now
        assert waits[-1]["wake"]
        held.release()
        thread.join(LIMIT_S)
        assert got[0].resources == ["db:x"]


@pytest.mark.parametrize("point", ["before", "after"])
def test_a_command_that_is_interrupted_while_the_server_is_stopped_leaves_nothing(shell: Shell, point: str) -> None:
    with serving(shell.folder, point, "1", "STOP") as server:
        command = subprocess.Popen(
            [DIBS, "claim", "db:x", "--as", "ann"], cwd=shell.folder, env=shell.environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        until(lambda: server.is_stopped)
        command.send_signal(signal.SIGINT)
        command.communicate(timeout=LIMIT_S)
        assert command.returncode == 128 + signal.SIGINT
        with dibs.open(str(shell.folder), agent="eve") as eve:  # the server is still stopped
            assert [one for one in eve.status()["claims"] if one["agent"] == "ann"] == []
        server.tell(signal.SIGCONT)
        with socket_workspace(shell.folder, "bob") as bob:
            bob.claim("db:y").release()
            assert [one for one in bob.status()["claims"] if one["agent"] == "ann"] == []
            bob.claim("db:x")


def raw(shell: Shell) -> socket.socket:
    """A connection of somebody who writes lines by hand."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.settimeout(LIMIT_S)
    made.connect(str(shell.folder / ".dibs/local/serve.sock"))
    return made


def line(shell: Shell, number: int, op: str, agent: str, **fields: Any) -> bytes:
    message = {"n": number, "op": op, "call": {"agent": agent}, "fields": fields, "top": str(shell.folder)}
    return json.dumps(message).encode() + b"\n"


def test_a_grant_that_its_caller_never_got_is_withdrawn(shell: Shell) -> None:
    with serving(shell.folder, "after", "1", "STOP") as server:
        gone = raw(shell)
        message = json.loads(line(shell, 1, "claim", "ann", resources=[["name", "db:x"]]))
        gone.sendall(json.dumps({**message, "via": "a" * 32}).encode() + b"\n")
        until(lambda: server.is_stopped)  # granted, and not answered
        gone.close()
        with dibs.open(str(shell.folder), agent="bob") as bob:
            assert [one["agent"] for one in bob.status()["claims"]] == ["ann"]
            server.tell(signal.SIGCONT)
            until(lambda: not bob.status()["claims"])


def test_several_requests_in_one_go_are_answered_by_their_numbers(shell: Shell) -> None:
    with serving(shell.folder), raw(shell) as peer:
        names = [line(shell, n, "claim", f"a{n}", resources=[["name", f"db:{n}"]]) for n in range(50)]
        peer.sendall(b"".join(names))
        answers = [json.loads(peer_line) for peer_line in lines_of(peer, 50)]
        assert sorted(answer["n"] for answer in answers) == list(range(50))
        assert len({answer["result"]["token"] for answer in answers}) == 50
        assert max(answer["g"] for answer in answers) > 1


def lines_of(peer: socket.socket, count: int) -> list[bytes]:
    text = b""
    while text.count(b"\n") < count:
        text += peer.recv(65_536)
    return text.splitlines()


BAD_LINES = [
    b"{\n", b"[1]\n", b"\xff\xfe\n", b'{"n":1}\n', b'{"n":1,"op":7}\n', b'{"n":1,"op":"nonsense"}\n',
    b'{"n":1,"op":"claim","call":[]}\n', b'{"n":1,"op":"claim","call":{"agent":7}}\n',
    b'{"n":1,"op":"claim","call":{"agent":"ann","client":["a"]}}\n',
    b'{"n":1,"op":"claim","call":{"agent":"ann"},"fields":{"resources":[["file","../x"]]}}\n',
    b'{"n":1,"op":"claim","call":{"agent":"ann"},"fields":{"resources":[["file","/x"]]}}\n',
    b'{"n":1,"op":"claim","call":{"agent":"ann"},"fields":{"resources":[["file","a//b"]]}}\n',
    b'{"n":1,"op":"claim","call":{"agent":"ann"},"fields":{"resources":["a"]}}\n',
    b'{"n":1,"op":"claim","call":{"agent":"ann"},"fields":{"nothing":1}}\n',
    b'{"n":1,"op":"claim","call":{"agent":"ann"},"fields":7,"via":"short"}\n',
    b'{"n":1,"op":"claim","call":{"agent":"ann"},"top":"/"}\n',
    b'{"n":1,"op":"claim","call":{"agent":"ann"},"fields":{"resources":[["name","a:b"]]},"store":"redis://x"}\n',
    b"[" * 100_000 + b"\n",
    *[b'{"n":1,"op":"claim","call":{"agent":"ann"},"fields":{"resources":[["name","a:b"]]},"top":%s}\n' % top
      for top in (b'"\\ud800"', b'"\\u0000"', b'"../.."', b"7", b"[1]", b"true", b'{"a":1}')],
    *[b'{"n":1,"op":"claim","call":{"agent":"ann"},"fields":{"resources":[["name","a:b"]]},"%s":%s}\n' % (name, value)
      for name in (b"via", b"store") for value in (b'"\\ud800"', b"7", b"[1]", b"true", b'{"a":1}')],
]  # fmt: skip


def test_a_line_that_is_no_request_is_told_so_and_the_next_one_is_answered(shell: Shell) -> None:
    shell.json("claim", "held.txt", "--as", "bob", exit=0)
    with serving(shell.folder) as server, raw(shell) as peer:
        for bad in BAD_LINES:
            peer.sendall(bad)
            answer = json.loads(lines_of(peer, 1)[0])
            assert answer["refused"][0] in {"invalid", "unavailable"}, bad
            assert "Traceback" not in answer["refused"][1]
        peer.sendall(line(shell, 2, "claim", "ann", resources=[["name", "db:x"]]))
        assert json.loads(lines_of(peer, 1)[0])["result"]["resources"] == ["db:x"]
        assert server.process.poll() is None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it is cut off on the way
            peer.sendall(b"x" * 5_000_000)
        assert json.loads(lines_of(peer, 1)[0])["refused"][0] == "invalid"


def test_an_answer_that_is_no_json_is_one_callers_refusal_and_not_the_end_of_the_server(shell: Shell) -> None:
    port = SocketPort(Host(location.find(str(shell.folder), None)), str(shell.folder / "s.sock"))
    mine, its = socket.socketpair()
    with mine, its, port._bell, port._ear, contextlib.closing(port._selector):
        assert port._send(_Peer(its), {"n": 7, "result": {"odd": object()}})
        answer = json.loads(lines_of(mine, 1)[0])
    assert (answer["n"], answer["refused"][0]) == (7, "unavailable")


def test_callers_that_send_half_a_line_or_never_read_harm_nobody(shell: Shell) -> None:
    with serving(shell.folder):
        half = [raw(shell) for _ in range(50)]
        for one in half:
            one.sendall(b'{"n":1,"op":"cl')
        deaf = raw(shell)
        deaf.setblocking(False)
        many = b"".join(line(shell, n, "claim", "deaf", resources=[["name", "db:deaf"]]) for n in range(2_000))
        with_rest = memoryview(many)
        try:
            while with_rest:
                with_rest = with_rest[deaf.send(with_rest) :]
        except BlockingIOError:
            pass

        def served() -> bool:
            with socket_workspace(shell.folder, "ann") as ann:
                ann.claim("a.txt").release()
                assert isinstance(ann.session.link, SocketLink)
                return ann.session.link.group >= 1

        until(served, "an answer of the server")  # on a busy machine it may be late at first, and ann asks the store
        for one in (*half, deaf):
            one.close()


def test_the_socket_is_for_its_user_alone(shell: Shell) -> None:
    with serving(shell.folder):
        mode = (shell.folder / ".dibs/local/serve.sock").stat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600
    assert not (shell.folder / ".dibs/local/serve.sock").exists()


def goes_through(link: AdaptiveLink) -> bool:
    return link._through


def test_a_program_alone_stays_at_the_store_and_goes_to_the_server_in_a_crowd(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adaptive_link, "CROWDED", 1)  # where nothing has to reach a disk, few meet at the gate
    with serving(shell.folder), dibs.open(str(shell.folder), agent="ann") as ann:
        link = ann.session.link
        assert isinstance(link, AdaptiveLink)
        for _ in range(40):
            ann.claim("a.txt").release()
        assert not goes_through(link)
        crowd = [
            subprocess.Popen([sys.executable, "-c", CROWD, str(shell.folder), f"c{n}"], stdout=subprocess.PIPE)
            for n in range(6)
        ]
        for one in crowd:
            assert one.stdout is not None
            assert one.stdout.readline() == b"ready\n"
        end = time.monotonic() + LIMIT_S
        while not goes_through(link) and time.monotonic() < end:
            ann.claim("a.txt").release()
        assert goes_through(link)
        for one in crowd:
            one.kill()
            one.communicate()
        while goes_through(link) and time.monotonic() < end:
            ann.claim("a.txt").release()
        assert not goes_through(link), "alone again, it is faster at the store"


CROWD = """
import sys, dibs
from dibs.client.driver import StoreLink
ws = dibs.open(sys.argv[1], agent=sys.argv[2])
ws.session.link = StoreLink()
print("ready", flush=True)
while True:
    ws.claim(f"db:{sys.argv[2]}", auto_renew=False).release()
"""

WORKER = """
import sys, dibs
from dibs.client.server_link import SocketLink
import dibs.client.server_link as remote
remote.PAUSE_MS = 50
ws = dibs.open(sys.argv[1], agent=sys.argv[2])
ws.session.link = SocketLink(ws.session.place.local)
print("ready", flush=True)
done = through = 0
while True:
    claim = ws.claim(f"db:{sys.argv[2]}", auto_renew=False)
    assert claim.token
    ws.send("sink", f"{done}")
    claim.release()
    done += 1
    through += ws.session.link.group > 0
    print(done, through, flush=True)
"""


def test_a_server_killed_under_load_again_and_again_loses_no_answer_and_does_nothing_twice(shell: Shell) -> None:
    shell.json("boot", "--as", "sink", exit=0)
    folder = shell.folder
    config = folder / ".dibs/config.toml"
    config.write_text(
        config.read_text(encoding="utf-8") + "\n[messages]\ninbox = 100000\nfrom_one = 100000\n", encoding="utf-8"
    )
    server = Server(folder)
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(folder), f"w{n}"], stdout=subprocess.PIPE) for n in range(4)
    ]
    said: list[list[bytes]] = [[] for _ in workers]

    def read(place: int) -> None:
        pipe = workers[place].stdout
        assert pipe is not None
        said[place].extend(iter(pipe.readline, b""))

    def all_say(more: int) -> None:
        """Wait until every worker said more than so many lines from now on."""
        seen = [len(one) for one in said]
        until(lambda: all(len(one) > before + more for one, before in zip(said, seen, strict=True)))

    readers = [threading.Thread(target=read, args=(place,)) for place in range(len(workers))]
    for reader in readers:
        reader.start()
    try:
        for number in range(ROUNDS):
            all_say(2)
            if number % 5 == 4:
                server.tell(signal.SIGSTOP)
                until(partial(getattr, server, "is_stopped"))
                time.sleep(1)  # the time of a stop; inside a transaction, it holds everybody up, as any process does
                server.tell(signal.SIGCONT)
            else:
                server.tell(signal.SIGKILL)
            all_say(1)
            server.end()
            server = Server(folder, **({"DIBS_TEST_BUILD": "another"} if number % 7 == 6 else {}))
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
        for reader in readers:
            reader.join()
        server.end()
        for worker in workers:
            assert worker.stdout is not None
            worker.stdout.close()
    with dibs.open(str(folder)) as ws:
        assert verify_store(ws.store).ok
        events = [json.loads(event.body) for event in ws.store.events(0, 1_000_000)]
    through = 0
    for place, one in enumerate(said):
        done, passed = map(int, next(text for text in reversed(one) if len(text.split()) == 2).split())
        through += passed
        sent = [event for event in events if event["kind"] == "message.posted" and event["agent"] == f"w{place}"]
        assert done <= len(sent) <= done + 2, "each message once; the last ones' answers may not have been read"
        assert len({event["data"]["id"] for event in sent}) == len(sent)
    assert through > 0, "some went through the server"


def test_the_store_link_is_the_default_of_a_session(shell: Shell) -> None:
    assert isinstance(Session(str(shell.folder), None).link, StoreLink)
