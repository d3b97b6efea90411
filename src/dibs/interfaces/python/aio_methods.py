"""The same methods for asyncio. Type checkers and editors read aio_methods.pyi instead of this file."""

from __future__ import annotations

from dibs.interfaces.python.binder import methods


@methods("ClaimRequest", is_async=True)
class AsyncMethods:
    """One coroutine for each declared operation; durations are seconds or texts such as "30m"."""
