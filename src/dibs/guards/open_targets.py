"""Targets that the words of a command leave open, in the form for the shell guard's decision: which tree, and where.

The parsed command says how the path begins, if that is known. Paths outside of every working tree are left out; the
others become resources of that tree.
"""

from __future__ import annotations

import os

from dibs.errors import Invalid
from dibs.git.ignored import ignored_among
from dibs.machine import caller, links
from dibs.workspace.paths import of_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NotRequired, TypedDict

    from dibs.canonical import Canonical
    from dibs.client.session import Session
    from dibs.operations.claims.resources import Resource
    from dibs.operations.guards.shell_guard import OpenTarget
    from dibs.shell import Doubt

    class TargetPlace(TypedDict):
        """Where an open target is."""

        below: list[Resource] | None
        paths: NotRequired[list[str]]


FEW_PATHS = 64  # that are told as resources, with their hard links
GLOB_SIGNS = "*?[\\"  # characters with a meaning in a glob


def placed(session: Session, doubts: Iterable[Doubt]) -> list[OpenTarget]:
    """The doubts that concern a working tree; `below` has resources, or None for anywhere.

    `exact`: they are files that git does not ignore, of which the command may write any; of very many only `paths`.
    """
    found: list[OpenTarget] = []
    for doubt in doubts:
        if doubt.below is None:
            found.append({"words": doubt.words, "tree": _tree(session, doubt.cwd), "below": None, "end": doubt.end})
            continue
        trees: dict[tuple[str, bool], list[Resource]] = {}
        few = doubt.exact and len(doubt.below) <= FEW_PATHS
        for beginning in doubt.below:
            tree, resources = _file(session, beginning) if doubt.exact else _resources(session, beginning)
            if resources:
                exact = few and not ignored_among(tree, session.paths.common, [resources[0][1]])
                trees.setdefault((tree, exact), []).extend(resources)
        found += [
            {
                "words": doubt.words,
                "tree": tree,
                **_where(below, doubt),
                "end": doubt.end,
                "whole": doubt.whole,
                "exact": exact,
                "without": _without(tree, doubt.without),
            }
            for (tree, exact), below in trees.items()
        ]
    return found


def _where(below: list[Resource], doubt: Doubt) -> TargetPlace:
    """Folders and beginnings as resources; whole paths, which may be thousands, as they are."""
    paths = [one[1] for one in below if one[0] == "file"] if doubt.exact else []
    if len(paths) <= FEW_PATHS:
        return {"below": below}
    return {"below": [one for one in below if one[0] != "file"][:FEW_PATHS] or None, "paths": paths}


def _without(tree: str, left_out: list[str]) -> list[str]:
    """What a command leaves out, as claims write paths; a name that counts in any folder as `**/NAME`."""
    found = []
    for one in left_out:
        real = links.real(one) if one.startswith("/") else ""
        found += [f"**/{one}"] if not real else [real[len(tree) + 1 :]] if real.startswith(f"{tree}/") else []
    return found


def _tree(session: Session, cwd: str | None) -> str:
    """The working tree that a command is run in, or the agent's own."""
    try:
        return session.paths.located(".", cwd, literal=True)[3] if cwd else session.place.top
    except Invalid:
        return session.place.top


def _resources(session: Session, beginning: str) -> tuple[str, list[Canonical]]:
    """The working tree, and the resources that begin so; nothing for paths elsewhere."""
    folder, _, start = beginning.rpartition("/")
    real = links.real(folder or "/")
    top = session.place.top
    try:
        _, text, _, tree = session.paths.located(f"{real}/{start}" if start else real, "/", literal=True)
    except Invalid:
        above = real if real.endswith("/") else real + "/"
        # A command that writes into the folder of temporary files does not mean a workspace that happens to lie there.
        reaches = f"{top}/".startswith(above + start) and real not in _temporary()
        return top, [of_parts("tree", "")] if reaches else []
    if not start or any(mark in text for mark in GLOB_SIGNS):
        return tree, [of_parts("tree", text if not start else text.rpartition("/")[0])]
    return tree, [of_parts("glob", f"{text}*"), of_parts("glob", f"{text}*/**")]


def _file(session: Session, path: str) -> tuple[str, list[Canonical]]:
    """The working tree and the resource of a whole path; nothing for paths elsewhere."""
    try:
        kind, text, alias, tree = session.paths.located(path, "/", literal=True)
    except Invalid:
        return session.place.top, []
    return tree, [of_parts(kind, text, alias)]


def _temporary() -> set[str]:
    return {os.path.realpath(place) for place in ("/tmp", "/var/tmp", caller.environ().get("TMPDIR") or "/tmp")}  # noqa: S108
