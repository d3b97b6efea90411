"""Sessions of the page: a cookie in the place of a token, which a page cannot send with its stream of events.

A session begins with a token, or with a code that a caller with a token was given (`dibs serve --open`): it counts
once and for a minute, so nothing that a browser's history or a list of processes keeps is worth anything. The session
has the rights of its credential, no others, and ends with it: each call verifies that in its own transaction.

All that a session asks is below `/s/ID/`, and its cookie is bound to that path. Cookies know no ports, so another
server on this machine would get it otherwise; and `/v1` itself takes no cookie, so no page of another site has anything
to forge. What changes something also needs the server's own Origin and a header that no form can send.

Sessions outlive the server, in a file that its owner alone may read: hashes of what the cookies say.
"""

from __future__ import annotations

import os
from http.cookies import CookieError, SimpleCookie

from dibs import jsontext
from dibs.client import secrets
from dibs.errors import Forbidden, NotFound, Unauthorized
from dibs.machine import atomic_write, clock
from dibs.server.identity import Identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.interfaces.http.replies import Scope

PREFIX = "/s/"
COOKIE = "dibs"
HEADER = b"x-dibs-page"  # a page of another site cannot send it without a preflight, which nobody answers
BELOW = ("/v1/", "/events", "/session")  # what a session may ask; no `/link`, no `/mcp`, no `/metrics`
LIFE_MS = 7 * 24 * 3_600_000  # a week: the page of a second monitor stays signed in; its credential may end earlier
MOST = 256  # sessions at once; the oldest makes way
CODE_LIFE_MS = 60_000  # for a browser to start
MOST_CODES = 64
ID_BYTES, SECRET_BYTES = 12, 32
FILE = "serve.sessions"


class Session:
    """One browser that has signed in."""

    __slots__ = ("digest", "id", "identity", "until")

    def __init__(self, identifier: str, digest: str, until: int, identity: Identity) -> None:
        self.id, self.digest, self.until, self.identity = identifier, digest, until, identity


class Sessions:
    """All of them. Only the event loop calls."""

    def __init__(self, local: str) -> None:
        self._path = f"{local}/{FILE}"
        self._live: dict[str, Session] = {}
        self._codes: dict[str, tuple[int, Identity]] = {}  # by their hash
        self._read()

    # --- codes

    def code(self, identity: Identity) -> str:
        """A code for the page of this caller."""
        self._drop_codes()
        while len(self._codes) >= MOST_CODES:
            self._codes.pop(next(iter(self._codes)))
        made = os.urandom(SECRET_BYTES).hex()
        self._codes[secrets.hash_of(made)] = (clock.since_boot() + CODE_LIFE_MS, identity)
        return made

    def redeem(self, code: str) -> Identity:
        """Whose code this is. It counts once."""
        self._drop_codes()
        found = self._codes.pop(secrets.hash_of(code), None)
        if found is None:
            raise Unauthorized(
                "this code was used before or is too old. `dibs serve --open` makes another.", why="unknown"
            )
        return found[1]

    def _drop_codes(self) -> None:
        now = clock.since_boot()
        for code in [code for code, (until, _) in self._codes.items() if until <= now]:
            del self._codes[code]

    # --- sessions

    def begin(self, identity: Identity, *, secure: bool) -> tuple[str, bytes]:
        """A session for this caller: its id, and the cookie to set."""
        secret, identifier = os.urandom(SECRET_BYTES).hex(), os.urandom(ID_BYTES).hex()
        while len(self._live) >= MOST:
            del self._live[next(iter(self._live))]
        until = clock.wall() + LIFE_MS
        self._live[identifier] = Session(identifier, secrets.hash_of(secret), until, identity)
        self._write()
        return identifier, _cookie(identifier, secret, LIFE_MS // 1000, secure=secure)

    def end(self, identifier: str, *, secure: bool) -> bytes:
        """Sign out: the cookie that removes it."""
        if self._live.pop(identifier, None) is not None:
            self._write()
        return _cookie(identifier, "", 0, secure=secure)

    def pass_on(self, before: str, credential: tuple[str, str]) -> None:
        """The sessions of a credential that another took the place of: a server's own, at its start."""
        moved = [one for one in self._live.values() if before and one.identity.id == before]
        for one in moved:
            one.identity.credential = credential
        if moved:
            self._write()

    def enter(self, scope: Scope, headers: dict[bytes, bytes]) -> Session:
        """Whose session a request below `/s/ID/` is of; its path is that of the route from then on."""
        identifier, _, rest = scope["path"].removeprefix(PREFIX).partition("/")
        path = f"/{rest}"
        if not (path.startswith(BELOW[0]) or path in BELOW[1:]):
            raise NotFound(f"there is nothing at {scope['path'][:200]}.", what="path")
        found = self._live.get(identifier)
        if found is None or found.digest != secrets.hash_of(_secret(headers)):
            raise Unauthorized("sign in first: with a token, or by `dibs serve --open`.", why="missing")
        if found.until <= clock.wall():
            self.end(identifier, secure=False)
            raise Unauthorized("this session is too old; sign in again.", why="expired")
        check_own_page(scope, headers)
        scope["path"], scope["raw_path"], scope["session"] = path, path.encode(), found
        return found

    # --- the file

    def _read(self) -> None:
        try:
            with open(self._path, encoding="utf-8") as file:
                kept = jsontext.decode(file.read())
            for identifier, row in kept.items():
                digest, until, credential, agent, role, person, bearer = row
                identity = Identity(
                    agent=agent, credential=(credential[0], credential[1]), role=role, person=person, bearer=bearer
                )
                if until > clock.wall():
                    self._live[identifier] = Session(identifier, digest, until, identity)
        except (OSError, ValueError, TypeError, AttributeError, IndexError):
            self._live.clear()  # none yet, or not ours: everybody signs in again

    def _write(self) -> None:
        kept: dict[str, list[Any]] = {}
        for one in self._live.values():
            who = one.identity
            kept[one.id] = [one.digest, one.until, who.credential, who.agent, who.role, who.person, who.bearer]
        try:
            atomic_write.replace(self._path, jsontext.encode(kept), mode=atomic_write.PRIVATE_MODE)
        except OSError:
            pass  # a full disk: the sessions of now last as long as this process


def check_own_page(scope: Scope, headers: dict[bytes, bytes]) -> None:
    """Refuse a change that the server's own page did not ask for. The guard has compared the Origin already."""
    if scope["method"] in {"GET", "HEAD"}:
        return
    if b"origin" not in headers or headers.get(HEADER) != b"1":
        raise Forbidden("a session can change things only from the server's own page: send Origin and X-Dibs-Page")


def _secret(headers: dict[bytes, bytes]) -> str:
    try:
        morsel = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1")).get(COOKIE)
    except CookieError:
        return ""
    return "" if morsel is None else morsel.value


def _cookie(identifier: str, value: str, seconds: int, *, secure: bool) -> bytes:
    end = "; Secure" if secure else ""
    text = f"{COOKIE}={value}; Path={PREFIX}{identifier}; Max-Age={seconds}; HttpOnly; SameSite=Strict{end}"
    return text.encode()
