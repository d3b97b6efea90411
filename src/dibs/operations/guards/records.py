"""What the guards store: kept contents, unsettled paths, makers of stashes, reported reflogs, deploys.

Their types, keys, reading and writing; nothing is decided here. All times are on the store's clock, in milliseconds.
The lines of a ledger are in a file of each working tree, not in the store: ledger.py has them.
"""

from __future__ import annotations

from dibs.operations.core.call import due
from dibs.stores.seam import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import NotRequired, TypedDict

    from dibs.operations.core.call import Process
    from dibs.stores.seam import Transaction

    class KeptFile(TypedDict):
        """A file as it was before a change, which `dibs restore` can write back; and who made the change."""

        violation: str  # its id: `v`, and that of the ledger's change, if there is one
        path: str
        tree: str  # the working tree
        holder: str  # whose file it was
        by: str  # who changed it; "" if that is not certain
        at: int
        blob: str  # the content before; "": there was no file
        overwritten: str  # the content after; "": there is no file, or that is not known
        until: int  # then it is forgotten
        how: NotRequired[str]  # violated, unattributed, taken, doubted, forced, removed; absent: before a restore
        suspects: NotRequired[list[str]]  # who may have changed it; absent if no change was found
        grade: NotRequired[str]  # how certain that is; absent in the same way
        ledger: NotRequired[str]  # the ledger of the working tree that was removed with it
        restored: NotRequired[bool]  # it was, since then
        place: NotRequired[str]  # the credential of the far caller that reported it, by whom alone it is restored

    class Unsettled(TypedDict):
        """A path of which nobody has decided yet what it should contain. No commit takes it."""

        ids: list[str]  # the changes, each a `KeptFile`; the newest last
        until: int  # then it is forgotten

    class Stashes(TypedDict):
        """Which agent made which stash of git's, as the last allowed command left it."""

        makers: dict[str, str]  # stash → agent
        making: str  # the agent whose command makes the next one; "" if none does
        seen: list[str]  # the stashes at that time
        count: NotRequired[int]  # how many that command makes; absent: one (version 0.2 and earlier)

    class Reflog(TypedDict):
        """How much of a working tree's reflog was reported."""

        size: int  # bytes

    class Risks(TypedDict):
        """The risks of a deploy that its agent accepted."""

        unsynced: NotRequired[bool]  # it was not compared with the remote
        rollback: NotRequired[bool]  # older content is wanted

    class Deploy(Risks):
        """The last good deploy of a target."""

        commit: str
        result: str  # ok, unchecked
        at: int
        agent: str
        token: int  # of the claim on the target

    class RunningDeploy(Risks):
        """The running deploy of a target. It ends with its process."""

        process: Process | None
        runs: NotRequired[Process]  # the process of its command
        agent: str
        commit: str
        at: int
        token: int  # of the claim on the target


CONTENT_LIFE_MS = 30 * 86_400_000  # how long a content can be restored, and a path stays unsettled
TARGET_LIFE_MS = 366 * 86_400_000  # a target that was not deployed to for a year is a new one: previews have many names
REFLOG_LIFE_MS = 366 * 86_400_000  # a working tree in which nothing moved for a year is forgotten: agents make many
MAX_UNSETTLED = 8  # changes of one path


# --- keys


def kept_key(kept: str) -> str:
    """A kept content, by its id."""
    return f"v\t{kept}"


def unsettled_key(tree: str, path: str) -> str:
    """An unsettled path."""
    return f"vu\t{tree}\t{path}"  # not `u`: that is a run, and a sweep would take this for one


def unsettled_prefix() -> str:
    """All unsettled paths."""
    return "vu\t"


def stashes_key() -> str:
    """The makers of stashes."""
    return "gs"


def reflog_key(tree: str) -> str:
    """How much of a working tree's reflog was reported."""
    return f"gh\t{tree}"


def deploy_key(target: str) -> str:
    """The last good deploy of a target."""
    return f"d\t{target}"


def running_deploy_key(target: str) -> str:
    """The running deploy of a target."""
    return f"D\t{target}"


def target_of(key: str) -> str:
    """The target in the key of a deploy."""
    return key.partition("\t")[2]


def held_file(claim: str, path: str) -> str:
    """The name of a file of a claim, where a door brings the contents of several (`idle`). It is not stored."""
    return f"{claim}\t{path}"


# --- kept contents


def new_kept(tx: Transaction, kept: str, path: str, tree: str, *, holder: str, by: str, blob: str) -> KeptFile:
    """What is kept of a file, from now on; not written yet."""
    return {
        "violation": kept, "path": path, "tree": tree, "holder": holder, "by": by, "at": tx.now, "blob": blob,
        "overwritten": "", "until": tx.now + CONTENT_LIFE_MS,
    }  # fmt: skip


def get_kept(tx: Transaction, kept: str) -> KeptFile | None:
    """A kept content by its id."""
    record: KeptFile | None = tx.get(kept_key(kept))
    return record


def get_kept_of(tx: Transaction, ids: Sequence[str]) -> dict[str, KeptFile | None]:
    """Any number of kept contents by their ids; None for unknown ones."""
    records = tx.get_many([kept_key(kept) for kept in ids])
    return {kept: records[kept_key(kept)] for kept in ids}


def all_kept(tx: Transaction) -> Iterator[KeptFile]:
    """Every kept content."""
    return (record for _, record in walk(tx, kept_key("")))


def put_kept(tx: Transaction, kept: KeptFile, place: str) -> None:
    """Write a kept content; `place`: the credential of the far caller that reports it, "" for what this machine saw."""
    if place:
        kept["place"] = place
    tx.put(kept_key(kept["violation"]), kept, i2=due(kept["until"]))


def place_of(kept: KeptFile) -> str:
    """Where it is restored: by the far caller with this credential alone; "": on this machine."""
    return kept.get("place", "")


# --- unsettled paths


def get_unsettled(tx: Transaction, tree: str, path: str) -> Unsettled | None:
    """The changes of a path that are not settled."""
    record: Unsettled | None = tx.get(unsettled_key(tree, path))
    return record


def get_unsettled_of(tx: Transaction, tree: str, paths: Sequence[str]) -> dict[str, Unsettled]:
    """The same for any number of paths; those that are settled are left out."""
    records = tx.get_many([unsettled_key(tree, path) for path in paths])
    return {path: record for path in paths if (record := records[unsettled_key(tree, path)]) is not None}


def put_unsettled(tx: Transaction, tree: str, path: str, unsettled: Unsettled) -> None:
    """Write the changes of a path that are not settled."""
    tx.put(unsettled_key(tree, path), unsettled, i2=due(unsettled["until"]))


def delete_unsettled(tx: Transaction, tree: str, path: str) -> None:
    """A path is settled."""
    tx.delete(unsettled_key(tree, path))


# --- git


def get_stashes(tx: Transaction) -> Stashes | None:
    """The makers of stashes; None if no agent made one yet."""
    record: Stashes | None = tx.get(stashes_key())
    return record


def put_stashes(tx: Transaction, stashes: Stashes) -> None:
    """Write the makers of stashes."""
    tx.put(stashes_key(), stashes)


def get_reflog(tx: Transaction, tree: str) -> Reflog | None:
    """How much of a working tree's reflog was reported."""
    record: Reflog | None = tx.get(reflog_key(tree))
    return record


def put_reflog(tx: Transaction, tree: str, reflog: Reflog) -> None:
    """Write how much of a working tree's reflog was reported."""
    tx.put(reflog_key(tree), reflog, i2=due(tx.now + REFLOG_LIFE_MS))


# --- deploys


def get_deploy(tx: Transaction, target: str) -> Deploy | None:
    """The last good deploy of a target."""
    record: Deploy | None = tx.get(deploy_key(target))
    return record


def put_deploy(tx: Transaction, target: str, deploy: Deploy) -> None:
    """Write the last good deploy of a target."""
    tx.put(deploy_key(target), deploy, i2=due(tx.now + TARGET_LIFE_MS))


def get_running_deploy(tx: Transaction, target: str) -> RunningDeploy | None:
    """The running deploy of a target."""
    record: RunningDeploy | None = tx.get(running_deploy_key(target))
    return record


def put_running_deploy(tx: Transaction, target: str, deploy: RunningDeploy) -> None:
    """Write the running deploy of a target."""
    tx.put(running_deploy_key(target), deploy)


def delete_running_deploy(tx: Transaction, target: str) -> None:
    """No deploy of a target runs any more."""
    tx.delete(running_deploy_key(target))
