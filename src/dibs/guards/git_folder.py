"""What a command would do to git's own directory: delete it, move it, put another one in its place, switch it off.

No claim covers `.git`, and git ignores it. But all agents' commits, stashes and branches are in it, and below `dibs`
what dibs keeps of their work. Facts only: what would go, and what no remote has; operations/guards/shared_tree.py
decides.
"""

from __future__ import annotations

import os

from dibs.machine import links

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.client.session import Session
    from dibs.git.effects import GitEffect
    from dibs.operations.guards.shared_tree import TreeEffect
    from dibs.shell import Reading
    from dibs.workspace.location import Place

# What a repository is made of; other files in git's directory are those of tools, or of an operation that is under way.
VITAL = frozenset(("HEAD", "config", "dibs", "index", "logs", "modules", "objects", "packed-refs", "refs", "worktrees"))
APPENDED = frozenset(("append", "touch"))
MAX_COUNTED = 1000  # commits that no remote has, in a refusal


def look(session: Session, reading: Reading, effects: list[GitEffect]) -> list[TreeEffect]:
    """The facts of one command; most have nothing to do with it."""
    place = session.place
    if not place.common:
        return []
    found: dict[str, str] = {}  # the words → what of the repository they concern
    for target in reading.writes:
        part = _part(place, target.path, target.how)
        if part:
            found.setdefault(target.words, part)
    for doubt in reading.unresolved:
        for way in doubt.below or ():
            part = _part(place, way, "delete") if "/.git" in way else ""
            if part and doubt.exact:
                found.setdefault(doubt.words, part)
    for effect in effects:
        if effect.kind in {"config", "init"} and effect.cwd is not None and _is_ours(place, effect):
            found.setdefault(effect.text, effect.action)
    if not found:
        return []
    unpushed = _unpushed(place.top)
    return [
        {"what": words, "tree": place.top, "repository": part, "unpushed": unpushed} for words, part in found.items()
    ]


def _part(place: Place, path: str, how: str) -> str:
    """The part of git's directory that a target is, or is in; "" if none."""
    if "/.git" not in path and how not in {"delete", "move"}:
        return ""
    full = os.path.normpath(path)
    real = os.path.join(links.real(os.path.dirname(full)), os.path.basename(full))
    if how in APPENDED or real.endswith(".lock"):
        return ""
    for folder in {place.common, place.git_dir}:
        if f"{folder}/".startswith(f"{real.rstrip('/')}/") and how != "write":
            return os.path.basename(folder)
        if real == folder:
            return ".git"
        if real.startswith(f"{folder}/"):
            part = real[len(folder) + 1 :].split("/")[0]
            if part in VITAL and (part != "config" or how != "write"):
                return f".git/{part}"
    if how in {"delete", "move"} and real.endswith("/.git") and os.path.isfile(real):  # of a linked working tree
        return ".git"
    return ""


def _is_ours(place: Place, effect: GitEffect) -> bool:
    """Does this concern the workspace's repository, rather than a new one elsewhere?"""
    from dibs.workspace import location

    where = os.path.join(effect.cwd or "", effect.paths[0]) if effect.paths else effect.cwd or ""
    top = location.tree_of(place, f"{links.real(where)}/.")
    if not top:
        return False
    if effect.kind == "config" or effect.has("separate-git-dir"):
        return links.real(where) == top or effect.kind == "config"
    return False


def _unpushed(top: str) -> str:
    """What no remote has, for a text; "" if there is nothing."""
    from dibs.errors import DibsError
    from dibs.git import queries as git

    try:
        asked = ("rev-list", "--count", f"--max-count={MAX_COUNTED}", "--branches", "--tags", "HEAD")
        commits = os.fsdecode(git.ask(top, *asked, "--not", "--remotes", fine=(0, 128)).out).strip()
        stashes = os.fsdecode(
            git.ask(top, "rev-list", "--walk-reflogs", "--count", "refs/stash", "--", fine=(0, 128)).out
        )
    except DibsError:
        return "what is in it is not known"
    parts = [f"{commits} commit{'' if commits == '1' else 's'} that no remote has"] if commits not in {"", "0"} else []
    parts += [f"{stashes.strip()} in the stash"] if stashes.strip() not in {"", "0"} else []
    return " and ".join(parts)
