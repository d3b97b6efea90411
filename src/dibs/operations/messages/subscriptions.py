"""Subscriptions: an agent names kinds of event (the fleet's own or dibs'), or a state document, and gets each event.

- `emit` puts an event of the agents' own into the log, next to dibs' own.
- `subscribe` starts at the end of the log. From there on each fitting event is put into the agent's inbox, once, in the
  order of the log; an event that fits two subscriptions comes once. An agent gets its own events too.
- delivery: a door reads the log after the agent's cursor (a transaction cannot) and brings the events; `deliver` puts
  them into the inbox and moves the cursor in one transaction, if nothing changed since the door read. So each event
  arrives exactly once, however many processes deliver at once and wherever one dies.
- a full inbox holds the cursor back. Events that were pruned before delivery are reported as a gap.
- events about messages are not delivered: each would cause the next.
"""

from __future__ import annotations

from dibs import jsontext
from dibs.errors import Invalid, NotFound, Quota
from dibs.operations.core import json_values, paging
from dibs.operations.core.declare import PAGED, Field, Operation
from dibs.operations.messages import mailbox
from dibs.operations.messages.records import (
    delete_subscriber,
    delete_subscriptions,
    get_mailbox,
    get_mailboxes,
    get_subscribers,
    get_subscriptions,
    put_subscriber,
    put_subscriptions,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypedDict

    from dibs.operations.core.call import Call
    from dibs.operations.messages.answers import EmitAnswer, SubscribeAnswer, SubscriptionsAnswer
    from dibs.operations.messages.records import Sender, Subscriptions
    from dibs.operations.messages.requests import EmitRequest, SubscribeRequest, SubscriptionsRequest
    from dibs.stores.seam import Json, Transaction

    Event = Mapping[str, Json]  # an event of the log, opened

    class EventText(Sender):
        """What a message about events says."""

        text: str
        data: dict[str, Json]

    class Delivery(TypedDict):
        """What became of a delivery of events."""

        subscriptions: Subscriptions  # with the new cursor
        held: bool  # the inbox has no room for all of them


MAX_DATA_CHARS = 16 * 1024  # as of a message's payload
MAX_KIND_CHARS = 100
MAX_SUBSCRIPTIONS = 64  # of one agent: each event is compared with all of them
MAX_SUBSCRIBERS_WOKEN = 1_000  # by one event; the others poll within a second
MAX_TEXT_CHARS = 200  # of an event's data in the text of its message, which also has the data
KIND_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-")
STATE_PREFIX = "state:"
EMITTED = "event.emitted"
MESSAGE_PREFIX = "message."


# --- emit


def _emit(tx: Transaction, call: Call, request: EmitRequest) -> EmitAnswer:
    """Put an event into the log."""
    from dibs.operations.core.event_kinds import FAMILIES  # only here: state documents load this file, too

    kind = request["kind"]
    _check_kind(kind, "kind")
    if kind.startswith((*FAMILIES, STATE_PREFIX)):  # an agent's own kind must not look like one of dibs'
        raise Invalid(f"kind: names that begin with {kind[: _end(kind)]} are dibs' own; use another.", field="kind")
    body = {"data": request["data"]}
    if call.request:
        body["request"] = ["emit", call.request]
    tx.append(EMITTED, call.agent, kind, body)
    tell(tx, kind)
    return {"event": kind}


def _end(kind: str) -> int:
    return min(place for place in (kind.find("."), kind.find(":")) if place >= 0) + 1


def _check_kind(kind: str, field: str) -> None:
    if not 1 <= len(kind) <= MAX_KIND_CHARS or not KIND_LETTERS.issuperset(kind):
        shown = kind[:MAX_KIND_CHARS]
        message = f"{field}: 1 to {MAX_KIND_CHARS} letters, digits and . _ : - make a kind of event, not {shown!r}"
        raise Invalid(message, field=field)


def tell(tx: Transaction, kind: str, subject: str = "") -> None:
    """An event was committed: wake the subscribers that wait for messages. `kind` "state" is a document's change."""
    kinds = ["state.set"] if kind == "state" else [kind, EMITTED]
    things = {*kinds, *[f"{name[:end]}*" for name in kinds for end in range(len(name) + 1)]}
    if kind == "state":
        things.add(f"{STATE_PREFIX}{subject}")
    for box in get_mailboxes(tx, get_subscribers(tx, things, MAX_SUBSCRIBERS_WOKEN)).values():
        mailbox.wake(tx, box)


# --- subscribe


def _subscribe(tx: Transaction, call: Call, request: SubscribeRequest) -> SubscribeAnswer | Quota:
    """Start or end a subscription."""
    what = request["what"]
    what = _check_what(what)
    known = get_subscriptions(tx, call.agent)
    if request["off"]:
        if known is None or what not in known["what"]:
            raise NotFound(f"you do not subscribe to {what}; `dibs subscriptions` lists your subscriptions.", what=what)
        del known["what"][what]
        put_subscriptions(tx, known)
        delete_subscriber(tx, what, call.agent)
        tx.append("event.unsubscribed", call.agent, what, {})
        return {"subscription": what, "cursor": known["cursor"], "off": True}
    head = tx.tail().seq
    if known is None:
        known = {"agent": call.agent, "cursor": head, "version": "", "what": {}}
    if what not in known["what"]:
        if len(known["what"]) >= MAX_SUBSCRIPTIONS:
            tx.append("call.refused", call.agent, "subscribe", {"code": "quota"})
            end_one = "end one (`dibs subscribe WHAT --off`) or use a prefix."
            text = f"you have {MAX_SUBSCRIPTIONS} subscriptions already; {end_one}"
            return Quota(text, what="subscriptions of one agent", limit=MAX_SUBSCRIPTIONS)
        known["what"][what] = head
        put_subscriptions(tx, known)
        put_subscriber(tx, what, call.agent)
        tx.append("event.subscribed", call.agent, what, {"cursor": head})
    return {"subscription": what, "cursor": max(known["cursor"], known["what"][what])}


def _check_what(what: str) -> str:
    """The subject of a subscription, in the form in which it is compared."""
    if what.startswith(STATE_PREFIX):
        return STATE_PREFIX + json_values.check_key(what.removeprefix(STATE_PREFIX))
    if what.startswith(MESSAGE_PREFIX):
        raise Invalid("what: events about messages are not delivered, since each would cause the next.", field="what")
    if what != "*":
        _check_kind(what.removesuffix("*"), "what")
    return what


def _subscriptions(tx: Transaction, call: Call, request: SubscriptionsRequest) -> SubscriptionsAnswer:
    """The caller's subscriptions, each with its first event."""
    known = get_subscriptions(tx, call.agent)
    rows = [] if known is None else sorted(known["what"].items())
    through = known["cursor"] if known is not None else tx.tail().seq
    page = paging.listed(rows, lambda row: str(row[0]), paging.check_limit(request["limit"]), request["after"])
    return {
        "subscriptions": [{"subscription": what, "cursor": max(through, since)} for what, since in page.records],
        "through": through,
        "more": page.more,
        "cursor": page.cursor,
    }


def drop(tx: Transaction, agent: str) -> None:
    """End all subscriptions of an agent that will not come back."""
    known = get_subscriptions(tx, agent)
    if known is not None:
        for what in known["what"]:
            delete_subscriber(tx, what, agent)
            tx.append("event.unsubscribed", agent, what, {})
        delete_subscriptions(tx, agent)


# --- delivery: for the door that reads the log


def wants(known: Subscriptions, event: Event) -> bool:
    """Does any of an agent's subscriptions fit this event of the log?"""
    kind, subject, seq = event["kind"], event["subject"], event["seq"]
    if kind.startswith(MESSAGE_PREFIX):
        return False
    return any(since < seq and _fits(what, kind, subject) for what, since in known["what"].items())


def _fits(what: str, kind: str, subject: str) -> bool:
    if what.startswith(STATE_PREFIX):
        return kind.startswith("state.") and subject == what.removeprefix(STATE_PREFIX)
    if what.endswith("*"):
        return kind.startswith(what[:-1]) or (kind == EMITTED and subject.startswith(what[:-1]))
    return what == kind or (kind == EMITTED and subject == what)


def pending(tx: Transaction, call: Call) -> Subscriptions | None:
    """The caller's subscriptions, with the cursor; None if there are none, or nothing new is in the log."""
    if not call.agent:
        from dibs.operations.agents.speech import name_caller

        name_caller(tx, call)
    known = get_subscriptions(tx, call.agent)
    return known if known is not None and known["cursor"] < tx.tail().seq else None


def deliver(
    tx: Transaction, call: Call, known: Subscriptions, events: Sequence[Event], through: int, first: int
) -> Delivery | None:
    """Put these events into the inbox and move the cursor to `through`.

    `known` is what the door saw, `first` the first event that the log still has after its cursor. None if another
    process delivered or subscribed meanwhile.
    """
    now = get_subscriptions(tx, call.agent)
    if now is None or now["version"] != known["version"]:
        return None
    news: list[tuple[int, EventText]] = [(event["seq"] - 1, _text_of(event)) for event in events]
    if first > now["cursor"] + 1:
        news.insert(0, (now["cursor"], _gap(now["cursor"] + 1, first - 1)))
    limits = call.policy.work["messages"]
    box = get_mailbox(tx, call.agent)
    held = False
    for before, content in news:
        if box["count"] >= limits["inbox"] // 2:  # the other half is for messages of agents
            held, through = True, before
            break
        identifier, until = f"m{tx.id()}", tx.now + limits["life"]
        mailbox.put_in(
            tx, box,
            {
                "message": identifier, "to": call.agent, "from": content["from"], "type": "event",
                "text": content["text"], "data": content["data"], "at": tx.now, "until": until,
            },
        )  # fmt: skip
        tx.append("message.posted", content["from"], call.agent, {"id": identifier, "type": "event"})
    if through > now["cursor"]:
        now["cursor"] = through
        put_subscriptions(tx, now)
    return {"subscriptions": now, "held": held}


def _text_of(event: Event) -> EventText:
    """An event as a message from the agent that caused it."""
    own = event["kind"] == EMITTED
    kind, data = (event["subject"], event["data"]["data"]) if own else (event["kind"], event["data"])
    text = jsontext.encode(data)
    cut = {"cut": True} if len(text) > MAX_DATA_CHARS else {}
    line = kind if own else f"{kind} {' '.join(event['subject'][:MAX_TEXT_CHARS].split())}"
    if data not in (None, {}):
        line = f"{line}: {text[:MAX_TEXT_CHARS]}{'…' if len(text) > MAX_TEXT_CHARS else ''}"
    known = {"kind": kind, "subject": event["subject"], "seq": event["seq"], "data": None if cut else data, **cut}
    return {"from": event["agent"] or "dibs", "text": line, "data": known}


def _gap(first: int, last: int) -> EventText:
    text = (
        f"Events {first} to {last} were dropped from the log before they could be delivered to you. What you subscribe "
        "to may have been among them: look at the present state."
    )
    return {"from": "dibs", "text": text, "data": {"kind": "log.pruned", "dropped": [first, last]}}


OPERATIONS = (
    Operation(
        "emit",
        _emit,
        "Publish an event to its subscribers.",
        group="messages",
        fields=(
            Field("kind", "text", "what kind of event, such as build.done", positional=True, required=True),
            Field("data", "json", "the event's data", longest=MAX_DATA_CHARS, positional=True, metavar="JSON"),
        ),
        errors=(Invalid,),
        rank="worker",
        answer="EmitAnswer",
    ),
    Operation(
        "subscribe",
        _subscribe,
        "Get events of a kind, or changes to a document, in your inbox.",
        group="messages",
        fields=(
            Field(
                "what",
                "text",
                "a kind of event, the beginning of one with a *, or state:KEY",
                positional=True,
                required=True,
                metavar="KIND|state:KEY",
            ),
            Field("off", "flag", "unsubscribe", default=False),
        ),
        errors=(Invalid, NotFound, Quota),
        rank="worker",
        answer="SubscribeAnswer",
        idempotent=True,
    ),
    Operation(
        "subscriptions",
        _subscriptions,
        "List your subscriptions.",
        group="messages",
        registers=False,
        rank="viewer",
        fields=PAGED,
        answer="SubscriptionsAnswer",
        idempotent=True,
    ),
)
