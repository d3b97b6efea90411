"""Saves what a holder's files contain before its claim is taken away (`release --force`), for `dibs restore`."""

from __future__ import annotations

import os

from dibs.git import objects
from dibs.ledger import contents
from dibs.operations.claims import resources
from dibs.operations.claims.forced_release import HELD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session
    from dibs.operations.claims.answers import ReleaseAnswer
    from dibs.operations.core.call import Call, Fields

MOST = 300  # files of one claim that are saved


def save(session: Session, call: Call, fields: Fields) -> Fields:
    """The request with what was saved of the files that differ from git's: claim, working tree, path, content."""
    place = session.place
    saved: list[list[str]] = []
    for claim, where, held in session.run(HELD, call, {"resources": fields.get("resources", ())})["claims"]:
        top = where or place.top
        if os.path.isdir(top):  # a working tree of this machine
            for path in _unfinished(session, top, held)[:MOST]:
                blob = objects.keep_file(objects.objects_of(place.common, place.local), f"{top}/{path}")
                if blob:
                    saved.append([claim, top, path, blob])
    return {**fields, "saved": saved}


def _unfinished(session: Session, top: str, held: list[list[str]]) -> list[str]:
    """The files of a claim that git does not have as they are: those it names, and unfinished work below what it names.

    What an agent's last program wrote may not be known yet.
    """
    from dibs.ledger import working_tree

    tree = working_tree.at(top, session.place)
    named = [one[1] for one in held if one[0] == "file"]
    wider = [one for one in held if one[0] in {"tree", "glob"}]
    if wider and session.place.common:
        tree.look_at_all()
    below = [path for path in tree.state.owned() if any(resources.covers(one, ["file", path]) for one in wider)]
    paths = dict.fromkeys([*named, *below])
    return [path for path in paths if contents.read(f"{top}/{path}")[0] != tree.index.blob(path)]


def pin(session: Session, answer: ReleaseAnswer) -> None:
    """Git must not clear away what was saved."""
    for one in answer.get("kept", ()):
        objects.pin(session.place.common, f"kept/{one['id']}", one["blob"])
