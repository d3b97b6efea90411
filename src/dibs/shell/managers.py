"""Package managers: the manifest and the lock file that they rewrite, though no word names them.

They lie in the directory, in the folder that an option names, or in the nearest folder above; a package of a workspace
(npm's, cargo's) has its lock file in the workspace's root. A file that is there is a doubt: the command is refused if
another agent holds it or has unfinished work in it, and holds it while it runs. What else they write (packages, caches)
is ignored by git, or left to the audit.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.shell.call import ProgramCall
    from dibs.shell.options import Fields
    from dibs.shell.rows import Manifest
    from dibs.shell.unknown import Field

MAX_FOLDERS = 12  # looked at for a manifest, from the directory upward
MAX_MANIFEST_LETTERS = 200_000  # searched for a workspace

# With one of these, neither is written.
_LOOKS = frozenset((
    "--check", "--diff", "--dry-run", "--frozen", "--frozen-lockfile", "--global", "--help", "--immutable", "--locked",
    "--no-save", "--print", "-diff", "-g", "-h", "-json", "-print",
))  # fmt: skip
# With one of these, no lock file is written.
_NO_LOCKS = frozenset((
    "--lockfile=false", "--no-lockfile", "--no-package-lock", "--package-lock=false", "--pure-lockfile",
))  # fmt: skip


def note_manifest(call: ProgramCall) -> None:
    """Note the manifest and the locks that this command may rewrite."""
    row = call.program["manages"]
    folder, words = directory(call)
    project, words = _named(row.get("project", ""), folder, words)
    operands = [word for word in words if isinstance(word, str) and not word.startswith("-")]
    if project is None or not _LOOKS.isdisjoint(words):
        return
    if operands[:1] == ["init"] and operands[1:]:
        return  # in a new folder
    both = not {*operands[:1], "+".join(operands[:2])}.isdisjoint(row.get("always", "").split())
    installs = operands[0] in row["verbs"].split() if operands else "bare" in row
    if not both and not installs:
        return
    name = row["manifest"]
    if project != folder:
        home = os.path.dirname(project) if os.path.basename(project) == name else project
    else:
        above = _folders(project) if "climbs" in row else []
        home = next((at for at in above if os.path.isfile(f"{at}/{name}")), project)
    locks = [] if not _NO_LOCKS.isdisjoint(words) else _locks(row, home)
    for path in [*locks, *([f"{home}/{name}"] if both or len(operands) > 1 else [])]:
        if os.path.isfile(path):
            call.reading.may_write(call.text, path)


def directory(call: ProgramCall) -> tuple[str | None, Fields]:
    """The directory in which a package manager works, and its words without the options that say so."""
    return _named(call.program["manages"].get("folder", ""), call.cwd, call.words[1:])


def _named(options: str, folder: str | None, words: Fields) -> tuple[str | None, Fields]:
    """The path that one of these options names, from a folder on, and the other words."""
    rest: Fields = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        name, equals, value = word.partition("=") if isinstance(word, str) else ("", "", "")
        if name not in options.split():
            rest.append(word)
            continue
        to: Field = value if equals else words[at] if at < len(words) else ""
        at += not equals
        known = isinstance(to, str) and (folder is not None or to.startswith("/"))
        folder = os.path.normpath(os.path.join(folder or "/", to)) if known and isinstance(to, str) else None
    return folder, rest


def _folders(folder: str) -> list[str]:
    """A folder and those above it, up to the top of its working tree."""
    folders = [folder]
    while not os.path.lexists(f"{folder}/.git") and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
        folders.append(folder)
    return folders[:MAX_FOLDERS]


def _locks(row: Manifest, home: str) -> list[str]:
    """The lock files next to the manifest; those of the workspace that it belongs to, if it has none of its own."""
    for folder in _folders(home) if "climbs" in row else [home]:
        paths = [f"{folder}/{name}" for name in row["locks"].split()]
        if any(map(os.path.isfile, paths)) and (folder == home or _is_workspace(folder, row["manifest"])):
            return paths
    return []


def _is_workspace(folder: str, manifest: str) -> bool:
    """Does a folder have the lock files of packages below it, as its manifest or pnpm's says?"""
    if os.path.isfile(f"{folder}/pnpm-workspace.yaml"):
        return True
    try:
        with open(f"{folder}/{manifest}", encoding="utf-8", errors="replace") as file:
            return "workspace" in file.read(MAX_MANIFEST_LETTERS)
    except OSError:
        return False
