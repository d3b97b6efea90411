"""The commits that changed one path, through its renames, as git's history has them. Read-only."""

from __future__ import annotations

import os

from dibs.git import queries as git

MAX_COMMITS = 50  # of one path; the log of git itself has the rest
FIELDS = "%x01%H%x00%ct%x00%an%x00%(trailers:key=Dibs-Agent,valueonly,separator=%x2C)%x00%s"
PARTS = 5  # of a commit


class FileCommit:
    """One commit of a path."""

    __slots__ = ("agent", "author", "commit", "gone", "new", "old", "path", "title", "wall")

    def __init__(self, parts: list[str]) -> None:
        self.commit, when, self.author, self.agent, self.title = parts
        self.wall = int(when) * 1000  # ms
        self.path = self.old = ""  # its name after this commit, and before it if this was a rename
        self.gone = False  # this commit deleted it
        self.new = ""  # or renamed it to this, and the story is asked for by its earlier name


def of(top: str, path: str) -> list[FileCommit]:
    """The last commits of this path, the newest first; none where there is no commit yet.

    Those of a file, or of one that is gone, go through its renames; those of a folder do not.
    """
    full = f"{top}/{path}"
    if os.path.isfile(full) or not os.path.lexists(full):
        found = _read(top, path, "--follow")
        if found and path in {found[0].path, found[0].old}:
            if found[0].gone:
                found[0].new = _renamed_to(top, found[0].commit, path)
            return found
    return _read(top, path)


def _read(top: str, path: str, *follow: str) -> list[FileCommit]:
    words = ["log", *follow, f"-n{MAX_COMMITS}", "-z", "--name-status", "-M", f"--format={FIELDS}"]
    done = git.ask(top, *words, "--", path or ".", fine=(0, 128))
    found = []
    for part in os.fsdecode(done.out).split("\x01")[1:] if done.ok else ():
        fields = part.split("\0")
        one = FileCommit([*fields[: PARTS - 1], fields[PARTS - 1].rstrip("\n")])
        names = [field.lstrip("\n") for field in fields[PARTS:]]
        if follow and len(names) > 1:
            one.path, one.gone = names[1], names[0].startswith("D")
            if names[0].startswith("R") and len(names) > 2:  # noqa: PLR2004 - the old name and the new one
                one.old, one.path = names[1], names[2]
        found.append(one)
    return found


def _renamed_to(top: str, commit: str, path: str) -> str:
    """What a commit that took a path away renamed it to; "" if it deleted it."""
    words = ("diff-tree", "--root", "--no-commit-id", "-r", "-z", "--name-status", "-M", commit)
    done = git.ask(top, *words, fine=(0, 128))
    parts = os.fsdecode(done.out).split("\0") if done.ok else []
    for place, part in enumerate(parts):
        if part.startswith("R") and parts[place + 1 : place + 2] == [path] and part[1:].isdecimal():
            return parts[place + 2]
    return ""
