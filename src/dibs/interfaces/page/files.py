"""The files of the page: read once, served with their digest, the same for everybody.

Only the files that lie beside this one when the server starts are served, by their exact names: there is no path to
walk. `index.html` links all of them, so that a browser asks for all at once; a new view is not named there. A browser
asks each time whether its copy still counts (`ETag`), so a new version of dibs shows at the next load.
"""

from __future__ import annotations

import hashlib
import os

from dibs.errors import Invalid, NotFound
from dibs.interfaces.http.replies import SECURITY, Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.http.replies import Receive, Scope, Send

KINDS = {
    ".html": b"text/html; charset=utf-8", ".css": b"text/css; charset=utf-8", ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml", ".txt": b"text/plain; charset=utf-8",
}  # fmt: skip
INDEX = "index.html"
LINKS = {".css": '<link rel="stylesheet" href="{}">', ".js": '<link rel="modulepreload" href="{}">'}
OTHER_FILES = b"<!-- the other files -->"  # where index.html links what it does not name itself
PREFIX = "/page/"
# Stricter than that of other answers: no text becomes a script, whatever an agent is called.
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    b"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = [
    *[(name, value) for name, value in SECURITY if name not in {b"cache-control", b"content-security-policy"}],
    (b"cache-control", b"no-cache"), (b"content-security-policy", POLICY),
]  # fmt: skip
NOT_ALLOWED, NOT_MODIFIED = 405, 304


class File:
    """One file."""

    __slots__ = ("body", "kind", "tag")

    def __init__(self, body: bytes, kind: bytes) -> None:
        self.body, self.kind = body, kind
        self.tag = b'"' + hashlib.sha256(body).hexdigest()[:32].encode() + b'"'


class Files:
    """The endpoint of `/` and of all below `/page/`."""

    def __init__(self, folder: str = os.path.dirname(os.path.abspath(__file__))) -> None:
        self.found: dict[str, File] = {}
        for here, _, names in os.walk(folder):
            for name in names:
                kind = KINDS.get(os.path.splitext(name)[1])
                if kind is not None:
                    path = os.path.join(here, name)
                    with open(path, "rb") as file:
                        self.found[os.path.relpath(path, folder)] = File(file.read(), kind)
        self.found[INDEX] = self._linked(self.found[INDEX])

    def _linked(self, index: File) -> File:
        """The index with a link to each stylesheet and module, in the order of their names."""
        links = [
            LINKS[os.path.splitext(name)[1]].format(PREFIX + name)
            for name in sorted(self.found)
            if os.path.splitext(name)[1] in LINKS and f'"{PREFIX}{name}"'.encode() not in index.body
        ]
        return File(index.body.replace(OTHER_FILES, "\n".join(links).encode()), index.kind)

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        if scope["method"] not in {"GET", "HEAD"}:
            why = Invalid(f"{scope['path'][:100]}: GET alone", field="method")
            raise Refusal(NOT_ALLOWED, why, [(b"allow", b"GET, HEAD")])
        name = INDEX if scope["path"] == "/" else scope["path"].removeprefix(PREFIX)
        file = self.found.get(name)
        if file is None:
            raise NotFound(f"there is nothing at {scope['path'][:200]}.", what="path")
        same = file.tag in scope["headers_by_name"].get(b"if-none-match", b"")
        body = b"" if same or scope["method"] == "HEAD" else file.body
        head = [(b"etag", file.tag), *HEADERS]
        if not same:
            head += [(b"content-type", file.kind), (b"content-length", str(len(file.body)).encode())]
        await send({"type": "http.response.start", "status": NOT_MODIFIED if same else 200, "headers": head})
        await send({"type": "http.response.body", "body": body})
