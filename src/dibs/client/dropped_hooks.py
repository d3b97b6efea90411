"""Git hooks that `dibs init` has put in place and another tool has written anew since (`pre-commit install -f`).

Then commits of this clone are not checked, and no hook is left to say so: `dibs status` and an agent's start do.
"""

from __future__ import annotations

import os

from dibs import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.workspace.location import Place

RECORD = "installed.json"  # of `dibs init`: the files that it wrote
CALLS = b"dibs/hook"  # in each hook that calls dibs
LEGACY = ".legacy"  # where the pre-commit framework moves a hook that it calls


def told(place: Place) -> list[str]:
    """One line, if there are any."""
    names = _dropped(place)
    if not names:
        return []
    verb, them = ("does", "it") if len(names) == 1 else ("do", "them")
    text = (
        f"git's {', '.join(names)} {verb} not call dibs any more (another tool wrote {them} anew): commits and "
        f"pushes of this clone are not checked. `dibs init` puts {them} back."
    )
    return [text]


def _dropped(place: Place) -> list[str]:
    try:
        with open(f"{place.local}/{RECORD}", encoding="utf-8", errors="surrogateescape") as file:
            files = jsontext.decode(file.read())["files"]
        paths = [path for path in files if os.path.basename(os.path.dirname(path)) in {"hooks", ".husky"}]
    except (OSError, ValueError, KeyError, TypeError):
        return []  # this clone got its hooks otherwise, or none
    return [os.path.basename(path) for path in paths if not _calls(os.path.join(place.root, path))]


def _calls(path: str) -> bool:
    """Does it call dibs, or the one next to it, which the framework calls? A branch may have no hook of husky's."""
    there = False
    for one in (path, path + LEGACY):
        try:
            with open(one, "rb") as file:
                there = True
                if CALLS in file.read():
                    return True
        except OSError:
            pass
    return not there and os.path.basename(os.path.dirname(path)) != "hooks"
