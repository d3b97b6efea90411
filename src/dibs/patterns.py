"""`from dibs import patterns`: patterns of work under the name that people import. work/patterns has them."""

from __future__ import annotations

from dibs.workers.patterns import Poll, Step, Work, map_reduce, pipeline, plan, scatter_gather, vote

__all__ = ["Poll", "Step", "Work", "map_reduce", "pipeline", "plan", "scatter_gather", "vote"]
