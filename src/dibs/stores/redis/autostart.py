"""Starts a local server that is down: the first process that notices starts it, and the others are told to wait.

The start itself is `dibs up` in a separate process: it may take longer than a hook lives. Hooks with a local server as
their store load this file; it imports next to nothing until the server is down.
"""

from __future__ import annotations

import os

from dibs.error_subtypes import Unreachable
from dibs.errors import Unavailable
from dibs.machine import clock
from dibs.stores.opening import MEMORY_FILE
from dibs.stores.redis.store import fallback_mark

RETRY_AFTER_MS = 30_000  # after a failed start: an earlier retry would fail for the same reason
START_INTERVAL_MS = 5_000  # between two starts by one process
FOLDER = "redis"  # below .dibs/local: the server's files
NOT_OURS = (
    "dibs did not start that server, and an empty one in its place would not have its data: start it again "
    "as before. `dibs up --anew` starts an empty one."
)
START_MUTEX = f"{FOLDER}/starting"
FAILED, STOPPED = "failed", "stopped"  # files in FOLDER


class Autostart:
    """Called by the engine when no server listens at the store's address."""

    def __init__(self, local: str, url: str, *, patient: bool) -> None:
        self._local, self._url, self._patient = local, url, patient
        self._started = 0

    def __call__(self) -> None:
        """Start it, unless a start is under way, failed recently, or a person stopped it. Raises for a hook."""
        from dibs.stores.redis.server_start import place_of
        from dibs.stores.urls import hidden

        if place_of(self._url) is None:
            return  # not on this machine
        where = hidden(self._url)
        if is_foreign_server(self._local):
            if self._patient:
                return  # the owner has to start it again: an empty one in its place would be a second store
            raise Unreachable(f"{where} does not answer. {NOT_OURS}", store=where)
        refuse_stopped(self._local, self._url)
        why = recent_failure(self._local)
        if why:
            message = f"{where} is down and could not be started: {why} Run `dibs up`."
            raise Unreachable(message, store=where)
        now = clock.since_boot()
        if not self._started or now - self._started > START_INTERVAL_MS:
            self._started = now
            if not under_way(self._local):
                spawn(self._local, self._url)
        if not self._patient:
            message = f"{where} is down; it is being started. Try again in a moment."
            raise Unavailable(message, store=where, starting=True)


def refuse_stopped(local: str, url: str) -> None:
    """Refuse to start a server that a person stopped; also for a start that was begun before and comes late."""
    if os.path.exists(f"{local}/{FOLDER}/{STOPPED}"):
        from dibs.stores.urls import hidden

        message = f"{hidden(url)} is down: it was stopped with `dibs up --stop`. `dibs up` starts it again."
        raise Unavailable(message, store=hidden(url), stopped=True)


def is_foreign_server(local: str) -> bool:
    """Was this workspace in use on a server that dibs did not start here?"""
    folder = f"{local}/{FOLDER}"
    if os.path.exists(f"{folder}/server.json") or os.path.exists(f"{folder}/appendonlydir"):
        return False
    from dibs.stores.redis.epoch import Remembered

    memory = Remembered(f"{local}/{MEMORY_FILE}")
    try:
        return memory.number > 0
    finally:
        memory.close()


def refuse_fallback_elsewhere(local: str, url: str, workspace: str) -> None:
    """Refuse if another clone on this machine fell back to SQLite because this server did not start."""
    try:
        with open(fallback_mark(workspace), encoding="utf-8", errors="replace") as file:
            lines = file.read(8192).split("\n")
    except OSError:
        return
    if lines[1:2] == [os.path.realpath(local)] or lines[0] != place_text(url):
        return
    if not os.path.exists(f"{lines[1]}/store"):
        return  # that clone was deleted, with its store
    message = (
        f"another clone of this workspace on this machine ({lines[1]}) coordinates through SQLite, because this server "
        "did not start; agents on two stores would not see each other. Run `dibs up` there: it comes back to the "
        "server."
    )
    raise Unavailable(message, fallback=lines[1])


def place_text(url: str) -> str:
    """A URL without credentials and options: where the server is."""
    scheme, _, rest = url.partition("?")[0].partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def recent_failure(local: str) -> str:
    """Why the last start failed, if that was recent."""
    path = f"{local}/{FOLDER}/{FAILED}"
    try:
        if clock.wall() - os.stat(path).st_mtime_ns // 1_000_000 > RETRY_AFTER_MS:
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(2000).strip()
    except OSError:
        return ""


def under_way(local: str) -> bool:
    """Is another process starting it now?"""
    from dibs.machine.file_mutex import FileMutex

    with FileMutex(f"{local}/{START_MUTEX}") as mutex:
        return not mutex.mine


def spawn(local: str, url: str) -> None:
    """Start `dibs up` in a new session; it reports its outcome through the files in its folder."""
    import sys

    from dibs.stores.engines import BACKGROUND_VARIABLE

    folder = f"{local}/{FOLDER}"
    root = os.path.dirname(os.path.dirname(local))
    source = __file__.rpartition("/dibs/stores/")[0]
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); "
        "from dibs.interfaces.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    words = [sys.executable, "-c", code, source, "up", "--json", "--workspace", root]
    environment = {**os.environ, "DIBS_STORE": url, BACKGROUND_VARIABLE: "1"}
    for name in ("DIBS_TREE", "PYTHONPATH"):
        environment.pop(name, None)
    os.makedirs(folder, 0o700, exist_ok=True)
    log = os.open(f"{folder}/up.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    try:
        actions = [
            (os.POSIX_SPAWN_DUP2, nothing, 0), (os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2),
        ]  # fmt: skip
        try:
            os.posix_spawn(sys.executable, words, environment, file_actions=actions, setsid=True)
        except NotImplementedError:  # a C library without setsid in posix_spawn
            os.posix_spawn(sys.executable, words, environment, file_actions=actions, setpgroup=0)
    except OSError as error:
        raise Unavailable(f"`dibs up` cannot be started: {error.strerror}", store=url) from None
    finally:
        os.close(log)
        os.close(nothing)
