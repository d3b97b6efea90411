"""The examples of frameworks, run as they are with a scripted model: without dibs an edit is lost, with it none.

Ann and Bob both add a line to one file. Bob has read it before Ann writes, and writes the whole of it after her. Each
framework has an environment of its own (tests/e2e/clients/frameworks.py) and speaks its own API to the model.
"""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.e2e.clients import frameworks
from tests.e2e.clients.kinds import CLAUDE
from tests.e2e.clients.scripts import Say, Turn, Use, marked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.clients.fleet import Fleet
    from tests.e2e.clients.scripts import Conversation

pytestmark = pytest.mark.clients

PATIENCE = 120.0  # seconds for a run
FILE, FIRST = "notes.txt", "notes\n"


class Writer:
    """The model of an agent with the tools of the example: it opens the file, adds its line to what it got, saves."""

    def __init__(self, name: str, after: tuple[str, ...]) -> None:
        self._name, self._after = name, after

    def __call__(self, heard: Conversation) -> Turn:
        if heard.step == 1:
            content = heard.results()[0] + f"{self._name}\n"
            return Turn((Use("save_file", {"path": FILE, "content": content}),), self._after)
        assert heard.results()[-1] == "saved", heard.results()
        return Turn((Say("done"),))


class Typist:
    """The model of an agent that has a shell: it reads the file, and writes the whole of it. Refused, it waits."""

    def __init__(self, name: str, after: tuple[str, ...]) -> None:
        self._name, self._after, self._read, self.refused = name, after, "", 0
        self._turns: dict[int, Turn] = {}

    def __call__(self, heard: Conversation) -> Turn:
        if heard.step not in self._turns:
            self._turns[heard.step] = self._next(heard.results()[-1] if heard.step else "")
        return self._turns[heard.step]

    def _next(self, result: str) -> Turn:
        if "holds" in result or "dibs:" in result:
            self.refused += 1
            assert self.refused < 10, result
            return Turn((CLAUDE.shell(f"dibs claim {FILE} --wait 60s > /dev/null && cat {FILE}"),))
        if FIRST in result + "\n" and "wrote it" not in result:
            self._read = result.rstrip("\n") + "\n"
            command = f"cat > {FILE} <<'EOF'\n{self._read}{self._name}\nEOF\necho wrote it"
            return Turn((CLAUDE.shell(command),), self._after)
        return Turn((Say("done"),))


@pytest.fixture
def running() -> Iterator[list[subprocess.Popen[str]]]:
    """The example's process, which ends with the test."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for one in started:
        one.kill()
        one.wait()


def run(fleet: Fleet, name: str, *words: str) -> subprocess.Popen[str]:
    """The example, as a user starts it."""
    url = fleet.stub.url
    named = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "scripted", "OPENAI_AGENTS_DISABLE_TRACING": "1"}
    return subprocess.Popen(
        [str(frameworks.python(name)), str(frameworks.TOP / "examples" / name / "two_agents.py"), str(fleet.repo),
         marked("ann"), marked("bob"), *words],
        cwd=fleet.folder, env={**fleet.environment(CLAUDE), **named}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> None:
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, out + err
    assert sorted(out.splitlines()) == ["ann: done", "bob: done"]


def bob_saves_after_ann(fleet: Fleet, notes: Path) -> None:
    """Hold Bob's save back until Ann's line is in the file."""
    end = time.monotonic() + PATIENCE
    while notes.read_text() != f"{FIRST}ann\n":
        assert time.monotonic() < end, fleet.stub.faults
        time.sleep(0.02)
    fleet.stub.signal("ann saved")


def until(fleet: Fleet, kind: str) -> None:
    """Wait for an event of that kind."""
    end = time.monotonic() + PATIENCE
    while not fleet.log(kind):
        assert time.monotonic() < end, f"no {kind} within {PATIENCE} s; {fleet.stub.faults}"
        time.sleep(0.05)


@pytest.mark.parametrize("name", ["openai_agents", "langgraph"])
def test_with_tools_without_dibs_an_edit_is_lost(fleet: Fleet, name: str, running: list[subprocess.Popen[str]]) -> None:
    notes = fleet.file(FILE, FIRST)
    opened = Use("open_file", {"path": FILE})
    fleet.script("ann", Writer("ann", ("bob read",))).turn(opened, then="ann read")
    fleet.script("bob", Writer("bob", ("ann saved",))).turn(opened, then="bob read")
    running.append(run(fleet, name, "--without-dibs"))
    bob_saves_after_ann(fleet, notes)
    ended(running[0])
    assert notes.read_text() == f"{FIRST}bob\n", "Ann's line is gone"


@pytest.mark.parametrize("name", ["openai_agents", "langgraph"])
def test_with_tools_and_dibs_the_second_waits_for_the_first_and_no_edit_is_lost(
    fleet: Fleet, name: str, running: list[subprocess.Popen[str]]
) -> None:
    notes = fleet.file(FILE, FIRST)
    fleet.dibs("init", "--no-mcp", "--clients", "none")
    opened = Use("open_file", {"path": FILE})
    fleet.script("ann", Writer("ann", ("bob waits",))).turn(opened, then="ann read")
    fleet.script("bob", Writer("bob", ())).turn(opened, after="ann read")
    running.append(run(fleet, name))
    until(fleet, "wait.queued")
    fleet.stub.signal("bob waits")
    ended(running[0])
    assert notes.read_text() == f"{FIRST}ann\nbob\n"
    granted = [(event["agent"], event["data"]["resources"]) for event in fleet.log("claim.granted")]
    assert granted == [("ann", [["file", FILE]]), ("bob", [["file", FILE]])]
    assert [event["agent"] for event in fleet.log("claim.released")] == ["ann", "bob"]
    assert fleet.dibs("verify")["ok"] is True


def test_the_claude_agent_sdk_without_dibs_loses_an_edit(fleet: Fleet, running: list[subprocess.Popen[str]]) -> None:
    notes = fleet.file(FILE, FIRST)
    fleet.commit()
    looks = CLAUDE.shell(f"cat {FILE}")
    fleet.script("ann", Typist("ann", ("bob read",))).turn(looks, then="ann read")
    fleet.script("bob", Typist("bob", ("ann saved",))).turn(looks, then="bob read")
    running.append(run(fleet, "claude_agent_sdk", "--without-dibs"))
    bob_saves_after_ann(fleet, notes)
    ended(running[0])
    assert notes.read_text() == f"{FIRST}bob\n", "Ann's line is gone"


def test_the_claude_agent_sdk_with_the_hooks_of_dibs_loses_none(
    fleet: Fleet, running: list[subprocess.Popen[str]]
) -> None:
    notes = fleet.file(FILE, FIRST)
    fleet.dibs("init", "--no-mcp", "--clients", "claude")
    fleet.commit()
    looks = CLAUDE.shell(f"cat {FILE}")
    ann, bob = Typist("ann", ("bob read",)), Typist("bob", ("ann saved",))
    fleet.script("ann", ann).turn(looks, then="ann read")
    fleet.script("bob", bob).turn(looks, then="bob read")
    running.append(run(fleet, "claude_agent_sdk"))
    bob_saves_after_ann(fleet, notes)
    ended(running[0])
    assert notes.read_text() == f"{FIRST}ann\nbob\n"
    assert bob.refused >= 1
    assert {event["agent"] for event in fleet.log("claim.granted")} == {"ann", "bob"}
    assert fleet.dibs("verify")["ok"] is True
