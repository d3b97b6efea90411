"""Hooks through a server: the same commands as in hooks.py, while `dibs serve` runs.

The launcher asks the server by bash instead of starting Python. Each payload comes through a socket and ends with a
newline, as from Claude Code: a file as stdin would hide two of the costs. The floor is the bare interpreter. The audit
is measured while six other agents are at work, whose calls and files are in the ledger. Last, thirty-two hooks at once,
beside as many interpreters.
"""

from __future__ import annotations

import itertools
import json
import os
import socket
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.figures import (
    AT_LEAST,
    AT_MOST,
    Comparison,
    Row,
    Target,
    above_floor,
    alternate,
    median,
    not_measured,
    timed,
)
from benchmarks.hooks import (
    AT_ONCE,
    BURST,
    FLOOR,
    GROUP,
    command_of,
    payload,
    repository,
    start,
    through_a_socket,
    wait,
)
from benchmarks.place import script

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.figures import Burst
    from benchmarks.place import Bench

EDIT, HELD, READ, BASH = (
    "served hook: Edit of a new file",
    "served hook: Edit of a held file",
    "served hook: Read",
    "served hook: Bash, a redirection",
)
AUDIT, AFTER = "served hook: after Bash `make`, six agents at work", "served hook: after Edit"
CROWD = f"{AT_ONCE} served hooks at once: Edit of a new file"
TARGETS = {
    EDIT: Target(AT_MOST, 0.6), READ: Target(AT_MOST, 0.4), BASH: Target(AT_MOST, 0.7), AUDIT: Target(AT_MOST, 0.6),
    AFTER: Target(AT_MOST, 0.45),
}  # fmt: skip
CROWD_TARGET = Target(AT_LEAST, 1 / 0.65)  # in calls a second, over interpreters a second
OTHERS, FILES = 6, 5  # agents at work, and files of each


def measure(bench: Bench) -> list[Row]:
    """The rows of hooks through a server."""
    folder = repository(bench, "hooks-served")
    started = subprocess.run(
        [script(), "serve", "--detach", "--json", "--workspace", folder], capture_output=True, text=True, check=False,
        timeout=60, cwd=folder,
    )  # fmt: skip
    if started.returncode:
        return [not_measured(GROUP, EDIT, f"`dibs serve` does not start: {started.stdout.strip()[:200]}")]
    try:
        return _measure(bench, folder)
    finally:
        stop = [script(), "serve", "--stop", "--workspace", folder]
        subprocess.run(stop, capture_output=True, check=True, timeout=60, cwd=folder)


def _measure(bench: Bench, folder: str) -> list[Row]:
    rounds = bench.count(40, 4)
    bench.say(f"hooks: {rounds * BURST} calls of each through a server")
    numbers = itertools.count(1)
    _occupy(folder)

    def hook(
        tool: str, given: dict[str, str], event: str = "PreToolUse", use: str = "toolu_bench"
    ) -> Callable[[], None]:
        return partial(
            through_a_socket, command_of(folder, event), payload(folder, tool, given, event=event, use=use), folder
        )

    def after(tool: str, given: dict[str, str]) -> Callable[[], None]:
        use = f"toolu_{next(numbers)}"
        hook(tool, given, use=use)()
        return hook(tool, given, "PostToolUse", use)

    held = {"file_path": f"{folder}/src/held.py"}
    taken = alternate(
        {
            FLOOR: _burst(lambda: partial(_bare, folder)),
            EDIT: _burst(lambda: hook("Edit", {"file_path": f"{folder}/src/new{next(numbers)}.py"})),
            HELD: _burst(lambda: hook("Edit", held)),
            READ: _burst(lambda: hook("Read", {"file_path": f"{folder}/src/f{next(numbers) % 20}.py"})),
            BASH: _burst(lambda: hook("Bash", {"command": f"printf 'x' > 'src/out{next(numbers)}.txt'"})),
            AUDIT: _burst(lambda: after("Bash", {"command": "make"})),
            AFTER: _burst(lambda: after("Edit", held)),
        },
        rounds, BURST,
    )  # fmt: skip
    return above_floor(GROUP, taken, FLOOR, TARGETS, {})[1:] + _crowd(bench, folder)


def _burst(prepared: Callable[[], Callable[[], object]]) -> Burst:
    return lambda times: [timed(prepared()) for _ in range(times)]


def _bare(folder: str) -> None:
    words = [sys.executable, "-I", "-S", "-c", "pass"]
    wait([start(words, (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), folder)], words)


def _occupy(folder: str) -> None:
    """Other agents have edited files and hold them."""
    for number in range(OTHERS * FILES):
        given = {"file_path": f"{folder}/src/other{number}.py", "content": "x\n"}
        for event in ("PreToolUse", "PostToolUse"):
            sent = payload(folder, "Write", given, f"other{number % OTHERS}", event, f"toolu_o{number}")
            through_a_socket(command_of(folder, event), sent, folder)
            with open(given["file_path"], "w", encoding="utf-8") as file:
                file.write(given["content"])


def _crowd(bench: Bench, folder: str) -> list[Row]:
    """Thirty-two at once, each a different agent with its own file."""
    rounds = bench.count(10, 2)
    bench.say(f"hooks: {AT_ONCE} at once through a server, {rounds} times")
    numbers = itertools.count(1)
    command = command_of(folder)
    bare = [sys.executable, "-I", "-S", "-c", "pass"]

    def hooks(times: int) -> list[float]:
        taken = []
        for _ in range(times):
            number = next(numbers)
            sent = [
                payload(folder, "Edit", {"file_path": f"{folder}/src/c{number}_{n}.py"}, f"agent{n}")
                for n in range(AT_ONCE)
            ]
            taken.append(timed(partial(_at_once, command, sent, folder)))
        return taken

    def interpreters(times: int) -> list[float]:
        return [timed(partial(_at_once, bare, [{}] * AT_ONCE, folder)) for _ in range(times)]

    base = f"{AT_ONCE} interpreters at once"
    taken = alternate({base: interpreters, CROWD: hooks}, rounds, 1)
    against = Comparison(taken[CROWD], taken[base], "as many interpreters", rates=True)
    return [
        Row(GROUP, CROWD, AT_ONCE * 1e6 / median(taken[CROWD]), "calls/s", beside=against, target=CROWD_TARGET,
            more={"samples": float(len(taken[CROWD]))}),
    ]  # fmt: skip


def _at_once(words: list[str], sent: list[dict[str, Any]], folder: str) -> None:
    started = []
    for one in sent:
        mine, its = socket.socketpair()
        with mine, its:
            mine.sendall(json.dumps(one).encode() + b"\n")
            mine.shutdown(socket.SHUT_WR)
            started.append(start(words, (os.POSIX_SPAWN_DUP2, its.fileno(), 0), folder))
    wait(started, words)
