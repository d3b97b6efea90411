"""`restore`: brings back what was overwritten although another agent held it; or lists what can be brought back.

The audit keeps such contents. Restoring is an edit like any other: it takes the path, or is refused with who holds it;
a person restores for the holder, which keeps the path. It keeps what it overwrites, so that it can be undone in the
same way; if the file changes at that moment, it is left alone (`conflict`). It is done where the files are: on the
caller's machine, or on the server's for a caller of a server (the page).
"""

from __future__ import annotations

import os

from dibs.client.upkeep import removed_trees
from dibs.errors import Conflict, Held, Invalid, NotFound, Unavailable
from dibs.git import objects
from dibs.ledger import contents, file_writes, ledger_files, working_tree
from dibs.ledger.state import owner_line
from dibs.machine.clock import random_id
from dibs.operations.core.declare import NEAR, PAGED, Field, Operation
from dibs.operations.guards import restores
from dibs.operations.guards.audits import GIVE_BACK
from dibs.workspace import location
from dibs.workspace.paths import of_parts, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins

    from dibs.audit.answers import RestoreAnswer
    from dibs.client.session import Session
    from dibs.operations.core.call import Call
    from dibs.operations.guards.answers import KeptView
    from dibs.operations.guards.restores import RestoreTaken
    from dibs.undo.requests import RestoreRequest
    from dibs.workspace.location import Place

ATTEMPTS = 3  # to restore a file that its holder writes to


def _restore(session: Session, call: Call, request: RestoreRequest) -> RestoreAnswer:
    """List, or bring one back; a whole tree, or what was there at a time."""
    if request["tree"]:
        from dibs.undo import restore_tree

        return restore_tree.restore(session, call, request)
    if request["at"]:
        from dibs.undo import time_machine

        return time_machine.restore(session, call, request)
    if request["list"] or not request["what"]:
        removed_trees.look(session, call)
        kept: RestoreAnswer = session.run(
            restores.RESTORABLE, call, {"limit": request["limit"], "after": request["after"]}
        )
        return kept
    return _brought_back(session, call, _chosen(session, call, request["what"]))


def _chosen(session: Session, call: Call, what: str) -> KeptView:
    """The one with this id, or the newest of this path: in its working tree, else in one that was removed."""
    named: builtins.list[KeptView] = session.run(restores.RESTORABLE, call, {"ids": [what]})["kept"]
    if named:
        return named[0]
    removed_trees.look(session, call)
    removed = _removed(session.place)
    full = os.path.normpath(os.path.join(session.cwd, what))
    top = next((one for one in removed if full.startswith(f"{one}/")), "")
    if top:
        text = shown(full[len(top) + 1 :], fold=session.paths.fold)
    else:
        _, text, _, top = session.paths.located(what, session.cwd, literal=True)
    kept: builtins.list[KeptView] = session.run(restores.RESTORABLE, call, {"path": text})["kept"]
    for trees in ({"", top}, removed if top == session.place.top else ()):
        for one in kept:
            if one["tree"] in trees:
                return one
    raise NotFound(f"nothing is kept of {what}; `dibs restore` shows what is", kept=what)


def _removed(place: Place) -> builtins.list[str]:
    """The working trees of which only the ledgers are left."""
    return [top for _, top in ledger_files.of_linked(place.shared) if not os.path.isdir(top)]


def _is_here(place: Place, tree: str) -> bool:
    """Is this one of the workspace's working trees on this machine?"""
    if tree in {place.top, place.root}:
        return True
    private = location.private_of(tree) if os.path.isdir(tree) else ""
    return bool(place.common) and private.startswith(f"{place.common}/")


def _spelled(session: Session, tree: str, chosen: KeptView) -> str:
    """The path as the file is called: a record has it composed, with a sign for each letter that cannot be shown."""
    path = chosen["path"]
    if path.isascii() and not session.paths.fold:
        return path
    heads = working_tree.at(tree, session.place).state.heads
    found = [one for one in heads if shown(one, fold=session.paths.fold) == path]
    had_it = [one for one in found if chosen["blob"] in heads[one].authors]  # composed and not, there may be both
    return next(iter([*had_it, *found]), path)


def _brought_back(session: Session, call: Call, chosen: KeptView) -> RestoreAnswer:
    """Keep what is there, take the path, write."""
    place = session.place
    kept_of = tree = chosen["tree"] or place.top
    if tree in _removed(place):
        tree = place.top  # that tree was removed: its files come into this one
    if not _is_here(place, tree):
        text = f"{tree} is a working tree of another machine: restore {chosen['path']} there."
        raise Unavailable(text, path=os.path.join(tree, chosen["path"]))
    path = os.path.join(tree, _spelled(session, tree, chosen))
    content = contents.of_tree(place, chosen["blob"], kept_of)
    if content is None:
        raise Unavailable(f"the content of {chosen['path']} ({chosen['blob'][:12]}) is gone or damaged", path=path)
    ledger = working_tree.at(tree, place)
    is_link = chosen["blob"].startswith(contents.LINK)
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)) if is_link else None
    inner = (real or os.path.realpath(path))[len(tree) + 1 :]
    ledger.look([inner])
    ledger.write()
    plain = os.fsencode(path).decode("utf-8", "replace").isprintable()
    resource = session.paths.resource(path, session.cwd, literal=True) if plain else ("file", chosen["path"])
    fields = {
        "kept": chosen["id"],
        "resource": of_parts(*resource),
        "tree": tree,
        "local": tree == place.root,
    }
    answer, now = _taken(session, call, fields, path)

    def finish() -> None:
        if answer["undo"]:
            objects.pin(place.common, f"kept/{answer['undo']}", now)
        _write(path, content, is_link=is_link)
        ledger.made(inner, call.agent)  # so that nobody else counts as having seen it
        if answer["owner"] and ledger.index.blob(inner) != chosen["blob"]:
            ledger.add(owner_line(answer["owner"], inner))
        ledger.write()

    try:
        try:
            finish()
        except KeyboardInterrupt:
            finish()  # it is decided and logged: half a restore helps nobody
    finally:
        if answer["claim"]:
            session.run(GIVE_BACK, call, {"release": [answer["claim"]]})
    return {
        "restored": chosen["path"], "id": chosen["id"], "undo": answer["undo"], "token": answer["token"],
        "holders": answer["holders"],
    }  # fmt: skip


def _taken(session: Session, call: Call, fields: dict[str, object], path: str) -> tuple[RestoreTaken, str]:
    """Keep what is there and take the path; again, if its holder wrote to it at that moment."""
    kept = objects.objects_of(session.place.common, session.place.local)
    for _ in range(ATTEMPTS):
        before = contents.signature(path)
        now = objects.keep_file(kept, path)
        if not now and os.path.lexists(path):
            raise Unavailable(f"{path} cannot be kept before it is overwritten, so it is left alone", path=path)
        answer = session.run(restores.RESTORE, call, {**fields, "now": now})
        if contents.signature(path) == before:
            return answer, now
        if answer["claim"]:
            session.run(GIVE_BACK, call, {"release": [answer["claim"]]})
    raise Conflict(f"{path} is being written to at this moment; try again", path=path)


def _write(path: str, content: bytes, *, is_link: bool) -> None:
    """The whole content or none of it, with the mode that the file has."""
    if not is_link:
        path = os.path.realpath(path)  # a link stays a link
    kind = contents.LINKED if is_link else contents.kind_of(contents.signature(path))
    try:
        file_writes.put(path, content, kind, f"{path}.{random_id()}")
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}; it is as it was", path=path) from None


RESTORE = Operation(
    "restore",
    _restore,
    "Restore a file that was overwritten while another agent held it; without a file, list what is kept.",
    fields=(
        Field("what", "text", "the file, or the id from the list", positional=True, default="", metavar="FILE|ID"),
        Field("list", "flag", "only list the contents that are kept, the newest first", default=False),
        Field(
            "tree",
            "text",
            "a whole working tree, also a removed one: its folder's name, path or branch",
            default="",
            sent_by=NEAR,
            metavar="NAME",
        ),
        Field(
            "at",
            "text",
            "as it was then: 14:32, an ISO time, or how long ago (20m)",
            default="",
            sent_by=NEAR,
            metavar="TIME",
        ),
        Field("to", "text", "of a tree: write its files into this folder", default="", sent_by=NEAR, metavar="DIR"),
        Field("overwrite", "flag", "of a tree: also into a folder that is not empty", default=False, sent_by=NEAR),
        Field("merge", "flag", "as it was then: keep what other agents built on it", default=False, sent_by=NEAR),
        *PAGED,
    ),
    errors=(Conflict, Held, Invalid, NotFound),
    rank="agent",
    answer="RestoreAnswer",
    group="guards",
    destructive=True,
    is_query=True,
)

QUERIES = (RESTORE,)
