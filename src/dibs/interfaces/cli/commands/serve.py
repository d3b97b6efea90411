"""`dibs serve`: a server for the workspace, in this terminal or detached from it; and its end."""

from __future__ import annotations

import os
import signal
import sys

from dibs import jsontext
from dibs.errors import YES, Conflict, Invalid, Unavailable, from_parts
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import open_session
from dibs.interfaces.serve import files
from dibs.machine import extras
from dibs.operations.core.declare import Field
from dibs.workspace import serve_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen

    from dibs.interfaces.cli.parse import Words
    from dibs.interfaces.serve.files import ServerAddress
    from dibs.workspace.location import Place

READY_S = 30.0  # for a detached server to answer; a large database may be checked first
ANSWER_S = 3.0  # for one that is there already to say anything
OPEN_S = 10.0  # for a browser to be told
GONE_S = 10.0  # for one to end
MAX_PORT = 65_535


def run(words: Words) -> int:
    """Serve, or start or stop a server."""
    place = open_session(words).place
    if words.fields.get("stop"):
        return _stop(place, words)
    port = words.fields.get("port")
    if port is not None and not (port.isdigit() and int(port) <= MAX_PORT):
        raise Invalid(f"port: a number from 0 to {MAX_PORT}, not {port!r}", field="port")
    if words.fields.get("detach") or (words.fields.get("open") and files.holder(place.local)):
        return _detach(place, words)  # the page of a server that is there already can be opened, too
    try:
        from dibs.interfaces.serve import process
    except ImportError as error:
        message = f"`dibs serve` needs the extra `server`: {extras.advice('server')}. ({error})"
        raise Unavailable(message, missing=True) from None
    options = process.Options(
        words.fields.get("host", ""), None if port is None else int(port), words.fields.get("tls-cert", ""),
        words.fields.get("tls-key", ""),
    )  # fmt: skip
    process.run(place, options, lambda about: _tell(about, words, stays=True))
    return YES


def _tell(about: ServerAddress, words: Words, *, stays: bool = False) -> None:
    """One line when it is ready; `stays`: in this process, whose loop calls this and must not wait."""
    if words.json:
        shown = {"ok": True, **{key: about[key] for key in ("url", "token_file", "socket", "pid")}}
        sys.stdout.write(jsontext.encode(shown) + "\n")
    else:
        sys.stdout.write(f"serving at {about['url']} (process {about['pid']}, token in {about['token_file']})\n")
    sys.stdout.flush()
    if not words.fields.get("open") and (words.json or not sys.stdout.isatty()):
        return  # a program started it: a link that signs in is not for its log
    import threading

    opening = threading.Thread(target=_open_page, args=(about, words), daemon=True)
    opening.start()
    if not stays:
        opening.join(OPEN_S)


def _open_page(about: ServerAddress, words: Words) -> None:
    """Open the page where there is a browser; else, or unasked, say the link that signs in. With --json on stderr."""
    from dibs.interfaces.page import sign_in

    address = sign_in.address(about["url"], about["token_file"])
    asked = bool(words.fields.get("open"))
    if asked and _has_browser():
        import webbrowser

        if webbrowser.open(address):
            return
    out = sys.stderr if words.json else sys.stdout
    said = "no browser could be opened here\n" if asked else ""
    if "#code=" in address:
        said += f"page, signed in (once, within a minute): {address}\nanother link: dibs serve --open"
    else:
        said += f"page: {address} (sign in with the token in {about['token_file']})"
    out.write(f"{said}\n")
    out.flush()


def _has_browser() -> bool:
    """Is there a screen for a browser? Over SSH and in a container a text browser would take this terminal."""
    if sys.platform == "darwin":
        return not os.environ.get("SSH_CONNECTION") or bool(os.environ.get("BROWSER"))
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def _stop(place: Place, words: Words) -> int:
    """End the server of this workspace and wait until it is gone."""
    pid = files.holder(place.local)
    if pid > 0:
        try:
            os.kill(pid, signal.SIGTERM)
        except (ProcessLookupError, PermissionError):
            pass  # gone by now; or not ours, which the wait below says
        if not files.wait_until_gone(place.local, GONE_S):
            raise Unavailable(f"process {pid} does not end; `kill -9 {pid}` ends it, nothing answered is lost.")
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": True, "stopped": max(0, pid)}) + "\n")
    else:
        sys.stdout.write(f"stopped process {pid}\n" if pid > 0 else "no server runs here\n")
    return YES


def _detach(place: Place, words: Words) -> int:
    """Start one in a session of its own, and wait until it answers. One that is there already will do."""
    found = files.wait_for(place.local, READY_S)
    if found is None:
        found = _started(place, words)
    else:
        if not files.answers(found, ANSWER_S):
            pid = found["pid"]
            message = (
                f"process {pid} serves this workspace and does not answer. `kill -9 {pid}` ends it, nothing answered "
                f"is lost; was it stopped, `kill -CONT {pid}` lets it continue."
            )
            raise Unavailable(message, stopped=True)
        for note in filter(None, (serve_file.outdated(place.local), _other(found["url"], words))):
            sys.stderr.write(f"note: {note}.\n")
    _tell(found, words)
    return YES


def _other(url: str, words: Words) -> str:
    """What to say of a server that is there already and is not as this call wants it; else ""."""
    port, cert = words.fields.get("port", "0"), words.fields.get("tls-cert")
    if int(port) in {0, int(url.rpartition(":")[2])} and (not cert or url.startswith("https:")):
        return ""
    return f"a server is there already, at {url}: the words of this call were not used. `dibs serve --stop` ends it"


def _started(place: Place, words: Words) -> ServerAddress:
    import subprocess

    from dibs.machine import background

    given = [f"--{name}={words.fields[name]}" for name in ("host", "port") if name in words.fields]
    # its folder is the workspace's root, not the caller's
    given += [f"--{name}={os.path.abspath(words.fields[name])}" for name in ("tls-cert", "tls-key")
              if words.fields.get(name)]  # fmt: skip
    command = background.command("serve", "--json", "--workspace", place.root, *given)
    with subprocess.Popen(  # noqa: S603 - this interpreter, with our own words
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        cwd=place.root,
    ) as started:  # fmt: skip
        line = _first_line(started, READY_S)
        started.returncode = started.returncode if started.poll() is not None else 0  # it keeps running without us
    about = jsontext.decode(line or "{}")
    if about.get("ok"):
        return files.about(place.local) or about
    error = about.get("error", {})
    if error.get("code") == Conflict.code:  # another was faster
        found = files.wait_for(place.local, READY_S)
        if found is not None:
            return found
    message = error.pop("message", "") or f"the server did not start; {place.local}/{files.LOG} may say why."
    raise from_parts([error.pop("code", ""), message, error])


def _first_line(started: Popen[bytes], seconds: float) -> str:
    """What it says first, within that time."""
    import select

    assert started.stdout is not None
    ready, _, _ = select.select([started.stdout], [], [], seconds)
    return started.stdout.readline().decode("utf-8", "replace").strip() if ready else ""


COMMAND = Command(
    "serve",
    "Serve the workspace over HTTP: every operation, live events, metrics.",
    run=run,
    group="server",
    fields=(
        Field("host", "text", "the address (default 127.0.0.1); any other needs TLS", default="", metavar="H"),
        Field("port", "text", "the port (default: the last one, else any that is free)", metavar="P"),
        Field("tls-cert", "text", "the certificate, PEM", default="", longest=0, metavar="FILE"),
        Field("tls-key", "text", "its key, PEM (default: in the same file)", default="", longest=0, metavar="FILE"),
        Field("detach", "flag", "start it in the background, and return when it answers", default=False),
        Field("stop", "flag", "end the server of this workspace", default=False),
        Field("open", "flag", "open its page in a browser, signed in; without one, print the link", default=False),
    ),
    examples=(
        ("dibs serve", "serve until Ctrl-C; in a terminal it prints a link to the page"),
        ("dibs serve --open", "its page in your browser, signed in; of a server that runs already, too"),
        ("dibs serve --detach --json", "in the background; prints `url` and `token_file`"),
        ("dibs serve --stop", "end it"),
        ("dibs serve --host 0.0.0.0 --port 8443 --tls-cert cert.pem --tls-key key.pem", "for other machines"),
    ),
    json="url, token_file, socket, pid; with --stop: stopped",
    refusals=("conflict", "invalid", "unavailable"),
)
