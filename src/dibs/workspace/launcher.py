"""What belongs to the launcher `.dibs/hook` on this machine: `.dibs/local/run`, and copies below git's own directory.

The launcher is committed and names no machine. `.dibs/local/run` has this machine's interpreter and file; `dibs init`
writes it, and so does the first call in a fresh clone. Copies of the launcher and of `run` are kept below git's own
directory: `git clean -x`, a branch from before dibs and a sparse checkout remove the others. This file puts them in
place, and says by which name models call dibs. The launcher's text is in hook_script.py. The first hook of a clone
imports this, so it imports next to nothing.
"""

from __future__ import annotations

import os
import sys

from dibs.machine import caller, clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.workspace.location import Place

IGNORE = "*\n"
_HERE = os.path.dirname(os.path.abspath(__file__))
# For machines where `dibs` is not on the PATH (a virtual environment): models are told to run this instead.
COMMAND = r"""#!/bin/sh
# dibs: the command, wherever dibs is installed on this machine. Made by `dibs init`. Commit it: it names no machine.
exec "${0%/*}/hook" cli "$@"
"""
# How a server's script ends (hook_port/bash_script.py): allowed, it failed, refused. No shell gives these itself.
ALLOWED, FAILED, REFUSED = 100, 101, 102
OWN = ("/dibs/guards/", "/dibs/doors/hooks/")  # in the path of every file that a dibs has let answer hooks


def entry_path() -> str:
    """The file that answers a hook."""
    return os.path.join(os.path.dirname(_HERE), "guards", "start", "entry.py")


def hook_text() -> str:
    """The launcher, with the dialects of all clients."""
    from dibs.workspace import hook_script

    return hook_script.text()


def run_text() -> str:
    """What `.dibs/local/run` says on this machine: the interpreter as it was called, which may be a link in a venv."""
    return (
        "# made by dibs: what .dibs/hook starts on this machine\n"
        f"python={quoted(_interpreter())}\n"
        f"entry={quoted(entry_path())}\n"
    )


def _interpreter() -> str:
    return os.path.abspath(sys.executable) if sys.executable else ""


def is_current(local: str) -> bool:
    """Does `.dibs/local/run` name the interpreter and the file of this dibs?"""
    return _read(f"{local}/run") == run_text()


def read_run(local: str) -> tuple[str, str] | None:
    """The interpreter and the file in `.dibs/local/run`; None if there is no such file."""
    import shlex

    try:
        with open(f"{local}/run", encoding="utf-8", errors="surrogateescape") as file:
            words = shlex.split(file.read(), comments=True)
    except (OSError, ValueError):
        return None
    named = dict(word.split("=", 1) for word in words if "=" in word)
    return named.get("python", ""), named.get("entry", "")


def put(place: Place) -> None:
    """Write `run`, and the copies below git's directory, as far as possible: see `write`."""
    write(f"{place.local}/.gitignore", IGNORE)  # on a branch without .dibs/.gitignore, git would list it as new files
    write(f"{place.local}/run", run_text())
    keep(place)


def mend(place: Place) -> str:
    """Write `run` anew if it starts nothing any more, or this interpreter with a dibs that it had before.

    So an upgrade that moves files needs no `dibs init`. A run file that starts another dibs (in another environment)
    is a person's choice and stays. Returns what the old one named, "" if it stays.
    """
    named = read_run(place.local)
    if named is None or named == (_interpreter(), entry_path()):
        return ""
    python, entry = named
    gone = [path for path, wanted in ((python, os.X_OK), (entry, os.R_OK)) if not os.access(path, wanted)]
    if not gone and (python != _interpreter() or not any(folder in entry for folder in OWN)):
        return ""
    if why_temporary(_interpreter()) == "cache":  # would be gone as well in a while, as `dibs init` says
        return ""
    put(place)
    return (gone or [entry])[0] if is_current(place.local) else ""


def keep(place: Place) -> None:
    """Write the copies below git's directory: the launcher, the command, and `run` as it is here."""
    if place.shared == place.local:
        return
    try:
        os.makedirs(place.shared, 0o700, exist_ok=True)
    except OSError:
        return  # a client's sandbox may forbid it
    write(f"{place.shared}/hook", hook_text(), 0o700)
    write(f"{place.shared}/run", _read(f"{place.local}/run") or run_text())
    write(f"{place.shared}/dibs", COMMAND, 0o700)  # the last one: it marks the copies as complete


def is_put(place: Place) -> bool:
    """Is everything there that `put` writes, and as this dibs writes it?"""
    wanted = [(f"{place.local}/.gitignore", IGNORE), (f"{place.local}/run", run_text())]
    if place.shared != place.local:
        wanted += [(f"{place.shared}/run", run_text()), (f"{place.shared}/hook", hook_text())]
        wanted += [(f"{place.shared}/dibs", COMMAND)]
    return all(_read(path) == text for path, text in wanted)


def write(path: str, text: str, mode: int = 0o600) -> None:
    """Write one of them in one step. Never raises: if it cannot be written, the next call uses the PATH again."""
    making = clock.temporary(path)
    try:
        with open(making, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        os.chmod(making, mode)
        os.replace(making, path)
    except OSError:
        pass


def command_name(place: Place, cwd: str = "") -> str:
    """The name by which a model calls dibs here: `dibs` if that is on the PATH, else the command in the working tree.

    `cwd` is the directory of the agent's shell; below the top of its working tree the path is written out.
    """
    for folder in caller.environ().get("PATH", "").split(":"):
        if folder and os.path.isfile(f"{folder}/dibs") and os.access(f"{folder}/dibs", os.X_OK):
            return "dibs"
    for home, short in ((f"{place.top}/.dibs", ".dibs/dibs"), (f"{place.root}/.dibs", ""), (place.shared, "")):
        if os.path.exists(f"{home}/dibs"):
            if short and cwd in {"", place.top}:
                return short
            path = f"{home}/dibs"
            return path if path.replace("/", "").replace("-", "").replace(".", "").isalnum() else quoted(path)
    return "dibs"


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return None


def quoted(text: str) -> str:
    """A word for sh."""
    return "'" + text.replace("'", "'\\''") + "'"


# Cache folders that runners may delete at any time: `uvx`, `uv run --with`, `pipx run`.
CACHE_FOLDERS = ("archive-v", "environments-v", "builds-v")


def why_temporary(python: str) -> str:
    """Why an interpreter may soon be gone: "cache", "temporary", or "" for a permanent one."""
    parts = python.split("/")
    if any(part.startswith(CACHE_FOLDERS) and part[-1:].isdigit() for part in parts) or ".cache" in parts:
        return "cache"
    import tempfile

    folders = {os.path.realpath(folder) for folder in (tempfile.gettempdir(), "/tmp", "/var/tmp")}  # noqa: S108 - compared
    real = os.path.join(os.path.realpath(os.path.dirname(python)), os.path.basename(python))
    return "temporary" if any(real.startswith(f"{folder}/") for folder in folders) else ""
