"""What the room of environments stores: nothing of its own: claims whose holder is a working tree.

The holder is no agent: it has no record, no process, no messages, and its id begins as no agent's may. What its claim
is for stands in the claim (`env`), so that a tree gets the same units again.
"""

from __future__ import annotations

from dibs.operations.claims import records as claim_records
from dibs.operations.core.call import OF_TREE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.claims.records import Claim
    from dibs.stores.seam import Transaction

MAX_CLAIMS_READ = 2_000
PLAIN = "-_."  # what an id may have besides letters and digits


def id_of_tree(name: str, place: str) -> str:
    """The id of a working tree as a holder, by the name of its ledger: `tree:w1@4f2a…`.

    `place`: the credential by which a caller elsewhere speaks for its machine; it cannot name another one's tree.
    """
    readable, _, own = name.rpartition("-")
    plain = "".join([letter if letter.isalnum() or letter in PLAIN else "-" for letter in readable])
    where = f"{place.replace('/', '|')}." if place else ""
    return f"{OF_TREE}{plain}@{where}{own}"


def is_tree(holder: str) -> bool:
    """Is this holder a working tree?"""
    return holder.startswith(OF_TREE)


def claims_of(tx: Transaction, holder: str) -> list[Claim]:
    """The live claims of a tree, the oldest first."""
    claims = [claim for claim in claim_records.claims_of(tx, holder) if claim["until"] > tx.now and "env" in claim]
    return sorted(claims, key=lambda claim: (claim["since"], claim["claim"]))


def all_claims(tx: Transaction) -> list[Claim]:
    """The live claims of all trees, by tree."""
    prefix = f"{claim_records.index_prefix(claim_records.CLAIM)}{OF_TREE}"
    found: list[Claim] = []
    after = ""
    while len(found) < MAX_CLAIMS_READ:
        page = tx.scan(1, prefix, claim_records.ROWS_PER_TRIP, after)
        found += [claim for _, _, claim in page.rows if claim["until"] > tx.now and "env" in claim]
        if not page.truncated:
            break
        after = page.rows[-1][0]
    return found[:MAX_CLAIMS_READ]
