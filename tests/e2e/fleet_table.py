"""The table of docs/guides/guards.md: what a mixed fleet of real clients loses without dibs, and with it.

    python -m tests.e2e.fleet_table [--think 0.3,3] [--runs N] [--all]

The clients are those of `make e2e` (with `--all` those of `make e2e-all`), which have to be installed. Each line is one
run: some ten seconds without dibs, a minute with it.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from tests.e2e.clients.fleet import Fleet
from tests.e2e.clients.mixed_fleet import BUMPS, FIVE, LINES, SEVEN, Outcome, play

HEAD = "| think | dibs | bumps lost | edits lost | given up | refused (stale) | false alarms | s |"


def line(think: float, how: str, outcome: Outcome) -> str:
    """One run as a line of the table."""
    return (
        f"| {think:g} s | {how} | {outcome.bumps_lost} of {BUMPS} | {len(outcome.lines_lost)} of {LINES} "
        f"| {len(outcome.given_up)} | {outcome.refused} ({outcome.stale}) | {outcome.doubts} | {outcome.seconds:.0f} |"
    )


def main() -> None:
    """Play what was asked for, and print it as it comes."""
    words = argparse.ArgumentParser(description="What a mixed fleet loses, without dibs and with it.")
    words.add_argument("--think", default="0.3,3", help="seconds between reading and writing a file")
    words.add_argument("--runs", type=int, default=1, help="runs of each line with dibs")
    words.add_argument("--all", action="store_true", help="with a Gemini and a Copilot")
    asked = words.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs\n\n{HEAD}\n{'| --- ' * 8}|", flush=True)
    for think in (float(text) for text in asked.think.split(",")):
        runs = [("none", False, True)]
        runs += [("yes", True, True), ("yes, nobody releases", True, False)] * asked.runs
        for how, dibs, releases in runs:
            with tempfile.TemporaryDirectory() as folder:
                fleet = Fleet(Path(folder))
                try:
                    outcome = play(fleet, SEVEN if asked.all else FIVE, think=think, releases=releases, dibs=dibs)
                finally:
                    fleet.close()
            print(line(think, how, outcome), flush=True)
            for text in outcome.given_up + outcome.lines_lost:
                print(f"  {text}")


if __name__ == "__main__":
    main()
