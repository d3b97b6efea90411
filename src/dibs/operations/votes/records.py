"""What is stored of votes: each with its ballots, their keys, the number of open ones. Nothing is decided here."""

from __future__ import annotations

from dibs.operations.core.call import due

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, Literal, TypedDict

    from dibs.stores.seam import Transaction

    Outcome = Literal["decided", "undecided", "lapsed"]

    class Vote(TypedDict):
        """A vote with its ballots."""

        vote: str  # its id
        title: str  # what is voted on
        options: list[str]
        electorate: list[str]  # the agents that vote
        by: str  # the agent that opened it
        at: int  # ms: when
        deadline: int  # ms
        state: Literal["open"] | Outcome
        option: str | None  # that won; None unless it is decided
        closed: int | None  # ms; None while it is open
        ballots: dict[str, str]  # agent → option
        key: str  # idempotency key; "" without one

    class KeyOwner(TypedDict):
        """The vote that was opened under an idempotency key."""

        vote: str

    class VoteCount(TypedDict):
        """How many votes there are."""

        open: int


OPEN: Final = "open"  # the state of a vote without an outcome
COUNT_KEY = "vc"  # the number of open votes
MAX_TIME_MS = 10**15 - 1  # subtracted from, so that an index, which is read upwards, has the newest first
OPEN_VOTES, CLOSED_VOTES = "votes\topen\t", "votes\tover\t"  # entries in the first index: the newest first


def vote_key(vote: str) -> str:
    """A vote with its ballots."""
    return f"vo\t{vote}"


def owner_key(key: str) -> str:
    """The vote that was opened under an idempotency key."""
    return f"vk\t{key}"


def get_vote(tx: Transaction, vote: str) -> Vote | None:
    """A vote by its id."""
    record: Vote | None = tx.get(vote_key(vote))
    return record


def put_vote(tx: Transaction, vote: Vote, look_at: int) -> None:
    """Write a vote: listed with the open or the closed ones, and due for a sweep at that time."""
    entries = OPEN_VOTES if vote["state"] == OPEN else CLOSED_VOTES
    tx.put(vote_key(vote["vote"]), vote, f"{entries}{MAX_TIME_MS - vote['at']:015d}\t{vote['vote']}", due(look_at))


def delete_vote(tx: Transaction, vote: Vote) -> None:
    """Delete a vote, and its idempotency key."""
    tx.delete(vote_key(vote["vote"]))
    if vote["key"]:
        tx.delete(owner_key(vote["key"]))


def get_for_opening(tx: Transaction, vote: str, key: str) -> tuple[Vote | None, str | None, int]:
    """What a new vote depends on: the vote of its id, the id of the one under its key, the number of open ones."""
    known: Vote | None
    owner: KeyOwner | None
    count: VoteCount | None
    known, owner, count = tx.get_many([vote_key(vote), owner_key(key), COUNT_KEY]).values()
    return known, owner["vote"] if key and owner is not None else None, count["open"] if count is not None else 0


def put_owner(tx: Transaction, key: str, vote: str) -> None:
    """Write the vote that is opened under an idempotency key."""
    owner: KeyOwner = {"vote": vote}
    tx.put(owner_key(key), owner)


def get_open_count(tx: Transaction) -> int:
    """The number of open votes."""
    count: VoteCount | None = tx.get(COUNT_KEY)
    return count["open"] if count is not None else 0


def put_open_count(tx: Transaction, number: int) -> None:
    """Write the number of open votes."""
    count: VoteCount = {"open": number}
    tx.put(COUNT_KEY, count)
