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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dibs.operations.core.call import Call, Record
    from dibs.operations.messages.requests import EmitRequest, SubscribeRequest, SubscriptionsRequest
    from dibs.stores.seam import Transaction

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


def _emit(tx: Transaction, call: Call, request: EmitRequest) -> dict[str, Any]:
    """Put an event into the log."""
    from dibs.operations.core import events  # only here: state documents load this file too, and need no table

    kind = request["kind"]
    _check_kind(kind, "kind")
    if kind.startswith((*events.families(), STATE_PREFIX)):  # an agent's own kind must not look like one of dibs'
        raise Invalid(f"kind: names that begin with {kind[: _end(kind)]} are dibs' own; use another.", field="kind")
    said = {"data": request["data"]}
    if call.request:
        said["request"] = ["emit", call.request]
    tx.append(EMITTED, call.agent, kind, said)
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
    keys = {*kinds, *[f"{name[:end]}*" for name in kinds for end in range(len(name) + 1)]}
    if kind == "state":
        keys.add(f"{STATE_PREFIX}{subject}")
    found = tx.fetch([(f"sk\t{what}\t", f"sk\t{what}\n") for what in sorted(keys)], MAX_SUBSCRIBERS_WOKEN).rows
    agents = sorted({key.rpartition("\t")[2] for key, _ in found})
    boxes = tx.get_many([f"mb\t{agent}" for agent in agents])
    for box in boxes.values():
        if box is not None:
            mailbox.wake(tx, box)


# --- subscribe


def _subscribe(tx: Transaction, call: Call, request: SubscribeRequest) -> Any:
    """Start or end a subscription."""
    what = request["what"]
    what = _check_what(what)
    known = _record(tx, call.agent)
    if request["off"]:
        if known is None or what not in known["what"]:
            raise NotFound(f"you do not subscribe to {what}; `dibs subscriptions` lists your subscriptions.", what=what)
        del known["what"][what]
        _keep(tx, known)
        tx.delete(f"sk\t{what}\t{call.agent}")
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
        _keep(tx, known)
        tx.put(f"sk\t{what}\t{call.agent}", {})
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


def _record(tx: Transaction, agent: str) -> Record | None:
    found: Record | None = tx.get(f"su\t{agent}")
    return found


def _keep(tx: Transaction, known: Record) -> None:
    """Write an agent's subscriptions under a new version: a delivery that was prepared before is void."""
    known["version"] = tx.id()
    if known["what"]:
        tx.put(f"su\t{known['agent']}", known)
    else:
        tx.delete(f"su\t{known['agent']}")


def _subscriptions(tx: Transaction, call: Call, request: SubscriptionsRequest) -> dict[str, Any]:
    """The caller's subscriptions, each with its first event."""
    known = _record(tx, call.agent)
    found = [] if known is None else sorted(known["what"].items())
    through = known["cursor"] if known is not None else tx.tail().seq
    page = paging.listed(found, lambda one: str(one[0]), paging.check_limit(request["limit"]), request["after"])
    return {
        "subscriptions": [{"subscription": what, "cursor": max(through, since)} for what, since in page.records],
        "through": through,
        **page.answer(),
    }


def drop(tx: Transaction, agent: str) -> None:
    """End all subscriptions of an agent that will not come back."""
    known = _record(tx, agent)
    if known is not None:
        for what in known["what"]:
            tx.delete(f"sk\t{what}\t{agent}")
            tx.append("event.unsubscribed", agent, what, {})
        tx.delete(f"su\t{agent}")


# --- delivery: for the door that reads the log


def wants(known: Record, event: dict[str, Any]) -> bool:
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


def pending(tx: Transaction, call: Call) -> Record | None:
    """The caller's subscriptions, with the cursor; None if there are none, or nothing new is in the log."""
    if not call.agent:
        from dibs.operations.agents.speech import name_caller

        name_caller(tx, call)
    known = _record(tx, call.agent)
    return known if known is not None and known["cursor"] < tx.tail().seq else None


def deliver(
    tx: Transaction, call: Call, known: Record, events: Sequence[dict[str, Any]], through: int, first: int
) -> Record | None:
    """Put these events into the inbox and move the cursor to `through`.

    `known` is what the door saw, `first` the first event that the log still has after its cursor. None if another
    process delivered or subscribed meanwhile; else the new record, with `held` if the inbox has no room for all.
    """
    now = _record(tx, call.agent)
    if now is None or now["version"] != known["version"]:
        return None
    news = [(event["seq"] - 1, _told(event)) for event in events]
    if first > now["cursor"] + 1:
        news.insert(0, (now["cursor"], _gap(now["cursor"] + 1, first - 1)))
    limits = call.policy.work["messages"]
    box = mailbox.mailbox(tx, call.agent)
    held = False
    for before, message in news:
        if box["count"] >= limits["inbox"] // 2:  # the other half is for messages of agents
            held, through = True, before
            break
        message.update(message=f"m{tx.id()}", to=call.agent, type="event", at=tx.now, until=tx.now + limits["life"])
        mailbox.put_in(tx, box, message)
        said = {"id": message["message"], "type": "event"}
        tx.append("message.posted", message["from"], call.agent, said)
    if through > now["cursor"]:
        now["cursor"] = through
        _keep(tx, now)
    return {**now, "held": held}


def _told(event: dict[str, Any]) -> Record:
    """An event as a message from the agent that caused it."""
    own = event["kind"] == EMITTED
    kind, data = (event["subject"], event["data"]["data"]) if own else (event["kind"], event["data"])
    text = jsontext.encode(data)
    cut = {"cut": True} if len(text) > MAX_DATA_CHARS else {}
    line = kind if own else f"{kind} {' '.join(event['subject'][:MAX_TEXT_CHARS].split())}"
    if data not in (None, {}):
        line = f"{line}: {text[:MAX_TEXT_CHARS]}{'…' if len(text) > MAX_TEXT_CHARS else ''}"
    found = {"kind": kind, "subject": event["subject"], "seq": event["seq"], "data": None if cut else data, **cut}
    return {"from": event["agent"] or "dibs", "text": line, "data": found}


def _gap(first: int, last: int) -> Record:
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
        may="worker",
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
        may="worker",
        answer="SubscribeAnswer",
        idempotent=True,
    ),
    Operation(
        "subscriptions",
        _subscriptions,
        "List your subscriptions.",
        group="messages",
        registers=False,
        may="viewer",
        fields=PAGED,
        answer="SubscriptionsAnswer",
        idempotent=True,
    ),
)
