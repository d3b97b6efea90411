"""The answers of the room of messages, as types. operations/core/answers.py says how they are used."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from dibs.operations.core.answers import Page

_From = TypedDict("_From", {"from": str})


class MessageView(_From):
    """A message. From `resource` on: what dibs' own messages tell."""

    from_name: NotRequired[str]
    message: str
    type: str
    text: str
    at: str
    delivery: int  # how often it was shown before
    expires_at: NotRequired[str]
    ack: NotRequired[bool]  # it is shown again until it is acknowledged
    thread: NotRequired[str]
    reply_to: NotRequired[str]
    payload: NotRequired[Any]
    resource: NotRequired[str]
    resources: NotRequired[list[str]]
    handover: NotRequired[str]  # the id of the hand-over
    about: NotRequired[str]  # the agent whose work was handed over
    violation: NotRequired[str]
    undo: NotRequired[str]
    tree: NotRequired[str]
    commit: NotRequired[str]
    task: NotRequired[str]
    acknowledged: NotRequired[str]
    by: NotRequired[str]
    by_name: NotRequired[str]
    undelivered: NotRequired[str]
    recipient: NotRequired[str]
    dead: NotRequired[str]
    pid: NotRequired[int]
    alert: NotRequired[str]
    kind: NotRequired[str]
    subject: NotRequired[str]
    seq: NotRequired[int]
    data: NotRequired[Any]
    cut: NotRequired[bool]
    dropped: NotRequired[list[int]]
    state: NotRequired[str]
    vote: NotRequired[str]
    options: NotRequired[list[str]]
    outcome: NotRequired[str]
    option: NotRequired[str | None]
    landing: NotRequired[str]
    branch: NotRequired[str]
    code: NotRequired[str]
    paths: NotRequired[list[str]]
    conflict: NotRequired[str]
    files: NotRequired[list[str]]


class InboxAnswer(Page):
    """Of `inbox`."""

    messages: list[MessageView]


class AckAnswer(TypedDict):
    """Of `ack`."""

    message: str
    path: NotRequired[str]  # of a change to a file that may stay


class SendAnswer(TypedDict):
    """Of `send`."""

    message: str
    to: list[str]
    to_name: NotRequired[list[str]]
    count: int  # agents that got it
    thread: str
    full: NotRequired[list[str]]  # whose inboxes have no room
    later: NotRequired[bool]  # it is kept for agents that come later


class EmitAnswer(TypedDict):
    """Of `emit`."""

    event: str


class SubscribeAnswer(TypedDict):
    """Of `subscribe`."""

    subscription: str
    cursor: int
    off: NotRequired[bool]


class SubscriptionView(TypedDict):
    """What an agent subscribes to."""

    subscription: str
    cursor: int


class SubscriptionsAnswer(Page):
    """Of `subscriptions`."""

    subscriptions: list[SubscriptionView]
    through: int
