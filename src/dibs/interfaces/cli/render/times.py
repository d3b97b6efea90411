"""Times for people, under the name by which renderers know them."""

from __future__ import annotations

from dibs.machine.relative_times import ago, left, ms_until, short

__all__ = ["ago", "left", "ms_until", "short"]
