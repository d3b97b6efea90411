"""`send`: a message from one agent to another, to all of a type, or to all. mailbox.py has what becomes of it.

What happens, in short:
- to several: each gets its own copy under one id, in the transaction that sends it; who comes later gets none. Agents
  that left or were killed are passed over, and so is the sender. To one agent by its id: it is kept until that returns.
- refusal: nobody fits, a reply to nothing (`not_found`); somebody else's conversation (`forbidden`); no room (`quota`).
  Of several, those without room are named in the answer, and the others get it.
- retry: with the same request id the same answer, and no second message.
- threads: a reply belongs to the thread of what it answers, also when that was acknowledged long ago.
"""

from __future__ import annotations

from dibs.errors import Forbidden, Invalid, NotFound, Quota
from dibs.operations.agents import names
from dibs.operations.core import json_values
from dibs.operations.core.call import MAX_ID, check_agent_id, check_text, due, lineage_of, within
from dibs.operations.core.declare import Field, Operation
from dibs.operations.core.policy import check_duration
from dibs.operations.messages import mailbox
from dibs.stores.seam import values_of, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Fetched, Transaction

LARGEST = 16 * 1024  # letters of a payload; what is longer belongs into a file or a state document
RECIPIENTS = 1_000  # copies that one transaction makes
OWN = "dibs"  # the name by which dibs itself speaks
ALL, OF_TYPE, OTHER_SIDE = "all", "type:", "-"


def _send(
    tx: Transaction,
    call: Call,
    got: Fetched,
    to: str,
    text: str,
    type: str = "message",
    ack: bool = False,
    payload: Any = None,
    reply: str = "",
    expires: int | None = None,
    later: bool = False,
) -> Any:
    """Leave a message for everybody it is for."""
    limits = call.policy.work["messages"]
    message = _message(tx, call, text, type, payload)
    life = limits["life"] if expires is None else check_duration(expires, "expires")
    origin = _origin(tx, reply)
    if origin is not None and not any(within(one, call.agent) for one in [origin["from"], *origin["to"]]):
        tx.append("call.refused", call.agent, "send", {"code": "forbidden"})
        return Forbidden(f"{reply} is between others: only who sent it or got it may reply.", message_id=reply)
    wanted = _to_come(tx, to) if later else _recipients(tx, call, to, origin)
    boxes = _boxes(tx, wanted)
    reached = [name for name in wanted if not _full(boxes[name], call.agent, limits)]
    if not reached:
        tx.append("call.refused", call.agent, "send", {"code": "quota"})
        return _no_room(tx, call.agent, wanted[0], boxes[wanted[0]], limits)
    identifier = f"m{tx.id()}"
    message.update(message=identifier, until=tx.now + life, thread=identifier)
    if origin is not None:
        message.update(thread=origin["thread"], reply_to=reply)
    if ack:
        message["again"] = limits["visibility"]
    said = {"id": identifier, "type": message["type"], **({"request": ["send", call.request]} if call.request else {})}
    for name in reached:
        mailbox.put_in(tx, boxes[name], {**message, "to": name})
        tx.append("message.posted", call.agent, name, said)
    until = tx.now + max(life, limits["life"])
    known = {"thread": message["thread"], "from": call.agent, "to": reached, "until": until}
    tx.put(f"mt\t{identifier}", known, i2=due(until))
    answer = {"message": identifier, "to": reached, "thread": message["thread"]}
    if len(reached) < len(wanted):
        answer["full"] = [name for name in wanted if name not in reached]
    return answer


def _message(tx: Transaction, call: Call, text: str, type: str, payload: Any) -> Record:
    """What is sent, checked, and not yet addressed."""
    if call.agent.casefold() == OWN:
        raise Invalid(f"{call.agent} is the name by which dibs itself speaks; send under another one.", field="as")
    words = check_text(text, "text")
    if not words.strip() and payload is None:
        raise Invalid("say something: a text or a payload", field="text")
    kind = type or "message"
    if not kind.isprintable() or " " in kind or len(kind) > MAX_ID // 4:
        raise Invalid(f"type: at most {MAX_ID // 4} characters without blanks, not {kind[:60]!r}", field="type")
    message: Record = {"from": call.agent, "type": kind, "text": words, "data": {}, "at": tx.now}
    if payload is not None:
        message["payload"] = json_values.check(payload, "payload", LARGEST)
    return message


def _origin(tx: Transaction, reply: str) -> Record | None:
    """What is known about the message that this one answers."""
    if not check_text(reply, "reply"):
        return None
    known: Record | None = tx.fetch([f"mt\t{reply}"]).values[f"mt\t{reply}"] if reply.isalnum() else None
    if known is None or known["until"] <= tx.now:
        raise NotFound(f"there is no message {reply} that could be answered", message_id=reply)
    return known


# --- for whom it is


def _recipients(tx: Transaction, call: Call, to: str, origin: Record | None) -> list[str]:
    """The agents that it is for, in order of their ids; at least one."""
    if to == OTHER_SIDE:
        if origin is None:
            raise Invalid("to: `-` means the other side of a conversation, so it needs --reply ID", field="to")
        if not within(origin["from"], call.agent):
            return [_known(tx, origin["from"])]
        if len(origin["to"]) == 1:
            return [_known(tx, origin["to"][0])]
        return _fitting(tx, call, "any of those it went to", lambda agent: agent["agent"] in origin["to"])
    if to == ALL:
        return _fitting(tx, call, "anybody else", lambda _: True)
    if to.startswith(OF_TYPE):
        kind = check_text(to.removeprefix(OF_TYPE), "to")
        if not kind:
            raise Invalid("to: which type?", field="to")
        return _fitting(tx, call, f"an agent of type {kind}", lambda agent: agent["type"] == kind)
    check_agent_id(to)
    return [_known(tx, names.found(tx, to))]


def _to_come(tx: Transaction, to: str) -> list[str]:
    """An agent by its id, whether it has called yet or not: what is in its mailbox waits for its first call."""
    if to in {ALL, OTHER_SIDE} or to.startswith(OF_TYPE):
        raise Invalid("later: only for one agent, by the id that it will have", field="later")
    check_agent_id(to)
    return [names.found(tx, to)]


def _known(tx: Transaction, agent: str) -> str:
    if tx.fetch([f"a\t{agent}"]).values[f"a\t{agent}"] is None:
        error = names.unknown(tx, agent)
        if "near" not in error.fields:
            text = f"no agent {agent} is known here; `dibs agents` lists them, and --later keeps it for one to come"
            raise NotFound(text, agent=agent)
        raise error
    return agent


def _fitting(tx: Transaction, call: Call, whom: str, fits: Any) -> list[str]:
    """Everybody but the sender who fits and is still there, as far as can be known."""
    agents: list[Record] = [agent for _, agent in walk(tx, "a\t")]
    killed = {agent["agent"] for agent in agents if agent["killed"]}
    found = [
        agent["agent"]
        for agent in agents
        if agent["agent"] != call.agent
        and not agent["left"]
        and fits(agent)
        and killed.isdisjoint(lineage_of(agent["agent"]))
    ]
    if not found:
        raise NotFound(f"there is not {whom} here to send it to; `dibs agents` lists all", to=whom)
    if len(found) > RECIPIENTS:
        raise Quota(
            f"{len(found)} agents would get it, at most {RECIPIENTS} can at once; send it to a type, or emit an event.",
            what="recipients of one message",
            limit=RECIPIENTS,
        )
    return found


# --- room


def _boxes(tx: Transaction, names: Sequence[str]) -> dict[str, Record]:
    values = values_of(tx, [f"mb\t{name}" for name in names])
    return {name: values[f"mb\t{name}"] or mailbox.new_box() for name in names}


def _full(box: Record, sender: str, limits: dict[str, Any]) -> bool:
    return bool(box["count"] >= limits["inbox"] or box["from"].get(sender, 0) >= limits["from_one"])


def _no_room(tx: Transaction, sender: str, recipient: str, box: Record, limits: dict[str, Any]) -> Quota:
    mine, name = box["from"].get(sender, 0), names.name_of(tx, recipient)
    if mine >= limits["from_one"]:
        text, limit = f"{mine} messages of yours wait for {name} already", limits["from_one"]
        what = "messages of one sender in an inbox"
    else:
        text, limit = f"{box['count']} messages wait for {name} already", limits["inbox"]
        what = "messages in an inbox"
    return Quota(f"{text}; it has to acknowledge some first.", what=what, limit=limit, agent=recipient)


OPERATIONS = (
    Operation(
        "send",
        _send,
        "Send a message to an agent, to all agents of a type, or to all agents.",
        group="messages",
        fields=(
            Field(
                "to",
                "text",
                "an agent's id or name, type:T, all; or - for the sender of the message you reply to",
                positional=True,
                required=True,
                metavar="TO",
            ),
            Field("text", "text", "the message", positional=True, required=True, metavar="TEXT"),
            Field("type", "text", "its type, one word", default="message", metavar="T"),
            Field("ack", "flag", "repeat it until it is acknowledged; you are told when it is", default=False),
            Field("later", "flag", "keep it for an agent that has not called yet (TO is its id)", default=False),
            Field("payload", "json", "data to send with it", metavar="JSON"),
            Field("reply", "text", "the message that this one answers", default="", metavar="ID"),
            Field("expires", "duration", "discard after this (default 7d, or the config's)", metavar="D"),
        ),
        errors=(NotFound, Forbidden, Quota, Invalid),
        may="worker",
        json="message, to[], thread, full[]",
    ),
)
