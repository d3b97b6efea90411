"""A working tree as it was at a time: its last state before that, and what the ledger saw between that and the time.

The ledger has each content that a hook's look found, at once; a state has the whole tree, a moment later. Together they
have all up to the last hook. A tree that was removed is as well known as one that is there. Nothing is changed here.
"""

from __future__ import annotations

import os

from dibs.errors import Conflict, NotFound
from dibs.ledger import contents, ledger_files
from dibs.ledger.state import MISSING, State, changes_of
from dibs.states import store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.ledger.state import Change
    from dibs.states.store import StateRecord, Store
    from dibs.workspace.location import Place

    Entry = tuple[str, str]  # a mode as git has it, and a content as the ledger calls it

MODES = {contents.PLAIN: "100644", contents.EXECUTABLE: "100755", contents.LINKED: "120000"}
KINDS = {mode: kind for kind, mode in MODES.items()}
SUBMODULE = "160000"
MS_NS = 1_000_000


class Past:
    """One working tree at one time."""

    __slots__ = ("at", "entries", "folder", "head", "kept", "record", "top")

    def __init__(self, kept: Store, folder: str, top: str, at: int | None) -> None:
        """`at`: ms of the wall clock; None for the last that is known."""
        self.kept, self.folder, self.top = kept, folder, top
        rows = [row for row in store.records(folder) if at is None or row["at"] <= at]
        self.record: StateRecord | None = rows[-1] if rows else None
        self.at = at
        self.entries: dict[str, Entry] = {}  # what is there; of a tree without states only what the ledger knows
        self.head: dict[str, Entry] = {}  # what HEAD has
        if self.record is not None:
            self.entries = _listed(kept, self.record["tree"])
            self.head = _listed(kept, self.record["head"]) if self.record["head"] else {}
        since = self.record["at"] * MS_NS if self.record is not None else 0
        for change in changes(folder):
            if change.looked > since and (at is None or change.looked <= at * MS_NS):
                if change.after == MISSING:
                    self.entries.pop(change.path, None)
                else:
                    self.entries[change.path] = (MODES[change.kinds[1]], change.after)

    @property
    def is_known(self) -> bool:
        """Is anything known of it then?"""
        return self.record is not None or bool(self.entries)

    def unfinished(self) -> list[str]:
        """The paths that differ from HEAD."""
        both = {**self.head, **self.entries}
        return sorted(path for path in both if self.head.get(path) != self.entries.get(path))

    def content(self, entry: Entry) -> bytes | None:
        """A content; None if it is gone."""
        blob = entry[1]
        found = contents.kept(f"{self.folder}/objects", blob)
        if found is None and entry[0] == MODES[contents.LINKED] and not blob.startswith(contents.LINK):
            found = contents.kept(f"{self.folder}/objects", contents.LINK + blob)
        return self.kept.read(blob.removeprefix(contents.LINK)) if found is None else found


def changes(folder: str) -> list[Change]:
    """All changes that a ledger still knows, in their order, each once."""
    found: dict[str, Change] = {}
    for change in [*changes_of(ledger_files.past(folder)), *State(ledger_files.load(folder)[0]).changes]:
        found.setdefault(change.id, change)
    return sorted(found.values(), key=lambda change: change.looked)


def _listed(kept: Store, tree: str) -> dict[str, Entry]:
    """The files of a tree; a submodule is no file."""
    found: dict[str, Entry] = {}
    for row in kept.ask("ls-tree", "-r", "-z", "--full-tree", tree).split(b"\0"):
        meta, tab, name = row.partition(b"\t")
        if tab:
            mode, _, blob = meta.decode().split(" ")
            if mode != SUBMODULE:
                found[os.fsdecode(name)] = (mode, blob)
    return found


def trees(place: Place) -> list[tuple[str, str]]:
    """The ledgers and tops of all working trees of this repository, the one in use first, then the last used.

    A top may be there twice: of a tree that was removed, and of one that was made in its place.
    """
    own = (os.path.realpath(place.private), place.top)
    if not place.common:
        return [own]
    others = {(os.path.realpath(place.shared), place.root), *ledger_files.of_linked(os.path.realpath(place.shared))}
    return [own, *sorted(others - {own}, key=_used, reverse=True)]


def _used(one: tuple[str, str]) -> float:
    """When a ledger was last written to."""
    times = []
    for name in ("live", store.RECORDS):
        try:
            times.append(os.stat(f"{one[0]}/{name}").st_mtime)
        except OSError:
            pass
    return max(times, default=0.0)


def named(place: Place, cwd: str, name: str) -> str:
    """The top of the working tree of that name: its path, its folder's name or its branch."""
    known = trees(place)
    full = os.path.normpath(os.path.join(cwd, name))
    found = [top for _, top in known if top in {full, name}]
    found = found or [top for _, top in known if os.path.basename(top) == name]
    found = found or [top for folder, top in known if any(row["branch"] == name for row in store.records(folder)[-1:])]
    tops = list(dict.fromkeys(found))
    if len(tops) > 1:
        raise Conflict(f"several working trees are called {name}: {', '.join(tops)}. Name one by its path.", tree=name)
    if not tops:
        names = ", ".join(dict.fromkeys(os.path.basename(top) for _, top in known))
        raise NotFound(f"no working tree {name} is known here; known: {names}", tree=name)
    return tops[0]


def ledgers_of(place: Place, top: str) -> list[str]:
    """The ledgers of all trees that were at this place, the last used first."""
    return [folder for folder, one in trees(place) if one == top]


def ledger_of(place: Place, top: str, at: int | None) -> str:
    """The ledger of the tree that was at this place then: that with the last state before it."""
    found = ledgers_of(place, top)
    if at is None:
        return found[0]
    last = {folder: [row["at"] for row in store.records(folder) if row["at"] <= at][-1:] for folder in found}
    return max(found, key=lambda folder: (last[folder] or [0])[0])


def is_tree(place: Place, cwd: str, name: str) -> bool:
    """Does this word mean a working tree?"""
    try:
        named(place, cwd, name)
    except NotFound:
        return False
    except Conflict:
        return True
    return True
