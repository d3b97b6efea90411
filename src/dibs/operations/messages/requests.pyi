"""The requests of this room. Made by `make generate` from its declarations."""

from typing import Any, TypedDict

class AckRequest(TypedDict):
    """The request of `ack`."""

    message: str

class EmitRequest(TypedDict):
    """The request of `emit`."""

    kind: str
    data: Any

class InboxRequest(TypedDict):
    """The request of `inbox`."""

    wait: int | None
    new: bool
    thread: str
    limit: int
    after: str
    waiter: str
    wake: str

class SendRequest(TypedDict):
    """The request of `send`."""

    to: str
    text: str
    type: str
    ack: bool
    later: bool
    payload: Any
    reply: str
    expires: int | None

class SubscribeRequest(TypedDict):
    """The request of `subscribe`."""

    what: str
    off: bool

class SubscriptionsRequest(TypedDict):
    """The request of `subscriptions`."""

    limit: int
    after: str
