"""A database that was flipped, cut, replaced, rolled back or deleted: refused in words, or harmless; never emptied."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import DibsError, Unavailable
from tests.faults.kit import Dice, World, size

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

Claims = list[tuple[str, tuple[str, ...], str, int]]


def inhabit(world: World, agents: int = 6) -> Claims:
    """Some agents, some claims, some history."""
    for number in range(agents):
        for place in range(6):
            world.here("claim", f"agent-{number}", resources=[["file", f"src/{number}/f{place}.py"]], reason="r" * 80)
        world.here("release", f"agent-{number}", resources=[["file", f"src/{number}/f0.py"]])
    return world.claims()


@pytest.fixture
def inhabited(world: World, tmp_path: Path) -> tuple[World, Claims, Path]:
    """A workspace with claims, all of them in the database file itself, and a copy of it."""
    claims = inhabit(world)
    with world.store() as store:
        store._connection.wal_checkpoint(mode=3)
    world.save(tmp_path / "copy")
    assert not (tmp_path / "copy" / "dibs.db-wal").exists()
    return world, claims, tmp_path / "copy"


@pytest.fixture
def unfolded(world: World, tmp_path: Path) -> tuple[World, Claims, Path]:
    """A workspace whose last commits are in the -wal only: its processes were killed. And a copy of it."""
    inhabit(world, 2)
    writer = world.blank(pages=10_000)
    for place in range(12):
        world.floor(writer, f"late-{place % 3}", "claim", resources=[["file", f"late/{place}.py"]], reason="r" * 80)
    writer.kill()
    world.save(tmp_path / "copy")
    assert (tmp_path / "copy" / "dibs.db-wal").stat().st_size > 30_000
    claims = world.claims()
    assert len(claims) == 22
    return world, claims, tmp_path / "copy"


def refused_or_harmless(world: World, claims: Claims, what: str) -> bool:
    """Look, write, look again. True if any of it was refused; anything but a typed refusal or the same claims fails."""
    refused = False

    def same(*more: str) -> None:
        nonlocal refused
        try:
            found = world.claims()
        except Unavailable:
            refused = True
        except DibsError as error:
            pytest.fail(f"{what}: {error.code}: {error}")
        else:
            assert [claim for claim in found if claim[0] != "newcomer"] == claims, f"{what}: other claims are listed"
            assert [claim[1][0] for claim in found if claim[0] == "newcomer"] == list(more), what

    same()
    try:  # a claim reads only the pages that it needs; those may be whole
        granted = world.here("claim", "newcomer", resources=[["file", "new.py"]])
    except Unavailable:
        refused = True
        same()
    else:
        assert granted["token"] > max(claim[3] for claim in claims), what
        same("new.py")
    return refused


def at_the_command_line(world: World, claims: Claims, what: str) -> None:
    """The same, as an agent sees it: exit 2 and one JSON object, or the same claims. Never a traceback."""
    said = world.run("status", "--json")
    assert "Traceback" not in said.stderr + said.stdout, what
    answer = json.loads(said.stdout)
    if said.returncode == 0:
        assert len(answer["claims"]) == len(claims), what
    else:
        assert said.returncode == 2, (what, said)
        assert answer["error"]["code"] == "unavailable", (what, answer)
        assert "internal" not in answer["error"], (what, answer)
    claim = world.run("claim", "x.py", "--json", agent="shell")
    assert claim.returncode in {0, 2}, (what, claim)
    assert "Traceback" not in claim.stderr + claim.stdout, what
    assert claim.returncode == 0 or json.loads(claim.stdout)["error"]["code"] == "unavailable", (what, claim)


def flip(path: Path, bit: int) -> None:
    with path.open("r+b") as file:
        file.seek(bit // 8)
        byte = file.read(1)[0]
        file.seek(bit // 8)
        file.write(bytes([byte ^ (1 << bit % 8)]))


def test_a_flipped_bit_anywhere_in_the_database_is_refused_or_harmless(
    inhabited: tuple[World, Claims, Path], dice: Dice
) -> None:
    world, claims, copy = inhabited
    bits = world.database.stat().st_size * 8
    chosen = [dice.randrange(bits) for _ in range(size(150, 5000))]
    refused = 0
    for number, bit in enumerate(chosen):
        world.restore(copy)
        flip(world.database, bit)
        what = f"DIBS_SEED={dice.number}, byte {bit // 8} of {bits // 8}, bit {bit % 8}"
        if number % 30 == 0:
            at_the_command_line(world, claims, what)
            world.restore(copy)
            flip(world.database, bit)
        refused += refused_or_harmless(world, claims, what)
    print(f"{refused} of {len(chosen)} refused")
    assert refused


def test_a_flipped_bit_in_the_header_of_the_database_is_refused_or_harmless(
    inhabited: tuple[World, Claims, Path],
) -> None:
    world, claims, copy = inhabited
    for bit in range(0, 800, 1 if size(0, 1) else 3):
        world.restore(copy)
        flip(world.database, bit)
        refused_or_harmless(world, claims, f"byte {bit // 8}, bit {bit % 8}")


def test_a_database_cut_short_is_refused(inhabited: tuple[World, Claims, Path], dice: Dice) -> None:
    world, claims, copy = inhabited
    whole = world.database.stat().st_size
    lengths = [*range(0, whole, 4096), 1, 99, 100, 511, 512, 4095, whole - 1]
    lengths += [dice.randrange(whole) for _ in range(size(20, 500))]
    lengths += [whole - dice.randrange(1, 4096) for _ in range(size(20, 500))]  # only a part of the last page is gone
    for number, length in enumerate(lengths):
        world.restore(copy)
        os.truncate(world.database, length)
        what = f"DIBS_SEED={dice.number}, {length} of {whole} bytes"
        if number % 15 == 0:
            at_the_command_line(world, claims, what)
            world.restore(copy)
            os.truncate(world.database, length)
        refused_or_harmless(world, claims, what)


def another_program(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE head (schema, commits, seq, link, now, boot, base)")
        connection.execute("INSERT INTO head VALUES (1, 5000, 0, '', 0, '', 0)")
        connection.execute("CREATE TABLE notes (text)")
        connection.execute("INSERT INTO notes VALUES ('mine')")
    connection.close()


def another_program_in_wal_mode(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE notes (text)")
        connection.execute("INSERT INTO notes VALUES ('mine')")
    connection.close()


FOREIGN: dict[str, Callable[[Path], Any]] = {
    "random bytes": lambda path: path.write_bytes(Dice().randbytes(50_000)),
    "a text": lambda path: path.write_text("these are my notes\n" * 1_000),
    "nothing": lambda path: path.write_bytes(b""),
    "zeros": lambda path: path.write_bytes(bytes(40_960)),
    "another program's database": another_program,
    "another program's database in WAL mode": another_program_in_wal_mode,
}


@pytest.mark.parametrize("foreign", FOREIGN)
def test_a_foreign_file_in_the_database_s_place_is_refused_and_not_touched(
    inhabited: tuple[World, Claims, Path], foreign: str
) -> None:
    world, _, _ = inhabited
    world.database.unlink()
    FOREIGN[foreign](world.database)
    before = hashlib.sha256(world.database.read_bytes()).hexdigest()
    for _ in range(2):
        with pytest.raises(Unavailable):
            world.claims()
        with pytest.raises(Unavailable):
            world.here("claim", "newcomer", resources=[["file", "new.py"]])
        for words in (["status"], ["claim", "x.py"], ["release", "--all"]):
            said = world.run(*words, "--json", agent="shell")
            assert said.returncode == 2, said
            assert json.loads(said.stdout)["error"]["code"] == "unavailable"
            assert said.stderr == ""
    assert hashlib.sha256(world.database.read_bytes()).hexdigest() == before


def test_a_foreign_file_is_refused_also_where_nobody_remembers_a_commit(inhabited: tuple[World, Claims, Path]) -> None:
    world, _, _ = inhabited
    for foreign, make in FOREIGN.items():
        world.database.unlink()
        (world.local / "dibs.db.gate").unlink()
        make(world.database)
        before = hashlib.sha256(world.database.read_bytes()).hexdigest()
        with pytest.raises(Unavailable):
            world.claims()
        with pytest.raises(Unavailable):
            world.here("claim", "newcomer", resources=[["file", "new.py"]])
        assert hashlib.sha256(world.database.read_bytes()).hexdigest() == before, foreign


def test_a_flipped_bit_in_the_wal_is_refused_or_harmless(unfolded: tuple[World, Claims, Path], dice: Dice) -> None:
    world, claims, copy = unfolded
    wal = world.local / "dibs.db-wal"
    bits = (copy / "dibs.db-wal").stat().st_size * 8
    refused = 0
    for number in range(size(80, 2000)):
        bit = number * 5 if number < 50 else dice.randrange(bits)
        world.restore(copy)
        flip(wal, bit)
        refused += refused_or_harmless(world, claims, f"DIBS_SEED={dice.number}, byte {bit // 8}, bit {bit % 8}")
    assert refused


def test_a_wal_cut_short_or_taken_away_is_refused_or_harmless(unfolded: tuple[World, Claims, Path], dice: Dice) -> None:
    world, claims, copy = unfolded
    wal = world.local / "dibs.db-wal"
    whole = (copy / "dibs.db-wal").stat().st_size
    lengths = [0, 1, 31, 32, 33, whole - 1, whole - 4120, *(dice.randrange(whole) for _ in range(size(20, 300)))]
    for length in lengths:
        world.restore(copy)
        os.truncate(wal, length)
        refused_or_harmless(world, claims, f"DIBS_SEED={dice.number}, {length} of {whole} bytes")
        world.restore(copy)
        os.truncate(wal, length)
        (world.local / "dibs.db-shm").unlink()
        refused_or_harmless(world, claims, f"DIBS_SEED={dice.number}, {length} of {whole} bytes, no -shm")
    world.restore(copy)
    wal.unlink()
    assert refused_or_harmless(world, claims, "no -wal")
    at_the_command_line(world, claims, "no -wal")


def test_a_damaged_shm_is_refused_or_harmless(unfolded: tuple[World, Claims, Path], dice: Dice) -> None:
    world, claims, copy = unfolded
    shm = world.local / "dibs.db-shm"
    for length in (0, 100, 32_768):
        world.restore(copy)
        shm.write_bytes(dice.randbytes(length))
        refused_or_harmless(world, claims, f"DIBS_SEED={dice.number}, {length} bytes of noise")


def test_a_stale_wal_is_refused_or_harmless(unfolded: tuple[World, Claims, Path]) -> None:
    world, _, copy = unfolded
    world.here("claim", "after", resources=[["file", "after.py"]])  # the last to close folds the WAL
    assert not (world.local / "dibs.db-wal").exists()
    claims = world.claims()
    shutil.copy(copy / "dibs.db-wal", world.local / "dibs.db-wal")
    assert refused_or_harmless(world, claims, "the WAL of a while ago")
    at_the_command_line(world, claims, "the WAL of a while ago")


@pytest.mark.parametrize("what", ["database", "-wal"])
def test_what_belongs_to_another_workspace_is_refused_or_harmless(
    unfolded: tuple[World, Claims, Path], worlds: Callable[[], World], what: str
) -> None:
    """The other workspace has more commits, so its number alone does not tell."""
    world, _, copy = unfolded
    other = worlds()
    claims = inhabit(other, 1)
    if what == "database":
        assert len(world.claims()) > len(claims)  # folds the WAL
        shutil.copy(world.database, other.database)
    else:
        for name in ("dibs.db-wal", "dibs.db-shm"):
            shutil.copy(copy / name, other.local / name)
    refused_or_harmless(other, claims, f"the {what} of another workspace")


def test_an_older_copy_of_the_database_put_back_is_refused(inhabited: tuple[World, Claims, Path]) -> None:
    world, _, copy = inhabited
    granted = world.here("claim", "late", resources=[["file", "late.py"]])
    for name in ("dibs.db-wal", "dibs.db-shm"):
        (world.local / name).unlink(missing_ok=True)
    shutil.copy(copy / "dibs.db", world.database)
    with pytest.raises(Unavailable, match="an older copy was put in its place") as caught:
        world.claims()
    assert caught.value.answered == granted["token"]
    with pytest.raises(Unavailable, match="an older copy was put in its place"):
        world.here("claim", "thief", resources=[["file", "late.py"]])
    said = world.run("claim", "late.py", "--json", agent="thief")
    assert said.returncode == 2
    assert json.loads(said.stdout)["error"]["damaged"] is True


def test_a_database_replaced_under_a_running_process_never_has_two_holders(world: World, tmp_path: Path) -> None:
    for first in ("long", "fresh"):
        running = world.actor("long")
        running.call("claim", f"{first}-before.py")
        subprocess.run(["cp", "-a", world.local, tmp_path / first], check=True)
        for name in ("dibs.db", "dibs.db-wal", "dibs.db-shm"):  # as an editor, a backup or git does: another inode
            (world.local / name).unlink(missing_ok=True)
            if (tmp_path / first / name).exists():
                shutil.copy(tmp_path / first / name, world.local / name)
        holders = []

        def by_running(name: str = first, running: Any = running) -> str:
            return str(running.call("claim", f"{name}.py")["agent"])

        def by_fresh(name: str = first) -> str:
            return str(world.here("claim", "fresh", resources=[["file", f"{name}.py"]])["agent"])

        for attempt in (by_running, by_fresh) if first == "long" else (by_fresh, by_running):
            try:
                holders.append(attempt())
            except DibsError as error:
                assert error.code in {"unavailable", "held"}, error
        assert len(holders) == 1, first
        running.close()
        shutil.rmtree(world.local)
        shutil.copytree(tmp_path / first, world.local)


def test_a_database_that_was_deleted_is_missed_and_not_made_anew(inhabited: tuple[World, Claims, Path]) -> None:
    world, _, copy = inhabited
    for leftovers in ((), ("dibs.db.gate",), ("config.json",)):
        world.restore(copy)
        world.database.unlink()
        for name in leftovers:
            (world.local / name).unlink(missing_ok=True)
        for _ in range(2):
            with pytest.raises(Unavailable, match="is gone") as caught:
                world.claims()
            assert caught.value.missing is True
            said = world.run("claim", "x.py", "--json", agent="shell")
            assert said.returncode == 2
            assert world.run("init").returncode in {0, 2}
            assert not world.database.exists()


def test_a_deleted_database_is_missed_by_a_process_that_has_it_open(world: World) -> None:
    running = world.actor("long")
    running.call("claim", "a.py")
    for name in ("dibs.db", "dibs.db-wal", "dibs.db-shm"):
        (world.local / name).unlink(missing_ok=True)
    with pytest.raises(Unavailable):
        running.call("claim", "b.py")
    with pytest.raises(Unavailable):
        world.claims()


def test_a_workspace_cleaned_away_under_a_running_process_never_has_two_holders(world: World) -> None:
    for first in ("running", "fresh"):
        running = world.actor("running")
        running.call("claim", f"{first}-before.py")
        shutil.rmtree(world.local)  # `git clean -fdx` takes what is ignored, and .dibs/local/ is
        if first == "fresh":
            world.here("claim", "fresh", resources=[["file", "a.py"]])
        try:
            running.call("claim", "a.py")
        except Unavailable:
            pass
        else:
            pytest.fail("a process went on with a database that nobody else can see")
        if first == "running":
            world.here("claim", "fresh", resources=[["file", "a.py"]])
        world.check()
        world.here("release", "fresh", all=True)


def test_a_damaged_gate_file_is_refused_or_harmless(inhabited: tuple[World, Claims, Path], dice: Dice) -> None:
    world, claims, copy = inhabited
    gate = world.local / "dibs.db.gate"
    for noise in (b"", b"\0" * 32, b"x" * 32, b"9" * 32, b"-1         -1                  \n", b"\xff" * 4096, b"7"):
        world.restore(copy)
        gate.write_bytes(noise)
        refused_or_harmless(world, claims, repr(noise[:8]))
    for _ in range(size(40, 400)):
        world.restore(copy)
        bit = dice.randrange(32 * 8)
        flip(gate, bit)
        refused_or_harmless(world, claims, f"DIBS_SEED={dice.number}, bit {bit}")


@pytest.mark.long
def test_a_damaged_pin_or_config_is_refused_or_harmless(inhabited: tuple[World, Claims, Path], dice: Dice) -> None:
    world, claims, copy = inhabited
    for path in sorted(copy.iterdir()):
        if path.name.startswith("dibs.db") or path.is_dir():
            continue
        for noise in (b"", b"\0", b"{}", b"[]", b"null", dice.randbytes(50), b"\xff\xfe", path.read_bytes()[:-3]):
            world.restore(copy)
            (world.local / path.name).write_bytes(noise)
            at_the_command_line(world, claims, f"{path.name}: {noise!r}")
            world.restore(copy)
            (world.local / path.name).write_bytes(noise)
            refused_or_harmless(world, claims, f"DIBS_SEED={dice.number}, {path.name}: {noise!r}")
