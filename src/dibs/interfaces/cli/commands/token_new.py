"""`dibs token new`: a credential for a server's caller. Its secret is printed once, or written to a file."""

from __future__ import annotations

import os

from dibs.client import catalogue
from dibs.errors import Unavailable
from dibs.interfaces.cli.command import Command
from dibs.interfaces.cli.dispatch import finish, read
from dibs.operations.core.declare import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.parse import Words


def run(words: Words) -> int:
    """Make it; where a file is named, the secret goes there and not to the screen."""
    operation = catalogue.operation("token new")
    session, call, values = read(operation, words)
    path = words.fields.get("file", "")
    if path:
        _check(path)
    found = session.answer(operation, call, values)
    if path and "token" in found:
        from dibs.client import secrets

        try:
            secrets.write(path, found["token"])
        except OSError as error:
            session.answer(catalogue.operation("token revoke"), call, {"id": found["credential"]["id"]})
            message = f"{path} cannot be written: {error.strerror}. The credential was revoked again."
            raise Unavailable(message, path=path) from None
        found = {"credential": found["credential"], "file": os.path.abspath(path)}
    return finish(operation, found, words)


def _check(path: str) -> None:
    """A folder that is not there is said before anything is made."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.access(folder, os.W_OK) or os.path.isdir(path):
        raise Unavailable(f"{path} cannot be written. Nothing was changed.", path=path)


NOTE = (
    "The token is shown once; the store has a hash of it. A person's credential may speak for any agent, an "
    "agent's for itself and its subagents, a machine's for the agents that it registers."
)

COMMAND = Command(
    "token new",
    run=run,
    fields=(
        Field("file", "text", "write the token to this file, which its owner alone may read", default="", longest=0,
              metavar="FILE"),
    ),
    notes=(NOTE,),
)  # fmt: skip
