"""The metrics of `dibs stats` as text: a few lines, small plots over time, tables by agent, kind and resource."""

from __future__ import annotations

from dibs.errors import counted
from dibs.interfaces.cli import terminal
from dibs.interfaces.cli.render import continued, times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.interfaces.cli.render import Items, Lines

BARS = "▁▂▃▄▅▆▇█"
EMPTY = "·"
PLOTS = (
    ("granted", "claims granted"), ("refused", "refused"), ("waits", "waits ended"), ("complete", "tasks complete"),
    ("failed", "failed"), ("lost", "lost"),
)  # fmt: skip
MAX_AGENTS = 20  # in the table; `--json` has all
MAX_RESOURCES = 5


def page(found: dict[str, Any]) -> Items:
    """All of it."""
    total = found["totals"]
    head = f"the last {times.short(int(found['seconds'] * 1000))}: {counted(found['events'], 'event')}"
    lines: Lines = [terminal.Line(head, "bold")]
    if not found["events"]:
        return [*lines, "nothing happened", *continued(found)]
    lines += _sentences(total, found["refusals"])
    lines += ["", *_plots(found), ""]
    lines += _tables(found)
    return [*lines, *continued(found)]


def _sentences(total: dict[str, Any], refusals: dict[str, int]) -> Lines:
    success = f", {total['success_rate']:.0%} success" if total["success_rate"] is not None else ""
    tasks = (
        f"tasks: {total['complete']} complete ({total['throughput']:g} an hour{success}), {total['failed']} failed, "
        f"{total['quarantined']} quarantined, {total['lost']} lost, {total['working']} at work; "
        f"{_long(total['work_time'])} of work, {_long(total['lost_time'])} in lost attempts"
    )
    lines: Lines = [tasks]
    by = ", ".join(f"{count} {kind}" for kind, count in refusals.items() if count)
    lines.append(
        f"claims: {total['granted']} granted, {total['refused']} refused{f' ({by})' if by else ''}, "
        f"{total['false_refusals']} of them free within a minute; {total['lost_claims']} lost"
    )
    p95 = f", p95 {_long(total['p95_wait'])}" if total["p95_wait"] is not None else ""
    longest = f", longest {_long(total['longest_wait'])}" if total["longest_wait"] is not None else ""
    lines.append(
        f"waiting: {counted(total['waits'], 'wait')}, {_long(total['wait_time'])} in all{p95}{longest}, "
        f"{total['gave_up']} gave up"
    )
    return lines


def _plots(found: dict[str, Any]) -> Lines:
    """One line for each metric that is not always 0: its plot, its sum, its highest value."""
    width = max(len(title) for _, title in PLOTS)
    lines: Lines = []
    for name, title in PLOTS:
        values = [bucket[name] for bucket in found["buckets"]]
        if any(values):
            each = times.short(int(found["bucket_seconds"] * 1000))
            lines.append(f"{title:<{width}}  {plot(values)}  {sum(values)}, at most {max(values)} in {each}")
    return lines


def plot(values: list[int]) -> str:
    """Values as a row of small bars; 0 is a dot."""
    top = max(values, default=0)
    return "".join(BARS[(value * len(BARS) - 1) // top] if value else EMPTY for value in values)


def _tables(found: dict[str, Any]) -> Lines:
    agents = sorted(found["by_agent"], key=lambda one: (-one["work_time"] - one["hold_time"], one["name"]))
    lines: Lines = []
    if agents:
        head = ("AGENT", "COMPLETE", "FAILED", "LOST", "WORK", "LOST TIME", "CLAIMS", "REFUSED", "WAITED")
        lines.append(terminal.Table(head, [(one["name"], *_cells(one)) for one in agents[:MAX_AGENTS]]))
        if len(agents) > MAX_AGENTS:
            lines.append(f"and {counted(len(agents) - MAX_AGENTS, 'more agent')}; `--json` has all of them")
    if found["by_kind"]:
        titles = ("TASK KIND", "COMPLETE", "FAILED", "LOST", "WORK", "AVERAGE", "P95", "QUEUED")
        lines += ["", terminal.Table(titles, [_kind(one) for one in found["by_kind"]])]
    if found["contention"]:
        names = ("RESOURCE", "REFUSALS", "FREED IN 1M", "WAITS", "LONGEST", "AGENTS")
        lines += ["", terminal.Table(names, [_met(one) for one in found["contention"][:MAX_RESOURCES]])]
    return lines


def _kind(one: dict[str, Any]) -> tuple[str, ...]:
    return (
        one["kind"], str(one["complete"]), str(one["failed"] + one["quarantined"]), str(one["lost"]),
        _long(one["work_time"]), _long(one["average_work"]), _long(one["p95_work"]), _long(one["average_queued"]),
    )  # fmt: skip


def _met(one: dict[str, Any]) -> tuple[str, ...]:
    return (
        one["resource"], str(one["refusals"]), str(one["false_refusals"]), str(one["waits"]),
        _long(one["longest_wait"]), str(one["agents"]),
    )  # fmt: skip


def _cells(one: dict[str, Any]) -> tuple[str, ...]:
    return (
        str(one["complete"]), str(one["failed"] + one["quarantined"]), str(one["lost"]), _long(one["work_time"]),
        _long(one["lost_time"]), str(one["granted"]), str(one["refused"]), _long(one["wait_time"]),
    )  # fmt: skip


def _long(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds:.1f}s" if 0 < seconds < 10 else times.short(round(seconds * 1000))  # noqa: PLR2004 - one figure more
