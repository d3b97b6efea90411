"""`dibs store move URL`: the workspace with everything in it, from the store it uses to another one."""

from __future__ import annotations

import sys

from dibs import jsontext
from dibs.doors.cli import parse
from dibs.doors.cli.run import open_session
from dibs.errors import YES, Unavailable
from dibs.operations.core import authority
from dibs.operations.core.declare import Field

FIELDS = (
    Field("url", "text", "where to: `sqlite:`, `redis://HOST:PORT`, …", positional=True, required=True, metavar="URL"),
)
HELP = "Move the workspace with everything in it to another store."
MORE = (
    "Nobody writes while it is copied; both sides are compared by digest before the new one takes over. Claims,",
    "waiters, tasks, messages and documents go on with their tokens, numbers and remaining lives. Interrupted, it has",
    "either not happened or the next command finishes it. On other machines, it only changes where they look.",
)


def run(arguments: list[str]) -> int:
    """Exit 0 when the other store is in charge."""
    words = parse.parse("store move", FIELDS, arguments)
    if words.help:
        from dibs.doors.cli import help

        return help.of_command("store move", HELP, FIELDS, list(MORE))
    from dibs.storage import store_move

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
    from dibs.storage import redis_server

    redis_server.ensure_running(session, url)
    result = store_move.move(session, url, call, told=told)
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": True, **result}) + "\n")
        return YES
    if result.get("followed"):
        sys.stdout.write(f"the workspace was moved to {result['to']} already; from now on this machine looks there\n")
    else:
        sys.stdout.write(
            f"moved from {result['from']} to {result['to']} ({result['rows']} rows, {result['events']} events, "
            f"digest {result['digest'][:16]})\n"
        )
    sys.stdout.write("name it in .dibs/config.toml (`store = …`, or DIBS_STORE) before others clone this repository\n")
    return YES
