"""Commands that download files: which paths they write."""

from __future__ import annotations

import os

from dibs.shell.options import has, last
from dibs.shell.unknown import ANY, PLAIN, Unknown, between

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.shell.call import ProgramCall
    from dibs.shell.unknown import Field

_CURL_SHORT = "AbcCdDeEFhHKmoPQrtTuUwxXyYz"
_CURL_LONG = (
    "output", "output-dir", "dump-header", "cookie-jar", "header", "data", "data-raw", "data-binary", "data-urlencode",
    "json", "request", "user", "user-agent", "url", "proxy", "cookie", "form", "max-time", "connect-timeout", "retry",
    "retry-delay", "retry-max-time", "referer", "cacert", "cert", "key", "write-out", "upload-file", "resolve",
    "config", "range", "limit-rate", "trace", "trace-ascii", "stderr", "etag-save", "etag-compare", "continue-at",
)  # fmt: skip


def curl(call: ProgramCall) -> None:
    """The files of its output options; with -O, the names of its URLs."""
    given, operands = call.options(_CURL_SHORT, _CURL_LONG)
    folder = last(given, "output-dir")
    urls = [*operands, *[value for option, value in given if option == "url"]]
    for option, value in given:
        if option in {"o", "output"}:
            call.write(_joined(folder, value or ANY))
        elif option in {"D", "dump-header", "c", "cookie-jar", "trace", "trace-ascii", "stderr", "etag-save"}:
            call.write(value or ANY)
    if has(given, "O", "remote-name", "remote-name-all"):
        for url in urls:
            call.write(_joined(folder, _last(url or ANY)))
        if has(given, "J", "remote-header-name"):
            call.doubt_in(folder or ".")


def _joined(folder: Field, name: Field) -> Field:
    """A name in a folder ("" for here)."""
    if isinstance(folder, Unknown):
        return between("", folder, "/")
    if isinstance(name, Unknown):
        return between(folder.rstrip("/") + "/", name, "") if folder else name
    return os.path.join(folder, name)


def _last(url: Field) -> Field:
    """The name a download gets from its URL."""
    if isinstance(url, Unknown):
        if "/" not in url.end:
            return PLAIN
        url = url.end
    return url.partition("#")[0].partition("?")[0].rstrip("/").rpartition("/")[2] or PLAIN


def wget(call: ProgramCall) -> None:
    """The file that is named, or the names of its URLs."""
    long = (
        "output-document", "directory-prefix", "output-file", "append-output", "header", "user-agent", "timeout",
        "tries", "input-file", "user", "password", "post-data", "post-file", "method", "body-data", "wait", "quota",
    )  # fmt: skip
    given, operands = call.options("OPoaUTtiwQADIlRX", long)
    for option in (("o", "output-file"), ("a", "append-output")):
        if has(given, *option):
            call.write(last(given, *option))
    if has(given, "spider"):
        return
    folder = last(given, "P", "directory-prefix")
    if has(given, "O", "output-document"):
        call.write(last(given, "O", "output-document"))
    elif has(given, "r", "recursive", "m", "mirror", "i", "input-file"):
        call.doubt_in(folder or ".")
    else:
        for url in operands:
            name = _last(url)
            if isinstance(url, str):
                name = url.rpartition("/")[2] if "?" in url else "index.html" if name == PLAIN else name
            call.write(_joined(folder, name))
