"""The files of a home-made `.agent` folder: `registry/STATE/TASK`, and the four scripts in `tools/`.

Which file lies where, what a claimed one says (`AGENT:SECONDS`, or only `AGENT` in the old format), how it is moved,
and how the scripts are exchanged and put back. Who holds a task is not decided here: scripts.py asks the live record,
and these files follow it, for people's eyes and other tools.
"""

from __future__ import annotations

import os
import zlib

from dibs import jsontext
from dibs.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SCOPED, CLAIMED, COMPLETE = "scoped", "claimed", "complete"
SCRIPTS = ("claim_task", "release_task", "check_stale", "boot")
KEPT = ".before-dibs"  # behind the name of a script that was replaced
TEXT_MAX = 32 * 1024  # bytes of a task's file that go into its payload
JSON_MAX = 60 * 1024  # letters of these as JSON, where other alphabets take six for each; a payload has 64 KB
MARK_MAX = 4096  # bytes: a claimed file holds one line
TITLE_MAX = 200  # letters
PLAIN = "._-:@#="  # signs that an id of a task may have
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
echo "ERROR: dibs was not found on this machine: uv tool install FOLDER (a clone of dibs), then: dibs init"
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
        # Where its file was when it last agreed with the record; each working tree has a registry of its own.
        self._last = os.path.join(memory, f"places-{zlib.crc32(self.folder.encode(errors='surrogateescape')):08x}")

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

    def states(self) -> list[str]:
        """The folders of states that there are."""
        try:
            return sorted(entry.name for entry in os.scandir(self.folder) if entry.is_dir() and entry.name[0] != ".")
        except OSError:
            return []

    def counts(self) -> dict[str, int]:
        """How many tasks are in each of the other states."""
        return {state: len(self.tasks(state)) for state in self.states() if state not in {SCOPED, CLAIMED}}

    def places(self) -> dict[str, list[str]]:
        """Every task of the registry, and the states in which a file of it lies."""
        found: dict[str, list[str]] = {}
        for state in self.states():
            for task in self.tasks(state):
                found.setdefault(task, []).append(state)
        return found

    def state(self, task: str) -> str:
        """The state by its file, claimed before all others; "" where there is none, or the name is no file's."""
        if not is_task(task):
            return ""
        states = [CLAIMED, *[state for state in self.states() if state != CLAIMED]]
        return next((state for state in states if os.path.isfile(self.path(state, task))), "")

    def text(self, task: str, state: str) -> str:
        """What a task's file says is to be done; of a claimed one, what it said before."""
        path = os.path.join(self._texts, task) if state == CLAIMED else self.path(state, task)
        try:
            with open(path, "rb") as file:
                text = file.read(TEXT_MAX).decode(errors="replace")
        except OSError:
            return ""
        while len(jsontext.encode(text)) > JSON_MAX:
            text = text[: len(text) * 3 // 4]
        return text

    def last(self) -> dict[str, str]:
        """Where each task's file was when it last agreed with the record."""
        try:
            with open(self._last, encoding="utf-8") as file:
                found = jsontext.decode(file.read())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def agree(self, places: dict[str, str]) -> None:
        """These files agree with the record now."""
        before = self.last()
        if {**before, **places} != before:
            _write(self._last, jsontext.encode({**before, **places}).encode())

    def mark(self, task: str) -> Mark | None:
        """What the claimed file says; None if there is none."""
        return _read_mark(self.path(CLAIMED, task))

    def mark_at_work(self, task: str) -> Mark | None:
        """What a file in `executing` says, if that is an agent and a time; None for any other text."""
        found = _read_mark(self.path("executing", task))
        fine = found is not None and is_stamp(found.text.rpartition(":")[2]) and len(found.text.split()) == 1
        return found if fine else None

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

    def mirror(self, task: str, agent: str, now: int, *, make: bool = False) -> bool:
        """Show the task as claimed by this agent. False if its file is nowhere: somebody's own `mv` took it away.

        `make`: there never was one; then it is made.
        """
        mark = Mark(f"{agent}:{now // 1000}", now)
        self.remember(task, mark)
        claimed, state = self.path(CLAIMED, task), self.state(task)
        if state not in {"", CLAIMED}:
            before = self.path(state, task)
            self._keep_text(task, before)
            os.makedirs(os.path.dirname(claimed), exist_ok=True)
            try:
                os.rename(before, claimed)
            except FileNotFoundError:
                return False
        elif not state and not make:
            return False
        _write(claimed, f"{mark.text}\n".encode())
        return True

    def back(self, task: str, state: str = SCOPED, text: str = "") -> None:
        """Move a task's file to another state, with what it said before it was claimed; `text` if nobody knows that."""
        now, target, kept = self.state(task), self.path(state, task), os.path.join(self._texts, task)
        if now == state:
            return
        os.makedirs(os.path.dirname(target), exist_ok=True)
        source = self.path(now, task)
        if now not in {"", CLAIMED}:
            os.rename(source, target)
        elif os.path.isfile(kept):
            with open(kept, "rb") as file:
                _write(target, file.read())
            os.unlink(kept)
            if now:
                os.unlink(source)
        elif os.path.isfile(target):  # a move that a crash left half done
            os.unlink(source)
        elif not now or text:
            _write(target, text.encode())
            if now:
                os.unlink(source)
        else:
            os.rename(source, target)

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


def task_id(name: str) -> str:
    """A file's name as the id of a task: signs that an id cannot have are spelt with a + and their number."""
    return "".join([letter if letter.isalnum() or letter in PLAIN else f"+{ord(letter):x}." for letter in name])


def title_of(name: str, text: str) -> str:
    """What a task is called: the first line of its file that says something, else the file's name."""
    for line in [*text.splitlines(), name]:
        said = "".join([letter if letter.isprintable() else " " for letter in line]).strip("#*-= \t")
        if said:
            return said[:TITLE_MAX]
    return task_id(name)


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
