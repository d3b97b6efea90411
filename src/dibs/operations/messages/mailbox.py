"""Messages: an agent's mailbox, what is delivered from it, and how a message ends. outbox.py has `send`.

What happens, in short (docs/PROMISES.md has it in full):
- order: a mailbox's record gives each message a stamp above the one before it, so that they are listed in the order in
  which they were committed, also within one millisecond.
- kept: until acknowledged or expired. Acknowledged, it is gone; twice is `not_found`. Expiry is decided by the clock
  whenever anybody looks; whoever wanted an acknowledgement then gets a message "undelivered".
- delivered: whatever lists it (a boot, a hook, `inbox`) marks it and counts. Hooks and `inbox --wait` tell a message
  once; one that wants an acknowledgement again whenever `visibility` has passed since it was last told. An answer that
  was lost loses nothing: the message is still in the inbox and in the next boot's briefing.
- full: what dibs itself would add is dropped, and the log has it; `send` is refused (see outbox.py).

A message does nothing by itself. Doors show it as the words of its sender.
"""

from __future__ import annotations

from dibs.errors import Invalid, NotFound
from dibs.operations.agents import names
from dibs.operations.agents.roles import mark_of
from dibs.operations.core.call import FOLLOW_UPS, due, iso
from dibs.operations.core.declare import PAGED, Field, Operation
from dibs.operations.core.policy import MAX_WAIT, WORK
from dibs.stores.seam import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.core import paging
    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Fetched, Transaction

    Found = tuple[list[tuple[str, Record]], bool]

UNREAD = 50  # shown at once; the rest follows when these are acknowledged
PRESENT = 15_000  # ms that a process which waits for messages is woken after it last looked
WAITERS = 16  # processes of one agent that are woken; more of them look often
LOOK_EVERY = 5_000  # ms: three looks while a waiter counts as present
LOOK_OFTEN = (
    1_000  # ms, where something may come of which nobody is woken: an event of dibs' own that one subscribes to
)
QUOTED = 200  # letters of a message that are told to its sender when it expires


# --- the mailbox


def mailbox(tx: Transaction, agent: str) -> Record:
    """An agent's mailbox: the last stamp, how many messages, how many that each sender sent, and who waits."""
    box: Record | None = tx.fetch([f"mb\t{agent}"]).values[f"mb\t{agent}"]
    return new_box() if box is None else box


def new_box() -> Record:
    """The mailbox of an agent that has no messages."""
    return {"last": 0, "count": 0, "from": {}, "waiting": []}


def _keep(tx: Transaction, agent: str, box: Record) -> None:
    """Write a mailbox; one in which nothing is, and for which nobody waits, need not be kept."""
    if box["count"] or box["waiting"]:
        tx.put(f"mb\t{agent}", box)
    else:
        tx.delete(f"mb\t{agent}")


def put_in(tx: Transaction, box: Record, message: Record) -> None:
    """Put a message behind all that are in the mailbox, and wake who waits for it."""
    to, stamp = message["to"], max(tx.now, box["last"] + 1)
    box["last"], box["count"] = stamp, box["count"] + 1
    if "thread" in message:
        box["from"][message["from"]] = box["from"].get(message["from"], 0) + 1
    key = f"m\t{to}\t{stamp:015d}\t{message['message']}"
    tx.put(key, message, i1=_tell_at(to, 0, stamp), i2=due(message["until"]))
    wake(tx, box)
    tx.wake(mark_of(to))
    _keep(tx, to, box)


def wake(tx: Transaction, box: Record) -> None:
    """Wake the processes that wait for something to come into this mailbox."""
    for channel, until in box["waiting"]:
        if until > tx.now:
            tx.wake(channel)


def remove(tx: Transaction, key: str, message: Record, box: Record | None = None) -> None:
    """Take a message out. With `box`, the caller has the mailbox already, and writes it."""
    mine = mailbox(tx, message["to"]) if box is None else box
    mine["count"] = max(0, mine["count"] - 1)  # a mailbox may be younger than what is in it
    if "thread" in message:
        left = mine["from"].pop(message["from"], 0) - 1
        if left > 0:
            mine["from"][message["from"]] = left
    tx.delete(key)
    if box is None:
        _keep(tx, message["to"], mine)


def post(tx: Transaction, to: str, sender: str, kind: str, text: str, **data: Any) -> str:
    """Leave a message that dibs itself has to say, or passes on; gives its id, "" if there was no room for it."""
    limits = WORK["messages"]
    box = mailbox(tx, to)
    if box["count"] >= limits["inbox"]:
        tx.append("message.dropped", sender, to, {"type": kind})
        return ""
    identifier = f"m{tx.id()}"
    message: Record = {
        "message": identifier, "to": to, "from": sender, "type": kind, "text": text, "data": data, "at": tx.now,
        "until": tx.now + limits["life"],
    }  # fmt: skip
    put_in(tx, box, message)
    tx.append("message.posted", sender, to, {"id": identifier, "type": kind})
    return identifier


# --- the end of a message


def quoted(text: str) -> str:
    """The beginning of a message, for whoever wrote it."""
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}…"


def expire(tx: Transaction, key: str, message: Record) -> None:
    """A message's time is over. Who wanted to know whether it arrived is told that it did not."""
    remove(tx, key, message)
    times = message.get("delivery", 0)
    tx.append("message.expired", message["to"], message["message"], {"from": message["from"], "delivery": times})
    if message.get("again"):
        seen = f"it was shown {times} times and not acknowledged" if times else "it was never shown"
        words = quoted(message["text"])
        to = names.name_of(tx, message["to"])
        text = f"Your message {message['message']} to {to} is over: {seen}. You wrote: {words}"
        post(tx, message["from"], "dibs", "undelivered", text, undelivered=message["message"], recipient=message["to"])


def _over(tx: Transaction, message: Record) -> bool:
    """Is its time over? Messages of older versions last until they are acknowledged."""
    return "until" in message and message["until"] <= tx.now


# --- what there is, and what is news


def unread(tx: Transaction, agent: str, limit: int = UNREAD, thread: str = "") -> Found:
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


def deliverable(tx: Transaction, agent: str, limit: int = UNREAD, thread: str = "") -> Found:
    """What the agent was never told, or should be told again: in order, with the keys; and whether there is more."""
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


def _tell_at(agent: str, when: int, stamp: int) -> str:
    """The entry in the first index under which a message is found that is to be told from then on; 0 is: new."""
    return f"tell\t{agent}\t{when:015d}\t{stamp:015d}"


def mark_shown(tx: Transaction, key: str, message: Record) -> bool:
    """Remember that the recipient sees it now, so that it is not repeated; says whether it is news."""
    again = message.get("again", 0)
    news = not message.get("shown") or bool(again and message["told"] + again <= tx.now)
    message["shown"], message["told"], message["delivery"] = True, tx.now, message.get("delivery", 0) + 1
    entry = _tell_at(message["to"], tx.now + again, int(key.split("\t")[2])) if again else None
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
    """Does the agent subscribe to anything? Then a door delivers it first (see subscriptions.py)."""
    return tx.fetch([f"su\t{agent}"]).values[f"su\t{agent}"] is not None


# --- inbox


def _inbox(
    tx: Transaction,
    call: Call,
    got: Fetched,
    wait: int | None = None,
    new: bool = False,
    thread: str = "",
    limit: int = 0,
    after: str = "",
    waiter: str = "",
    wake: str = "",
) -> dict[str, Any]:
    """All that is not acknowledged; with `new` or `wait`, what is to be told now."""
    from dibs.operations.core import paging

    count = paging.check_limit(limit, UNREAD)
    cursor: str | None = None
    if wait is None and not new:
        page = _page(tx, call.agent, thread, count, after)
        found, more, cursor = page.records, page.more, page.cursor
    else:
        if after:
            raise Invalid("after: --new and --wait begin where you were told last", field="after")
        found, more = deliverable(tx, call.agent, count, thread=thread)
    if not found and wait:
        return _await(tx, call.agent, wait, wake)
    if wake:
        _listen(tx, call.agent, wake, 0)
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
    """Nothing is there yet: whoever posts something will wake this process. Says when to look again all the same."""
    heard = _listen(tx, agent, channel, tx.now + PRESENT) if channel else True
    look_in = LOOK_OFTEN if not heard or subscribed(tx, agent) else LOOK_EVERY
    for entry, _, _ in tx.scan(1, f"tell\t{agent}\t", 1, after=f"tell\t{agent}\t{tx.now + 1:015d}").rows:
        look_in = min(look_in, int(entry.split("\t")[2]) - tx.now)
    return {"waiting": "inbox", "look_in": max(10, min(look_in, wait)), "for": "a message"}


def _listen(tx: Transaction, agent: str, channel: str, until: int) -> bool:
    """Note in the mailbox that a process waits until then (0: no more); False if there are too many already."""
    box = mailbox(tx, agent)
    known = next((entry[1] for entry in box["waiting"] if entry[0] == channel), 0)
    if (until and known >= until - PRESENT // 2) or (not until and not known):  # noted; not each look has to write
        return True
    others = [entry for entry in box["waiting"] if entry[0] != channel and entry[1] > tx.now]
    if until and len(others) >= WAITERS:
        return False
    box["waiting"] = [*others, [channel, until]] if until else others
    _keep(tx, agent, box)
    return True


# --- ack


def _ack(tx: Transaction, call: Call, got: Fetched, message: str) -> dict[str, Any]:
    """It was dealt with. A subagent's shell goes by its parent's name, so that one may say so too."""
    if message == "all":
        _acknowledge_all(tx, call)
        return {"message": "all"}
    if message.startswith("v"):  # no message, but a change of a file that may stay as it is
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
    """Who asked for an acknowledgement (`send --ack`) hears of it."""
    if message.get("again") and message["from"] != call.agent:
        text = f"{call.name} acknowledged your message {message['message']}. You wrote: {quoted(message['text'])}"
        post(tx, message["from"], "dibs", "acknowledged", text, acknowledged=message["message"], by=call.agent)


def _settled(tx: Transaction, agent: str, claim: str) -> bool:
    """A claim that was lost: the agent knows. It is not told again; a commit of it is still refused."""
    key = f"l\t{agent}\t{claim}"
    loss = tx.fetch([key]).values[key]
    if loss is None:
        return False
    loss["settled"] = True
    tx.put(key, loss, i2=due(loss["until"]))
    return True


def _find(tx: Transaction, prefix: str, identifier: str) -> tuple[str, Record] | None:
    """The message of this id in that part of the mailboxes, if its time is not over."""
    for key, message in walk(tx, prefix):
        if message["message"] == identifier:
            return None if _over(tx, message) else (key, message)
    return None


def _acknowledge_all(tx: Transaction, call: Call) -> None:
    """All that the agent was shown: what it never saw cannot have been dealt with."""
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
                "wait", "duration", "show only undelivered messages; wait up to D for one", most=MAX_WAIT, metavar="D"
            ),
            Field("new", "flag", "only new or redelivered messages", default=False),
            Field("thread", "text", "only the messages of this thread", default="", metavar="ID"),
            *PAGED,
            Field("waiter", "text", "whether this is a further look", default="", internal=True),
            Field("wake", "text", "the name under which the waiting process listens", default="", internal=True),
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
