"""What doors ask of agents' names, outside any other operation: the names of ids, and the id that a word means."""

from __future__ import annotations

from dibs.errors import NotFound
from dibs.operations.agents import names
from dibs.operations.agents.records import NAME_KEYS, get_agent
from dibs.operations.core.declare import ANYWHERE, Field, Operation
from dibs.stores.seam import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.operations.agents.requests import FoundRequest, NamedRequest, NamesRequest
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction

    class NamesAnswer(TypedDict):
        """Of `names`."""

        names: dict[str, str]  # id → name

    class FoundAnswer(TypedDict):
        """Of `found`."""

        id: str

    class NamedAnswer(TypedDict):
        """Of `named`."""

        agents: list[list[str]]  # for each word


def _names(tx: Transaction, _: Call, request: NamesRequest) -> NamesAnswer:
    return {"names": names.names_of(tx, request["agents"])}


def _found(tx: Transaction, _: Call, request: FoundRequest) -> FoundAnswer:
    agent = names.found(tx, request["word"])
    if request["known"] and get_agent(tx, agent) is None:
        raise names.unknown(tx, request["word"])
    return {"id": agent}


def _named(tx: Transaction, _: Call, request: NamedRequest) -> NamedAnswer:
    """For each word the agents whose name has it, and whose id has not: a log has ids."""
    agents: list[list[str]] = [[] for _ in request["words"]]
    for key, record in walk(tx, NAME_KEYS):
        name = key[3:].lower()
        for place, word in enumerate(request["words"]):
            if word in name and word not in record["agent"].lower():
                agents[place].append(record["agent"])
    return {"agents": agents}


NAMES = Operation(
    "names", _names, "What are these agents called?", sent_by=ANYWHERE,
    fields=(Field("agents", "words", "their ids", required=True),), writes=False,
)  # fmt: skip
FOUND = Operation(
    "found", _found, "Which agent does this word mean?", sent_by=ANYWHERE,
    fields=(
        Field("word", "text", "an id or a name", required=True),
        Field("known", "flag", "refuse a word that means none", default=False),
    ),
    errors=(NotFound,), writes=False,
)  # fmt: skip
NAMED = Operation(
    "named", _named, "Whose names have these words?", sent_by=ANYWHERE,
    fields=(Field("words", "words", "in small letters", required=True),), writes=False,
)  # fmt: skip

INTERNAL = (NAMES, FOUND, NAMED)
