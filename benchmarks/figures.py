"""Figures: measured side by side, summed up, and compared with a target.

A ratio is fair only if both sides meet the same noise. So the sides take turns in short bursts, with a rotating first
place, and medians over the same stretch of a run are compared.
"""

from __future__ import annotations

import itertools
import math
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Burst = Callable[[int], list[float]]  # runs that many times; returns the µs of each

AT_MOST, AT_LEAST = "at most", "at least"
MAX_STRETCHES = 20  # of a run, at most
NO_DECIMALS_FROM = 1000  # from here on, decimals mean nothing


class Target:
    """A row's target: for its ratio, or for its value if there is nothing to compare with."""

    __slots__ = ("kind", "limit", "of")

    def __init__(self, kind: str, limit: float, of: str = "ratio") -> None:
        self.kind, self.limit, self.of = kind, limit, of

    def met_by(self, figure: float) -> bool:
        """Is this figure within it?"""
        return figure <= self.limit if self.kind == AT_MOST else figure >= self.limit

    def used(self, figure: float) -> float:
        """The share of the limit that was used: 1 is the limit itself, more is a miss."""
        if self.kind == AT_MOST:
            return figure / self.limit if self.limit else (math.inf if figure else 0.0)
        return self.limit / figure if figure else math.inf

    def text(self, unit: str) -> str:
        """In words."""
        sign = "≤" if self.kind == AT_MOST else "≥"
        return f"{sign} {self.limit:g}{'x' if self.of == 'ratio' else f' {unit}' if unit else ''}"


class Comparison:
    """One side's times compared with another's: the ratio of the medians, and that of the least times.

    Targets use the first. It is computed for each stretch of the run, and the median of all counts: a machine that
    becomes slower does so for both sides. The second shows the ratio without the machine's other work; if the two
    are far apart, the run was noisy.
    """

    __slots__ = ("against", "least", "ratio")

    def __init__(self, times: Sequence[float], base: Sequence[float], against: str, *, rates: bool = False) -> None:
        self.against = against
        self.ratio = median([median(one) / median(other) for one, other in _stretches(times, base)])
        self.least = min(times) / min(base)
        if rates:  # how many a second, over how many a second
            self.ratio, self.least = 1 / self.ratio, 1 / self.least


class Row:
    """One line of the report: the figure, what it is compared with, and whether it meets the target."""

    __slots__ = ("beside", "group", "more", "name", "note", "target", "unit", "value")

    def __init__(
        self,
        group: str,
        name: str,
        value: float | None,
        unit: str,
        *,
        beside: Comparison | None = None,
        target: Target | None = None,
        note: str = "",
        more: dict[str, float] | None = None,
    ) -> None:
        self.group, self.name, self.value, self.unit = group, name, value, unit  # None: it could not be measured
        self.beside, self.target, self.note = beside, target, note
        self.more = more or {}  # min, p99 and similar

    @property
    def ratio(self) -> float | None:
        """The ratio of the medians, if there is a comparison."""
        return self.beside.ratio if self.beside is not None else None

    @property
    def figure(self) -> float | None:
        """The figure that the target limits."""
        return self.ratio if self.target is not None and self.target.of == "ratio" else self.value

    @property
    def met(self) -> bool | None:
        """Is the target met? None if there is no target."""
        if self.target is None:
            return None
        return self.figure is not None and self.target.met_by(self.figure)

    def as_json(self) -> dict[str, Any]:
        """The row for bench.json."""
        plain: dict[str, Any] = {"group": self.group, "name": self.name, "value": _short(self.value), "unit": self.unit}
        plain.update(ratio=None, ratio_of_least=None, against=None, target=None, met=self.met, note=self.note)
        if self.beside is not None:
            plain.update(ratio=_short(self.beside.ratio), ratio_of_least=_short(self.beside.least))
            plain["against"] = self.beside.against
        if self.target is not None:
            plain["target"] = {"kind": self.target.kind, "limit": self.target.limit, "of": self.target.of}
        plain.update({name: _short(value) for name, value in self.more.items()})
        return plain


def not_measured(group: str, name: str, note: str) -> Row:
    """The row of a missing peer."""
    return Row(group, name, None, "", note=note)


def above_floor(
    group: str,
    taken: dict[str, list[float]],
    floor: str,
    targets: dict[str, Target],
    notes: dict[str, str] | None = None,
) -> list[Row]:
    """Process starts in ms, each compared with one of them."""
    return [
        Row(
            group,
            name,
            median(times) / 1000,
            "ms",
            beside=None if name == floor else Comparison(times, taken[floor], "the floor"),
            target=targets.get(name),
            note=(notes or {}).get(name, ""),
            more=spread(times, 1000),
        )
        for name, times in taken.items()
    ]


def alternate(
    sides: dict[str, Burst], rounds: int, burst: int, told: Callable[[int], None] | None = None
) -> dict[str, list[float]]:
    """Let the sides take turns, each round starting with the next one. All the times, in µs, by side.

    A first round is discarded: it fills caches, bytecode, the first page of a file.
    """
    taken: dict[str, list[float]] = {name: [] for name in sides}
    names = list(sides)
    for name in names:
        sides[name](burst)
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            taken[name] += sides[name](burst)
        if told is not None:
            told(number + 1)
    return taken


def timed(act: Callable[[], object]) -> float:
    """The duration in µs."""
    before = time.perf_counter_ns()
    act()
    return (time.perf_counter_ns() - before) / 1000


def bursts(prepare: Callable[[int], Callable[[], object]], after: Callable[[int], object] | None = None) -> Burst:
    """A side that calls what `prepare` makes of the next number. Only that call is timed."""
    numbers = itertools.count(1)

    def burst(times: int) -> list[float]:
        taken = []
        for number in itertools.islice(numbers, times):
            taken.append(timed(prepare(number)))
            if after is not None:
                after(number)
        return taken

    return burst


def _stretches(times: Sequence[float], base: Sequence[float]) -> list[tuple[Sequence[float], Sequence[float]]]:
    """Both sides' times, stretch by stretch; all in one if they did not take turns."""
    if len(times) != len(base):
        return [(times, base)]
    parts = min(MAX_STRETCHES, len(times))
    ends = [len(times) * part // parts for part in range(parts + 1)]
    return [(times[low:high], base[low:high]) for low, high in itertools.pairwise(ends)]


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return quantile(values, 0.5)


def quantile(values: Sequence[float], share: float) -> float:
    """The quantile, interpolated linearly."""
    if not values:
        message = "no values"
        raise ValueError(message)
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def spread(values: Sequence[float], scale: float = 1.0) -> dict[str, float]:
    """The figures shown next to a median."""
    return {
        "min": min(values) / scale,
        "p90": quantile(values, 0.9) / scale,
        "samples": float(len(values)),
    }


def slowest_share(counts: Sequence[int]) -> float:
    """The slowest process's share over the average. 1 is perfectly fair."""
    mean = sum(counts) / len(counts) if counts else 0.0
    return min(counts) / mean if mean else 0.0


def _short(value: float | None) -> float | None:
    """Four significant digits: no more were measured. Kept to the last digit before the point."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.4g}") if abs(value) < NO_DECIMALS_FROM else float(round(value))
