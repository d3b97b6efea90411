"""`dibs store move URL`: the workspace with everything in it, from the store it uses to another one."""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.errors import YES, Unavailable, counted
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import open_session
from dibs.operations.core import authority
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.parse import Words

FIELDS = (
    Field("url", "text", "where to: `sqlite:`, `redis://HOST:PORT`, …", positional=True, required=True, metavar="URL"),
)


def run(words: Words) -> int:
    """Exit 0 when the other store is in charge."""
    from dibs.client import store_move

    session = open_session(words)
    call = session.identify(words.common.get("as"))
    try:
        session.run(authority.MAY, call, {"act": "store move"})
    except Unavailable:
        pass  # the store was moved already, or does not answer: then there is nothing to move, and it says so

    def told(text: str) -> None:
        if not words.json:
            sys.stderr.write(f"dibs: {text}\n")

    url = words.fields["url"]
    from dibs.stores.engines import server_of
    from dibs.stores.opening import Opening

    server = server_of(url)
    if server is not None:
        server.ensure_running(Opening(session.place.local, url, session.config.id, session.timeout))
    result = store_move.move(session, url, call, told=told)
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": True, **result}) + "\n")
        return YES
    if result.get("followed"):
        sys.stdout.write(f"the workspace was moved to {result['to']} already; this machine uses it from now on\n")
    else:
        sys.stdout.write(
            f"moved from {result['from']} to {result['to']} ({counted(result['rows'], 'row')}, "
            f"{counted(result['events'], 'event')}, digest {result['digest'][:16]})\n"
        )
    if not url.startswith("sqlite:"):
        sys.stdout.write("set `store = …` in .dibs/config.toml (or DIBS_STORE) before others clone this repository\n")
    else:
        sys.stdout.write("take `store = …` out of .dibs/config.toml if it names the former server\n")
    return YES


COMMAND = Command(
    "store move",
    "Move the workspace with everything in it to another store.",
    run=run,
    group="record",
    fields=FIELDS,
    examples=(
        ("dibs store move redis://localhost:6379", "from SQLite to a Redis server"),
        ("dibs store move sqlite:", "back to the SQLite file of this machine"),
    ),
    notes=(
        (
            "No agent can write while the data is copied; both sides are compared by digest before the new store "
            "takes over. Claims, waiters, tasks, messages and documents keep their tokens, numbers and remaining "
            "time. If the move is interrupted, it either did not happen, or the next command finishes it. On other "
            "machines, the same command only changes where they look."
        ),
    ),
)
