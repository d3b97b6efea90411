"""The look for pushes that bypassed git's hook: what git logged as pushed, and the hook never let pass.

The hook notes each push that it lets pass, before git pushes (`note`); a look compares (`look`), and remembers how much
of git's logs it has seen. It begins when dibs is set up in a clone: by `init`, or by the first command there. Only
branches whose push is a deploy (`[deploy] protected`) are looked at, and only in a clone that has the hook. Nothing is
decided here.
"""

from __future__ import annotations

import os

from dibs import jsontext
from dibs.git import pushes
from dibs.machine import atomic_write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.client.session import Session
    from dibs.operations.core.call import Call
    from dibs.workspace.location import Place

SEEN, CHECKED = "pushes", "pushes.checked"  # in .dibs/local/
MAX_CHECKED_BYTES = 64 * 1024  # then the older half goes: those pushes were looked at long ago


def begin(place: Place) -> None:
    """Begin to look in this clone: what was pushed before is nobody's concern, and everything after it is."""
    if place.common and _seen(place.local) is None:
        _remember(place.local, pushes.sizes(place.common))


def note(local: str, updates: Sequence[tuple[str, str]]) -> None:
    """The hook lets these pass: branch there, commit."""
    path = f"{local}/{CHECKED}"
    lines = "".join([f"{branch} {commit}\n" for branch, commit in updates])
    try:
        if os.path.exists(path) and os.stat(path).st_size > MAX_CHECKED_BYTES:
            with open(path, encoding="utf-8") as file:
                kept = file.read()[-MAX_CHECKED_BYTES // 2 :]
            atomic_write.replace(path, kept.partition("\n")[2])
        with open(path, "a", encoding="utf-8") as file:
            file.write(lines)
    except OSError:
        pass  # then the push is reported: better than one that nobody sees


def look(session: Session, call: Call) -> None:
    """Report what was pushed past the hook since the last look."""
    place = session.place
    if not place.common or not os.path.isdir(f"{place.common}/logs/refs/remotes"):
        return
    now, seen = pushes.sizes(place.common), _seen(place.local)
    if now == seen or not (pushes.has_guard(place.common) or os.path.exists(f"{place.local}/{CHECKED}")):
        return
    if seen is not None:
        checked = _checked(place.local)
        for name, size in now.items():
            remote, _, branch = name.partition("/")
            if size == seen.get(name, 0) or not _is_protected(session, branch):
                continue
            for commit, by in pushes.since(place.common, name, seen.get(name, 0)):
                if (branch, commit) not in checked:
                    _report(session, call, remote, branch, commit, by)
    _remember(place.local, now)


def _report(session: Session, call: Call, remote: str, branch: str, commit: str, by: str) -> None:
    from dibs.operations.guards.push_reports import PUSHED

    named = "".join([letter if letter.isprintable() else "?" for letter in by[:200]])
    session.run(PUSHED, call, {"remote": remote, "branch": branch, "commit": commit, "by": named})


def _is_protected(session: Session, branch: str) -> bool:
    from dibs.operations.guards import deploy_guard

    return bool(deploy_guard.pushed_targets(session.config.policy, branch))


def _seen(local: str) -> dict[str, int] | None:
    try:
        with open(f"{local}/{SEEN}", encoding="utf-8") as file:
            found: dict[str, int] = jsontext.decode(file.read())
    except (OSError, ValueError):
        return None
    return found


def _remember(local: str, sizes: dict[str, int]) -> None:
    try:
        atomic_write.replace(f"{local}/{SEEN}", jsontext.encode(sizes))
    except OSError:
        pass  # the next look sees it again, and its alert is counted


def _checked(local: str) -> set[tuple[str, str]]:
    try:
        with open(f"{local}/{CHECKED}", encoding="utf-8") as file:
            rows = file.read().split("\n")
    except (OSError, ValueError):
        return set()
    return {(branch, commit) for branch, _, commit in [row.rpartition(" ") for row in rows] if branch}
