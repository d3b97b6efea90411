"""Mailboxes: an agent's messages, their delivery, and their end. outbox.py has `send`.

In short (docs/PROMISES.md has it in full):
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
from dibs.operations.core.call import DIBS_SENDER, FOLLOW_UPS, due, iso
from dibs.operations.core.declare import PAGED, WAITING, Field, Operation
from dibs.operations.core.policy import MAX_WAIT_MS, WORK
from dibs.stores.seam import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.core import paging
    from dibs.operations.core.call import Call, Record
    from dibs.operations.messages.requests import AckRequest, InboxRequest
    from dibs.stores.seam import Transaction

    Found = tuple[list[tuple[str, Record]], bool]

MAX_UNREAD_SHOWN = 50  # the rest follows when these are acknowledged
WAITER_LEASE_MS = 15_000  # after its last poll, while a process that waits for messages is woken
MAX_WAITERS_WOKEN = 16  # of one agent; further processes poll often
POLL_MS = 5_000  # three polls while a waiter counts as present
# where an event of dibs' own, which wakes nobody, may come by a subscription
EVENT_POLL_MS = 1_000
MAX_QUOTED_CHARS = 200  # in the notice to the sender of an expired message


# --- the mailbox


def mailbox(tx: Transaction, agent: str) -> Record:
    """An agent's mailbox: the last stamp, the number of messages, the number from each sender, and its waiters."""
    box: Record | None = tx.get(f"mb\t{agent}")
    return new_box() if box is None else box


def new_box() -> Record:
    """The mailbox of an agent that has no messages."""
    return {"last": 0, "count": 0, "from": {}, "waiting": []}


def _keep(tx: Transaction, agent: str, box: Record) -> None:
    """Write a mailbox; an empty one without waiters is deleted."""
    if box["count"] or box["waiting"]:
        tx.put(f"mb\t{agent}", box)
    else:
        tx.delete(f"mb\t{agent}")


def put_in(tx: Transaction, box: Record, message: Record) -> None:
    """Append a message to the mailbox, and wake its waiters."""
    to, stamp = message["to"], max(tx.now, box["last"] + 1)
    box["last"], box["count"] = stamp, box["count"] + 1
    if _is_counted(message):
        box["from"][message["from"]] = box["from"].get(message["from"], 0) + 1
    key = f"m\t{to}\t{stamp:015d}\t{message['message']}"
    tx.put(key, message, i1=_deliverable_entry(to, 0, stamp), i2=due(message["until"]))
    wake(tx, box)
    tx.wake(mark_of(to))
    _keep(tx, to, box)


def _is_counted(message: Record) -> bool:
    """Does it count for its sender? An agent's own message, and one that dibs leaves by a far caller's word."""
    return "thread" in message or bool(message.get("reported"))


def wake(tx: Transaction, box: Record) -> None:
    """Wake the processes that wait for this mailbox."""
    for channel, until in box["waiting"]:
        if until > tx.now:
            tx.wake(channel)


def remove(tx: Transaction, key: str, message: Record, box: Record | None = None) -> None:
    """Remove a message. With `box`, the caller has the mailbox already, and writes it."""
    mine = mailbox(tx, message["to"]) if box is None else box
    mine["count"] = max(0, mine["count"] - 1)  # a mailbox may be younger than its messages
    if _is_counted(message):
        left = mine["from"].pop(message["from"], 0) - 1
        if left > 0:
            mine["from"][message["from"]] = left
    tx.delete(key)
    if box is None:
        _keep(tx, message["to"], mine)


def post(tx: Transaction, to: str, sender: str, kind: str, text: str, **data: Any) -> str:
    """Leave a message from dibs itself, or one that it passes on; returns its id, "" if there was no room."""
    limits = WORK["messages"]
    box = mailbox(tx, to)
    of_agent = sender != DIBS_SENDER and box["from"].get(sender, 0) >= limits["from_one"]
    if of_agent or box["count"] >= limits["inbox"]:
        tx.append("message.dropped", sender, to, {"type": kind})
        return ""
    identifier = f"m{tx.id()}"
    message: Record = {
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


def expire(tx: Transaction, key: str, message: Record) -> None:
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


def _over(tx: Transaction, message: Record) -> bool:
    """Has it expired? Messages of older versions last until they are acknowledged."""
    return "until" in message and message["until"] <= tx.now


# --- listing and delivery


def unread(tx: Transaction, agent: str, limit: int = MAX_UNREAD_SHOWN, thread: str = "") -> Found:
    """An agent's messages, the oldest first, with their keys; and whether there are more."""
    found: list[tuple[str, Record]] = []
    for key, message in walk(tx, f"m\t{agent}\t", limit):
        if _over(tx, message):
            expire(tx, key, message)
        elif _fits(message, thread):
            if len(found) == limit:
                return found, True
            found.append((key, message))
    return found, False


def deliverable(tx: Transaction, agent: str, limit: int = MAX_UNREAD_SHOWN, thread: str = "") -> Found:
    """New messages and those due for redelivery, in order, with their keys; and whether there are more."""
    found: list[tuple[str, Record]] = []
    after, before = "", f"tell\t{agent}\t{tx.now + 1:015d}"
    while True:
        page = tx.scan(1, f"tell\t{agent}\t", limit, after=after, before=before)
        for _, key, message in page.rows:
            if _over(tx, message):
                expire(tx, key, message)
            elif _fits(message, thread):
                if len(found) == limit:
                    return sorted(found, key=_key), True
                found.append((key, message))
        if not page.truncated:
            return sorted(found, key=_key), False
        after = page.rows[-1][0]


def _key(row: tuple[str, Record]) -> str:
    return row[0]


def _fits(message: Record, thread: str) -> bool:
    return not thread or thread == message.get("thread")


def _deliverable_entry(agent: str, when: int, stamp: int) -> str:
    """The entry in the first index that makes a message deliverable from then on; 0 means new."""
    return f"tell\t{agent}\t{when:015d}\t{stamp:015d}"


def mark_shown(tx: Transaction, key: str, message: Record) -> bool:
    """Mark a message as shown, so that it is not repeated; returns whether it is new."""
    again = message.get("again", 0)
    news = not message.get("shown") or bool(again and message["told"] + again <= tx.now)
    message["shown"], message["told"], message["delivery"] = True, tx.now, message.get("delivery", 0) + 1
    entry = _deliverable_entry(message["to"], tx.now + again, int(key.split("\t")[2])) if again else None
    tx.put(key, message, i1=entry, i2=due(message["until"]) if "until" in message else None)
    return news


def shown(tx: Transaction, message: Record) -> dict[str, Any]:
    """A message as people and programs read it."""
    found = {
        "message": message["message"],
        "from": message["from"],
        "type": message["type"],
        "text": message["text"],
        "at": iso(tx, message["at"]),
        "delivery": message.get("delivery", 0),
        **message["data"],
    }
    if "until" in message:
        found["expires_at"] = iso(tx, message["until"])
    if message.get("again"):
        found["ack"] = True
    for name in ("thread", "reply_to", "payload"):
        if name in message:
            found[name] = message[name]
    return found


def subscribed(tx: Transaction, agent: str) -> bool:
    """Does the agent subscribe to anything? Then a door delivers that first (see subscriptions.py)."""
    return tx.get(f"su\t{agent}") is not None


# --- inbox


def _inbox(tx: Transaction, call: Call, request: InboxRequest) -> dict[str, Any]:
    """All unacknowledged messages; with `new` or `wait`, only new and redelivered ones."""
    from dibs.operations.core import paging

    count = paging.check_limit(request["limit"], MAX_UNREAD_SHOWN)
    cursor: str | None = None
    if request["wait"] is None and not request["new"]:
        page = _page(tx, call.agent, request["thread"], count, request["after"])
        found, more, cursor = page.records, page.more, page.cursor
    else:
        if request["after"]:
            raise Invalid("after: --new and --wait begin where you were told last", field="after")
        found, more = deliverable(tx, call.agent, count, thread=request["thread"])
    if not found and request["wait"]:
        return _await(tx, call.agent, request["wait"], request["wake"])
    if request["wake"]:
        _listen(tx, call.agent, request["wake"], 0)
    for key, message in found:
        mark_shown(tx, key, message)
    return {"messages": [shown(tx, message) for _, message in found], "more": more, "cursor": cursor}


def _page(tx: Transaction, agent: str, thread: str, limit: int, after: str) -> paging.Page:
    """A page of an agent's messages, the oldest first, with their keys."""
    from dibs.operations.core import paging

    def fitting(rows: list[tuple[str, Record]]) -> list[tuple[str, Any]]:
        found = []
        for key, message in rows:
            if _over(tx, message):
                expire(tx, key, message)
            elif _fits(message, thread):
                found.append((key, (key, message)))
        return found

    return paging.read(tx, [(paging.KEYS, f"m\t{agent}\t", fitting)], limit, after)


def _await(tx: Transaction, agent: str, wait: int, channel: str) -> dict[str, Any]:
    """Nothing is there yet: the next message wakes this process. Returns when to poll again anyway."""
    listens = _listen(tx, agent, channel, tx.now + WAITER_LEASE_MS) if channel else True
    look_in = EVENT_POLL_MS if not listens or subscribed(tx, agent) else POLL_MS
    for entry, _, _ in tx.scan(1, f"tell\t{agent}\t", 1, after=f"tell\t{agent}\t{tx.now + 1:015d}").rows:
        look_in = min(look_in, int(entry.split("\t")[2]) - tx.now)
    return {"waiting": "inbox", "look_in": max(10, min(look_in, wait)), "for": "a message"}


def _listen(tx: Transaction, agent: str, channel: str, until: int) -> bool:
    """Register a waiting process in the mailbox until then (0: no longer); False if there are too many already."""
    box = mailbox(tx, agent)
    known = next((entry[1] for entry in box["waiting"] if entry[0] == channel), 0)
    if (until and known >= until - WAITER_LEASE_MS // 2) or (
        not until and not known
    ):  # registered already; not each poll has to write
        return True
    others = [entry for entry in box["waiting"] if entry[0] != channel and entry[1] > tx.now]
    if until and len(others) >= MAX_WAITERS_WOKEN:
        return False
    box["waiting"] = [*others, [channel, until]] if until else others
    _keep(tx, agent, box)
    return True


# --- ack


def _ack(tx: Transaction, call: Call, request: AckRequest) -> dict[str, Any]:
    """It was dealt with. A subagent's shell goes by its parent's name, so that one may say so too."""
    message = request["message"]
    if message == "all":
        _acknowledge_all(tx, call)
        return {"message": "all"}
    if message.startswith("v"):  # not a message, but a changed file that may stay as it is
        return {"message": message, "path": FOLLOW_UPS["change accepted"](tx, call, message)}
    found = _find(tx, f"m\t{call.agent}\t", message) or _find(tx, f"m\t{call.agent}/", message)
    if found is None and _settled(tx, call.agent, message):
        return {"message": message}
    if found is None:
        raise NotFound(f"no unread message {message} for {call.name}", message_id=message)
    remove(tx, *found)
    tx.append("message.acknowledged", call.agent, message, {"from": found[1]["from"]})
    _tell_sender(tx, call, found[1])
    return {"message": message}


def _tell_sender(tx: Transaction, call: Call, message: Record) -> None:
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


def _find(tx: Transaction, prefix: str, identifier: str) -> tuple[str, Record] | None:
    """The unexpired message with this id in that part of the mailboxes."""
    for key, message in walk(tx, prefix):
        if message["message"] == identifier:
            return None if _over(tx, message) else (key, message)
    return None


def _acknowledge_all(tx: Transaction, call: Call) -> None:
    """Acknowledge all messages that the agent was shown; messages that it never saw stay."""
    box = mailbox(tx, call.agent)
    for key, message in walk(tx, f"m\t{call.agent}\t"):
        if message.get("shown") and not _over(tx, message):
            remove(tx, key, message, box)
            tx.append("message.acknowledged", call.agent, message["message"], {"from": message["from"]})
            _tell_sender(tx, call, message)
    _keep(tx, call.agent, box)


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
        may="viewer",
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
        may="viewer",
        answer="AckAnswer",
    ),
)
