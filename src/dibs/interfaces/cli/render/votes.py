"""Answers of the `vote` commands as text for people."""

from __future__ import annotations

from dibs.errors import named
from dibs.interfaces.cli.render import listed, times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.interfaces.cli.render import Items
    from dibs.operations.votes.answers import VoteCastAnswer, VoteListAnswer, VoteOpenAnswer, VoteShowAnswer, VoteView


def _state(vote: VoteView) -> str:
    """How it stands, in a few words."""
    if vote["closed"] is None:
        return f"open for {times.left(vote['deadline'])}"
    chosen = f": {vote['option']}" if vote["option"] is not None else ""
    return f"{vote['state']}{chosen} ({times.ago(vote['closed'])} ago)"


def _tally(vote: VoteView) -> str:
    return ", ".join(f"{option} {count}" for option, count in vote["tally"].items())


def _open(result: VoteOpenAnswer) -> Items:
    vote = result["vote"]
    word = "was opened before" if result.get("repeated") else f"is {_state(vote)}"
    voters = vote.get("electorate_name") or vote["electorate"]
    return [f"vote {vote['id']} {word}; {len(voters)} may vote: {', '.join(voters)}"]


def _cast(result: VoteCastAnswer) -> Items:
    return [f"your ballot is {result['option']}; vote {result['vote']['id']} is {_state(result['vote'])}"]


def _show(result: VoteShowAnswer) -> Items:
    vote = result["vote"]
    lines = [f"{vote['title']} ({vote['id']}, opened by {named(vote, 'by')})", f"{_state(vote)}; {_tally(vote)}"]
    if vote["missing"]:
        called = dict(zip(vote["electorate"], vote.get("electorate_name") or vote["electorate"], strict=True))
        lines.append(f"not voted: {', '.join([called.get(agent, agent) for agent in vote['missing']])}")
    return lines


def _list(result: VoteListAnswer) -> Items:
    rows = [(v["id"], _state(v), _tally(v), str(len(v["missing"])), v["title"]) for v in result["votes"]]
    return listed(("VOTE", "STATE", "TALLY", "MISSING", "ON"), rows, "no votes", result)


RENDERERS = {"vote open": _open, "vote cast": _cast, "vote show": _show, "vote list": _list}
