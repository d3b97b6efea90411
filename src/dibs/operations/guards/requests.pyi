"""The requests of this room. Made by `make generate` from its declarations."""

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from dibs.operations.core.call import Process

class AtWorkRequest(TypedDict):
    """The request of `at-work`."""

    resources: Sequence[Sequence[str]]
    tree: str
    of: Sequence[str]

class AuditRequest(TypedDict):
    """The request of `audit`."""

    found: Sequence[Any]
    release: Sequence[str]
    tool: str
    unmade: Sequence[tuple[str, Sequence[str]]]

class ChangedRequest(TypedDict):
    """The request of `changed`."""

    found: Sequence[Any]

class CommandRequest(TypedDict):
    """The request of `command`."""

    tree: str
    sweeps: Sequence[Any]
    unresolved: Sequence[Any]
    index: Sequence[Sequence[str]]
    waits: bool
    acts: Sequence[str]
    deploys: Sequence[tuple[str, str, str]]
    client: str
    owned: Sequence[tuple[str, Sequence[str], Sequence[str], bool]]
    loose: Sequence[tuple[str, Sequence[str], bool]]
    spoken: Sequence[tuple[str, str]]

class CommitCheckRequest(TypedDict):
    """The request of `commit-check`."""

    paths: Sequence[Sequence[str]]
    tree: str
    client: str
    owned: Sequence[tuple[Sequence[str], Sequence[str], bool]]

class CommittedRequest(TypedDict):
    """The request of `committed`."""

    commit: str
    tree: str
    items: Sequence[tuple[Sequence[str], bool]]
    how: Literal["checked", "past", "replayed"]
    suspects: Sequence[str]

class DeployCheckRequest(TypedDict):
    """The request of `deploy-check`."""

    targets: Sequence[str]
    client: str

class DeployFinishRequest(TypedDict):
    """The request of `deploy-finish`."""

    target: str
    token: int
    commit: str
    result: Literal["ok", "failed", "unverified", "unchecked", "interrupted"]
    seconds: float
    exit: int | None
    keep: bool

class DeployJudgeRequest(TypedDict):
    """The request of `deploy-judge`."""

    target: str
    syncs: Sequence[Any]
    contains: bool | None
    changed: Sequence[str]
    tree: str
    placeholders: Sequence[Any]
    unsynced: bool
    rollback: bool
    dirty: bool
    under: Any

class DeployStartRequest(TypedDict):
    """The request of `deploy-start`."""

    target: str
    token: int
    commit: str
    command: str
    process: Process | None
    runs: Process | None
    unsynced: bool
    rollback: bool

class DoubtRequest(TypedDict):
    """The request of `doubt`."""

    why: str
    tool: str

class EditRequest(TypedDict):
    """The request of `edit`."""

    targets: Sequence[Any]
    tree: str
    local: bool
    client: str
    tool: str
    more: Sequence[Any]
    wait: int
    waiter: str
    wake: str

class EndIdleRequest(TypedDict):
    """The request of `end-idle`."""

    idle: Sequence[tuple[str, str]]
    over: bool

class GateRequest(TypedDict):
    """The request of `gate`."""

    files: Sequence[str]
    commits: int
    unlanded: int
    branch: str
    target: str
    head: str
    failed: str
    excused: bool
    shown: bool
    answerable: bool

class GiveBackRequest(TypedDict):
    """The request of `give-back`."""

    release: Sequence[str]

class IdleRequest(TypedDict):
    """The request of `idle`."""

    now: dict[str, str] | None
    busy: bool

class MergingRequest(TypedDict):
    """The request of `merging`."""

    tree: str
    what: Literal["merge", "cherry-pick", "revert", "rebase", "conflict resolution", ""]
    paths: Sequence[Sequence[str]]

class MovedRequest(TypedDict):
    """The request of `moved`."""

    tree: str
    size: int
    moves: Sequence[tuple[int, str, str, str]]
    owners: Sequence[str]

class OthersRequest(TypedDict):
    """The request of `others`."""

    tree: str

class PeersRequest(TypedDict):
    """The request of `peers`."""

    agents: Sequence[str]

class PushBypassedRequest(TypedDict):
    """The request of `push-bypassed`."""

    remote: str
    branch: str
    commit: str
    by: str

class PushOverRequest(TypedDict):
    """The request of `push-over`."""

    remote: str
    branch: str
    makers: dict[str, str]

class RestorableRequest(TypedDict):
    """The request of `restorable`."""

    tree: str
    path: str
    ids: Sequence[str]
    limit: int
    after: str

class RestoreTakeRequest(TypedDict):
    """The request of `restore-take`."""

    kept: str
    resource: Sequence[str]
    tree: str
    now: str
    local: bool

class TreeRemovedRequest(TypedDict):
    """The request of `tree-removed`."""

    tree: str
    name: str
    work: Sequence[tuple[str, Sequence[str], str, Sequence[str]]]
    age: int

class TreeReturnedRequest(TypedDict):
    """The request of `tree-returned`."""

    name: str
    tree: str

class UndoDoneRequest(TypedDict):
    """The request of `undo-done`."""

    undo: str
    of: Sequence[str]
    what: str
    paths: Sequence[str]
    tree: str
    restored: int
    conflicts: int
    commit: str
    claim: str
    release: bool
    code: str

class UndoRequest(TypedDict):
    """The request of `undo`."""

    undo: str
    of: Sequence[str]
    what: str
    paths: Sequence[Sequence[str]]
    tree: str
    count: int
    local: bool

class UnitsInUseRequest(TypedDict):
    """The request of `units-in-use`."""

    resources: Sequence[Sequence[str]]
    machine: str

class UnitsRequest(TypedDict):
    """The request of `units`."""

    resources: Sequence[Sequence[str]]
    words: str
    busy: Sequence[str]
    wait: int
    unusable: Sequence[str]
    pressure: Any
    machine: str
    waiter: str
    wake: str
