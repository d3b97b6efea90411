"""From what somebody wrote to one canonical resource, so that no file has two names under which it could be claimed.

A path is walked as the kernel walks it: component by component, each symbolic link followed before the `..` behind it.
What is not there yet is kept as written. The result is relative to the top of the working tree that the path ends in,
which may be another worktree of the same repository, also one that lies inside this one. What ends outside is refused.

Read-only, and on the path of every hook call: one look per component, no pathlib, no re. Hard links are the one way to
two texts for a file; they come with an alias, the device and inode that all of them share. What hides behind a glob's
wildcards (links, and on a folding file system letters that fold to several, as the German sharp s) is a stated limit.
"""

from __future__ import annotations

import os

from dibs.canonical import Canonical
from dibs.errors import Invalid
from dibs.facts import workspace

BYTES_MAX = 4096  # PATH_MAX
COMPONENT_BYTES_MAX = 255  # NAME_MAX
LINKS_MAX = 40  # after so many the kernel says ELOOP
LOOKED_AT_MAX = 100  # names of a directory that are tried to see whether case is folded there

_LINK, _DIRECTORY, _FILE, _KIND = 0o120000, 0o040000, 0o100000, 0o170000  # st_mode, without importing stat

# Kinds of resources and prefixes: as names they would be read as something else somewhere.
_RESERVED = frozenset(("file", "glob", "inode", "name", "path", "tree"))
PER_TREE = ("git:index", "git:head")  # names of which each linked working tree has its own
_SCHEME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")


def of_name(text: str) -> Canonical:
    """The resource of a name that dibs makes itself, such as `task:ID`, also where a path is called like it."""
    return Canonical(("name", _composed(text)))


class Paths:
    """The working tree in use, by which what was written becomes a resource."""

    __slots__ = ("common", "fold", "root")

    def __init__(self, root: str, fold: bool | None = None, common: str | None = None) -> None:
        """Take a working tree's top; whether it folds case, and git's common directory, are looked up if not said."""
        self.root = os.path.realpath(root)
        self.fold = folds_case(self.root) if fold is None else fold
        self.common = workspace.common_of(self.root) if common is None else common

    def resource(self, text: str, cwd: str, literal: bool = False) -> tuple[str, str, str]:
        """The kind, the canonical text and the inode alias ("" if none) of what was written in the directory `cwd`.

        Kinds: "name", "file", "tree", "glob" (normalised; the glob's algebra may still find that it is a tree). With
        `literal` it is a path whatever it looks like, as guards know it, and what is not there yet will be a file.
        """
        return self.located(text, cwd, literal)[:3]

    def canonical(self, text: str, cwd: str) -> Canonical:
        """The same as `resource`, in a form that doors believe and pass on. One text, one resource."""
        found = self.expanded(text, cwd)
        if len(found) > 1:
            message = (
                f"{_shown(text)} stands for {len(found)} resources; name one of them, such as {_shown(found[0][1])}"
            )
            raise Invalid(message, resource=_shown(text))
        return found[0]

    def expanded(self, text: str, cwd: str) -> list[Canonical]:
        """The resources that a text stands for: more than one where it has braces, `src/{a,c}*`, as in a shell."""
        if "{" not in text and "\\" not in text and "[" not in text:  # as it mostly is
            return [Canonical(self.resource(text, cwd))]
        from dibs.facts import path_patterns

        _check(text)
        return [Canonical(self.resource(one, cwd)) for one in path_patterns.alternatives(text, cwd)]

    def located(self, text: str, cwd: str, literal: bool = False) -> tuple[str, str, str, str]:
        """The same as `resource`, and the top of the working tree that it is in, which need not be the one in use."""
        _check(text)
        if literal:
            return self._path(text, text, cwd, literal=True)
        prefix, colon, rest = text.partition(":")
        if colon and prefix in ("glob", "path"):
            _check(rest)
            return self._glob(text, rest, cwd, 0) if prefix == "glob" else self._path(text, rest, cwd)
        if rest and _is_scheme(prefix) and not os.path.lexists(os.path.join(cwd, text)):
            if prefix in _RESERVED:
                message = f"{_shown(text)} is no name: `{prefix}:` is reserved; write `path:…` for a path of that name"
                raise Invalid(message, resource=_shown(text))
            return "name", self._name(text), "", self.root
        literals = _existing(text, cwd, self.root)
        if literals < 0:
            return self._path(text, text, cwd)
        return self._glob(text, text, cwd, literals)

    def _name(self, text: str) -> str:
        """A name. Git's index and HEAD are each working tree's own; its stash is the repository's."""
        linked = self.common and os.path.join(self.root, ".git") != self.common
        return f"{text}@{self.root}" if linked and text in PER_TREE else _composed(text)

    def _path(self, given: str, text: str, cwd: str, literal: bool = False) -> tuple[str, str, str, str]:
        """A literal path as a resource."""
        real, status = _walk(given, os.path.join(cwd, text), self.root)
        top, relative = self._home(given, real)
        canonical = self._canonical(given, relative)
        if status is None:
            return ("file" if literal and not text.endswith("/") else "tree"), canonical, "", top
        kind = status.st_mode & _KIND
        if kind == _DIRECTORY:
            return "tree", canonical, "", top
        shared = kind == _FILE and status.st_nlink > 1
        return "file", canonical, f"{status.st_dev}:{status.st_ino}" if shared else "", top

    def _glob(self, given: str, text: str, cwd: str, literals: int) -> tuple[str, str, str, str]:
        """A glob as a resource: the part before its first wildcard is a path, and the rest is put in order.

        The first `literals` components are literal although they look wild, because they exist.
        """
        parts = text.split("/")
        if parts[-1] == "":  # written as a directory: it means what is below, too
            parts[-1] = "**"
        while literals < len(parts) and not is_wild(parts[literals]):
            literals += 1
        real, _ = _walk(given, os.path.join(cwd, "/".join([*parts[:literals], ""])), self.root)
        top, relative = self._home(given, real)
        prefix = self._canonical(given, relative)
        rest = [part for part in parts[literals:] if part not in ("", ".")]
        if ".." in rest:
            message = f"the glob {_shown(given)} has a '..' behind a wildcard"
            raise Invalid(message, resource=_shown(given))
        whole = [escaped(part) for part in prefix.split("/") if part]
        whole += [_folded_wild(part) if self.fold else _composed(part) for part in rest]
        canonical = "/".join(whole)
        if not canonical:
            return "tree", "", "", top
        _check(canonical, given)
        return "glob", canonical, "", top

    def _home(self, given: str, real: str) -> tuple[str, str]:
        """The top of the working tree that holds a real path, and the path from there.

        Deepest first, since worktrees are often kept inside the main one, and a file there must not have one text from
        within and another from without. Outside the root's own text, the root is recognised by its inode: a file
        system that folds case or composes letters has many spellings of it.
        """
        root = self.root
        inside = real == root or real.startswith(root if root == "/" else f"{root}/")
        if inside and not self.common:
            return root, real[len(root) :].lstrip("/")
        itself = None if inside else _look(given, root)
        directory = real
        while directory != root:
            if self.common and workspace.common_of(directory) == self.common:
                return directory, real[len(directory) :].lstrip("/")
            if itself is not None and _same(directory, itself):
                return root, real[len(directory) :].lstrip("/")
            if directory == "/":
                message = f"{_shown(given)} is outside the working tree {root}"
                raise Invalid(message, resource=_shown(given))
            directory = os.path.dirname(directory)
        return root, real[len(root) :].lstrip("/")

    def _canonical(self, given: str, relative: str) -> str:
        """The text by which paths are compared. Links and the directory it was written in may have brought anything."""
        if relative:
            _check(relative, given)
        return _folded(relative) if self.fold else _composed(relative)


def folds_case(directory: str) -> bool:
    """Whether the file system folds case here, seen by asking for a name that is there with its case swapped.

    Nothing is written. Where no name with a letter is found, the directory's own name is asked for in its parent.
    """
    for name in (".dibs", ".git"):
        answer = _found_swapped(directory, name)
        if answer is not None:
            return answer
    try:
        with os.scandir(directory) as entries:
            for _, entry in zip(range(LOOKED_AT_MAX), entries, strict=False):
                answer = _found_swapped(directory, entry.name)
                if answer is not None:
                    return answer
    except OSError:
        pass
    parent, name = os.path.split(directory)
    return bool(name) and _found_swapped(parent, name) is True


def _found_swapped(directory: str, name: str) -> bool | None:
    """Whether a name is also found with its case swapped; None if that would prove nothing."""
    swapped = name.swapcase()
    if swapped == name or not name.isascii():
        return None
    try:
        status = os.lstat(os.path.join(directory, name))
    except OSError:
        return None
    if status.st_mode & _KIND != _DIRECTORY and status.st_nlink > 1:
        return None  # two hard links may differ in case alone
    return _same(os.path.join(directory, swapped), status)


def _same(path: str, status: os.stat_result) -> bool:
    """Whether the status is that of what is at the path."""
    try:
        other = os.lstat(path)
    except OSError:
        return False
    return (other.st_dev, other.st_ino) == (status.st_dev, status.st_ino)


def _walk(given: str, path: str, root: str) -> tuple[str, os.stat_result | None]:
    """The real path, as the kernel would find it, and what is there; None for what is not there yet.

    `root` is known to be real, so that a path that starts with it is walked from there. Components that do not exist
    are kept, and a `..` behind one takes it away.
    """
    if path.startswith(f"{root}/") and root != "/":
        here, todo = root, path[len(root) + 1 :].split("/")
    else:
        here, todo = "", path.split("/")
    todo.reverse()
    missing = links = 0
    status: os.stat_result | None = None
    while todo:
        part = todo.pop()
        if part in ("", "."):
            continue
        if part == "..":
            here = here[: here.rfind("/")] if here else ""
            missing = max(0, missing - 1)
            status = None
            continue
        _check_component(given, part)
        ahead = f"{here}/{part}"
        if missing == 0:
            status = _look(given, ahead)
            if status is not None and status.st_mode & _KIND == _LINK:
                links += 1
                target = _target(given, ahead, links)
                if target.startswith("/"):
                    here = ""
                todo.extend(reversed(target.split("/")))
                status = None
                continue
        if status is None:
            missing += 1
        here = ahead
    if status is None and missing == 0:
        status = _look(given, here or "/")
    return here or "/", status


def _look(given: str, path: str) -> os.stat_result | None:
    """What is at the path, not following a link; None if nothing is."""
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:  # what cannot be looked at could be anything, so no claim can be decided on it
        message = f"{_shown(given)} cannot be looked at: {error.strerror}"
        raise Invalid(message, resource=_shown(given)) from None


def _target(given: str, link: str, links: int) -> str:
    """Where a symbolic link points; it is the `links`-th on the way."""
    if links > LINKS_MAX:
        message = f"{_shown(given)} goes round in a loop of symbolic links"
        raise Invalid(message, resource=_shown(given))
    try:
        return os.readlink(link)
    except OSError as error:
        message = f"{_shown(given)} cannot be looked at: {error.strerror}"
        raise Invalid(message, resource=_shown(given)) from None


def _check(text: str, given: str | None = None) -> None:
    """Refuse a text that cannot be a resource, saying what is wrong with it; `given` is what was written."""
    if text.isascii() and text.isprintable() and 0 < len(text) <= BYTES_MAX:
        return
    if not text:
        message = "a path may not be empty"
    elif "\n" in text:
        message = "a path may not contain a newline"
    elif "\0" in text:
        message = "a path may not contain a NUL character"
    elif any(sign < " " or sign == "\x7f" for sign in text):
        message = "a path may not contain control characters"
    elif _size(text) < 0:
        message = "a path must be text: this one has bytes that are not UTF-8"
    elif _size(text) > BYTES_MAX:
        message = f"a path may have at most {BYTES_MAX} bytes; this one has {_size(text)}"
    else:
        return
    if given is not None and given != text:
        message += f" ({_shown(given)} leads to {_shown(text)!r})"
    raise Invalid(message, resource=_shown(text if given is None else given))


def _check_component(given: str, part: str) -> None:
    """Refuse a name that no file system takes."""
    if len(part) * 4 > COMPONENT_BYTES_MAX and len(os.fsencode(part)) > COMPONENT_BYTES_MAX:
        message = f"a component of a path may have at most {COMPONENT_BYTES_MAX} bytes: {_shown(given)}"
        raise Invalid(message, resource=_shown(given))


def _size(text: str) -> int:
    """The number of bytes of a text, or -1 for one that holds undecodable bytes."""
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return -1


def _shown(text: str) -> str:
    """A text as it can be put into a message: what is not Unicode is written out, and there is an end to it."""
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= COMPONENT_BYTES_MAX else f"{text[:COMPONENT_BYTES_MAX]}…"


def _composed(text: str) -> str:
    """The text in Unicode's form NFC."""
    if text.isascii():
        return text
    import unicodedata

    return unicodedata.normalize("NFC", text)


def _folded(text: str) -> str:
    """The text with case folded, by Unicode's canonical caseless matching."""
    if text.isascii():
        return text.lower()
    import unicodedata

    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())


def _is_scheme(text: str) -> bool:
    """Whether a text can stand before the colon of a name: two characters or more, so that `c:x` is none."""
    return len(text) > 1 and "a" <= text[0] <= "z" and _SCHEME.issuperset(text)


def _existing(text: str, cwd: str, root: str) -> int:
    """How many leading components of a text are literal, because they look it or exist; -1 if all of them are.

    So `app/[id]/new.tsx` is a path where the directory `app/[id]` exists, whether or not the file is there yet.
    """
    parts = text.split("/")
    for place, part in enumerate(parts):
        if is_wild(part):
            path = os.path.join(cwd, "/".join(parts[: place + 1]))
            if os.path.lexists(path):
                continue
            # The kernel finds nothing behind `missing/..`, the walk does; the two spellings must come out the same.
            if ".." not in parts[:place] or _walk(text, path, root)[1] is None:
                return place
    return -1


def is_wild(part: str) -> bool:
    """Whether a component has a wildcard: `*`, `?` or a closed `[…]`. The glob algebra says the same."""
    return "*" in part or "?" in part or _class_at(part)[0] >= 0


def _class_at(part: str) -> tuple[int, int]:
    """Where the first class of a component opens and closes; a negative place if there is none."""
    start = part.find("[")
    while start >= 0:
        first = start + 2 if part[start + 1 : start + 2] in ("!", "^") else start + 1
        end = part.find("]", first + 1)
        if end >= 0:
            return start, end
        start = part.find("[", start + 1)
    return -1, -1


def escaped(part: str) -> str:
    """A literal component as a glob that matches it and nothing else."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in part) if is_wild(part) else part


def _folded_wild(part: str) -> str:
    """A glob's component with case folded.

    A class whose folded form could miss a name becomes a wildcard that cannot: too much is safe, too little is not.
    """
    done = ""
    while True:
        start, end = _class_at(part)
        if start < 0:
            return done + _folded(part)
        members = _composed(part[start : end + 1])
        folded = _folded(members)
        if len(folded) != len(members):
            folded = "*"
        elif not _folds_whole(members[1:-1]):
            folded = "?"
        done += _folded(part[:start]) + folded
        part = part[end + 1 :]


def _folds_whole(members: str) -> bool:
    """Whether the folded class has the folded form of every member: its ranges stay within one kind of characters."""
    place = 1 if members[0] in "!^" else 0
    while place < len(members):
        if place + 2 < len(members) and members[place + 1] == "-":
            ends = members[place] + members[place + 2]
            if not (ends.isascii() and (ends.isupper() or ends.islower() or ends.isdigit()) and ends.isalnum()):
                return False
            place += 2
        place += 1
    return True
