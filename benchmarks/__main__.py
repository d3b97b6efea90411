"""`python -m benchmarks`, which is `make bench`: measures the promised speeds. Exit code 1 if one is missed."""

from __future__ import annotations

import argparse
import json
import os
import sys

from benchmarks import run as bench
from benchmarks import table
from benchmarks.environment import default_folder
from benchmarks.run import GROUPS, Options
from dibs.errors import NO, YES, DibsError, Invalid

MAX_SECONDS = 600  # one scene; ten minutes show all there is to see


def main(arguments: list[str]) -> int:
    """Measure and report."""
    words = _parser().parse_args(arguments)
    try:
        report = bench.run(_options(words))
    except DibsError as error:
        if words.json:
            print(json.dumps(error.as_json()))
        sys.stderr.write(f"benchmarks: {error}\n")
        return error.exit
    if words.json:
        print(json.dumps({**report.as_json(), "files": report.files}, ensure_ascii=False))
    else:
        table.show(report.machine, report.rows)
        print(f"written: {', '.join(report.files)}")
    return NO if report.missed else YES


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure the promised speeds, beside peers installed from PyPI; exit code 1 if one is missed.",
    )
    add = parser.add_argument
    add("--quick", action="store_true", help="a short run that shows that it works; its figures say little")
    add("--only", metavar="NAME[,NAME]", default="", help=f"only these groups: {', '.join(GROUPS)}")
    add("--no-peers", action="store_true", help="measure dibs alone, install nothing")
    add("--seconds", metavar="N", help="how long each scene of contention lasts (default 5, quick 1)")
    add("--dir", metavar="DIR", help="where the scratch folder is made: on the disk to measure (default: here)")
    add("--env", metavar="DIR", help="the peers' environment (default: ~/.cache/dibs/bench-venv)")
    add("--out", metavar="DIR", default="dibs-bench", help="where bench.json and bench.svg go (default: ./dibs-bench)")
    add("--json", action="store_true", help="print one JSON object")
    return parser


def _options(words: argparse.Namespace) -> Options:
    groups = tuple(name.strip() for name in words.only.split(",") if name.strip()) or GROUPS
    for name in groups:
        if name not in GROUPS:
            message = f"only: one or more of {', '.join(GROUPS)}, not {name!r}"
            raise Invalid(message, field="only")
    given = words.seconds or ("1" if words.quick else "5")
    if not given.isdecimal() or not 1 <= int(given) <= MAX_SECONDS:
        message = f"seconds: from 1 to {MAX_SECONDS}, not {given!r}"
        raise Invalid(message, field="seconds")
    return Options(
        folder=words.dir or os.getcwd(),
        out=os.path.abspath(words.out),
        env=words.env or default_folder(),
        groups=groups,
        peers=not words.no_peers,
        quick=words.quick,
        seconds=float(given),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
