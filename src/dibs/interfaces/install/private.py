"""A trial of one person in a team's repository (`dibs init --local`): nothing to commit, and `git status` stays clean.

It writes no file that git tracks. What it does write is listed in `.git/info/exclude`, which no commit has; by our
lines there a trial is known. Git's hooks are put in only where they lie below git's directory.
"""

from __future__ import annotations

import os

from dibs.errors import Invalid
from dibs.git import queries as git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.workspace.location import Place

BEGIN = "# dibs:begin (made by `dibs init --local`; `dibs init --uninstall` takes it out)"
END = "# dibs:end"
FOLDER = "/.dibs/"


def exclude_file(place: Place) -> str:
    """Git's own list of what it does not list; all working trees share it."""
    return os.path.join(place.common, "info", "exclude")


def is_here(place: Place) -> bool:
    """Is this workspace a trial?"""
    return bool(place.common) and BEGIN in _text(exclude_file(place))


def refuse(place: Place, base: str) -> None:
    """Raise where a trial cannot be made: without git, and where the whole team has dibs."""
    if not place.common:
        message = f"{place.root} is not in a git repository, so there is nothing to keep out of commits: `dibs init`"
        raise Invalid(message, path=place.root)
    if not is_here(place) and any(os.path.lexists(f"{base}/.dibs/{name}") for name in ("hook", "config.toml")):
        message = (
            f"{base} has dibs for the whole team: .dibs/ is not excluded from git. `dibs init` brings it up to date; "
            "for a trial of your own, `dibs init --uninstall` comes first. Nothing was changed."
        )
        raise Invalid(message, path=base)


def tracked(tree: str, names: Iterable[str]) -> set[str]:
    """Those of these files that git tracks in a working tree."""
    done = git.ask(tree, "ls-files", "-z", "--", *[f":(literal){name}" for name in names])
    return set(os.fsdecode(done.out).split("\0")) - {""}


def merged(text: str | None, names: Iterable[str]) -> str:
    """The list with our lines at its end: those that are there, and these."""
    before, known, after = _parts(text or "")
    wanted = dict.fromkeys([FOLDER, *known, *[f"/{name}" for name in names]])
    if before and not before.endswith("\n"):
        before += "\n"
    return before + "\n".join([BEGIN, *wanted, END, after])


def cleaned(text: str) -> str | None:
    """The list without our lines; None if nothing is left."""
    before, _, after = _parts(text)
    return before + after or None


def _parts(text: str) -> tuple[str, list[str], str]:
    """What is before our lines, our lines, and what is after them."""
    before, found, rest = text.partition(f"{BEGIN}\n")
    if not found:
        return text, [], ""
    ours, _, after = rest.partition(f"{END}\n")
    return before, ours.split("\n")[:-1], after


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""
