"""What kind of refusal an error is, and recorded texts as they may be shown: short, on one line, without secrets."""

from __future__ import annotations

import re

from dibs.audit.html_text import clean
from dibs.errors import DibsError

MAX_COMMAND_LETTERS, MAX_MESSAGE_LETTERS = 160, 400
STRICT = "strict path, or dibs' own files"
TAKEN_IN = "git would take in another agent's files"
TAKEN_AWAY = "git would overwrite or delete them"
UNREAD = "a content that it has not read"
HELD = "a file that another agent holds"
# A sign in the message → the cause; the first that is there.
SIGNS = (
    ("is strict here", STRICT), ("own record", STRICT), ("would take in", TAKEN_IN), ("would commit", TAKEN_IN),
    ("change the branch", "another branch"), ("move the branch", "another branch"), ("would write over", TAKEN_AWAY),
    ("would take away", TAKEN_AWAY), ("would delete", TAKEN_AWAY),
    ("cannot be read", "a target that the words leave open"),
    ("may write", "a program or formatter that may write them"), ("may ", "git, as far as can be read"),
    ("deploys to", "a deploy"), ("have not read", UNREAD), ("since you last read", UNREAD), ("is not free", HELD),
    ("holds", HELD),
)  # fmt: skip
# What looks like a secret in a command: a value of a variable or option with such a name, a long random word.
_NAMED = re.compile(
    r"(?i)((?:token|secret|passw(?:or)?d|api[-_]?key|credential|authorization)[\w-]*['\"]?(?:\s*[=:]\s*|\s+)['\"]?"
    r"(?:(?:bearer|basic)\s+)?)[^\s'\"]{4,}"
)
_RANDOM = re.compile(r"(?<![\w/.-])(?=[A-Za-z_-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9_-]{32,}(?![\w/.-])")
_IN_URL = re.compile(r"(://)[^\s/@]+@")


def of(error: Exception) -> str:
    """What kind of refusal this is; "an error" if it is none."""
    if not isinstance(error, DibsError):
        return "an error"
    return next((cause for sign, cause in SIGNS if sign in error.message), error.code)


def shown(text: str, longest: int = MAX_COMMAND_LETTERS) -> str:
    """A recorded text for a person: its first lines on one line, with what looks like a secret left out."""
    text = _IN_URL.sub(r"\1…@", text[: longest * 4])
    return clean(_RANDOM.sub("…", _NAMED.sub(r"\1…", text)), longest)
