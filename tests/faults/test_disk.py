"""The disk is full: a typed refusal, the database opens afterwards, and nothing that was answered is lost."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import DibsError, Unavailable
from tests.faults.kit import World, size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

SAYS_SO = re.compile("is full|No space left")
A, B = ["file", "a.py"], ["file", "b.py"]

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "claim": ("claim", {"resources": [["file", "n.py"]], "reason": "r" * 500}),
    "claim of many": ("claim", {"resources": [["file", f"n{number}.py"] for number in range(20)], "reason": "r" * 900}),
    "release": ("release", {"resources": [B]}),
    "renew": ("renew", {}),
    "kill": ("kill", {"agent": "other", "why": "enough"}),
    "seal": ("seal", {}),
}


def must_say_so(error: Unavailable, what: str) -> None:
    assert SAYS_SO.search(error.message), f"{what}: {error.message}"


def outline(world: World) -> tuple[int, Any]:
    events = world.events()
    return events[-1]["seq"], world.claims()


@pytest.mark.parametrize("how", ["full", "stays_full"])
@pytest.mark.parametrize("pages", [1, 1000])
@pytest.mark.parametrize("call", CALLS)
def test_a_disk_full_at_any_write_is_a_typed_refusal_after_which_everything_answered_is_there(
    world: World, tmp_path: Path, call: str, pages: int, how: str
) -> None:
    world.here("claim", "cal", resources=[A])
    world.here("claim", "cal", resources=[B])
    world.here("claim", "other", resources=[["file", "o.py"]])
    world.save(tmp_path / "copy")
    before = outline(world)
    name, fields = CALLS[call]
    refused = 0
    for at in range(1, 200):
        world.restore(tmp_path / "copy")
        actor = world.blank(pages=pages)
        world.floor(actor, "cal", "status")
        actor.do("shim")
        actor.do("fill", at=at, how=how)
        world.start_floor(actor, "cal", name, **fields)
        answered = True
        try:
            actor.receive()
        except Unavailable as error:
            answered = False
            must_say_so(error, f"write {at}")
        except DibsError as error:
            pytest.fail(f"write {at}: {error.code}: {error}")
        writes = actor.do("writes")
        if how == "stays_full":
            assert world.floor(actor, "cal", "status")["claims"], "looking needs no room"
        actor.do("fill", at=0, how="")  # there is room again, and the same process goes on
        if not answered:
            refused += 1
            assert outline(world) == before, f"write {at}: refused, and yet something was changed"
            world.floor(actor, "cal", name, **fields)
        assert outline(world)[0] > before[0], f"write {at}: answered, and lost"
        actor.kill()
        world.check()
        if writes < at:
            break
    else:
        pytest.fail("it never passes")
    assert refused >= 3


def test_a_disk_full_while_the_database_is_made_leaves_nothing_half_made(world: World) -> None:
    for how in ("full", "stays_full"):
        refused = 0
        for at in range(1, 200):
            shutil.rmtree(world.local)
            actor = world.blank()
            actor.do("shim")
            actor.do("fill", at=at, how=how)
            world.start_floor(actor, "cal", "claim", resources=[A])
            try:
                actor.receive()
            except Unavailable:
                refused += 1
            except DibsError as error:
                pytest.fail(f"write {at}: {error.code}: {error}")
            writes = actor.do("writes")
            actor.do("fill", at=0, how="")
            actor.kill()
            assert world.here("claim", "cal", resources=[A])["token"] >= 1
            world.check()
            if writes < at:
                break
        assert refused > 5


# --- a real one, where this process may mount


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path | None]:
    """A tmpfs of two megabytes, or None where nobody lets us mount one; the shim has shown the same then."""
    point = tmp_path / "disk"
    point.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", point], capture_output=True, check=False, timeout=30
    )
    yield point if done.returncode == 0 else None
    if done.returncode == 0:
        subprocess.run(["umount", "-l", point], check=True, timeout=30)


def fill_up(path: Path, leave: int) -> None:
    """Leave so many bytes of the disk free."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    free = os.statvfs(path.parent).f_bavail * os.statvfs(path.parent).f_frsize
    with path.open("wb") as file:
        file.write(b"\0" * max(0, free - leave))


def test_a_disk_that_is_full_indeed_refuses_in_words_and_takes_up_again_when_there_is_room(
    small_disk: Path | None, make_world: Callable[[Path], World]
) -> None:
    if small_disk is None:
        return
    world = make_world(small_disk / "work")
    ballast = small_disk / "ballast"
    answered: list[str] = []
    refused = 0
    for round_ in range(size(12, 60)):
        fill_up(ballast, leave=16_384 * round_)
        actor = world.blank(pages=(4, 1000)[round_ % 2])
        for number in range(12):
            name = f"r{round_}-{number}.py"
            try:
                world.floor(actor, "bob", "claim", resources=[["file", name]], reason="r" * 400)
            except Unavailable as error:
                refused += 1
                must_say_so(error, name)
            else:
                answered.append(name)
        said = world.run("claim", f"cli-{round_}.py", "--json", agent="shell")
        assert said.returncode in {0, 2}, said
        assert json.loads(said.stdout).get("error", {"code": "unavailable"})["code"] == "unavailable"
        if said.returncode == 0:
            answered.append(f"cli-{round_}.py")
        actor.kill()
        ballast.unlink()
        granted = {
            resource[1]
            for event in world.events()
            if event["kind"] == "claim.granted"
            for resource in event["data"]["resources"]
        }
        assert granted >= set(answered)
        world.check()
    assert refused
    assert answered
