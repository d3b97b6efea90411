"""`dibs restore`: brings back what somebody overwrote although another agent held it.

The audit keeps such contents. Restoring is an edit like any other: it takes the path, or is refused with who holds it;
and it keeps what it overwrites, so that it can be taken back in the same way.
"""

from __future__ import annotations

import os
import sys

from dibs import jsontext
from dibs.doors.cli.command import Command
from dibs.doors.cli.dispatch import open_session
from dibs.doors.cli.render import times
from dibs.errors import YES, NotFound, Unavailable, named
from dibs.facts import contents
from dibs.facts.clock import random_id
from dibs.facts.git import objects
from dibs.facts.paths import of_parts
from dibs.operations.core.declare import Field
from dibs.operations.guards import restores
from dibs.session import kept_contents, working_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.doors.cli.parse import Words
    from dibs.session.session import Session

FIELDS = (
    Field("what", "text", "the path, or the id from the list", positional=True, default="", metavar="PATH|ID"),
    Field("list", "flag", "only list the contents that are kept", default=False),
)


def run(words: Words) -> int:
    """List, or bring one back."""
    session = open_session(words)
    call = session.identify(words.common.get("as"))
    kept = session.run(restores.RESTORABLE, call, {})["kept"]
    what = words.fields.get("what", "")
    if words.fields.get("list") or not what:
        if words.json:
            sys.stdout.write(jsontext.encode({"ok": True, "kept": kept}) + "\n")
        else:
            sys.stdout.write("".join(map(_line, kept)) or "nothing is kept\n")
        return YES
    answer = _restore(session, call, _chosen(session, kept, what))
    if words.json:
        sys.stdout.write(jsontext.encode({"ok": True, **answer}) + "\n")
    else:
        undo = f"; `dibs restore {answer['undo']}` takes that back" if answer["undo"] else ""
        sys.stdout.write(f"restored {answer['restored']}{undo}\n")
    return YES


def _line(one: dict[str, Any]) -> str:
    by = one["by"] or "somebody"
    if one["how"] == "forced":
        holder = named(one, "holder")
        return f"{one['id']}  {one['path']}  kept {times.ago(one['at'])} ago, when {by} took it away from {holder}\n"
    return (
        f"{one['id']}  {one['path']}  overwritten {times.ago(one['at'])} ago by {by}, held by {named(one, 'holder')}\n"
    )


def _chosen(session: Session, kept: list[dict[str, Any]], what: str) -> dict[str, Any]:
    """The one with this id, or the newest of this path in this working tree."""
    for one in kept:
        if one["id"] == what:
            return one
    text = session.paths.resource(what, session.cwd, literal=True)[1]
    for one in kept:
        if one["path"] == text and one["tree"] in {"", session.place.top}:
            return one
    raise NotFound(f"nothing is kept of {what}; `dibs restore --list` shows what is", kept=what)


def _restore(session: Session, call: Any, chosen: dict[str, Any]) -> dict[str, Any]:
    """Keep what is there, take the path, write."""
    place = session.place
    tree = chosen["tree"] or place.top
    path = os.path.join(tree, chosen["path"])
    content = kept_contents.find(place, chosen["blob"], tree)
    if content is None:
        raise Unavailable(f"the content of {chosen['path']} ({chosen['blob'][:12]}) is gone or damaged", path=path)
    ledger = working_tree.at(tree, place)
    is_link = chosen["blob"].startswith(contents.LINK)
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)) if is_link else None
    inner = (real or os.path.realpath(path))[len(tree) + 1 :]
    ledger.look([inner])
    ledger.write()
    now = objects.keep_file(objects.objects_of(place.common, place.local), path)
    if not now and os.path.lexists(path):
        raise Unavailable(f"{path} cannot be kept before it is overwritten, so it is left alone", path=path)
    resource = session.paths.resource(path, session.cwd, literal=True)
    fields = {
        "kept": chosen["id"],
        "resource": of_parts(*resource),
        "tree": tree,
        "now": now,
        "local": tree == place.root,
    }
    answer = session.run(restores.RESTORE, call, fields)
    if answer["undo"]:
        objects.pin(place.common, f"kept/{answer['undo']}", now)
    _write(path, content, chosen["blob"])
    ledger.made(inner, call.agent)
    ledger.write()
    return {"restored": chosen["path"], "id": chosen["id"], "undo": answer["undo"], "token": answer["token"]}


def _write(path: str, content: bytes, blob: str) -> None:
    """The whole content or none of it, with the mode that the file has."""
    is_link = blob.startswith(contents.LINK)
    if not is_link:
        path = os.path.realpath(path)  # a link stays a link
    kind = contents.LINKED if is_link else contents.kind_of(contents.signature(path))
    making = f"{path}.{random_id()}"
    try:
        kept_contents.put(path, content, kind, making)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}; it is as it was", path=path) from None


COMMAND = Command(
    "restore",
    "Restore a file that was overwritten while someone held it.",
    run=run,
    group="guards",
    fields=FIELDS,
    examples=(
        ("dibs restore", "list the contents that are kept"),
        ("dibs restore src/api.py", "bring back the newest kept content of this file"),
    ),
    json="kept[] (id, path, tree, holder, by, at, blob, how), or restored, id, undo",
    refusals=("held", "not_found"),
)
