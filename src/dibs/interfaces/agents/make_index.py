"""Makes workspace/known_clients.py and workspace/hook_dialects.py from the clients' folders.

The first is what every call must know of all clients, without loading them; the second is what the launcher says.

`make generate` runs it; `python -m dibs.interfaces.agents.make_index` runs it alone.
"""

from __future__ import annotations

import hashlib
import os

from dibs.interfaces.agents import BEFORE, BOOT, of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.interfaces.agents.adapter import Client, HookAnswer

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

DIALECTS = '''"""What the launcher says to each client. Made by `make generate` from their folders."""
# ruff: noqa: E501 - lines of a script

DIALECTS = {{
{parts}}}
'''


def found() -> list[Client]:
    """The clients of the folders next to this file, by name."""
    return [of(name) for name in sorted(os.listdir(HERE)) if os.path.exists(os.path.join(HERE, name, "install.py"))]


def text() -> str:
    """The text of workspace/known_clients.py."""
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


def dialects() -> str:
    """The text of workspace/hook_dialects.py: the names of events, what a client shows, and how it is refused."""
    every = found()
    named = {moment: _events([one for one in every if one.names_event], moment) for moment in (BEFORE, BOOT)}
    said = {moment: _events(every, moment) for moment in (BEFORE, BOOT)}
    keys = ('"hook_event_name":', '"hook_event_name": ')
    parts = {
        "NAMED_BEFORE": "".join(f" | *:{event}" for event in named[BEFORE]),
        "NAMED_START": " | ".join(f"*:{event}" for event in named[BOOT]),
        "SAID_BEFORE": " | ".join(f"*'\"{event}\"'*" for event in said[BEFORE]),
        "SAID_START": " | ".join(f"*'{key}\"{event}\"'*" for event in said[BOOT] for key in keys),
        "TELL": _cases([(one.name, one.start_notice("%s")) for one in every]),
        "DENY": _cases([(one.name, one.hook.deny(one.event_of(BEFORE), "%s")) for one in every]),
    }
    lines = "".join(f'    "{name}": r"""{part}""",\n' for name, part in parts.items())
    return DIALECTS.format(parts=lines)


def _events(clients: Sequence[Client], moment: str) -> list[str]:
    """These clients' names for a moment."""
    return sorted({event for client in clients for event, meant in client.hook.EVENTS.items() if meant == moment})


def _cases(said: Iterable[tuple[str, HookAnswer | None]]) -> str:
    """The lines of a `case` on a client's name that print its JSON; `%s` in it stands for the text."""
    from dibs import jsontext

    names: dict[str, list[str]] = {}
    for name, answer in said:
        if answer is not None:
            names.setdefault(jsontext.encode(answer), []).append(name)
    lines = []
    for text, group in names.items():
        arguments = ' "$2"' * text.count("%s")
        lines.append(f"        {' | '.join(group)}) printf '{text}\\n'{arguments} ;;")
    return "\n".join(lines)


if __name__ == "__main__":
    for name, made in (("known_clients.py", text()), ("hook_dialects.py", dialects())):
        with open(os.path.join(HERE, "..", "..", "workspace", name), "w", encoding="utf-8") as file:
            file.write(made)
