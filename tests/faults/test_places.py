"""Where a store cannot be: a network filesystem, a read-only folder, somebody else's. Refused, and nothing changed."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dibs.errors import Unavailable
from dibs.machine import filesystems
from dibs.stores.sqlite import store
from tests.faults.kit import PATIENCE, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow

MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:26 / /home rw,nosuid - nfs4 server:/home rw,vers=4.2
31 30 0:27 / /home/ann/local rw - xfs /dev/vdb rw
32 22 0:28 / /mnt/with\\040blank rw - cifs //server/share rw
33 22 0:29 / /mnt/over rw - ext4 /dev/vdc rw
34 33 0:30 / /mnt/over rw - fuse.sshfs server:/ rw
35 22 0:31 / /mnt/back rw - 9p host rw
36 35 0:32 / /mnt/back rw - ext4 /dev/vdd rw
37 22 0:33 / /homework rw - ext4 /dev/vde rw
a line that makes no sense
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/data/here", "ext4"),
        ("/home/bob/project", "nfs4"),
        ("/home", "nfs4"),
        ("/homework/x", "ext4"),
        ("/home/ann/local/project", "xfs"),
        ("/mnt/with blank/project", "cifs"),
        ("/mnt/over/project", "fuse.sshfs"),
        ("/mnt/back/project", "ext4"),
    ],
)
def test_a_network_filesystem_is_told_from_a_local_disk_and_refused(folder: str, kind: str) -> None:
    assert filesystems.kind_of(folder, MOUNTS) == kind
    if kind in {"ext4", "xfs"}:
        filesystems.refuse_network(folder, MOUNTS)
        return
    with pytest.raises(Unavailable, match="network filesystem") as caught:
        filesystems.refuse_network(folder, MOUNTS)
    assert caught.value.filesystem == kind
    assert caught.value.exit == 2


def test_no_database_is_made_on_a_network_filesystem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = f"22 1 254:0 / / rw - ext4 /dev/vda rw\n30 22 0:26 / {tmp_path.resolve()} rw - nfs server:/ rw\n"
    monkeypatch.setattr(filesystems, "_mounts", lambda: mounts)
    with pytest.raises(Unavailable, match="network filesystem"):
        store.create(str(tmp_path / "dibs.db"))
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_is_reached_through_a_network_filesystem_is_refused_at_open(
    make_world: Callable[[Path], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was made on a local disk: by the host that exports the folder, or before it was moved.

    The network is played by a tmpfs, which like a network filesystem is another device, and none of blocks.
    """
    memory = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    with (
        tempfile.TemporaryDirectory(prefix="dibs-") as disk,
        tempfile.TemporaryDirectory(prefix="dibs-", dir=memory) as network,
    ):
        world = make_world(Path(disk) / "work")
        world.here("claim", "cal", resources=[["file", "a.py"]])
        there = make_world(Path(shutil.copytree(world.folder, Path(network) / "work")))
        mounts = f"22 1 254:0 / / rw - ext4 /dev/vda rw\n30 22 0:26 / {Path(network).resolve()} rw - nfs server:/ rw\n"
        monkeypatch.setattr(filesystems, "_mounts", lambda: mounts)
        assert world.here("claim", "cal", resources=[["file", "b.py"]])
        with pytest.raises(Unavailable, match="network filesystem"):
            there.here("claim", "cal", resources=[["file", "b.py"]])
        with pytest.raises(Unavailable, match="network filesystem"):
            there.claims()


def digests(world: World) -> dict[str, str]:
    return {
        str(path.relative_to(world.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(world.folder.rglob("*"))
        if path.is_file() and not path.name.endswith(("-shm", "-wal"))
    }


# Everything is imported while the interpreter's own files may still be read; then root becomes nobody.
STRANGER = """
import difflib, encodings.ascii, encodings.latin_1, importlib, os, pkgutil, sys, tomllib
import dibs.interfaces, dibs.machine, dibs.operations, dibs.stores
from dibs.interfaces.cli import main
served = ("dibs.interfaces.http", "dibs.interfaces.mcp", "dibs.interfaces.page", "dibs.interfaces.serve")  # slow
for package in (dibs.interfaces, dibs.machine, dibs.operations, dibs.stores):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not found.name.startswith(served):
            importlib.import_module(found.name)
dibs.stores.sqlite.database_file.load_checksums()
os.getuid() == 0 and (os.setgroups([]), os.setgid(65534), os.setuid(65534))
code = main(sys.argv[1:])
sys.stdout.flush()
os._exit(code)
"""


def as_stranger(world: World, *words: str) -> subprocess.CompletedProcess[str]:
    """The command line as somebody who may read but not write; as oneself where one is nobody special anyway."""
    environment = world.environment("stranger", PYTHONDONTWRITEBYTECODE="1")
    return subprocess.run(
        [sys.executable, "-c", STRANGER, *words, "--json"], cwd=world.folder, env=environment, capture_output=True,
        text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip


@pytest.fixture
def reachable(make_world: Callable[[Path], World]) -> Iterator[World]:
    """A workspace with a claim, in a folder that everybody may walk into, which pytest's own are not."""
    with tempfile.TemporaryDirectory(prefix="dibs-") as folder:
        Path(folder).chmod(0o755)
        world = make_world(Path(folder) / "work")
        world.here("claim", "cal", resources=[["file", "a.py"]])
        yield world


def refused_in_words(said: subprocess.CompletedProcess[str]) -> None:
    assert said.returncode == 2, said
    assert "Traceback" not in said.stdout + said.stderr
    error = json.loads(said.stdout)["error"]
    assert error["code"] == "unavailable", said
    assert "internal" not in error, said


@pytest.mark.parametrize("case", ["local", "files", "database", "gate", "pin"])
def test_somebody_without_permission_is_refused_and_nothing_is_changed(reachable: World, case: str) -> None:
    world = reachable
    before = digests(world)
    if case == "local":  # the folder is its owner's alone, as dibs makes it
        world.local.chmod(0o700)
    elif case == "files":  # may be looked into, but not written
        world.local.chmod(0o555)
        for path in world.local.iterdir():
            path.chmod(0o444)
    else:
        world.local.chmod(0o777)
        for path in world.local.iterdir():
            path.chmod(0o666)
        {"database": world.database, "gate": world.local / "dibs.db.gate", "pin": world.local / "store"}[case].chmod(0)
    refused_in_words(as_stranger(world, "claim", "b.py"))
    refused_in_words(as_stranger(world, "release", "--all"))
    said = as_stranger(world, "status")
    if case in {"local", "database", "pin"}:
        refused_in_words(said)
    else:  # looking needs no permission to write; if it answers, it answers the truth
        assert said.returncode in {0, 2}, said
        if said.returncode == 0:
            assert [claim["agent"] for claim in json.loads(said.stdout)["claims"]] == ["cal"]
        else:
            refused_in_words(said)
    for path in (world.local, *world.local.iterdir()):
        path.chmod(0o700)
    assert digests(world) == before
    assert [claim[0] for claim in world.claims()] == ["cal"]
    world.check()


def test_a_workspace_cannot_be_made_where_nothing_can_be_written(reachable: World) -> None:
    empty = reachable.folder / "empty"
    empty.mkdir()
    empty.chmod(0o555)
    refused_in_words(as_stranger(reachable, "init", str(empty)))
    assert list(empty.iterdir()) == []


@pytest.fixture
def read_only(reachable: World) -> Iterator[World | None]:
    """The same workspace seen through a read-only mount, or None where we may not mount."""
    folder = str(reachable.folder)
    bind = ["mount", "--bind", folder, folder]
    if subprocess.run(bind, capture_output=True, check=False, timeout=30).returncode:
        yield None
        return
    subprocess.run(["mount", "-o", "remount,ro,bind", reachable.folder], check=True, timeout=30)
    yield reachable
    subprocess.run(["umount", "-l", reachable.folder], check=True, timeout=30)


def test_a_read_only_filesystem_is_refused_in_words(read_only: World | None) -> None:
    world = read_only
    if world is None:
        return  # permissions have shown the same
    before = digests(world)
    refused_in_words(world.run("claim", "b.py", "--json", agent="ann"))
    refused_in_words(world.run("release", "--all", "--json", agent="cal"))
    said = world.run("status", "--json")
    assert said.returncode in {0, 2}, said
    if said.returncode == 0:
        assert [claim["agent"] for claim in json.loads(said.stdout)["claims"]] == ["cal"]
    else:
        refused_in_words(said)
    with pytest.raises(Unavailable):
        world.here("claim", "ann", resources=[["file", "b.py"]])
    assert digests(world) == before
