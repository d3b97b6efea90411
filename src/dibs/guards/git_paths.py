"""A path from git, as the resource that claims use."""

from __future__ import annotations

import os

from dibs.errors import Invalid
from dibs.workspace.paths import of_parts, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.canonical import Canonical
    from dibs.client.session import Session


def resource_of(session: Session, path: str, top: str = "") -> Canonical:
    """A path from git as a resource. Git's paths are literal; a link is itself, whatever it points to."""
    top = top or session.place.top
    try:
        if not os.path.islink(os.path.join(top, path)):
            return of_parts(*session.paths.resource(path, top, literal=True))
        folder, _, name = path.rpartition("/")
        above = session.paths.resource(folder or ".", top, literal=True)[1]
    except Invalid:  # an invalid name (control characters, broken letters) cannot be claimed, but its folder can
        return of_parts("file", shown(path, fold=session.paths.fold))
    name = name.casefold() if session.paths.fold else name
    return of_parts("file", f"{above}/{name}" if above else name)
