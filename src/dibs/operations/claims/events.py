"""The events of claims, waits and interests, as types of their data. operations/core/events.py says how to add one."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from dibs.operations.claims.answers import BlockerView, Mode, WaitingStep
from dibs.operations.core.events import Requested, Token

Resource = list[str]  # kind and text


class ClaimGranted(Requested):
    """claim.granted: An agent was granted a claim. Subject: claim id."""

    resources: list[Resource]
    mode: Mode
    tree: str
    until: int
    token: Token
    via: Literal["request", "queue", "handover"]
    reason: NotRequired[str]  # if the agent said it
    task: NotRequired[str]  # if the agent said it
    pools: NotRequired[dict[str, int]]  # of the pools whose units it has: how many units there are


class ClaimRenewed(Requested):
    """claim.renewed: A claim was renewed, or a hand-over was picked up. Subject: claim id."""

    until: int
    why: NotRequired[Literal["alive"]]  # its deadline had passed, and its agent's process keeps it


class ClaimMoved(TypedDict):
    """claim.moved: A claim passed to another agent. Subject: claim id."""

    to: str  # agent
    token: Token
    why: Literal["boot", "left"]


class ClaimReleased(Requested):
    """claim.released: A holder released a claim, or a part of it. Subject: claim id."""

    resources: list[Resource]  # released
    left: list[Resource]  # still held; empty ends the claim
    why: Literal[
        "released",
        "upgraded",
        "handover",
        "left",
        "committed",
        "unchanged",
        "done",  # of a task's claim
        "failed",  # of a task's claim
        "returned",  # of a task's claim
    ]
    to: NotRequired[str]  # the new holder
    by: NotRequired[str]  # who handed it over or committed it, if another than the holder
    commit: NotRequired[str]


class ClaimEnded(TypedDict):
    """claim.ended: A claim ended without a release by its holder. Subject: claim id."""

    why: Literal[
        "expired",  # then `now` ≥ its `until`
        "gone",  # its process
        "killed",
        "cancelled",  # so was its task
        "preempted",  # so was its task
        "unclaimed",  # a hand-over that was not picked up; then `now` ≥ its `until`
        "forced",  # taken away
        "removed",  # its working tree
        "limited",  # its agent cannot go on, and its task is offered to others; then `now` ≥ its `until`
        "epoch",  # the store lost commits
    ]
    until: int
    by: NotRequired[str]  # of `forced`
    reason: NotRequired[str]  # of `forced`


class ClaimCommitted(TypedDict):
    """claim.committed: A commit has the claimed file; the claim stays.

    It was made by hand, or its file was changed again. Subject: claim id.
    """

    commit: str


class ClaimRefused(TypedDict):
    """claim.refused: A claim was refused. Subject: the first resource's text."""

    code: str
    resources: list[Resource]
    mode: Mode
    tree: str
    blockers: NotRequired[list[BlockerView] | list[WaitingStep]]
    contested: NotRequired[list[Resource]]  # the resources that were not free, if others were


class ClaimAsked(TypedDict):
    """claim.asked: An agent asked the holder to release a resource. Subject: holder."""

    resource: str
    text: str


class WaitQueued(TypedDict):
    """wait.queued: An agent was queued for a claim. Subject: waiter id."""

    resources: list[Resource]
    mode: Mode
    tree: str
    deadline: int


class WaitEnded(TypedDict):
    """wait.ended: A wait ended. Subject: waiter id."""

    why: Literal[
        "granted",
        "gave_up",
        "lapsed",
        "deadlock",
        "quota",  # the search for a deadlock would have been too long
        "killed",
        "left",
        "again",  # its agent asked again and keeps the turn under a new id
        "epoch",  # the store lost commits
    ]


class InterestLeft(TypedDict):
    """interest.left: A refused agent left an interest: it is told when the resource is free. Subject: interest id."""

    resources: list[Resource]
    mode: Mode


class InterestEnded(TypedDict):
    """interest.ended: An interest ended. Subject: interest id."""

    why: Literal["served", "lapsed", "granted", "left", "killed"]
