"""Figures of a server: what was counted and how long it took, as plain values. A door shows them.

Every part of the serving process may count here (`count`, `observe`), whether or not they are read. Labels are bounded:
of a name with very many, the later ones count as `other`. Thread-safe.
"""

from __future__ import annotations

import threading
from bisect import bisect_left

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # upper bounds
MAX_LABELS = 100  # of one name; a label beyond these counts as OTHER
MAX_LABEL_CHARS = 120
OTHER = "other"


class Histogram:
    """How many values lay at or below each bound, and their sum."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        """One more value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


class Figures:
    """Counters, gauges and histograms, by name and one label."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._counts: dict[str, dict[str, int]] = {}
        self._histograms: dict[str, dict[str, Histogram]] = {}

    def count(self, name: str, label: str = "", amount: int = 1) -> None:
        """Add to a counter; a gauge goes down with a negative amount."""
        with self._mutex:
            labels = self._counts.setdefault(name, {})
            label = _bounded(labels, label)
            labels[label] = labels.get(label, 0) + amount

    def observe(self, name: str, value: float, label: str = "") -> None:
        """One more value of a histogram."""
        with self._mutex:
            labels = self._histograms.setdefault(name, {})
            label = _bounded(labels, label)
            found = labels.get(label)
            if found is None:
                found = labels[label] = Histogram(SECONDS)
            found.add(value)

    def counts(self) -> dict[str, dict[str, int]]:
        """All counters as they stand."""
        with self._mutex:
            return {name: dict(labels) for name, labels in self._counts.items()}

    def histograms(self) -> dict[str, dict[str, tuple[tuple[float, ...], list[int], float]]]:
        """All histograms: bounds, counts for each bound and above the last, sum."""
        with self._mutex:
            return {
                name: {label: (one.bounds, list(one.counts), one.sum) for label, one in labels.items()}
                for name, labels in self._histograms.items()
            }


def _bounded(labels: dict[str, object] | dict[str, int] | dict[str, Histogram], label: str) -> str:
    label = label[:MAX_LABEL_CHARS]
    return label if label in labels or len(labels) < MAX_LABELS else OTHER
