"""Broadcasts: a message to all agents, or to all of a type; and one that is kept for later agents of a type.

- success: every fitting agent that is there, without the sender, gets a copy, all copies under one id. Agents that left
  or were killed are skipped. Up to one step (long_jobs.RECORDS_PER_STEP) is sent in the first transaction; more go in
  steps, so that a thousand mailboxes block nobody. An agent that comes while the steps run may get it.
- later (`send type:T --later`): the message is also kept until it expires, and every agent that takes on the type by
  then gets a copy with its boot or `run join`: a new agent, or one that comes back after it left, was revived, or
  changes its type. At least once each: an agent that leaves or comes in the very millisecond of the message may get it
  twice.
- refusal: no agent fits (`not_found`), unless it is kept; no fitting agent has room, or too many are kept (`quota`). Of
  several, the answer names those without room.
- crash: a job's steps continue like those of every job; no copy is made twice. Kept messages are records.
- expiry: if no agent got a kept message, a sender that wanted an acknowledgement is told.
"""

from __future__ import annotations

from dibs.errors import Invalid, NotFound, Quota, from_parts
from dibs.operations.agents import names
from dibs.operations.agents.records import AGENT_KEYS, agent_key, get_agents
from dibs.operations.core import long_jobs
from dibs.operations.core.call import OF_TYPE, check_text, lineage_of
from dibs.operations.core.policy import WORK
from dibs.operations.messages import mailbox
from dibs.operations.messages.records import (
    addressed,
    get_kept,
    get_mailbox,
    get_mailboxes,
    put_kept,
    stamp_of,
    type_of,
)
from dibs.operations.tasks.lifecycle import check_word
from dibs.stores.seam import AFTER_KEY, prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NotRequired, TypedDict

    from dibs.errors import DibsError
    from dibs.operations.agents.records import Agent
    from dibs.operations.core.call import Call
    from dibs.operations.core.policy import MailboxLimits
    from dibs.operations.core.records import Job
    from dibs.operations.messages.records import KeptMessage, Letter, Mailbox
    from dibs.stores.seam import Json, Transaction

    class Recipients(TypedDict):
        """Who got a message, as its record for replies has it."""

        to: list[str]
        spec: NotRequired[str]

    class Reach(TypedDict):
        """Whom a message reached: a part of the answer (`SendAnswer`)."""

        to: list[str]
        to_name: NotRequired[list[str]]
        count: int
        full: NotRequired[list[str]]
        later: NotRequired[bool]

    class BroadcastJob(Job):
        """`send`: copies of a message for all fitting agents."""

        message: Letter
        to: str  # `all`, or a type
        type: str  # "" for all
        later: bool  # it is kept for later agents of the type
        after: str  # the last agent that was looked at
        wanted: str  # the first agent that was to get it
        full: list[str]  # agents without room
        limits: MailboxLimits  # of a mailbox
        request: list[str] | None  # the operation and its request id


ALL = "all"
RECORDS_PER_COPY = 3  # the message, the mailbox, the event
AGENTS_PER_TRIP = 100
MAX_MESSAGES_KEPT = 100  # for later agents of one type
MAX_MESSAGES_READ = 2 * MAX_MESSAGES_KEPT  # expired ones among them


def is_for_many(to: str) -> bool:
    """Does this recipient mean several agents?"""
    return to == ALL or to.startswith(OF_TYPE)


def send(
    tx: Transaction, call: Call, to: str, message: Letter, *, later: bool
) -> tuple[Reach, Recipients, list[str]] | DibsError:
    """Leave copies for all fitting agents. Returns its part of the answer, recipients and jobs, or the refusal."""
    kind = check_text(to.removeprefix(OF_TYPE), "to") if to != ALL else ""
    if to != ALL and not kind:
        raise Invalid("to: which type?", field="to")
    refusal = _keep(tx, call, to, kind, message) if later else None
    if refusal is not None:
        return refusal
    settings = call.policy.work["messages"]
    limits: MailboxLimits = {"inbox": settings["inbox"], "from_one": settings["from_one"]}
    request = ["send", call.request] if call.request else None
    job = long_jobs.new(
        tx, "send", call.agent, message=message, to=to, type=kind, later=later, after="", wanted="", full=[],
        limits=limits, request=request,
    )  # fmt: skip
    jobs = long_jobs.begin(tx, job)
    if "error" in job["answer"]:
        return from_parts(job["answer"]["error"])
    recipients: Recipients = {"to": [], "spec": to} if jobs or later else {"to": list(job["names"])}
    return _answer(job), recipients, jobs


def step(tx: Transaction, job: BroadcastJob, room: int) -> int:
    """Leave copies for further agents, up to `room` records."""
    used, more = 0, True
    while more and used < room:
        low, high = prefix_range(AGENT_KEYS)
        low = f"{agent_key(job['after'])}{AFTER_KEY}" if job["after"] else low
        page = tx.fetch([(low, high)], max(1, min(AGENTS_PER_TRIP, (room - used) // (1 + RECORDS_PER_COPY))))
        agents: list[Agent] = [agent for _, agent in page.rows]
        copies = _leave(tx, job, _fitting(tx, job, agents))
        used += len(agents) + RECORDS_PER_COPY * copies
        more = page.truncated
        if agents:
            job["after"] = agents[-1]["agent"]
    if not more:
        _close(tx, job)
        return min(used, room - 1)
    job["answer"] = _answer(job)
    return max(used, room)


def _fitting(tx: Transaction, job: BroadcastJob, agents: Sequence[Agent]) -> list[str]:
    """The recipients among these: not the sender, not an agent that left or was killed, nor a subagent of one."""
    above = sorted({name for agent in agents for name in lineage_of(agent["agent"])[:-1]})
    killed = {name for name, agent in get_agents(tx, above).items() if agent is not None and agent["killed"]}
    killed |= {agent["agent"] for agent in agents if agent["killed"]}
    return [
        agent["agent"]
        for agent in agents
        if agent["agent"] != job["by"]
        and not agent["left"]
        and "same" not in agent  # not an alias of an agent that gets it anyway
        and (not job["type"] or agent["type"] == job["type"])
        and killed.isdisjoint(lineage_of(agent["agent"]))
        and not (job["later"] and agent.get("heard", {}).get(job["type"], 0) > job["at"])  # it came since, and has it
    ]


def _leave(tx: Transaction, job: BroadcastJob, wanted: Sequence[str]) -> int:
    """Leave a copy for each of these that has room; returns how many."""
    boxes = get_mailboxes(tx, wanted)
    reached = [name for name in wanted if not is_full(boxes[name], job["by"], job["limits"])]
    for name in reached:
        post(tx, boxes[name], job["message"], name, job["request"])
    full = [name for name in wanted if name not in set(reached)]
    job["full"] += full[: max(0, long_jobs.MAX_IDS_LISTED - len(job["full"]))]
    job["wanted"] = job["wanted"] or (wanted[0] if wanted else "")
    long_jobs.count(job, *reached)
    return len(reached)


def _close(tx: Transaction, job: BroadcastJob) -> None:
    """All agents were looked at."""
    job["answer"] = _answer(job)
    if job["done"] or job["later"]:
        return
    if job["wanted"]:
        tx.append("call.refused", job["by"], "send", {"code": "quota"})
        box = get_mailbox(tx, job["wanted"])
        long_jobs.refuse(job, no_room(tx, job["by"], job["wanted"], box, job["limits"]))
    else:
        whom = f"agent of type {job['type']}" if job["type"] else "other agent"
        later = "; --later keeps it for the next one" if job["type"] else ""
        text = f"there is no {whom} here to send it to{later}; `dibs agents` lists all"
        long_jobs.refuse(job, NotFound(text, to=whom))


def _answer(job: BroadcastJob) -> Reach:
    """The job's part of the answer: a limited list of names, and the total."""
    answer: Reach = {"to": list(job["names"]), "count": job["done"]}
    if job["full"]:
        answer["full"] = list(job["full"])
    if job["later"]:
        answer["later"] = True
    return answer


def post(tx: Transaction, box: Mailbox, message: Letter, to: str, request: list[str] | None = None) -> None:
    """One copy, with its event."""
    mailbox.put_in(tx, box, addressed(message, to))
    data = {"id": message["message"], "type": message["type"], **({"request": request} if request else {})}
    tx.append("message.posted", message["from"], to, data)


# --- room


def is_full(box: Mailbox, sender: str, limits: MailboxLimits) -> bool:
    """Does this mailbox take no more from this sender?"""
    return box["count"] >= limits["inbox"] or box["from"].get(sender, 0) >= limits["from_one"]


def no_room(tx: Transaction, sender: str, recipient: str, box: Mailbox, limits: MailboxLimits) -> Quota:
    """Why this mailbox takes no more from this sender."""
    mine, name = box["from"].get(sender, 0), names.name_of(tx, recipient)
    if mine >= limits["from_one"]:
        text, limit = f"{mine} messages of yours wait for {name} already", limits["from_one"]
        what = "messages of one sender in an inbox"
    else:
        text, limit = f"{box['count']} messages wait for {name} already", limits["inbox"]
        what = "messages in an inbox"
    return Quota(f"{text}; it must acknowledge some first.", what=what, limit=limit, agent=recipient)


# --- for later agents


def _keep(tx: Transaction, call: Call, to: str, kind: str, message: Letter) -> Quota | None:
    """Keep a message for later agents of a type; or refuse."""
    if to == ALL:
        raise Invalid("later: for one agent, by the id that it will have, or for type:T", field="later")
    check_word(kind, "to")
    rows = get_kept(tx, kind, MAX_MESSAGES_READ)
    if len([kept for _, kept in rows if kept["until"] > tx.now]) >= MAX_MESSAGES_KEPT:
        text = f"{MAX_MESSAGES_KEPT} messages are kept for agents of type {kind} already; some must expire first."
        tx.append("call.refused", call.agent, "send", {"code": "quota"})
        return Quota(text, what=f"messages for later agents of type {kind}", limit=MAX_MESSAGES_KEPT)
    stamp = max(tx.now, 1 + max([stamp_of(key) for key, _ in rows], default=0))
    put_kept(tx, kind, stamp, {**message, "given": 0})
    tx.append("message.posted", call.agent, to, {"id": message["message"], "type": message["type"]})
    return None


def take_on_type(tx: Transaction, agent: Agent, was: str) -> None:
    """An agent takes its type on (the caller writes its record): it gets the messages kept for that type.

    `was`: its type so far; "" for a new agent, or one that was not there.
    """
    if agent["type"] == was:
        return
    if was:
        parts(tx, agent, was)
    if not agent["type"]:
        return
    since = agent.get("heard", {}).get(agent["type"], 0)
    coming = [
        (key, kept)
        for key, kept in get_kept(tx, agent["type"], MAX_MESSAGES_READ)
        if kept["at"] > since and kept["until"] > tx.now and kept["from"] != agent["agent"]
    ]
    if not coming:
        return
    agent["heard"] = {**agent.get("heard", {}), agent["type"]: tx.now}
    box = get_mailbox(tx, agent["agent"])
    for key, kept in coming:
        if is_full(box, kept["from"], WORK["messages"]):
            continue
        letter: Json = {name: value for name, value in kept.items() if name != "given"}
        post(tx, box, letter, agent["agent"])
        put_kept(tx, agent["type"], stamp_of(key), {**kept, "given": kept["given"] + 1})


def parts(tx: Transaction, agent: Agent, kind: str) -> None:
    """An agent gives a type up: it has got the messages so far (the caller writes its record)."""
    if kind:
        agent["heard"] = {**agent.get("heard", {}), kind: tx.now - 1}


def lapse(tx: Transaction, key: str, message: KeptMessage) -> None:
    """A kept message expires. A sender that wanted an acknowledgement is told if no agent got it."""
    tx.delete(key)
    kind, sender = type_of(key), message["from"]
    data = {"from": sender, "delivery": message["given"]}
    tx.append("message.expired", f"{OF_TYPE}{kind}", message["message"], data)
    if message.get("again") and not message["given"]:
        words = mailbox.quoted(message["text"])
        text = f"Your message {message['message']} for agents of type {kind} expired: none came. You wrote: {words}"
        mailbox.post(tx, sender, "dibs", "undelivered", text, undelivered=message["message"], recipient=f"type:{kind}")
