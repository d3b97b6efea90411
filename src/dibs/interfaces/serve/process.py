"""The serving process of a workspace: one at a time, its parts started and stopped together.

In this order: the lock, the port, the credential of the local user, HTTP, the other parts (parts.py), `serve.json`, and
then it is ready. A signal ends open streams and waits, then all of it, within two seconds. Whatever kills it, nothing
that it leaves behind keeps the next one from starting.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import logging
import os
import signal
import socket
from logging.handlers import RotatingFileHandler

import uvicorn
import uvloop

from dibs import __version__, jsontext
from dibs.client import secrets
from dibs.client.identity import user_name
from dibs.errors import Conflict, Invalid, Unavailable
from dibs.interfaces.http.app import Application, Settings
from dibs.interfaces.http.guard import names_of
from dibs.interfaces.http.wire import Wire
from dibs.interfaces.serve import files, parts
from dibs.machine import processes
from dibs.operations.agents.credentials import OF_SERVER
from dibs.operations.core.call import Call
from dibs.server.host import Host
from dibs.workspace import serve_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from dibs.interfaces.serve.files import ServerAddress
    from dibs.workspace.config_server import ServerSettings
    from dibs.workspace.location import Place

LOG_BYTES = 1024 * 1024  # of the log, and of the one before
STOP_S = 1  # for answers that are under way when it ends
LOOPBACK = ("localhost", "127.0.0.1", "::1")
BACKLOG = 1_024


class Options:
    """What `dibs serve` was told; where it says nothing, the config does."""

    __slots__ = ("cert", "host", "key", "port")

    def __init__(self, host: str = "", port: int | None = None, cert: str = "", key: str = "") -> None:
        self.host, self.port, self.cert, self.key = host, port, cert, key


class _Uvicorn(uvicorn.Server):
    """Signals are the process's own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def run(place: Place, options: Options, ready: Callable[[ServerAddress], None]) -> None:
    """Serve until a signal comes. `ready` is called once it answers; Conflict if another process serves already."""
    lock = files.Lock(place.local)
    if not lock.take():
        raise already(place)
    try:
        files.remove(f"{place.local}/{files.ABOUT}")  # of one that was killed
        _log_to(f"{place.local}/{files.LOG}")
        host = Host(place)
        settings = host.config(place).server
        _check(options, settings)
        bound = _bind(options, settings, place.local)
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_serve(host, options, settings, bound, ready))
        finally:
            bound.close()
            host.close()
    finally:
        for name in (files.ABOUT,):
            files.remove(f"{place.local}/{name}")
        lock.drop()


def already(place: Place) -> Conflict:
    """Another process serves this workspace."""
    found = files.wait_for(place.local, 5.0)
    pid = found["pid"] if found else files.holder(place.local)
    where = f" at {found['url']}" if found else ""
    url = {"url": found["url"]} if found else {}
    return Conflict(f"process {pid} serves this workspace already{where}; `dibs serve --stop` ends it.", pid=pid, **url)


async def _serve(
    host: Host, options: Options, settings: ServerSettings, bound: socket.socket,
    ready: Callable[[ServerAddress], None],
) -> None:  # fmt: skip
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, stop.set)
    address, port = bound.getsockname()[:2]
    scheme = "https" if options.cert else "http"
    shown = _shown(address, options.host or settings["host"], settings["names"])
    url = f"{scheme}://{shown}:{port}"
    names = names_of([*LOOPBACK, *settings["names"], *([address] if not _is_any(address) else [])], port)
    app = Application(
        host,
        Settings(names, frozenset(f"{scheme}://{name}" for name in names), rate=settings["rate"],
                 body=settings["body"], waits=settings["waits"], streams=settings["streams"]),
    )  # fmt: skip
    app.add(parts.routes(app))
    others = parts.all_of(app)
    token_file = _credential(app)
    server = _Uvicorn(_config(app, options, settings["connections"]))
    serving = asyncio.ensure_future(server.serve([bound]))
    started: list[parts.Part] = []
    try:
        while not server.started and not serving.done():  # noqa: ASYNC110 - uvicorn says it by this flag alone
            await asyncio.sleep(0.005)
        if serving.done():
            await serving
            raise Unavailable("the server did not start; .dibs/local/serve.log says why.")
        for part in others:
            await loop.run_in_executor(None, part.start)
            started.append(part)
        about: ServerAddress = {
            "pid": os.getpid(), "start": processes.this()[4], "url": url, "socket": "", "version": __version__,
            "build": serve_file.build(), "token_file": token_file,
        }  # fmt: skip
        for part in started:
            about["socket"] = part.about.get("socket", about["socket"])
        files.write(f"{host.place.local}/{files.ABOUT}", jsontext.encode(about) + "\n")
        files.write(f"{host.place.local}/{files.PORT}", f"{port}\n")
        ready(about)
        stopping = asyncio.ensure_future(stop.wait())
        await asyncio.wait({stopping, serving}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
    finally:
        files.remove(f"{host.place.local}/{files.ABOUT}")  # from now on nobody begins anything here
        for part in reversed(started):
            await loop.run_in_executor(None, part.stop)
        app.stop()
        server.should_exit = True
        await serving


def _config(app: Application, options: Options, connections: int) -> uvicorn.Config:
    wire = type("Wire", (Wire,), {"most": connections})
    return uvicorn.Config(
        app.asgi, http=wire, ws="none", lifespan="on", log_config=None, access_log=False, proxy_headers=False,
        server_header=False, backlog=BACKLOG, timeout_keep_alive=75, timeout_graceful_shutdown=STOP_S,
        ssl_certfile=options.cert or None, ssl_keyfile=options.key or None,
    )  # fmt: skip


def _check(options: Options, settings: ServerSettings) -> None:
    """A public address needs TLS; and its files have to be there before anything is bound."""
    address = options.host or settings["host"]
    if options.key and not options.cert:
        raise Invalid("serve: --tls-key needs --tls-cert", field="tls-cert")
    if options.cert:
        import ssl

        locked: list[bool] = []

        def password() -> str:  # else OpenSSL asks on the terminal, where there may be none
            locked.append(True)
            return ""

        try:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(options.cert, options.key or None, password)
        except (OSError, ssl.SSLError) as error:
            why = "the key needs a passphrase, and a server has none" if locked else error.strerror or str(error)
            if not options.key and isinstance(error, ssl.SSLError) and not locked:
                why = "it has to have both; --tls-key names the file of the key, if that is another one"
            raise Invalid(f"serve: {options.cert} is no certificate with its key: {why}", field="tls-cert") from None
    elif not _is_loopback(address):
        raise Invalid(
            f"serve: {address} can be reached by others, who could read every token on the way; it needs --tls-cert "
            "and --tls-key. Without them, --host 127.0.0.1.",
            field="host",
        )


def _is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _is_any(address: str) -> bool:
    return ipaddress.ip_address(address).is_unspecified


def _shown(address: str, asked: str, names: list[str]) -> str:
    """The host in the URL: a name that its callers can use."""
    if _is_any(address):
        return names[0] if names else "localhost"
    shown = address if _is_loopback(asked) or not names else names[0]
    return f"[{shown}]" if ":" in shown else shown


def _bind(options: Options, settings: ServerSettings, local: str) -> socket.socket:
    """The listening socket: at the port that was said, else at the one of last time, else at any."""
    address = options.host or settings["host"]
    asked = settings["port"] if options.port is None else options.port
    last = files.read(f"{local}/{files.PORT}")
    ports = [asked] if asked or not last.isdigit() or options.port is not None else [int(last), 0]
    for place, port in enumerate(ports):
        try:
            return _listen(address, port)
        except OSError as error:
            if place == len(ports) - 1:
                taken = error.errno in {errno.EADDRINUSE, errno.EACCES}
                other = " Another program may listen there; --port 0 takes one that is free." if taken else ""
                message = f"{address}:{port} cannot be used: {error.strerror or error}.{other}"
                raise Unavailable(message, tried=port) from None
    raise AssertionError


def _listen(address: str, port: int) -> socket.socket:
    found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    made = socket.socket(found[0], found[1])
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(found[4])
        made.listen(BACKLOG)
    except OSError:
        made.close()
        raise
    return made


def _credential(app: Application) -> str:
    """A credential for the local user, in the place of the one of the last start, whose sessions go on with it."""
    host = app.host
    path = f"{host.place.local}/{files.TOKEN}"
    before = files.read(path).split("_")
    session = host.session()
    digest = secrets.new(session)
    call = Call(session.config.policy, agent=user_name())
    fields = {"hash": digest, "before": before[1] if len(before) == secrets.PARTS else ""}
    made = secrets.shown(session, session.run(OF_SERVER, call, fields))
    files.write(path, f"{made['token']}\n")
    app.asgi.sessions.pass_on(fields["before"], secrets.opened(made["token"]))
    return path


def _log_to(path: str) -> None:
    """Everything that is worth a line goes to one bounded file."""
    try:
        handler = RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8")
        os.chmod(path, 0o600)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}", path=path) from None
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.raiseExceptions = False  # a line that a full disk takes no more is lost, and no traceback on a terminal
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
