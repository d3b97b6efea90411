"""Mailboxes: an agent's messages, their delivery, and their end. outbox.py has `send`.

In short (docs/internals/promises.md has it in full):
- order: a mailbox's record gives each message a stamp above the one before it, so that messages are listed in the order
  of their commits, also within one millisecond.
- kept: until acknowledged or expired. An acknowledged message is gone; a second acknowledgement is `not_found`. Expiry
  is decided by the clock at every read; a sender that wanted an acknowledgement then gets a message "undelivered".
- delivered: every listing (a boot, a hook, `inbox`) marks and counts it. Hooks and `inbox --wait` show a message once;
  one that wants an acknowledgement is redelivered whenever `visibility` has passed. A lost answer loses nothing: the
  message is still in the inbox and in the next boot's briefing.
- full: dibs' own messages are dropped, and the log has it; `send` is refused (see outbox.py).

A message does nothing by itself. Doors show it as its sender's text.
"""

from __future__ import annotations

from dibs.errors import Invalid, NotFound
from dibs.operations.agents import names
from dibs.operations.agents.marks import mark_of
from dibs.operations.core.call import DIBS_SENDER, FOLLOW_UPS, Wait, iso
from dibs.operations.core.declare import PAGED, WAITING, Field, Operation
from dibs.operations.core.policy import MAX_WAIT_MS, WORK
from dibs.operations.messages.records import (
    get_mailbox,
    get_subscriptions,
    is_from_agent,
    messages_prefix,
    next_delivery,
    put_mailbox,
    put_message,
    scan_deliverable,
    stamp_of,
    subagent_messages_prefix,
    walk_messages,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core import paging
    from dibs.operations.core.call import Call
    from dibs.operations.messages.answers import AckAnswer, InboxAnswer, MessageView
    from dibs.operations.messages.records import Mailbox, Message
    from dibs.operations.messages.requests import AckRequest, InboxRequest
    from dibs.stores.seam import Json, Transaction

    Row = tuple[str, Message]  # key, message

MAX_UNREAD_SHOWN = 50  # the rest follows when these are acknowledged
WAITER_LEASE_MS = 15_000  # after its last poll, while a process that waits for messages is woken
MAX_WAITERS_WOKEN = 16  # of one agent; further processes poll often
POLL_MS = 5_000  # three polls while a waiter counts as present
# where an event of dibs' own, which wakes nobody, may come by a subscription
EVENT_POLL_MS = 1_000
MAX_QUOTED_CHARS = 200  # in the notice to the sender of an expired message


# --- the mailbox


def put_in(tx: Transaction, box: Mailbox, message: Message) -> None:
    """Append a message to the mailbox, and wake its waiters."""
    to, stamp = message["to"], max(tx.now, box["last"] + 1)
    box["last"], box["count"] = stamp, box["count"] + 1
    if _is_counted(message):
        box["from"][message["from"]] = box["from"].get(message["from"], 0) + 1
    put_message(tx, stamp, message, 0)
    wake(tx, box)
    tx.wake(mark_of(to))
    put_mailbox(tx, to, box)


def _is_counted(message: Message) -> bool:
    """Does it count for its sender? An agent's own message, and one that dibs leaves by a far caller's word."""
    return is_from_agent(message) or message.get("reported", False)


def wake(tx: Transaction, box: Mailbox) -> None:
    """Wake the processes that wait for this mailbox."""
    for channel, until in box["waiting"]:
        if until > tx.now:
            tx.wake(channel)


def remove(tx: Transaction, key: str, message: Message, box: Mailbox | None = None) -> None:
    """Remove a message. With `box`, the caller has the mailbox already, and writes it."""
    mine = get_mailbox(tx, message["to"]) if box is None else box
    mine["count"] = max(0, mine["count"] - 1)  # a mailbox may be younger than its messages
    if _is_counted(message):
        remaining = mine["from"].pop(message["from"], 0) - 1
        if remaining > 0:
            mine["from"][message["from"]] = remaining
    tx.delete(key)
    if box is None:
        put_mailbox(tx, message["to"], mine)


def post(tx: Transaction, to: str, sender: str, kind: str, text: str, **data: Json) -> str:
    """Leave a message from dibs itself, or one that it passes on; returns its id, "" if there was no room."""
    limits = WORK["messages"]
    box = get_mailbox(tx, to)
    of_agent = sender != DIBS_SENDER and box["from"].get(sender, 0) >= limits["from_one"]
    if of_agent or box["count"] >= limits["inbox"]:
        tx.append("message.dropped", sender, to, {"type": kind})
        return ""
    identifier = f"m{tx.id()}"
    message: Message = {
        "message": identifier, "to": to, "from": sender, "type": kind, "text": text, "data": data, "at": tx.now,
        "until": tx.now + limits["life"],
    }  # fmt: skip
    if sender != DIBS_SENDER:
        message["reported"] = True
    put_in(tx, box, message)
    tx.append("message.posted", sender, to, {"id": identifier, "type": kind})
    return identifier


# --- the end of a message


def quoted(text: str) -> str:
    """The beginning of a message, for its sender."""
    return text if len(text) <= MAX_QUOTED_CHARS else f"{text[:MAX_QUOTED_CHARS]}…"


def expire(tx: Transaction, key: str, message: Message) -> None:
    """Expire a message. A sender that wanted an acknowledgement is told that it did not arrive."""
    remove(tx, key, message)
    times = message.get("delivery", 0)
    tx.append("message.expired", message["to"], message["message"], {"from": message["from"], "delivery": times})
    if message.get("again"):
        seen = f"it was shown {times} times and not acknowledged" if times else "it was never shown"
        words = quoted(message["text"])
        to = names.name_of(tx, message["to"])
        text = f"Your message {message['message']} to {to} expired: {seen}. You wrote: {words}"
        post(tx, message["from"], "dibs", "undelivered", text, undelivered=message["message"], recipient=message["to"])


def _is_expired(tx: Transaction, message: Message) -> bool:
    """Has it expired? Messages of older versions last until they are acknowledged."""
    return "until" in message and message["until"] <= tx.now


# --- listing and delivery


def unread(tx: Transaction, agent: str, limit: int = MAX_UNREAD_SHOWN, thread: str = "") -> tuple[list[Row], bool]:
    """An agent's messages, the oldest first, with their keys; and whether there are more."""
    rows: list[Row] = []
    for key, message in walk_messages(tx, messages_prefix(agent), limit):
        if _is_expired(tx, message):
            expire(tx, key, message)
        elif _fits(message, thread):
            if len(rows) == limit:
                return rows, True
            rows.append((key, message))
    return rows, False


def deliverable(tx: Transaction, agent: str, limit: int = MAX_UNREAD_SHOWN, thread: str = "") -> tuple[list[Row], bool]:
    """New messages and those due for redelivery, in order, with their keys; and whether there are more."""
    rows: list[Row] = []
    after = ""
    while True:
        page, after = scan_deliverable(tx, agent, limit, after)
        for key, message in page:
            if _is_expired(tx, message):
                expire(tx, key, message)
            elif _fits(message, thread):
                if len(rows) == limit:
                    return sorted(rows, key=_key), True
                rows.append((key, message))
        if not after:
            return sorted(rows, key=_key), False


def _key(row: Row) -> str:
    return row[0]


def _fits(message: Message, thread: str) -> bool:
    return not thread or thread == message.get("thread")


def mark_shown(tx: Transaction, key: str, message: Message) -> bool:
    """Mark a message as shown, so that it is not repeated; returns whether it is new."""
    again = message.get("again", 0)
    news = not message.get("shown") or bool(again and message["told"] + again <= tx.now)
    message["shown"], message["told"], message["delivery"] = True, tx.now, message.get("delivery", 0) + 1
    put_message(tx, stamp_of(key), message, tx.now + again if again else None)
    return news


def shown(tx: Transaction, message: Message) -> MessageView:
    """A message as people and programs read it."""
    view: Json = {
        "message": message["message"],
        "from": message["from"],
        "type": message["type"],
        "text": message["text"],
        "at": iso(tx, message["at"]),
        "delivery": message.get("delivery", 0),
        **message["data"],
    }
    if "until" in message:
        view["expires_at"] = iso(tx, message["until"])
    if message.get("again"):
        view["ack"] = True
    for name in ("thread", "reply_to", "payload"):
        if name in message:
            view[name] = message.get(name)
    typed: MessageView = view
    return typed


def subscribed(tx: Transaction, agent: str) -> bool:
    """Does the agent subscribe to anything? Then a door delivers that first (see subscriptions.py)."""
    return get_subscriptions(tx, agent) is not None


# --- inbox


def _inbox(tx: Transaction, call: Call, request: InboxRequest) -> InboxAnswer | Wait:
    """All unacknowledged messages; with `new` or `wait`, only new and redelivered ones."""
    from dibs.operations.core import paging

    wait, wake = request["wait"], request["wake"]
    count = paging.check_limit(request["limit"], MAX_UNREAD_SHOWN)
    cursor: str | None = None
    if wait is None and not request["new"]:
        page = _page(tx, call.agent, request["thread"], count, request["after"])
        rows, more, cursor = page.records, page.more, page.cursor
    else:
        if request["after"]:
            raise Invalid("after: --new and --wait begin where you were told last", field="after")
        rows, more = deliverable(tx, call.agent, count, thread=request["thread"])
    if not rows and wait:
        return _await(tx, call.agent, wait, wake)
    if wake:
        _listen(tx, call.agent, wake, 0)
    for key, message in rows:
        mark_shown(tx, key, message)
    return {"messages": [shown(tx, message) for _, message in rows], "more": more, "cursor": cursor}


def _page(tx: Transaction, agent: str, thread: str, limit: int, after: str) -> paging.Page:
    """A page of an agent's messages, the oldest first, with their keys."""
    from dibs.operations.core import paging

    def fitting(rows: list[Row]) -> list[tuple[str, Row]]:
        fits = []
        for key, message in rows:
            if _is_expired(tx, message):
                expire(tx, key, message)
            elif _fits(message, thread):
                fits.append((key, (key, message)))
        return fits

    return paging.read(tx, [(paging.KEYS, messages_prefix(agent), fitting)], limit, after)


def _await(tx: Transaction, agent: str, wait: int, channel: str) -> Wait:
    """Nothing is there yet: the next message wakes this process. Returns when to poll again anyway."""
    listens = _listen(tx, agent, channel, tx.now + WAITER_LEASE_MS) if channel else True
    look_in = EVENT_POLL_MS if not listens or subscribed(tx, agent) else POLL_MS
    redelivery = next_delivery(tx, agent)
    if redelivery is not None:
        look_in = min(look_in, redelivery - tx.now)
    return Wait("inbox", max(10, min(look_in, wait)), {"for": "a message"})


def _listen(tx: Transaction, agent: str, channel: str, until: int) -> bool:
    """Register a waiting process in the mailbox until then (0: no longer); False if there are too many already."""
    box = get_mailbox(tx, agent)
    known = next((entry[1] for entry in box["waiting"] if entry[0] == channel), 0)
    if (until and known >= until - WAITER_LEASE_MS // 2) or (
        not until and not known
    ):  # registered already; not each poll has to write
        return True
    others = [entry for entry in box["waiting"] if entry[0] != channel and entry[1] > tx.now]
    if until and len(others) >= MAX_WAITERS_WOKEN:
        return False
    box["waiting"] = [*others, [channel, until]] if until else others
    put_mailbox(tx, agent, box)
    return True


# --- ack


def _ack(tx: Transaction, call: Call, request: AckRequest) -> AckAnswer:
    """It was dealt with. A subagent's shell goes by its parent's name, so that one may say so too."""
    message = request["message"]
    if message == "all":
        _acknowledge_all(tx, call)
        return {"message": "all"}
    if message.startswith("v"):  # not a message, but a changed file that may stay as it is
        return {"message": message, "path": FOLLOW_UPS.change_accepted(tx, call, message)}
    row = _find(tx, messages_prefix(call.agent), message) or _find(tx, subagent_messages_prefix(call.agent), message)
    if row is None and _settled(tx, call.agent, message):
        return {"message": message}
    if row is None:
        raise NotFound(f"no unread message {message} for {call.name}", message_id=message)
    remove(tx, *row)
    tx.append("message.acknowledged", call.agent, message, {"from": row[1]["from"]})
    _tell_sender(tx, call, row[1])
    return {"message": message}


def _tell_sender(tx: Transaction, call: Call, message: Message) -> None:
    """Tell a sender that asked for an acknowledgement (`send --ack`)."""
    if message.get("again") and message["from"] != call.agent:
        text = f"{call.name} acknowledged your message {message['message']}. You wrote: {quoted(message['text'])}"
        post(tx, message["from"], "dibs", "acknowledged", text, acknowledged=message["message"], by=call.agent)


def _settled(tx: Transaction, agent: str, claim: str) -> bool:
    """The agent knows of a lost claim. It is not told again; a commit of it is still refused."""
    from dibs.operations.claims import records as claim_records

    loss = claim_records.get_loss(tx, agent, claim)
    if loss is None:
        return False
    loss["settled"] = True
    claim_records.put_loss(tx, loss)
    return True


def _find(tx: Transaction, prefix: str, identifier: str) -> Row | None:
    """The unexpired message with this id in that part of the mailboxes."""
    for key, message in walk_messages(tx, prefix):
        if message["message"] == identifier:
            return None if _is_expired(tx, message) else (key, message)
    return None


def _acknowledge_all(tx: Transaction, call: Call) -> None:
    """Acknowledge all messages that the agent was shown; messages that it never saw stay."""
    box = get_mailbox(tx, call.agent)
    for key, message in walk_messages(tx, messages_prefix(call.agent)):
        if message.get("shown") and not _is_expired(tx, message):
            remove(tx, key, message, box)
            tx.append("message.acknowledged", call.agent, message["message"], {"from": message["from"]})
            _tell_sender(tx, call, message)
    put_mailbox(tx, call.agent, box)


OPERATIONS = (
    Operation(
        "inbox",
        _inbox,
        "Show the messages you have not acknowledged.",
        group="messages",
        fields=(
            Field(
                "wait",
                "duration",
                "show only undelivered messages; wait up to D for one",
                most=MAX_WAIT_MS,
                metavar="D",
            ),
            Field("new", "flag", "only new or redelivered messages", default=False),
            Field("thread", "text", "only the messages of this thread", default="", metavar="ID"),
            *PAGED,
            *WAITING,
        ),
        registers=False,
        rank="viewer",
        answer="InboxAnswer",
        wants=("deliveries",),
    ),
    Operation(
        "ack",
        _ack,
        "Acknowledge a message, so that it is not shown again.",
        group="messages",
        fields=(
            Field(
                "message",
                "text",
                "the message's id, or `all` for all that you were shown",
                positional=True,
                required=True,
                metavar="ID",
            ),
        ),
        errors=(NotFound,),
        rank="viewer",
        answer="AckAnswer",
    ),
)
