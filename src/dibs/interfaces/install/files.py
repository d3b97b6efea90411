"""Files as `dibs init` finds and leaves them: the old state, the new state, and the record that restores the old one.

A change is planned as a whole, checked before anything is written, and then done file by file, each in one step
(written to a temporary file and renamed), so that an interruption leaves every file either old or new.
"""

from __future__ import annotations

import base64
import hashlib
import os
import stat

from dibs import jsontext
from dibs.errors import Invalid, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class StoredFile(TypedDict, total=False):
        """A file in the record: a link's target, or its content and mode."""

        link: str
        data: str  # in base64
        mode: int

    class FileRecord(TypedDict):
        """What the record knows of a file that dibs has written to."""

        original: StoredFile | None  # before dibs; None if there was none
        exact: bool  # nobody else has changed it since: the original can be put back
        wrote: str | None  # the digest of what dibs wrote last; None if it removed the file


RECORD_VERSION = 1  # of the record
RECORD_NAME = "installed.json"  # in .dibs/local/


class FileState:
    """A file, or a symbolic link, at one moment. No file at all is None."""

    __slots__ = ("data", "link", "mode")

    def __init__(self, data: bytes = b"", mode: int = 0o644, link: str = "") -> None:
        self.data = data
        self.mode = mode
        self.link = link

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileState) and self.digest() == other.digest() and self.mode == other.mode

    def __hash__(self) -> int:
        return hash(self.digest())

    def digest(self) -> str:
        """Tells this content from any other."""
        return hashlib.sha256(os.fsencode(f"link {self.link}") if self.link else b"file " + self.data).hexdigest()

    def as_json(self) -> StoredFile:
        """For the record."""
        if self.link:
            return {"link": self.link}
        return {"data": base64.b64encode(self.data).decode(), "mode": self.mode}

    @classmethod
    def from_json(cls, known: StoredFile | None) -> FileState | None:
        """From the record."""
        if known is None:
            return None
        if "link" in known:
            return cls(link=known["link"], mode=0)
        return cls(base64.b64decode(known["data"]), known["mode"])


def look(path: str) -> FileState | None:
    """The present state of a path."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return FileState(link=os.readlink(path), mode=0)
        if not stat.S_ISREG(status.st_mode):
            raise Invalid(f"{path} is not a file; nothing was changed", path=path)
        with open(path, "rb") as file:
            return FileState(file.read(), stat.S_IMODE(status.st_mode))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}. Nothing was changed.", path=path) from None


def text_of(state: FileState | None, path: str) -> str | None:
    """A text file's text."""
    if state is None:
        return None
    try:
        return state.data.decode("utf-8")
    except UnicodeDecodeError:
        raise Invalid(f"{path} is not UTF-8 text; nothing was changed", path=path) from None


def put(path: str, state: FileState | None) -> None:
    """Write the state, in one step."""
    if state is None:
        os.unlink(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    making = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.dibs-{os.getpid()}")
    try:
        if state.link:
            os.symlink(state.link, making)
        else:
            with open(making, "xb") as file:
                file.write(state.data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(making, state.mode)
        os.replace(making, path)
    finally:
        if os.path.lexists(making):
            os.unlink(making)


class Change:
    """One file from one state to another."""

    __slots__ = ("after", "before", "path")

    def __init__(self, path: str, before: FileState | None, after: FileState | None) -> None:
        self.path = path
        self.before = before
        self.after = after

    def check(self, tops: tuple[str, ...]) -> None:
        """Refuse, before anything is done, a change that would fail or would reach beyond the repository."""
        real = os.path.join(os.path.realpath(os.path.dirname(self.path)), os.path.basename(self.path))
        if not any(real.startswith(top.rstrip("/") + "/") for top in tops):
            raise Invalid(
                f"{self.path} lies outside the repository ({real}), behind a link; nothing was changed. "
                "Leave that client out with --clients.",
                path=self.path,
            )
        if self.before is not None and not self.before.link and not self.before.mode & 0o222:
            raise Invalid(f"{self.path} is read-only; nothing was changed", path=self.path)
        folder = existing(os.path.dirname(self.path))
        if not os.path.isdir(folder):
            raise Invalid(f"{folder} is not a folder; nothing was changed", path=folder)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise Unavailable(f"{folder} cannot be written; nothing was changed", path=folder)

    def diff(self, name: str) -> str:
        """The change as people read it."""
        import difflib

        old, new = _lines(self.before), _lines(self.after)
        before = "/dev/null" if self.before is None else f"a/{name}"
        after = "/dev/null" if self.after is None else f"b/{name}"
        return "".join(
            line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
            for line in difflib.unified_diff(old, new, before, after)
        )


def _lines(state: FileState | None) -> list[str]:
    if state is None:
        return []
    if state.link:
        return [f"(a link to {state.link})\n"]
    return state.data.decode("utf-8", "replace").splitlines(keepends=True)


def existing(folder: str) -> str:
    """The nearest existing folder upward."""
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    return folder


def missing(folder: str) -> list[str]:
    """The folders that writing below this one creates, the outermost first."""
    found = []
    while not os.path.lexists(folder):
        found.append(folder)
        folder = os.path.dirname(folder)
    return found[::-1]


# --- the record of the installation


class Record:
    """`.dibs/local/installed.json`: for each file what was there before, and what was written.

    Kept a second time below git's directory (`shared`), where nothing sweeps it away.
    """

    def __init__(self, root: str, local: str, shared: str) -> None:
        self.root = root
        self.paths = list(dict.fromkeys([os.path.join(local, RECORD_NAME), os.path.join(shared, RECORD_NAME)]))
        self.files: dict[str, FileRecord] = {}
        self.folders: list[str] = []
        for path in self.paths:
            try:
                with open(path, encoding="utf-8") as file:
                    known = jsontext.decode(file.read())
                if known["version"] == RECORD_VERSION:
                    self.files, self.folders = known["files"], known["folders"]
                    return
            except (OSError, ValueError, KeyError, TypeError):
                pass  # then our parts are recognised by their text

    def name(self, path: str) -> str:
        """A path as the record has it: relative to the workspace, which may be moved."""
        inside = path.startswith(self.root.rstrip("/") + "/")
        return os.path.relpath(path, self.root) if inside else path

    def note(self, change: Change) -> None:
        """Record what a change replaces."""
        name = self.name(change.path)
        known = self.files.get(name)
        before = None if change.before is None else change.before.as_json()
        if known is None:
            known = self.files[name] = {"original": before, "exact": True, "wrote": None}
        elif before != known["original"] and (change.before is None or change.before.digest() != known["wrote"]):
            known["exact"] = False  # it was changed meanwhile: the old bytes cannot be restored, only our lines removed
        known["wrote"] = None if change.after is None else change.after.digest()
        for folder in missing(os.path.dirname(change.path)):
            if self.name(folder) not in self.folders:
                self.folders.append(self.name(folder))

    def original(self, path: str, now: FileState | None) -> tuple[bool, FileState | None]:
        """Is the old state known, and is only ours there now? And the old state."""
        known = self.files.get(self.name(path))
        if known is None or not known["exact"]:
            return False, None
        before = FileState.from_json(known["original"])
        if now == before:
            return True, before
        return now is not None and now.digest() == known["wrote"], before

    def save(self) -> None:
        """Write the record, before the first of its files."""
        what = {"version": RECORD_VERSION, "files": self.files, "folders": self.folders}
        for path in self.paths:
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            put(path, FileState(jsontext.encode(what).encode(), 0o600))
