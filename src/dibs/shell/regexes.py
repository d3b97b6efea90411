"""Regular expressions of grep, sed and rename, where they can be worked out exactly: on texts that are known.

They are translated into Python's. What the two would not do alike (the longest of several alternatives, classes of a
locale, changes of case) is not translated: then nothing is known. Loaded only where a command writes what comes of it.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

BASIC, EXTENDED, PERL, FIXED = "basic", "extended", "perl", "fixed"
_SAME = "wWsSbB123456789"  # after a backslash: the same in all of them
_DIFFERENT = ("\\K", "\\Q", "\\z", "\\Z", "\\p", "\\h", "\\R", "(?{", "(?R", "@")  # of Perl's
_SLOW = (")*", ")+", "){")  # a repetition within a repetition may never end


def compiled(pattern: str, kind: str, *, anycase: bool = False) -> re.Pattern[str] | None:
    """The same pattern for Python; None if it may mean something else there."""
    if kind == FIXED:
        text: str | None = re.escape(pattern)
    elif kind == PERL:
        text = None if any(sign in pattern for sign in _DIFFERENT) else pattern
    else:
        text = _translated(pattern, kind)
    if text is None or any(sign in text for sign in _SLOW):
        return None
    try:
        return re.compile(text, re.IGNORECASE if anycase else 0)
    except (re.error, OverflowError, RecursionError):
        return None


def _translated(pattern: str, kind: str) -> str | None:
    """A POSIX pattern in Python's syntax."""
    translation, at = "", 0
    special = "()|+?{}" if kind == BASIC else ""  # after a backslash they are signs there, without it they are letters
    while at < len(pattern):
        character = pattern[at]
        if character == "[":
            inside, at = _bracket(pattern, at)
            if not inside:
                return None
            translation += inside
            continue
        if character == "\\":
            following = pattern[at + 1 : at + 2]
            if not following:
                return None
            if following in "<>":
                translation += r"\b"
            elif following in special:
                translation += following
            elif following in _SAME or not following.isalnum():
                translation += "\\" + following
            else:
                return None
            at += 2
            continue
        literal = character in special or (character == "*" and translation in {"", "^", "("})
        middle = ((character == "^" and at > 0) or (character == "$" and at + 1 < len(pattern))) and kind == BASIC
        translation += "\\" + character if literal or middle else character
        at += 1
    return translation


def _bracket(pattern: str, start: int) -> tuple[str, int]:
    """A bracket expression that begins here, and its end; "" if it has classes, or no end."""
    at = start + 1 + pattern.startswith("^", start + 1)
    end = pattern.find("]", at + 1)
    if end < 0 or any(sign in pattern[start + 1 : end] for sign in ("[:", "[.", "[=")):
        return "", start
    inside = pattern[at:end].replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return f"[{'^' if at > start + 1 else ''}{inside}]", end + 1


def substitution(program: str, kind: str) -> Callable[[str], str] | None:
    """What `s/a/b/` does to a line, or several of them with `;` between; None if that is not certain."""
    steps: list[tuple[re.Pattern[str], list[str | int], int]] = []
    rest = program.strip()
    while rest:
        parts = _parts(rest) if rest[0] == "s" else None
        if parts is None:
            return None
        pattern, by, flags, rest = parts
        regex = compiled(pattern, kind)
        pieces = _pieces(by, kind)
        if regex is None or pieces is None or "|" in regex.pattern or flags.strip("g"):
            return None
        groups = max([0, *[piece for piece in pieces if isinstance(piece, int)]])
        if (flags and regex.match("")) or groups > regex.groups:
            return None
        steps.append((regex, pieces, 0 if flags else 1))

    def change(line: str) -> str:
        for regex, pieces, count in steps:
            line = regex.sub(lambda hit, pieces=pieces: _filled(hit, pieces), line, count=count)  # type: ignore[misc]
        return line

    return change


def _filled(hit: re.Match[str], pieces: list[str | int]) -> str:
    return "".join([piece if isinstance(piece, str) else hit.group(piece) or "" for piece in pieces])


def _parts(text: str) -> tuple[str, str, str, str] | None:
    """Pattern, replacement and flags of a substitution, and what comes after it."""
    mark = text[1:2]
    if not mark or mark.isalnum() or mark in "\\\n ":
        return None
    parts, at = [""], 2
    while at < len(text) and len(parts) < 3:  # noqa: PLR2004 - two parts, and the flags
        if text[at] == "\\" and text[at + 1 : at + 2] == mark:
            parts[-1] += mark if mark not in ".*[]^$+?(){}|" else f"\\{mark}"
            at += 2
        elif text[at] == "\\":
            parts[-1] += text[at : at + 2]
            at += 2
        elif text[at] == mark:
            parts.append("")
            at += 1
        else:
            parts[-1] += text[at]
            at += 1
    end = at
    while end < len(text) and text[end] not in ";\n":
        end += 1
    return (parts[0], parts[1], text[at:end].strip(), text[end + 1 :].strip()) if len(parts) == 3 else None  # noqa: PLR2004


def _pieces(by: str, kind: str) -> list[str | int] | None:
    """A replacement: texts, and numbers of groups; None if it has signs that are not known here."""
    pieces: list[str | int] = []
    at, sign = 0, "$" if kind == PERL else "\\"
    while at < len(by):
        character, following = by[at], by[at + 1 : at + 2]
        if character == sign and following.isdigit():
            pieces.append(int(following))
            at += 2
        elif character == "&" and kind != PERL:
            pieces.append(0)
            at += 1
        elif character == "\\" and following and not following.isalnum() and following != "\n":
            pieces.append(following)
            at += 2
        elif character in "\\$@" and (character != "$" or kind == PERL):
            return None
        else:
            pieces.append(character)
            at += 1
    return pieces
