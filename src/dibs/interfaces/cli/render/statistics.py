"""The figures of `dibs stats` as text: a few lines, small plots over time, tables by agent, kind and resource."""

from __future__ import annotations

from dibs.errors import counted
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.render import continued, times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from dibs.audit.answers import StatsAnswer, StatsContentionView, StatsView
    from dibs.interfaces.cli.render import Items, Lines

    Figure = Literal["granted", "refused", "waits", "complete", "failed", "lost"]  # of a bucket

BARS = "▁▂▃▄▅▆▇█"
EMPTY = "·"
PLOTS: tuple[tuple[Figure, str], ...] = (
    ("granted", "claims granted"), ("refused", "refused"), ("waits", "waits ended"), ("complete", "tasks complete"),
    ("failed", "failed"), ("lost", "lost"),
)  # fmt: skip
MAX_AGENTS = 20  # in the table; `--json` has all
MAX_RESOURCES = 5


def page(stats: StatsAnswer) -> Items:
    """All of it."""
    total = stats["totals"]
    head = f"the last {times.short(int(stats['seconds'] * 1000))}: {counted(stats['events'], 'event')}"
    lines: Lines = [terminal.Line(head, "bold")]
    if not stats["events"]:
        return [*lines, "nothing happened", *continued(stats)]
    lines += _sentences(total, stats["refusals"])
    lines += ["", *_plots(stats), ""]
    lines += _tables(stats)
    return [*lines, *continued(stats)]


def _sentences(total: StatsView, refusals: dict[str, int]) -> Lines:
    success = f", {total['success_rate']:.0%} success" if total["success_rate"] is not None else ""
    tasks = (
        f"tasks: {total['complete']} complete ({total['throughput']:g} an hour{success}), {total['failed']} failed, "
        f"{total['quarantined']} quarantined, {total['lost']} lost, {total['working']} at work; "
        f"{_long(total['work_time'])} of work, {_long(total['lost_time'])} lost"
    )
    lines: Lines = [tasks]
    by = ", ".join(f"{count} {kind}" for kind, count in refusals.items() if count)
    lines.append(
        f"claims: {total['granted']} granted, {total['refused']} refused{f' ({by})' if by else ''}, "
        f"{total['false_refusals']} of them free within a minute; {total['lost_claims']} lost"
    )
    p95 = f", 95 % within {_long(total['p95_wait'])}" if total["p95_wait"] is not None else ""
    longest = f", longest {_long(total['longest_wait'])}" if total["longest_wait"] is not None else ""
    lines.append(
        f"waiting: {counted(total['waits'], 'wait')}, {_long(total['wait_time'])} in all{p95}{longest}, "
        f"{total['gave_up']} gave up"
    )
    return lines


def _plots(stats: StatsAnswer) -> Lines:
    """One line for each figure that is not always 0: its plot, its sum, its highest value."""
    width = max(len(title) for _, title in PLOTS)
    lines: Lines = []
    for name, title in PLOTS:
        values = [bucket[name] for bucket in stats["buckets"]]
        if any(values):
            each = times.short(int(stats["bucket_seconds"] * 1000))
            lines.append(f"{title:<{width}}  {plot(values)}  {sum(values)}, at most {max(values)} in {each}")
    return lines


def plot(values: list[int]) -> str:
    """Values as a row of small bars; 0 is a dot."""
    top = max(values, default=0)
    return "".join(BARS[(value * len(BARS) - 1) // top] if value else EMPTY for value in values)


def _tables(stats: StatsAnswer) -> Lines:
    agents = sorted(stats["by_agent"], key=lambda row: (-row["work_time"] - row["hold_time"], row["name"]))
    lines: Lines = []
    if agents:
        head = ("AGENT", "COMPLETE", "FAILED", "LOST", "WORK", "LOST TIME", "CLAIMS", "REFUSED", "WAITED")
        lines.append(terminal.Table(head, [(row["name"], *_cells(row)) for row in agents[:MAX_AGENTS]]))
        if len(agents) > MAX_AGENTS:
            lines.append(f"and {counted(len(agents) - MAX_AGENTS, 'more agent')}; `--json` has all of them")
    if stats["by_kind"]:
        titles = ("TASKS FOR", "COMPLETE", "FAILED", "LOST", "WORK", "AVERAGE", "95 %", "QUEUED")
        lines += ["", terminal.Table(titles, [_kind(row) for row in stats["by_kind"]])]
    if stats["contention"]:
        names = ("RESOURCE", "REFUSALS", "FREE SOON", "WAITS", "LONGEST", "AGENTS")
        lines += ["", terminal.Table(names, [_met(row) for row in stats["contention"][:MAX_RESOURCES]])]
    return lines


def _kind(row: StatsView) -> tuple[str, ...]:
    return (
        row["kind"], str(row["complete"]), str(row["failed"] + row["quarantined"]), str(row["lost"]),
        _long(row["work_time"]), _long(row["average_work"]), _long(row["p95_work"]), _long(row["average_queued"]),
    )  # fmt: skip


def _met(row: StatsContentionView) -> tuple[str, ...]:
    return (
        row["resource"], str(row["refusals"]), str(row["false_refusals"]), str(row["waits"]),
        _long(row["longest_wait"]), str(row["agents"]),
    )  # fmt: skip


def _cells(row: StatsView) -> tuple[str, ...]:
    return (
        str(row["complete"]), str(row["failed"] + row["quarantined"]), str(row["lost"]), _long(row["work_time"]),
        _long(row["lost_time"]), str(row["granted"]), str(row["refused"]), _long(row["wait_time"]),
    )  # fmt: skip


def _long(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds:.1f}s" if 0 < seconds < 10 else times.short(round(seconds * 1000))  # noqa: PLR2004 - one figure more
