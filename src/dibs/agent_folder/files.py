"""The files of a home-made `.agent` folder: `registry/STATE/TASK`, and the four scripts in `tools/`.

This module knows the place of each file, the content of a claimed one (`AGENT:SECONDS`, or only `AGENT` in the old
format), how a file is moved, and how the scripts are replaced and restored. It does not decide who holds a task:
scripts.py asks the live record, and these files follow it, for people and other tools.
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
KEPT_SUFFIX = ".before-dibs"  # after the name of a replaced script
MAX_TEXT_BYTES = 32 * 1024  # of a task's file in its payload
MAX_JSON_LETTERS = 60 * 1024  # of the same as JSON, where other alphabets take six letters each; a payload has 64 KB
MAX_MARK_BYTES = 4096  # a claimed file holds one line
MAX_TITLE_LETTERS = 200  # letters
ID_SIGNS = "._-:@#="  # allowed in a task's id
STAMP_DIGITS = 9  # a number of fewer digits after the last colon is part of the agent's id, not a time since 2001

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
    """The content of a claimed file: its agent and its time."""

    __slots__ = ("agent", "at", "text")

    def __init__(self, text: str, changed: int) -> None:
        """Read the first line; `changed` is the file's mtime, for the old format without a time."""
        self.text = text.strip().partition("\n")[0].strip()
        agent, colon, stamp = self.text.rpartition(":")
        self.agent, self.at = self.text, changed  # milliseconds since 1970
        if colon and not stamp:
            self.agent = agent
        elif colon and is_stamp(stamp):
            self.agent, self.at = agent, int(stamp) * 1000


class Registry:
    """One `.agent` folder. `memory` is a local folder for facts that the files cannot hold."""

    def __init__(self, agent: str, memory: str) -> None:
        self.agent = agent
        self.folder = os.path.join(agent, "registry")
        self.tools = os.path.join(agent, "tools")
        self._marks = os.path.join(memory, "marks")  # the last mark that dibs wrote or took over, by task
        self._texts = os.path.join(memory, "texts")  # the text of a task's file before it was claimed
        # The place of a file when it last agreed with the record; each working tree has its own registry.
        self._last = os.path.join(memory, f"places-{zlib.crc32(self.folder.encode(errors='surrogateescape')):08x}")

    def path(self, state: str, task: str) -> str:
        """The path of a task's file in a state."""
        return os.path.join(self.folder, state, task)

    def tasks(self, state: str) -> list[str]:
        """The tasks in one state, without hidden files and folders."""
        try:
            names = sorted(os.listdir(os.path.join(self.folder, state)))
        except OSError:
            return []
        return [name for name in names if not name.startswith(".") and os.path.isfile(self.path(state, name))]

    def states(self) -> list[str]:
        """The existing state folders."""
        try:
            return sorted(entry.name for entry in os.scandir(self.folder) if entry.is_dir() and entry.name[0] != ".")
        except OSError:
            return []

    def counts(self) -> dict[str, int]:
        """How many tasks are in each of the other states."""
        return {state: len(self.tasks(state)) for state in self.states() if state not in {SCOPED, CLAIMED}}

    def places(self) -> dict[str, list[str]]:
        """Every task of the registry, and the states in which it has a file."""
        found: dict[str, list[str]] = {}
        for state in self.states():
            for task in self.tasks(state):
                found.setdefault(task, []).append(state)
        return found

    def state(self, task: str) -> str:
        """The state by the task's file, claimed first; "" if there is none, or the name cannot be a file's."""
        if not is_task(task):
            return ""
        states = [CLAIMED, *[state for state in self.states() if state != CLAIMED]]
        return next((state for state in states if os.path.isfile(self.path(state, task))), "")

    def text(self, task: str, state: str) -> str:
        """The text of a task's file; for a claimed one, the text before the claim."""
        path = os.path.join(self._texts, task) if state == CLAIMED else self.path(state, task)
        try:
            with open(path, "rb") as file:
                text = file.read(MAX_TEXT_BYTES).decode(errors="replace")
        except OSError:
            return ""
        while len(jsontext.encode(text)) > MAX_JSON_LETTERS:
            text = text[: len(text) * 3 // 4]
        return text

    def last(self) -> dict[str, str]:
        """The place of each task's file when it last agreed with the record."""
        try:
            with open(self._last, encoding="utf-8") as file:
                found = jsontext.decode(file.read())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def agree(self, places: dict[str, str]) -> None:
        """Note that these files agree with the record now."""
        before = self.last()
        if {**before, **places} != before:
            _write(self._last, jsontext.encode({**before, **places}).encode())

    def mark(self, task: str) -> Mark | None:
        """The mark of the claimed file; None if there is none."""
        return _read_mark(self.path(CLAIMED, task))

    def mark_at_work(self, task: str) -> Mark | None:
        """The mark of a file in `executing`, if it has an agent and a time; None for any other text."""
        found = _read_mark(self.path("executing", task))
        fine = found is not None and is_stamp(found.text.rpartition(":")[2]) and len(found.text.split()) == 1
        return found if fine else None

    def known(self, task: str, mark: Mark) -> bool:
        """Is this mark one that dibs wrote or took over, or an older one? Then only the live record decides."""
        try:
            with open(os.path.join(self._marks, task), encoding="utf-8") as file:
                text, at = jsontext.decode(file.read())
        except (OSError, ValueError, TypeError):
            return False
        return bool(text == mark.text or mark.at <= at)

    def is_mark(self, task: str, text: str) -> bool:
        """Is this text, whatever its form, the last claim's mark and not the task's own text?"""
        try:
            with open(os.path.join(self._marks, task), encoding="utf-8") as file:
                return bool(text.strip() and text.strip() == jsontext.decode(file.read())[0])
        except (OSError, ValueError, TypeError, LookupError):
            return False

    def remember(self, task: str, mark: Mark) -> None:
        """Remember this mark as known."""
        _write(os.path.join(self._marks, task), jsontext.encode([mark.text, mark.at]).encode())

    def mirror(self, task: str, agent: str, now: int, *, make: bool = False) -> bool:
        """Show the task as claimed by this agent. False if it has no file: another `mv` took it.

        `make`: create the file if there never was one.
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
        """Move a task's file to another state, with its text from before the claim; `text` if that is unknown."""
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
        elif os.path.isfile(target):  # a half-done move after a crash
            os.unlink(source)
        elif not now or text:
            _write(target, text.encode())
            if now:
                os.unlink(source)
        else:
            mark = self.mark(task)
            if mark is not None:  # what lies there now is a claim's, not the task's text
                self.remember(task, mark)
            os.rename(source, target)

    def _keep_text(self, task: str, path: str) -> None:
        with open(path, "rb") as file:
            text = file.read()
        words = text.decode(errors="replace")
        if not is_stamp(words.strip().rpartition(":")[2]) and not self.is_mark(
            task, words
        ):  # else put back by a script
            _write(os.path.join(self._texts, task), text)


# --- the scripts


def plan(registry: Registry) -> list[str]:
    """The scripts that are not dibs's yet, or of another version. Raises Invalid if another file blocks one."""
    todo = []
    for name in SCRIPTS:
        path = os.path.join(registry.tools, f"{name}.sh")
        if _content(path) == script(name):
            continue
        both = os.path.lexists(path) and os.path.lexists(path + KEPT_SUFFIX)
        if both and not is_ours(path) and _content(path) != _content(path + KEPT_SUFFIX):
            message = f"{path} and {path}{KEPT_SUFFIX} are two different scripts; remove the one that is not wanted"
            raise Invalid(message, path=path)
        todo.append(name)
    return todo


def install(registry: Registry, names: list[str]) -> None:
    """Install dibs's scripts. The old ones are kept next to them; no script is ever missing."""
    os.makedirs(registry.tools, exist_ok=True)
    for name in names:
        path = os.path.join(registry.tools, f"{name}.sh")
        mode = 0o755
        if os.path.lexists(path):
            mode |= os.lstat(path).st_mode & 0o777
            if not is_ours(path) and not os.path.lexists(path + KEPT_SUFFIX):
                os.link(path, path + KEPT_SUFFIX, follow_symlinks=False)
        _write(path, script(name).encode(), mode)


def uninstall(registry: Registry, *, dry: bool = False) -> Iterator[tuple[str, bool]]:
    """Remove dibs's scripts: each path, and whether an earlier script was restored there."""
    for name in SCRIPTS:
        path = os.path.join(registry.tools, f"{name}.sh")
        kept = os.path.lexists(path + KEPT_SUFFIX)
        if not is_ours(path) and (os.path.lexists(path) or not kept):
            continue
        if not dry and kept:
            os.replace(path + KEPT_SUFFIX, path)
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


# --- helpers


def task_id(name: str) -> str:
    """A file's name as the id of a task: characters that an id cannot have are written as a + and their number."""
    spelt = [letter if letter.isalnum() or letter in ID_SIGNS else f"+{ord(letter):x}." for letter in name]
    if name.startswith("-"):  # an id is not taken for an option
        spelt[0] = f"+{ord('-'):x}."
    return "".join(spelt)


def title_of(name: str, text: str) -> str:
    """A task's title: the first non-empty line of its file, else the file's name."""
    for line in [*text.splitlines(), name]:
        said = "".join([letter if letter.isprintable() else " " for letter in line]).strip("#*-= \t")
        if said:
            return said[:MAX_TITLE_LETTERS]
    return task_id(name)


def is_task(name: str) -> bool:
    """Can this be the name of a task's file, inside the registry?"""
    return bool(name) and not name.startswith(".") and "/" not in name and "\0" not in name


def is_stamp(text: str) -> bool:
    """Is this a time in seconds since 1970?"""
    return text.isascii() and text.isdigit() and len(text) >= STAMP_DIGITS


def _read_mark(path: str) -> Mark | None:
    try:
        with open(path, "rb") as file:
            text = file.read(MAX_MARK_BYTES).decode(errors="replace")
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
    """Write the whole file, or nothing."""
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
