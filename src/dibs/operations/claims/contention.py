"""Who holds up whom: what each agent holds, and which agents want it. It only reads, up to a limit."""

from __future__ import annotations

from dibs.operations.claims import endings, records
from dibs.operations.core.call import related

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.claims.records import Claim
    from dibs.stores.seam import Transaction

MAX_WANTING = 64  # waiters, and as many interests, by whose wishes one look finds the holders
MAX_CLAIMS_READ = 2_000


def held_up(tx: Transaction) -> dict[str, list[str]]:
    """Each agent that holds what others want, and those: they wait in line, or were refused and want to be told."""
    found: dict[str, dict[str, None]] = {}
    for kind in (records.WAITER, records.INTEREST):
        for _, _, place in tx.scan(1, records.index_prefix(kind), MAX_WANTING).rows:
            if place["until"] <= tx.now:
                continue
            for claim in records.overlapping_claims(tx, place["resources"], place["tree"]):
                if is_counted(tx, claim) and not related(claim["agent"], place["agent"]):
                    found.setdefault(claim["agent"], {})[place["agent"]] = None
    return {holder: list(wanting) for holder, wanting in found.items()}


def held_counts(tx: Transaction) -> dict[str, int]:
    """How many claims each agent holds."""
    counts: dict[str, int] = {}
    for claim in records.all_claims(tx, MAX_CLAIMS_READ)[0]:
        if is_counted(tx, claim):
            counts[claim["agent"]] = counts.get(claim["agent"], 0) + 1
    return counts


def is_counted(tx: Transaction, claim: Claim) -> bool:
    """Does it count as held? Also one past its deadline that its agent's process may keep."""
    return claim["until"] > tx.now or endings.keepable(tx, claim)
