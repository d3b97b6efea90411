"""What is stored of messages: mailboxes, messages, and subscriptions. Types, keys, reading and writing.

A mailbox gives each of its messages a stamp, so that their keys sort in the order of their commits. A message that may
be delivered has an entry in the first index: by the time from which on, then by stamp. Nothing is decided here. All
times are on the store's clock, in milliseconds.
"""

from __future__ import annotations

from dibs.operations.core.call import due
from dibs.stores.seam import FETCH_LIMIT, prefix_range, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import NotRequired, TypedDict

    from dibs.stores.seam import Json, Transaction

    Listener = list[Json]  # the name that wakes a process which waits for messages, and until when it does

    Sender = TypedDict("Sender", {"from": str})  # an agent, or `dibs`
    Senders = TypedDict("Senders", {"from": dict[str, int]})  # sender → messages that count for it

    class Letter(Sender):
        """What is sent, before it has a recipient."""

        message: str  # its id; copies for several agents share it
        type: str  # one word
        text: str
        data: dict[str, Json]  # what dibs' own messages tell, as further keys of the answer
        at: int
        until: NotRequired[int]  # then it expires; absent in old messages, which last until they are acknowledged
        thread: NotRequired[str]  # the id of the conversation's first message; absent in dibs' own messages
        reply_to: NotRequired[str]  # the message that it answers
        payload: NotRequired[Json]
        again: NotRequired[int]  # it wants an acknowledgement: the pause between two deliveries

    class Message(Letter):
        """A message in a mailbox."""

        to: str  # the agent
        reported: NotRequired[bool]  # dibs left it by a far caller's word, so it counts for that one
        shown: NotRequired[bool]  # at least once
        told: NotRequired[int]  # when it was shown last
        delivery: NotRequired[int]  # how often it was shown

    class KeptMessage(Letter):
        """A message for later agents of a type."""

        given: int  # agents that got a copy

    class SentMessage(Sender):
        """What is known of a sent message, for replies to it; it outlives the message."""

        thread: str
        to: list[str]  # the recipients; empty with `spec`
        spec: NotRequired[str]  # `all` or `type:T`, where the recipients are not listed
        until: int

    class Mailbox(Senders):
        """An agent's mailbox. An empty one without listeners is not stored."""

        last: int  # the last stamp
        count: int  # messages in it
        waiting: list[Listener]

    class Subscriptions(TypedDict):
        """What an agent subscribes to."""

        agent: str
        cursor: int  # the events up to this number were delivered
        version: str  # changes with each write: a delivery that was prepared before is void
        what: dict[str, int]  # kind of event, beginning of one with `*`, or `state:KEY` → the last event before it


# --- keys


def mailbox_key(agent: str) -> str:
    """An agent's mailbox: the last stamp, how many messages it has and from whom, and who waits for one."""
    return f"mb\t{agent}"


def messages_prefix(agent: str) -> str:
    """The messages of an agent, by stamp."""
    return f"m\t{agent}\t"


def subagent_messages_prefix(agent: str) -> str:
    """The messages of the agents below this one."""
    return f"m\t{agent}/"


def message_key(agent: str, stamp: int, message: str) -> str:
    """A message in an agent's mailbox."""
    return f"m\t{agent}\t{stamp:015d}\t{message}"


def kept_prefix(agent_type: str) -> str:
    """The messages for later agents of a type, by stamp."""
    return f"ml\t{agent_type}\t"


def kept_message_key(agent_type: str, stamp: int, message: str) -> str:
    """A message for later agents of a type."""
    return f"ml\t{agent_type}\t{stamp:015d}\t{message}"


def stamp_of(key: str) -> int:
    """The stamp in the key of a message, or of one for later agents."""
    return int(key.split("\t")[2])


def type_of(key: str) -> str:
    """The type of agents in the key of a message for later ones."""
    return key.split("\t")[1]


def sent_key(message: str) -> str:
    """What is known of a sent message, for replies."""
    return f"mt\t{message}"


def subscriptions_key(agent: str) -> str:
    """What an agent subscribes to, and its cursor in the log."""
    return f"su\t{agent}"


SUBSCRIBER_KEYS = "sk\t"  # before what is subscribed to, and each subscriber of it


def subscriber_prefix(what: str) -> str:
    """The subscribers of one thing; the records are empty."""
    return f"sk\t{what}\t"


def subscription_of(key: str) -> tuple[str, str]:
    """What is subscribed to, and by which agent, from a subscriber's key."""
    _, what, agent = key.split("\t")
    return what, agent


# --- entries in the first index


def _deliverable_prefix(agent: str) -> str:
    """The messages of an agent that may be delivered."""
    return f"tell\t{agent}\t"


def _deliverable(agent: str, when: int, stamp: int) -> str:
    """A message that may be delivered from then on; 0 for a new one."""
    return f"tell\t{agent}\t{when:015d}\t{stamp:015d}"


def _before(agent: str, when: int) -> str:
    """What sorts after all messages of an agent that may be delivered before that time."""
    return f"tell\t{agent}\t{when:015d}"


# --- mailboxes


def get_mailbox(tx: Transaction, agent: str) -> Mailbox:
    """An agent's mailbox; an empty one if it has none."""
    box: Mailbox | None = tx.get(mailbox_key(agent))
    return _empty_mailbox() if box is None else box


def get_mailboxes(tx: Transaction, agents: Sequence[str]) -> dict[str, Mailbox]:
    """The mailboxes of many agents, in one trip."""
    boxes = tx.get_many([mailbox_key(agent) for agent in agents])
    return {agent: boxes[mailbox_key(agent)] or _empty_mailbox() for agent in agents}


def _empty_mailbox() -> Mailbox:
    return {"last": 0, "count": 0, "from": {}, "waiting": []}


def put_mailbox(tx: Transaction, agent: str, box: Mailbox) -> None:
    """Write a mailbox; an empty one without listeners is deleted."""
    if box["count"] or box["waiting"]:
        tx.put(mailbox_key(agent), box)
    else:
        tx.delete(mailbox_key(agent))


# --- messages


def is_from_agent(message: Message) -> bool:
    """Did an agent send it? If not, dibs left it."""
    return "thread" in message


def addressed(letter: Letter, to: str) -> Message:
    """A copy of what is sent, for one recipient."""
    message: Json = {**letter, "to": to}
    typed: Message = message
    return typed


def put_message(tx: Transaction, stamp: int, message: Message, when: int | None) -> None:
    """Write a message that may be delivered from then on: 0 for a new one, None for one that was, and is not again."""
    key = message_key(message["to"], stamp, message["message"])
    entry = None if when is None else _deliverable(message["to"], when, stamp)
    tx.put(key, message, i1=entry, i2=due(message["until"]) if "until" in message else None)


def messages_of(tx: Transaction, agent: str, limit: int) -> list[Message]:
    """The oldest messages of an agent, expired ones included."""
    return [message for _, message in tx.fetch([prefix_range(messages_prefix(agent))], limit).rows]


def walk_messages(tx: Transaction, prefix: str, page: int = FETCH_LIMIT) -> Iterator[tuple[str, Message]]:
    """All messages below a prefix, with their keys, the oldest first. They may be deleted on the way."""
    return walk(tx, prefix, page)


def scan_deliverable(tx: Transaction, agent: str, limit: int, after: str) -> tuple[list[tuple[str, Message]], str]:
    """Up to `limit` messages that may be delivered now, with their keys, after an entry; the last entry if more are."""
    page = tx.scan(1, _deliverable_prefix(agent), limit, after=after, before=_before(agent, tx.now + 1))
    return [(key, message) for _, key, message in page.rows], page.rows[-1][0] if page.truncated else ""


def next_delivery(tx: Transaction, agent: str) -> int | None:
    """When the next message of an agent is redelivered, if one is."""
    rows = tx.scan(1, _deliverable_prefix(agent), 1, after=_before(agent, tx.now + 1)).rows
    return int(rows[0][0].split("\t")[2]) if rows else None


def get_kept(tx: Transaction, agent_type: str, limit: int) -> list[tuple[str, KeptMessage]]:
    """The messages for later agents of a type, with their keys, the oldest first."""
    return tx.fetch([prefix_range(kept_prefix(agent_type))], limit).rows


def put_kept(tx: Transaction, agent_type: str, stamp: int, message: KeptMessage) -> None:
    """Write a message for later agents of a type."""
    tx.put(kept_message_key(agent_type, stamp, message["message"]), message, i2=due(message["until"]))


def get_sent(tx: Transaction, message: str) -> SentMessage | None:
    """What is known of a sent message."""
    sent: SentMessage | None = tx.get(sent_key(message))
    return sent


def put_sent(tx: Transaction, message: str, sent: SentMessage) -> None:
    """Write what is known of a sent message."""
    tx.put(sent_key(message), sent, i2=due(sent["until"]))


# --- subscriptions


def get_subscriptions(tx: Transaction, agent: str) -> Subscriptions | None:
    """What an agent subscribes to; None if nothing."""
    subscriptions: Subscriptions | None = tx.get(subscriptions_key(agent))
    return subscriptions


def put_subscriptions(tx: Transaction, subscriptions: Subscriptions) -> None:
    """Write what an agent subscribes to, under a new version; deleted if that is nothing."""
    subscriptions["version"] = tx.id()
    if subscriptions["what"]:
        tx.put(subscriptions_key(subscriptions["agent"]), subscriptions)
    else:
        delete_subscriptions(tx, subscriptions["agent"])


def delete_subscriptions(tx: Transaction, agent: str) -> None:
    """Delete the record of what an agent subscribes to."""
    tx.delete(subscriptions_key(agent))


def get_subscribers(tx: Transaction, things: Iterable[str], limit: int) -> list[str]:
    """The agents that subscribe to any of these, sorted."""
    rows = tx.fetch([prefix_range(subscriber_prefix(what)) for what in sorted(things)], limit).rows
    return sorted({subscription_of(key)[1] for key, _ in rows})


def put_subscriber(tx: Transaction, what: str, agent: str) -> None:
    """Write the row of a subscriber."""
    tx.put(subscriber_prefix(what) + agent, {})


def delete_subscriber(tx: Transaction, what: str, agent: str) -> None:
    """Delete the row of a subscriber."""
    tx.delete(subscriber_prefix(what) + agent)
