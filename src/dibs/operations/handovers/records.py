"""What is stored of hand-overs: the work that waits for the next agent that starts. Nothing is decided here."""

from __future__ import annotations

from dibs.operations.core.call import due
from dibs.stores.seam import prefix_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from dibs.stores.seam import Transaction

    class Offer(TypedDict):
        """An agent's work that is kept for the next agent that starts."""

        handover: str  # its id
        agent: str  # whose work it was
        by: str  # who offered it, and holds the claims until then
        note: str
        at: int  # ms
        until: int  # ms: then it is released
        claims: list[str]  # the claims that are kept
        tasks: list[str]
        files: list[list[str]]  # with unfinished work: working tree, path


OFFER_KEYS = "ho\t"  # before the agent of every offer


def offer_key(agent: str) -> str:
    """The offer of an agent's work to the next agent that starts."""
    return f"ho\t{agent}"


def get_offer(tx: Transaction, agent: str) -> Offer | None:
    """The offer of an agent's work, if there is one."""
    offer: Offer | None = tx.get(offer_key(agent))
    return offer


def get_offers(tx: Transaction, limit: int) -> list[Offer]:
    """The offers, the first ones."""
    return [offer for _, offer in tx.fetch([prefix_range(OFFER_KEYS)], limit).rows]


def put_offer(tx: Transaction, offer: Offer) -> None:
    """Write an offer; a sweep finds it when it lapses."""
    tx.put(offer_key(offer["agent"]), offer, i2=due(offer["until"]))


def delete_offer(tx: Transaction, offer: Offer) -> None:
    """Remove an offer."""
    tx.delete(offer_key(offer["agent"]))
