"""A file that ann holds, and that bob overwrote by a command that nobody could read."""

from __future__ import annotations

from pathlib import Path

from dibs.canonical import Canonical
from dibs.client.session import Session
from dibs.git import objects
from dibs.machine.clock import random_id
from dibs.operations.guards import audits

BEFORE, AFTER = b"ann's\x00 work\r\n", b"bob's mess"


def overwritten(tree: Path, name: str) -> tuple[Path, str]:
    """The file in this working tree, and the id under which its content from before is kept."""
    path = tree / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(BEFORE)
    session = Session(str(tree), None)
    place = session.place
    resource = Canonical(session.paths.resource(name, session.cwd, literal=True))
    fields = {"resources": [resource], "tree": place.top, "by": "edit"}
    session.run(session.operation("claim"), session.identify("ann"), fields)
    kept = objects.objects_of(place.common, place.local)
    was = objects.keep_file(kept, str(path))
    path.write_bytes(AFTER)
    fact = {
        "id": random_id(), "resource": resource, "tree": place.top, "was": was,
        "now": objects.keep_file(kept, str(path)), "actor": "bob", "grade": "sure", "suspects": ["bob"],
        "owners": ["ann"], "named": False, "heard": [],
    }  # fmt: skip
    answer = session.run(audits.AUDIT, session.identify("bob"), {"found": [fact], "tool": "Bash"})
    identifier: str = answer["violations"][0]["violation"]
    objects.pin(place.common, f"kept/{identifier}", was)
    session.close()
    return path, identifier
