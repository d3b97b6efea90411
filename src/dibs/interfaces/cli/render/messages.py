"""Answers about messages and subscriptions as text for people."""

from __future__ import annotations

from dibs.client import quotes
from dibs.interfaces.cli.render import continued, listed, some, times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.interfaces.cli.render import Items
    from dibs.operations.messages.answers import (
        AckAnswer,
        EmitAnswer,
        MessageView,
        SendAnswer,
        SubscribeAnswer,
        SubscriptionsAnswer,
    )

UNLIMITED_CHARS = 1 << 20  # letters: no message is that long
MAX_RECIPIENTS_SHOWN = 5  # recipients that are named


def lines(messages: list[MessageView]) -> Items:
    """Messages, each as the quoted words of its sender."""
    return [line for m in messages for line in quotes.lines(m, f"{times.ago(m['at'])} ago", UNLIMITED_CHARS)]


def _inbox(result: dict[str, Any]) -> Items:
    waiting = result["more"] and not result["cursor"]
    more: Items = ["(more: acknowledge these first)"] if waiting else continued(result)
    return [*lines(result["messages"]), *more] or ["no messages"]


def _send(result: SendAnswer) -> Items:
    to = result.get("to_name") or result["to"]
    full = f"; inbox full: {', '.join(result['full'][:MAX_RECIPIENTS_SHOWN])}" if result.get("full") else ""
    return [f"sent {result['message']} to {some(to, MAX_RECIPIENTS_SHOWN)}{full}"]


def _ack(result: AckAnswer) -> Items:
    if "path" in result:
        return [f"accepted {result['path']} as it is"]
    return ["all messages acknowledged" if result["message"] == "all" else f"acknowledged {result['message']}"]


def _emit(result: EmitAnswer) -> Items:
    return [f"emitted {result['event']}"]


def _subscribe(result: SubscribeAnswer) -> Items:
    if result.get("off"):
        return [f"unsubscribed from {result['subscription']}"]
    return [f"subscribed to {result['subscription']}, starting after event {result['cursor']}"]


def _subscriptions(result: SubscriptionsAnswer) -> Items:
    rows = [(entry["subscription"], str(entry["cursor"])) for entry in result["subscriptions"]]
    return listed(("SUBSCRIPTION", "DELIVERED UP TO EVENT"), rows, "no subscriptions", result)


RENDERERS = {
    "inbox": _inbox, "ack": _ack, "send": _send, "emit": _emit, "subscribe": _subscribe,
    "subscriptions": _subscriptions,
}  # fmt: skip
