"""The page in the application of a server: its files, and the routes by which a browser signs in and out.

- `POST /session/code` with a token: a code for a browser (`dibs serve --open`); it counts once and for a minute.
- `POST /session` with a code, or with a token: begins a session and sets its cookie (interfaces/http/sessions.py).
- `GET /s/ID/session`: who this is and what it may. `POST /s/ID/session`: signs out.
"""

from __future__ import annotations

import asyncio

from starlette.routing import Mount, Route

from dibs import jsontext
from dibs.client import rights
from dibs.errors import Invalid, Unauthorized
from dibs.interfaces import agents
from dibs.interfaces.http import body
from dibs.interfaces.http.operations import NOT_ALLOWED, check_type
from dibs.interfaces.http.replies import Refusal, reply
from dibs.interfaces.http.sessions import CODE_LIFE_MS, Session, check_own_page
from dibs.interfaces.page.files import PREFIX, Files
from dibs.server.identity import of_credential

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from dibs.interfaces.http.app import Application
    from dibs.interfaces.http.replies import App, Receive, Scope, Send
    from dibs.server.identity import Identity

MAX_BODY = 4096
MAX_SETTINGS = 262_144  # letters of a client's settings that are looked at
MAX_CODE_CHARS = 200


def routes(app: Application) -> list[BaseRoute]:
    """For the application."""
    files, door = Files(), Door(app)
    return [
        Route("/", files, methods=None), Mount(PREFIX.rstrip("/"), app=files),
        Route("/session", door.session, methods=None), Route("/session/code", door.code, methods=None),
    ]  # fmt: skip


class Door:
    """Signing in and out."""

    def __init__(self, app: Application) -> None:
        self._app = app
        self._sessions = app.asgi.sessions
        # routes that are functions would be wrapped by Starlette; objects are called as they are
        self.session, self.code = _Called(self._session), _Called(self._code)

    async def _code(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._given(scope, receive)
        made = self._sessions.code(scope["identity"])
        await reply(send, 200, jsontext.encode({"ok": True, "code": made, "seconds": CODE_LIFE_MS // 1000}).encode())

    async def _session(self, scope: Scope, receive: Receive, send: Send) -> None:
        session: Session | None = scope.get("session")
        if session is not None and scope["method"] in {"GET", "HEAD"}:
            about = await asyncio.get_running_loop().run_in_executor(self._app.pool, self._about, session.identity)
            await reply(send, 200, jsontext.encode(about).encode(), head=scope["method"] == "HEAD")
            return
        given = await self._given(scope, receive)
        secure = scope["scheme"] == "https"
        if session is not None:
            cookie = self._sessions.end(session.id, secure=secure)
            self._app.events.leave(session.identity)
            await reply(send, 200, b'{"ok":true}', headers=[(b"set-cookie", cookie)])
            return
        check_own_page(scope, scope["headers_by_name"])
        identity: Identity = scope["identity"]
        if identity.credential is None:
            code = given.get("code")
            if not isinstance(code, str) or not code or len(code) > MAX_CODE_CHARS:
                raise Unauthorized(why="missing")
            identity = self._sessions.redeem(code)
        identity = await self._counts(identity)
        identifier, cookie = self._sessions.begin(identity, secure=secure)
        about = {"ok": True, "session": identifier}
        await reply(send, 200, jsontext.encode(about).encode(), headers=[(b"set-cookie", cookie)])

    async def _given(self, scope: Scope, receive: Receive) -> dict[str, object]:
        """The body of a POST."""
        if scope["method"] != "POST":
            why = Invalid(f"{scope['path']}: POST alone", field="method")
            raise Refusal(NOT_ALLOWED, why, [(b"allow", b"POST")])
        headers = scope["headers_by_name"]
        check_type(headers)
        return body.parse(await body.read(receive, headers, MAX_BODY))

    async def _counts(self, identity: Identity) -> Identity:
        """The caller, anew: one object for each session. `Unauthorized` if its credential no longer counts."""
        assert identity.credential is not None
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._app.pool, of_credential, self._app.host, *identity.credential)

    def _about(self, identity: Identity) -> dict[str, object]:
        """Who this is, and which operations its rank may call. Blocking. Each call is decided anew by its operation."""
        who = self._app.requests.answer(identity, "whoami", {})
        session = self._app.host.session()
        may = rights.may(identity.call(session), who["role"])
        place = self._app.host.place
        return {
            "ok": True, "agent": who["agent"], "name": who["name"], "role": who["role"], "may": may,
            "workspace": place.root.rpartition("/")[2], "hooks": _hooked(place.top),
        }  # fmt: skip


def _hooked(folder: str) -> list[str]:
    """The clients whose settings there call dibs: what an empty page says to do next. `dibs doctor` tries them."""
    found = []
    for client in agents.every():
        base, _, ending = client.settings_file.rpartition(".")
        for name in (client.settings_file, f"{base}.local.{ending}"):
            try:
                with open(f"{folder}/{name}", encoding="utf-8", errors="replace") as file:
                    if "dibs" in file.read(MAX_SETTINGS):
                        found.append(client.name)
                        break
            except OSError:
                continue
    return found


class _Called:
    """A bound method as an ASGI application."""

    def __init__(self, function: App) -> None:
        self._function = function

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._function(scope, receive, send)
