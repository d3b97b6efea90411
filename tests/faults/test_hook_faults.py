"""What a hook answers while the store is busy, and when the ledger is damaged."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.faults.kit import size
from tests.interfaces.repository import ENTRY, LIMIT, Answer, Client, Repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.faults.kit import Actor, World

pytestmark = pytest.mark.slow

FIRST = "after BEGIN IMMEDIATE"
# Half of what `dibs init` gives a client's hook; a machine with other work may take longer.
IN_TIME_S = LIMIT * size(6, 1) / 2


@pytest.fixture
def world(make_world: Callable[[Path], World], tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("world"))


@pytest.fixture
def client(world: World, tmp_path: Path) -> Iterator[Client]:
    made = Client(tmp_path, "claude", world.environment())
    yield made
    made.kill()


def stopped(world: World) -> Actor:
    """A process that stands still in the middle of a transaction."""
    actor = world.actor("ann")
    actor.do("arm", at=1, number=signal.SIGSTOP, match=FIRST)
    actor.start("claim", "other.py")
    actor.await_stop()
    return actor


def hook(world: World, client: Client, event: str, **fields: Any) -> Answer:
    payload = {"session_id": "bob", "cwd": str(world.folder), "hook_event_name": event, **fields}
    return client.run(
        sys.executable, "-I", "-S", "-X", "utf8", ENTRY, "claude", cwd=world.folder, given=json.dumps(payload).encode(),
        seconds=8 * LIMIT,
    )  # fmt: skip


def edit(world: World, client: Client) -> Answer:
    return hook(world, client, "PreToolUse", tool_name="Edit", tool_input={"file_path": f"{world.folder}/a.py"})


def test_an_edit_while_the_store_is_busy_is_refused_within_the_limit_and_names_the_process(
    world: World, client: Client
) -> None:
    actor = stopped(world)
    answer = edit(world, client)
    assert answer.took < IN_TIME_S
    assert "the store is busy: no turn within" in answer.refusal
    assert f" s; process {actor.pid} (stopped) used it last" in answer.refusal
    assert 'on_doubt = "allow"' in answer.refusal
    actor.go_on()
    actor.receive()
    assert edit(world, client).silent
    world.check()


def test_a_command_while_the_store_is_busy_is_refused_if_it_writes_and_passes_if_not(
    world: World, client: Client
) -> None:
    actor = stopped(world)
    answer = hook(world, client, "PreToolUse", tool_name="Bash", tool_input={"command": "echo x > a.py"})
    assert answer.took < IN_TIME_S
    assert f"process {actor.pid}" in answer.refusal
    assert hook(world, client, "PreToolUse", tool_name="Bash", tool_input={"command": "ls"}).silent


def test_with_on_doubt_allow_an_edit_passes_while_the_store_is_busy(world: World, client: Client) -> None:
    config = world.folder / ".dibs" / "config.toml"
    config.write_text(config.read_text().replace("[guards]\n", '[guards]\non_doubt = "allow"\n'))
    stopped(world)
    answer = edit(world, client)
    assert answer.silent
    assert answer.took < 2 * IN_TIME_S


def test_looking_at_a_file_is_not_refused_because_the_store_is_busy(world: World, client: Client) -> None:
    """A sign of life that cannot be given is no reason against a Read: nothing is decided there."""
    stopped(world)
    answer = hook(world, client, "PreToolUse", tool_name="Read", tool_input={"file_path": f"{world.folder}/a.py"})
    assert answer.took < IN_TIME_S
    assert answer.code == 0


@pytest.mark.long
def test_what_cannot_be_refused_is_not_and_an_agent_that_starts_is_told_to_assume_nothing(
    world: World, client: Client
) -> None:
    actor = stopped(world)
    answer = hook(world, client, "SessionStart", source="compact")
    assert answer.code == 0
    assert f"process {actor.pid}" in answer.told
    assert "Do not assume that you hold anything" in answer.told
    for event in ("UserPromptSubmit", "Stop", "SessionEnd"):
        answer = hook(world, client, event)
        assert (answer.code, answer.out) == (0, ""), event
        assert "Traceback" not in answer.err
        assert answer.took < 2 * IN_TIME_S


# --- a ledger that a full disk or a power failure has damaged

TORN = b"T\tabc\t123:4\t45"  # and the next line begins right behind it
DAMAGE = [
    TORN,
    b"\0" * 300,
    b"\0" * 300 + b"\n",
    b"O\tx\tcall\tada\topen\t\tx\t\nC\tx\tcall\t\nN\tcall\tw\t\ta.py\n",
    b"T\tid\t9:9\t-\t?\tnot:a:signature\tada\tsure\tada\tn\ta.py\n",
    b"H\tx\t-\t\t\tone\tone two\tx\ta.py\n",
    b"U\tid\tx\t-\t-\t\tada\tsure\t\t\ta.py\t\n",
    b"\xff\xfe\n\t\t\t\t\t\t\n",
    b"T\n\nO\nQ\tq\n\\\n",
]


def damaged(repo: Repository, file: str) -> Path:
    """A file of the ledger that is there."""
    found = repo.private / file
    assert found.is_file()
    return found


@pytest.mark.parametrize("file", ["live", "seen/ada"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_lines_of_the_ledger_do_not_keep_an_agent_from_its_work(
    repo: Repository, file: str, damage: bytes
) -> None:
    ada = repo.agent("ada")
    ada.edit("a.py", "ada's\n")
    with damaged(repo, file).open("ab") as opened:
        opened.write(damage)
    assert ada.read("a.py").allowed
    ada.edit("a.py", "ada's again\n")
    ada.edit("b.py", "ada's\n")
    assert ada.bash("python3 --version")[1].err == ""
    assert "You hold" in ada.boot("compact")


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_lines_of_the_ledger_do_not_blind_the_audit(repo: Repository, damage: bytes) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    bob.boot()
    ada.edit("a.py", "ada's\n")
    with damaged(repo, "live").open("ab") as opened:
        opened.write(damage)
    ada.edit("b.py", "ada's\n")
    repo.write("x.py", "open('b.py', 'w').write('overwritten')")
    _, after = bob.bash("python3 x.py")
    assert "changed b.py, which ada holds" in after.told, after


@pytest.mark.parametrize("size", [0, 1, 40])
def test_a_ledger_that_was_cut_off_is_gone_on_with(repo: Repository, size: int) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    bob.boot()
    ada.edit("a.py", "ada's\n")
    with damaged(repo, "live").open("r+b") as opened:
        opened.truncate(size)
    assert ada.read("a.py").allowed
    ada.edit("b.py", "ada's\n")
    repo.write("x.py", "open('b.py', 'w').write('overwritten')")
    _, after = bob.bash("python3 x.py")
    assert "changed b.py, which ada holds" in after.told, after


@pytest.mark.parametrize("way", ["live", "seen", "seen/ada", "objects", "."])
def test_a_ledger_that_cannot_be_written_is_a_doubt_and_no_traceback_and_a_read_passes(
    repo: Repository, way: str
) -> None:
    ada, bob = repo.agent("ada"), repo.agent("bob")
    target = repo.private / way
    if way == ".":
        repo.private.rename(repo.private.with_name("moved"))
        repo.private.write_text("in the way\n")
    elif way in {"live", "seen/ada"}:
        target.unlink(missing_ok=True)
        target.mkdir(parents=True)
    else:
        shutil.rmtree(target, ignore_errors=True)
        target.write_text("in the way\n")
    assert ada.read("a.py").allowed
    answer = ada.may_write("a.py", "ada's\n")
    assert answer.silent or "could not check" in answer.refusal
    command = bob.may_run("make")
    assert command.silent or "could not check" in command.refusal
    for event in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"):
        answer = ada.hook(event)
        assert answer.code == 0, answer
        assert "Traceback" not in answer.err
    assert bob.may_run("ls").code in {0, 2}


def test_a_ledger_that_cannot_be_appended_to_is_a_doubt(repo: Repository) -> None:
    """Without the line about a call its change would be somebody else's."""
    (repo.private / "live").unlink(missing_ok=True)
    (repo.private / "live").mkdir(parents=True)
    assert "could not check" in repo.agent("ada").may_edit("a.py").refusal
    assert "could not check" in repo.agent("ada").may_run("make").refusal
