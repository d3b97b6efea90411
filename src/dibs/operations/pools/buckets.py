"""Token buckets: how many requests in a time a pool with a rate lets through. Pure; the time is the transaction's own.

A bucket is one number: the moment at which it is full again, in microseconds. A token comes back every `per / count`,
rounded up, so the rate is never exceeded; `burst` tokens are in it at most. A changed rate counts from then on.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.operations.pools.shapes import Rate


def interval(rate: Rate) -> int:
    """After how many microseconds one token is back."""
    return -(-rate["per"] * 1000 // rate["count"])


def due_in(rate: Rate, full_at: int, now: int, tokens: int) -> int:
    """After how many ms the bucket has so many tokens, if nobody takes any; 0: it has them now. `now` is in ms."""
    level_at = max(full_at, now * 1000) + (tokens - rate["burst"]) * interval(rate)
    return max(0, -(-(level_at - now * 1000) // 1000))


def take(rate: Rate, full_at: int, now: int, tokens: int) -> int:
    """When it is full again after so many tokens were taken out of it now."""
    return max(full_at, now * 1000) + tokens * interval(rate)
