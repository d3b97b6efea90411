"""Makes session/known_clients.py from the clients' folders: what every call must know of all, without loading them.

`make generate` runs it; `python -m dibs.doors.clients.make_index` runs it alone.
"""

from __future__ import annotations

import hashlib
import os

from dibs.doors.clients import of
from dibs.doors.clients.adapter import UNGUARDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.doors.clients.adapter import Client

HERE = os.path.dirname(__file__)
TEXT = '''"""The clients, and what every call must know of all of them. Made by `make generate` from their folders."""

NAMES = ({names})
SESSION_VARIABLES = {{  # read when nobody said who is calling
{variables}}}
PROCESS_NAMES = (  # under which they run
{processes})
STRICT = (  # their files that need an explicit claim
{strict})
DIGEST = "{digest}"  # of these: what is kept of a config is read anew when they change
'''


def found() -> list[Client]:
    """The clients of the folders next to this file, by name."""
    return [of(name) for name in sorted(os.listdir(HERE)) if os.path.exists(os.path.join(HERE, name, "install.py"))]


def text() -> str:
    """The text of session/known_clients.py."""
    clients = found()
    strict = [path for client in clients for path in client.strict]
    return TEXT.format(
        names=", ".join(f'"{client.name}"' for client in clients),
        variables="".join(f'    "{one}": "{client.name}",\n' for client in clients for one in client.session_variables),
        processes=_lines(sorted({*UNGUARDED, *[name for client in clients for name in client.process_names]})),
        strict=_lines(strict),
        digest=hashlib.sha256("\n".join(strict).encode()).hexdigest()[:8],
    )


def _lines(words: Iterable[str]) -> str:
    return "".join(f'    "{word}",\n' for word in words)


if __name__ == "__main__":
    made = text()
    with open(os.path.join(HERE, "..", "..", "session", "known_clients.py"), "w", encoding="utf-8") as file:
        file.write(made)
