"""The workspace's rules, `.dibs/rules.md`: read here, as they are told, and known by their digest.

What is for people only is not told: comments (`<!-- … -->`), headings with nothing below them, and the empty places of
an older template. So these do not make another version of the rules either.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.workspace.location import Place

LARGEST = 64 * 1024  # longer rules are not read by any agent; the rest is left out, and the file is named
DIGITS = 12  # of the digest: it tells versions of one file apart, it is no seal


def path_of(place: Place) -> str:
    """The rules as this working tree has them, else those of the main one."""
    own = os.path.join(place.top, ".dibs", "rules.md")
    return own if os.path.exists(own) else os.path.join(place.root, ".dibs", "rules.md")


def text(place: Place) -> str:
    """The rules as they are told, or "" where there are none."""
    try:
        with open(path_of(place), "rb") as file:
            return told(file.read(LARGEST).decode("utf-8", "replace"))
    except OSError:
        return ""


def told(written: str) -> str:
    """A page of rules without what is for people only; it ends with a newline, or is empty."""
    lines: list[str] = []
    fenced = False
    for line in _without_comments(written).split("\n"):
        line = line.rstrip()  # noqa: PLW2901 - blanks at a line's end do not make other rules
        fenced ^= line.lstrip().startswith("```")
        if _is_empty_place(line) or (not line and (not lines or not lines[-1])):
            continue
        lines.append(line if fenced or not _level(line) else f"\0{line}")  # marks a heading; text has no NUL
    kept: list[str] = []
    below = 0  # the level of the nearest heading that has something below it; 0 behind the last line
    content = False
    for line in reversed(lines):
        if not line.startswith("\0"):
            content = content or bool(line)
            if line or (kept and kept[-1]):  # of the blank lines around a heading that went, one stays
                kept.append(line)
            continue
        level = _level(line[1:])
        if content or below > level:
            kept.append(line[1:])
            below, content = level, False
    return "\n".join(reversed(kept)).strip() + "\n" if any(kept) else ""


def _without_comments(written: str) -> str:
    parts: list[str] = []
    while True:
        before, start, rest = written.partition("<!--")
        _, end, after = rest.partition("-->")
        if not start or not end:  # one that is not closed hides nothing
            return "".join([*parts, written])
        lone = not before.rpartition("\n")[2].strip() and after.startswith("\n")  # lines of its own: they go
        parts.append(before.rstrip(" \t") if lone else before)
        written = after[1:] if lone else after


def _level(line: str) -> int:
    """How deep a heading is, 0 for any other line."""
    marks = len(line) - len(line.lstrip("#"))
    return marks if 0 < marks <= 6 and line[marks : marks + 1] in {" ", ""} else 0  # noqa: PLR2004 - as Markdown has it


def _is_empty_place(line: str) -> bool:
    """`9. (yours)`: the template had such places to fill in."""
    number, dot, rest = line.partition(". ")
    return bool(dot) and number.isdigit() and rest.startswith(("(yours)", "(yours:"))


def digest(place: Place) -> str:
    """The rules' name, by what they say; "" where there are none."""
    rules = text(place).strip()
    if not rules:
        return ""
    from dibs.stores.seam import digest_of

    return digest_of(rules)[:DIGITS]
