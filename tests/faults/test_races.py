from __future__ import annotations

import json
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.faults.kit import DIBS, PATIENCE, World, refusal, soon

if TYPE_CHECKING:
    from tests.faults.kit import Actor

pytestmark = pytest.mark.slow

SIXTEEN = 16


def race(world: World, resource: str = "hot.py") -> list[tuple[int, dict[str, object]]]:
    """Sixteen shells, each with an agent of its own, all at the start line; then `dibs claim`."""
    shells = [
        subprocess.Popen(
            ["/bin/sh", "-c", 'read go; exec "$0" claim "$1" --json', DIBS, resource],
            cwd=world.folder, env=world.environment(f"agent-{number}"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )
        for number in range(SIXTEEN)
    ]  # fmt: skip
    for shell in shells:
        assert shell.stdin is not None
        shell.stdin.write("go\n")
        shell.stdin.flush()
    answers = []
    for shell in shells:
        said, complained = shell.communicate(timeout=PATIENCE)
        assert complained == ""
        answers.append((shell.returncode, json.loads(said)))
    return answers


def exactly_one(answers: list[tuple[int, dict[str, object]]]) -> None:
    granted = [answer for code, answer in answers if code == 0]
    assert len(granted) == 1, answers
    winner = granted[0]["agent"]
    for code, answer in answers:
        if code != 0:
            assert code == 1, answer
            error = answer["error"]
            assert isinstance(error, dict)
            assert error["code"] == "held"
            assert [blocker["agent"] for blocker in error["blockers"]] == [winner]


def test_sixteen_processes_take_an_expired_claim_at_once_and_exactly_one_wins(world: World) -> None:
    holder = world.actor("old")
    before = holder.call("claim", "hot.py", ttl=0.4)["token"]
    racers: list[Actor] = []
    when = soon(1_000)
    for number in range(SIXTEEN):
        racer = world.blank()
        racer.send(
            "job", name="at_once", folder=str(world.folder), agent=f"agent-{number}", when=when, resource="hot.py"
        )
        racers.append(racer)
    refused = [refusal(racer) for racer in racers]
    assert refused.count(None) == 1, refused
    [(winner, resources, _, token)] = world.claims()
    assert resources == ("hot.py",)
    assert token > before
    for error in refused:
        assert error is None or (error.code == "held" and [b["agent"] for b in error.blockers] == [winner]), error
    world.check()


def test_sixteen_shells_claim_one_file_and_exactly_one_is_granted(world: World) -> None:
    exactly_one(race(world))
    world.check()


def test_sixteen_shells_claim_an_expired_file_and_exactly_one_is_granted(world: World) -> None:
    assert world.run("claim", "hot.py", "--ttl", "200ms", agent="old").returncode == 0
    time.sleep(0.25)
    exactly_one(race(world))
    world.check()


def test_sixteen_shells_make_the_store_of_a_fresh_clone_and_exactly_one_is_granted(world: World) -> None:
    shutil.rmtree(world.local)
    exactly_one(race(world))
    assert sorted(path.name for path in world.local.iterdir() if "making" in path.name) == []
    world.check()
