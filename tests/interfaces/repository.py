"""What the tests of the hook door share: a scratch repository, stand-in clients in it, and agents whose hooks they run.

An agent's hook is always a process of its own (`python -I -S entry.py CLIENT`), started by the agent's own client
process with an environment of PATH and HOME alone. Nothing of the machine's own agents is to be seen from there.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import dibs
from dibs.machine import processes
from tests import warm
from tests.interfaces.client import IN_FILE

ENTRY = str(Path(dibs.__file__).parent / "guards" / "start" / "entry.py")
DIBS = str(Path(sys.executable).with_name("dibs"))
HOOK = [sys.executable, "-I", "-S", "-X", "utf8", ENTRY]
STAND_IN = str(Path(__file__).with_name("client.py"))
MUCH = 1 << 20  # bytes of input that are handed over in a file
PATIENCE = 120.0  # seconds after which a silent process is a failure
LIMIT = 20.0  # seconds that `dibs init` gives a client's hook


class Answer:
    """What a hook answered."""

    def __init__(self, code: int, out: str, err: str, took: float) -> None:
        self.code, self.out, self.err, self.took = code, out, err, took

    def __repr__(self) -> str:
        return f"Answer({self.code}, out={self.out!r}, err={self.err!r}, took={self.took:.3f})"

    @property
    def json(self) -> Any:
        """The one value on stdout; None for nothing."""
        return json.loads(self.out) if self.out else None

    @property
    def allowed(self) -> bool:
        """No objection: exit 0, and neither a decision nor a word on stderr."""
        assert "Traceback" not in self.err, self
        return self.code == 0 and "permissionDecision" not in self.out and '"decision"' not in self.out

    @property
    def silent(self) -> bool:
        """Not a word, and no objection."""
        return self.code == 0 and not self.out and not self.err

    @property
    def refusal(self) -> str:
        """The reason of a refusal in Claude Code's dialect; "" for anything else."""
        assert "Traceback" not in self.err, self
        if self.code != 2:
            return ""
        found = self.json["hookSpecificOutput"]
        assert found["permissionDecision"] == "deny", self
        assert found["permissionDecisionReason"].strip() == self.err.strip(), self
        return str(found["permissionDecisionReason"])

    @property
    def told(self) -> str:
        """What the model is told; "" for nothing."""
        return str(self.json["hookSpecificOutput"]["additionalContext"]) if self.out else ""


class Client:
    """A stand-in client's process. Its hooks and `dibs` start warm (see tests/warm.py) unless it is to be `real`."""

    def __init__(self, folder: Path, name: str, env: dict[str, str], *, real: bool = False) -> None:
        self.env = env
        if warm.can(env) and not real and "DIBS_AGENT" not in env:  # what it was started with can be seen from outside
            self.pid, self._asks, self._answers = warm.client(name, HOOK, folder, env)
            self._self = processes.of(self.pid)
            return
        process = subprocess.Popen(
            [link_named(folder, name), "-I", "-S", STAND_IN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder,
            env=env,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        self._asks, self._answers = process.stdin, process.stdout
        self.pid = int(self._answers.readline())
        self._self = processes.of(self.pid)
        process.wait(PATIENCE)

    def run(self, *words: str, cwd: Path, given: bytes = b"", seconds: float = PATIENCE, **env: str) -> Answer:
        """Start a program as this client's child, and wait for its end."""
        order = {"words": words, "cwd": str(cwd), "env": {**self.env, **env}, "seconds": seconds}
        if len(given) > MUCH:
            with tempfile.NamedTemporaryFile() as file:
                file.write(given)
                file.flush()
                answer = self._asked({**order, "given": IN_FILE + file.name})
        else:
            answer = self._asked({**order, "given": given.decode("latin-1")})
        assert "late" not in answer, f"{words} did not end within {seconds} s"
        out, err = (answer[name].encode("latin-1").decode("utf-8", "replace") for name in ("out", "err"))
        return Answer(answer["code"], out, err, answer["took"])

    def _asked(self, order: dict[str, Any]) -> dict[str, Any]:
        self._asks.write(json.dumps(order).encode() + b"\n")
        self._asks.flush()
        answer: dict[str, Any] = json.loads(self._answers.readline())
        return answer

    def _lives(self) -> bool:
        return self._self is not None and processes.alive(self._self) is True

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone. Once it is, its number may be somebody else's."""
        if self._lives():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        end = time.monotonic() + PATIENCE
        while self._lives():
            assert time.monotonic() < end, "it does not die"
            time.sleep(0.002)
        for pipe in (self._asks, self._answers):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def link_named(folder: Path, name: str) -> str:
    """The interpreter by another name, so that a process of it has that name."""
    link = folder / "bin" / name
    link.parent.mkdir(exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(sys.executable)
    return str(link)


def is_gone(pid: int) -> bool:
    """Is there no such process any more, or only its remains?"""
    if sys.platform == "linux":
        return processes.name_of(pid) == ""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return done.stdout.strip()[:1] in {"", "Z", "X"}


def made_earlier(ledger: Path, seconds: int) -> None:
    """What the ledger tells of happened so much earlier."""
    lines = []
    for line in ledger.read_text().splitlines():
        fields = line.split("\t")
        place = {"T": 2, "U": 2}.get(fields[0], 1)
        when, colon, offset = fields[place].partition(":")
        if colon:
            fields[place] = f"{int(when) - seconds * 1_000_000_000}:{offset}"
        lines.append("\t".join(fields) + "\n")
    ledger.write_text("".join(lines))


class Agent:
    """One session of Claude Code, as its hooks show it."""

    def __init__(self, repo: Repository, session: str, client: Client, cwd: Path, subagent: str = "") -> None:
        self.repo, self.session, self.client, self.cwd, self.subagent = repo, session, client, cwd, subagent
        self._calls = itertools.count(1)
        self.id = f"{session}/{subagent}" if subagent else session

    # --- hooks

    def hook(
        self, event: str, *, seconds: float = PATIENCE, env: dict[str, str] | None = None, **fields: Any
    ) -> Answer:
        """One hook of this session."""
        payload: dict[str, Any] = {
            "session_id": self.session, "transcript_path": "/nowhere/t.jsonl", "cwd": str(self.cwd),
            "hook_event_name": event, **fields,
        }  # fmt: skip
        if self.subagent:
            payload = {**payload, "agent_id": self.subagent, "agent_type": "general-purpose"}
        given = json.dumps(payload).encode()
        return self.entry("claude", given=given, seconds=seconds, **(env or {}))

    def entry(self, *words: str, given: bytes, seconds: float = PATIENCE, **env: str) -> Answer:
        """The entry itself, with whatever comes on its stdin."""
        return self.client.run(*HOOK, *words, cwd=self.cwd, given=given, seconds=seconds, **env)

    def boot(self, source: str = "startup") -> str:
        """The session begins, or begins again; the briefing."""
        answer = self.hook("SessionStart", source=source)
        assert answer.code == 0, answer
        assert answer.json["hookSpecificOutput"]["hookEventName"] == "SessionStart"
        return answer.told

    def may(self, tool: str, call: str = "", **given: Any) -> Answer:
        """The hook before a tool's call."""
        return self.hook(
            "PreToolUse", tool_name=tool, tool_input=given, tool_use_id=call or f"call-{next(self._calls)}"
        )

    def did(self, tool: str, call: str = "", **given: Any) -> Answer:
        """The hook after a tool's call."""
        return self.hook(
            "PostToolUse", tool_name=tool, tool_input=given, tool_response={}, tool_use_id=call or "call-last"
        )

    # --- whole calls

    def read(self, name: str) -> Answer:
        """Look at a file."""
        return self.may("Read", file_path=str(self.cwd / name))

    def may_edit(self, name: str) -> Answer:
        """The hook before an edit."""
        return self.may("Edit", file_path=str(self.cwd / name), old_string="a", new_string="b")

    def may_write(self, name: str, text: str = "whole\n") -> Answer:
        """The hook before a write that brings the whole content."""
        return self.may("Write", file_path=str(self.cwd / name), content=text)

    def edit(self, name: str, text: str) -> Answer:
        """An edit that has to be allowed, to its end; what its second hook said."""
        call = f"edit-{next(self._calls)}"
        answer = self.may("Write", call, file_path=str(self.cwd / name), content=text)
        assert answer.silent, answer
        path = self.cwd / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
        answer = self.did("Write", call, file_path=str(self.cwd / name), content=text)
        assert answer.code == 0, answer
        return answer

    def may_run(self, command: str, call: str = "") -> Answer:
        """The hook before a shell command."""
        return self.may("Bash", call, command=command)

    def bash(self, command: str) -> tuple[Answer, Answer]:
        """A shell command that has to be allowed, to its end: what it did, and what its second hook said."""
        call = f"bash-{next(self._calls)}"
        answer = self.may_run(command, call)
        assert answer.allowed, answer
        done = self.client.run("bash", "-c", command, cwd=self.cwd, CLAUDE_CODE_SESSION_ID=self.session)
        after = self.did("Bash", call, command=command)
        assert after.code == 0, after
        return done, after

    def patch(self, text: str) -> Answer:
        """The hook before an apply_patch."""
        return self.may("apply_patch", command=text)

    def stop(self) -> None:
        """The turn is over; the person may have been told what is not committed."""
        answer = self.hook("Stop", stop_hook_active=False)
        assert answer.allowed, answer

    def prompt(self, text: str = "go on") -> str:
        """A person prompts it; what it is told."""
        return self.hook("UserPromptSubmit", prompt=text).told

    def says(self, text: str, event: str = "Stop", **fields: Any) -> Answer:
        """It ends its turn with these words."""
        return self.hook(event, stop_hook_active=False, last_assistant_message=text, **fields)

    def end(self) -> None:
        """The session is over."""
        answer = self.hook("SessionEnd", reason="other")
        assert answer.silent, answer

    def dibs(self, *words: str) -> dict[str, Any]:
        """The command line, as it is typed in this session's shell."""
        done = self.client.run(
            DIBS, *words, "--json", cwd=self.cwd, CLAUDE_CODE_SESSION_ID=self.session, PATH=self.repo.path
        )
        assert done.out, done
        assert "Traceback" not in done.err, done
        found: dict[str, Any] = json.loads(done.out)
        return found

    def born(self, name: str) -> Agent:
        """A subagent of this session."""
        child = Agent(self.repo, self.session, self.client, self.cwd, name)
        assert child.hook("SubagentStart").code == 0
        return child


class Repository:
    """A scratch repository that is a workspace, with one commit."""

    def __init__(self, folder: Path) -> None:
        self.scratch = folder
        self.folder = folder / "repo"
        self.folder.mkdir()
        (folder / "home").mkdir()
        self.path = f"{Path(DIBS).parent}:{os.environ['PATH']}"
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "DIBS_STATES": "off"}
        self.local = self.folder / ".dibs" / "local"
        self.private = self.folder / ".git" / "dibs"
        self.ledger = self.private / "live"
        self._clients: list[Client] = []
        self.git("init", "-q", "-b", "main", ".")
        self.git("config", "user.name", "somebody")
        self.git("config", "user.email", "somebody@example.com")
        for name in ("a.py", "b.py", "c.py"):
            self.write(name, f"{name} at first\n")
        self.person = self.agent("person")
        self.person.dibs("init")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "first")

    def git(self, *words: str, cwd: Path | None = None) -> str:
        """Git, as a person without hooks runs it."""
        command = ["git", "-c", "core.hooksPath=/dev/null", *words]
        done = subprocess.run(command, cwd=cwd or self.folder, env=self.env, capture_output=True, text=True, check=True)
        return done.stdout

    def terminal(self, *words: str) -> dict[str, Any]:
        """The command line with no client above it, as a person's script runs it."""
        done = subprocess.run(
            [DIBS, *words, "--json"], cwd=self.folder, env=self.env, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL, timeout=PATIENCE,
        )  # fmt: skip
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def write(self, name: str, text: str) -> Path:
        """A file, behind everybody's back."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
        return path

    def later(self, seconds: int = 60) -> None:
        """Time passes: what the ledger tells of happened so much earlier."""
        made_earlier(self.ledger, seconds)

    def config(self, text: str) -> None:
        """More settings."""
        path = self.folder / ".dibs" / "config.toml"
        kept = [line for line in path.read_text().splitlines() if line not in {"[guards]", "[claims]"}]
        path.write_text("\n".join(kept) + "\n" + text)

    def client(self, name: str = "claude") -> Client:
        """A new client process."""
        made = Client(self.scratch, name, self.env)
        self._clients.append(made)
        return made

    def agent(self, session: str, *, client: Client | None = None, cwd: Path | None = None) -> Agent:
        """A session, in a client process of its own if none is given."""
        return Agent(self, session, client or self.client(), cwd or self.folder)

    def worktree(self, name: str) -> Path:
        """A linked working tree."""
        self.git("worktree", "add", "-q", str(self.scratch / name), "-b", name)
        return self.scratch / name

    def claims(self) -> dict[str, list[str]]:
        """Who holds what, as anybody sees it."""
        found: dict[str, list[str]] = {}
        for claim in self.person.dibs("status")["claims"]:
            found.setdefault(claim["agent"], []).extend(claim["resources"])
        return {agent: sorted(resources) for agent, resources in found.items()}

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """The events of these kinds, in order."""
        return [event for event in self.person.dibs("log", "--limit", "0")["events"] if event["kind"] in kinds]

    def close(self) -> None:
        """End all clients."""
        for client in self._clients:
            client.kill()
