"""The keys of the rooms that have no records.py yet. `tools/key_definitions.py` reads all others from there.

Parts of a key are separated by TAB, written ⇥ here; words in capitals stand for values. No operation imports this
file. A room that defines a key deletes its row here.
"""

from __future__ import annotations

# Form → room, what is stored there.
KEYS: dict[str, tuple[str, str]] = {
    "v⇥ID": ("guards", "a reported change whose content before is kept, by the ledger's id"),
    "vu⇥TREE⇥PATH": (
        "guards",
        "a path that is unsettled: no commit takes it until it is restored, acknowledged, or edited after reading",
    ),
    "gs": (
        "guards",
        "the makers of stashes: `makers` (stash → agent), the maker of the next one, the stashes at that time",
    ),
    "gh⇥TREE": ("guards", "how much of a working tree's reflog was reported: `size`"),
    "d⇥TARGET": ("guards", "the last good deploy of a target"),
    "D⇥TARGET": ("guards", "the running deploy of a target"),
}
