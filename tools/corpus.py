"""The shell reader and the guards over recorded commands: what real agents typed, and what dibs would have said to it.

    python -m tools.corpus [FOLDER] [--json] [--refusals] [--reader]

Nothing of it is run. FOLDER has files of JSON lines (`.jsonl`, `.jsonl.gz`): a command a line (`cmd`), or a call
(`kind`: cmd, read, edit; `text`: command or path; `cwd`; with `session` and `t`, `dibs lookback` reads it, too), or
the sessions of clients, in any format that it knows. Without FOLDER it takes the project's own list of ordinary
commands (tests/corpora). Each command is read, and shown to the guards twice: to an agent alone in a repository, and
next to another agent that holds two files of it. The repository is made for it, with the files that the recorded calls
name; the folders that they name are that repository's. A command that cannot be read counts only if bash could.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dibs
from dibs import shell
from dibs.guards import lifecycle, payload, tool_call
from dibs.interfaces.agents import STOP
from dibs.lookback import causes, findings, session_files
from dibs.lookback.formats import recorded
from dibs.workspace import location

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.errors import DibsError

TOP = Path(__file__).resolve().parent.parent
OWN = ("ordinary.txt", "ordinary_git.txt")  # in tests/corpora
OWN_FILES = (
    "src/app.py", "src/util.py", "docs/guide.md", "lib/core.py", "lib/other.py", "tests/test_app.py", "data/rows.csv",
    "data/rows.json", "web/main.ts", "README.md", "package.json", "pyproject.toml", "scripts/check.sh", "cmd/main.go",
)  # fmt: skip
AGENT = "bob"
HELD = ("src/held_a.py", "docs/held_b.md")  # what the other agent works on
MAX_FILES = 3_000  # of the calls, made in the repository; a large tree of sources
COMMANDS_A_TURN = 100  # then the agent stops, and what it did not change is no longer claimed for it
IGNORED = "build/\ndist/\nout/\ntarget/\nnode_modules/\n__pycache__/\n.venv/\n*.log\n"
PROGRESS_S = 1.0
SHARES = {"median": 0.5, "p95": 0.95, "p99": 0.99}
HOOK = str(Path(dibs.__file__).parent / "guards" / "start" / "entry.py")


class Corpus:
    """Recorded commands, the folders they were typed in, and the files that were named there."""

    def __init__(self, folder: str) -> None:
        self.commands: list[str] = []
        self.folders: set[str] = set()
        self.files: dict[str, None] = {}
        if folder:
            unread = session_files.Unread()
            for file in session_files.find([folder], unread, lambda _count: None):
                self._read(file, unread)
        else:
            for name in OWN:
                self.commands += _plain_lines(TOP / "tests" / "corpora" / name)
            self.files = dict.fromkeys(OWN_FILES)
        self.commands = list(dict.fromkeys(self.commands))

    def _read(self, file: session_files.SessionFile, unread: session_files.Unread) -> None:
        named: list[tuple[str, str]] = []
        if file.format is recorded:
            found = recorded_lines(Path(file.path))
        else:
            found = ((one.command, [*one.reads, *[change.path for change in one.changes]], one.cwd)
                     for one in session_files.moments_of(file, unread))  # fmt: skip
        for command, paths, cwd in found:
            self.commands += [command] if command else []
            named += [(cwd, path) for path in paths if cwd]
            if cwd:
                self.folders.add(cwd)
        for cwd, name in named:
            inner = os.path.relpath(Path(cwd, name), cwd)
            if not inner.startswith("..") and len(self.files) < MAX_FILES:
                self.files[inner] = None

    def placed(self, command: str, top: str) -> str:
        """A command with the recorded folders as this one."""
        for folder in sorted(self.folders, key=len, reverse=True):
            if folder in command:
                command = command.replace(folder, top)
        return command


def recorded_lines(path: Path) -> Iterator[tuple[str, list[str], str]]:
    """The command, the paths and the folder of each plain line, with or without a session."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        for line in lines:
            one = json.loads(line)
            kind, text = one.get("kind", "cmd"), one.get("cmd") or one.get("text") or ""
            is_command = kind in {"cmd", "command"}
            yield (text if is_command else ""), ([] if is_command or not text else [text]), one.get("cwd") or ""


def _plain_lines(path: Path) -> list[str]:
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return ["\\".join([part.replace("\\n", "\n") for part in line.split("\\\\")]) for line in lines]


class Progress:
    """A line on stderr while it takes its time."""

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total, self._next = what, total, time.monotonic() + PROGRESS_S

    def at(self, done: int) -> None:
        """So many are done."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + PROGRESS_S
            sys.stderr.write(f"\r{self._what}: {done:,} of {self._total:,}")
            sys.stderr.flush()

    def end(self) -> None:
        """All of them are."""
        sys.stderr.write(f"\r{self._what}: {self._total:,} of {self._total:,}\n")


def read_all(commands: list[str], cwd: str) -> dict[str, Any]:
    """The reader alone: what fails, what it cannot read although bash could, and how long it takes."""
    failed: list[str] = []
    broken: list[str] = []
    kinds: Counter[str] = Counter()
    doubted = 0
    progress = Progress("reader", len(commands))
    began = time.process_time()
    for number, command in enumerate(commands):
        progress.at(number)
        try:
            reading = shell.read(command, cwd, home=cwd, strictly=True)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is counted
            failed.append(f"{type(error).__name__}: {error}: {command[:200]!r}")
            continue
        kinds[reading.kind] += 1
        doubted += bool(reading.unresolved)
        if reading.broken:
            broken.append(command)
    seconds = time.process_time() - began
    progress.end()
    unreadable = [command for command in broken if _is_bash(command)]
    return {
        "commands": len(commands), "seconds": round(seconds, 2), "exceptions": failed, "unreadable": unreadable,
        "doubts": doubted, **{kind: kinds[kind] for kind in ("harmless", "closed", "open")},
    }  # fmt: skip


def _is_bash(command: str) -> bool:
    """Would bash parse it? It only parses."""
    done = subprocess.run(
        ["bash", "-n"], input=command.encode("utf-8", "replace"), capture_output=True, check=False, timeout=60
    )
    return done.returncode == 0


class Play:
    """A scratch repository with dibs in it, for one pass over the commands."""

    def __init__(self, folder: Path, files: list[str]) -> None:
        self.top = os.path.realpath(folder / "repo")
        home = folder / "home"
        home.mkdir()
        self._env = {"PATH": os.environ["PATH"], "HOME": str(home), "DIBS_STATES": "off"}
        for name in (*files, *HELD):
            path = Path(self.top, name)
            if not any(parent.is_file() for parent in path.parents) and not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("{}\n" if name.endswith(".json") else "x\n")
        if not Path(self.top, ".gitignore").exists():
            Path(self.top, ".gitignore").write_text(IGNORED)
        self._git("init", "-q", "-b", "main", ".")
        self._git("config", "user.name", "somebody")
        self._git("config", "user.email", "somebody@example.com")
        command = [sys.executable, "-m", "dibs", "init", "--clients", "none", "--json"]
        subprocess.run(command, cwd=self.top, env=self._env, check=True, capture_output=True)
        self._git("add", "-A")
        self._git("commit", "-q", "-m", "all")
        self._git("clone", "-q", "--bare", ".", str(folder / "origin.git"))
        self._git("remote", "add", "origin", str(folder / "origin.git"))
        self._git("fetch", "-q")
        os.environ.update(DIBS_STATES="off", HOME=str(home), CLAUDE_PROJECT_DIR=self.top)
        os.environ.pop("TMPDIR", None)
        self.place = location.find(self.top, None)
        self.hook_ms: list[float] = []  # of the hook before each command, in this process

    def _git(self, *words: str) -> None:
        command = ["git", "-c", "core.hooksPath=/dev/null", *words]
        subprocess.run(command, cwd=self.top, env=self._env, check=True, capture_output=True)

    def holds(self, agent: str, names: tuple[str, ...]) -> None:
        """Another agent edits these files, by hooks of its own."""
        for name in names:
            given = {"file_path": f"{self.top}/{name}", "old_string": "x", "new_string": "y"}
            sent = {"session_id": agent, "cwd": self.top, "tool_name": "Edit", "tool_input": given, "tool_use_id": name}
            for event in ("PreToolUse", "PostToolUse"):
                text = json.dumps({**sent, "hook_event_name": event}).encode()
                command = [sys.executable, "-I", "-S", "-X", "utf8", HOOK, "claude"]
                env = {**self._env, "CLAUDE_PROJECT_DIR": self.top}
                subprocess.run(command, input=text, cwd=self.top, env=env, check=True, capture_output=True)
                Path(self.top, name).write_text("y\n")

    def ask(self, commands: list[str], what: str) -> Iterator[tuple[str, DibsError | Exception]]:
        """The commands that are refused, with the reasons."""
        progress = Progress(what, len(commands))
        for number, command in enumerate(commands):
            progress.at(number)
            error = self._refusal(command, f"call-{number}")
            if number % COMMANDS_A_TURN == COMMANDS_A_TURN - 1:
                self._hook({"session_id": AGENT, "cwd": self.top, "hook_event_name": "Stop"}, lifecycle.HANDLERS[STOP])
            if error is not None:
                yield command, error
        progress.end()

    def _refusal(self, command: str, call: str) -> DibsError | Exception | None:
        sent = {
            "session_id": AGENT, "cwd": self.top, "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": {"command": command}, "tool_use_id": call,
        }  # fmt: skip
        began = time.process_time()
        try:
            try:
                self._hook(sent, tool_call.before)
            finally:
                self.hook_ms.append((time.process_time() - began) * 1000)
            if shell.read(command, self.top).kind != "harmless":  # else no call has begun that could end
                self._hook({**sent, "hook_event_name": "PostToolUse", "tool_response": {}}, tool_call.after)
        except Exception as error:  # noqa: BLE001 - a refusal, or what should not be
            return error
        return None

    def _hook(self, sent: dict[str, Any], door: Callable[[payload.Event, location.Place], str]) -> None:
        event = payload.read("claude", "", sent)
        if event is not None:
            door(event, self.place)


def guarded(corpus: Corpus, *, shared: bool) -> tuple[list[tuple[str, Exception]], list[float]]:
    """What the guards refuse, alone or next to another agent; and how long each hook took."""
    with tempfile.TemporaryDirectory() as folder:
        play = Play(_made(Path(folder)), list(corpus.files))
        if shared:
            play.holds("ada", HELD)
        commands = [corpus.placed(command, play.top) for command in corpus.commands]
        return list(play.ask(commands, "next to another agent" if shared else "alone")), play.hook_ms


def _made(folder: Path) -> Path:
    (folder / "repo").mkdir()
    return folder


def shown(found: dict[str, Any]) -> str:
    """The figures as a table."""
    count = found["commands"]
    rows = [
        ("commands, all different", f"{count:,}"), ("seconds of CPU to read all", f"{found['seconds']}"),
        ("exceptions", str(len(found["exceptions"]))),
        ("not readable, though bash could", f"{len(found['unreadable'])} ({len(found['unreadable']) / count:.2%})"),
        ("with a target that the words leave open", f"{found['doubts']} ({found['doubts'] / count:.2%})"),
    ]  # fmt: skip
    for name, title in (("alone", "refused alone"), ("shared", "refused next to another agent's two files")):
        if name in found:
            total = sum(found[name].values())
            rows.append((title, f"{total} ({total / count:.2%})"))
            rows += [
                (f"· {group}", str(number)) for group, number in sorted(found[name].items(), key=lambda one: -one[1])
            ]
    if "hook_ms" in found:
        rows.append(("CPU time of a hook before a command", " · ".join([
            f"{name} {value:.1f} ms" for name, value in found["hook_ms"].items()
        ])))  # fmt: skip
    return "\n".join(["| | |", "| --- | --- |", *[f"| {title} | {figure} |" for title, figure in rows + _past(found)]])


def _past(found: dict[str, Any]) -> list[tuple[str, str]]:
    """What `dibs lookback` says of the same folder, where it has sessions."""
    seen = found.get("lookback")
    if not seen or not seen["sessions"]:
        return []
    refused, alone, calls = seen["refused"], seen["refused_alone"], seen["calls"]
    total = refused["commands"] + refused["edits"]
    return [
        ("lookback: sessions · calls · seconds", f"{seen['sessions']:,} · {calls:,} · {seen['seconds']}"),
        ("· sessions at work next to another", f"{seen['together']['sessions']:,}"),
        (
            "· edits within 1, 5, 30 minutes of another's",
            " · ".join([f"{seen['near'][name]:,}" for name in ["1", "5", "30"]]),
        ),
        ("· written over unread · swept by git", f"{seen['overwritten']:,} · {seen['swept']:,}"),
        ("· commands · edits refused alone", f"{alone['commands']:,} · {alone['edits']:,}"),
        ("· calls refused next to the others of their time", f"{total:,} ({total / calls:.2%})"),
        *[(f"· · {cause}", f"{count:,}") for cause, count in seen["causes"].items()],
        ("· calls that could not be judged", f"{len(seen['failed']):,}"),
    ]


def _spread(times: list[float]) -> dict[str, float]:
    """The middle and the slow ones of many times."""
    ordered = sorted(times) or [0.0]
    return {name: ordered[min(len(ordered) - 1, int(len(ordered) * part))] for name, part in SHARES.items()}


def main() -> int:
    """Exit code 1 if something failed that never may: an exception of the reader or of a guard."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.corpus", description="The shell guard over recorded commands."
    )
    parser.add_argument("folder", nargs="?", default="", help="with .jsonl or .jsonl.gz files; else tests/corpora")
    parser.add_argument("--json", action="store_true", help="one object, with all refusals")
    parser.add_argument("--refusals", action="store_true", help="print each refused command with its reason")
    parser.add_argument("--reader", action="store_true", help="the reader alone")
    given = parser.parse_args()
    corpus = Corpus(given.folder)
    found = read_all(corpus.commands, "/nowhere")
    refusals: dict[str, list[tuple[str, Exception]]] = {}
    if not given.reader:
        home = os.environ.get("HOME", "/")
        refusals["alone"], _ = guarded(corpus, shared=False)
        refusals["shared"], times = guarded(corpus, shared=True)
        found["hook_ms"] = _spread(times)
        if given.folder:
            found["lookback"] = findings.look([("", given.folder)], home, lambda _what, _count: None)
            found["exceptions"] += [f"lookback: {text}" for text in found["lookback"]["failed"]]
    for name, refused in refusals.items():
        found[name] = dict(Counter([causes.of(error) for _, error in refused]))
        found["exceptions"] += [
            f"{name}: {error!r}: {command[:200]!r}" for command, error in refused if causes.of(error) == "an error"
        ]
    if given.json:
        found["refused"] = {
            name: [{"command": command, "reason": str(error), "group": causes.of(error)} for command, error in refused]
            for name, refused in refusals.items()
        }
        sys.stdout.write(json.dumps(found) + "\n")
    else:
        sys.stdout.write(f"{shown(found)}\n")
        for name, refused in refusals.items() if given.refusals else ():
            for command, error in refused:
                sys.stdout.write(f"\n{name}: {causes.of(error)}\n  {command[:400]!r}\n  {str(error)[:300]}\n")
        for text in found["exceptions"]:
            sys.stdout.write(f"exception: {text}\n")
    return 1 if found["exceptions"] else 0


if __name__ == "__main__":
    sys.exit(main())
