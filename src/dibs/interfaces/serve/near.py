"""Two parts of a serving process: the socket of near callers, and the end of a server that nobody needs.

A server that dibs started itself (`[server] start = "auto"`) ends when nobody has asked it for `idle`; one that a
person started stays.
"""

from __future__ import annotations

import hashlib
import os
import signal
import stat
import tempfile
import threading

from dibs.errors import Unavailable
from dibs.machine import clock
from dibs.server.socket_port import SocketPort
from dibs.workspace.auto_serve import VARIABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.http.app import Application

MAX_SOCKET_PATH = 103  # bytes; sun_path has 104 on macOS, with the NUL
TEMPORARY = "/tmp"  # noqa: S108 - a private folder in it; $TMPDIR may be longer than a socket's path
LOOK_S = 1.0  # between two looks at whether a request came


class SocketPart:
    """The socket, and the watch over its use."""

    def __init__(self, app: Application) -> None:
        self._app = app
        self.port = SocketPort(app.host, socket_path(app.host.place.local))
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Listen."""
        try:
            self.port.start()
        except OSError as error:
            message = f"{self.port.path} cannot be used: {error.strerror or error}"
            raise Unavailable(message, path=self.port.path) from None
        if os.environ.get(VARIABLE):
            self._thread = threading.Thread(target=self._end_when_idle, name="dibs-idle", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End."""
        self._over.set()
        self.port.stop()

    @property
    def about(self) -> dict[str, str]:
        """Where it is."""
        return {"socket": self.port.path}

    def _end_when_idle(self) -> None:
        host = self._app.host
        while not self._over.wait(LOOK_S):
            used = max(self.port.last_request, host.used)
            if self._app.events.listeners or host.working:
                host.used = clock.since_boot()
            elif clock.since_boot() - used > host.config(host.place).server["idle"]:
                os.kill(os.getpid(), signal.SIGTERM)
                return


def socket_path(local: str) -> str:
    """`serve.sock` in `.dibs/local/`; in a private folder elsewhere where that path is too long for a socket."""
    path = f"{local}/serve.sock"
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH:
        return path
    name = f"dibs-{os.getuid()}/{hashlib.sha256(os.fsencode(local)).hexdigest()[:32]}.sock"
    for folder in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), TEMPORARY):
        path = f"{folder}/{name}"
        if folder and os.path.isdir(folder) and len(os.fsencode(path)) <= MAX_SOCKET_PATH:
            _make_private(os.path.dirname(path))
            return path
    raise Unavailable(f"no folder has a path that is short enough for a socket; tried {path}", path=path)


def _make_private(folder: str) -> None:
    """A folder that no other user can reach, or made for us."""
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise Unavailable(f"{folder} cannot be made: {error.strerror}", path=folder) from None
    status = os.lstat(folder)
    if status.st_uid != os.getuid() or status.st_mode & 0o077 or not stat.S_ISDIR(status.st_mode):
        raise Unavailable(f"{folder} is not a folder of this user alone", path=folder)
