"""Real clients at work in one scratch repository, all with the same scripted model.

    ada = fleet.start(CLAUDE, fleet.script("ada").turn(CLAUDE.write(fleet.repo / "a.txt", "x"), then="ada wrote"))
    ben = fleet.start(CODEX, fleet.script("ben").turn(CODEX.shell("cat a.txt"), after="ada wrote"))
    fleet.wait(ada, ben)
    assert ben.results() == …

The clients get an empty environment and a home of their own, and reach nothing but loopback. What they did is read from
the files, from git, from the log of dibs and from what the model was told.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.e2e.clients.kinds import Client, Start
from tests.e2e.clients.scripts import Conversation, Script, Turn, marked
from tests.e2e.clients.stub import Stub

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 120.0  # seconds for a client to come to its end; eight cold ones on two busy cores took 20

DIBS = Path(sys.executable).parent / "dibs"


class Agent:
    """One client process, playing one script, or one after the other."""

    def __init__(self, fleet: Fleet, client: Client, name: str, start: Start, cwd: Path) -> None:
        self.client, self.name, self.cwd = client, name, cwd
        self._fleet, self._asked = fleet, start
        self._out, self._err = (fleet.folder / f"{name}.{kind}" for kind in ("out", "err"))
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                client.command(start),
                cwd=cwd,
                env=fleet.environment(client),
                stdin=subprocess.DEVNULL if start.prompt else subprocess.PIPE,
                stdout=out,
                stderr=err,
                text=True,
                start_new_session=True,  # so that all it started can be ended with it
            )

    @property
    def output(self) -> str:
        """What the client printed so far."""
        return self._out.read_text()

    @property
    def session(self) -> str:
        """The id of its session. Clients that choose it themselves print it, at the latest when they ask the model."""
        if self._asked.session and not self._asked.fork:
            return self._asked.session
        return self.client.session(self.output)

    @property
    def called(self) -> str:
        """The name by which dibs speaks of it."""
        found = self._fleet.dibs("agents", "--all")["agents"]
        return next((str(one["name"]) for one in found if one["agent"] == self.session), self.session)

    # --- a client that is told one prompt after the other

    def play(self, script: Script) -> Agent:
        """Let it play this script to its end."""
        return self.say(marked(script.name))

    def say(self, words: str) -> Agent:
        """Tell it something, and wait until it has answered."""
        before = self.client.answers(self.output)
        assert self.process.stdin is not None, f"{self} was started with its prompt"
        self.process.stdin.write(self.client.said(words))
        self.process.stdin.flush()
        end = time.monotonic() + PATIENCE
        while self.client.answers(self.output) == before:
            assert self.process.poll() is None, f"{self} ended instead of answering\n{self.account()}"
            assert time.monotonic() < end, f"{self} did not answer within {PATIENCE} s\n{self.account()}"
            time.sleep(0.02)
        return self

    # --- its end

    def wait(self, seconds: float = PATIENCE) -> Agent:
        """Wait for its end; one that is told prompts hears that there are no more."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self} is still running after {seconds} s\n{self.account()}") from None
        return self

    def kill(self) -> None:
        """`kill -9`: the client ends without a last word."""
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """End it and what it started, whatever it is doing."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()

    # --- what became of it

    def results(self) -> list[str]:
        """What the model was told of its tool calls, in order."""
        return self._fleet.stub.results(self.name)

    def saw(self) -> str:
        """All that the model was told, as one text."""
        return self._fleet.stub.saw(self.name)

    def account(self) -> str:
        """Its last words, for a failure's text."""
        return f"stdout: {self.output[-2000:]}\nstderr: {self._err.read_text()[-2000:]}"

    def __str__(self) -> str:
        return f"{self.client.name} {self.name} (pid {self.process.pid})"


class Fleet:
    """The scratch repository, the scripted model and the clients."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home, self.repo, self.bin = (folder / name for name in ("home", "repo", "bin"))
        for made in (self.home, self.repo, self.bin, folder / "tmp"):
            made.mkdir()
        (self.bin / "dibs").symlink_to(DIBS)
        path = [
            str(self.bin),
            str(Path(shutil.which("git") or "/usr/bin/git").parent),
            "/usr/local/bin",
            "/usr/bin",
            "/bin",
        ]
        self._path = ":".join(dict.fromkeys(path))
        # Codex starts a login shell, which sets its own PATH
        (self.home / ".profile").write_text(f'export PATH="{self._path}"\n')
        (self.home / ".gitconfig").write_text("[user]\n\tname = scratch\n\temail = scratch@example.org\n")
        self.stub = Stub(folder / "requests.jsonl")
        self.agents: list[Agent] = []
        self.git("init", "-q", "-b", "main")
        for name, value in (("name", "scratch"), ("email", "scratch@example.org")):  # Gemini hides the home's from git
            self.git("config", f"user.{name}", value)

    def close(self) -> None:
        """End everything; a fault inside the scripted model fails the test that met it."""
        for agent in self.agents:
            agent.end()
        self.stub.close()
        assert self.stub.faults == []

    # --- clients

    def script(self, name: str, rest: Callable[[Conversation], Turn] | None = None) -> Script:
        """A new script, known to the model."""
        made = Script(name, rest=rest)
        self.stub.play(made)
        return made

    def start(self, client: Client, script: Script, *, cwd: Path | None = None) -> Agent:
        """Start a client in a new session."""
        return self._start(client, script.name, Start(marked(script.name), client.new_session()), cwd)

    def resume(self, agent: Agent, script: Script, *, fork: bool = False) -> Agent:
        """Start a client that goes on with that agent's session, or with a copy of it."""
        start = Start(marked(script.name), agent.session, resume=True, fork=fork)
        return self._start(agent.client, script.name, start, agent.cwd)

    def open(self, client: Client, name: str, *, cwd: Path | None = None) -> Agent:
        """Start a client in a new session and tell it nothing yet: see Agent.play and Agent.say."""
        return self._start(client, name, Start("", client.new_session()), cwd)

    def reopen(self, agent: Agent, name: str) -> Agent:
        """The same with that agent's session."""
        return self._start(agent.client, name, Start("", agent.session, resume=True), agent.cwd)

    def _start(self, client: Client, name: str, start: Start, cwd: Path | None) -> Agent:
        if not any(agent.client is client for agent in self.agents):
            client.settle(self.home, self.repo, self.stub.url)
        agent = Agent(self, client, name, start, cwd or self.repo)
        self.agents.append(agent)
        return agent

    def wait(self, *agents: Agent, seconds: float = PATIENCE) -> None:
        """Wait for the end of these, or of all."""
        for agent in agents or self.agents:
            agent.wait(seconds)
        assert self.stub.faults == []

    def environment(self, client: Client | None = None) -> dict[str, str]:
        """All that a client is given: nothing of this process's own environment."""
        nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
        local = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
        mine = {"HOME": str(self.home), "PATH": self._path, "LANG": "C.UTF-8", "TMPDIR": str(self.folder / "tmp")}
        return {**mine, **nowhere, **local, **(client.environment(self.stub.url) if client else {})}

    # --- the repository

    def file(self, name: str, content: str) -> Path:
        """Write a file of the repository, as nobody in particular."""
        path = self.repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    def commit(self, message: str = "as it was") -> str:
        """Commit all there is; the commit's id."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD").strip()

    def git(self, *words: str) -> str:
        """Run git; what it printed."""
        done = self._run(["git", *words])
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    def dibs(self, *words: str, exit: int | None = 0) -> dict[str, Any]:
        """Run `dibs … --json` as a person would, from outside of any client; the object it printed."""
        done = self._run([str(self.bin / "dibs"), *words, "--json"])
        found: dict[str, Any] = json.loads(done.stdout)
        assert exit is None or done.returncode == exit, (words, done.returncode, found, done.stderr)
        return found

    def log(self, kind: str = "") -> list[dict[str, Any]]:
        """The events so far, of one kind or of all."""
        events: list[dict[str, Any]] = self.dibs("log")["events"]
        return [event for event in events if not kind or event["kind"] == kind]

    def held(self) -> dict[str, str]:
        """Which resource is held, and by whom."""
        claims = self.dibs("status")["claims"]
        return {resource: claim["agent"] for claim in claims for resource in claim["resources"]}

    def _run(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=self.repo,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
