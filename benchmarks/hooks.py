"""Hooks: their cost before each of an agent's tool calls, with the command that `dibs init` writes.

The floor is the bare interpreter again. The command is read from the client's settings file and run by `sh -c`, as
Claude Code does, with a payload on stdin: an Edit of a new file (a claim, its fsync included), an Edit of a file that
is held already, a Read, a Bash command that writes a file. No hook reports the end of a call there, so the ledger keeps
growing: the slowest case. Then the sequence of a real client: the hook before a call, the tool's work, the hook after
it, each payload through a socket. Then the audit after a command with unknown writes, while another agent holds files:
in a small tree and in one of twenty thousand files, and there also while a program of that agent runs, which costs a
look at all files. Last, thirty-two hooks at once, compared with as many interpreters.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.figures import (
    AT_MOST,
    Comparison,
    Row,
    Target,
    above_floor,
    alternate,
    bursts,
    median,
    not_measured,
    spread,
    timed,
)
from benchmarks.place import script

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.environment import Environment
    from benchmarks.figures import Burst
    from benchmarks.place import Bench

GROUP = "hooks"
BURST = 2
AT_ONCE = 32
FLOOR = "interpreter -I -S (the floor)"
EDIT, HELD, READ, BASH = (
    "hook: Edit of a new file",
    "hook: Edit of a held file",
    "hook: Read",
    "hook: Bash, a redirection",
)
AUDIT = "hook: after Bash `make`, another holds files"
SHARED = "hook: after Bash `make`, another's program runs"
HUB = "CoordinationHub hook: Edit"
# The cost at commit 05e3c2a (2.3, 2.1, 1.45, 2.7): later features of the guards must not add to it.
TARGETS = {
    EDIT: Target(AT_MOST, 2.3), HELD: Target(AT_MOST, 2.2), READ: Target(AT_MOST, 1.45), BASH: Target(AT_MOST, 2.7),
}  # fmt: skip
LARGE = 20_000  # files
LARGE_TARGET = Target(AT_MOST, 1.3)  # the hook after a command must not depend on the size of the tree
HELD_BY_ANOTHER = 10  # files that an audit checks


def measure(bench: Bench, environment: Environment | None) -> list[Row]:
    """The rows of this group."""
    if shutil.which("git") is None:
        return [not_measured(GROUP, EDIT, "git is not installed")]
    rounds = bench.count(40, 4)
    bench.say(f"hooks: {rounds * BURST} calls of each")
    folder = repository(bench)
    command = command_of(folder)
    sides: dict[str, Burst] = {
        FLOOR: calls(lambda _: ([sys.executable, "-I", "-S", "-c", "pass"], {}), folder),
        EDIT: calls(lambda n: (command, payload(folder, "Edit", {"file_path": f"{folder}/src/new{n}.py"})), folder),
        HELD: calls(lambda _: (command, payload(folder, "Edit", {"file_path": f"{folder}/src/held.py"})), folder),
        READ: calls(lambda n: (command, payload(folder, "Read", {"file_path": f"{folder}/src/f{n % 20}.py"})), folder),
        BASH: calls(
            lambda n: (command, payload(folder, "Bash", {"command": f"printf 'x' > 'src/out{n}.txt'"})), folder
        ),
    }
    if environment is not None and "coordinationhub" in environment.versions:
        sides[HUB] = _hub(bench, environment)
    taken = alternate(sides, rounds, BURST)
    rows = above_floor(GROUP, taken, FLOOR, TARGETS, {HUB: "no fsync"})
    if environment is not None and HUB not in sides:
        rows.append(not_measured(GROUP, HUB, environment.absent))
    return rows + _pairs(bench, rounds) + _audits(bench) + _crowd(bench, folder, command)


def _pairs(bench: Bench, rounds: int) -> list[Row]:
    """Edits and commands with both hooks, as a client runs them: the cost before and after each."""
    bench.say(f"hooks: {rounds * BURST} calls with their ends")
    folder = repository(bench, "hooks-pairs")
    after: dict[str, list[float]] = {"Edit": [], "Bash": []}
    numbers = itertools.count(1)

    def pair(tool: str, given: dict[str, str], work: Callable[[], object]) -> float:
        use = f"toolu_{next(numbers)}"
        sent = [payload(folder, tool, given, event=event, use=use) for event in ("PreToolUse", "PostToolUse")]
        before = timed(partial(through_a_socket, command_of(folder), sent[0], folder))
        work()
        after[tool].append(timed(partial(through_a_socket, command_of(folder, "PostToolUse"), sent[1], folder)))
        return before

    def edit() -> float:
        path = f"{folder}/src/f{next(numbers) % 20}.py"
        return pair("Edit", {"file_path": path}, partial(_append, path))

    def bash() -> float:
        path = f"{folder}/src/out{next(numbers)}.txt"
        return pair("Bash", {"command": f"printf 'bench' > '{path}'"}, partial(_append, path))

    taken = alternate(
        {FLOOR: calls(lambda _: ([sys.executable, "-I", "-S", "-c", "pass"], {}), folder),
         "Edit": lambda times: [edit() for _ in range(times)], "Bash": lambda times: [bash() for _ in range(times)]},
        rounds, BURST,
    )  # fmt: skip
    named = {FLOOR: taken[FLOOR]}
    for tool in after:
        named[f"hook: before {tool}, its end is told"] = taken[tool]
        named[f"hook: after {tool}"] = after[tool][BURST:]
    return above_floor(GROUP, named, FLOOR, {})[1:]


def _append(path: str) -> None:
    """The tool's work."""
    with open(path, "a", encoding="utf-8") as file:
        file.write("bench\n")


def through_a_socket(words: list[str], payload: dict[str, Any], folder: str) -> None:
    """Start one hook with its payload in a socket, as programs on Node do, and wait for it."""
    mine, its = socket.socketpair()
    with mine, its:
        mine.sendall(json.dumps(payload).encode() + b"\n")  # as Claude Code ends it
        mine.shutdown(socket.SHUT_WR)
        wait([start(words, (os.POSIX_SPAWN_DUP2, its.fileno(), 0), folder)], words)


def _audits(bench: Bench) -> list[Row]:
    """The hook after a command, in a small tree and in a large one; the one before it is run untimed."""
    files = bench.count(LARGE, 1_000)
    rounds = bench.count(40, 4)
    bench.say(f"hooks: {rounds * BURST} audits, in a small tree and in one of {files:,} files")
    small, large = repository(bench, "hooks-small"), repository(bench, "hooks-large", files)
    shared = repository(bench, "hooks-shared", files)
    taken = alternate(
        {FLOOR: calls(lambda _: ([sys.executable, "-I", "-S", "-c", "pass"], {}), small),
         "small": _audit(small), "large": _audit(large), "shared": _audit(shared, shared=True)}, rounds, BURST,
    )  # fmt: skip
    rows = (
        ("small", AUDIT, FLOOR, "the floor", None),
        ("large", f"{AUDIT}, {files:,} files", "small", "a small tree", LARGE_TARGET),
        ("shared", f"{SHARED}, {files:,} files", "large", "while none runs", None),
    )
    return [
        Row(GROUP, name, median(taken[side]) / 1000, "ms", beside=Comparison(taken[side], taken[other], against),
            target=target, more=spread(taken[side], 1000))
        for side, name, other, against, target in rows
    ]  # fmt: skip


def _audit(folder: str, *, shared: bool = False) -> Burst:
    """A side: the hook after `make`, while another agent holds some files; with `shared`, a program of it runs, too."""
    before, after = command_of(folder), command_of(folder, "PostToolUse")
    for number in range(HELD_BY_ANOTHER):
        given = {"file_path": f"{folder}/src/f{number}.py"}
        for words, event in ((before, "PreToolUse"), (after, "PostToolUse")):
            sent = _written(folder, payload(folder, "Write", {**given, "content": "x"}, "another", event))
            _at_once([(words, sent)], folder)
    if shared:
        sent = _written(folder, payload(folder, "Bash", {"command": "make"}, "another", use="toolu_runs"))
        _at_once([(before, sent)], folder)

    def prepare(_: int) -> Callable[[], object]:
        opened = _written(folder, payload(folder, "Bash", {"command": "make"}))
        _at_once([(before, opened)], folder)
        sent = _written(folder, payload(folder, "Bash", {"command": "make"}, event="PostToolUse"))
        return partial(_at_once, [(after, sent)], folder)

    return bursts(prepare)


def _crowd(bench: Bench, folder: str, command: list[str]) -> list[Row]:
    """Thirty-two at once, each a different agent with its own file."""
    rounds = bench.count(10, 2)
    bench.say(f"hooks: {AT_ONCE} at once, {rounds} times")
    numbers = itertools.count(1)

    def hooks(times: int) -> list[float]:
        taken = []
        for _ in range(times):
            number = next(numbers)
            payloads = [
                _written(folder, payload(folder, "Edit", {"file_path": f"{folder}/src/c{number}_{n}.py"}, f"agent{n}"))
                for n in range(AT_ONCE)
            ]
            taken.append(timed(partial(_at_once, [(command, path) for path in payloads], folder)))
        return taken

    def bare(times: int) -> list[float]:
        words = [sys.executable, "-I", "-S", "-c", "pass"]
        return [timed(partial(_at_once, [(words, os.devnull)] * AT_ONCE, folder)) for _ in range(times)]

    base, mine = f"{AT_ONCE} interpreters at once", f"{AT_ONCE} hooks at once: Edit of a new file"
    taken = alternate({base: bare, mine: hooks}, rounds, 1)
    return [
        Row(
            GROUP,
            name,
            AT_ONCE * 1e6 / median(times),
            "calls/s",
            beside=None if name == base else Comparison(times, taken[base], "as many interpreters", rates=True),
            more={"samples": float(len(times))},
        )
        for name, times in taken.items()
    ]


def repository(bench: Bench, name: str = "hooks", more: int = 0) -> str:
    """A real repository with the hooks in it, twenty files, and as many more in folders of a hundred as are wanted."""
    folder = bench.sub(name)
    git = ["git", "-C", folder, "-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    os.makedirs(f"{folder}/src")
    for file_name in [*[f"f{n}.py" for n in range(20)], "held.py"]:
        with open(f"{folder}/src/{file_name}", "w", encoding="utf-8") as file:
            file.write("print('bench')\n" * 100)
    for number in range(more):
        if number % 100 == 0:
            os.makedirs(f"{folder}/more/d{number // 100}")
        with open(f"{folder}/more/d{number // 100}/f{number}.txt", "w", encoding="utf-8") as file:
            file.write(f"{number}\n")
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "files"], check=True)
    subprocess.run([script(), "init", folder, "--clients", "claude"], check=True, timeout=60, capture_output=True)
    return folder


def command_of(folder: str, event: str = "PreToolUse") -> list[str]:
    """The command of a hook, exactly as in the settings."""
    with open(f"{folder}/.claude/settings.json", encoding="utf-8") as file:
        settings = json.load(file)
    return ["sh", "-c", settings["hooks"][event][0]["hooks"][0]["command"]]


def payload(
    folder: str, tool: str, given: dict[str, str], session: str = "bench", event: str = "PreToolUse",
    use: str = "toolu_bench",
) -> dict[str, Any]:  # fmt: skip
    """What the client sends before a tool runs, or after it."""
    return {
        "session_id": session, "transcript_path": "", "cwd": folder, "permission_mode": "acceptEdits",
        "hook_event_name": event, "tool_name": tool, "tool_input": given, "tool_use_id": use,
    }  # fmt: skip


def _written(folder: str, payload: dict[str, Any]) -> str:
    """The payload as a file that becomes stdin."""
    path = f"{folder}/.git/payload-{payload['session_id']}"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(payload, file)
    return path


def calls(call: Callable[[int], tuple[list[str], dict[str, Any]]], folder: str) -> Burst:
    """A side that starts a command with a payload, again and again."""
    numbers = itertools.count(1)

    def burst(times: int) -> list[float]:
        taken = []
        for number in itertools.islice(numbers, times):
            words, payload = call(number)
            given = _written(folder, payload) if payload else os.devnull
            taken.append(timed(partial(_at_once, [(words, given)], folder)))
        return taken

    return burst


def _at_once(calls: list[tuple[list[str], str]], folder: str) -> None:
    """Start them all, wait for them all; a refusal here is a defect of the bench."""
    started = [start(words, (os.POSIX_SPAWN_OPEN, 0, given, os.O_RDONLY, 0), folder) for words, given in calls]
    wait(started, calls[0][0])


def start(words: list[str], stdin: tuple[Any, ...], folder: str) -> int:
    """Start a command, without waiting for it; its pid."""
    files = [stdin, (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    return os.posix_spawnp(words[0], words, {**os.environ, "CLAUDE_PROJECT_DIR": folder}, file_actions=files)


def wait(started: list[int], words: list[str]) -> None:
    """Wait until they have all ended, and well."""
    for pid in started:
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code:
            message = f"`{' '.join(words)}` ended with {code}"
            raise RuntimeError(message)


def _hub(bench: Bench, environment: Environment) -> Burst:
    """CoordinationHub's own hook, in a new project with its own home folder."""
    folder = bench.sub("hub-hook")
    subprocess.run(["git", "init", "-q", folder], check=True)
    words = [environment.program("python"), "-m", "coordinationhub.hooks.stdio_adapter"]
    home = bench.sub("hub-home")
    return calls(
        lambda n: (["env", f"HOME={home}", *words], payload(folder, "Edit", {"file_path": f"{folder}/new{n}.py"})),
        folder,
    )
