"""What a command may not touch unasked: what other agents hold, what they have not finished, what nobody has read.

Each kind is a class of its own: a claim, unfinished work that no claim covers, a change that no agent made. It says
which commands it is in the way of, and how a refusal names it. working_tree.py and shell_guard.py decide with them.
"""

from __future__ import annotations

from dibs.errors import quoted
from dibs.operations.agents.names import name_of
from dibs.operations.claims import records as claim_records
from dibs.operations.claims import resources, views
from dibs.operations.core.call import related
from dibs.operations.guards.edit_guard import is_present

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.operations.claims.answers import BlockerView
    from dibs.operations.claims.records import Claim, Holding
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.call import Call
    from dibs.operations.guards.shared_tree import TreeEffect
    from dibs.stores.seam import Transaction

    OwnedPath = tuple[str, Resource, Sequence[str], bool]  # working tree, path, owners; has the caller read it?
    UnreadPath = tuple[str, Resource, bool]  # working tree, path; was it changed since the caller began?

KEEPS = frozenset({"take in", "commit", "may take in", "may commit", "stage changes of"})  # what no content is lost by


class Concern:
    """What one agent, or a person, has in some files."""

    __slots__ = ("agent", "resources", "tree")

    def __init__(self, agent: str, tree: str, paths: Sequence[Resource]) -> None:
        self.agent = agent  # "": no agent's
        self.tree = tree  # the working tree; "": all of them
        self.resources = paths

    @property
    def is_at_work(self) -> bool:
        """Is its agent at work there?"""
        return True

    @property
    def is_left(self) -> bool:
        """Did its agent end, so that another one may take it over?"""
        return False

    def is_in_the_way(self, effect: TreeEffect) -> bool:  # noqa: ARG002 - the other kinds need it
        """May git not do that to its files?"""
        return True

    def who(self, tx: Transaction) -> str:
        """Whose it is, in a refusal."""
        raise NotImplementedError

    def blocker(self, tx: Transaction, wanted: Sequence[Resource]) -> BlockerView | None:  # noqa: ARG002 - as above
        """As a blocker in a refusal's fields; None if no agent is in the way."""
        return None


class HeldFiles(Concern):
    """A claim of another agent."""

    __slots__ = ("claim",)

    def __init__(self, claim: Claim) -> None:
        super().__init__(claim["agent"], claim["tree"], claim["resources"])
        self.claim = claim

    def who(self, tx: Transaction) -> str:
        """The holder, and how much longer."""
        return f"{name_of(tx, self.agent)}, {views.left(tx, self.claim)}"

    def blocker(self, tx: Transaction, wanted: Sequence[Resource]) -> BlockerView:
        """As a blocker in a refusal's fields."""
        return views.blocker(tx, self.claim, wanted)


class UnfinishedWork(Concern):
    """Unfinished work of another agent in one file, which no claim covers."""

    __slots__ = ("is_known", "is_present", "is_shared")

    def __init__(
        self, agent: str, tree: str, path: Resource, *, is_present: bool, is_shared: bool, is_known: bool
    ) -> None:
        super().__init__(agent, tree, [list(path[:2])])
        self.is_present = is_present  # the agent is still there
        self.is_shared = is_shared  # the caller may have done it
        self.is_known = is_known  # the caller holds the path and has read what is there, so that it may commit it

    @property
    def is_at_work(self) -> bool:
        """Is its agent still there?"""
        return self.is_present

    @property
    def is_left(self) -> bool:
        """Did its agent end?"""
        return not self.is_present

    def is_in_the_way(self, effect: TreeEffect) -> bool:
        """What keeps the content may have an ended agent's work, and what the caller may commit."""
        return effect.get("does", "") not in KEEPS or (self.is_present and not self.is_known)

    def who(self, tx: Transaction) -> str:
        """The owner of the work."""
        name = name_of(tx, self.agent)
        if self.is_shared:
            path = quoted(self.resources[0][1])
            return f"uncommitted work of {name} or of you; if it is yours, `dibs claim {path}`"
        return f"uncommitted work of {name}" if self.is_present else f"uncommitted work that {name} left"

    def blocker(self, tx: Transaction, wanted: Sequence[Resource]) -> BlockerView:
        """As a blocker in a refusal's fields."""
        shown: Holding = {
            "agent": self.agent, "mode": resources.WRITE, "tree": self.tree, "resources": self.resources,
            "reason": "uncommitted work", "by": "", "since": tx.now, "until": tx.now,
        }  # fmt: skip
        return views.blocker(tx, shown, wanted)


class UnreadChange(Concern):
    """An uncommitted change that no agent made, in one file, and that the caller has not read."""

    __slots__ = ("is_later",)

    def __init__(self, tree: str, path: Resource, *, is_later: bool) -> None:
        super().__init__("", tree, [list(path[:2])])
        self.is_later = is_later  # it was made since the caller began

    @property
    def is_at_work(self) -> bool:
        """No agent is."""
        return False

    def is_in_the_way(self, effect: TreeEffect) -> bool:
        """What drops it may not, if it is new; a removed working tree cannot be brought back, so that counts always."""
        return effect.get("drops", False) and (self.is_later or effect.get("own", False))

    def who(self, tx: Transaction) -> str:  # noqa: ARG002 - the other kinds need it
        """Nobody's, as far as is known."""
        return "changed by no agent, and you have not read it"


def is_file(resource: Resource) -> bool:
    """Is this a path, a folder or a glob?"""
    return resource[0] in resources.LITERAL_KINDS or resource[0] == "glob"


class _Covered:
    """The paths that these resources, each with its working tree, cover: a refusal names each file once."""

    __slots__ = ("files", "wide")

    def __init__(self, held: Iterable[tuple[str, Sequence[Resource]]]) -> None:
        self.files: set[tuple[str, str]] = set()
        self.wide: list[tuple[str, Resource]] = []  # folders and globs
        for tree, paths in held:
            for resource in paths:
                if resource[0] == "file":
                    self.files.add((tree, resource[1]))
                elif is_file(resource):
                    self.wide.append((tree, resource))

    def has(self, tree: str, path: Resource) -> bool:
        """Does one of them count in this working tree and cover the path?"""
        if ("", path[1]) in self.files or (tree, path[1]) in self.files:
            return True
        return any(
            where in {"", tree} and resources.overlap(["file", path[1]], resource) for where, resource in self.wide
        )


def unfinished_work(
    tx: Transaction, call: Call, owned: Sequence[OwnedPath], held: Sequence[Claim]
) -> list[UnfinishedWork]:
    """Other agents' unfinished work that none of these claims covers."""
    works: list[UnfinishedWork] = []
    present: dict[str, bool] = {}
    covered = _Covered((claim["tree"], claim["resources"]) for claim in held)
    own = _Covered(
        (claim["tree"], claim["resources"])
        for claim in (claim_records.claims_of(tx, call.agent) if owned else ())
        if claim["until"] > tx.now and claim["mode"] == resources.WRITE
    )
    for tree, path, owners, is_read in owned:
        others = [owner for owner in owners if not related(owner, call.agent)]
        if not others or covered.has(tree, path):
            continue
        agent = others[0]
        if agent not in present:
            present[agent] = is_present(tx, call, agent)
        works.append(
            UnfinishedWork(
                agent, tree, path, is_present=present[agent], is_shared=len(others) < len(owners),
                is_known=is_read and own.has(tree, path),
            )
        )  # fmt: skip
    return works


def unread_changes(unread: Sequence[UnreadPath], others: Sequence[Concern]) -> list[UnreadChange]:
    """The changes that no agent made and the caller has not read, in files that no other concern has."""
    covered = _Covered((concern.tree, concern.resources) for concern in others)
    return [
        UnreadChange(tree, path, is_later=is_later) for tree, path, is_later in unread if not covered.has(tree, path)
    ]
