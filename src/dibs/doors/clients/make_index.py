"""Makes session/known_clients.py and session/hook_script.py from the clients' folders.

The first is what every call must know of all clients, without loading them; the second is the launcher.

`make generate` runs it; `python -m dibs.doors.clients.make_index` runs it alone.
"""

from __future__ import annotations

import hashlib
import os

from dibs.doors.clients import of

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
MARKS = {{  # a field of a payload → the client that sends it through another one's hooks, and its own settings
{marks}}}
DIGEST = "{digest}"  # of these: what is kept of a config is read anew when they change
'''

SCRIPT = '''"""The launcher `.dibs/hook`, with the dialects of all clients. Made by `make generate` (scripts.py)."""
# ruff: noqa: E501 - a script

HOOK = r"""{text}"""
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
        processes=_lines(sorted({name for client in clients for name in client.process_names})),
        strict=_lines(strict),
        marks="".join(f'    "{one.mark}": ("{one.name}", "{one.settings_file}"),\n' for one in clients if one.mark),
        digest=hashlib.sha256("\n".join(strict).encode()).hexdigest()[:8],
    )


def _lines(words: Iterable[str]) -> str:
    return "".join(f'    "{word}",\n' for word in words)


def launcher() -> str:
    """The text of session/hook_script.py: the launcher, with the dialects of these clients."""
    from dibs.doors.install import scripts

    return SCRIPT.format(text=scripts.hook(found()))


if __name__ == "__main__":
    for name, made in (("known_clients.py", text()), ("hook_script.py", launcher())):
        with open(os.path.join(HERE, "..", "..", "session", name), "w", encoding="utf-8") as file:
            file.write(made)
