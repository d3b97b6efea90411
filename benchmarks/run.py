"""One run of the bench: the requested groups, one after the other, and their report."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from benchmarks import (
    claims,
    client_edit,
    cold,
    contention,
    groups,
    hooks,
    http,
    landing,
    links,
    mcp,
    plot,
    pools,
    redis,
    scale,
    served_hooks,
    table,
    watching,
    work,
)  # fmt: skip
from benchmarks.environment import Environment
from benchmarks.place import Bench, machine
from dibs.errors import Unavailable

if TYPE_CHECKING:
    from benchmarks.figures import Row

GROUPS = (
    "cold",
    "hooks",
    "claims",
    "pools",
    "groups",
    "scale",
    "tasks",
    "contention",
    "links",
    "redis",
    "http",
    "mcp",
    "client",
    "land",
    "top",
)


class Options:
    """The options of a run."""

    __slots__ = ("env", "folder", "groups", "out", "peers", "quick", "seconds")

    def __init__(
        self, *, folder: str, out: str, env: str, groups: tuple[str, ...], peers: bool, quick: bool, seconds: float
    ) -> None:
        self.folder, self.out, self.env = folder, out, env
        self.groups, self.peers, self.quick, self.seconds = groups, peers, quick, seconds


class Report:
    """The results of a run."""

    __slots__ = ("files", "machine", "options", "peers", "rows")

    def __init__(self, options: Options, facts: dict[str, Any], peers: dict[str, str], rows: list[Row]) -> None:
        self.options, self.machine, self.peers, self.rows = options, facts, peers, rows
        self.files: list[str] = []

    @property
    def missed(self) -> list[str]:
        """The rows whose target was missed."""
        return table.missed(self.rows)

    def as_json(self) -> dict[str, Any]:
        """The report for bench.json."""
        return {
            "ok": not self.missed,
            "quick": self.options.quick,
            "machine": self.machine,
            "peers": self.peers,
            "rows": [row.as_json() for row in self.rows],
            "missed": self.missed,
        }


def run(options: Options) -> Report:
    """Measure, write bench.json, bench.svg and bench.md, print the tables."""
    _writable(options.out)
    rows: list[Row] = []
    with Bench(options.folder, quick=options.quick) as bench:
        facts = machine(bench.folder)
        bench.say(f"scratch folder {bench.folder} on {facts['filesystem']}")
        environment = None
        if options.peers and {"cold", "hooks", "claims", "tasks", "redis"} & set(options.groups):
            environment = Environment(options.env)
            environment.prepare(bench)
        if "cold" in options.groups:
            rows += cold.measure(bench, environment)
        if "hooks" in options.groups:
            rows += hooks.measure(bench, environment)
            rows += served_hooks.measure(bench)
        if "claims" in options.groups:
            rows += claims.measure(bench, environment)
        if "pools" in options.groups:
            rows += pools.measure(bench)
        if "groups" in options.groups:
            rows += groups.measure(bench)
        if "scale" in options.groups:
            rows += scale.measure(bench)
        if "tasks" in options.groups:
            rows += work.measure(bench, environment)
        if "links" in options.groups:
            rows += links.measure(bench, options.seconds)
        if "contention" in options.groups:
            rows += contention.measure(bench, options.seconds)
        if "redis" in options.groups:
            rows += redis.measure(bench, environment, options.seconds)
        rows += _doors(bench, options)
    report = Report(options, facts, environment.versions if environment is not None else {}, rows)
    report.files = [os.path.join(options.out, name) for name in ("bench.json", "bench.svg", "bench.md")]
    _write(report.files[0], json.dumps(report.as_json(), indent=1, ensure_ascii=False) + "\n")
    _write(report.files[1], plot.svg(facts, rows))
    _write(report.files[2], table.page(facts, report.peers, rows))
    return report


def _doors(bench: Bench, options: Options) -> list[Row]:
    """The groups that measure a server's doors, a client, and what people do with both."""
    rows: list[Row] = []
    if "http" in options.groups:
        rows += http.measure(bench, options.seconds)
    if "mcp" in options.groups:
        rows += mcp.measure(bench)
    if "client" in options.groups:
        rows += client_edit.measure(bench)
    if "land" in options.groups:
        rows += landing.measure(bench)
    if "top" in options.groups:
        rows += watching.measure(bench)
    return rows


def _writable(folder: str) -> None:
    """Check the output folder first, not after some minutes of measuring."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        message = f"--out: {folder} cannot be made: {error.strerror}"
        raise Unavailable(message, path=folder) from None


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        raise Unavailable(message, path=path) from None
