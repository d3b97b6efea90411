"""Which files a patch names: Codex's apply_patch format, and unified diffs as `git apply` and `patch` read them.

Only the names are read; whether a patch would apply is not checked.
"""

from __future__ import annotations

_BEGIN = "*** Begin Patch"
_ACTIONS = (
    ("*** Add File:", "add"),
    ("*** Update File:", "update"),
    ("*** Delete File:", "delete"),
    ("*** Move to:", "move"),
)
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}


def paths(text: str) -> list[tuple[str, str]]:
    """(add, update, delete or move, path) for each file of an apply_patch text; move is the new path of an update.

    Raises ValueError for a patch in which no path can be read.
    """
    found: list[tuple[str, str]] = []
    begun = False
    for line in text.split("\n"):
        bare = line.strip()
        begun = begun or bare == _BEGIN
        # In an update, a line that starts with a blank is content like those with + and -; elsewhere it may be an
        # indented header.
        inside = bool(found) and found[-1][0] in {"update", "move"}
        if line[:1] in {"+", "-"} or (inside and line[:1] == " "):
            continue
        for header, action in _ACTIONS:
            if bare.startswith(header):
                path = bare.removeprefix(header).strip()
                if not path:
                    raise ValueError("the patch names no file: " + bare)
                found.append((action, path))
    if begun and not found:
        raise ValueError("no file can be read from the patch")
    return found


def added(text: str) -> dict[str, str]:
    """The contents of the files that an apply_patch text adds, by path."""
    found: dict[str, str] = {}
    path = ""
    for line in text.split("\n"):
        bare = line.strip()
        if line.startswith("+") and path:
            found[path] += line[1:] + "\n"
        elif any(bare.startswith(header) for header, _ in _ACTIONS):
            path = bare.removeprefix("*** Add File:").strip() if bare.startswith("*** Add File:") else ""
            if path:
                found[path] = ""
    return found


def diff_paths(text: str) -> list[str]:
    """The paths of a unified diff as written, without the `a/` and `b/` of git; each once, in order."""
    found: dict[str, None] = {}
    for old, new, git in _files(text):
        for path, prefix in ((old, "a/"), (new, "b/")):
            if path and path != "/dev/null":
                found[path.removeprefix(prefix) if git or _prefixed(old, new) else path] = None
    return list(found)


def stripped(text: str, strip: int) -> list[str]:
    """The paths of a unified diff with this many leading components removed, as `patch -p` does it."""
    found: dict[str, None] = {}
    for old, new, _ in _files(text):
        for path in (old, new):
            if path and path != "/dev/null":
                found["/".join(path.split("/")[strip:]) if path.count("/") >= strip else path] = None
    return list(found)


def _prefixed(old: str, new: str) -> bool:
    return (old.startswith("a/") or old == "/dev/null") and (new.startswith("b/") or new == "/dev/null")


def _files(text: str) -> list[tuple[str, str, bool]]:
    """(old name, new name, are they git's) for each file; names as written, without quotes.

    Lines inside a hunk that only look like headers are skipped by the hunk's own line counts.
    """
    found: list[tuple[str, str, bool]] = []
    lines = text.split("\n")
    i = 0
    git = False
    while i < len(lines):
        line = lines[i].rstrip("\r")
        if line.startswith("@@ "):
            i = _behind(lines, i)
            continue
        if line.startswith("diff --git "):
            git = True
            found += [(old, new, True) for old, new in [_both(line[11:])] if old]
        elif line.startswith("--- ") and i + 1 < len(lines) and lines[i + 1].startswith("+++ "):
            found.append((_name(line[4:]), _name(lines[i + 1].rstrip("\r")[4:]), git))
            i += 1
        else:
            for header in ("rename from ", "rename to ", "copy to "):
                if line.startswith(header):
                    name = _name(line[len(header) :])
                    found.append((f"a/{name}", f"b/{name}", True))
        i += 1
    return found


def _behind(lines: list[str], i: int) -> int:
    """The line after a hunk."""
    old, new = _counts(lines[i])
    i += 1
    while i < len(lines) and (old > 0 or new > 0):
        mark = lines[i][:1]
        if mark not in {" ", "+", "-", "\\", "", "\r"}:
            return i
        old -= mark not in {"+", "\\"}
        new -= mark not in {"-", "\\"}
        i += 1
    return i


def _counts(line: str) -> tuple[int, int]:
    """How many old and new lines a hunk has, from `@@ -1,2 +3,4 @@`."""
    counts = []
    for part in line.split()[1:3]:
        _, comma, count = part.partition(",")
        counts.append(int(count) if comma and count.isascii() and count.isdigit() and len(count) < 10 else 1)  # noqa: PLR2004
    return (counts[0], counts[1]) if len(counts) > 1 else (0, 0)


def _name(text: str) -> str:
    """The name after a header: in quotes with escapes, or up to the TAB before a time."""
    if text.startswith('"'):
        return _quoted(text)[0]
    return text.split("\t", 1)[0].rstrip("\r")


def _both(text: str) -> tuple[str, str]:
    """The two names of a `diff --git` line, which are the same but for a/ and b/ unless another header says more."""
    if text.startswith('"'):
        old, rest = _quoted(text)
        rest = rest.lstrip(" ")
        return old, _quoted(rest)[0] if rest.startswith('"') else rest
    if text.endswith('"') and ' "' in text:
        old, _, rest = text.partition(' "')
        return old, _quoted('"' + rest)[0]
    half = len(text) // 2
    old, new = text[:half], text[half + 1 :]
    if text[half : half + 1] == " " and old.partition("/")[2] == new.partition("/")[2]:
        return old, new
    return "", ""  # a rename: its own headers name both


def _quoted(text: str) -> tuple[str, str]:
    """A name in quotes as git writes it, and what follows."""
    data = bytearray()
    i = 1
    while i < len(text) and text[i] != '"':
        if text[i] != "\\":
            data += text[i].encode("utf-8", "surrogatepass")
            i += 1
        elif (
            text[i + 1 : i + 4].isascii()
            and text[i + 1 : i + 4].isdigit()
            and not text[i + 1 : i + 4].strip("01234567")
        ):
            data.append(int(text[i + 1 : i + 4], 8) & 0xFF)
            i += 4
        else:
            data.append(_ESCAPES.get(text[i + 1 : i + 2], 63))
            i += 2
    return data.decode("utf-8", "surrogateescape"), text[i + 1 :]
