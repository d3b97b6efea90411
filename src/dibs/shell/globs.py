"""Patterns of the shell: the texts they match, and the files they match now.

A pattern is a list of atoms, (text of one character, is it active): an active `*`, `?` or `[` is a wildcard, an
inactive one is a literal. This keeps the quoting. `fnmatch` would import `re`, and has no quoting.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Atom = tuple[str, bool]

# Directory entries looked at for one command; with more, a pattern counts as unknown. A tree with its packages has some
# 30,000, which take a tenth of a second on an idle machine.
MAX_ENTRIES = 100_000
TIMEOUT_MS = 250  # for looking at entries on a busy machine


class LimitReached(Exception):
    """Matching the files would exceed the limit."""


class FileView:
    """Directory contents: the present entries, and those that the command itself adds."""

    __slots__ = ("_folders", "_left", "_links", "_made", "_until", "_whole")

    def __init__(self) -> None:
        self._left = MAX_ENTRIES  # entries left in the limit
        self._until = 0  # the deadline
        self._folders: dict[str, set[str]] = {}  # directory → its present names
        self._made: dict[str, set[str]] = {}  # directory → names in it that the command writes
        self._links: dict[str, str] = {}  # links that the command makes → their targets
        self._whole: set[str] = set()  # directories that the command moves or copies here, with unknown contents

    def brief(self, entries: int) -> FileView:
        """The same view, with fewer entries left: for what is only good to know."""
        other = FileView()
        other._left, other._until = min(entries, self._left), self._until
        other._made, other._links, other._whole = self._made, self._links, self._whole
        return other

    def made(self, path: str) -> None:
        """Note that the command writes this absolute path: later patterns may match it."""
        path = os.path.normpath(path)
        while path not in self._made:
            above, name = os.path.split(path)
            known = self._made.setdefault(above, set())
            if name in known or above == path:
                return
            known.add(name)
            if os.path.isdir(above):
                return
            path = above

    def entries(self, folder: str) -> list[str]:
        """The names in an absolute directory, sorted; none if there is no such directory."""
        folder = os.path.normpath(folder) if ".." not in folder else folder
        own = self._made.get(folder, set())
        if self._whole and self.is_whole(folder):
            raise LimitReached
        names = set(own)
        folders = self._folders[folder] = set()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    names.add(entry.name)
                    if entry.is_dir(follow_symlinks=False):
                        folders.add(entry.name)
        except (OSError, ValueError):
            pass
        self._spend(len(names) + 1)
        return sorted(names)

    def _spend(self, entries: int) -> None:
        """Count entries; raises LimitReached beyond the limit or the deadline."""
        from dibs.machine import clock

        now = clock.since_boot()
        self._until = self._until or now + TIMEOUT_MS
        self._left -= entries
        if self._left < 0 or now > self._until:
            raise LimitReached

    def whole(self, path: str) -> None:
        """Note that the command moves or copies a directory to this absolute path."""
        self._whole.add(os.path.normpath(path))

    def is_whole(self, path: str) -> bool:
        """Is this, or a directory above it, moved or copied to here by the command?"""
        if not self._whole:
            return False
        path = os.path.normpath(path)
        while path not in self._whole:
            above = os.path.dirname(path)
            if above == path:
                return False
            path = above
        return True

    def linked(self, path: str, to: str) -> None:
        """Note that the command makes this absolute path a link to a file or directory."""
        self._links[os.path.normpath(path)] = os.path.normpath(to)

    def through(self, path: str, *, itself: bool) -> str | None:
        """The path with such links resolved; with `itself`, also if the path itself is a link."""
        if not self._links:
            return None
        path = os.path.normpath(path)
        name = path if itself else os.path.dirname(path)
        while name not in self._links:
            above = os.path.dirname(name)
            if above == name:
                return None
            name = above
        return self._links[name] + path[len(name) :]

    def is_there(self, path: str) -> bool:
        """Does this path exist, or will it?"""
        plain = os.path.normpath(path)
        above, name = os.path.split(plain)
        made = plain in self._made or name in self._made.get(above, ())
        return made or os.path.lexists(path) or self.is_whole(path)

    def is_folder(self, path: str) -> bool:
        """Is this a directory, now or later?"""
        above, _, name = path.rpartition("/")
        known = self._folders.get(above) if name not in {"", ".", ".."} else None
        there = name in known if known is not None else os.path.isdir(path) and not os.path.islink(path)
        return there or (bool(self._made) and os.path.normpath(path) in self._made) or self.is_whole(path)


def of_text(pattern: str) -> list[Atom]:
    """A pattern that a program gets as its argument (`find -name`, `grep --include`): a backslash makes a literal."""
    atoms: list[Atom] = []
    escaped = False
    for character in pattern:
        if character == "\\" and not escaped:
            escaped = True
            continue
        atoms.append((character, not escaped))
        escaped = False
    return atoms


def is_pattern(atoms: list[Atom]) -> bool:
    """Does this contain a wildcard?"""
    return any(active and text in "*?[" for text, active in atoms)


def singly(texts: list[Atom]) -> list[Atom]:
    """Atoms, from texts of any length."""
    return [(character, active) for text, active in texts for character in text]


def plain(atoms: list[Atom]) -> str:
    """The text without the quoting."""
    return "".join(text for text, _ in atoms)


def files(atoms: list[Atom], cwd: str | None, view: FileView) -> list[str]:
    """The existing paths that match a pattern, in the form the shell would give them; [] if none."""
    parts: list[list[Atom]] = [[]]
    for atom in atoms:
        if atom[0] == "/":
            parts.append([])
        else:
            parts[-1].append(atom)
    absolute = bool(atoms) and atoms[0][0] == "/"
    if cwd is None and not absolute:
        raise LimitReached
    return list(_below("/" if absolute else "", parts[1:] if absolute else parts, cwd or "/", view))


def _below(prefix: str, parts: list[list[Atom]], cwd: str, view: FileView) -> Iterator[str]:
    """Match the components one by one; `**` crosses directories, as it does in zsh and in bash with globstar."""
    while parts and not is_pattern(parts[0]):
        prefix += plain(parts[0]) + ("/" if len(parts) > 1 else "")
        parts = parts[1:]
    if not parts:
        if prefix and view.is_there(os.path.join(cwd, prefix)):
            yield prefix
        return
    first, rest = parts[0], parts[1:]
    deep = plain(first) == "**" and all(active for _, active in first)
    if deep and rest:
        yield from _below(prefix, rest, cwd, view)
    for name in view.entries(os.path.join(cwd, prefix)):
        if name.startswith(".") and first[0][0] != ".":
            continue
        here = prefix + name
        if deep:
            if view.is_folder(os.path.join(cwd, here)):
                yield from _below(here + "/", parts, cwd, view)
            if not rest:
                yield here
        elif matches(first, name):
            if rest:
                yield from _below(here + "/", rest, cwd, view)
            else:
                yield here


def matches(pattern: list[Atom], text: str) -> bool:
    """Does the whole text match? A slash is a character like others here."""
    tokens = _tokens(pattern)
    at, star, resume = 0, -1, 0
    i = 0
    while i < len(text):
        if at < len(tokens) and tokens[at] == "*":
            star, resume = at, i
            at += 1
        elif at < len(tokens) and _one(tokens[at], text[i]):
            at += 1
            i += 1
        elif star >= 0:
            resume += 1
            at, i = star + 1, resume
        else:
            return False
    return all(token == "*" for token in tokens[at:])


def _tokens(pattern: list[Atom]) -> list[str | tuple[str, str]]:
    """`*`, `?`, ("is", character) and ("in" or "not in", the inside of the brackets)."""
    tokens: list[str | tuple[str, str]] = []
    i = 0
    while i < len(pattern):
        text, active = pattern[i]
        close = _closing(pattern, i) if active and text == "[" else 0
        if close:
            inside = plain(pattern[i + 1 : close])
            negated = inside[0] in "!^"
            tokens.append(("not in" if negated else "in", inside[1:] if negated else inside))
            i = close
        elif active and text in "*?":
            if not (text == "*" and tokens and tokens[-1] == "*"):
                tokens.append(text)
        else:
            tokens.append(("is", text))
        i += 1
    return tokens


def _closing(pattern: list[Atom], start: int) -> int:
    """The place where the brackets that open here close; 0 if they do not."""
    i = start + 1
    if i < len(pattern) and pattern[i][0] in "!^":
        i += 1
    i += 1  # a bracket right after the opening one is a member
    while i < len(pattern):
        if pattern[i][0] == "[" and i + 1 < len(pattern) and pattern[i + 1][0] in ":.=":
            end = i + 2
            while end < len(pattern) and pattern[end][0] != "]":
                end += 1
            i = end
        elif pattern[i][0] == "]":
            return i
        i += 1
    return 0


def _one(token: str | tuple[str, str], character: str) -> bool:
    if isinstance(token, str):
        return token == "?"
    how, what = token
    if how == "is":
        return what == character
    if "[:" in what or "[." in what or "[=" in what:
        return True  # classes depend on the locale: they count as a match, so that nothing is missed
    return _member(what, character) == (how == "in")


def _member(inside: str, character: str) -> bool:
    i = 0
    while i < len(inside):
        if i + 2 < len(inside) and inside[i + 1] == "-":
            if inside[i] <= character <= inside[i + 2]:
                return True
            i += 3
        else:
            if inside[i] == character:
                return True
            i += 1
    return False
