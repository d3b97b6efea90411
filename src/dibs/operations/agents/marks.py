"""Marks: empty files next to the store, by which a hook knows without opening the store that it has to ask there.

A mark is never the truth. One too many costs a look into the store; one that is missing is found out at the agent's
next call that opens the store anyway. Every hook loads this file: it imports nothing.
"""

from __future__ import annotations

FOLDER = "wakes"  # below `.dibs/local`: stores/sqlite/wakes.py leaves them there
MAX_FILE_NAME_CHARS = 120  # a longer part of an id is cut and gets a digest


def safe(name: str) -> str:
    """A part of an agent's id as a file name: other characters are escaped, so that no two ids collide."""
    plain = "".join([letter if letter.isalnum() or letter in "-_@" else f"%{ord(letter):x}." for letter in name])
    if len(plain) <= MAX_FILE_NAME_CHARS:
        return plain
    from dibs.stores.seam import digest_of

    return f"{plain[: MAX_FILE_NAME_CHARS - 20]}%{digest_of(name)[:16]}"


def mark_of(agent: str) -> str:
    """The mark that says: this agent has mail."""
    return f"@{safe(agent)}"


def stop_mark_of(agent: str) -> str:
    """The mark that says: this agent may have been killed. No id becomes a name with `!`."""
    return f"@!{safe(agent)}"
