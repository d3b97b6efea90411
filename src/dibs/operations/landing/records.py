"""What is stored of landings and coming conflicts: types, keys, index entries. Nothing is decided here."""

from __future__ import annotations

from dibs.operations.core.call import due
from dibs.stores.seam import digest_of, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final, Literal, NotRequired, TypedDict

    from dibs.operations.agents.records import Process
    from dibs.stores.seam import Transaction

    Outcome = Literal["landed", "refused", "cancelled"]
    Stage = Literal["checking", "moving"]
    Hunk = list[int]  # first line and number of lines of the one side, then of the other

    class Landing(TypedDict):
        """A branch that is to become a part of the target, or was decided."""

        landing: str  # its id
        target: str  # the branch that it lands on
        branch: str
        commit: str  # "": the branch's last one at the time it is landed
        agents: list[str]  # that queued it, and are told; the last one at the end
        at: int  # ms: when it was queued
        order: int  # its number among all landings of the target
        priority: int  # higher comes first
        state: Literal["queued"] | Outcome
        home: NotRequired[str]  # the clone that it was queued in; landings of earlier versions have none
        stopped: NotRequired[str]  # the cause that its agents were told of, while nothing can land
        decided: NotRequired[int]  # ms
        landed: NotRequired[str]  # its commit on the target
        token: NotRequired[int]  # of the lander
        code: NotRequired[str]  # of a refusal: one of lander.CODES
        why: NotRequired[str]  # the same in words
        paths: NotRequired[list[str]]  # that conflict
        output: NotRequired[str]  # the end of the check's output
        log: NotRequired[str]  # the file with all of it, on the lander's machine

    class BranchOwner(TypedDict):
        """The queued landing of a branch, or the last one that landed."""

        landing: str

    class Batch(TypedDict):
        """The landings that a lander is landing, and the lander itself."""

        process: Process | None  # None: it left, with an intent that the next one looks into
        agent: str
        at: int  # ms: when it became the lander
        token: int  # of its claim
        turn: int
        stage: Stage
        landings: list[str]
        kept: bool  # the agent had the claim before, and keeps it
        base: NotRequired[str]  # of an intent: the commit where the target is
        commit: NotRequired[str]  # the commit that it is moved to
        moves: NotRequired[list[list[str]]]  # each landing, its tip, the commit it becomes

    class LastLanding(TypedDict):
        """The last time that a target moved."""

        commit: str
        at: int  # ms
        agent: str
        token: int

    class Stop(TypedDict):
        """Why nothing lands."""

        at: int  # ms: since when
        cause: str  # a digest of the cause, without what changes from look to look
        why: str  # in words
        agent: str  # the lander that found it

    class TargetState(TypedDict):
        """A branch that others land on."""

        target: str
        count: int  # landings there ever were
        queued: int
        turn: int  # rises with each lander
        running: Batch | None
        last: LastLanding | None
        stopped: NotRequired[Stop]

    class Side(TypedDict):
        """A working tree or a branch."""

        side: str  # the top of a working tree, or a branch
        branch: str
        tree: str  # the top of the working tree; "" for a branch without one
        commit: str  # with the uncommitted work
        agents: list[str]  # whose work it is

    class ConflictFile(TypedDict):
        """A file that git could not merge."""

        path: str
        kind: str  # content, add/add, modify/delete, rename/rename …
        hunks: list[Hunk]

    class ConflictFacts(TypedDict):
        """What a look finds of a coming conflict."""

        conflict: str  # its id, from its two sides
        sides: list[Side]
        files: list[ConflictFile]  # the first ones
        count: int  # of all files

    class ComingConflict(ConflictFacts):
        """Two sides that would conflict if they were merged now."""

        since: int  # ms
        seen: int  # ms: the last look that found it, roughly

    class Look(TypedDict):
        """The last look for coming conflicts in a repository of a machine."""

        at: int  # ms
        looked: int  # sides that were looked at
        left_off: int  # conflicts beyond those of the report
        conflicts: int


QUEUED: Final = "queued"
MAX_PRIORITY = 1_000
MAX_QUEUED = 1_000  # in one queue
MAX_TARGETS = 32  # with a queue, that one process lands on
MAX_TIME_MS = 10**15 - 1  # subtracted from, so that an index, which is read upwards, has the newest first
QUEUES = "landings\tqueue\t"  # how the entries of all queues begin
ID_CHARS = 12  # of a place and of a conflict


# --- keys, and entries in the first index


def landing_key(landing: str) -> str:
    """A landing: its branch and commit, its agents, its outcome."""
    return f"lq\t{landing}"


def branch_key(target: str, branch: str) -> str:
    """The queued landing of a branch, or the last one that landed."""
    return f"lb\t{target}\t{branch}"


def target_key(target: str) -> str:
    """A target: the numbers of landings, the running batch with its process and intent, the last landing."""
    return f"lt\t{target}"


def _conflict_prefix(place: str) -> str:
    """The coming conflicts of two working trees or branches of a place."""
    return f"rp\t{place}\t"


def _look_key(place: str) -> str:
    """The last look for coming conflicts in a repository of a machine."""
    return f"rl\t{place}"


def queue_of(target: str) -> str:
    """The queue of a target: by priority, then by age."""
    return f"{QUEUES}{target}\t"


def decided_on(target: str) -> str:
    """The decided landings of a target, the newest first."""
    return f"landings\tover\t{target}\t"


CONFLICTS = "radar\t"  # the coming conflicts of all places, by age


def _queue_entry(landing: Landing) -> str:
    rank = MAX_PRIORITY - landing["priority"]
    return f"{queue_of(landing['target'])}{rank:05d}\t{landing['order']:012d}\t{landing['landing']}"


# --- landings


def get_landing(tx: Transaction, landing: str) -> Landing | None:
    """A landing by its id; None of one that is decided and forgotten."""
    record: Landing | None = tx.get(landing_key(landing))
    return record


def get_landings(tx: Transaction, landings: Iterable[str]) -> dict[str, Landing | None]:
    """Landings by their ids."""
    keys = {name: landing_key(name) for name in landings}
    stored = tx.get_many(list(keys.values()))
    return {name: stored[key] for name, key in keys.items()}


def find_landing(tx: Transaction, target: str, word: str) -> Landing | None:
    """A landing by its id or by its branch."""
    landing: Landing | None
    owner: BranchOwner | None
    landing, owner = tx.get_many([landing_key(word), branch_key(target, word)]).values()
    return landing or (get_landing(tx, owner["landing"]) if owner is not None else None)


def landing_of(tx: Transaction, target: str, branch: str) -> Landing | None:
    """The queued landing of a branch, or the last one that landed."""
    owner: BranchOwner | None = tx.get(branch_key(target, branch))
    return get_landing(tx, owner["landing"]) if owner is not None else None


def put_landing(tx: Transaction, landing: Landing, until: int = 0) -> None:
    """Write a landing: listed with the queued or the decided ones; a sweep deletes a decided one after `until`."""
    key = landing_key(landing["landing"])
    if landing["state"] == QUEUED:
        tx.put(key, landing, _queue_entry(landing))
        return
    entry = f"{decided_on(landing['target'])}{MAX_TIME_MS - landing['decided']:015d}\t{landing['landing']}"
    tx.put(key, landing, entry, due(until))


def put_branch(tx: Transaction, landing: Landing, until: int = 0) -> None:
    """Write which landing a branch has; a sweep deletes it after `until`, if that is said."""
    owner: BranchOwner = {"landing": landing["landing"]}
    tx.put(branch_key(landing["target"], landing["branch"]), owner, i2=due(until) if until else None)


def delete_branch(tx: Transaction, landing: Landing) -> None:
    """The branch of this landing has none any more."""
    tx.delete(branch_key(landing["target"], landing["branch"]))


def queued_landings(tx: Transaction, target: str, limit: int) -> list[Landing]:
    """The first landings of a queue."""
    return [landing for _, _, landing in tx.scan(1, queue_of(target), limit).rows]


def place_in_queue(tx: Transaction, landing: Landing) -> int:
    """The place of a queued landing, from 1."""
    own = _queue_entry(landing)
    return 1 + sum(1 for entry, _, _ in tx.scan(1, queue_of(landing["target"]), MAX_QUEUED).rows if entry < own)


def targets(tx: Transaction) -> list[str]:
    """The branches for which something is queued."""
    names: list[str] = []
    for _ in range(MAX_TARGETS):
        after = f"{queue_of(names[-1])}\U0010ffff" if names else ""
        rows = tx.scan(1, QUEUES, 1, after).rows
        if not rows:
            break
        names.append(rows[0][2]["target"])
    return names


def get_state(tx: Transaction, target: str) -> TargetState:
    """The state of a target: how much is queued, the batch that is being landed, the last landing."""
    state: TargetState | None = tx.get(target_key(target))
    return state or {"target": target, "count": 0, "queued": 0, "turn": 0, "running": None, "last": None}


def put_state(tx: Transaction, state: TargetState) -> None:
    """Write the state of a target."""
    tx.put(target_key(state["target"]), state)


# --- coming conflicts


def place_id(machine: str, repository: str) -> str:
    """The id of a repository of a machine; a far caller reports of its own `machine`."""
    return digest_of(f"{machine}\t{repository}" if machine else repository)[:ID_CHARS]


def conflict_id(one: str, other: str) -> str:
    """The id of a conflict of two sides, in any order."""
    return digest_of("\t".join(sorted([one, other])))[:ID_CHARS]


def place_of(key: str) -> str:
    """The place in the key of a conflict."""
    return key.split("\t")[1]


def get_conflicts(tx: Transaction, place: str) -> dict[str, ComingConflict]:
    """The coming conflicts of a place, by their ids."""
    return {conflict["conflict"]: conflict for _, conflict in walk(tx, _conflict_prefix(place))}


def put_conflict(tx: Transaction, place: str, conflict: ComingConflict, until: int) -> None:
    """Write a coming conflict; a sweep drops it after `until`."""
    entry = f"{CONFLICTS}{conflict['since']:015d}\t{conflict['conflict']}"
    tx.put(_conflict_prefix(place) + conflict["conflict"], conflict, entry, due(until))


def delete_conflict(tx: Transaction, place: str, conflict: str) -> None:
    """Delete a coming conflict."""
    tx.delete(_conflict_prefix(place) + conflict)


def get_looks(tx: Transaction) -> list[Look]:
    """The last look of each place."""
    return [look for _, look in walk(tx, _look_key(""))]


def put_look(tx: Transaction, place: str, look: Look, until: int) -> None:
    """Write the last look of a place; a sweep deletes it after `until`."""
    tx.put(_look_key(place), look, i2=due(until))
