"""Kept contents, which `dibs restore` can write back: the one place that makes their records.

A content that a far caller reports is that caller's: the record names its credential (`place`), and nobody else
restores it (guards/restores.py). What this machine saw has no `place`.
"""

from __future__ import annotations

from dibs.operations.core.call import due

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.core.call import Call, Record
    from dibs.stores.seam import Transaction


def keep(tx: Transaction, call: Call, record: Record) -> None:
    """Write the record of a kept content."""
    if call.place:
        record["place"] = call.place
    tx.put(f"v\t{record['violation']}", record, i2=due(record["until"]))


def is_here(call: Call, record: Record) -> bool:
    """Was it kept where this caller would restore it?"""
    return bool(record.get("place", "") == call.place)
