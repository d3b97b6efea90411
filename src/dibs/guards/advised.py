"""The dibs commands that a text advises, as they are typed in a folder below the top of the working tree.

Operations name paths from the top; a command's own paths are relative to the directory of the agent's shell.
"""

from __future__ import annotations

import os

from dibs.errors import quoted

_VERBS = ("ask", "claim", "release")  # they take resources first


def from_folder(text: str, top: str, folder: str) -> str:
    """The text with the paths of its commands as seen from this folder."""
    for verb in _VERBS:
        begin = f"`dibs {verb} "
        at = text.find(begin)
        while at >= 0:
            at += len(begin)
            end = _end(text, at)
            if end >= 0 and not text.startswith("` in /", end):  # there, the command is run in another directory
                command = _seen(text[at:end], top, folder, only_first=verb == "ask")
                text = text[:at] + command + text[end:]
            at = text.find(begin, at)
    return text


def _end(text: str, at: int) -> int:
    """Where the command ends that is at this place: at a backtick outside of quotes; -1 if it does not."""
    within = False
    for place in range(at, len(text)):
        if text[place] == "'" and (within or text[place - 1] != "\\"):
            within = not within
        elif text[place] == "`" and not within:
            return place
    return -1


def _seen(words: str, top: str, folder: str, *, only_first: bool) -> str:
    found: list[str] = []
    while words and words[0] != "-" and not (only_first and found):
        name, words = _first(words)
        found.append(quoted(_relative(name, top, folder)))
    return " ".join([*found, *([words] if words else [])])


def _first(words: str) -> tuple[str, str]:
    """The first word, without its quotes, and the rest."""
    if words[0] != "'":
        first, _, rest = words.partition(" ")
        return first, rest
    end = words.find("'", 1)
    while words.startswith("'\\''", end):
        end = words.find("'", end + 4)
    end = end if end > 0 else len(words)
    return words[1:end].replace("'\\''", "'"), words[end + 2 :]


def _relative(name: str, top: str, folder: str) -> str:
    """A path as seen from the folder; a name (`deploy:prod`) and a placeholder (RESOURCE) as they are."""
    is_path = ":" not in name and ("/" in name or "." in name)
    if not is_path and not os.path.lexists(f"{top}/{name}"):
        return name
    return os.path.relpath(f"{top}/{name}", folder) + ("/" if name.endswith("/") else "")
