"""What `dibs demo --machine` saw, as a small plot in the terminal: when each suite waited, ran, passed or failed."""

from __future__ import annotations

import shutil
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.demo.results import MachineResult, SuiteRound, SuiteRun

MIN_COLUMNS, MAX_COLUMNS = 20, 60  # of the plot itself
LABELS = 40  # columns of what stands next to it
GREEN, RED, DIM, PLAIN = "\033[32m", "\033[31m", "\033[2m", "\033[0m"
NEXT = "To have this: [pools] and [[pools.use]] in .dibs/config.toml, `dibs help guides/machine`"


def show(result: MachineResult) -> None:
    """Print it all."""
    colours = sys.stdout.isatty()
    plain = "utf" not in (sys.stdout.encoding or "").lower()
    sys.stdout.write("\n".join(lines(result, colours=colours, plain=plain)) + "\n")


def lines(result: MachineResult, *, colours: bool = False, plain: bool = False) -> list[str]:
    """The plot of both rounds, on one scale, and what came of it."""
    without, guarded = result["without"], result["with"]
    longest = max(without["seconds"], guarded["seconds"]) or 1.0
    columns = min(MAX_COLUMNS, max(MIN_COLUMNS, shutil.get_terminal_size().columns - LABELS))
    scale = columns / longest
    found: list[str] = []
    for title, round_ in (("without slots", without), (f"with {result['slots']} slots", guarded)):
        found += ["", f"{title}: {_sum(round_)}"]
        found += [_row(run, scale, columns, colours=colours, plain=plain) for run in round_["runs"]]
    return [*found, "", verdict(result), NEXT]


def _sum(one: SuiteRound) -> str:
    return f"{one['passed']} passed, {one['failed']} failed, {one['seconds']:.1f} s in all"


def _row(run: SuiteRun, scale: float, columns: int, *, colours: bool, plain: bool) -> str:
    asked, began, ended = (int(run[at] * scale) for at in ("asked", "began", "ended"))
    waits, runs = ("." if plain else "·") * (began - asked), ("#" if plain else "█") * max(1, ended - began)
    took = run["ended"] - run["began"]
    word = f"passed in {took:.1f} s" if run["passed"] else f"FAILED: time limit, {took:.1f} s"
    blank = " " * max(0, columns - asked - len(waits) - len(runs))
    colour, dim, end = (GREEN if run["passed"] else RED, DIM, PLAIN) if colours else ("", "", "")
    bar = f"{' ' * asked}{dim}{waits}{end}{colour}{runs}{end}{blank}"
    return f"  {run['agent']:<9}{bar} {colour}{word}{end}"


def verdict(result: MachineResult) -> str:
    """The last word: what this run showed, and no more."""
    without, guarded = result["without"], result["with"]
    all_ = result["agents"]
    first = f"Without slots {without['failed']} of {all_} suites failed by their own time limit"
    second = f"with {result['slots']} slots {guarded['failed']}"
    if not without["failed"] and not guarded["failed"]:
        return f"This machine ran all {all_} suites at once within their time limit: it needs no slots for these."
    return f"{first}; {second}."
