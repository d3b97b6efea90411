"""The events of the guards, as types of their data. operations/core/events.py says how to add one."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

# --- commits, pushes, working trees


class CommitChecked(TypedDict):
    """commit.checked: The git hook let a commit pass. Subject: working tree."""

    paths: int  # how many
    tokens: list[int]


class CommitRefused(TypedDict):
    """commit.refused: The git hook refused a commit. Subject: working tree."""

    code: str
    paths: list[str]


class CommitUnverified(TypedDict):
    """commit.unverified: A commit bypassed the git hook and has files that other agents held. Subject: commit."""

    tree: str
    how: Literal[
        "past",  # `--no-verify`
        "replayed",  # a rebase, a cherry-pick
    ]
    paths: list[str]
    holders: list[str]  # of others


class PushUnverified(TypedDict):
    """push.unverified: A push to a protected branch bypassed the git hook; git's own log has it. Subject: commit."""

    remote: str
    branch: str
    by: str  # whom git names


class TreeRemoved(TypedDict):
    """tree.removed: A working tree was removed with unfinished work of agents in it, which is kept.

    Subject: working tree.
    """

    owners: list[str]  # agents
    paths: list[str]  # the first
    count: int  # of all


Commits = TypedDict("Commits", {"from": str, "to": str})  # the commits


class GitMoved(Commits):
    """git.moved: Something moved HEAD while the agent's command ran; commits have their own events.

    Subject: working tree.
    """

    what: str  # git's text


# --- deploys


class AcceptedRisks(TypedDict):
    """What a deploy was told to accept."""

    unsynced: NotRequired[bool]
    rollback: NotRequired[bool]


class DeployStarted(AcceptedRisks):
    """deploy.started: A deploy began. Subject: target."""

    commit: str
    token: int
    command: str


class DeployFinished(AcceptedRisks):
    """deploy.finished: A deploy ended. Subject: target."""

    commit: str
    result: Literal["ok", "failed", "unverified", "unchecked", "interrupted"]
    token: int
    seconds: float
    exit: int | None
    fenced: NotRequired[bool]  # the token was lost


class DeployRefused(TypedDict):
    """deploy.refused: A deploy was refused. Subject: target."""

    code: str


# --- edits


class EditRefused(TypedDict):
    """edit.refused: The edit guard refused an edit. Subject: path."""

    code: str  # `forbidden`, `conflict`, `held`
    tree: str


class Change(TypedDict):
    """A change of a file, as it was reported."""

    id: str
    holder: str
    tree: str
    was: str  # blob
    now: str  # blob
    grade: Literal["sure", "likely", "unknown", "outside"]
    suspects: list[str]
    tool: str


class EditViolated(Change):
    """edit.violated: The agent certainly changed a file that the holder held or had unfinished work in.

    Subject: path.
    """


class EditUnattributed(Change):
    """edit.unattributed: A file that the agent held or had unfinished work in was changed; the actor is not certain.

    Subject: path.
    """


class EditTaken(Change):
    """edit.taken: The agent continued unfinished work of the holder, by a call that the edit guard let pass.

    Subject: path.
    """


class EditDoubted(Change):
    """edit.doubted: Probably the holder's own command changed the file, but others ran too. Subject: path."""


class EditAccepted(TypedDict):
    """edit.accepted: The present content was accepted (`dibs ack ID`). Subject: path."""

    id: str
    tree: str


class EditRestored(TypedDict):
    """edit.restored: A content from before a change was restored, or is there again by another's doing.

    Subject: path.
    """

    id: str  # of the restored content
    tree: str
    was: str  # blob
    now: str  # blob
    undo: str  # under which `was` is kept


# --- undo


class UndoStarted(TypedDict):
    """undo.started: An agent took files to undo what other agents, or it itself, changed in them. Subject: undo id."""

    of: list[str]  # agents
    what: str  # a claim, task or agent
    tree: str
    paths: list[str]  # the first
    count: int  # of all
    claim: str


class UndoFinished(TypedDict):
    """undo.finished: The changes are undone. Subject: undo id."""

    of: list[str]  # agents
    what: str
    tree: str
    paths: list[str]  # the first
    restored: int  # how many files
    conflicts: int  # how many have some
    claim: str
    commit: NotRequired[str]  # if one reverts committed work


class UndoRefused(TypedDict):
    """undo.refused: An undo was refused, or given up before it changed anything. Subject: undo id."""

    code: str
    of: list[str]  # agents


# --- other calls


class CommandRefused(TypedDict):
    """command.refused: The shell guard refused a command. Subject: the command."""

    code: str
    role: NotRequired[str]  # if one forbids it


class GuardDoubted(TypedDict):
    """guard.doubted: A guard could not check a call, and the config let it pass. Subject: tool."""

    why: str
