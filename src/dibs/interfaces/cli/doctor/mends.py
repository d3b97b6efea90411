"""What `dibs doctor --fix` fixes: hooks and launcher as `dibs init` would write them, and the housekeeping.

Only for clients that had hooks of dibs before: which clients get guards is a person's choice. What is not dibs' own is
not touched; a fix that fails is said and ends nothing.
"""

from __future__ import annotations

import os

from dibs.audit import housekeeping
from dibs.errors import DibsError
from dibs.interfaces import agents
from dibs.interfaces.cli.doctor import guards
from dibs.interfaces.install import mcp_entries, plan, private
from dibs.workspace import launcher
from dibs.workspace.known_clients import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypedDict

    from dibs.client.session import Session
    from dibs.operations.core.call import Call

    class MendResult(TypedDict):
        """One thing that was mended, or could not be."""

        what: str
        message: str
        ok: bool

    from dibs.workspace.location import Place


def mend(session: Session, call: Call, *, dry: bool) -> Iterator[MendResult]:
    """Fix one thing after the other; each is told when it is done."""
    for mends in (_installed(session), housekeeping.mends(session, call)):
        try:
            for what, message, do in mends:
                yield _done(what, message, do, dry=dry)
        except (DibsError, OSError) as error:
            yield {"what": "look", "message": getattr(error, "message", str(error)), "ok": False}


def _done(what: str, message: str, do: Callable[[], object], *, dry: bool) -> MendResult:
    try:
        if not dry:
            do()
    except (DibsError, OSError) as error:
        return {"what": what, "message": f"{message}: {getattr(error, 'message', error)}", "ok": False}
    return {"what": what, "message": message, "ok": True}


def _installed(session: Session) -> Iterator[housekeeping.Mend]:
    """Hooks, settings and pages that are missing or of another version, and the launcher of this machine."""
    place = session.place
    base = plan.base(place)
    if os.path.exists(f"{base}/.dibs/config.toml"):
        with open(f"{base}/.dibs/config.toml", encoding="utf-8") as file:
            text = file.read()
        used = _used(place, base)
        mcp = mcp_entries.is_offered() and _has_server(base, used)
        made = plan.install(place, used, text, mcp=mcp, local=private.is_here(place))
        if made.changes:
            names = ", ".join(made.name(change.path) for change in made.changes)
            yield "hooks", f"missing, or of another version: {names}", lambda: plan.apply(made)
    named = launcher.read_run(place.local)
    gone = named is not None and not all(os.path.exists(one) for one in named)
    if named is None or gone or (launcher.is_current(place.local) and not launcher.is_put(place)):
        yield "launcher", f"{place.local}/run or its copies are missing or old", lambda: launcher.put(place)


def _used(place: Place, base: str) -> list[str]:
    """The clients that have, or had, hooks of dibs here."""
    known = plan.Plan(place).record.files
    return [name for name in NAMES if agents.of(name).settings_file in known or guards.has_hooks(name, base)]


def _has_server(base: str, used: list[str]) -> bool:
    """Does one of them have the entry of our MCP server?"""
    for name in used:
        try:
            with open(f"{base}/{agents.of(name).mcp_file}", encoding="utf-8", errors="replace") as file:
                if "dibs" in file.read():
                    return True
        except OSError:
            continue
    return False
