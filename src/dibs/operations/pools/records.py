"""What the room of pools stores: the buckets of pools with a rate. Units are claims (claims/records.py).

Nothing is decided here. All times are on the store's clock.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from dibs.stores.seam import Transaction

    class Bucket(TypedDict):
        """The tokens of a pool with a rate."""

        pool: str
        full_at: int  # µs: when all tokens are back


def bucket_key(pool: str) -> str:
    """The bucket of a pool with a rate."""
    return f"b\t{pool}"


def get_buckets(tx: Transaction, pools: Sequence[str]) -> dict[str, int]:
    """When each of these is full; a bucket that was never used is full."""
    found = tx.get_many([bucket_key(pool) for pool in pools])
    return {pool: record["full_at"] if (record := found[bucket_key(pool)]) is not None else 0 for pool in pools}


def put_bucket(tx: Transaction, bucket: Bucket) -> None:
    """Write a bucket."""
    tx.put(bucket_key(bucket["pool"]), bucket)
