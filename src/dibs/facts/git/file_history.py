"""The commits that changed one path, through its renames, as git's history has them. Read-only."""

from __future__ import annotations

import os

from dibs.facts.git import queries as git

MAX_COMMITS = 50  # of one path; the log of git itself has the rest
FIELDS = "%x01%H%x00%ct%x00%an%x00%(trailers:key=Dibs-Agent,valueonly,separator=%x2C)%x00%s"
PARTS = 5  # of a commit


class FileCommit:
    """One commit of a path."""

    __slots__ = ("agent", "author", "commit", "old", "path", "title", "wall")

    def __init__(self, parts: list[str]) -> None:
        self.commit, when, self.author, self.agent, self.title = parts
        self.wall = int(when) * 1000  # ms
        self.path = self.old = ""  # its name after this commit, and before it if this was a rename


def of(top: str, path: str) -> list[FileCommit]:
    """The last commits of this path, the newest first; none where there is no commit yet."""
    words = ["log", f"-n{MAX_COMMITS}", "-z", "--name-status", "-M", f"--format={FIELDS}"]
    if os.path.isfile(f"{top}/{path}"):
        words.insert(1, "--follow")
    done = git.ask(top, *words, "--", path or ".", fine=(0, 128))
    found = []
    for part in os.fsdecode(done.out).split("\x01")[1:] if done.ok else ():
        fields = part.split("\0")
        one = FileCommit([*fields[: PARTS - 1], fields[PARTS - 1].rstrip("\n")])
        names = [field.lstrip("\n") for field in fields[PARTS:]]
        if "--follow" in words and len(names) > 1:
            one.path = names[1]
            if names[0].startswith("R") and len(names) > 2:  # noqa: PLR2004 - the old name and the new one
                one.old, one.path = names[1], names[2]
        found.append(one)
    return found
