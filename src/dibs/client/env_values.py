"""What the environment of a working tree is made of: the tree's name, facts of it, and the texts of its variables.

A linked tree's name is that of its ledger, which outlives a move and is nobody else's, also not of a tree that is added
in its place later. Any other tree is named after its path on this machine. Nothing is decided here.
"""

from __future__ import annotations

import os

from dibs.errors import Invalid
from dibs.ledger import ledger_files
from dibs.machine import processes
from dibs.stores.seam import digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.operations.core.policy import EnvVariable
    from dibs.workspace.location import Place

    Had = Mapping[str, Mapping[str, Sequence[str]]]  # variable → pool → units

MAIN = "main"  # what the main working tree is called
ID_CHARS = 12  # of the part of a name that is nobody else's
SHORT_CHARS = 8
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")


def name_of(place: Place) -> str:
    """The name of this working tree, for the store: readable, and no other tree's on any machine."""
    ledger_files.settle(place.private, place.top)
    if os.path.islink(place.private):
        return os.path.basename(os.path.realpath(place.private))
    return f"{slug(os.path.basename(place.top))}-{digest_of(ascii([processes.host(), place.top]))[:ID_CHARS]}"


def facts_of(place: Place, name: str) -> dict[str, str]:
    """What a variable may say of the tree."""
    if not place.top.isprintable():
        raise Invalid(f"the path of this working tree has control characters: {place.top!r}", path=place.top)
    linked = place.common and place.git_dir != place.common and place.top != place.root
    return {
        "repo": slug(os.path.basename(place.root).removesuffix(".git")),
        "tree": _own_name(os.path.basename(place.git_dir)) if linked else MAIN,
        "tree_path": place.top,
        "tree_id": digest_of(ascii(name))[:SHORT_CHARS],
    }


def _own_name(name: str) -> str:
    """Git's name of a linked tree, which no other tree of the repository has, in plain letters."""
    plain = slug(name)
    return plain if plain == name != MAIN else f"{plain}-{digest_of(ascii(name))[:4]}"


def slug(text: str) -> str:
    """A text in small letters, digits, `-` and `_`: Docker, databases and hosts take no others."""
    plain = "".join([letter if letter in PLAIN else "-" for letter in text.lower()])
    return plain.strip("-_") or "tree"


def rendered(variables: Sequence[EnvVariable], had: Had, facts: Mapping[str, str]) -> dict[str, str]:
    """The variables with their texts."""
    values: dict[str, str] = {}
    blocks: dict[str, Sequence[str]] = {}
    for variable in variables:
        units = had.get(variable["name"], {})
        text = ""
        for part in variable["parts"]:
            kind, what = part["kind"], part["what"]
            if kind == "fact":
                text += facts[what]
            elif kind == "pool":
                text += ",".join(units[what])
                blocks[variable["name"]] = units[what]
            elif kind == "variable":
                text += values[what] if part["count"] < 0 else blocks[what][part["count"]]
            else:
                text += what
        values[variable["name"]] = text
    return values
