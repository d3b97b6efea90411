"""What the fault tests share: sizes, seeds, workspaces to hurt, and handles on the processes of `actor`."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dibs.client.session import Session
from dibs.errors import ERRORS, DibsError
from dibs.interfaces import cli
from dibs.machine import clock
from dibs.operations.core.call import Call
from dibs.stores.seam import Event, read_event
from dibs.stores.sqlite import database_file
from dibs.stores.sqlite.store import SqliteStore
from dibs.verify.checker import verify_store
from tests.canonical import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.stores.seam import LogEvent

ROOT = Path(__file__).parents[2]
DIBS = Path(sys.executable).with_name("dibs")
PATIENCE = 120.0  # seconds after which a silent child is a failure


def size(ordinary: int, torture: int) -> int:
    """How much of it: enough for an ordinary run, or the full figure under DIBS_TORTURE=1."""
    return torture if os.environ.get("DIBS_TORTURE") == "1" else ordinary


# Seconds that an answer may take which comes at once. The ordinary run may share its machine with ten others, and what
# an answer must not wait for is minutes away; the torture has the machine to itself.
SOON = size(60, 2)


class Dice(random.Random):
    """A generator whose seed is printed, and with it in the report of a failure; DIBS_SEED gives it again.

    An ordinary run has the same seed each time, so that a change is judged by what it changed; the torture draws one.
    """

    def __init__(self) -> None:
        self.number = int(os.environ.get("DIBS_SEED") or size(1, random.SystemRandom().randrange(2**32)))
        super().__init__(self.number)
        print(f"replay with DIBS_SEED={self.number}")


class Actor:
    """A process that does what it is told."""

    def __init__(self, pid: int, channel: socket.socket) -> None:
        self.pid = pid
        self._channel = channel
        self._rest = b""

    def send(self, command: str, **named: Any) -> None:
        """Say what to do, without waiting for it."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._channel.sendall(json.dumps([command, named]).encode() + b"\n")

    def receive(self, patience: float = PATIENCE) -> Any:
        """The answer; a refusal is raised. EOFError: the process died. TimeoutError: it is silent."""
        end = time.monotonic() + patience
        poll = select.poll()  # select() takes no descriptor above 1023
        poll.register(self._channel, select.POLLIN)
        while b"\n" not in self._rest:
            left = end - time.monotonic()
            if not poll.poll(max(0.0, left) * 1000):
                message = f"process {self.pid} did not answer within {patience} s"
                raise TimeoutError(message)
            try:
                data = self._channel.recv(1 << 20)
            except ConnectionResetError:
                data = b""
            if not data:
                message = f"process {self.pid} died"
                raise EOFError(message)
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        answer = json.loads(line)
        if "crash" in answer:
            raise AssertionError(answer["crash"])
        if "error" in answer:
            code, message, fields = answer["error"]
            raise ERRORS[code](message, **fields)
        return answer["ok"]

    def do(self, command: str, **named: Any) -> Any:
        """Say what to do and wait for the answer."""
        self.send(command, **named)
        return self.receive()

    def start(self, method: str, *given: Any, **named: Any) -> None:
        """Begin a call of the Python API."""
        self.send("call", name=method, given=given, named=named)

    def call(self, method: str, *given: Any, **named: Any) -> Any:
        """Call a method of the Python API."""
        self.start(method, *given, **named)
        return self.receive()

    def stop(self) -> None:
        """SIGSTOP, and wait until it stands still."""
        os.kill(self.pid, signal.SIGSTOP)
        self.await_stop()

    def await_stop(self) -> None:
        """Wait until it stands still."""
        self._await(lambda state: state in "tT")

    def go_on(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.await_death()

    def await_death(self) -> None:
        """Wait until it is gone."""
        self._await(lambda state: state in "ZX")

    def close(self) -> None:
        """Let it end, stopped or not."""
        self._channel.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def _await(self, reached: Any) -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                text = Path(f"/proc/{self.pid}/stat").read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                state = "X"
            else:
                state = text[text.rindex(b")") + 2 :].decode()[0]
            if reached(state):
                return
            time.sleep(0.002)
        message = f"process {self.pid} does not get there"
        raise TimeoutError(message)


class Nursery:
    """One process per test session from which actors are forked: fast, and with nothing of pytest's in them."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "tests.faults.actor"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=theirs.fileno(), env=environment, start_new_session=True
        )
        theirs.close()

    def actor(self) -> Actor:
        """A new process."""
        ours, theirs = socket.socketpair()
        socket.send_fds(self._control, [b"+"], [theirs.fileno()])
        theirs.close()
        return Actor(int.from_bytes(self._control.recv(8, socket.MSG_WAITALL), "big"), ours)

    def close(self) -> None:
        """End it."""
        self._control.close()
        self._process.wait(PATIENCE)


class World:
    """A workspace to hurt, and the processes in it."""

    def __init__(self, folder: Path, nursery: Nursery) -> None:
        self.folder = folder
        self.dibs = DIBS
        self.local = folder / ".dibs" / "local"
        self.database = self.local / "dibs.db"
        self._nursery = nursery
        self._actors: list[Actor] = []
        folder.mkdir(exist_ok=True, parents=True)
        with contextlib.redirect_stdout(io.StringIO()):
            assert cli.main(["init", str(folder)]) == 0

    # --- processes

    def blank(self, **patches: Any) -> Actor:
        """A process that has opened nothing yet."""
        actor = self._nursery.actor()
        self._actors.append(actor)
        if patches:
            actor.do("patch", **patches)
        return actor

    def actor(self, agent: str, *, timeout: float | None = None, **patches: Any) -> Actor:
        """A process that is an agent's incarnation."""
        actor = self.blank(**patches)
        actor.do("open", folder=str(self.folder), agent=agent, timeout=timeout)
        return actor

    def floor(self, actor: Actor, agent: str, operation: str, request: str = "", /, **fields: Any) -> Any:
        """An operation in that process, as a caller without a client process makes it."""
        self.start_floor(actor, agent, operation, request, **fields)
        return actor.receive()

    def start_floor(self, actor: Actor, agent: str, operation: str, request: str = "", /, **fields: Any) -> None:
        """Begin an operation in that process."""
        named = {"agent": agent, "name": operation, "fields": fields, "request": request}
        actor.send("floor", folder=str(self.folder), timeout=30.0, **named)

    def close(self) -> None:
        """End all processes."""
        for actor in self._actors:
            actor.close()
        for actor in self._actors:
            actor.await_death()
        self._actors.clear()

    def run(self, *words: str, agent: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        """The real command line."""
        return subprocess.run(
            [DIBS, *words], cwd=self.folder, env=self.environment(agent, **environment), capture_output=True, text=True,
            check=False, timeout=PATIENCE, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def environment(self, agent: str = "", **more: str) -> dict[str, str]:
        """The environment of a shell in which an agent works."""
        hidden = ("DIBS_", "CLAUDE", "CODEX", "COPILOT", "GEMINI")
        found = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        if agent:
            found["DIBS_AGENT"] = agent
        return {**found, **more}

    # --- looking at what is there, in this process

    @contextlib.contextmanager
    def store(self, timeout: float = 5.0) -> Iterator[SqliteStore]:
        """The store, opened here."""
        store = SqliteStore(str(self.database), timeout=timeout)
        try:
            yield store
        finally:
            store.close()

    def stop(self, actor: Actor) -> None:
        """SIGSTOP, but inside no transaction: there it would hold up all others until it goes on."""
        with self.store() as store:
            actor.stop()
            while not store.is_free():
                actor.go_on()
                time.sleep(0.001)
                actor.stop()

    def here(self, operation: str, agent: str = "judge", request: str = "", /, **fields: Any) -> Any:
        """An operation in this process, by a caller without a client process."""
        session = Session(str(self.folder), None)
        try:
            call = Call(session.config.policy, agent=agent, request=request)
            declared = session.operation(operation)
            return session.run(declared, call, canonical(declared, fields))
        finally:
            session.close()

    def claims(self) -> list[tuple[str, tuple[str, ...], str, int]]:
        """What status lists: agent, resources, mode, token."""
        found = self.here("status")["claims"]
        return [(claim["agent"], tuple(claim["resources"]), claim["mode"], claim["token"]) for claim in found]

    def events(self) -> list[LogEvent]:
        """The whole log, opened."""
        with self.store() as store:
            return [read_event(event) for event in store.events(0, 1_000_000)]

    def rows(self) -> list[tuple[str, str]]:
        """All that is remembered beside the log."""
        with self.store() as store:
            found: list[tuple[str, str]] = store.look(lambda _: list(store._sql("SELECT k, v FROM kv ORDER BY k")))
            return found

    def await_waiters(self, number: int) -> None:
        """Wait until so many have a place in the queue for one file."""
        end = time.monotonic() + PATIENCE
        while sum(key.startswith("r/") and "\tw" in key for key, _ in self.rows()) < number:
            assert time.monotonic() < end, self.rows()
            time.sleep(0.01)

    def check(self) -> None:
        """Nothing is wrong: with the file, with the log, and with the claims beside the log."""
        with self.store() as store:
            assert database_file.integrity(store._connection) == []
            report = verify_store(store)
            assert report.ok, report.findings
            log = "SELECT seq, commits, now, wall, body, link FROM log ORDER BY seq"
            rows, lines = store.look(lambda _: [list(store._sql(text)) for text in ("SELECT k, v FROM kv", log)])
            kept = {}
            for key, value in rows:  # of the same moment as the log: others may be at work
                record = json.loads(value)
                if key[0] in "rn" and "claim" in record and "token" in record:  # the first of its rows has it all
                    kept[record["claim"]] = (record["agent"], record["token"])
            assert kept == live_by_log([read_event(Event(*line)) for line in lines])

    # --- putting it back

    def save(self, to: Path) -> None:
        """Keep a copy of the database. Nobody has it open."""
        shutil.copytree(self.local, to, dirs_exist_ok=True, ignore=shutil.ignore_patterns("wakes"))

    def restore(self, copy: Path) -> None:
        """Put a copy in place. Nobody has it open."""
        shutil.rmtree(self.local)
        shutil.copytree(copy, self.local)


def live_by_log(events: list[LogEvent]) -> dict[str, tuple[str, int]]:
    """The claims that the log says are granted and not ended: id → agent and token."""
    live: dict[str, tuple[str, int]] = {}
    for event in events:
        claim, data = event["subject"], event["data"]
        if event["kind"] == "claim.granted":
            live[claim] = (event["agent"], data["token"])
        elif event["kind"] == "claim.moved":
            live[claim] = (data["to"], data["token"])
        elif event["kind"] == "claim.ended" or (event["kind"] == "claim.released" and not data["left"]):
            del live[claim]
    return live


def refusal(actor: Actor) -> DibsError | None:
    """The refusal that a process answers with, None if it was granted."""
    try:
        actor.receive()
    except DibsError as error:
        return error
    return None


def soon(ms: int = 0) -> int:
    """A moment that many processes can agree on, on the clock since boot."""
    return clock.since_boot() + ms
