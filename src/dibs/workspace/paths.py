"""Turns a written path or name into one canonical resource, so that no file can be claimed under two names.

A path is walked as the kernel walks it: component by component, each symbolic link followed before the `..` after it. A
missing component is kept as written. The result is relative to the top of the working tree that the path ends in,
which may be another worktree of the same repository, also one inside this one. A path that ends outside is refused.

Read-only, and on the path of every hook call: one look per component, no pathlib, no re. Only hard links give two texts
to a file; they come with an alias, the device and inode that all of them share. A stated limit: links below a glob's
wildcards are not followed, nor, on a folding file system, letters that fold to several, as the German sharp s.
"""

from __future__ import annotations

import os

from dibs.canonical import Canonical
from dibs.errors import Invalid
from dibs.workspace import location

UNPRINTABLE = "\ufffd"  # stands for a letter that cannot be shown
MAX_PATH_BYTES = 4096  # PATH_MAX
MAX_COMPONENT_BYTES = 255  # NAME_MAX
MAX_LINKS = 40  # after this many the kernel says ELOOP
MAX_NAMES_TRIED = 100  # of a directory, to find out whether it folds case

_LINK, _DIRECTORY, _FILE, _KIND = 0o120000, 0o040000, 0o100000, 0o170000  # st_mode, without importing stat

# Kinds of resources and prefixes: not allowed as names, which would be ambiguous.
_RESERVED = frozenset(("file", "glob", "inode", "name", "path", "tree"))
KINDS = frozenset(("file", "glob", "name", "tree"))  # of resources
PER_TREE = ("git:index", "git:head")  # each linked working tree has its own
_SCHEME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")


def received(value: object, *, anywhere: bool = False) -> Canonical:
    """A resource that another process of dibs made canonical and sent; Invalid if it is not in the one form.

    A text that names a file in a second way would overlap with nothing. What the file system alone can tell (links,
    folded case) the sender has looked up. `anywhere`: also what only guards name, a file outside all working trees and
    a link by git's own text of it.
    """
    parts = list(value) if isinstance(value, (list, tuple)) and len(value) in {2, 3} else []
    if not parts or not all(isinstance(part, str) for part in parts):
        raise Invalid("a resource is sent as its kind, its text and its alias", resource=_shown(str(value)))
    kind, text, alias = (*parts, "")[:3]
    if kind not in KINDS or (alias and not alias.replace(":", "", 1).isdigit()):
        raise Invalid(f"{_shown(text)} is not sent as a resource", resource=_shown(text))
    if text or kind != "tree":
        _check(text)
    inner = text[1:] if anywhere and kind == "file" and text.startswith("/") else text
    plain = kind == "name" or not text or not {"", ".", ".."}.intersection(inner.split("/"))
    if not plain or (not anywhere and _composed(text) != text):
        raise Invalid(f"{_shown(text)} is not in its canonical form", resource=_shown(text))
    return Canonical(parts)


def of_parts(kind: str, text: str, alias: str = "") -> Canonical:
    """The resource of parts that `located` gave, or of a path that git or the file system named."""
    return Canonical((kind, text, alias))


def shown(path: str, *, fold: bool = False) -> str:
    """A path from git or the file system as texts and records have it, where no link is in it.

    A name that cannot be claimed (control characters, broken letters) has a sign in the place of each of these.
    """
    text = os.fsencode(path).decode("utf-8", "replace")
    if not text.isprintable():
        text = "".join([sign if sign.isprintable() else UNPRINTABLE for sign in text])
    return _folded(text) if fold else _composed(text)


def of_name(text: str) -> Canonical:
    """The resource of a name that dibs makes itself, such as `task:ID`, even if a path has that name."""
    return Canonical(("name", _composed(text)))


class Paths:
    """The working tree in use; it turns written texts into resources."""

    __slots__ = ("common", "fold", "root")

    def __init__(
        self, root: str, fold: bool | None = None, common: str | None = None, *, is_real: bool = False
    ) -> None:
        """Take a working tree's top; case folding and git's common directory are looked up if not given.

        `is_real`: the top is known to be a real path, as that of a `Place` is.
        """
        self.root = root if is_real else os.path.realpath(root)
        self.fold = folds_case(self.root) if fold is None else fold
        self.common = location.common_of(self.root) if common is None else common

    def resource(self, text: str, cwd: str, literal: bool = False) -> tuple[str, str, str]:
        """The kind, the canonical text and the inode alias ("" if none) of what was written in the directory `cwd`.

        Kinds: "name", "file", "tree", "glob" (normalised; the glob's algebra may still find that it is a tree). With
        `literal` it is a path even if it looks like a glob, and a missing one will be a file: guards know that.
        """
        return self.located(text, cwd, literal)[:3]

    def canonical(self, text: str, cwd: str) -> Canonical:
        """The same as `resource`, in the type that doors accept. One text, one resource."""
        found = self.expanded(text, cwd)
        if len(found) > 1:
            message = (
                f"{_shown(text)} stands for {len(found)} resources; name one of them, such as {_shown(found[0][1])}"
            )
            raise Invalid(message, resource=_shown(text))
        return found[0]

    def expanded(self, text: str, cwd: str) -> list[Canonical]:
        """The resources of a text: more than one if it has braces, `src/{a,c}*`, as in a shell."""
        if "{" not in text and "\\" not in text and "[" not in text:  # the usual case
            return [Canonical(self.resource(text, cwd))]
        from dibs.workspace import path_patterns

        _check(text)
        return [Canonical(self.resource(one, cwd)) for one in path_patterns.alternatives(text, cwd)]

    def located(self, text: str, cwd: str, literal: bool = False) -> tuple[str, str, str, str]:
        """The same as `resource`, and the top of its working tree, which may be another than the one in use."""
        _check(text)
        if literal:
            return self._path(text, text, cwd, literal=True)
        prefix, colon, rest = text.partition(":")
        if colon and prefix in ("glob", "path"):
            _check(rest)
            return self._glob(text, rest, cwd, 0) if prefix == "glob" else self._path(text, rest, cwd)
        if rest and _is_scheme(prefix) and not os.path.lexists(os.path.join(cwd, text)):
            if prefix in _RESERVED:
                message = (
                    f"{_shown(text)} is not a name: `{prefix}:` is reserved; write `path:…` for a path of that name"
                )
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
        real, status, missing = _walk(given, os.path.join(cwd, text), self.root)
        if status is not None and status.st_mode & _KIND != _DIRECTORY:
            missing = 1
        top, relative = self._home(given, real, missing)
        canonical = self._canonical(given, relative)
        if status is None:
            return ("file" if literal and not text.endswith("/") else "tree"), canonical, "", top
        kind = status.st_mode & _KIND
        if kind == _DIRECTORY:
            return "tree", canonical, "", top
        shared = kind == _FILE and status.st_nlink > 1
        return "file", canonical, f"{status.st_dev}:{status.st_ino}" if shared else "", top

    def _glob(self, given: str, text: str, cwd: str, literals: int) -> tuple[str, str, str, str]:
        """A glob as a resource: the part before its first wildcard is a path, and the rest is normalised.

        The first `literals` components are literal although they look like wildcards, because they exist.
        """
        parts = text.split("/")
        if parts[-1] == "":  # written as a directory: it includes what is below
            parts[-1] = "**"
        while literals < len(parts) and not is_wild(parts[literals]):
            literals += 1
        real, _, missing = _walk(given, os.path.join(cwd, "/".join([*parts[:literals], ""])), self.root)
        top, relative = self._home(given, real, missing)
        prefix = self._canonical(given, relative)
        rest = [part for part in parts[literals:] if part not in ("", ".")]
        if ".." in rest:
            message = f"the glob {_shown(given)} has a '..' after a wildcard"
            raise Invalid(message, resource=_shown(given))
        whole = [escaped(part) for part in prefix.split("/") if part]
        whole += [_folded_wild(part) if self.fold else _composed(part) for part in rest]
        canonical = "/".join(whole)
        if not canonical:
            return "tree", "", "", top
        _check(canonical, given)
        return "glob", canonical, "", top

    def _home(self, given: str, real: str, last: int) -> tuple[str, str]:
        """The top of the working tree that holds a real path, and the path from there.

        The `last` components of it are no directory, so none of them is the top of one.
        Deepest first: worktrees are often kept inside the main one, and a file there must have the same text from both.
        A path that does not begin with the root's text is compared by inode: a file system that folds case or composes
        letters has many spellings of the root.
        """
        root = self.root
        inside = real == root or real.startswith(root if root == "/" else f"{root}/")
        if inside and not self.common:
            return root, real[len(root) :].lstrip("/")
        itself = None if inside else _look(given, root)
        directory = real
        while last and directory != root:
            directory = os.path.dirname(directory)
            last -= 1
        while directory != root:
            if self.common and location.common_of(directory) == self.common:
                return directory, real[len(directory) :].lstrip("/")
            if itself is not None and _same(directory, itself):
                return root, real[len(directory) :].lstrip("/")
            if directory == "/":
                message = f"{_shown(given)} is outside the working tree {root}"
                raise Invalid(message, resource=_shown(given))
            directory = os.path.dirname(directory)
        return root, real[len(root) :].lstrip("/")

    def _canonical(self, given: str, relative: str) -> str:
        """The text by which paths are compared, checked: links and the current directory may have added anything."""
        if relative:
            _check(relative, given)
        return _folded(relative) if self.fold else _composed(relative)


def folds_case(directory: str) -> bool:
    """Whether the file system folds case here, found by looking up an existing name with its case swapped.

    Nothing is written. If no name here has a letter, the directory's own name is looked up in its parent.
    """
    for name in (".dibs", ".git"):
        answer = _found_swapped(directory, name)
        if answer is not None:
            return answer
    try:
        with os.scandir(directory) as entries:
            for _, entry in zip(range(MAX_NAMES_TRIED), entries, strict=False):
                answer = _found_swapped(directory, entry.name)
                if answer is not None:
                    return answer
    except OSError:
        pass
    parent, name = os.path.split(directory)
    return bool(name) and _found_swapped(parent, name) is True


def _found_swapped(directory: str, name: str) -> bool | None:
    """Whether a name is also found with its case swapped; None if that proves nothing."""
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
    """Whether the path has this status."""
    try:
        other = os.lstat(path)
    except OSError:
        return False
    return (other.st_dev, other.st_ino) == (status.st_dev, status.st_ino)


def _walk(given: str, path: str, root: str) -> tuple[str, os.stat_result | None, int]:
    """The real path, as the kernel would find it, its status (None for a missing file), and how much of it is missing.

    `root` is known to be real, so a path that starts with it is walked from there. Missing components are kept, and a
    `..` after one removes it.
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
    return here or "/", status, missing


def _look(given: str, path: str) -> os.stat_result | None:
    """The status of the path, not following a link; None if it is missing."""
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:  # it could be anything, so no claim can be decided on it
        message = f"{_shown(given)} cannot be looked at: {error.strerror}"
        raise Invalid(message, resource=_shown(given)) from None


def _target(given: str, link: str, links: int) -> str:
    """The target of a symbolic link, the `links`-th on this path."""
    if links > MAX_LINKS:
        message = f"{_shown(given)} has a loop of symbolic links"
        raise Invalid(message, resource=_shown(given))
    try:
        return os.readlink(link)
    except OSError as error:
        message = f"{_shown(given)} cannot be looked at: {error.strerror}"
        raise Invalid(message, resource=_shown(given)) from None


def _check(text: str, given: str | None = None) -> None:
    """Refuse a text that cannot be a resource, with the reason; `given` is the text as written."""
    if text.isascii() and text.isprintable() and 0 < len(text) <= MAX_PATH_BYTES:
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
    elif _size(text) > MAX_PATH_BYTES:
        message = f"a path may have at most {MAX_PATH_BYTES} bytes; this one has {_size(text)}"
    else:
        return
    if given is not None and given != text:
        message += f" ({_shown(given)} leads to {_shown(text)!r})"
    raise Invalid(message, resource=_shown(text if given is None else given))


def _check_component(given: str, part: str) -> None:
    """Refuse a name that no file system takes."""
    if len(part) * 4 > MAX_COMPONENT_BYTES and len(os.fsencode(part)) > MAX_COMPONENT_BYTES:
        message = f"a component of a path may have at most {MAX_COMPONENT_BYTES} bytes: {_shown(given)}"
        raise Invalid(message, resource=_shown(given))


def _size(text: str) -> int:
    """The number of bytes of a text, or -1 for one that holds undecodable bytes."""
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return -1


def _shown(text: str) -> str:
    """A text for a message: bytes that are not Unicode are escaped, and a long text is cut."""
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= MAX_COMPONENT_BYTES else f"{text[:MAX_COMPONENT_BYTES]}…"


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
    """Whether a text can come before the colon of a name: two characters or more, so that `c:x` is none."""
    return len(text) > 1 and "a" <= text[0] <= "z" and _SCHEME.issuperset(text)


def _existing(text: str, cwd: str, root: str) -> int:
    """How many leading components of a text are literal, because they have no wildcard or exist; -1 if all of them are.

    So `app/[id]/new.tsx` is a path where the directory `app/[id]` exists, whether or not the file is there yet.
    """
    parts = text.split("/")
    for place, part in enumerate(parts):
        if is_wild(part):
            path = os.path.join(cwd, "/".join(parts[: place + 1]))
            if os.path.lexists(path):
                continue
            # The kernel finds nothing after `missing/..`, the walk does; both spellings must give the same result.
            if ".." not in parts[:place] or _walk(text, path, root)[1] is None:
                return place
    return -1


def is_wild(part: str) -> bool:
    """Whether a component has a wildcard: `*`, `?` or a closed `[…]`. The glob algebra has the same rule."""
    return "*" in part or "?" in part or _class_at(part)[0] >= 0


def _class_at(part: str) -> tuple[int, int]:
    """The places where the first class of a component opens and closes; negative if there is none."""
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

    A class whose folded form could miss a name becomes a wildcard: matching too much is safe, too little is not.
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
