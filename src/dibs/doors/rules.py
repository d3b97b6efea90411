"""The workspace's rules, `.dibs/rules.md`: read here, and known by their digest."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.facts.workspace import Place

LARGEST = 64 * 1024  # rules that long are not read by anybody; the rest is left out, and the file is named
DIGITS = 12  # of the digest: it tells versions of one file apart, it is no seal


def path_of(place: Place) -> str:
    """The rules as this working tree has them, else those of the main one."""
    own = os.path.join(place.top, ".dibs", "rules.md")
    return own if os.path.exists(own) else os.path.join(place.root, ".dibs", "rules.md")


def text(place: Place) -> str:
    """The rules, or "" where there are none."""
    try:
        with open(path_of(place), "rb") as file:
            return file.read(LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""


def digest(place: Place) -> str:
    """The rules' name, by what they say; "" where there are none. Blanks at line ends do not make other rules."""
    rules = "\n".join([line.rstrip() for line in text(place).strip().split("\n")])
    if not rules:
        return ""
    from dibs.stores.seam import digest_of

    return digest_of(rules)[:DIGITS]
