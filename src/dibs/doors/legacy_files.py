"""The files of a home-made `.agent` folder: `registry/STATE/TASK`, and the four scripts in `tools/`.

Which file lies where, what a claimed one says (`AGENT:SECONDS`, or only `AGENT` in the old format), how it is moved,
and how the scripts are exchanged and put back. Who holds a task is not decided here: legacy.py asks the live record,
and these files follow it, for people's eyes and other tools.
"""

from __future__ import annotations

import os

from dibs import jsontext
from dibs.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SCOPED, CLAIMED, COMPLETE = "scoped", "claimed", "complete"
SCRIPTS = ("claim_task", "release_task", "check_stale", "boot")
KEPT = ".before-dibs"  # behind the name of a script that was replaced
MARK_MAX = 4096  # bytes: a claimed file holds one line
STAMP_DIGITS = 9  # a number of fewer digits behind the last colon is part of the agent's id, not a time since 2001

MADE_BY = "# Made by `dibs import`"
SCRIPT = """\
#!/bin/sh
{made}: {name}.sh, decided by dibs. `dibs import --uninstall` puts back what was here before.
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd -P) || exit 1
top=$here
while [ ! -e "$top/.dibs" ] && [ ! -e "$top/.git" ] && [ "$top" != / ]; do top=$(dirname -- "$top"); done
run=$top/.dibs/local/run
if [ ! -f "$run" ] && [ -f "$top/.git" ]; then # a linked worktree: the main one has what belongs to this machine
    read -r _ git <"$top/.git"
    case $git in /*) ;; *) git=$top/$git ;; esac
    run=${{git%/.git/worktrees/*}}/.dibs/local/run
fi
unset python
if [ -f "$run" ]; then . "$run"; fi
if [ -n "${{python-}}" ] && [ -x "$python" ]; then
    exec "$python" -P -X utf8 -m dibs import --script {name} "$0" "$here/.." "$@"
fi
if command -v dibs >/dev/null; then
    exec dibs import --script {name} "$0" "$here/.." "$@"
fi
echo "ERROR: dibs was not found on this machine: pip install dibs, then: dibs init"
exit 1
"""


class Mark:
    """What a claimed file says: whose it is, and since when."""

    __slots__ = ("agent", "at", "text")

    def __init__(self, text: str, changed: int) -> None:
        """Read the first line; `changed` is the file's own time, for the old format without one."""
        self.text = text.strip().partition("\n")[0].strip()
        agent, colon, stamp = self.text.rpartition(":")
        self.agent, self.at = self.text, changed  # milliseconds since 1970
        if colon and not stamp:
            self.agent = agent
        elif colon and is_stamp(stamp):
            self.agent, self.at = agent, int(stamp) * 1000


class Registry:
    """One `.agent` folder. `memory` is a folder of this machine's own, for what the files cannot say."""

    def __init__(self, agent: str, memory: str) -> None:
        self.agent = agent
        self.folder = os.path.join(agent, "registry")
        self.tools = os.path.join(agent, "tools")
        self._marks = os.path.join(memory, "marks")  # the last that dibs wrote or took over, by task
        self._texts = os.path.join(memory, "texts")  # what a task's file said before it was claimed

    def path(self, state: str, task: str) -> str:
        """Where a task's file lies in a state."""
        return os.path.join(self.folder, state, task)

    def tasks(self, state: str) -> list[str]:
        """The tasks in one state. Hidden files and folders are none."""
        try:
            names = sorted(os.listdir(os.path.join(self.folder, state)))
        except OSError:
            return []
        return [name for name in names if not name.startswith(".") and os.path.isfile(self.path(state, name))]

    def counts(self) -> dict[str, int]:
        """How many tasks are in each of the other states."""
        states = sorted(entry.name for entry in os.scandir(self.folder) if entry.is_dir())
        return {state: len(self.tasks(state)) for state in states if state not in {SCOPED, CLAIMED}}

    def state(self, task: str) -> str:
        """Is it scoped or claimed, by its file? "" for neither, and for a name that is no file's."""
        if not is_task(task):
            return ""
        return next((state for state in (CLAIMED, SCOPED) if os.path.isfile(self.path(state, task))), "")

    def mark(self, task: str) -> Mark | None:
        """What the claimed file says; None if there is none."""
        return _read_mark(self.path(CLAIMED, task))

    def known(self, task: str, mark: Mark) -> bool:
        """Is this what dibs wrote or took over itself, or older? Then the live record alone says whether it holds."""
        try:
            with open(os.path.join(self._marks, task), encoding="utf-8") as file:
                text, at = jsontext.decode(file.read())
        except (OSError, ValueError, TypeError):
            return False
        return bool(text == mark.text or mark.at <= at)

    def remember(self, task: str, mark: Mark) -> None:
        """From now on this mark is known."""
        _write(os.path.join(self._marks, task), jsontext.encode([mark.text, mark.at]).encode())

    def mirror(self, task: str, agent: str, now: int) -> bool:
        """Show the task as claimed by this agent. False if somebody's own `mv` took the file away from scoped."""
        mark = Mark(f"{agent}:{now // 1000}", now)
        self.remember(task, mark)
        scoped, claimed = self.path(SCOPED, task), self.path(CLAIMED, task)
        there = os.path.isfile(claimed)
        if os.path.isfile(scoped):
            self._keep_text(task, scoped)
            os.makedirs(os.path.dirname(claimed), exist_ok=True)
            try:
                os.rename(scoped, claimed)
            except FileNotFoundError:
                return False
        elif not there:
            return False
        _write(claimed, f"{mark.text}\n".encode())
        return True

    def back(self, task: str, state: str = SCOPED) -> None:
        """Move a claimed task on to another state, with the text that it had before."""
        claimed, target, text = self.path(CLAIMED, task), self.path(state, task), os.path.join(self._texts, task)
        if not os.path.isfile(claimed):
            return
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.isfile(text):
            with open(text, "rb") as file:
                _write(target, file.read())
            os.unlink(text)
            os.unlink(claimed)
        elif os.path.isfile(target):  # a move that a crash left half done
            os.unlink(claimed)
        else:
            os.rename(claimed, target)

    def _keep_text(self, task: str, path: str) -> None:
        with open(path, "rb") as file:
            text = file.read()
        if not is_stamp(text.strip().rpartition(b":")[2].decode(errors="replace")):  # else put back by a script of old
            _write(os.path.join(self._texts, task), text)


# --- the scripts


def plan(registry: Registry) -> list[str]:
    """The scripts that are not dibs's own yet, or of another version. Raises Invalid where something is in the way."""
    todo = []
    for name in SCRIPTS:
        path = os.path.join(registry.tools, f"{name}.sh")
        if _content(path) == script(name):
            continue
        both = os.path.lexists(path) and os.path.lexists(path + KEPT)
        if both and not is_ours(path) and _content(path) != _content(path + KEPT):
            message = f"{path} and {path}{KEPT} are two different scripts; remove the one that is not wanted"
            raise Invalid(message, path=path)
        todo.append(name)
    return todo


def install(registry: Registry, names: list[str]) -> None:
    """Put dibs's scripts in place. What was there is kept beside, and never missing for a moment."""
    os.makedirs(registry.tools, exist_ok=True)
    for name in names:
        path = os.path.join(registry.tools, f"{name}.sh")
        mode = 0o755
        if os.path.lexists(path):
            mode |= os.lstat(path).st_mode & 0o777
            if not is_ours(path) and not os.path.lexists(path + KEPT):
                os.link(path, path + KEPT, follow_symlinks=False)
        _write(path, script(name).encode(), mode)


def uninstall(registry: Registry, *, dry: bool = False) -> Iterator[tuple[str, bool]]:
    """Take dibs's scripts out: each path, and whether an earlier script was put back there."""
    for name in SCRIPTS:
        path = os.path.join(registry.tools, f"{name}.sh")
        kept = os.path.lexists(path + KEPT)
        if not is_ours(path) and (os.path.lexists(path) or not kept):
            continue
        if not dry and kept:
            os.replace(path + KEPT, path)
        elif not dry:
            os.unlink(path)
        yield path, kept
    if not dry and os.path.isdir(registry.tools) and not os.listdir(registry.tools):
        os.rmdir(registry.tools)


def script(name: str) -> str:
    """The text of one script."""
    return SCRIPT.format(made=MADE_BY, name=name)


def is_ours(path: str) -> bool:
    """Was this script made by dibs?"""
    return _content(path).partition("\n")[2].startswith(MADE_BY)


# --- small things


def is_task(name: str) -> bool:
    """Can this be a task's file in the registry, and nothing outside it?"""
    return bool(name) and not name.startswith(".") and "/" not in name and "\0" not in name


def is_stamp(text: str) -> bool:
    """Is this a time in seconds since 1970?"""
    return text.isascii() and text.isdigit() and len(text) >= STAMP_DIGITS


def _read_mark(path: str) -> Mark | None:
    try:
        with open(path, "rb") as file:
            text = file.read(MARK_MAX).decode(errors="replace")
            return Mark(text, os.fstat(file.fileno()).st_mtime_ns // 1_000_000)
    except OSError:
        return None


def _content(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().decode(errors="surrogateescape")
    except OSError:
        return ""


def _write(path: str, content: bytes, mode: int = 0o644) -> None:
    """The whole file or nothing of it."""
    folder, name = os.path.split(path)
    os.makedirs(folder, exist_ok=True)
    making = os.path.join(folder, f".{name}.{os.getpid()}")
    try:
        with open(making, "wb") as file:
            file.write(content)
        os.chmod(making, mode)
        os.replace(making, path)
    except BaseException:
        try:
            os.unlink(making)
        except OSError:
            pass
        raise
