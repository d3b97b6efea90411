"""HTTP to a server of dibs elsewhere: `https://HOST[:PORT]`, `http://` on loopback only.

The credential is in `DIBS_TOKEN` (in a command that dibs runs, in `DIBS_CREDENTIAL`), or in the file that
`DIBS_TOKEN_FILE` names, or in `~/.config/dibs/tokens`, a line `URL TOKEN` for each server. A file that others may read
is refused. Certificates are checked; `DIBS_CA_FILE` names the
certificates of a private authority. Connections are kept open and reused. What was sent and not answered is sent again
by the caller (client/far_link.py), under the same name, or not at all.

Loaded only for a store elsewhere: http.client and ssl cost more than a whole hook.
"""

from __future__ import annotations

import http.client
import os
import ssl

from dibs import jsontext
from dibs.error_subtypes import Unreachable
from dibs.errors import ERRORS, Invalid, Unauthorized, Unavailable, from_parts, quoted
from dibs.stores.turns import forked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LOOPBACK = ("localhost", "127.0.0.1", "::1")
MAX_PORT = 65_535
OK = 200
MAX_ANSWER = 256 * 1024 * 1024  # bytes: a page of the log with the longest events is below this
RETRY_AFTER = (502, 503, 504)  # a proxy in front, or a server that starts or ends
MAX_TOKEN_FILE = 65_536
CONNECTED = (http.client.HTTPException, OSError)  # what a connection fails with


class Lost(Exception):
    """No answer came; `sent` says whether the request may have reached the server."""

    def __init__(self, why: str, *, sent: bool) -> None:
        super().__init__(why)
        self.sent = sent


class FarConnection:
    """Requests to one server, over as many connections as threads ask at once."""

    def __init__(self, url: str, timeout: float, *, chosen: bool = True) -> None:
        self.url, self.timeout, self._chosen = url, timeout, chosen
        self._secure, self._host, self._port, self._prefix = parse(url)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        self._idle: list[http.client.HTTPConnection] = []
        self._is_closed = False
        self._context: ssl.SSLContext | None = None
        self._pid = os.getpid()

    def ask(self, method: str, path: str, body: Any = None, *, timeout: float = 0) -> Any:
        """One request; its answer, or its refusal raised. `Lost` if there was none."""
        if self._pid != os.getpid():  # the connections are the parent's
            raise forked(self.url)
        if "Authorization" not in self._headers:
            self._headers["Authorization"] = f"Bearer {token_for(self.url, chosen=self._chosen)}"
        data = None if body is None else jsontext.encode(body).encode()
        limit = timeout or self.timeout
        while True:
            kept = bool(self._idle)
            connection = self._idle.pop() if kept else self._open()
            try:
                return self._exchange(connection, method, path, data, limit)
            except Lost:
                if not kept:
                    raise  # else the server had closed an idle connection: every request here can be repeated

    def close(self) -> None:
        """Close what is open; a connection that another thread uses is closed after its answer."""
        self._is_closed = True
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:  # that thread was first
                break

    def _open(self) -> http.client.HTTPConnection:
        if not self._secure:
            return http.client.HTTPConnection(self._host, self._port, timeout=self.timeout)
        if self._context is None:
            self._context = _context()
        return http.client.HTTPSConnection(self._host, self._port, timeout=self.timeout, context=self._context)

    def _exchange(
        self, connection: http.client.HTTPConnection, method: str, path: str, data: bytes | None, limit: float
    ) -> Any:
        sent = False
        try:
            if connection.sock is None:
                connection.connect()
            connection.sock.settimeout(limit)
            sent = True
            connection.request(method, self._prefix + path, data, self._headers)
            response = connection.getresponse()
            text = response.read(MAX_ANSWER + 1)
        except ssl.SSLCertVerificationError as error:
            connection.close()
            message = f"{self.url}: its certificate does not count ({error.verify_message}); DIBS_CA_FILE names the \
certificates of a private authority."
            raise Unreachable(message, store=self.url) from None
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError) as error:
            connection.close()
            raise Lost(str(error) or "the connection was closed", sent=sent) from None
        except CONNECTED as error:
            connection.close()
            raise Lost(getattr(error, "strerror", None) or str(error) or type(error).__name__, sent=sent) from None
        except BaseException:  # interrupted: the next answer read would be this one's
            connection.close()
            raise
        if response.will_close or len(text) > MAX_ANSWER:
            connection.close()
        else:
            self._idle.append(connection)
            if self._is_closed:
                self.close()
        return self._answer(response.status, text)

    def _answer(self, status: int, text: bytes) -> Any:
        try:
            answer = jsontext.decode(text.decode())
        except (ValueError, RecursionError):
            answer = None
        if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
            fields = dict(answer["error"])
            code, message = fields.pop("code", ""), fields.pop("message", "")
            if fields.get("ending"):
                raise Lost(str(message), sent=True)
            if code in ERRORS:
                raise from_parts([code, str(message), fields])
        if status in RETRY_AFTER:
            raise Lost(f"status {status}", sent=True)
        if status != OK or not isinstance(answer, dict):
            message = f"{self.url} is no server of dibs, or of another version (status {status})."
            raise Unavailable(message, store=self.url)
        return answer


def parse(url: str) -> tuple[bool, str, int, str]:
    """Whether it is secure, the host, the port, and what every path begins with."""
    scheme, _, rest = url.partition("://")
    place, _, prefix = rest.partition("/")
    host, colon, number = place.rpartition(":")
    if not colon or place.endswith("]"):
        host, number = place, ""
    secure = scheme == "https"
    port = int(number) if number.isascii() and number.isdigit() else 443 if secure else 80
    host = host.removeprefix("[").removesuffix("]")
    if "@" in host or not host or (number and not number.isdigit()) or not 0 < port <= MAX_PORT or "?" in rest:
        raise Invalid(f"store {_shown(url)}: https://HOST[:PORT], and no credential in it", store=_shown(url))
    if not secure and host not in LOOPBACK:
        message = f"store {url}: a credential goes to another machine by https:// only"
        raise Invalid(message, store=url)
    return secure, host, port, f"/{prefix.rstrip('/')}" if prefix.strip("/") else ""


def token_for(url: str, *, chosen: bool = True) -> str:
    """The credential for a server; `Unauthorized` if there is none.

    One of the environment names no server. It goes to the one that this machine chose (`DIBS_STORE`, or the pin of an
    earlier use), never to one that only a committed config names: whoever writes that file would get it.
    """
    given = _of_environment()
    if given and chosen:
        return given
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    path = f"{home}/dibs/tokens"
    if os.path.exists(path):
        for line in _private_text(path).splitlines():
            words = line.split()
            if len(words) > 1 and words[0].rstrip("/") == url.rstrip("/"):
                return _plain(words[1])
    if given:
        message = (
            f"{url} is named by .dibs/config.toml alone, and a credential of the environment goes only to one that "
            f"this machine chose. If it is yours, say so once: DIBS_STORE={quoted(url)}; or put a line `{url} TOKEN` "
            f"into {path} (0600)."
        )
        raise Unauthorized(message, why="missing")
    message = (
        f"{url} needs a credential: DIBS_TOKEN, or a line `{url} TOKEN` in {path} (0600). A person makes one at the "
        "server: `dibs token new`."
    )
    raise Unauthorized(message, why="missing")


def _of_environment() -> str:
    for name in ("DIBS_TOKEN", "DIBS_CREDENTIAL"):
        token = os.environ.get(name, "").strip()
        if token and not token.isdecimal():  # a number is the token of a claim, in a command that dibs runs
            return _plain(token)
    path = os.environ.get("DIBS_TOKEN_FILE", "")
    return _plain(_private_text(path).strip()) if path else ""


def _plain(token: str) -> str:
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise Unauthorized(why="unknown")
    return token


def _private_text(path: str) -> str:
    """A file that its owner alone may read."""
    try:
        with open(path, encoding="ascii") as file:
            status = os.fstat(file.fileno())
            if status.st_mode & 0o077 or status.st_uid not in {os.getuid(), 0}:
                message = f"{path} has a credential that others may read: `chmod 600 {quoted(path)}`"
                raise Invalid(message, path=path)
            return file.read(MAX_TOKEN_FILE)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "it is not ASCII text"
        raise Unavailable(f"{path} cannot be read: {why}", path=path) from None


def _context() -> ssl.SSLContext:
    path = os.environ.get("DIBS_CA_FILE")
    try:
        return ssl.create_default_context(cafile=path or None)
    except (OSError, ssl.SSLError) as error:
        message = f"DIBS_CA_FILE {path}: {getattr(error, 'strerror', None) or error}"
        raise Unavailable(message, path=path or "") from None


def _shown(url: str) -> str:
    """A URL without what stands before an `@`."""
    scheme, mark, rest = url.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"
