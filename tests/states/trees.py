"""What the tests of states share: a repository with a linked working tree, and pictures of what is in a folder."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from dibs.ledger import working_tree
from dibs.states import anchor, store
from dibs.workspace import location

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from dibs.states.store import StateRecord
    from dibs.workspace.location import Place

Picture = dict[str, tuple[str, bytes]]  # path → kind, content


def git(cwd: Path, *words: str, check: bool = True) -> str:
    """Run git."""
    done = subprocess.run(["git", "-C", str(cwd), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0 or not check, done.stderr
    return done.stdout.strip()


class Trees:
    """A repository that is a workspace, as far as states go, and its working tree `topic`."""

    def __init__(self, folder: Path) -> None:
        self.main = folder / "repo"
        self.main.mkdir()
        git(self.main, "init", "-q", "-b", "main", ".")
        git(self.main, "config", "user.name", "somebody")
        git(self.main, "config", "user.email", "somebody@example.com")
        for name in ("a.txt", "b.txt", "sub/c.txt", "sub/d.txt"):
            self.put(self.main, name, f"{name} at first\n".encode())
        self.put(self.main, ".gitignore", b"*.log\nbuild/\n")
        git(self.main, "add", "-A")
        git(self.main, "commit", "-qm", "first")
        (self.main / ".dibs").mkdir()
        (self.main / ".git" / "info" / "exclude").write_text(".dibs/\n")
        self.topic = folder / "topic"
        git(self.main, "worktree", "add", "-q", "-b", "topic", str(self.topic))

    @staticmethod
    def put(top: Path, name: str, content: bytes) -> None:
        """Make a file."""
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(content)

    def place(self, top: Path | None = None) -> Place:
        """The workspace from a tree, with its ledger where it outlives the tree."""
        found = location.find(str(top or self.topic), None)
        working_tree.of(found)
        return found

    def folder(self, top: Path | None = None) -> str:
        """The ledger of a tree."""
        return os.path.realpath(self.place(top).private)

    def take(self, top: Path | None = None) -> StateRecord | None:
        """Take the state of a tree."""
        return anchor.take(self.place(top))

    def records(self, top: Path | None = None) -> list[StateRecord]:
        """Its states."""
        return store.records(self.folder(top))


def picture(top: Path, left_out: Iterable[str] = ()) -> Picture:
    """All files of a folder, but git's and dibs' own and these."""
    found: Picture = {}
    for folder, folders, files in os.walk(top):
        for name in [*files, *[one for one in folders if os.path.islink(os.path.join(folder, one))]]:
            full = os.path.join(folder, name)
            path = os.path.relpath(full, top)
            if path.split("/")[0] in {".git", ".dibs"} or path in left_out:
                continue
            if os.path.islink(full):
                found[path] = ("link", os.fsencode(os.readlink(full)))
            else:
                kind = "executable" if os.stat(full).st_mode & 0o100 else "plain"
                with open(full, "rb") as file:
                    found[path] = (kind, file.read())
    return found
