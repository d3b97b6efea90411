"""What came of one call in the past: a refusal, sweeps, overwrites; and the files that it is about. Plain records."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.canonical import Canonical
    from dibs.errors import DibsError
    from dibs.lookback.moments import Change, Moment
    from dibs.operations.guards.shared_tree import TreeEffect


class Work:
    """One file that agents changed."""

    __slots__ = ("at", "author", "made", "owners", "staged", "version")

    def __init__(self) -> None:
        self.version = 0
        self.author = ""
        self.at = 0  # when it was changed last
        self.owners: dict[str, int] = {}  # agents with unfinished work in it → since when
        self.staged = False
        self.made = False  # by a whole write of an agent that had not read it: git does not know it yet


class Place:
    """A file in a working tree."""

    __slots__ = ("ignored", "resource", "text", "tree")

    def __init__(self, tree: str, resource: Canonical, *, ignored: bool) -> None:
        self.tree, self.resource, self.ignored = tree, resource, ignored
        self.text = resource[1]


class Refusal:
    """A call that dibs would have refused."""

    __slots__ = ("alone", "error", "moment", "paths")

    def __init__(self, moment: Moment, error: DibsError, *, alone: bool, paths: list[str]) -> None:
        self.moment, self.error, self.alone, self.paths = moment, error, alone, paths


class Sweep:
    """A git command over other agents' uncommitted work."""

    __slots__ = ("does", "moment", "owners", "paths", "what")

    def __init__(self, moment: Moment, effect: TreeEffect, paths: list[str], owners: list[str]) -> None:
        self.moment, self.what, self.does = moment, effect["what"], effect.get("does", "")
        self.paths, self.owners = paths, owners


class Overwrite:
    """A whole file, written over a content of another agent that the writer had not seen."""

    __slots__ = ("at", "author", "moment", "path")

    def __init__(self, moment: Moment, path: str, author: str, at: int) -> None:
        self.moment, self.path, self.author, self.at = moment, path, author, at


class Judged:
    """What came of one call."""

    __slots__ = ("changed", "overwrites", "refusal", "sweeps")

    def __init__(self) -> None:
        self.refusal: Refusal | None = None
        self.sweeps: list[Sweep] = []
        self.overwrites: list[Overwrite] = []
        self.changed: list[tuple[Place, Change]] = []
