"""A clone elsewhere whose client runs dibs' hooks: they work with a machine's credential and with an agent's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.repository import Client
from tests.scratch import DIBS, Shell
from tests.server.far import Far, far

SESSION = "5e551000-0000-4000-8000-000000000001"


class Elsewhere:
    """A client's session in the clone elsewhere, in a process of its own."""

    def __init__(self, apart: Far, folder: Path, agent: str) -> None:
        self.folder = apart.away.folder
        environment = {**apart.away.environment, "CLAUDE_PROJECT_DIR": str(self.folder)}
        self._client = Client(folder, "claude", {**environment, **({"DIBS_AGENT": agent} if agent else {})}, real=True)

    @property
    def pid(self) -> int:
        return self._client.pid

    def dibs(self, *words: str) -> Any:
        """A command in its shell."""
        done = self._client.run(DIBS, *words, "--json", cwd=self.folder, CLAUDE_CODE_SESSION_ID=SESSION)
        assert done.code == 0, done
        return json.loads(done.out)

    def hook(self, event: str, tool: str = "", **given: Any) -> str:
        """What the model reads; "" for no objection."""
        payload: dict[str, Any] = {"session_id": SESSION, "cwd": str(self.folder), "hook_event_name": event}
        payload |= {"tool_name": tool, "tool_input": given, "tool_response": {}} if tool else given
        done = self._client.run(DIBS, "hook", "claude", cwd=self.folder, given=json.dumps(payload).encode())
        assert "Traceback" not in done.err
        assert done.code in {0, 2}, done
        return f"{done.out}{done.err}"

    def bash(self, command: str) -> str:
        said = self.hook("PreToolUse", "Bash", command=command)
        if "deny" not in said:
            assert self._client.run("sh", "-c", command, cwd=self.folder).code == 0
            said += self.hook("PostToolUse", "Bash", command=command)
        return said

    def end(self) -> None:
        self._client.kill()


@pytest.fixture
def apart(shell: Shell, tmp_path: Path) -> Iterator[Far]:
    with far(shell, tmp_path) as made:
        yield made


@pytest.mark.parametrize(("agent", "words"), [("", ("--machine", "laptop")), ("lea", ("--agent", "lea"))])
def test_edits_and_commands_elsewhere_are_guarded_and_reported_in_that_agent_s_name(
    apart: Far, tmp_path: Path, agent: str, words: tuple[str, ...]
) -> None:
    apart.use(apart.token(*words))
    client, who = Elsewhere(apart, tmp_path, agent), agent or SESSION
    try:
        _play(apart, client, who, words[1])
    finally:
        client.end()
    apart.home.json("verify", exit=0)


def _play(apart: Far, client: Elsewhere, who: str, place: str) -> None:
    bob: Any = {"DIBS_TOKEN": apart.token("--agent", "bob")}  # another agent in the same clone
    client.hook("SessionStart", source="startup")
    pids = {one["agent"]: one["pid"] for one in apart.home.json("agents", exit=0)["agents"]}
    assert pids[who] == client.pid  # on this very machine the kernel says whose connection it was
    path = apart.away.folder / "a.txt"
    assert "deny" not in client.hook("PreToolUse", "Write", file_path=str(path), content="one")
    path.write_text("one")
    client.hook("PostToolUse", "Write", file_path=str(path), content="one")
    (claim,) = apart.home.json("status", exit=0)["claims"]
    assert (claim["agent"], claim["resources"]) == (who, ["a.txt"])
    (granted,) = [one for one in apart.home.json("log")["events"] if one["kind"] == "claim.granted"]
    assert granted["data"]["tree"] == f"{place}:{apart.away.folder}"

    held = apart.away.folder / "held.txt"
    held.write_text("bob's")
    apart.away.json("claim", "held.txt", exit=0, **bob)
    assert "held.txt" in client.bash("echo x > held.txt")
    assert held.read_text() == "bob's"
    (apart.away.folder / "script.sh").write_text("echo mine > held.txt\n")
    said = client.bash("sh script.sh")
    assert "held.txt" in said, said
    told = [one for one in apart.home.json("inbox", "--as", "bob")["messages"] if one["type"] == "violation"]
    assert {one["from"] for one in told} == {who}
    assert apart.home.json("restore", "--list", exit=0)["kept"] == []
    (kept,) = client.dibs("restore", "--list")["kept"]
    assert (kept["path"], kept["tree"]) == ("held.txt", str(apart.away.folder))
    assert apart.home.json("restore", kept["id"], exit=1)["error"]["code"] == "not_found"
    apart.away.json("release", "held.txt", exit=0, **bob)
    client.dibs("restore", kept["id"])
    assert held.read_text() == "bob's"
    client.hook("SessionEnd", reason="exit")
