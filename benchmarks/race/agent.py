"""One scripted agent of the race, in a process of its own: takes and gives back paths by the way of one contestant.

`python -I agent.py NAME FOLDER AGENT [URL]`, run with the interpreter of the contestant's own environment. A line of
JSON on stdin is a request, a line on stdout its answer. Each contestant is used as its documentation says; `told` is
what a well-behaved agent of it would know:

- dibs: the Python API. A refusal is an exception; `claim.check()` before a write.
- mcp_agent_mail: the MCP tools of its HTTP server. Reservations are advisory: they are granted together with a list of
  conflicts. The agent heeds it ("Don't ignore conflicts"): with a conflict it releases at once and counts as refused.
- CoordinationHub: its library on its SQLite file, a registered agent, `acquire_lock`.
- mkdir: what a rules file says ("make a lock folder first, remove it after"). flock: flock(2) on a file a path.
- none: no coordination.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

RETRY_S = 0.1  # between two tries of an editor that was refused
LONGEST_S = 3_600.0  # of a claim that the scene does not let expire


class Agent:
    """No coordination: everything is granted."""

    def __init__(self, folder: str, name: str, url: str) -> None:
        self.folder, self.name, self.url = folder, name, url

    def take(self, path: str, mode: str, ttl: float) -> bool:  # noqa: ARG002 - the others need them
        """Ask for a path; whether it was granted."""
        return True

    def release(self, path: str) -> None:
        """Give it back."""

    def finish(self, path: str) -> bool | None:  # noqa: ARG002 - the same
        """Is the agent told that what it took is no longer its own? None: there is no way to ask."""
        return None


class Mkdir(Agent):
    """A folder a path, beside the files; no modes, no deadline."""

    def _lock(self, path: str) -> str:
        os.makedirs(f"{self.folder}/.locks", exist_ok=True)
        return f"{self.folder}/.locks/{path.replace('/', '%')}"

    def take(self, path: str, mode: str, ttl: float) -> bool:  # noqa: ARG002 - it has neither
        try:
            os.mkdir(self._lock(path))
        except FileExistsError:
            return False
        return True

    def release(self, path: str) -> None:
        os.rmdir(self._lock(path))


class Flock(Agent):
    """flock(2); the kernel gives it back when the process ends. Both modes; no deadline."""

    def __init__(self, folder: str, name: str, url: str) -> None:
        super().__init__(folder, name, url)
        self._open: dict[str, int] = {}

    def take(self, path: str, mode: str, ttl: float) -> bool:  # noqa: ARG002 - it has no deadline
        import fcntl

        os.makedirs(f"{self.folder}/.locks", exist_ok=True)
        fd = self._open.get(path)
        if fd is None:
            fd = os.open(f"{self.folder}/.locks/{path.replace('/', '%')}", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(fd, (fcntl.LOCK_SH if mode == "read" else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            if path not in self._open:
                os.close(fd)
            return False
        self._open[path] = fd
        return True

    def release(self, path: str) -> None:
        os.close(self._open.pop(path))


class Dibs(Agent):
    """The Python API of dibs."""

    def __init__(self, folder: str, name: str, url: str) -> None:
        super().__init__(folder, name, url)
        self._dibs = importlib.import_module("dibs")
        self._space = self._dibs.open(folder, agent=name)
        self._claims: dict[str, Any] = {}

    def take(self, path: str, mode: str, ttl: float) -> bool:
        try:
            self._claims[path] = self._space.claim(path, mode=mode, ttl=ttl)
        except self._dibs.Held:
            return False
        return True

    def release(self, path: str) -> None:
        self._claims.pop(path).release()

    def finish(self, path: str) -> bool | None:
        try:
            self._claims[path].check()
        except self._dibs.Fenced:
            return True
        return False


class Hub(Agent):
    """CoordinationHub's library."""

    def __init__(self, folder: str, name: str, url: str) -> None:
        super().__init__(folder, name, url)
        core = importlib.import_module("coordinationhub.core")
        self._engine = core.CoordinationEngine(storage_dir=Path(folder, ".hub"), project_root=Path(folder))
        self._engine.start()
        self._engine.register_agent(name)

    def take(self, path: str, mode: str, ttl: float) -> bool:
        kind = "shared" if mode == "read" else "exclusive"
        return bool(self._engine.acquire_lock(path, self.name, lock_type=kind, ttl=ttl).get("acquired"))

    def release(self, path: str) -> None:
        self._engine.release_lock(path, self.name)

    def finish(self, path: str) -> bool | None:
        return not self._engine.release_lock(path, self.name).get("released")


class Mail(Agent):
    """The tools of mcp_agent_mail's server, by its own client library."""

    def __init__(self, folder: str, name: str, url: str) -> None:
        super().__init__(folder, name, url)
        import asyncio

        self._loop = asyncio.new_event_loop()
        self._client = importlib.import_module("fastmcp").Client(url)
        self._loop.run_until_complete(self._client.__aenter__())
        self._ask("ensure_project", human_key=folder)
        self.name = self._ask("register_agent", project_key=folder, program="race", model="scripted")["name"]

    def _ask(self, tool: str, **fields: Any) -> Any:
        answer = self._loop.run_until_complete(self._client.call_tool(tool, fields))
        found = answer.structured_content or json.loads(answer.content[0].text)
        return found.get("result", found) if isinstance(found, dict) else found

    def take(self, path: str, mode: str, ttl: float) -> bool:
        answer = self._ask("file_reservation_paths", project_key=self.folder, agent_name=self.name, paths=[path],
                           ttl_seconds=int(ttl), exclusive=mode == "write")  # fmt: skip
        if answer["conflicts"]:
            identifiers = [one["id"] for one in answer["granted"]]
            self._ask("release_file_reservations", project_key=self.folder, agent_name=self.name,
                      file_reservation_ids=identifiers)  # fmt: skip
            return False
        return True

    def release(self, path: str) -> None:
        self._ask("release_file_reservations", project_key=self.folder, agent_name=self.name, paths=[path])

    def finish(self, path: str) -> bool | None:
        answer = self._ask("release_file_reservations", project_key=self.folder, agent_name=self.name, paths=[path])
        return not answer.get("released")


KINDS = {"none": Agent, "mkdir": Mkdir, "flock": Flock, "dibs": Dibs, "coordinationhub": Hub, "mcp_agent_mail": Mail}


def timed_take(agent: Agent, path: str, mode: str, ttl: float) -> tuple[bool, float]:
    """Whether it was granted, and the milliseconds."""
    began = time.perf_counter()
    granted = agent.take(path, mode, ttl)
    return granted, 1000 * (time.perf_counter() - began)


def edit(agent: Agent, request: dict[str, Any]) -> dict[str, Any]:
    """Read a number in a file, think, write the next one; so many times, each under the contestant's protection."""
    chance = random.Random(request["seed"])  # noqa: S311 - other files for each
    end = time.monotonic() + request["seconds"]
    done, tries, times = 0, 0, []
    for _ in range(request["times"]):
        path = chance.choice(request["files"])
        while True:
            tries += 1
            granted, ms = timed_take(agent, path, "write", LONGEST_S)
            times.append(ms)
            if granted or time.monotonic() > end:
                break
            time.sleep(RETRY_S * (0.5 + chance.random()))
        if not granted:
            break
        whole = Path(agent.folder, path)
        number = int(whole.read_text() or 0)
        time.sleep(request["think"])
        whole.write_text(f"{number + 1}\n")
        agent.release(path)
        done += 1
    return {"done": done, "tries": tries, "ms": times}


def answer(agent: Agent, request: dict[str, Any]) -> dict[str, Any]:
    """One request."""
    if "at" in request:
        time.sleep(max(0.0, request["at"] - time.time()))
    if request["do"] == "take":
        granted, ms = timed_take(agent, request["path"], request.get("mode", "write"), request.get("ttl", LONGEST_S))
        return {"granted": granted, "ms": ms}
    if request["do"] == "release":
        agent.release(request["path"])
        return {}
    if request["do"] == "finish":
        return {"told": agent.finish(request["path"])}
    return edit(agent, request)


def main(name: str, folder: str, agent_name: str, url: str = "") -> None:
    """Serve until stdin ends."""
    out = os.dup(1)
    os.dup2(2, 1)  # what a library prints is not an answer
    os.chdir(folder)
    agent = KINDS[name](folder, agent_name, url)

    def say(what: dict[str, Any]) -> None:
        os.write(out, (json.dumps(what) + "\n").encode())

    say({"ready": True})
    for line in sys.stdin:
        try:
            say(answer(agent, json.loads(line)))
        except Exception as error:  # noqa: BLE001 - an accident of a contestant is a result
            say({"error": f"{type(error).__name__}: {error}"[:300]})


if __name__ == "__main__":
    main(*sys.argv[1:])
