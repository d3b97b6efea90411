"""`send`: a message from one agent to another. mailbox.py has its delivery, broadcasts.py sends to several.

- to one agent by its id: kept until the agent returns; with `later` also for one that has not called yet.
- to the other side of a message to several: those of them that are still there.
- refusal: no recipient, a reply to no message (`not_found`); another agent's conversation (`forbidden`); no room
  (`quota`). Of several, the answer names those without room, and the others get it.
- retry: the same request id gets the first answer, and no second message is sent.
- threads: a reply belongs to the thread of its message, even if that was acknowledged long ago.
"""

from __future__ import annotations

from dibs.errors import DibsError, Forbidden, Invalid, NotFound, Quota
from dibs.operations.agents import names
from dibs.operations.agents.records import get_agent, get_agents, registered_agent
from dibs.operations.core.call import MAX_ID, check_agent_id, lineage_of, with_jobs, within
from dibs.operations.core.declare import Field, Operation
from dibs.operations.core.policy import MAX_DURATION_MS
from dibs.operations.messages import broadcasts
from dibs.operations.messages.records import get_mailboxes, get_sent, put_sent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.operations.core.call import Call, JobsLeft
    from dibs.operations.messages.answers import SendAnswer
    from dibs.operations.messages.broadcasts import Reach, Recipients
    from dibs.operations.messages.records import Letter, SentMessage
    from dibs.operations.messages.requests import SendRequest
    from dibs.stores.seam import Json, Transaction

MAX_PAYLOAD_CHARS = 16 * 1024  # a longer payload belongs into a file or a state document
OTHER_SIDE = "-"


def _send(tx: Transaction, call: Call, request: SendRequest) -> SendAnswer | JobsLeft | DibsError:
    """Leave a message for each recipient."""
    reply = request["reply"]
    limits = call.policy.work["messages"]
    letter = _letter(tx, call, request["text"], request["type"], request["payload"])
    life = limits["life"] if request["expires"] is None else request["expires"]
    origin = _origin(tx, reply)
    if origin is not None and not _is_party(tx, call, origin):
        tx.append("call.refused", call.agent, "send", {"code": "forbidden"})
        return Forbidden(
            f"{reply} is another agent's conversation: only its sender and its recipients may reply.", message_id=reply
        )
    letter["until"] = tx.now + life
    if origin is not None:
        letter["thread"], letter["reply_to"] = origin["thread"], reply
    if request["ack"]:
        letter["again"] = limits["visibility"]
    many = _spec(call, request["to"], origin)
    if many:
        sent = broadcasts.send(tx, call, many, letter, later=request["later"])
    else:
        sent = _to_few(tx, call, request["to"], origin, letter, later=request["later"])
    if isinstance(sent, NotFound):  # nothing was written
        raise sent
    if isinstance(sent, DibsError):
        return sent
    answer, recipients, jobs = sent
    until = tx.now + max(life, limits["life"])
    message, thread = letter["message"], letter["thread"]
    put_sent(tx, message, {**recipients, "thread": thread, "from": call.agent, "until": until})
    whole: SendAnswer = {"message": message, "thread": thread, **answer}
    return with_jobs(whole, jobs)


def _spec(call: Call, to: str, origin: SentMessage | None) -> str:
    """`all` or a type, if that is meant: also by a reply to the other side of such a message."""
    if to == OTHER_SIDE and origin is not None and origin.get("spec") and within(origin["from"], call.agent):
        return origin["spec"]
    return to if broadcasts.is_for_many(to) else ""


def _to_few(
    tx: Transaction, call: Call, to: str, origin: SentMessage | None, letter: Letter, *, later: bool
) -> tuple[Reach, Recipients, list[str]] | DibsError:
    """Leave copies for one agent, or for the other side. Returns a part of the answer and the recipients."""
    limits = call.policy.work["messages"]
    wanted = _to_come(tx, to) if later else _recipients(tx, call, to, origin)
    boxes = get_mailboxes(tx, wanted)
    reached = [name for name in wanted if not broadcasts.is_full(boxes[name], call.agent, limits)]
    if not reached:
        tx.append("call.refused", call.agent, "send", {"code": "quota"})
        return broadcasts.no_room(tx, call.agent, wanted[0], boxes[wanted[0]], limits)
    for name in reached:
        broadcasts.post(tx, boxes[name], letter, name, ["send", call.request] if call.request else None)
    answer: Reach = {"to": reached, "count": len(reached)}
    if len(reached) < len(wanted):
        answer["full"] = [name for name in wanted if name not in reached]
    return answer, {"to": reached}, []


def _is_party(tx: Transaction, call: Call, origin: SentMessage) -> bool:
    """Did this caller, or one of its subagents, send or get that message?"""
    if any(within(agent, call.agent) for agent in [origin["from"], *origin["to"]]):
        return True
    spec = origin.get("spec", "")
    return spec == broadcasts.ALL or bool(spec and registered_agent(tx, call.agent)["type"] == spec[5:])


def _letter(tx: Transaction, call: Call, text: str, type: str, payload: Json) -> Letter:
    """What is sent, checked, and not yet addressed; its own thread."""
    if not text.strip() and payload is None:
        raise Invalid("say something: a text or a payload", field="text")
    kind = type or "message"
    if not kind.isprintable() or " " in kind or len(kind) > MAX_ID // 4:
        raise Invalid(f"type: at most {MAX_ID // 4} characters without blanks, not {kind[:60]!r}", field="type")
    identifier = f"m{tx.id()}"
    letter: Letter = {
        "message": identifier, "from": call.agent, "type": kind, "text": text, "data": {}, "at": tx.now,
        "thread": identifier,
    }  # fmt: skip
    if payload is not None:
        letter["payload"] = payload
    return letter


def _origin(tx: Transaction, reply: str) -> SentMessage | None:
    """What is known about the message that this one answers."""
    if not reply:
        return None
    sent = get_sent(tx, reply) if reply.isalnum() else None
    if sent is None or sent["until"] <= tx.now:
        raise NotFound(f"there is no message {reply} that could be answered", message_id=reply)
    return sent


# --- for whom it is


def _recipients(tx: Transaction, call: Call, to: str, origin: SentMessage | None) -> list[str]:
    """The recipients, in order of their ids; at least one."""
    if to == OTHER_SIDE:
        if origin is None:
            raise Invalid("to: `-` means the other side of a conversation, so it needs --reply ID", field="to")
        if not within(origin["from"], call.agent):
            return [_known(tx, origin["from"])]
        if len(origin["to"]) == 1:
            return [_known(tx, origin["to"][0])]
        return _still_there(tx, origin["to"])
    check_agent_id(to)
    return [_known(tx, names.found(tx, to))]


def _to_come(tx: Transaction, to: str) -> list[str]:
    """An agent by its id, known or not: its mailbox keeps the message until its first call."""
    if to == OTHER_SIDE:
        raise Invalid("later: for one agent, by the id that it will have, or for type:T", field="later")
    check_agent_id(to)
    return [names.found(tx, to)]


def _known(tx: Transaction, agent: str) -> str:
    if get_agent(tx, agent) is None:
        error = names.unknown(tx, agent)
        if "near" not in error.fields:
            text = f"no agent {agent} is known here; `dibs agents` lists them, and --later keeps it for a later agent"
            raise NotFound(text, agent=agent)
        raise error
    return agent


def _still_there(tx: Transaction, wanted: Sequence[str]) -> list[str]:
    """The agents among these that have not left and were not killed, nor an ancestor of theirs; at least one."""
    known = get_agents(tx, sorted({name for agent in wanted for name in lineage_of(agent)}))
    killed = {name for name, record in known.items() if record is not None and record["killed"]}
    there = [agent for agent in wanted if (record := known[agent]) is not None and not record["left"]]
    there = [agent for agent in there if killed.isdisjoint(lineage_of(agent))]
    if not there:
        text = "none of its recipients is here any more; `dibs agents` lists all agents"
        raise NotFound(text, to=OTHER_SIDE)
    return there


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
            Field("ack", "flag", "repeat it until it is acknowledged; you are notified when it is", default=False),
            Field(
                "later",
                "flag",
                "keep it for an agent that has not called yet (by its id), or for later agents of type:T",
                default=False,
            ),
            Field("payload", "json", "data to send with it", longest=MAX_PAYLOAD_CHARS, metavar="JSON"),
            Field("reply", "text", "the message that this one answers", default="", metavar="ID"),
            Field(
                "expires",
                "duration",
                "discard after this (default 7d, or the config's)",
                least=1,
                most=MAX_DURATION_MS,
                metavar="D",
            ),
        ),
        errors=(NotFound, Forbidden, Quota, Invalid),
        rank="worker",
        answer="SendAnswer",
    ),
)
