"""`.dibs/local/serve.json`: where the server of this workspace is reached, and whether this dibs may ask it.

The server writes it when it is ready and removes it at its end; one that was killed leaves it behind. So it proves
nothing: who reads it has to connect. On the path of every command: one small file, no import.
"""

from __future__ import annotations

import os

from dibs import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "serve.json"
MAX_BYTES = 16_384
CONNECT_TIMEOUT_S = 0.5


def build() -> str:
    """What tells this installation of dibs from another one, and from itself after an upgrade."""
    path = f"{__file__[: -len('workspace/serve_file.py')]}__init__.py"
    try:
        status = os.stat(path)
    except OSError:  # it is being replaced right now
        return ""
    return f"{path}:{status.st_ino}:{status.st_mtime_ns}"


def read(local: str) -> dict[str, Any] | None:
    """What the file says, or None where there is none that can be read."""
    try:
        fd = os.open(f"{local}/{NAME}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = jsontext.decode(os.read(fd, MAX_BYTES).decode().strip())
    except (OSError, ValueError):
        return None
    finally:
        os.close(fd)
    return found if isinstance(found, dict) else None


def socket_of(local: str) -> str:
    """The socket of a server of this very dibs, if one may be running; else ""."""
    found = read(local)
    path = "" if found is None else found.get("socket", "")
    return path if found and isinstance(path, str) and found.get("build") == build() != "" else ""


def copied(local: str) -> str:
    """What to say of a file that was copied with its workspace and names the server of the original; else ""."""
    found = read(local)
    path = "" if found is None else found.get("socket", "")
    if not (found and path and isinstance(path, str)):
        return ""
    import socket

    from dibs.workspace import auto_serve

    try:
        with socket.socket(socket.AF_UNIX) as near:
            near.settimeout(CONNECT_TIMEOUT_S)
            near.connect(path)
    except OSError:
        return ""
    if auto_serve.is_served(local):
        return ""
    return (
        f"this workspace is a copy: process {found.get('pid')} serves the one it was copied from, and commands here "
        "do not ask it. `dibs serve --detach` starts a server for this one"
    )


def outdated(local: str) -> str:
    """What to say of a running server that this dibs does not ask, since it is of another build; else ""."""
    found = read(local)
    if found is None or found.get("build") == build():
        return ""
    from dibs.workspace import auto_serve

    if not auto_serve.is_served(local):
        return ""  # it was killed and left its file
    return (
        f"process {found.get('pid')} serves this workspace with another dibs, or with this one from before an upgrade; "
        "commands and programs here do not ask it. `dibs serve --stop`, then `dibs serve --detach`"
    )
