"""The end of a workspace: `.dibs/` is deleted, with the database, the record and the copies below git's directory.

Refused while agents hold claims, unless it is confirmed: they would continue without knowing that nothing guards them
any more.
"""

from __future__ import annotations

import os
import shutil

from dibs.errors import DibsError, Held, Unavailable, named
from dibs.interfaces.install import githooks
from dibs.stores.engines import started_server
from dibs.workspace import location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.claims.answers import BlockerView, ClaimView
    from dibs.workspace.location import Place

REFS = "refs/dibs/"  # contents that were kept for `dibs restore`


def names(place: Place) -> list[str]:
    """What will be deleted, for people."""
    found = [".dibs/"] if _homes(place) or _kept(place) else []
    if _refs(place):
        found.append(REFS)
    return found


def allow(place: Place, caller: str | None, *, yes: bool) -> None:
    """Raise unless no other agent holds anything, or it is confirmed."""
    if yes or not os.path.isdir(place.local):
        return
    blockers = _held(place, caller)
    if not blockers:
        return
    said = "; ".join(f"{named(one)} holds {', '.join(one['resources'])}" for one in blockers[:5])
    loss = "That claim would be lost" if len(blockers) == 1 else "These claims would be lost"
    said = f"{said}. {loss}, and the log is deleted too."
    message = f"{said} Nothing was changed; --yes does it anyway."
    if not os.isatty(0):
        raise Held(message, blockers=_shown(blockers))
    import sys

    sys.stderr.write(f"{said} Continue? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise Held(message, blockers=_shown(blockers))


def _shown(claims: list[ClaimView]) -> list[BlockerView]:
    """The claims in the way, as every refusal shows them: one entry for each resource."""
    blockers: list[BlockerView] = []
    for claim in claims:
        for resource in claim["resources"]:
            blocker: BlockerView = {
                "resource": resource, "until": claim["expires_at"], "agent": claim["agent"], "mode": claim["mode"],
                "since": claim["since"], "left": claim["left"], "reason": claim["reason"],
            }  # fmt: skip
            if "name" in claim:
                blocker["name"] = claim["name"]
            blockers.append(blocker)
    return blockers


def _held(place: Place, caller: str | None) -> list[ClaimView]:
    from dibs.client.session import Session

    try:
        session = Session(place.top, place.root, timeout=3.0, short_lived=True)
        call = session.identify(caller)
        own = session.run(session.operation("whoami"), call, {})["agent"]
        status = session.run(session.operation("status"), call, {})
        session.close()
    except DibsError as error:
        message = f"cannot check who holds claims ({error.message}) Nothing was changed; --yes does it anyway."
        raise Unavailable(message, path=place.local) from None
    return [claim for claim in status["claims"] if claim["agent"] != own]


def everything(place: Place) -> None:
    """Delete it."""
    for ref in _refs(place):
        githooks.ask(place, "update-ref", "-d", ref)
    server = started_server(place.local)
    if server is not None:
        server.stop(place.local)  # its files are about to go
    for home in [*_homes(place), *_kept(place)]:
        (os.unlink if os.path.islink(home) else shutil.rmtree)(home)


def _homes(place: Place) -> list[str]:
    homes = {os.path.join(place.root, ".dibs")}
    if place.root == place.common:  # a bare repository: its worktree has the files to commit
        homes.add(os.path.join(place.top, ".dibs"))
    return sorted(home for home in homes if os.path.isdir(home))


def _kept(place: Place) -> list[str]:
    """The folders below git's directories: the common one, and each working tree's."""
    if not place.common:
        return []
    trees = os.path.join(place.common, "worktrees")
    own = [os.path.join(trees, name) for name in (os.listdir(trees) if os.path.isdir(trees) else ())]
    folders = [os.path.join(folder, location.DIBS_FOLDER) for folder in (place.common, *own)]
    return [folder for folder in folders if os.path.isdir(folder)]


def _refs(place: Place) -> list[str]:
    return githooks.ask(place, "for-each-ref", "--format=%(refname)", REFS).split() if place.common else []
