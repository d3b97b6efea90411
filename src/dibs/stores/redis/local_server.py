"""The Redis server of a workspace on this machine: what `dibs up`, `dibs doctor` and the fallback ask of it.

A server is started only where no process listens, and only one that dibs started is stopped. server_start.py has the
ways to start one.
"""

from __future__ import annotations

import os

from dibs import jsontext
from dibs.error_subtypes import Unreachable
from dibs.errors import Unavailable
from dibs.machine import clock, programs
from dibs.stores.engines import NO_SERVER
from dibs.stores.move import moved_mark
from dibs.stores.opening import MEMORY_FILE
from dibs.stores.redis import autostart, epoch
from dibs.stores.redis.autostart import FOLDER, START_MUTEX, STOPPED, place_text, refuse_stopped
from dibs.stores.redis.server_start import START_TIMEOUT_S, answers, forget, place_of, start
from dibs.stores.redis.store import connect, fallback_mark
from dibs.stores.redis.wire import ConnectionLost, ServerError
from dibs.stores.urls import hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.stores.engines import ServerRecord, Start, Stop
    from dibs.stores.opening import Opening

__all__ = (
    "START_MUTEX", "begin", "ensure_running", "fallback_mark", "hint", "is_local", "next_epoch", "place_text",
    "refuse_stopped", "running", "stop",
)  # fmt: skip

STOP_TIMEOUT_S = 10.0  # for a server to save its data and exit


def is_local(url: str) -> bool:
    """Can dibs start a server at this address? Then no other machine can reach it."""
    return place_of(url) is not None


def ensure_running(opening: Opening, fsync: str = "everysec", *, anew: bool = False) -> Start:
    """Make sure that a server answers there, starting one if needed; raises Unavailable with all attempts."""
    local, url = opening.local, opening.url
    autostart.refuse_fallback_elsewhere(local, url, opening.workspace)
    if not is_local(url):
        store = connect(opening)
        try:
            store.ask("PING")  # raises the reason
        finally:
            store.close()
        return {"started": False}
    why = answers(url)
    end = clock.since_boot() + int(START_TIMEOUT_S * 1000)
    while why.startswith("LOADING") and clock.since_boot() < end:
        clock.sleep(0.1)
        why = answers(url)
    if not why:
        known = running(local)
        return {"started": False, "server": known} if known else {"started": False}
    if "refused" not in why and "No such file" not in why:  # another process listens there
        raise Unreachable(f"{hidden(url)} does not answer: {why}.", store=hidden(url))
    if not anew and autostart.is_foreign_server(local):
        raise Unreachable(f"{hidden(url)} does not answer. {autostart.NOT_OURS}", store=hidden(url))
    return {"started": True, "server": start(local, url, fsync)}


def begin(opening: Opening) -> bool:
    """Make the workspace there; False if it exists already. Its settings are as the URL says."""
    store = connect(opening)
    try:
        begun = epoch.begin(store)
        mark = store.ask("HGET", store.keys[4], "moved")
        if mark:
            moved_mark.refuse(mark.decode(), hidden(opening.url))
        epoch.set_expiry(store)
    finally:
        store.close()
    return begun


def next_epoch(local: str) -> int:
    """A commit above every one that a server has answered on this machine, and above its epoch."""
    memory = epoch.Remembered(f"{local}/{MEMORY_FILE}")
    memory.close()
    return max(clock.wall() // 1000, (memory.number >> epoch.EPOCH_BITS) + 1) << epoch.EPOCH_BITS


def stop(local: str) -> Stop:
    """Stop the server that dibs started for this workspace, and no other."""
    folder = f"{local}/{FOLDER}"
    known = noted(local)
    if not known:
        raise Unavailable(NO_SERVER)
    url, where = known["url"], hidden(known["url"])
    if not answers(url):
        if known.get("container"):
            done = programs.run(["docker", "stop", known["container"]], env=os.environ, timeout=STOP_TIMEOUT_S + 20)
            if not done.ok:
                raise Unavailable(f"Docker did not stop it: {done.said}", store=where)
        else:
            _shut_down(folder, url, where)
    _wait_until_gone(url, where)
    with open(f"{folder}/{STOPPED}", "w", encoding="utf-8") as file:
        file.write(f"{clock.iso(clock.wall())}\n")
    forget(folder, "server.json")
    return {"stopped": where, "how": known["how"]}


def running(local: str) -> ServerRecord:
    """The server that dibs started, for people to read; empty if none."""
    record = noted(local)
    record.pop("url", None)
    return record


def noted(local: str) -> ServerRecord:
    """The record of the server that dibs started."""
    try:
        with open(f"{local}/{FOLDER}/server.json", encoding="utf-8") as file:
            record: ServerRecord = jsontext.decode(file.read().strip())
    except (OSError, ValueError):
        return {}
    return record


def hint(local: str, url: str) -> str:
    """How to start a server that is down, if dibs can."""
    why = answers(url) if is_local(url) else ""
    if not why or why.startswith(("ERR", "LOADING")):  # a server answers there and refuses
        return ""
    if noted(local):
        return " dibs started one there before; `dibs up` starts it again."
    return " `dibs up` starts one here."


def _shut_down(folder: str, url: str, where: str) -> None:
    """Ask it to save its data and exit; only the server that runs on our configuration."""
    from dibs.stores.redis.plain_socket import PlainWire

    wire = PlainWire(url, STOP_TIMEOUT_S)
    try:
        info = wire.call("INFO", "server").decode(errors="replace")
        lines = dict(line.split(":", 1) for line in info.splitlines() if ":" in line)
        if os.path.realpath(lines.get("config_file", "")) != os.path.realpath(f"{folder}/server.conf"):
            message = f"{where} is not the server that dibs started; it was not touched."
            raise Unavailable(message, store=where)
        wire.call("SHUTDOWN")
    except ConnectionLost:
        pass  # it closes the connection to confirm
    except ServerError as error:
        raise Unavailable(f"{where} does not stop: {error}", store=where) from None
    finally:
        wire.close()


def _wait_until_gone(url: str, where: str) -> None:
    end = clock.since_boot() + int(STOP_TIMEOUT_S * 1000)
    while not answers(url):
        if clock.since_boot() > end:
            raise Unavailable(f"{where} still answers after {STOP_TIMEOUT_S:g} s.", store=where)
        clock.sleep(0.05)
