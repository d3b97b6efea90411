"""Messages from one agent to another: what `ask` sends, and what dibs itself has to say ("it is free now").

Kept in order for each recipient until acknowledged.
"""

from __future__ import annotations

from dibs.errors import NotFound
from dibs.operations.call import check_text, iso
from dibs.operations.declare import Field, Operation
from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.operations.call import Call, Record
    from dibs.stores.seam import Fetched, Transaction

UNREAD = 50  # shown at once; the rest follows when these are acknowledged
FULL = 1_000  # unread messages an agent may have; what dibs itself would add is then dropped, and the log has it


def post(tx: Transaction, to: str, sender: str, kind: str, text: str, **data: Any) -> str:
    """Leave a message for an agent."""
    identifier = f"m{tx.id()}"
    message: Record = {
        "message": identifier, "to": to, "from": sender, "type": kind, "text": text, "data": data, "at": tx.now,
    }  # fmt: skip
    tx.put(f"m\t{to}\t{tx.now:015d}\t{identifier}", message)
    tx.append("message.posted", sender, to, {"id": identifier, "type": kind})
    tx.wake(f"inbox-{to.replace('/', '-')}")
    return identifier


def unread(tx: Transaction, agent: str, limit: int = UNREAD) -> tuple[list[tuple[str, Record]], bool]:
    """An agent's messages, the oldest first, with their keys; and whether there are more."""
    got = tx.fetch((), [prefix_range(f"m\t{agent}\t")], limit)
    return got.rows, got.truncated


def mark_shown(tx: Transaction, key: str, message: Record) -> bool:
    """Remember that the recipient saw it, so that it is not repeated before the next boot; says whether it is new."""
    if message.get("shown"):
        return False
    message["shown"] = True
    tx.put(key, message)
    return True


def shown(tx: Transaction, message: Record) -> dict[str, Any]:
    """A message as people and programs read it."""
    return {
        "message": message["message"],
        "from": message["from"],
        "type": message["type"],
        "text": message["text"],
        "at": iso(tx, message["at"]),
        **message["data"],
    }


def _inbox(tx: Transaction, call: Call, got: Fetched) -> dict[str, Any]:
    found, more = unread(tx, call.agent)
    return {"messages": [shown(tx, message) for _, message in found], "more": more}


def _ack(tx: Transaction, call: Call, got: Fetched, message: str) -> dict[str, Any]:
    check_text(message, "message")
    after = f"m\t{call.agent}\t"
    ranges = [prefix_range(after)]
    while True:
        page = tx.fetch((), ranges, UNREAD)
        for key, found in page.rows:
            if message in {"all", found["message"]}:
                tx.delete(key)
                tx.append("message.acknowledged", call.agent, found["message"], {"from": found["from"]})
                if message != "all":
                    return {"message": message}
        if not page.truncated:
            break
        ranges = [(page.rows[-1][0] + "\x01", ranges[0][1])]
    if message == "all":
        return {"message": "all"}
    raise NotFound(f"no unread message {message} for {call.agent}", message_id=message)


OPERATIONS = (
    Operation("inbox", _inbox, "Show the messages you have not acknowledged.", json="messages[], more"),
    Operation(
        "ack",
        _ack,
        "Acknowledge a message, so that it is not shown again.",
        fields=(Field("message", "text", "the message's id, or `all`", positional=True, required=True, metavar="ID"),),
        errors=(NotFound,),
        json="message",
    ),
)
