"""Pattern syntax that people and models write and dibs's globs do not have: braces, escapes, loose brackets.

A pattern that would silently become a literal name, and so protect nothing, is expanded, or refused with what to write
instead. If a file of exactly that name exists, the text means that file. `path:` always means a literal path. Guards
know their paths and do not use this module.
"""

from __future__ import annotations

import os

from dibs.errors import Invalid

MAX_ALTERNATIVES = 64  # of one text; for more, claim a directory
SHOWN_LETTERS = 200  # of a text that a refusal quotes
ESCAPED = frozenset("*?[]{},!\\")


def alternatives(text: str, cwd: str) -> list[str]:
    """The texts that the braces of a text expand to, in order; the text itself if it has none."""
    prefix, colon, rest = text.partition(":")
    if colon and prefix == "path":
        return [text]
    if not (colon and prefix == "glob"):
        prefix, rest = "", text
    found = list(dict.fromkeys(_expanded(text, rest, cwd)))
    for one in found:
        _refuse_broken(text, one, cwd)
    return [f"glob:{one}" for one in found] if prefix else found


def _expanded(given: str, text: str, cwd: str) -> list[str]:
    """Expand the first group of braces: the text for each of its members."""
    if text.count("{") > MAX_ALTERNATIVES:
        raise _refusal(given, f"has more than {MAX_ALTERNATIVES} braces; claim a directory instead")
    done: list[str] = []
    todo = [text]
    while todo:
        one = todo.pop()
        group = _group(one)
        if group is None or _is_there(one, group[1], cwd):
            done.append(one)
        else:
            opening, closing, members = group
            todo += [one[:opening] + member + one[closing + 1 :] for member in reversed(members)]
        if len(done) + len(todo) > MAX_ALTERNATIVES:
            raise _refusal(given, f"stands for more than {MAX_ALTERNATIVES} resources; claim a directory instead")
    return done


def _group(text: str) -> tuple[int, int, list[str]] | None:
    """The places of the first braces with a comma, and the members between; a shell expands no others."""
    start = text.find("{")
    while start >= 0:
        depth, last, members = 0, start + 1, []
        for place in range(start, len(text)):
            letter = text[place]
            depth += (letter == "{") - (letter == "}")
            if (letter == "," and depth == 1) or depth == 0:
                members.append(text[last:place])
                last = place + 1
            if depth == 0:
                if len(members) > 1:
                    return start, place, members
                if _is_range(members[0]):
                    raise _refusal(text, "has a range in braces; write the members with commas: {1,2,3}")
                break
        start = text.find("{", start + 1)
    return None


def _is_range(inside: str) -> bool:
    """Is it a range, `1..9` or `a..f`, as a shell expands it?"""
    first, dots, last = inside.partition("..")
    ends = (first.removeprefix("-"), last.removeprefix("-"))
    return bool(dots) and all(end.isdigit() or (len(end) == 1 and end.isalpha()) for end in ends)


def _is_there(text: str, place: int, cwd: str) -> bool:
    """Does a file exist whose name has this letter literally, up to the end of the component?"""
    end = text.find("/", place)
    return os.path.lexists(os.path.join(cwd, text if end < 0 else text[:end]))


def _refuse_broken(given: str, text: str, cwd: str) -> None:
    """Refuse a text that looks like a pattern and is none, unless a file has that name."""
    backslash = text.find("\\")
    if backslash >= 0 and ":" not in text and not _is_there(text, backslash, cwd):
        if text[backslash + 1 : backslash + 2] in ESCAPED:
            plain = "".join(letter for letter in text if letter != "\\")
            raise _refusal(given, f"has an escape, which dibs does not read; write `path:{plain}` for that very name")
        raise _refusal(given, f"has a backslash; write `{text.replace(chr(92), '/')}`, or `path:…` for that very name")
    for place, part in _open_brackets(text):
        if not _is_there(text, place, cwd):
            raise _refusal(
                given, f"has a `[` that nothing closes in {part!r}; write `[…]`, or `path:{text}` for that very name"
            )


def _open_brackets(text: str) -> list[tuple[int, str]]:
    """The place of an unclosed `[` in a component."""
    found, begin = [], 0
    for part in text.split("/"):
        start = part.find("[")
        while start >= 0:
            first = start + 2 if part[start + 1 : start + 2] in ("!", "^") else start + 1
            end = part.find("]", first + 1)
            if end < 0:
                found.append((begin + start, part))
                break
            start = part.find("[", end + 1)
        begin += len(part) + 1
    return found


def _refusal(given: str, what: str) -> Invalid:
    shown = given.encode("utf-8", "backslashreplace").decode()[:SHOWN_LETTERS]
    return Invalid(f"{shown} {what}", resource=shown)
