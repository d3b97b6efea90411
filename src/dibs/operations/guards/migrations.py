"""Two migrations of one number: the second agent that begins one is refused, with the other's name.

The files differ, so no claim meets another, and git merges both; the tool that runs them fails, or runs one of them.
`000005_a.up.sql` and `000005_a.down.sql` are one migration. Claims in every working tree count, because both would be
merged. A number that is committed already is seen by whoever lists the folder.
"""

from __future__ import annotations

from dibs.errors import Conflict
from dibs.operations.agents.names import name_of
from dibs.operations.claims import records as claim_records
from dibs.operations.claims import resources
from dibs.operations.core.call import related

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.claims.records import Claim
    from dibs.operations.claims.resources import Resource
    from dibs.operations.core.call import Call
    from dibs.stores.seam import Transaction

FOLDERS = frozenset({"migrations", "migrate", "migration"})
VERSION = "Vv"  # may begin a name: V5__users.sql


def refusal(tx: Transaction, call: Call, resource: Resource) -> Conflict | None:
    """Why this new file may not be made: another agent has a migration of its number under way."""
    folder, _, name = resource[1].rpartition("/")
    number = number_of(name)
    if not number or FOLDERS.isdisjoint(folder.split("/")):
        return None
    live = [
        record
        for record in claim_records.overlapping_claims(tx, [["tree", folder]], "")
        if record["until"] > tx.now and record["mode"] == resources.WRITE
    ]
    own = [one["token"] for one in live if related(one["agent"], call.agent) and _covers(one, resource)]
    for record in live:
        if related(record["agent"], call.agent) or any(token < record["token"] for token in own):
            continue  # the earlier one keeps the number
        for other in record["resources"]:
            above, _, theirs = other[1].rpartition("/")
            if other[0] in resources.LITERAL_KINDS and above == folder and _is_twin(name, theirs):
                who = name_of(tx, record["agent"])
                return Conflict(
                    f"{who} has {other[1]} under way, a migration of the same number ({number}). Take the next free "
                    f"number for yours.",
                    path=resource[1],
                    agent=record["agent"],
                )
    return None


def number_of(name: str) -> str:
    """The number that begins the name of a migration, without zeros before it; "" if there is none."""
    digits = name[1:] if name[:1] in VERSION else name
    length = next((place for place, sign in enumerate(digits) if not sign.isdigit()), len(digits))
    return (digits[:length].lstrip("0") or "0") if length and digits[length : length + 1] in {"_", "-", "."} else ""


def _covers(claim: Claim, resource: Resource) -> bool:
    return resources.any_overlap(claim["resources"], [list(resource[:2])]) is not None


def _is_twin(one: str, other: str) -> bool:
    """Two migrations of one number? Both directions of one migration share all up to the first dot."""
    return number_of(one) == number_of(other) and one.partition(".")[0] != other.partition(".")[0]
