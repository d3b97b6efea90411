"""A full disk: nothing can be claimed or recorded, so every write is refused. Freeing space must still be possible.

Loaded only after a check failed. A command passes if it only deletes, and only free paths: git ignores them, the config
says so, or they are outside of every working tree. Nobody can hold those.
"""

from __future__ import annotations

import os

from dibs import shell
from dibs.errors import Invalid
from dibs.machine import caller
from dibs.workspace import location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session
    from dibs.guards.payload import Event
    from dibs.workspace.location import Place

SCANT_BYTES = 256 * 1024  # for a few transactions and their lines in the ledger; below it the disk counts as full


def only_frees(event: Event, place: Place) -> bool:
    """Is the disk full, and does this command only free space?"""
    status = os.statvfs(place.local)
    if status.f_bavail * status.f_frsize > SCANT_BYTES:
        return False
    reading = shell.read(event.command, event.where, home=caller.environ().get("HOME", ""))
    if reading.kind == "open" or reading.unresolved or reading.git or not reading.writes:
        return False
    from dibs.guards.caller import open_session

    session = open_session(place)
    roles = session.config.policy.guards["roles"]
    if roles["default"] or roles["assign"]:
        return False  # the agent's role is in the record, which cannot be read
    return all(target.how == "delete" and _is_free(session, target.path) for target in reading.writes)


def _is_free(session: Session, path: str) -> bool:
    from dibs.git.ignored import ignored_among
    from dibs.operations.guards.edit_guard import FREE, guard_level

    real = os.path.realpath(path)
    if not location.tree_of(session.place, real):
        return not session.place.root.startswith(f"{real}/")  # a parent folder of the workspace is not free
    try:
        kind, text, alias, top = session.paths.located(path, "/", literal=True)
    except Invalid:
        return False
    if not text or text.split("/")[0] in {".git", ".dibs"}:
        return False
    ignored = bool(ignored_among(top, session.paths.common, [text]))
    return guard_level(session.config.policy, [kind, text, alias], ignored=ignored) == FREE
