"""Alerts reach the config's command and webhook, once; and somebody always looks: real processes, a real server."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.client.upkeep import alert_delivery, rounds
from dibs.operations.alerts import delivery
from tests.interfaces.worker_processes import alive, number_in
from tests.scratch import DIBS
from tests.waiting import LIMIT_S, in_time, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.scratch import Shell

SECRET = b"a secret of both sides"


class Receiver:
    """A webhook: it keeps what it gets, and answers with these codes in turn, the last one for ever."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.codes = [204]
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((dict(self.headers), body))
                code = receiver.codes[min(len(receiver.requests), len(receiver.codes)) - 1]
                self.send_response(code)
                if code == 302:
                    self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


def configure(shell: Shell, text: str) -> None:
    """Add to the workspace's config."""
    config = shell.folder / ".dibs" / "config.toml"
    config.write_text(f"{config.read_text()}\n{text}\n")


def webhook(shell: Shell, receiver: Receiver) -> None:
    (shell.folder / ".dibs" / "local" / "secret").write_bytes(SECRET + b"\n")
    configure(shell, f'[alerts]\nwebhook = "{receiver.url}"\nsecret_file = ".dibs/local/secret"')


def poison(shell: Shell, name: str = "t") -> None:
    """An alert, at once."""
    shell.json("task", "add", name, "--id", name, "--attempts", "1", exit=0)
    token = shell.json("task", "claim", name, "--as", f"ann-{name}", exit=0)["token"]
    words = ("task", "fail", name, "--token", str(token), "--class", "transient", "--why", "no", "--as", f"ann-{name}")
    shell.json(*words, exit=0)


def alerts(shell: Shell, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shell.json("alerts", *words, exit=0)["alerts"]
    return found


# --- the webhook


def test_an_alert_is_posted_once_and_signed(shell: Shell, receiver: Receiver) -> None:
    webhook(shell, receiver)
    poison(shell)
    for _ in range(3):
        shell.json("sweep", exit=0)
    ((headers, body),) = receiver.requests
    alert = json.loads(body)["alert"]
    (shown,) = alerts(shell)
    assert (alert["id"], alert["kind"], alert["evidence"]) == (shown["id"], "poison", shown["evidence"])
    assert headers["X-Dibs-Delivery"] == alert["id"]
    signed = headers["X-Dibs-Timestamp"].encode() + b"." + body
    assert headers["X-Dibs-Signature"] == f"sha256={hmac.new(SECRET, signed, hashlib.sha256).hexdigest()}"
    assert shown["delivery"] == {"state": "delivered", "tries": 1, "why": ""}


@pytest.mark.parametrize("code", [302, 404, 500])
def test_what_the_webhook_refuses_is_retried_with_backoff_and_given_up_in_the_end(
    shell: Shell, receiver: Receiver, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "BACKOFF_MS", (0,))
    webhook(shell, receiver)
    receiver.codes = [code]
    poison(shell)
    with dibs.open(str(shell.folder), agent="bob") as ws:
        for _ in range(delivery.MAX_TRIES + 3):
            alert_delivery.deliver(ws.session, "bob", 1)
    assert len(receiver.requests) == delivery.MAX_TRIES
    assert len({headers["X-Dibs-Delivery"] for headers, _ in receiver.requests}) == 1
    (alert,) = alerts(shell)
    assert alert["delivery"] == {"state": "failed", "tries": delivery.MAX_TRIES, "why": f"the webhook answered {code}"}
    assert shell.json("alerts", exit=0)["deliveries"] == {"pending": 0, "failed": 1}
    assert "could not be delivered" in shell.run("check").stdout
    (lost,) = shell.json("status", exit=0)["undelivered"]
    assert (lost["id"], lost["state"], lost["why"]) == (alert["id"], "failed", f"the webhook answered {code}")
    assert f"! 1 alert not delivered: the webhook answered {code}" in shell.run("status").stdout


def test_between_two_attempts_is_a_pause(shell: Shell, receiver: Receiver) -> None:
    webhook(shell, receiver)
    receiver.codes = [500, 204]
    poison(shell)
    for _ in range(3):
        shell.json("sweep", exit=0)
    assert len(receiver.requests) == 1
    assert shell.json("alerts", exit=0)["deliveries"] == {"pending": 1, "failed": 0}


def test_a_later_attempt_succeeds_and_is_the_last(
    shell: Shell, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "BACKOFF_MS", (0,))
    webhook(shell, receiver)
    receiver.codes = [500, 204]
    poison(shell)
    with dibs.open(str(shell.folder), agent="bob") as ws:
        for _ in range(4):
            alert_delivery.deliver(ws.session, "bob", 1)
    assert len(receiver.requests) == len(receiver.codes)
    assert alerts(shell)[0]["delivery"]["state"] == "delivered"


def test_a_webhook_without_its_secret_sends_nothing(shell: Shell, receiver: Receiver) -> None:
    configure(shell, f'[alerts]\nwebhook = "{receiver.url}"\nsecret_file = ".dibs/local/none"')
    poison(shell)
    shell.json("sweep", exit=0)
    assert receiver.requests == []
    assert "secret_file" in alerts(shell)[0]["delivery"]["why"]


def test_a_webhook_that_is_not_there_is_said_without_its_address(shell: Shell) -> None:
    configure(shell, '[alerts]\nwebhook = "http://127.0.0.1:1/token-in-the-path"')
    poison(shell)
    shell.json("sweep", exit=0)
    why = alerts(shell)[0]["delivery"]["why"]
    assert "cannot be reached" in why
    assert "token" not in why


@pytest.mark.parametrize("url", ["http://example.com/x", "ftp://x", "http://127.0.0.1.example.com/"])
def test_a_webhook_elsewhere_needs_tls(shell: Shell, url: str) -> None:
    configure(shell, f'[alerts]\nwebhook = "{url}"')
    assert shell.json("status")["error"]["code"] == "invalid"


def test_several_processes_deliver_each_alert_once(shell: Shell, receiver: Receiver) -> None:
    webhook(shell, receiver)
    for number in range(8):
        poison(shell, f"t{number}")
    sweepers = [
        subprocess.Popen([DIBS, "sweep"], cwd=shell.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(6)
    ]
    for one in sweepers:
        assert one.communicate(timeout=60)[1] == b""
    shell.json("sweep", exit=0)
    found = [headers["X-Dibs-Delivery"] for headers, _ in receiver.requests]
    assert sorted(found) == sorted({alert["id"] for alert in alerts(shell)})


def test_a_process_that_dies_after_it_sent_costs_one_delivery_more(
    shell: Shell, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "LEASE_MS", 0)
    webhook(shell, receiver)
    poison(shell)

    class Killed(BaseException):
        pass

    def dies(*given: Any) -> str:
        send(*given)
        raise Killed

    send = alert_delivery.send
    monkeypatch.setattr(alert_delivery, "send", dies)
    with dibs.open(str(shell.folder), agent="bob") as ws:
        with pytest.raises(Killed):
            alert_delivery.deliver(ws.session, "bob", 1)
        monkeypatch.setattr(alert_delivery, "send", send)
        for _ in range(3):
            alert_delivery.deliver(ws.session, "bob", 1)
    assert len(receiver.requests) == len(("before it died", "after"))


@pytest.fixture
def dripping() -> Iterator[str]:
    """The URL of a receiver that sends a byte of its answer each tenth of a second, for twelve seconds."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def drip(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            for _ in range(120):
                if over.wait(0.1):
                    break
                connection.sendall(b"a")

    def accept() -> None:
        with contextlib.suppress(OSError):
            while not over.is_set():
                threads.append(threading.Thread(target=drip, args=(listener.accept()[0],)))
                threads[-1].start()

    threads = [threading.Thread(target=accept)]
    threads[0].start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    over.set()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    for one in threads:
        one.join()


def test_a_receiver_that_drips_is_given_up_at_the_deadline_of_the_whole_exchange(
    shell: Shell, dripping: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(shell, f'[alerts]\nwebhook = "{dripping}"')
    monkeypatch.setattr(alert_delivery, "WEBHOOK_TIMEOUT_S", 0.5)
    poison(shell)
    with dibs.open(str(shell.folder), agent="bob") as ws:
        assert alert_delivery.deliver(ws.session, "bob", 1) == 1
    assert "did not answer within 0.5 s" in alerts(shell)[0]["delivery"]["why"]


def test_a_waiter_leaves_the_sending_to_another_process_and_is_served_while_a_receiver_drips(
    shell: Shell, dripping: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(shell, f'[alerts]\nwebhook = "{dripping}"')
    poison(shell)
    monkeypatch.setattr(alert_delivery, "WEBHOOK_TIMEOUT_S", 30.0)  # in this process, which waits
    with dibs.open(str(shell.folder), agent="holder") as holder_, dibs.open(str(shell.folder), agent="carl") as ws:
        held = holder_.claim("hot.py")
        with ThreadPoolExecutor(1) as pool:
            waits = pool.submit(ws.claim, "hot.py", wait=60)
            assert until(lambda: alerts(shell)[0]["delivery"]["tries"] == 1), "nobody sends"
            held.release()
            assert waits.result(8).token


# --- the command


def test_a_command_gets_each_alert_on_its_standard_input(shell: Shell) -> None:
    configure(shell, '[alerts]\ncommand = "cat >> got; echo >> got"')
    poison(shell)
    for _ in range(2):
        shell.json("sweep", exit=0)
    (line,) = (shell.folder / "got").read_text().splitlines()
    assert json.loads(line)["alert"]["kind"] == "poison"


def test_a_command_that_hangs_is_ended_with_all_that_it_started(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(shell, '[alerts]\ncommand = "sleep 600 & echo $! > pid; wait"')
    pid = shell.folder / "pid"

    def play(timeout: float) -> None:
        monkeypatch.setattr(alert_delivery, "COMMAND_TIMEOUT_S", timeout)
        poison(shell, f"t{timeout}")
        with dibs.open(str(shell.folder), agent="bob") as ws:
            alert_delivery.deliver(ws.session, "bob", 1)
        assert number_in(pid), "it came that far"

    in_time(play, life=0.2)
    until(lambda: not alive(number_in(pid)))
    assert "did not end" in alerts(shell)[0]["delivery"]["why"]


def test_only_what_is_grave_enough_is_delivered(shell: Shell) -> None:
    configure(shell, '[alerts]\ncommand = "cat >> got"\nmin_severity = "error"')
    shell.json("claim", "x.py", "--as", "ann", "--expect", "1ms", exit=0)
    assert until(lambda: [one["kind"] for one in alerts(shell)] == ["hold"])
    shell.json("sweep", exit=0)
    assert not (shell.folder / "got").exists()
    assert "delivery" not in alerts(shell)[0]


def test_a_hook_raises_but_never_delivers(shell: Shell) -> None:
    configure(shell, '[alerts]\ncommand = "cat >> got"')
    poison(shell)
    with dibs.open(str(shell.folder), agent="bob") as ws:
        assert rounds.step(ws.session, "hook", "bob", every=0, deliver=False)
    assert not (shell.folder / "got").exists()
    assert alerts(shell)[0]["delivery"]["state"] == "pending"


# --- somebody always looks

HOLDS = """
import sys, dibs, time
ws = dibs.open(sys.argv[1], sys.argv[2])
ws.boot()
ws.claim(sys.argv[3], ttl=3600)
print("holds", flush=True)
time.sleep(600)
"""


def holder(shell: Shell, agent: str, resource: str) -> subprocess.Popen[str]:
    """A process that holds something until it is killed."""
    words = [sys.executable, "-c", HOLDS, str(shell.folder), agent, resource]
    started = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    assert started.stdout.readline() == "holds\n"
    return started


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    """What a test starts, ended after it."""
    found: list[subprocess.Popen[str]] = []
    yield found
    for one in found:
        one.kill()
        one.communicate()


def log_of(shell: Shell, kind: str) -> list[dict[str, Any]]:
    """The alerts in the log; nobody looks because of this."""
    found = shell.json("log", "--kind", "alert.raised", "--limit", "0", exit=0)["events"]
    return [event for event in found if event["data"]["what"] == kind]


def test_who_waits_for_something_else_finds_an_agent_dead(shell: Shell, started: list[subprocess.Popen[str]]) -> None:
    dead, other = holder(shell, "ann", "a.py"), holder(shell, "bob", "b.py")
    started += [dead, other]
    started.append(
        subprocess.Popen([DIBS, "claim", "b.py", "--wait", "10m", "--as", "carl"], cwd=shell.folder,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    )  # fmt: skip
    assert until(lambda: bool(shell.json("status", exit=0)["waiting"]))
    dead.send_signal(signal.SIGKILL)
    dead.wait()
    assert until(lambda: len(log_of(shell, "dead")) == 1), "who waits did not look"
    looker = rounds.last(str(shell.folder / ".dibs" / "local"))
    assert looker is not None
    assert (looker["by"], looker["lasting"]) == ("wait", True)


def test_who_waits_for_a_few_seconds_looks_and_has_alerts_delivered(
    shell: Shell, started: list[subprocess.Popen[str]]
) -> None:
    configure(shell, '[alerts]\ncommand = "cat >> got"')
    shell.json("claim", "b.py", "--as", "bob", exit=0)
    started.append(
        subprocess.Popen([DIBS, "claim", "b.py", "--wait", "60s", "--as", "carl"], cwd=shell.folder,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    )  # fmt: skip
    assert until(lambda: bool(shell.json("status", exit=0)["waiting"]))
    poison(shell)
    assert until((shell.folder / "got").exists), "who waits did not deliver"


def test_who_waits_looks_every_two_seconds(shell: Shell) -> None:
    local = shell.folder / ".dibs" / "local"
    shell.json("claim", "b.py", "--as", "ann", exit=0)  # by no process: who waits asks the store every five seconds
    with dibs.open(str(shell.folder), agent="carl") as ws:
        looks = list[int]()
        with ThreadPoolExecutor(1) as pool:
            waits = pool.submit(ws.claim, "b.py", wait=2 * LIMIT_S)

            def looked_twice_within_four_seconds() -> bool:
                stamp = (local / rounds.STAMP).stat().st_mtime_ns if (local / rounds.STAMP).exists() else 0
                if stamp and stamp not in looks:
                    looks.append(stamp)
                return len(looks) >= 3 and looks[-1] - looks[-2] < 4e9

            try:
                until(looked_twice_within_four_seconds, "a second look")
            finally:
                shell.json("release", "b.py", "--as", "ann", exit=0)
            assert waits.result(LIMIT_S).token


def test_a_worker_without_work_finds_an_agent_dead(shell: Shell, started: list[subprocess.Popen[str]]) -> None:
    dead = holder(shell, "ann", "a.py")
    started.append(dead)
    started.append(
        subprocess.Popen([DIBS, "worker", "--exec", "true"], cwd=shell.folder, stdout=subprocess.PIPE, text=True)
    )
    dead.send_signal(signal.SIGKILL)
    dead.wait()
    assert until(lambda: len(log_of(shell, "dead")) == 1)


def test_two_that_look_at_once_raise_one_alert(shell: Shell, started: list[subprocess.Popen[str]]) -> None:
    dead = holder(shell, "ann", "a.py")
    started.append(dead)
    dead.send_signal(signal.SIGKILL)
    dead.wait()
    looks = [subprocess.Popen([DIBS, "alerts"], cwd=shell.folder, stdout=subprocess.DEVNULL) for _ in range(6)]
    for one in looks:
        assert one.wait(60) == 0
    assert len(log_of(shell, "dead")) == 1
    assert shell.json("verify", exit=0)["found"] == 0


def test_check_says_that_nobody_looks_and_when_somebody_does(
    shell: Shell, started: list[subprocess.Popen[str]]
) -> None:
    with (shell.folder / ".dibs" / "config.toml").open("a") as config:
        config.write('[alerts]\ncommand = "true"\n')
    shell.json("claim", "x.py", "--as", "ann", exit=0)
    assert shell.json("check", "--check", "alerting", exit=0)["checks"][0]["status"] == "ok"  # nobody else is blocked
    shell.json("claim", "y.py", "--as", "bob", exit=0)
    (found,) = shell.json("check", "--check", "alerting", exit=0)["checks"]
    assert (found["status"], "nothing watches" in found["message"]) == ("warn", True), "advice: nothing was missed yet"
    started.append(subprocess.Popen([DIBS, "sweep", "--watch"], cwd=shell.folder, stdout=subprocess.PIPE, text=True))
    local = str(shell.folder / ".dibs" / "local")
    assert until(lambda: (rounds.last(local) or {"lasting": False})["lasting"])
    (found,) = shell.json("check", "--check", "alerting", exit=0)["checks"]
    assert found["ok"], found


def test_a_step_that_comes_too_early_does_not_open_the_store(shell: Shell) -> None:
    with dibs.open(str(shell.folder), agent="bob") as ws:
        assert rounds.step(ws.session, "wait", "bob", every=60_000)
        ws.session.close()
        assert not rounds.step(ws.session, "wait", "bob", every=60_000)
        assert ws.session._store is None


def test_a_healthy_fleet_raises_no_alert(shell: Shell, started: list[subprocess.Popen[str]]) -> None:
    for number in range(12):
        shell.json("task", "add", f"task {number}", "--id", f"t{number}", exit=0)
    words = [DIBS, "worker", "--drain", "--exec", "dibs claim shared.py --wait 60s && dibs release shared.py"]
    environment = {**shell.environment}
    crew = [
        subprocess.Popen([*words, "--as", f"w{number}"], cwd=shell.folder, env=environment, stdout=subprocess.PIPE,
                         text=True) for number in range(3)
    ]  # fmt: skip
    started += crew
    for one in crew:
        assert one.wait(120) == 0
    assert {one["state"] for one in shell.json("task", "list", exit=0)["tasks"]} == {"complete"}
    shell.json("sweep", exit=0)
    assert alerts(shell, "--state", "all") == []


# --- what agents use


def test_agents_are_shown_with_client_host_and_on_request_what_they_use(
    shell: Shell, started: list[subprocess.Popen[str]]
) -> None:
    started.append(holder(shell, "ann", "a.py"))
    (agent,) = [one for one in shell.json("agents", "--usage", exit=0)["agents"] if one["agent"] == "ann"]
    assert agent["host_name"] == os.uname().nodename
    assert agent["memory"] > 1_000_000
    assert agent["cpu"] >= 0
    (plain,) = [one for one in shell.json("agents", exit=0)["agents"] if one["agent"] == "ann"]
    assert "cpu" not in plain
