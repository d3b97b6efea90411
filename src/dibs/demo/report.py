"""The end of the demo: a summary, the table, the verdict, and the next steps.

One table of plain texts, made once; a terminal gets it with lines and colours, a pipe in columns.
"""

from __future__ import annotations

import os
import shutil
import sys

from dibs.demo import plan
from dibs.machine import relative_times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.demo.results import DemoResult

NO_VALUE = "-"
NEXT_STEPS = (
    ("dibs init", "in your repository, makes it a workspace"),
    ("dibs claim src/api.py --as me", "takes the first claim; `dibs status` shows it"),
    ("dibs help", "lists the rest"),
)


def rows(result: DemoResult) -> list[tuple[str, str, str]]:
    """The final table: what, without dibs, with dibs."""
    without, guarded = result["without"], result["with"]
    verified = guarded["verify"]
    inherited = guarded["dead_holder"]
    checked = f"clean, {verified['events']} events" if verified["ok"] else f"{verified['found']} findings"
    free = f"; its file was free after {inherited['milliseconds']} ms" if inherited else "; its file stayed claimed"
    explained = "all explained" if guarded["refusals"] == guarded["refusals_explained"] else "NOT all explained"
    paused = f"{without['paused']}; wrote over {without['overwritten_by_paused']} edits"
    kept = "could not write; did its edit again" if guarded["stale"] else "was not refused"
    return [
        ("edits made", str(without["edits"]), str(guarded["edits"])),
        ("in the files at the end", str(without["in_files"]), str(guarded["in_files"])),
        ("sum of the counters", str(without["counters"]), str(guarded["counters"])),
        ("lost", str(without["lost"]), str(guarded["lost"])),
        ("killed (SIGKILL)", without["killed"], f"{guarded['killed']}{free}"),
        ("paused beyond its deadline", paused, f"{guarded['paused']}; {kept}"),
        ("refusals", NO_VALUE, f"{guarded['refusals']}, {explained}"),
        ("stale tokens refused", NO_VALUE, str(guarded["stale_tokens_refused"])),
        ("dibs verify", NO_VALUE, checked),
        ("seconds", f"{without['seconds']:.1f}", f"{guarded['seconds']:.1f}"),
    ]


def words(result: DemoResult) -> list[str]:
    """The texts of the refusals, and the fate of the dead agent's claim."""
    guarded = result["with"]
    lines = ["What the agents were told:"]
    lines += [f"  to {sample['agent']}: {sample['message']}" for sample in guarded["samples"]]
    lines += [
        f"  to {stale['agent']}, with a stale copy in its hands: {stale['message']}" for stale in guarded["stale"][:1]
    ]
    inherited = guarded["dead_holder"]
    if inherited:
        lines.append(
            f"{inherited['agent']} died with a claim on {inherited['file']} that had "
            f"{relative_times.left(inherited['deadline'])} left. Its process was gone, so {inherited['next']} had the "
            f"file {inherited['milliseconds']} ms after the kill."
        )
    return lines


def verdict(result: DemoResult) -> str:
    """The last word."""
    if result["failed"]:
        return "dibs did not keep its promise in this run: " + "; ".join(result["failed"]) + "."
    lost, edits = result["without"]["lost"], result["without"]["edits"]
    if not lost:
        return (
            "This run happened to lose nothing without dibs; try another --seed or more --edits. With dibs none either."
        )
    return f"Without dibs {lost} of {edits} edits were lost and nobody noticed. With dibs none."


def show(result: DemoResult) -> None:
    """Print it all."""
    if sys.stdout.isatty():
        _show_rich(result)
    else:
        _show_plain(result)


def _show_plain(result: DemoResult) -> None:
    table = [("", "without dibs", "with dibs"), *rows(result)]
    left, middle = (max(len(row[place]) for row in table) for place in (0, 1))
    lines = ["", *words(result), ""]
    lines += [f"{what:<{left}}  {without:<{middle}}  {guarded}".rstrip() for what, without, guarded in table]
    lines += ["", verdict(result), *_kept(result), "", "Next:"]
    width = max(len(command) for command, _ in NEXT_STEPS)
    lines += [f"  {command:<{width}}  {text}" for command, text in NEXT_STEPS]
    lines += _where()
    sys.stdout.write("\n".join(lines) + "\n")


def _show_rich(result: DemoResult) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    console.print("\n" + "\n".join(words(result)) + "\n", markup=False)
    table = Table("", "without dibs", "with dibs", header_style="bold")
    bad = {"lost", "paused beyond its deadline"}
    for what, without, guarded in rows(result):
        table.add_row(
            what,
            Text(without, style="bold red" if what in bad and result["without"]["lost"] else ""),
            Text(guarded, style="" if what == "seconds" else "red" if result["failed"] else "green"),
        )
    console.print(table)
    console.print(Text(verdict(result), style="bold red" if result["failed"] else "bold"))
    for line in _kept(result):
        console.print(line, markup=False, soft_wrap=True)
    width = max(len(command) for command, _ in NEXT_STEPS)
    console.print("\nNext:")
    for command, text in NEXT_STEPS:
        console.print(f"  [bold]{command:<{width}}[/bold]  {text}")
    for line in _where():
        console.print(line, markup=False, soft_wrap=True)


def _where() -> list[str]:
    """Where `dibs` is, if the PATH does not have it: `make demo` runs the one of a clone's .venv."""
    if shutil.which("dibs") is not None:
        return []
    return [f"`dibs` is not on your PATH: it is {os.path.join(os.path.dirname(sys.executable), 'dibs')}"]


def _kept(result: DemoResult) -> list[str]:
    if not result["scratch"]:
        return []
    return [
        f"Kept: {result['scratch']} (the journals in without/ and with/).",
        f"See what was lost: git -C {result['scratch']}/repo diff without-dibs with-dibs -- {plan.FILES[0]}",
    ]
