"""The report for people: two tables. They show only what is in bench.json."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from benchmarks.figures import Row

MET, MISSED = "met", "missed"
MAX_NOTE_LETTERS = 40  # of a note; bench.json has all of it
DIGITS = 100  # below this, three digits need a decimal point


def show(machine: dict[str, Any], rows: Sequence[Row]) -> None:
    """Print it."""
    from rich.console import Console

    # Cut nothing if the output is not a screen: a log or a document is as wide as needed.
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 160, highlight=False)
    console.print(about(machine))
    contended = [row for row in rows if "processes" in row.more]
    _figures(console, [row for row in rows if row not in contended])
    if contended:
        _contention(console, contended)
    console.print(verdict(rows), style="green" if not missed(rows) else "red")


def about(machine: dict[str, Any]) -> str:
    """The machine in one line."""
    return (
        f"dibs {machine['dibs']}, Python {machine['python']}, SQLite {machine['sqlite']}; {machine['cpus']} CPUs, "
        f"load {machine['load']} at the start; {machine['filesystem']}, one fsync {machine['fsync_us']:.0f} µs"
    )


def missed(rows: Sequence[Row]) -> list[str]:
    """The names of the rows whose target was missed."""
    return [f"{row.group}: {row.name}" for row in rows if row.met is False]


def verdict(rows: Sequence[Row]) -> str:
    """The last line."""
    targets = [row for row in rows if row.target is not None]
    wrong = missed(rows)
    if wrong:
        return f"{len(wrong)} of {len(targets)} targets missed: {'; '.join(wrong)}"
    return f"all {len(targets)} targets met"


def _figures(console: Console, rows: Sequence[Row]) -> None:
    from rich.table import Table

    table = Table(show_edge=False, pad_edge=False)
    table.add_column("", no_wrap=True)
    for title in ("median", "least", "ratio", "of least"):
        table.add_column(title, justify="right")
    for title in ("against", "target", "", "note"):
        table.add_column(title)
    group = ""
    for row in rows:
        if row.group != group:
            if group:
                table.add_section()
            group = row.group
        word = {None: "", True: f"[green]{MET}[/green]", False: f"[bold red]{MISSED}[/bold red]"}[row.met]
        note = row.note if len(row.note) <= MAX_NOTE_LETTERS else f"{row.note[: MAX_NOTE_LETTERS - 1]}…"
        table.add_row(*_cells(row), word, note)
    console.print(table)


def _cells(row: Row) -> list[str]:
    """One figure's cells, up to its target."""
    return [
        f"{row.group}: {row.name}",
        amount(row.value, row.unit),
        amount(row.more.get("min"), row.unit),
        "" if row.beside is None else f"{row.beside.ratio:.2f}x",
        "" if row.beside is None else f"{row.beside.least:.2f}x",
        "" if row.beside is None else row.beside.against,
        "" if row.target is None else row.target.text(row.unit),
    ]


def _contention(console: Console, rows: Sequence[Row]) -> None:
    from rich.table import Table

    table = Table(show_edge=False, pad_edge=False, title="contention", title_justify="left")
    table.add_column("")
    for title in ("a second", "p50", "p99", "longest", "slowest ÷ mean", "errors"):
        table.add_column(title, justify="right")
    for place, row in enumerate(rows):
        if place and row.more["processes"] != rows[place - 1].more["processes"]:
            table.add_section()
        table.add_row(*_contended(row))
    console.print(table)


def _contended(row: Row) -> list[str]:
    """One scene of the contention."""
    times = [amount(row.more[name], "ms") for name in ("p50_ms", "p99_ms", "longest_ms")]
    return [row.name, amount(row.value, ""), *times, f"{row.more['slowest']:.2f}", f"{row.more['errors']:.0f}"]


def page(machine: dict[str, Any], peers: dict[str, str], rows: Sequence[Row]) -> str:
    """The same two tables as a page of documentation."""
    contended = [row for row in rows if "processes" in row.more]
    installed = ", ".join(f"{name} {version}" for name, version in sorted(peers.items())) or "none"
    lines = [
        "# A run of `make bench`\n",
        f"{about(machine)}. Peers: {installed}. Written by the run itself; [bench.json](bench.json) has all of it.\n",
        "![how much of each target was used, and times beside the peers'](bench.svg)\n",
        "| | median | least | ratio | of least | against | target | | note |",
        "| --- | ---: | ---: | ---: | ---: | --- | --- | --- | --- |",
    ]
    for row in rows:
        if row not in contended:
            word = {None: "", True: MET, False: f"**{MISSED}**"}[row.met]
            lines.append(f"| {' | '.join([*_cells(row), word, row.note.replace('|', '/')])} |")
    if contended:
        lines += ["", "| contention | a second | p50 | p99 | longest | slowest ÷ mean | errors |"]
        lines.append("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        lines += [f"| {' | '.join(_contended(row))} |" for row in contended]
    return "\n".join([*lines, "", f"{verdict(rows)}.", ""])


def amount(value: float | None, unit: str) -> str:
    """A figure with its unit, three digits of it."""
    if value is None:
        return ""
    text = f"{value:.3g}" if value and abs(value) < DIGITS else f"{value:,.0f}"
    return f"{text} {unit}".strip()
