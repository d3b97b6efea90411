"""Votes: a named electorate decides a proposal once, by a majority of the whole electorate, before a deadline.

A vote is `open` until one option has more than half of the whole electorate (`decided`), until no option can reach that
any more (`undecided`), or until the deadline (`lapsed`); these three are final. Ballots and outcome are written in the
transaction that makes them true, so there is one outcome, and every caller gets that one.

- success: a ballot counts when `cast` answers; the outcome is sent to the opener and to every elector with it.
- refusal: an agent that is no elector is forbidden; a second, different choice, and any ballot after the outcome, is a
  conflict that names the outcome.
- retry: casting the same choice again is harmless, also after the outcome; with a `key`, opening again returns the
  first.
- expiry: by the store's clock, at the first read after the deadline; else by a sweep.
- race: transactions are decided one after the other, so two last ballots cannot decide two things.

An elector is exactly the agent of that id, not its parent and not its children.
"""

from __future__ import annotations

from dibs.errors import Conflict, Forbidden, Invalid, NotFound, Quota, quoted
from dibs.operations.core import paging
from dibs.operations.core.call import MAX_ID, check_agent_id, iso
from dibs.operations.core.declare import PAGED, Field, Operation
from dibs.operations.core.policy import DAY, MINUTE, SECOND
from dibs.operations.votes import records
from dibs.operations.votes.records import OPEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from dibs.errors import DibsError
    from dibs.operations.core.call import Call
    from dibs.operations.core.paging import Section
    from dibs.operations.votes.answers import VoteCastAnswer, VoteListAnswer, VoteOpenAnswer, VoteShowAnswer, VoteView
    from dibs.operations.votes.records import Outcome, Vote
    from dibs.operations.votes.requests import VoteCastRequest, VoteListRequest, VoteOpenRequest, VoteShowRequest
    from dibs.stores.seam import Json, Transaction

DECIDED: Final = "decided"
UNDECIDED: Final = "undecided"
LAPSED: Final = "lapsed"
YES_NO = ("yes", "no")
DEFAULT_VOTE_MS = 10 * MINUTE  # agents look at their messages at each turn; most turns are shorter
MAX_VOTE_MS = 30 * DAY
MAX_ELECTORS = 100  # each of them gets two messages
MIN_OPTIONS, MAX_OPTIONS = 2, 16
MAX_TITLE_CHARS, MAX_OPTION_CHARS = 500, 50  # all of it is in a message
MAX_OPEN_VOTES = 1_000  # in a workspace
OUTCOME_LIFE_MS = 30 * DAY  # of an outcome; the log has it for as long as the log is kept
MAX_LISTED = 100


# --- open


def _open(tx: Transaction, call: Call, request: VoteOpenRequest) -> VoteOpenAnswer | DibsError:
    title = request["title"]
    if not 0 < len(title.strip()) <= MAX_TITLE_CHARS or not title.isprintable():
        raise Invalid(f"title: what is voted on, in one line of at most {MAX_TITLE_CHARS} characters", field="title")
    electors, choices = _electors(request["electorate"]), _choices(request["options"])
    name, repeat = _name(request["id"], "id") or f"vo{tx.id()}", _name(request["key"], "key")
    known, first, count = records.get_for_opening(tx, name, repeat)
    if first is not None:
        return {"vote": _shown(tx, _load(tx, first)), "repeated": True}
    refusal = _no_room(tx, name, known, count)
    if refusal is not None:
        return _refuse(tx, call, name, refusal)
    vote: Vote = {
        "vote": name, "title": title, "options": choices, "electorate": electors, "by": call.agent, "at": tx.now,
        "deadline": tx.now + request["deadline"], "state": OPEN, "option": None, "closed": None, "ballots": {},
        "key": repeat,
    }  # fmt: skip
    _put(tx, vote)
    records.put_open_count(tx, count + 1)
    if repeat:
        records.put_owner(tx, repeat, name)
    data: dict[str, Json] = {"options": choices, "electorate": electors, "deadline": vote["deadline"]}
    if call.request:
        data["request"] = ["vote open", call.request]
    tx.append("vote.opened", call.agent, name, data)
    text = (
        f"you are asked to vote on {title!r}: `dibs vote cast {quoted(name)} OPTION`, OPTION one of "
        f"{', '.join(choices)}, before {iso(tx, vote['deadline'])}."
    )
    _tell(tx, electors, call.agent, text, vote=name, options=choices)
    return {"vote": _shown(tx, vote)}


def _electors(electorate: Sequence[str]) -> list[str]:
    if isinstance(electorate, str) or not 1 <= len(electorate) <= MAX_ELECTORS:
        raise Invalid(f"electorate: 1 to {MAX_ELECTORS} agents", field="electorate")
    for agent in electorate:
        check_agent_id(agent)
    if len(set(electorate)) != len(electorate):
        raise Invalid("electorate: an agent is in it twice; each has one vote", field="electorate")
    return list(electorate)


def _choices(options: Sequence[str]) -> list[str]:
    if isinstance(options, str) or not MIN_OPTIONS <= len(options) <= MAX_OPTIONS or len(set(options)) != len(options):
        raise Invalid(f"options: {MIN_OPTIONS} to {MAX_OPTIONS} different ones", field="options")
    for option in options:
        if not 0 < len(option) <= MAX_OPTION_CHARS or not option.isprintable():
            raise Invalid(f"options: each has 1 to {MAX_OPTION_CHARS} printable characters", field="options")
    return list(options)


def _name(text: str, field: str) -> str:
    """Check an id or a key that the caller chose."""
    if len(text) > MAX_ID or not text.isprintable() or " " in text or text.startswith("-"):
        limits = f"at most {MAX_ID} characters, without blanks and control characters, no dash first"
        raise Invalid(f"{field}: {limits}", field=field)
    return text


def _no_room(tx: Transaction, name: str, known: Vote | None, count: int) -> DibsError | None:
    if known is not None:
        text = f"there is a vote {name} already: {_outcome(tx, known)}. Give the new one another id."
        return Conflict(text, **_facts(tx, known))
    if count >= MAX_OPEN_VOTES:
        what = "open votes"
        return Quota(f"at most {MAX_OPEN_VOTES} {what}; wait until some are decided.", what=what, limit=MAX_OPEN_VOTES)
    return None


# --- cast


def _cast(tx: Transaction, call: Call, request: VoteCastRequest) -> VoteCastAnswer | DibsError:
    identifier, option = request["id"], request["option"]
    vote = _load(tx, identifier)
    if option not in vote["options"]:
        raise Invalid(f"option: one of {', '.join(vote['options'])}, not {option!r}", field="option")
    if call.agent not in vote["electorate"]:
        text = f"{call.agent} is no elector of {identifier}; these are: {', '.join(vote['electorate'])}."
        return _refuse(tx, call, identifier, Forbidden(text, vote=identifier, electorate=vote["electorate"]))
    if _over(tx, vote):
        _close(tx, vote, LAPSED, None, "dibs")
    own = vote["ballots"].get(call.agent)
    if own == option:
        return {"vote": _shown(tx, vote), "option": option, "repeated": True}
    if own is not None or vote["state"] != OPEN:
        before = f"you cast {own!r} already, and a ballot is final" if own is not None else "your ballot came too late"
        error = Conflict(f"{before}: {_outcome(tx, vote)}.", **_facts(tx, vote), given=option, own=own)
        return _refuse(tx, call, identifier, error)
    vote["ballots"][call.agent] = option
    data: dict[str, Json] = {"option": option}
    if call.request:
        data["request"] = ["vote cast", call.request]
    tx.append("vote.cast", call.agent, identifier, data)
    _count(tx, vote, call.agent)
    return {"vote": _shown(tx, vote), "option": option}


def _count(tx: Transaction, vote: Vote, agent: str) -> None:
    """After a ballot: is the vote decided, or can it no longer be?"""
    tally = _tally(vote)
    needed = len(vote["electorate"]) // 2 + 1
    missing = len(vote["electorate"]) - len(vote["ballots"])
    best = max(vote["options"], key=lambda option: tally[option])
    if tally[best] >= needed:
        _close(tx, vote, DECIDED, best, agent)
    elif tally[best] + missing < needed:
        _close(tx, vote, UNDECIDED, None, agent)
    else:
        _put(tx, vote)


def _close(tx: Transaction, vote: Vote, outcome: Outcome, option: str | None, agent: str) -> None:
    """Close a vote once: the opener and the electors are told in the same transaction."""
    assert vote["state"] == OPEN, "a vote is decided once"
    vote["state"], vote["option"] = outcome, option
    vote["closed"] = vote["deadline"] if outcome == LAPSED else tx.now
    _put(tx, vote)
    count = records.get_open_count(tx)
    assert count > 0, "an open vote that was not counted"
    records.put_open_count(tx, count - 1)
    tx.append("vote.decided", agent, vote["vote"], {"outcome": outcome, "option": option})
    text = f"the vote on {vote['title']!r}: {_outcome(tx, vote)}."
    data = {"vote": vote["vote"], "outcome": outcome, "option": option}
    _tell(tx, sorted({vote["by"], *vote["electorate"]}), "dibs", text, **data)


def came_due(tx: Transaction, vote: Vote) -> None:
    """A sweep reached a vote: its deadline has passed, or its outcome was kept long enough."""
    if vote["state"] == OPEN:
        _close(tx, vote, LAPSED, None, "dibs")
        return
    records.delete_vote(tx, vote)


def _over(tx: Transaction, vote: Vote) -> bool:
    """Is an open vote past its deadline?"""
    return vote["state"] == OPEN and vote["deadline"] <= tx.now


def _put(tx: Transaction, vote: Vote) -> None:
    """Write a vote; a sweep looks at it at its deadline, and once its outcome was kept long enough."""
    records.put_vote(tx, vote, vote["deadline"] if vote["state"] == OPEN else tx.now + OUTCOME_LIFE_MS)


def _tell(tx: Transaction, to: Sequence[str], sender: str, text: str, **data: Json) -> None:
    from dibs.operations.messages import mailbox

    for agent in to:
        mailbox.post(tx, agent, sender, "vote", text, **data)


def _refuse(tx: Transaction, call: Call, name: str, refusal: DibsError) -> DibsError:
    tx.append("call.refused", call.agent, f"vote:{name}", {"code": refusal.code})
    return refusal


# --- looking


def _load(tx: Transaction, name: str) -> Vote:
    vote = records.get_vote(tx, _name(name, "id"))
    if vote is None:
        raise NotFound(f"there is no vote {name}; `dibs vote list` shows those there are.", vote=name)
    return vote


def _show(tx: Transaction, call: Call, request: VoteShowRequest) -> VoteShowAnswer:
    return {"vote": _shown(tx, _load(tx, request["id"]))}


def _list(tx: Transaction, call: Call, request: VoteListRequest) -> VoteListAnswer:
    """The open votes, then the others; each the newest first. One past its deadline counts as lapsed."""

    def running(rows: list[tuple[str, Vote]]) -> list[tuple[str, Vote]]:
        return [row for row in rows if not _over(tx, row[1])]

    sections: list[Section] = [(paging.INDEX, records.OPEN_VOTES, running if request["open"] else None)]
    if not request["open"]:
        sections.append((paging.INDEX, records.CLOSED_VOTES, None))
    page = paging.read(tx, sections, paging.check_limit(request["limit"], MAX_LISTED), request["after"])
    return {"votes": [_shown(tx, vote) for vote in page.records], "more": page.more, "cursor": page.cursor}


def _shown(tx: Transaction, vote: Vote) -> VoteView:
    """A vote as people and programs see it: by the clock, whether or not the outcome is written yet."""
    lapsed = _over(tx, vote)
    closed = vote["deadline"] if lapsed else vote["closed"]
    return {
        "id": vote["vote"],
        "title": vote["title"],
        "options": vote["options"],
        "electorate": vote["electorate"],
        "by": vote["by"],
        "at": iso(tx, vote["at"]),
        "deadline": iso(tx, vote["deadline"]),
        "state": LAPSED if lapsed else vote["state"],
        "option": vote["option"],
        "closed": None if closed is None else iso(tx, closed),
        "tally": _tally(vote),
        "missing": [agent for agent in vote["electorate"] if agent not in vote["ballots"]],
    }


def _tally(vote: Vote) -> dict[str, int]:
    tally = dict.fromkeys(vote["options"], 0)
    for option in vote["ballots"].values():
        tally[option] += 1
    return tally


def _facts(tx: Transaction, vote: Vote) -> dict[str, str | None]:
    shown = _shown(tx, vote)
    return {"vote": shown["id"], "state": shown["state"], "option": shown["option"], "closed": shown["closed"]}


def _outcome(tx: Transaction, vote: Vote) -> str:
    """A vote's outcome, in words."""
    shown = _shown(tx, vote)
    counted = ", ".join(f"{option} {count}" for option, count in shown["tally"].items())
    of = f"({counted}; of {len(vote['electorate'])})"
    if shown["state"] == DECIDED:
        return f"decided at {shown['closed']}: {shown['option']} {of}"
    if shown["state"] == UNDECIDED:
        return f"undecided at {shown['closed']}: no option can have a majority any more {of}"
    if shown["state"] == LAPSED:
        return f"lapsed at {shown['closed']}: no option had a majority {of}"
    return f"open until {shown['deadline']} {of}"


_ID = Field("id", "text", "the vote's id", positional=True, required=True, metavar="ID")

OPERATIONS = (
    Operation(
        "vote open",
        _open,
        "Open a vote among named agents; more than half of them decide.",
        group="votes",
        fields=(
            Field("title", "text", "what is voted on", positional=True, required=True, metavar="TITLE"),
            Field("electorate", "words", "the agents who vote", required=True, metavar="AGENT,…"),
            Field("options", "words", "the options (default yes,no)", default=YES_NO, metavar="O,…"),
            Field(
                "deadline",
                "duration",
                "how long it is open (default 10m)",
                default=DEFAULT_VOTE_MS,
                least=SECOND,
                most=MAX_VOTE_MS,
                metavar="D",
            ),
            Field("id", "text", "the vote's id (else one is made)", default="", metavar="ID"),
            Field("key", "text", "idempotency key: opening it again returns the first vote", default="", metavar="K"),
        ),
        errors=(Conflict, Quota, Invalid),
        rank="agent",
        answer="VoteOpenAnswer",
    ),
    Operation(
        "vote cast",
        _cast,
        "Cast your ballot; it cannot be changed.",
        group="votes",
        fields=(_ID, Field("option", "text", "your choice", positional=True, required=True, metavar="OPTION")),
        errors=(NotFound, Forbidden, Conflict, Invalid),
        rank="worker",
        answer="VoteCastAnswer",
    ),
    Operation(
        "vote show",
        _show,
        "Show a vote: its outcome, its tally, and which agents have not voted.",
        group="votes",
        fields=(_ID,),
        errors=(NotFound,),
        answer="VoteShowAnswer",
        writes=False,
    ),
    Operation(
        "vote list",
        _list,
        "List votes, open ones first.",
        group="votes",
        fields=(Field("open", "flag", "only those that are open", default=False), *PAGED),
        answer="VoteListAnswer",
        writes=False,
    ),
)
