"""Agents whose hooks are quick: what the tests share that play thousands of calls in one repository.

The clients fork themselves for each hook (see forking_client.py). The repository is made once and put back to how it
was before each play, at the same place, so that nothing in it that names a path or a process has to be made anew.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dibs
from tests.interfaces.repository import DIBS, Answer, is_gone
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

FORKING = str(Path(__file__).with_name("forking_client.py"))
ROOT = str(Path(dibs.__file__).parent.parent)
BEFORE = {"claude": "PreToolUse", "codex": "PreToolUse", "gemini": "BeforeTool", "copilot": "preToolUse"}
AFTER = {"claude": "PostToolUse", "codex": "PostToolUse", "gemini": "AfterTool", "copilot": "postToolUse"}
SHELL = {"claude": "Bash", "codex": "Bash", "gemini": "run_shell_command", "copilot": "bash"}
VARIABLE = {
    "claude": "CLAUDE_CODE_SESSION_ID", "codex": "CODEX_SESSION_ID", "gemini": "GEMINI_CLI",
    "copilot": "COPILOT_AGENT_SESSION_ID",
}  # fmt: skip


def blob_of(content: bytes) -> str:
    """The content's id, as git has it."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class QuickClient:
    """A client's process."""

    def __init__(self, folder: Path, name: str) -> None:
        link = folder / "bin" / name
        link.parent.mkdir(exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(sys.executable)
        site = sysconfig.get_paths()["purelib"]
        self._process = subprocess.Popen(
            [str(link), "-I", "-S", "-X", "utf8", FORKING, ROOT],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env={"PATH": os.environ["PATH"], "SITE": site},
        )  # fmt: skip
        assert self._process.stdout is not None
        self.pid = int(self._process.stdout.readline())
        self._process.wait()

    def do(self, what: str, words: list[str], cwd: Path, env: dict[str, str], given: bytes = b"") -> Answer:
        """One hook, one command line, one program."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {"do": what, "words": words, "cwd": str(cwd), "env": env, "given": given.decode("latin-1")}
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        out, err = (answer[name].encode("latin-1").decode("utf-8", "replace") for name in ("out", "err"))
        return Answer(answer["code"], out, err, answer["took"])

    def end(self) -> None:
        """SIGKILL; nothing of it was in the way of anybody."""
        os.kill(self.pid, signal.SIGKILL)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


class QuickAgent:
    """One session of one client."""

    def __init__(self, place: Scratch, session: str, process: QuickClient, client: str = "claude") -> None:
        self.place, self.session, self.process, self.client = place, session, process, client
        self._calls = itertools.count(1)
        self.heard: list[str] = []  # what its model was told so far

    def hook(self, event: str, **fields: Any) -> Answer:
        """One hook of this session."""
        payload = {"session_id": self.session, "cwd": str(self.place.folder), "hook_event_name": event, **fields}
        words = [self.client]
        if self.client == "copilot":  # no event in the payload, names of its own
            named = {"session_id": "sessionId", "tool_name": "toolName", "tool_input": "toolArgs",
                     "tool_use_id": "toolUseId"}  # fmt: skip
            payload = {named.get(key, key): value for key, value in payload.items() if key != "hook_event_name"}
            words.append(event)
        answer = self.process.do("hook", words, self.place.folder, self.place.env, json.dumps(payload).encode())
        assert "Traceback" not in answer.err, answer
        assert answer.code in {0, 2}, answer
        if answer.out:
            self.heard.append(answer.out)
        return answer

    def boot(self) -> Answer:
        """The session begins."""
        return self.hook("SessionStart" if self.client != "copilot" else "sessionStart", source="startup")

    def prompt(self) -> Answer:
        """A person speaks: the agent hears what is new."""
        names = {"gemini": "BeforeAgent", "copilot": "userPromptSubmitted"}
        return self.hook(names.get(self.client, "UserPromptSubmit"), prompt="go on")

    def before(self, tool: str, given: Any, call: str = "") -> tuple[Answer, str]:
        """The hook before a tool's call; the call's id."""
        call = call or f"call-{self.session}-{next(self._calls)}"
        return self.hook(BEFORE[self.client], tool_name=tool, tool_input=given, tool_use_id=call), call

    def after(self, tool: str, given: Any, call: str) -> Answer:
        """The hook after it."""
        return self.hook(AFTER[self.client], tool_name=tool, tool_input=given, tool_response={}, tool_use_id=call)

    def run(self, command: str) -> Answer:
        """What the client's shell does with a command. No hook."""
        env = {**self.place.env, VARIABLE[self.client]: self.session}
        return self.process.do("run", ["bash", "-c", command], self.place.folder, env)

    def bash(self, command: str) -> Answer:
        """A shell command with both hooks: the refusal, or what the second hook answered."""
        given = {"command": command}
        answer, call = self.before(SHELL[self.client], given)
        if answer.code:
            return answer
        self.run(command)
        return self.after(SHELL[self.client], given, call)

    def write(self, name: str, content: str) -> None:
        """A whole write by the client's own tool; it has to be allowed."""
        assert self.client == "claude"
        given = {"file_path": str(self.place.folder / name), "content": content}
        answer, call = self.before("Write", given)
        assert answer.code == 0, answer
        path = self.place.folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(content)
        assert self.after("Write", given, call).code == 0

    def dibs(self, *words: str) -> dict[str, Any]:
        """The command line, as it is typed in this session's shell."""
        env = {**self.place.env, VARIABLE[self.client]: self.session}
        answer = self.process.do("dibs", [*words, "--json"], self.place.folder, env)
        assert "Traceback" not in answer.err, answer
        found: dict[str, Any] = json.loads(answer.out)
        return found


class Scratch:
    """A repository that is a workspace, and what it goes back to."""

    def __init__(self, folder: Path, files: dict[str, str]) -> None:
        self.folder, self._base, self._kept = folder / "repo", folder, folder / "kept"
        self.folder.mkdir()
        (folder / "home").mkdir()
        self.env = {
            "PATH": f"{Path(DIBS).parent}:{os.environ['PATH']}",
            "HOME": str(folder / "home"),
            "LANG": "C.UTF-8",
            "DIBS_STATES": "off",
        }
        self._processes: list[QuickClient] = []
        self.git("init", "-q", "-b", "main", ".")
        shutil.rmtree(self.folder / ".git" / "hooks")
        self.git("config", "user.name", "somebody")
        self.git("config", "user.email", "somebody@example.org")
        self.git("config", "gc.auto", "0")
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text)
        self.person = QuickAgent(self, "", self.process("bash"))
        # by the command itself: it notes its own interpreter for the hooks of git
        subprocess.run(
            [DIBS, "init", "--clients", "none"], cwd=self.folder, env=self.env, capture_output=True, check=True
        )
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "first")

    def process(self, name: str = "claude") -> QuickClient:
        """A client's process."""
        made = QuickClient(self._base, name)
        self._processes.append(made)
        return made

    def kill(self, process: QuickClient) -> None:
        """A client's process dies, and is gone when this returns."""
        process.end()
        self._processes.remove(process)
        until(lambda: is_gone(process.pid), "the client's process is gone")

    def agent(self, session: str, client: str = "claude", process: QuickClient | None = None) -> QuickAgent:
        """A session, in a client's process of its own if none is given."""
        return QuickAgent(self, session, process or self.process(client), client)

    def git(self, *words: str) -> str:
        """Git, as a person without hooks runs it."""
        command = ["git", "-c", "core.hooksPath=/dev/null", *words]
        env = {key: value for key, value in self.env.items() if key != "LANG"}
        return subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True, check=True).stdout

    def keep(self) -> None:
        """This is what it goes back to."""
        shutil.rmtree(self._kept, ignore_errors=True)
        shutil.copytree(self.folder, self._kept, symlinks=True)

    def put_back(self) -> None:
        """As it was, with all of dibs' own record and git's."""
        shutil.rmtree(self.folder)
        shutil.copytree(self._kept, self.folder, symlinks=True)

    def put_back_files(self) -> None:
        """The same for the working tree alone."""
        for entry in os.scandir(self.folder):
            if entry.is_dir(follow_symlinks=False) and entry.name not in {".git", ".dibs"}:
                shutil.rmtree(entry.path)
            elif not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
        away = shutil.ignore_patterns(".git", ".dibs")
        shutil.copytree(self._kept, self.folder, symlinks=True, ignore=away, dirs_exist_ok=True)

    def files(self) -> dict[str, bytes]:
        """What is in the working tree, dibs' and git's own folders left out."""
        return dict(self._files(str(self.folder), ""))

    def _files(self, folder: str, below: str) -> Iterator[tuple[str, bytes]]:
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                if below or entry.name not in {".git", ".dibs"}:
                    yield from self._files(entry.path, f"{below}{entry.name}/")
            elif entry.is_symlink():
                yield below + entry.name, os.readlink(entry.path).encode()
            else:
                yield below + entry.name, Path(entry.path).read_bytes()

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """The events of these kinds, in order; kinds may end in a dot."""
        found = self.person.dibs("log", "--limit", "0")["events"]
        return [event for event in found if event["kind"].startswith(kinds)]

    def close(self) -> None:
        """End all clients."""
        for process in self._processes:
            process.end()
