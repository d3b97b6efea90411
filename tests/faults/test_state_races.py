"""Documents and votes in the hands of many processes, some of which are killed in the middle."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Conflict, Fenced
from tests.faults.kit import DIBS, PATIENCE, Dice, World, refusal, size

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

EIGHT, SIXTEEN = 8, 16

# Adds to a counter again and again, and writes down after each answer. `by` counts each process's own part.
WORKER = """
import sys
import dibs

folder, agent, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
with dibs.open(folder, agent, timeout=60) as ws:
    sys.stdin.readline()
    for number in range(times):
        def add(document):
            document["total"] += 1
            document["by"][agent] = document["by"].get(agent, 0) + 1
            return document
        ws.update("counter", add, {"total": 0, "by": {}}, attempts=10_000)
        print("answered", flush=True)
"""


class Worker:
    """One process that counts, and the file in which it writes down what was answered."""

    def __init__(self, world: World, name: str, times: int) -> None:
        self.name = name
        self._said = world.folder / f"{name}.txt"
        with self._said.open("w") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-c", WORKER, str(world.folder), name, str(times)], env=world.environment(),
                stdin=subprocess.PIPE, stdout=said, text=True,
            )  # fmt: skip

    def answered(self) -> int:
        """How many steps it has had answered."""
        return self._said.read_text().count("\n")


@contextlib.contextmanager
def workers(world: World, times: list[int]) -> Iterator[list[Worker]]:
    """Processes that stand at the start line; none is left at the end."""
    found: list[Worker] = []
    try:
        for number, steps in enumerate(times):
            found.append(Worker(world, f"w{number}", steps))
        yield found
    finally:
        for worker in found:
            worker.process.kill()
            worker.process.communicate()


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def test_eight_processes_count_together_and_a_kill_loses_no_answered_step(world: World, dice: Dice) -> None:
    steps, without_end = size(50, 500), 10**6
    victims = {number: dice.randrange(1, steps) for number in range(3)}  # killed in some step after this one
    with workers(world, [without_end if number in victims else steps for number in range(EIGHT)]) as found:
        for worker in found:
            go(worker.process)
        end = time.monotonic() + PATIENCE * 2
        while victims:
            assert time.monotonic() < end, "the victims do not get there"
            for number, after in list(victims.items()):
                if found[number].answered() >= after:
                    found[number].process.send_signal(signal.SIGKILL)
                    del victims[number]
        codes = [worker.process.wait(PATIENCE * 2) for worker in found]
        answered = [worker.answered() for worker in found]
    assert codes == [-signal.SIGKILL] * 3 + [0] * 5
    assert answered[3:] == [steps] * 5
    document = world.here("state get", key="counter")
    counted = [document["value"]["by"][f"w{number}"] for number in range(EIGHT)]
    assert counted[3:] == answered[3:]
    for mine, said in zip(counted[:3], answered[:3], strict=True):
        assert said <= mine <= said + 1  # at most the one that was under way
    assert document["value"]["total"] == sum(counted) == document["version"]
    versions = [event["data"]["version"] for event in world.events() if event["kind"] == "state.set"]
    assert versions == list(range(1, document["version"] + 1))
    print(f"{document['version']} steps, {sum(e['kind'] == 'call.refused' for e in world.events())} conflicts")
    world.check()


def at_once(world: World, *words: str) -> list[tuple[int, dict[str, Any]]]:
    """Sixteen shells, each with an agent of its own, all at the start line; then the same command."""
    shells = [
        subprocess.Popen(
            ["/bin/sh", "-c", 'read go; exec "$0" "$@" --json', DIBS, *words],
            cwd=world.folder, env=world.environment(f"agent-{number}"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )
        for number in range(SIXTEEN)
    ]  # fmt: skip
    for shell in shells:
        go(shell)
    answers = []
    for shell in shells:
        said, complained = shell.communicate(timeout=PATIENCE)
        assert complained == ""
        answers.append((shell.returncode, json.loads(said)))
    return answers


@pytest.mark.parametrize("version", [0, 1])
def test_of_sixteen_shells_that_name_one_version_exactly_one_writes(world: World, version: int) -> None:
    if version:
        world.here("state set", "first", key="k", value=0)
    answers = at_once(world, "state", "set", "k", "7", "--version", str(version))
    assert sorted(code for code, _ in answers) == [0] + [1] * (SIXTEEN - 1)
    document = world.here("state get", key="k")
    assert document["version"] == version + 1
    for code, answer in answers:
        if code:
            assert (answer["error"]["code"], answer["error"]["by"]) == ("conflict", document["by"])
    world.check()


def test_sixteen_electors_at_once_decide_once(world: World) -> None:
    electorate = [f"agent-{number}" for number in range(SIXTEEN)]
    world.here("vote open", title="t", electorate=electorate, id="v")
    answers = at_once(world, "vote", "cast", "v", "yes")
    counted = [answer["vote"]["state"] for code, answer in answers if code == 0]
    late = [answer["error"] for code, answer in answers if code]
    assert (len(counted), counted.count("decided")) == (9, 1)
    assert {(error["code"], error["state"], error["option"]) for error in late} == {("conflict", "decided", "yes")}
    assert len([event for event in world.events() if event["kind"] == "vote.decided"]) == 1
    assert world.here("vote show", id="v")["vote"]["tally"]["yes"] == 9
    world.check()


def test_a_killed_holders_document_is_free_at_once_and_its_token_is_not_live(world: World) -> None:
    holder = world.actor("holder")
    token = holder.call("claim", "state:k", ttl=3600)["token"]
    assert holder.call("state_set", "k", 1, token=token)["version"] == 1
    holder.kill()
    other = world.actor("other")
    assert other.call("state_set", "k", 2, version=1)["version"] == 2
    late = world.actor("holder")
    with pytest.raises(Fenced):
        late.call("state_set", "k", 3, token=token)
    world.check()


def test_a_paused_writer_that_comes_back_after_its_claim_went_on_is_fenced(world: World) -> None:
    paused, other = world.actor("paused"), world.actor("other")
    token = paused.call("claim", "state:k", ttl=0.5)["token"]
    world.stop(paused)
    other.call("claim", "state:k", wait=30)
    other.call("state_set", "k", "new")
    paused.go_on()
    with pytest.raises(Fenced) as error:
        paused.call("state_set", "k", "old", token=token)
    assert error.value.holder == "other"
    assert world.here("state get", key="k")["value"] == "new"
    world.check()


def test_a_writer_killed_at_every_point_of_its_write_wrote_all_of_it_or_nothing(world: World) -> None:
    world.here("state set", "setter", key="k", value=0)
    version, number, died = 1, 0, True
    while died:
        number += 1
        writer = world.blank()
        world.floor(writer, "writer", "state list")  # opened and warm before it is armed
        writer.do("arm", at=number, number=int(signal.SIGKILL), match="")
        world.start_floor(writer, "writer", "state set", f"r{number}", key="k", value=number, version=version)
        try:
            writer.receive()
        except EOFError:
            writer.await_death()
        else:
            died = False
        found = world.here("state get", key="k")
        assert (found["value"], found["version"]) in {(number - 1, version), (number, version + 1)}
        again = world.here("state set", "writer", f"r{number}", key="k", value=number, version=version)
        assert again["version"] == version + 1  # by its request id, whether it was made before or is made now
        version += 1
    assert number > 5
    world.check()


def test_a_stale_write_by_another_process_is_refused_with_who_wrote_when(world: World) -> None:
    one, two = world.actor("one"), world.actor("two")
    one.call("state_set", "k", 1)
    two.start("state_set", "k", 2, version=1)
    assert refusal(two) is None
    with pytest.raises(Conflict) as error:
        one.call("state_set", "k", 3, version=1)
    assert (error.value.by, error.value.version) == ("two", 2)
