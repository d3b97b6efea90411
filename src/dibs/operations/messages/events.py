"""The events of messages and subscriptions, as types of their data. operations/core/events.py says how to add one."""

from __future__ import annotations

from typing import TypedDict

from dibs.operations.core.events import Json, Requested

From = TypedDict("From", {"from": str})  # the sender


class MessagePosted(Requested):
    """message.posted: A message was put into an inbox.

    Subject: recipient; `type:T` if it is kept for agents that come later.
    """

    id: str
    type: str


class MessageAcknowledged(From):
    """message.acknowledged: A message was acknowledged. Subject: message id."""


class MessageExpired(From):
    """message.expired: A message was removed before it was acknowledged. Subject: message id."""

    delivery: int  # how often it was shown


class MessageDropped(TypedDict):
    """message.dropped: A message of dibs itself was dropped, because the inbox was full. Subject: recipient."""

    type: str


class EventEmitted(Requested):
    """event.emitted: An agent emitted an event of its own. Subject: the kind that the agent named."""

    data: Json


class EventSubscribed(TypedDict):
    """event.subscribed: An agent subscribed to events. Subject: the kind, prefix or `state:KEY`."""

    cursor: int


class EventUnsubscribed(TypedDict):
    """event.unsubscribed: A subscription ended. Subject: the kind, prefix or `state:KEY`."""
