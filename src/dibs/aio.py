"""`import dibs.aio`: the Python API for asyncio under the name that people import. interfaces/python/aio.py has it."""

from __future__ import annotations

from dibs.interfaces.python.aio import AsyncClaim, AsyncWorkspace, open

__all__ = ["AsyncClaim", "AsyncWorkspace", "open"]
